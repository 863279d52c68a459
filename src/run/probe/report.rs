//! Defines the report of a probe, which contains the state of each URL, the predicted outcome of
//! each task, and the exit code of a run.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::reporting::report::ExitCode;
use pubdata_core::declared::DeclarationFiles;

/// State of a publisher's URL, compared with its declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Ok,
    /// The header or format of the file differs from the declaration.
    Changed,
    /// The file does not exist.
    Absent,
    /// The server responded with 401, 403 or another refusal, or with a page that blocks programs.
    Refused,
    /// The server redirects to a URL that is not followed.
    Moved,
    /// The server did not respond, or asked to try again later.
    Unreachable,
    /// The file needs a manual import, a secret is not configured, or a setting cannot be used.
    #[serde(rename = "not_asked")]
    NotRequested,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Changed => "changed",
            Self::Absent => "absent",
            Self::Refused => "refused",
            Self::Moved => "moved",
            Self::Unreachable => "unreachable",
            Self::NotRequested => "not_asked",
        }
    }
}

/// Predicted effect of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Would")]
pub enum PredictedOutcome {
    Publish,
    PublishWithFindings,
    /// The last good build stays because a source is unavailable, or because the partition is not
    /// published yet.
    KeepLast,
    /// Nothing new would be published, because the data is not as declared, or because a source is
    /// unavailable and no earlier build can be kept.
    Block,
}

impl PredictedOutcome {
    pub fn word(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::PublishWithFindings => "publish_with_findings",
            Self::KeepLast => "keep_last",
            Self::Block => "block",
        }
    }
}

/// Indicates whether the release would keep the earlier build of a stale task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LastBuild {
    Stays,
    None,
}

/// Outcome of a task, as named by a run, ordered from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(rename = "End", with = "String", extend("enum" = ["built", "not_published", "missing", "blocked"]))]
pub enum TaskOutcome {
    Built(ExitCode),
    NotPublished,
    Missing,
    Blocked,
}

impl TaskOutcome {
    /// Returns the outcome's name in a run's report.
    pub fn word(self) -> &'static str {
        match self {
            Self::Built(_) => "built",
            Self::NotPublished => "not_published",
            Self::Missing => "missing",
            Self::Blocked => "blocked",
        }
    }

    /// Returns the effect of this outcome on the release.
    pub(super) fn predicted_outcome(self, last: LastBuild) -> PredictedOutcome {
        match self {
            Self::Built(ExitCode::Ok) => PredictedOutcome::Publish,
            Self::Built(_) => PredictedOutcome::PublishWithFindings,
            Self::NotPublished => PredictedOutcome::KeepLast,
            Self::Missing if last == LastBuild::Stays => PredictedOutcome::KeepLast,
            Self::Missing | Self::Blocked => PredictedOutcome::Block,
        }
    }

    pub(super) fn exit_code(self) -> ExitCode {
        match self {
            Self::Built(code) => code,
            Self::NotPublished => ExitCode::Ok,
            Self::Missing => ExitCode::SourceMissing,
            Self::Blocked => ExitCode::Blocked,
        }
    }
}

impl Serialize for TaskOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// Comparison of a file's columns with the declared ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Header {
    /// Missing mapped columns, as the publisher's names joined by ` or `.
    pub missing: Vec<String>,
    /// Columns that are neither mapped nor ignored.
    pub new: Vec<String>,
}

/// Results of running the builder on a source's first rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sample {
    /// Number of rows.
    pub rows: u64,
    /// Number of rows from which a published record was built.
    pub accepted: u64,
    /// Quarantined records, by rule.
    pub quarantined: BTreeMap<String, u64>,
    /// Terms that no table of the settings has, by kind.
    pub unknown_values: BTreeMap<String, BTreeSet<String>>,
}

