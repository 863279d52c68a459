//! Defines a run's report about its tasks and sources.

use std::collections::BTreeMap;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use super::plan::{FetchedSource, TaskState};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_core::issue::SourceFinding;
use pubdata_core::provenance::SourceRows;
use pubdata_store::{LEDGER_FORMAT_VERSION, LedgerEntry, LedgerTask};

/// Exit code of a run, for schedulers. The most severe event determines the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(into = "u8")]
#[schemars(description = "How a run ends: 0 fine, 10 something needs attention, 20 blocked, 30 a source was not available.", extend("enum" = [0, 10, 20, 30]))]
pub enum ExitCode {
    /// A release was published, or nothing had changed.
    Ok,
    /// A release was published, with something to review: more quarantined records than the
    /// declared level, or an edition that is late.
    Quarantined,
    /// A source was not available; everything else was published.
    SourceMissing,
    /// Validation blocked a dataset; everything else was published.
    Blocked,
}

impl From<ExitCode> for u8 {
    fn from(code: ExitCode) -> Self {
        match code {
            ExitCode::Ok => 0,
            ExitCode::Quarantined => 10,
            ExitCode::SourceMissing => 30,
            ExitCode::Blocked => 20,
        }
    }
}

/// Numbers of subjects in a sharded pipeline, such as registrants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct SubjectCounts {
    /// Subjects that were built from their sources.
    pub built: usize,
    /// Subjects that were reused from the last release because nothing that determines their rows
    /// had changed.
    #[serde(rename = "carried")]
    pub reused: usize,
}

/// Outcome, in a plan, of a task that a run would build.
pub(super) const TO_BUILD: &str = "to_build";

/// Outcome of one task in a run, in a plan, or in the current status.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TaskReport {
    /// A pipeline, with its partition if it has one: `census.acs5/vintage=2023`.
    pub task_id: String,
    /// Outcome of the task. `resumed`: built by a run that was interrupted; `fresh`: unchanged
    /// since it was published; `to_build`: to be built, in a plan; `never_run`: no run has tried
    /// the task.
    #[schemars(extend("enum" = ["built", "resumed", "fresh", "blocked", "missing", "not_published", "to_build", "never_run"]))]
    pub outcome: &'static str,
    /// True if the release has a build of the task, new or from an earlier run.
    pub is_in_release: bool,
    /// End of the first of the consecutive runs that failed to rebuild the task, up to the latest
    /// run, RFC 3339 UTC. Absent if the task has no problem, or if no run has ended since.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub since: Option<String>,
    /// Why the task was or will be built, or why it could not be built. Each reason can be
    /// understood alone.
    pub reasons: Vec<String>,
    /// Next step for the operator, with the command to type; null if nothing needs to be done, or
    /// only the publisher can act.
    pub next_step: Option<String>,
    /// True if the operator's selection allows the task to fail without affecting the exit code.
    pub is_optional: bool,
    /// Hash of everything that determines the build that was tried or made; null if sources are
    /// missing.
    pub input_hash: Option<Digest>,
    /// Numbers of built and reused subjects in a sharded pipeline; null for other pipelines, and if
    /// nothing was built or the build was resumed.
    pub subjects: Option<SubjectCounts>,
    /// Number of rows in each dataset that the task built, excluding the quarantine; empty if
    /// nothing was built.
    pub rows: BTreeMap<String, u64>,
    /// How the rows of each source were used. Absent if no source was read row by row.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub source_rows: BTreeMap<String, SourceRows>,
    /// Quarantined records, by dataset and rule.
    pub quarantined: BTreeMap<String, BTreeMap<String, u64>>,
    /// Records published with a warning, by dataset and code.
    pub warnings: BTreeMap<String, BTreeMap<String, u64>>,
    /// Remarks about totals that did not block the task.
    pub notes: Vec<String>,
    /// Findings about the task's sources that need attention until an operator has reviewed them.
    pub findings: Vec<SourceFinding>,
    /// True if the number of quarantined records exceeds the declared level.
    pub is_above_warning_level: bool,
    /// The day since which an edition of the task's sources is late; null if no edition is late or
    /// the schedule is unknown.
    pub late_since: Option<Date>,
    /// Duration in milliseconds; 0 if nothing was built.
    pub duration_ms: u64,
}

