//! What a plan says: what is to be done for each task, and why.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::FetchedSource;
use super::arrivals::Problem;
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
