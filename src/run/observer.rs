//! Whoever listens to a run while it goes on: a bar on a terminal, lineage, a test.

use std::sync::Arc;

use jiff::Timestamp;

use crate::reporting::plan::Plan;
use crate::reporting::report::TaskReport;
use pubdata_fetch::FetchProgress;

/// Told how a run goes on.
pub trait Observer: FetchProgress {
    /// A run has begun, under its id.
    fn begun(&self, run_id: &str, at: Timestamp) {
        let _ = (run_id, at);
    }

    /// What is to be done is known.
    fn planned(&self, plan: &Plan) {
        let _ = plan;
    }

    /// So many files are going to be asked for.
    fn fetching(&self, files: usize);

    /// A file is done, with a word on the outcome.
    fn fetched(&self, url: &str, outcome: &str);

    /// A task is being built.
    fn building(&self, task_id: &str);

    /// So many of a task's shards or buckets are built.
    fn shard_built(&self, task_id: &str, done: usize, shards: usize) {
        let _ = (task_id, done, shards);
    }

    /// A task is built, or why not.
    fn built(&self, report: &TaskReport);
}

/// Shared by the tasks that report to it.
pub type SharedObserver = Arc<dyn Observer>;
