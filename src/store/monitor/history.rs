//! The ledger, read from its first line to its last: how each channel's last run ended, how each
//! task stands, how the home grew.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;

use crate::{DiskUse, LedgerEntry, LedgerTask};

/// Exit codes from here on mean that a run came to no end: nothing was published or found
/// unchanged.
pub const FAILED_FROM: u8 = 40;

/// Sizes of the home that are remembered, one for each run.
const SIZES: usize = 30;

/// A task that no run has named for so long, and that the release does not have, is no longer told
/// of.
const FORGOTTEN_AFTER_SECONDS: i64 = 30 * 86_400;

/// What the ledger says by now.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    pub channels: BTreeMap<String, ChannelHistory>,
    /// What the home took when the last run ended.
    pub disk: Option<DiskUse>,
    /// Size of the home at the end of the last runs, in seconds and bytes, oldest first.
    pub sizes: Vec<(i64, u64)>,
}

/// The runs of a channel.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelHistory {
    pub last: RunSummary,
    /// When a run last came to its end, which published a release or found it unchanged. In
    /// seconds.
    pub succeeded_at: Option<i64>,
    /// How each task stands that runs have named.
    pub tasks: BTreeMap<String, Standing>,
}

/// A run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    pub run_id: String,
    /// In seconds.
    pub started_at: i64,
    /// In seconds.
    pub ended_at: i64,
    pub exit_code: u8,
    pub outcome: String,
    pub release_id: Option<String>,
    pub error: Option<String>,
    pub fetched_bytes: Option<u64>,
    /// Tasks by outcome.
    pub tasks: BTreeMap<String, usize>,
}

/// How a task stands after the last run that named it.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    pub outcome: String,
    pub reason: Option<String>,
    pub next_step: Option<String>,
    pub is_optional: bool,
    pub late_since: Option<Date>,
    /// Whether its last build set more records aside than the declared level. Nights in which
    /// nothing was built leave that as it is.
    pub is_above_warning_level: bool,
    pub findings: usize,
    pub duration_ms: u64,
    /// End of the last run that named it, in seconds.
    pub named_at: i64,
    /// End of the last run that built it, or found that there was nothing to build. In seconds.
    pub confirmed_at: Option<i64>,
    /// End of the last run that built it, in seconds.
    pub built_at: Option<i64>,
    /// How many runs in a row, up to the last, could not renew it.
    pub failed_runs: u64,
}

impl RunSummary {
    /// Whether it came to no end.
    pub fn is_failed(&self) -> bool {
        self.exit_code >= FAILED_FROM
    }
}

impl Standing {
    pub fn is_blocked(&self) -> bool {
        self.outcome == "blocked"
    }

    pub fn is_missing(&self) -> bool {
        self.outcome == "missing"
    }
}

impl History {
    /// Reads entries, oldest first.
    pub fn of(entries: &[LedgerEntry]) -> Self {
        let mut history = Self::default();
        entries
            .iter()
            .filter(|entry| is_run(entry))
            .for_each(|entry| history.add(entry));
        for channel in history.channels.values_mut() {
            let last = channel.last.ended_at;
            channel
                .tasks
                .retain(|_, standing| last - standing.named_at <= FORGOTTEN_AFTER_SECONDS);
        }
        history
    }

    fn add(&mut self, entry: &LedgerEntry) {
        let last = summary(entry);
        if let Some(disk) = &entry.disk {
            self.sizes.push((last.ended_at, disk.total_bytes()));
            let too_many = self.sizes.len().saturating_sub(SIZES);
            self.sizes.drain(..too_many);
            self.disk = Some(disk.clone());
        }
        let succeeded_at = (!last.is_failed()).then_some(last.ended_at);
        let known = self.channels.remove(&entry.channel);
        let before = known.as_ref().and_then(|channel| channel.succeeded_at);
        let mut tasks = known.map(|channel| channel.tasks).unwrap_or_default();
        for (task_id, told) in &entry.tasks {
            let standing = standing(told, last.ended_at, tasks.get(task_id));
            tasks.insert(task_id.clone(), standing);
        }
        self.channels.insert(
            entry.channel.clone(),
            ChannelHistory {
                last,
                succeeded_at: succeeded_at.or(before),
                tasks,
            },
        );
    }
}

/// Whether an entry is of a run, and not of what a person did.
pub(super) fn is_run(entry: &LedgerEntry) -> bool {
    entry.import.is_none()
        && (!entry.tasks.is_empty()
            || matches!(
                entry.outcome.as_str(),
                "published" | "unchanged" | "mended" | "nothing" | "failed"
            ))
}

fn summary(entry: &LedgerEntry) -> RunSummary {
    let mut tasks = BTreeMap::new();
    entry
        .tasks
        .values()
        .for_each(|task| *tasks.entry(task.outcome.clone()).or_default() += 1);
    RunSummary {
        run_id: entry.run_id.clone(),
        started_at: seconds(&entry.started_at),
        ended_at: seconds(&entry.ended_at),
        exit_code: entry.exit_code,
        outcome: entry.outcome.clone(),
        release_id: entry.release_id.as_ref().map(ToString::to_string),
        error: entry.error.clone(),
        fetched_bytes: entry.fetched_bytes,
        tasks,
    }
}

fn standing(told: &LedgerTask, ended_at: i64, before: Option<&Standing>) -> Standing {
    let is_built = matches!(told.outcome.as_str(), "built" | "resumed");
    let is_confirmed = is_built || told.outcome == "fresh";
    let is_failed = matches!(told.outcome.as_str(), "blocked" | "missing");
    let is_above_before = before.is_some_and(|before| before.is_above_warning_level);
    Standing {
        outcome: told.outcome.clone(),
        reason: told.reason.clone(),
        next_step: told.next_step.clone(),
        is_optional: told.is_optional,
        late_since: told.late_since,
        is_above_warning_level: if is_built {
            told.is_above_warning_level
        } else {
            is_above_before || told.is_above_warning_level
        },
        findings: told.findings.len(),
        duration_ms: told.duration_ms,
        named_at: ended_at,
        confirmed_at: is_confirmed
            .then_some(ended_at)
            .or_else(|| before.and_then(|before| before.confirmed_at)),
        built_at: is_built
            .then_some(ended_at)
            .or_else(|| before.and_then(|before| before.built_at)),
        failed_runs: if is_failed {
            before.map_or(0, |before| before.failed_runs) + 1
        } else {
            0
        },
    }
}

/// An instant of the ledger in seconds; the beginning of time where it cannot be read, which every
/// watch takes for too long ago.
pub(super) fn seconds(instant: &str) -> i64 {
    instant.parse::<Timestamp>().map_or(0, Timestamp::as_second)
}
