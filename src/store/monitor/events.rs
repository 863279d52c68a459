//! Compares the status of tasks before and after a run, so that a problem is reported once when it
//! appears and once when it is resolved.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use super::history::{ChannelHistory, History, TaskStatus, is_run};
use crate::LedgerEntry;
use pubdata_core::ids::ReleaseId;

/// Name and version of the message format, as in the JSON output of commands. The version increases
/// if a field is removed or its meaning changes.
pub const MESSAGE_FORMAT: &str = "pubdata.message";
pub const MESSAGE_VERSION: u32 = 1;

/// Maximum number of characters in a reason. The ledger contains the full reason.
const REASON: usize = 1000;

/// Maximum number of events in the text line, and maximum number of characters in the reason of an
/// event in this line.
const TOLD: usize = 5;
const MAX_REASON_CHARS_IN_LINE: usize = 400;

/// Kinds of events, most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A run failed; nothing was published.
    Failed,
    /// A task was not rebuilt because its data violated the declaration or were implausible.
    Blocked,
    /// A task was not rebuilt because a source could not be fetched.
    Missing,
    /// An edition is late.
    Late,
    /// More records were quarantined than the declared warning level.
    Quarantined,
    /// All problems of a task, or of the run, have been resolved.
    Recovered,
    /// A test message that reports no event, for checking whether messages arrive.
    Test,
}

/// A change since the previous run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Event {
    /// Kind of event; docs/OPERATIONS.md describes when each is reported.
    pub event: EventKind,
    /// Id of the task; null if the event concerns the run.
    pub task_id: Option<String>,
    /// Reason as text, at most 1,000 characters; null if the reason is unknown.
    pub reason: Option<String>,
    /// Next step for the operator; null if no action is needed.
    pub next_step: Option<String>,
    /// The day since which an edition is late; null for other events.
    pub late_since: Option<Date>,
}

/// The changes since the previous run. After a run with something to report, the message is sent to
/// `--hook` on standard input and to `--webhook` by POST.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Message {
    // Common fields of all JSON documents; the command line adds their schema.
    #[schemars(skip)]
    pub format: &'static str,
    #[schemars(skip)]
    pub version: u32,
    /// One-line summary, shown by chat services.
    pub text: String,
    /// Name of the channel.
    pub channel: String,
    /// Id of the run.
    pub run_id: String,
    /// When the run ended, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    pub ended_at: String,
    /// Exit code of the run.
    pub exit_code: u8,
    /// Outcome of the run.
    #[schemars(extend("enum" = ["published", "unchanged", "mended", "nothing", "failed"]))]
    pub outcome: String,
    /// Current release of the channel; null if nothing was ever published.
    #[schemars(with = "Option<ReleaseId>")]
    pub release_id: Option<String>,
    /// The events, most severe first.
    pub events: Vec<Event>,
}

impl EventKind {
    /// Returns the name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Missing => "missing",
            Self::Late => "late",
            Self::Quarantined => "quarantined",
            Self::Recovered => "recovered",
            Self::Test => "test",
        }
    }
}

impl Message {
    /// Compares the last run in a ledger with the previous run on the same channel. Returns `None`
    /// if nothing changed. Entries are sorted oldest first.
    pub fn for_last_run(entries: &[LedgerEntry]) -> Option<Self> {
        let last = entries.iter().rposition(is_run)?;
        let entry = &entries[last];
        let before = History::from_entries(&entries[..last])
            .channels
            .remove(&entry.channel);
        let after = History::from_entries(&entries[..=last])
            .channels
            .remove(&entry.channel)?;
        let mut events: Vec<Event> = of_the_run(before.as_ref(), &after).into_iter().collect();
        let none = BTreeMap::new();
        let known = before.as_ref().map_or(&none, |before| &before.tasks);
        for (task_id, now) in &after.tasks {
            events.extend(of_a_task(task_id, known.get(task_id), now));
        }
        events.sort_by(|a, b| (a.event, &a.task_id).cmp(&(b.event, &b.task_id)));
        (!events.is_empty()).then(|| Self {
            format: MESSAGE_FORMAT,
            version: MESSAGE_VERSION,
            text: line(&entry.channel, &events),
            channel: entry.channel.clone(),
            run_id: entry.run_id.clone(),
            ended_at: entry.ended_at.clone(),
            exit_code: entry.exit_code,
            outcome: entry.outcome.clone(),
            release_id: after.last.release_id,
            events,
        })
    }

