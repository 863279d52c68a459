//! What is new since the run before: compared are how the tasks stood then and how they stand now,
//! so that a trouble is told once when it comes and once when it is over.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use super::history::{ChannelHistory, History, Standing, is_run};
use crate::LedgerEntry;
use pubdata_core::ids::ReleaseId;

/// Format of the messages, as the documents of commands name theirs, and its version; a field that
/// goes or changes its meaning raises it.
pub const MESSAGE_FORMAT: &str = "pubdata.message";
pub const MESSAGE_VERSION: u32 = 1;

/// Characters of a reason that are told; the ledger has all of it.
const REASON: usize = 1000;

/// Events that the line for people names, and characters of each one's reason.
const TOLD: usize = 5;
const REASON_IN_LINE: usize = 400;

/// What happened, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A run came to no end; nothing was published.
    Failed,
    /// A task was not renewed because its data are not what is declared, or not plausible.
    Blocked,
    /// A task was not renewed because a source could not be fetched.
    Missing,
    /// An edition is late.
    Late,
    /// More records were set aside than the declared level.
    Quarantined,
    /// All of that is over, for a task or for the run.
    Recovered,
    /// Nothing: an operator sees whether messages arrive.
    Test,
}

/// Something that was not so after the run before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Event {
    /// What happened; docs/OPERATIONS.md says when each is reported.
    pub event: EventKind,
    /// The task; null if the run itself is meant.
    pub task_id: Option<String>,
    /// Why, for people, 1,000 characters at most; null if nobody knows.
    pub reason: Option<String>,
    /// What a person can do about it; null if there is nothing to do.
    pub next_step: Option<String>,
    /// The day since which an edition is late; null for other events.
    pub late_since: Option<Date>,
}

/// What is new since the run before: `--hook` gets it on standard input and `--webhook` by POST,
/// after a run with something to report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Message {
    // The head of all documents, whose schema the command line adds.
    #[schemars(skip)]
    pub format: &'static str,
    #[schemars(skip)]
    pub version: u32,
    /// All of it in a line for people, which chats show.
    pub text: String,
    /// The channel.
    pub channel: String,
    /// The run.
    pub run_id: String,
    /// When the run ended, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    pub ended_at: String,
    /// Exit code of the run.
    pub exit_code: u8,
    /// What became of the run.
    #[schemars(extend("enum" = ["published", "unchanged", "mended", "nothing", "failed"]))]
    pub outcome: String,
    /// What the channel points at; null if nothing was ever published.
    #[schemars(with = "Option<ReleaseId>")]
    pub release_id: Option<String>,
    /// What is new, the worst first.
    pub events: Vec<Event>,
}

impl EventKind {
    /// The word in messages.
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
    /// What the last run of a ledger has to tell, compared with its channel's run before; nothing
    /// where all is as it was. Entries are oldest first.
    pub fn of_last_run(entries: &[LedgerEntry]) -> Option<Self> {
        let last = entries.iter().rposition(is_run)?;
        let entry = &entries[last];
        let before = History::of(&entries[..last])
            .channels
            .remove(&entry.channel);
        let after = History::of(&entries[..=last])
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

    /// What is sent to see whether it arrives.
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

    /// The worst of what is told.
    pub fn worst(&self) -> Option<EventKind> {
        self.events.first().map(|event| event.event)
    }

    /// The JSON that hooks and webhooks get.
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
            Some("mend what the reason names, then `pubdata run`".to_owned()),
        ),
        (Some(before), false) => (
            EventKind::Recovered,
            Some(format!(
                "the run before ended with exit code {}",
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

/// What troubles a task, by kind. Of one that the operator can do without, files that are not there
/// are no trouble.
fn troubles(standing: &Standing) -> Vec<EventKind> {
    let is_needed = !standing.is_optional;
    let kinds = [
        (EventKind::Blocked, standing.is_blocked()),
        (EventKind::Missing, standing.is_missing() && is_needed),
        (EventKind::Late, standing.late_since.is_some() && is_needed),
        (EventKind::Quarantined, standing.is_above_warning_level),
    ];
    kinds
        .into_iter()
        .filter_map(|(kind, is_so)| is_so.then_some(kind))
        .collect()
}

fn of_a_task(task_id: &str, before: Option<&Standing>, now: &Standing) -> Vec<Event> {
    let (known, troubles) = (before.map(troubles).unwrap_or_default(), troubles(now));
    let event = |event: EventKind| {
        let reason = match event {
            EventKind::Late => now
                .late_since
                .map(|day| format!("late since {day} by the publisher's calendar")),
            EventKind::Quarantined => {
                Some("more records were set aside than the declared level".to_owned())
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
    if troubles.is_empty() && !known.is_empty() {
        return vec![event(EventKind::Recovered)];
    }
    troubles
        .iter()
        .copied()
        .filter(|kind| !known.contains(kind))
        .map(event)
        .collect()
}

fn line(channel: &str, events: &[Event]) -> String {
    let told = events.iter().take(TOLD).map(|event| {
        let of = event.task_id.as_deref().unwrap_or("run");
        let reason = event
            .reason
            .as_deref()
            .map(|reason| format!(" ({})", shortened(reason, REASON_IN_LINE)))
            .unwrap_or_default();
        format!("{} {of}{reason}", event.event.name())
    });
    let told = told.collect::<Vec<_>>().join("; ");
    let more = if events.len() > TOLD {
        format!("; and {} more", events.len() - TOLD)
    } else {
        String::new()
    };
    format!("pubdata {channel}: {told}{more}")
}

fn shortened(reason: &str, length: usize) -> String {
    match reason.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason.to_owned(),
    }
}
