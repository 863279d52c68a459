//! Decides what is stale and why, and does just that: fetch, build, validate, stage, and one commit at the end. One task per pipeline
//! and partition; a task that fails never stops the others, its last good build is carried into the new release and marked stale.

mod accepted;
mod arrivals;
mod buckets;
mod build;
mod by_hand;
mod dates;
mod declaration_faults;
mod drift;
mod due;
mod editions;
mod entry;
mod execute;
mod exit_code;
mod fetching;
mod findings;
mod import;
mod listing;
mod mirrors;
mod pages;
mod partitions;
mod plan;
mod probe;
mod report;
mod requests;
mod selection;
mod shards;
mod source_fetcher;
mod source_rows;
mod stage;
mod standing;
mod trace;
mod verify;
mod wanted;
mod work_units;

use std::path::PathBuf;
use std::sync::Arc;

pub use accepted::{Word, acceptance, accepted_ids, check_acceptance, check_accepted, fetcher};
pub use arrivals::Problem;
pub use declaration_faults::declaration_faults;
pub use execute::run;
pub use exit_code::ExitCode;
pub use import::{Import, Imported, Withdrawal, Withdrawn, import, unknown_source, withdraw};
pub use plan::{Plan, PlannedTask, TaskState, fetch_on_demand, plan};
pub use probe::{End, ProbeReport, ProbeSettings, ProbedSource, ProbedTask, Verdict, Would, probe};
pub use report::{FetchedSource, RunReport, SubjectCounts, TaskReport};
pub use selection::check_selectors;
pub use standing::{FileByHand, NeverBuilt, files_by_hand, never_built};
pub use trace::{AccessionReport, TraceReport, trace, trace_accession};
pub use verify::{RebuildReport, VerifyReport, rebuild, verify};

use crate::error::{Error, Result};
use crate::fetch::{FetchProgress, FetchSettings};
use crate::pipeline::Declarations;
use crate::store::{Home, Manifest, Releases};

/// What a run works with.
pub struct RunSettings {
    pub home: Home,
    pub releases: Releases,
    pub declarations: Declarations,
    pub fetch: FetchSettings,
    /// The channel that is read and moved.
    pub channel: String,
    /// Pipelines, datasets, families or tasks to work on; everything when empty.
    pub selectors: Vec<String>,
    /// Builds again even when nothing changed.
    pub is_forced: bool,
    /// Uses the snapshots that are there and asks no publisher.
    pub is_offline: bool,
    /// Sources and datasets whose losses against the last release a person has looked at.
    pub accepted: Vec<String>,
    /// Sources and pipelines whose layout, known from documentation, a person has confirmed.
    pub confirmed: Vec<String>,
}

/// Told how a run goes on.
pub trait Observer: FetchProgress {
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

/// The release the channel points at.
///
/// # Errors
/// `Config`, when nothing was published to it yet; `Store`, when it cannot be read.
pub async fn current_manifest(settings: &RunSettings) -> Result<Manifest> {
    let entry = settings.releases.channel(&settings.channel).await?;
    let entry = entry.ok_or_else(|| Error::config(format!("channel `{}` has no release yet", settings.channel)).hint("`pubdata run` makes one"))?;
    settings.releases.manifest(&entry.release_id).await
}

/// Where the details of one run's findings are written.
fn issues_file(home: &Home, run_id: &str) -> PathBuf {
    home.run_dir(run_id).join("issues.jsonl")
}
