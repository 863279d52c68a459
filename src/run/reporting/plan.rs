//! Defines a run's plan: what the publishers have, and the planned work for each task, with its
//! reasons.

use std::borrow::Cow;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use pubdata_store::{Manifest, TaskEntry};

/// Planned work of a run, task by task, with the results of its fetches.
pub struct Plan {
    pub tasks: Vec<PlannedTask>,
    pub sources: Vec<FetchedSource>,
    /// Tasks of the current release that the selectors exclude.
    pub untouched: Vec<String>,
    /// The release that the channel points at.
    pub current: Option<Manifest>,
    /// The channel's generation; `None` if the channel does not exist yet.
    pub generation: Option<u64>,
    /// True if the sources are a mirror of samples, for which minimum row counts do not apply.
    pub is_sample: bool,
}

/// Result of asking a publisher for one file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FetchedSource {
    /// The file's URL, without secrets.
    pub url: String,
    /// Result of the fetch. `reused`: not fetched, because the publisher's document states no
    /// change. `absent`: the file does not exist, and is optional or not published yet. `not
    /// configured`: a setting such as a key is missing.
    #[schemars(extend("enum" = ["new", "unchanged", "reused", "absent", "not configured", "failed"]))]
    pub outcome: Cow<'static, str>,
    /// Size of the snapshot in bytes, over all pages of a list; null if there is none.
    pub size_bytes: Option<u64>,
    /// Why the fetch failed, which setting is missing, or what the publisher's document states;
    /// null otherwise.
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
    /// True if the operator's selection allows this task to fail.
    pub is_optional: bool,
    /// The day since which an unpublished partition is late.
    pub late_since: Option<Date>,
    /// Inputs and versions that identify the build; `None` if sources are missing.
    pub entry: Option<TaskEntry>,
}

/// Planned work for a task, or the reason why it cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "reasons", rename_all = "snake_case")]
pub enum TaskState {
    /// The current release already contains this build.
    Fresh,
    /// The task must be built, for these reasons.
    Stale(Vec<String>),
    /// Sources are missing, or a file was rejected because it has lost too much data.
    Blocked(Vec<Problem>),
    /// The publisher has not published this partition yet, or has published only some of its files.
    NotPublished(Vec<String>),
}

/// Reason why a task cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// True if the source is missing, false if it was rejected.
    pub is_source_missing: bool,
    pub message: String,
    /// Next step for the operator; `None` if only the publisher can act.
    pub next_step: Option<String>,
}

impl Problem {
    /// Returns the problem of a missing file.
    pub(crate) fn missing(message: String) -> Self {
        Self {
            is_source_missing: true,
            message,
            next_step: None,
        }
    }
}
