//! What a plan says: what the publishers said, what is to be done for each task, and why.

use std::borrow::Cow;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use pubdata_store::{Manifest, TaskEntry};

/// What a run would do, task by task, and what the publishers said.
pub struct Plan {
    pub tasks: Vec<PlannedTask>,
    pub sources: Vec<FetchedSource>,
    /// Tasks of the current release that the selectors leave alone.
    pub untouched: Vec<String>,
    /// The release the channel points at.
    pub current: Option<Manifest>,
    /// The channel's generation; none when it does not exist yet.
    pub generation: Option<u64>,
    /// Whether the sources are a mirror of samples: row floors do not apply.
    pub is_sample: bool,
}

/// What a publisher said about one file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FetchedSource {
    /// The file's address, without secrets.
    pub url: String,
    /// What came of it. `reused`: not fetched, because the publisher's document says that it did
    /// not change; `absent`: there is no such file, and it is optional or not published yet; `not
    /// configured`: a setting such as a key is missing.
    #[schemars(extend("enum" = ["new", "unchanged", "reused", "absent", "not configured", "failed"]))]
    pub outcome: Cow<'static, str>,
    /// Size of the snapshot in bytes, over all pages of a list; null if there is none.
    pub size_bytes: Option<u64>,
    /// Why it failed, which setting is missing, or what the publisher's document says; null
    /// otherwise.
    pub detail: Option<String>,
}

/// One pipeline for one partition.
#[derive(Clone, Serialize, Deserialize)]
pub struct PlannedTask {
    pub task_id: String,
    pub pipeline_id: String,
    /// Value of the partition's URL variable.
    pub partition: Option<String>,
    pub state: TaskState,
    /// Whether the operator has said that the night can do without it.
    pub is_optional: bool,
    /// The day since which a partition that is not published yet is late.
    pub late_since: Option<Date>,
    /// What the build would be known by; none where sources are missing.
    pub entry: Option<TaskEntry>,
}

/// What is to be done for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "reasons", rename_all = "snake_case")]
pub enum TaskState {
    /// The current release has this very build.
    Fresh,
    /// To be built, and why.
    Stale(Vec<String>),
    /// Sources are missing, or a file lost so much that it is not believed.
    Blocked(Vec<Problem>),
    /// The publisher has not put out this partition, or only some of its files.
    NotPublished(Vec<String>),
}

/// Why a task cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// A source that is not there, as opposed to one that is not believed.
    pub is_source_missing: bool,
    pub message: String,
    /// What a person can do about it; none where only the publisher can.
    pub next_step: Option<String>,
}

impl Problem {
    /// A file that is not there.
    pub(crate) fn missing(message: String) -> Self {
        Self {
            is_source_missing: true,
            message,
            next_step: None,
        }
    }
}
