//! Defines the interface for observers of a run, such as a progress bar, lineage, or a test.

use std::sync::Arc;

use jiff::Timestamp;

use crate::reporting::plan::Plan;
use crate::reporting::report::TaskReport;
use pubdata_fetch::FetchProgress;

/// Receives the events of a run.
pub trait Observer: FetchProgress {
    /// Called when a run starts, with its id.
    fn on_run_started(&self, run_id: &str, at: Timestamp) {
        let _ = (run_id, at);
    }

    /// Called when the plan is known.
    fn on_planned(&self, plan: &Plan) {
        let _ = plan;
    }

    /// Called before files are fetched, with the number of files.
    fn on_fetch_started(&self, files: usize);

    /// Called when the fetch of a file ends, with the outcome.
    fn on_fetched(&self, url: &str, outcome: &str);

    /// Called when the build of a task starts.
    fn on_task_started(&self, task_id: &str);

    /// Called when a shard or bucket is built, with the number built so far.
    fn on_shard_built(&self, task_id: &str, done: usize, shards: usize) {
        let _ = (task_id, done, shards);
    }

    /// Called when a task is built or has failed.
    fn on_task_built(&self, report: &TaskReport);
}

/// An observer shared by all tasks.
pub type SharedObserver = Arc<dyn Observer>;
