//! Evaluates the ledger from first line to last: how each channel's last run ended, the status of
//! each task, and the growth of the home.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;

use crate::{DiskUse, LedgerEntry, LedgerTask};

/// Lowest exit code of a failed run. A failed run neither published a release nor found the release
/// unchanged.
pub const FAILED_FROM: u8 = 40;

/// Number of home sizes to keep, one per run.
const SIZES: usize = 30;

/// A task is no longer reported if no run has named it for this long and the release does not
/// contain it.
const FORGOTTEN_AFTER_SECONDS: i64 = 30 * 86_400;

/// State of the installation after the last ledger line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    pub channels: BTreeMap<String, ChannelHistory>,
    /// Disk use of the home at the end of the last run.
    pub disk: Option<DiskUse>,
    /// Size of the home at the end of recent runs, as pairs of seconds and bytes, oldest first.
    pub sizes: Vec<(i64, u64)>,
}

/// Summary of a channel's runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelHistory {
    pub last: RunSummary,
    /// End time of the last run that published a release or found the release unchanged, in
    /// seconds.
    pub succeeded_at: Option<i64>,
    /// Status of each task that runs have named.
    pub tasks: BTreeMap<String, TaskStatus>,
}

/// Summary of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    pub run_id: String,
    /// Start time in seconds.
    pub started_at: i64,
    /// End time in seconds.
    pub ended_at: i64,
    pub exit_code: u8,
    pub outcome: String,
    pub release_id: Option<String>,
    pub error: Option<String>,
    pub fetched_bytes: Option<u64>,
    /// Number of tasks by outcome.
    pub tasks: BTreeMap<String, usize>,
}

/// Status of a task after the last run that named the task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskStatus {
    pub outcome: String,
    pub reason: Option<String>,
    pub next_step: Option<String>,
    pub is_optional: bool,
    pub late_since: Option<Date>,
    /// True if the task's last build quarantined more records than the declared warning level. Runs
    /// that did not build the task leave this unchanged.
    pub is_above_warning_level: bool,
    pub findings: usize,
    pub duration_ms: u64,
    /// End time of the last run that named the task, in seconds.
    pub named_at: i64,
    /// End time of the last run that built the task or found it fresh, in seconds.
    pub confirmed_at: Option<i64>,
    /// End time of the last run that built the task, in seconds.
    pub built_at: Option<i64>,
    /// Number of consecutive runs, up to the last run, that could not rebuild the task.
    pub failed_runs: u64,
}

impl RunSummary {
    /// Returns whether the run failed.
    pub fn is_failed(&self) -> bool {
        self.exit_code >= FAILED_FROM
    }
}

impl TaskStatus {
    pub fn is_blocked(&self) -> bool {
        self.outcome == "blocked"
    }

    pub fn is_missing(&self) -> bool {
        self.outcome == "missing"
    }
}

impl History {
    /// Evaluates ledger entries, given oldest first.
    pub fn from_entries(entries: &[LedgerEntry]) -> Self {
        let mut history = Self::default();
        entries
            .iter()
            .filter(|entry| is_run(entry))
            .for_each(|entry| history.add(entry));
        for channel in history.channels.values_mut() {
            let last = channel.last.ended_at;
            channel
                .tasks
                .retain(|_, task_status| last - task_status.named_at <= FORGOTTEN_AFTER_SECONDS);
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
        for (task_id, ledger_task) in &entry.tasks {
            let task_status = task_status(ledger_task, last.ended_at, tasks.get(task_id));
            tasks.insert(task_id.clone(), task_status);
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

/// Returns whether an entry is a run, rather than a manual import or a withdrawal.
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

fn task_status(ledger_task: &LedgerTask, ended_at: i64, before: Option<&TaskStatus>) -> TaskStatus {
    let is_built = matches!(ledger_task.outcome.as_str(), "built" | "resumed");
    let is_confirmed = is_built || ledger_task.outcome == "fresh";
    let is_failed = matches!(ledger_task.outcome.as_str(), "blocked" | "missing");
    let is_above_before = before.is_some_and(|before| before.is_above_warning_level);
    TaskStatus {
        outcome: ledger_task.outcome.clone(),
        reason: ledger_task.reason.clone(),
        next_step: ledger_task.next_step.clone(),
        is_optional: ledger_task.is_optional,
        late_since: ledger_task.late_since,
        is_above_warning_level: if is_built {
            ledger_task.is_above_warning_level
        } else {
            is_above_before || ledger_task.is_above_warning_level
        },
        findings: ledger_task.findings.len(),
        duration_ms: ledger_task.duration_ms,
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

/// Parses a timestamp in the ledger into seconds. Returns 0 if the timestamp is unreadable, which
/// every alert treats as too long ago.
pub(super) fn seconds(instant: &str) -> i64 {
    instant.parse::<Timestamp>().map_or(0, Timestamp::as_second)
}