    /// Builds a test message.
    pub fn test(channel: &str, now: Timestamp) -> Self {
        let reason = Some("a test message: nothing happened".to_owned());
        let events = vec![Event {
            event: EventKind::Test,
            task_id: None,
            reason,
            next_step: None,
            late_since: None,
        }];
        Self {
            format: MESSAGE_FORMAT,
            version: MESSAGE_VERSION,
            text: line(channel, &events),
            channel: channel.to_owned(),
            run_id: "test".to_owned(),
            ended_at: now.to_string(),
            exit_code: 0,
            outcome: "nothing".to_owned(),
            release_id: None,
            events,
        }
    }

    /// Returns the most severe event.
    pub fn worst(&self) -> Option<EventKind> {
        self.events.first().map(|event| event.event)
    }

    /// Returns the JSON for hooks and webhooks.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a message is plain data")
    }
}

fn of_the_run(before: Option<&ChannelHistory>, after: &ChannelHistory) -> Option<Event> {
    let failed_before = before
        .map(|before| &before.last)
        .filter(|last| last.is_failed());
    let (event, reason, next_step) = match (failed_before, after.last.is_failed()) {
        (Some(before), true) if before.error == after.last.error => return None,
        (_, true) => (
            EventKind::Failed,
            after.last.error.clone(),
            Some("fix the cause that the reason names, then `pubdata run`".to_owned()),
        ),
        (Some(before), false) => (
            EventKind::Recovered,
            Some(format!(
                "the previous run ended with exit code {}",
                before.exit_code
            )),
            None,
        ),
        (None, false) => return None,
    };
    Some(Event {
        event,
        task_id: None,
        reason: reason.as_deref().map(|reason| shortened(reason, REASON)),
        next_step,
        late_since: None,
    })
}

/// Returns the kinds of problems that a task has. Missing files of an optional task do not count as
/// a problem.
fn active_problems(status: &TaskStatus) -> Vec<EventKind> {
    let is_needed = !status.is_optional;
    let kinds = [
        (EventKind::Blocked, status.is_blocked()),
        (EventKind::Missing, status.is_missing() && is_needed),
        (EventKind::Late, status.late_since.is_some() && is_needed),
        (EventKind::Quarantined, status.is_above_warning_level),
    ];
    kinds
        .into_iter()
        .filter_map(|(kind, is_so)| is_so.then_some(kind))
        .collect()
}

fn of_a_task(task_id: &str, before: Option<&TaskStatus>, now: &TaskStatus) -> Vec<Event> {
    let (known, active_problems) = (
        before.map(active_problems).unwrap_or_default(),
        active_problems(now),
    );
    let event = |event: EventKind| {
        let reason = match event {
            EventKind::Late => now
                .late_since
                .map(|day| format!("late since {day} by the publisher's calendar")),
            EventKind::Quarantined => {
                Some("more records were quarantined than the declared level".to_owned())
            }
            EventKind::Recovered => Some(format!(
                "was {}",
                known
                    .iter()
                    .map(|kind| kind.name())
                    .collect::<Vec<_>>()
                    .join(", ")
            )),
            _ => now
                .reason
                .as_deref()
                .map(|reason| shortened(reason, REASON)),
        };
        let otherwise =
            || (event != EventKind::Recovered).then(|| "`pubdata status` shows it".to_owned());
        let late_since = now.late_since.filter(|_| event == EventKind::Late);
        Event {
            event,
            task_id: Some(task_id.to_owned()),
            reason,
            next_step: now.next_step.clone().or_else(otherwise),
            late_since,
        }
    };
    if active_problems.is_empty() && !known.is_empty() {
        return vec![event(EventKind::Recovered)];
    }
    active_problems
        .iter()
        .copied()
        .filter(|kind| !known.contains(kind))
        .map(event)
        .collect()
}

fn line(channel: &str, events: &[Event]) -> String {
    let reported = events.iter().take(TOLD).map(|event| {
        let of = event.task_id.as_deref().unwrap_or("run");
        let reason = event
            .reason
            .as_deref()
            .map(|reason| format!(" ({})", shortened(reason, MAX_REASON_CHARS_IN_LINE)))
            .unwrap_or_default();
        format!("{} {of}{reason}", event.event.name())
    });
    let reported = reported.collect::<Vec<_>>().join("; ");
    let more = if events.len() > TOLD {
        format!("; and {} more", events.len() - TOLD)
    } else {
        String::new()
    };
    format!("pubdata {channel}: {reported}{more}")
}

fn shortened(reason: &str, length: usize) -> String {
    match reason.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason.to_owned(),
    }
}