impl TaskReport {
    pub(crate) fn new(task_id: &str, outcome: &'static str, reasons: Vec<String>) -> Self {
        Self {
            task_id: task_id.to_owned(),
            outcome,
            is_in_release: false,
            since: None,
            reasons,
            next_step: None,
            is_optional: false,
            input_hash: None,
            subjects: None,
            rows: BTreeMap::new(),
            source_rows: BTreeMap::new(),
            quarantined: BTreeMap::new(),
            warnings: BTreeMap::new(),
            notes: Vec::new(),
            findings: Vec::new(),
            is_above_warning_level: false,
            late_since: None,
            duration_ms: 0,
        }
    }

    /// Creates the report of a task in a plan.
    pub fn of_state(task_id: &str, state: &TaskState) -> Self {
        match state {
            TaskState::Fresh => Self::new(task_id, "fresh", Vec::new()),
            TaskState::Stale(reasons) => Self::new(task_id, TO_BUILD, reasons.clone()),
            TaskState::NotPublished(reasons) => {
                Self::new(task_id, "not_published", reasons.clone())
            }
            TaskState::Blocked(problems) => {
                let outcome = if problems.iter().all(|problem| problem.is_source_missing) {
                    "missing"
                } else {
                    "blocked"
                };
                let next_step = problems
                    .iter()
                    .find_map(|problem| problem.next_step.clone());
                Self {
                    next_step,
                    ..Self::new(
                        task_id,
                        outcome,
                        problems
                            .iter()
                            .map(|problem| problem.message.clone())
                            .collect(),
                    )
                }
            }
        }
    }

    /// Returns the number of quarantined records over all datasets.
    pub fn quarantined_total(&self) -> u64 {
        self.quarantined.values().flat_map(BTreeMap::values).sum()
    }
}

/// Result of a run: `pubdata run`, `pubdata commit`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RunReport {
    /// The run's id, which is also the name of its folder in `HOME/runs`.
    pub run_id: String,
    /// When it began, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    /// When it ended, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    pub ended_at: String,
    /// The channel that the run updates.
    pub channel: String,
    /// The release that the channel points at after the run; null if nothing was ever published.
    pub release_id: Option<ReleaseId>,
    /// Outcome of the run. `mended`: the same release, with lost or damaged parts rewritten;
    /// `nothing`: no task has a build, new or from an earlier run.
    #[schemars(extend("enum" = ["published", "unchanged", "mended", "nothing"]))]
    pub outcome: &'static str,
    /// True if the run's sources were a mirror of samples, for which minimum row counts do not
    /// apply.
    pub is_sample: bool,
    /// The exit code.
    pub exit_code: ExitCode,
    /// Every selected task.
    pub tasks: Vec<TaskReport>,
    /// Every URL that was requested.
    pub sources: Vec<FetchedSource>,
    /// Acceptances that applied to this run, each as `TASK:RULE`.
    pub accepted: Vec<String>,
}

impl RunReport {
    pub(crate) fn ledger_entry(&self) -> LedgerEntry {
        let task = |report: &TaskReport| LedgerTask {
            outcome: report.outcome.to_owned(),
            reason: (!report.reasons.is_empty()).then(|| report.reasons.join("; ")),
            rows: report.rows.values().sum(),
            quarantined_rows: report.quarantined_total(),
            findings: report.findings.clone(),
            next_step: report.next_step.clone(),
            late_since: report.late_since,
            is_above_warning_level: report.is_above_warning_level,
            is_optional: report.is_optional,
            input_hash: report.input_hash,
            duration_ms: report.duration_ms,
        };
        LedgerEntry {
            format_version: LEDGER_FORMAT_VERSION,
            run_id: self.run_id.clone(),
            started_at: self.started_at.clone(),
            ended_at: self.ended_at.clone(),
            exit_code: self.exit_code.into(),
            channel: self.channel.clone(),
            release_id: self.release_id.clone(),
            outcome: self.outcome.to_owned(),
            error: None,
            note: None,
            accepted: self.accepted.clone(),
            import: None,
            fetched_bytes: Some(
                self.sources
                    .iter()
                    .filter(|source| source.outcome == "new")
                    .filter_map(|source| source.size_bytes)
                    .sum(),
            ),
            disk: None,
            tasks: self
                .tasks
                .iter()
                .map(|report| (report.task_id.clone(), task(report)))
                .collect(),
        }
    }
}

/// Creates the id of a new run.
pub(crate) fn new_run_id(now: jiff::Timestamp) -> Result<String> {
    let mut bytes = [0; 3];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::store(format!("the system gives no random numbers: {error}")))?;
    let suffix: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}-{suffix}", now.strftime("%Y%m%dT%H%M%SZ")))
}