/// One requested URL.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProbedSource {
    /// The source.
    pub source_id: String,
    /// The URL, without secrets.
    pub url: String,
    /// State of the URL, compared with the declaration. `pubdata probe --help` explains the values.
    pub verdict: Verdict,
    /// The server's status code; null for a folder, and if no server responded.
    #[schemars(range(min = 100, max = 599))]
    pub status: Option<u16>,
    /// Predicted effect of a run.
    #[serde(rename = "would")]
    pub predicted: PredictedOutcome,
    /// Outcome that a run would report for the tasks because of this URL.
    pub outcome: TaskOutcome,
    /// Description of the problem; null if there is none.
    pub problem: Option<String>,
    /// Hints for the operator, the most likely one first.
    #[serde(rename = "ways_out")]
    pub hints: Vec<String>,
    /// The file that a run would use instead of the file at this URL; null if it uses the URL.
    pub in_use: Option<String>,
    /// Comparison of the file's columns with the declared ones.
    pub header: Header,
    /// Results of running the builder on the first rows; null if it did not run.
    pub sample: Option<Sample>,
    /// Why the builder did not run on the file's rows; null if it did.
    pub not_sampled: Option<String>,
    /// Changes to the declaration, as TOML; null if none are suggested.
    pub suggestion: Option<String>,
    /// Predicted effect of a run with all suggestions applied, as far as the sample shows; null if
    /// there are no suggestions.
    pub with_suggestions: Option<PredictedOutcome>,
    /// Problems that would remain with all suggestions.
    pub remaining: Vec<String>,
}

/// Prediction for one pipeline, or for the newest partition of a partitioned pipeline.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProbedTask {
    /// A pipeline, with its partition if it has one: `census.acs5/vintage=2023`.
    pub task_id: String,
    /// Predicted effect of a run.
    #[serde(rename = "would")]
    pub predicted: PredictedOutcome,
    /// Outcome that a run would report.
    pub outcome: TaskOutcome,
    /// True if the release would have a build of the task, new or from an earlier run.
    pub is_in_release: bool,
    /// Reasons for the outcome. Each reason can be understood alone.
    pub reasons: Vec<String>,
    /// Number of rows in each dataset that were built from the sample.
    pub rows: BTreeMap<String, u64>,
    /// Why the builder did not run; null if it did.
    pub not_sampled: Option<String>,
    /// Predicted effect of a run with all suggestions; null if there are no suggestions.
    pub with_suggestions: Option<PredictedOutcome>,
}

/// Number of tasks by predicted effect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskCounts {
    /// Tasks that would be built.
    pub would_publish: usize,
    /// Tasks that would be built, with something to review.
    pub would_publish_with_findings: usize,
    /// Tasks whose last good build would stay.
    pub would_keep_last: usize,
    /// Tasks for which nothing would be published.
    pub would_block: usize,
}

/// State of the publishers' files, and predicted effect of a run: `pubdata probe`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProbeReport {
    /// Every requested URL.
    pub sources: Vec<ProbedSource>,
    /// Number of tasks by predicted effect.
    pub counts: TaskCounts,
    /// One task for each pipeline. A partitioned pipeline is represented by the newest partition.
    pub tasks: Vec<ProbedTask>,
    /// The predicted exit code of a run.
    pub exit_code: ExitCode,
    /// The declarations with the suggestions applied.
    #[serde(skip)]
    pub suggested: DeclarationFiles,
}

impl TaskCounts {
    pub(super) fn from_tasks(tasks: &[ProbedTask]) -> Self {
        let count = |predicted: PredictedOutcome| {
            tasks
                .iter()
                .filter(|task| task.predicted == predicted)
                .count()
        };
        Self {
            would_publish: count(PredictedOutcome::Publish),
            would_publish_with_findings: count(PredictedOutcome::PublishWithFindings),
            would_keep_last: count(PredictedOutcome::KeepLast),
            would_block: count(PredictedOutcome::Block),
        }
    }
}

/// Returns the predicted exit code of a run. The code is also `Quarantined` if a run would publish
/// unknown terms with only a warning.
pub(super) fn exit_code(tasks: &[ProbedTask]) -> ExitCode {
    tasks
        .iter()
        .map(|task| task.outcome.exit_code())
        .max()
        .unwrap_or(ExitCode::Ok)
}
