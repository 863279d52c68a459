//! What a probe says: of each address what it has, of each task what a run would do, and the exit
//! code the run would have.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::reporting::report::ExitCode;
use pubdata_core::declared::DeclarationFiles;

/// What a publisher's address has, against what is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Ok,
    /// Header or format are not those declared.
    Changed,
    /// There is no such file.
    Absent,
    /// 401, 403, another refusal, or a page that keeps programs out.
    Refused,
    /// The server sends on to an address that is not followed.
    Moved,
    /// No answer, or one that says to come back later.
    Unreachable,
    /// A person fetches the file, a secret is not configured, or a setting cannot be used.
    NotAsked,
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
            Self::NotAsked => "not_asked",
        }
    }
}

/// What a night would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Would {
    Publish,
    PublishWithFindings,
    /// The last good build stays: a source is not to be had, or the partition is not published yet.
    KeepLast,
    /// Nothing new would be published: the data are not what is declared, or a source is not to be
    /// had and there is no build to keep.
    Block,
}

impl Would {
    pub fn word(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::PublishWithFindings => "publish_with_findings",
            Self::KeepLast => "keep_last",
            Self::Block => "block",
        }
    }
}

/// Whether the release would keep the build of before of a task that is not renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LastBuild {
    Stays,
    None,
}

/// How a task ends, as a run names it; the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "String", extend("enum" = ["built", "not_published", "missing", "blocked"]))]
pub enum End {
    Built(ExitCode),
    NotPublished,
    Missing,
    Blocked,
}

impl End {
    /// The word for it in the report of a run.
    pub fn word(self) -> &'static str {
        match self {
            Self::Built(_) => "built",
            Self::NotPublished => "not_published",
            Self::Missing => "missing",
            Self::Blocked => "blocked",
        }
    }

    /// What that means for the release.
    pub(super) fn would(self, last: LastBuild) -> Would {
        match self {
            Self::Built(ExitCode::Ok) => Would::Publish,
            Self::Built(_) => Would::PublishWithFindings,
            Self::NotPublished => Would::KeepLast,
            Self::Missing if last == LastBuild::Stays => Would::KeepLast,
            Self::Missing | Self::Blocked => Would::Block,
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

impl Serialize for End {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// A file's columns against the declared ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Header {
    /// Mapped columns that are not there, as the publisher's names joined by ` or `.
    pub missing: Vec<String>,
    /// Columns that are neither mapped nor ignored.
    pub new: Vec<String>,
}

/// What the dataset's own code made of a source's first rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sample {
    /// Number of rows.
    pub rows: u64,
    /// Rows that a published record was made from.
    pub accepted: u64,
    /// Records set aside, by rule.
    pub quarantined: BTreeMap<String, u64>,
    /// Words that no table of the settings has, by what they are.
    pub unknown_values: BTreeMap<String, BTreeSet<String>>,
}

/// One address that was asked.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProbedSource {
    /// The source.
    pub source_id: String,
    /// The address, without secrets.
    pub url: String,
    /// What the address has, against what is declared; `pubdata probe --help` has the meanings.
    pub verdict: Verdict,
    /// The server's status; null for a folder, and if nobody answered.
    #[schemars(range(min = 100, max = 599))]
    pub status: Option<u16>,
    /// What a run would do.
    pub would: Would,
    /// How a run would report its tasks because of it.
    pub outcome: End,
    /// What is wrong, in words; null if nothing is.
    pub problem: Option<String>,
    /// What a person can do about it, the likeliest first.
    pub ways_out: Vec<String>,
    /// What a run would use in place of what the address has; null if it uses that.
    pub in_use: Option<String>,
    /// The file's columns against the declared ones.
    pub header: Header,
    /// What the builder made of the first rows; null if it was not run.
    pub sample: Option<Sample>,
    /// Why the builder was not run on its rows; null if it was.
    pub not_sampled: Option<String>,
    /// Changes of the declaration, as TOML; null if there are none.
    pub suggestion: Option<String>,
    /// What a run with all suggestions would do, as far as the sample shows; null without one.
    pub with_suggestions: Option<Would>,
    /// What would still be wrong then.
    pub remaining: Vec<String>,
}

/// One pipeline, for a partitioned one its newest partition.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProbedTask {
    /// A pipeline, with its partition if it has one: `census.acs5/vintage=2023`.
    pub task_id: String,
    /// What a run would do.
    pub would: Would,
    /// How a run would report it.
    pub outcome: End,
    /// Whether it is not renewed, and the release holds the build of before.
    pub is_in_release: bool,
    /// Why; readable alone.
    pub reasons: Vec<String>,
    /// Rows of each dataset that the sample gave.
    pub rows: BTreeMap<String, u64>,
    /// Why the builder was not run; null if it was.
    pub not_sampled: Option<String>,
    /// What a run with all suggestions would do; null without one.
    pub with_suggestions: Option<Would>,
}

/// How many tasks would end how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskCounts {
    /// Tasks that would be built.
    pub would_publish: usize,
    /// Tasks that would be built, with something to look at.
    pub would_publish_with_findings: usize,
    /// Tasks whose last good build would stay.
    pub would_keep_last: usize,
    /// Tasks for which nothing would be published.
    pub would_block: usize,
}

/// What the publishers have, and what a run would do: `pubdata probe`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProbeReport {
    /// Every address that was asked.
    pub sources: Vec<ProbedSource>,
    /// How many tasks would end how.
    pub counts: TaskCounts,
    /// A task for each pipeline; for partitioned ones the newest partition.
    pub tasks: Vec<ProbedTask>,
    /// The exit code that the run would have.
    pub exit_code: ExitCode,
    /// The declarations with the suggestions put in.
    #[serde(skip)]
    pub suggested: DeclarationFiles,
}

impl TaskCounts {
    pub(super) fn of(tasks: &[ProbedTask]) -> Self {
        let count = |would: Would| tasks.iter().filter(|task| task.would == would).count();
        Self {
            would_publish: count(Would::Publish),
            would_publish_with_findings: count(Would::PublishWithFindings),
            would_keep_last: count(Would::KeepLast),
            would_block: count(Would::Block),
        }
    }
}

/// The exit code of the night that is foreseen; `Quarantined` also where a run would publish words
/// that no table has with no more than a warning.
pub(super) fn exit_code(tasks: &[ProbedTask]) -> ExitCode {
    tasks
        .iter()
        .map(|task| task.outcome.exit_code())
        .max()
        .unwrap_or(ExitCode::Ok)
}
