//! Builds one task, as a whole, bucket by bucket or shard by shard, and stages the result.

use std::path::Path;

use rayon::prelude::*;

use super::build::{BuildOutput, Division, build, checked_against};
use super::units::{BuiltTask, TaskInUnits};
use crate::fetching::manual_import::withdrawn_in;
use crate::observer::SharedObserver;
use crate::reporting::findings::issues_file;
use crate::reporting::plan::{FetchedSource, Plan, PlannedTask};
use crate::settings::RunSettings;
use pubdata_core::error::{Error, Result};
use pubdata_core::provenance::{Obtained, Snapshot};
use pubdata_store::{Home, Snapshots, TaskEntry};

/// Builds a task and stages the result.
///
/// # Errors
/// Returns the cause if the build fails. The build's issues are in the run's issues file by then.
pub(crate) fn build_and_stage(
    settings: &RunSettings,
    plan: &Plan,
    task: &PlannedTask,
    entry: &TaskEntry,
    run_id: &str,
    observer: &SharedObserver,
) -> Result<BuiltTask> {
    let declaration = &settings.declarations.pipelines[&task.pipeline_id];
    check_snapshots(settings, &plan.sources, &entry.inputs)?;
    let issues_file = issues_file(&settings.home, run_id);
    // A build made from a file that was later withdrawn cannot be a baseline.
    let accepted = match withdrawn_in(
        settings,
        plan.current
            .as_ref()
            .and_then(|current| current.tasks.get(&task.task_id)),
    )? {
        Some(_) => None,
        None => plan.current.as_ref(),
    };
    let output = build(settings, declaration, task.partition.clone(), entry, None)?;
    let division = output.division();
    let in_units = TaskInUnits {
        settings,
        declaration,
        task_id: &task.task_id,
        entry,
        is_sample: plan.is_sample,
        previous: accepted.filter(|_| division != Division::Shards || !settings.is_forced),
        observer: Some(observer),
        division,
        against: Some(checked_against(
            settings,
            plan.current.as_ref(),
            &task.task_id,
        )),
    };
    in_units.stage(&settings.home, output, Some(&issues_file))
}

impl TaskInUnits<'_> {
    /// Builds the remaining units of a pipeline's output and stages everything in `home`. Issues
    /// are written to `issues_file`.
    pub(crate) fn stage(
        &self,
        home: &Home,
        output: BuildOutput<'_>,
        issues_file: Option<&Path>,
    ) -> Result<BuiltTask> {
        match output {
            BuildOutput::Tables(tables, inputs, read) => {
                self.stage_whole(home, tables, &inputs, &read, issues_file)
            }
            BuildOutput::Buckets(buckets, build) => {
                self.stage_buckets(home, buckets, build, issues_file)
            }
            BuildOutput::Sharded(prepared) => self.stage_shards(home, &prepared, issues_file),
        }
    }
}

/// Rehashes the snapshots that were not fetched in this run, several in parallel. This ensures that
/// no figure is built from bytes that have changed on the local disk.
pub(crate) fn check_snapshots(
    settings: &RunSettings,
    sources: &[FetchedSource],
    inputs: &[Snapshot],
) -> Result<()> {
    let snapshots = Snapshots::open(&settings.home)?;
    let is_new = |snapshot: &Snapshot| {
        sources
            .iter()
            .any(|source| source.outcome == "new" && source.url == snapshot.url)
    };
    let known: Vec<&Snapshot> = inputs.iter().filter(|snapshot| !is_new(snapshot)).collect();
    let Some((snapshot, damage)) = first_damage(&snapshots, &known)? else {
        return Ok(());
    };
    snapshots.forget(snapshot)?;
    let hint = match snapshot.obtained {
        Obtained::ByProgram => "the next run fetches the file again; look at the disk it was on",
        Obtained::Manual => "import the file again; look at the disk it was on",
    };
    Err(Error::format(damage).hint(hint))
}

/// Hashes snapshots in parallel. Returns the first missing or damaged snapshot, with a description
/// of the damage.
pub(super) fn first_damage<'s>(
    snapshots: &Snapshots,
    selected: &[&'s Snapshot],
) -> Result<Option<(&'s Snapshot, String)>> {
    let damages = selected
        .par_iter()
        .map(|snapshot| snapshots.damage(snapshot))
        .collect::<Result<Vec<_>>>()?;
    Ok(selected
        .iter()
        .zip(damages)
        .find_map(|(snapshot, damage)| Some((*snapshot, damage?))))
}
