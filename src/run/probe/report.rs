use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::super::report::ExitCode;
use crate::declared::DeclarationFiles;

/// What a publisher's address has, against what is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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
    /// A person fetches the file, a secret is not configured, or another way of fetching is needed.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Would {
    Publish,
    PublishWithFindings,
    /// The last good build stays: a source is not to be had.
    KeepLast,
    /// Nothing new would be published: the data are not what is declared, or a source is not to be had and there is no build to keep.
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

/// A file's columns against the declared ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Header {
    /// Mapped columns that are not there, as the publisher's names joined by ` or `.
    pub missing: Vec<String>,
    /// Columns that are neither mapped nor ignored.
    pub new: Vec<String>,
}

/// What the dataset's own code made of a source's first rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Sample {
    pub rows: u64,
    /// Rows that a published record was made from.
    pub accepted: u64,
    /// Records set aside, by rule.
    pub quarantined: BTreeMap<String, u64>,
    /// Words that no table of the settings has, by what they are.
    pub unknown_values: BTreeMap<String, BTreeSet<String>>,
}

/// One address that was asked.
#[derive(Debug, Clone, Serialize)]
pub struct ProbedSource {
    pub source_id: String,
    /// Without secrets.
    pub url: String,
    pub verdict: Verdict,
    /// The server's answer; none of a folder, and where nobody answered.
    pub status: Option<u16>,
    pub would: Would,
    /// What is wrong, in words.
    pub problem: Option<String>,
    pub header: Header,
    pub sample: Option<Sample>,
    /// Why the dataset's code was not run on its rows.
    pub not_sampled: Option<String>,
    /// Changes of the declaration, as TOML.
    pub suggestion: Option<String>,
    /// What a night with all suggestions would do, as far as the sample shows.
    pub with_suggestions: Option<Would>,
}

/// One pipeline, for a partitioned one its newest partition.
#[derive(Debug, Clone, Serialize)]
pub struct ProbedTask {
    pub task_id: String,
    pub would: Would,
    /// The exit code of a night of it alone.
    #[serde(skip)]
    pub(super) code: ExitCode,
    pub reasons: Vec<String>,
    /// Rows of each dataset that the sample gave.
    pub rows: BTreeMap<String, u64>,
    /// Why the dataset's code was not run.
    pub not_sampled: Option<String>,
    pub with_suggestions: Option<Would>,
}

/// How many tasks would end how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TaskCounts {
    pub would_publish: usize,
    pub would_publish_with_findings: usize,
    pub would_keep_last: usize,
    pub would_block: usize,
}

/// What the publishers have, and what a night would do.
#[derive(Debug, Clone, Serialize)]
pub struct ProbeReport {
    pub sources: Vec<ProbedSource>,
    pub tasks: TaskCounts,
    pub by_task: Vec<ProbedTask>,
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

/// The exit code of the night that is foreseen.
pub(super) fn exit_code(tasks: &[ProbedTask]) -> ExitCode {
    tasks.iter().map(|task| task.code).max().unwrap_or(ExitCode::Ok)
}
