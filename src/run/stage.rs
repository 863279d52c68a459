//! Builds one task and stages what came of it: at once, bucket by bucket or shard by shard.

use std::collections::BTreeMap;
use std::path::Path;

use super::build::{BuildOutput, Totals, ValidatedTables, build, check, expectations, judged_against, names, refused, rows_of};
use super::by_hand::withdrawn_in;
use super::planned::{Plan, PlannedTask};
use super::source_rows::RowUses;
use super::work_units::{BuiltTask, TaskInUnits, WorkUnit};
use super::{FetchedSource, RunSettings, SharedObserver, drift};
use pubdata_build::datasets::{RowsRead, Table};
use pubdata_build::publish::{Build, IsCompared, Stage};
use pubdata_build::validate::SHRINK;
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::{Inputs, Obtained, Snapshot};
use pubdata_store::{self as store, Snapshots, TaskEntry};

/// Builds a task and stages it.
///
/// # Errors
/// What failed its build; findings are in the run's file by then.
pub(super) fn build_and_stage(
    settings: &RunSettings,
    plan: &Plan,
    task: &PlannedTask,
    entry: &TaskEntry,
    run_id: &str,
    observer: &SharedObserver,
) -> Result<BuiltTask> {
    let declaration = &settings.declarations.pipelines[&task.pipeline_id];
    check_snapshots(settings, &plan.sources, &entry.inputs)?;
    let issues_file = super::issues_file(&settings.home, run_id);
    // What a wrong file brought is no measure for the right one.
    let believed = match withdrawn_in(settings, plan.current.as_ref().and_then(|current| current.tasks.get(&task.task_id)))? {
        Some(_) => None,
        None => plan.current.as_ref(),
    };
    let in_units = |previous| TaskInUnits {
        settings,
        declaration,
        task_id: &task.task_id,
        entry,
        is_sample: plan.is_sample,
        previous,
        observer: Some(observer),
        is_sharded: false,
        against: Some(judged_against(settings, plan.current.as_ref(), &task.task_id)),
    };
    let (tables, inputs, read) = match build(settings, declaration, task.partition.clone(), entry, None)? {
        BuildOutput::Tables(tables, inputs, read) => (tables, inputs, read),
        BuildOutput::Sharded(prepared) => {
            let previous = believed.filter(|_| !settings.is_forced);
            return TaskInUnits { is_sharded: true, ..in_units(previous) }.stage_shards(&settings.home, &prepared, Some(&issues_file));
        }
        BuildOutput::Buckets(buckets, build) => {
            return in_units(believed).stage_buckets(&settings.home, buckets, build, Some(&issues_file));
        }
    };
    let in_units = in_units(believed);
    let stage = Stage::begin(&settings.home, &settings.declarations.contracts, task.task_id.clone(), entry.clone())?;
    let stage = stage.judged_against(in_units.against).comparing(IsCompared(in_units.compared().is_some())).observed_by(settings.part_observer.as_ref());
    let unit = in_units.add_whole(&stage, tables, &inputs, &read)?;
    in_units.finish_whole(stage, unit, &read.by_source(), &issues_file)
}

impl TaskInUnits<'_> {
    /// Validates a build that was made at once, adds it to the stage, and judges it.
    pub(super) fn add_whole(&self, stage: &Stage<'_>, tables: Vec<Table>, inputs: &Inputs, read: &RowsRead) -> Result<WorkUnit> {
        let Self { settings, declaration, task_id, .. } = *self;
        let previous_rows = |dataset_id: &str, partition: &BTreeMap<String, String>| {
            let is_accepted = settings.waives(&names(task_id, dataset_id), SHRINK);
            self.previous.filter(|_| !is_accepted).and_then(|manifest| rows_of(manifest, dataset_id, task_id, Some(partition)))
        };
        let totals = Totals { expectations: &expectations(settings, declaration, task_id, self.entry), previous_rows: &previous_rows };
        let checked = check(settings, task_id, tables, inputs, Some(&totals), self.is_sample)?;
        let rows = RowUses::of(&checked, &read.left_out, inputs)?;
        let ValidatedTables { tables, issues, mut blocked, notes, .. } = checked;
        if blocked.is_empty() {
            tables.into_iter().try_for_each(|table| stage.add(table, inputs, None, None))?;
            if let Some(before) = self.compared() {
                drift::read_before(settings, before, task_id, stage)?;
                blocked = drift::judge(settings, declaration, task_id, stage, self.builds());
            }
            blocked.extend(self.grown(&stage.parts()));
        }
        Ok(WorkUnit { issues, blocked, rows, findings: read.findings(&settings.declarations), notes, ..WorkUnit::default() })
    }

    /// Writes what was found, and the description of the build where it may be published. `read` are the rows of each source.
    pub(super) fn finish_whole(&self, stage: Stage<'_>, unit: WorkUnit, read: &BTreeMap<String, u64>, issues_file: &Path) -> Result<BuiltTask> {
        if !unit.issues.is_empty() {
            store::append_lines(issues_file, &unit.issues)?;
        }
        if !unit.blocked.is_empty() {
            return Err(refused(self.task_id, unit.blocked, issues_file));
        }
        let staged = stage.finish(unit.rows.account(self.declaration, read), unit.findings.into_iter().collect(), unit.notes)?;
        Ok(BuiltTask { staged, subjects: None })
    }
}

/// Hashes the snapshots again that were not fetched just now: a figure is never built from bytes that have changed on our disk.
pub(super) fn check_snapshots(settings: &RunSettings, sources: &[FetchedSource], inputs: &[Snapshot]) -> Result<()> {
    let snapshots = Snapshots::open(&settings.home)?;
    let is_new = |snapshot: &Snapshot| sources.iter().any(|source| source.outcome == "new" && source.url == snapshot.url);
    for snapshot in inputs.iter().filter(|snapshot| !is_new(snapshot)) {
        if let Some(damage) = snapshots.damage(snapshot)? {
            snapshots.forget(snapshot)?;
            let hint = match snapshot.obtained {
                Obtained::ByProgram => "the next run fetches the file again; look at the disk it was on",
                Obtained::ByHand => "import the file again; look at the disk it was on",
            };
            return Err(Error::format(damage).hint(hint));
        }
    }
    Ok(())
}

/// A build that was made at once, with the account of its rows.
pub(super) fn whole(
    settings: &RunSettings,
    task_id: &str,
    entry: &TaskEntry,
    declaration: &Declaration,
    checked: ValidatedTables,
    inputs: Inputs,
    read: &RowsRead,
) -> Result<Build> {
    let source_rows = RowUses::of(&checked, &read.left_out, &inputs)?.account(declaration, &read.by_source());
    let mut findings = entry.findings.clone();
    findings.extend(read.findings(&settings.declarations));
    let entry = TaskEntry { source_rows, findings, ..entry.clone() };
    Ok(Build { task_id: task_id.to_owned(), entry, inputs, tables: checked.tables })
}
