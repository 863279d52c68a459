//! Builds a task bucket by bucket, so that only a few megabytes of source rows and a few buckets
//! are in memory at a time. The rows of the sources are split into files of a scratch folder by the
//! hash of a column. The pipeline's code then builds the tables of each bucket in turn.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::build::{check, guarded};
use super::source_rows::RowUses;
use super::units::{BuiltTask, TaskInUnits, WorkUnit, in_order};
use crate::settings::RunSettings;
use pubdata_build::datasets::{BuildWhole, Context, Split, Table};
use pubdata_build::decode::KeptRows;
use pubdata_build::publish::Stage;
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::bucket_name;
use pubdata_core::pipeline::{Buckets, Declaration};
use pubdata_core::provenance::{Inputs, Snapshot};
use pubdata_store::{Home, Scratch, Snapshots, TaskEntry};

impl TaskInUnits<'_> {
    /// Splits the sources in a scratch folder of `home`, then builds and stages each bucket. Builds
    /// only the buckets' changed subjects if the other records can be taken from the last release.
    /// Findings are written to `issues_file`.
    pub(super) fn stage_buckets(
        &self,
        home: &Home,
        buckets: &Buckets,
        build: BuildWhole,
        issues_file: Option<&Path>,
    ) -> Result<BuiltTask> {
        if let Some(built) = self.stage_changed(home, buckets, build, issues_file)? {
            return Ok(built);
        }
        let scratch = Scratch::begin(home, self.task_id, "run")?;
        let path_of = |bucket: u32, input: u64, member: u64| scratch.file(bucket, input, member);
        let snapshots = Snapshots::open(&self.settings.home)?;
        let locate = |snapshot: &Snapshot| -> PathBuf { snapshots.path(snapshot) };
        let context = || context(self.settings, self.declaration, self.entry, &locate);
        scratch.make(buckets.count)?;
        let split = Split::write(context, buckets, KeptRows::All, &BTreeSet::new(), &path_of)?;
        tracing::info!(
            task.id = self.task_id,
            buckets = buckets.count,
            "sources split"
        );
        // The first bucket is always built, because a dataset without rows has one empty part.
        let filled: Vec<u32> = (0..buckets.count)
            .filter(|bucket| *bucket == 0 || !split.is_empty(*bucket))
            .collect();
        let build_unit = |number: usize, stage: &Stage<'_>| {
            let bucket = filled[number];
            let mut unit =
                self.build_bucket(context().for_split(&split, bucket), bucket, build, stage)?;
            if number == 0 {
                unit.findings
                    .extend(split.findings(&self.settings.declarations));
            }
            scratch.remove_bucket(bucket)?;
            Ok(unit)
        };
        Ok(self
            .fill(
                self.begin(home)?,
                filled.len(),
                &split.rows(),
                &build_unit,
                issues_file,
            )?
            .0)
    }

    /// Builds one bucket, validates it and adds it to the stage.
    pub(crate) fn build_bucket(
        &self,
        context: Context<'_>,
        bucket: u32,
        build: BuildWhole,
        stage: &Stage<'_>,
    ) -> Result<WorkUnit> {
        let mut tables = guarded(&self.declaration.pipeline_id, || build(&context))?;
        // Only the first bucket may contribute empty parts, which record that a dataset has no
        // rows.
        tables.retain(|table| bucket == 0 || table.frame.height() > 0 || !table.issues.is_empty());
        let (inputs, read) = context.finish();
        let checked = check(
            self.settings,
            self.task_id,
            tables,
            &inputs,
            None,
            self.is_sample,
        )?;
        let rows = RowUses::count(&checked, &read.left_out, &inputs)?;
        let findings = read.findings(&self.settings.declarations);
        if checked.blocked.is_empty() {
            for table in checked.tables {
                stage.add(table, &inputs, None, None)?;
            }
        }
        Ok(WorkUnit {
            issues: in_order(checked.issues),
            blocked: checked.blocked,
            rows,
            findings,
            ..WorkUnit::default()
        })
    }
}

/// Builds one bucket for a replay, without staging anything.
pub(crate) fn build_bucket(
    settings: &RunSettings,
    declaration: &Declaration,
    entry: &TaskEntry,
    buckets: &Buckets,
    build: BuildWhole,
    name: &str,
) -> Result<(Vec<Table>, Inputs)> {
    let bucket = (0..buckets.count).find(|bucket| bucket_name(*bucket, buckets.count) == name);
    let bucket = bucket.ok_or_else(|| {
        Error::contract(format!("the declaration no longer has a bucket `{name}`"))
    })?;
    // Several processes may trace while a run is under way, so the folder's name contains the
    // process id.
    let scratch = Scratch::begin(
        &settings.home,
        &entry.pipeline_id,
        &format!("trace-{}", std::process::id()),
    )?;
    let path_of = |bucket: u32, input: u64, member: u64| scratch.file(bucket, input, member);
    scratch.make(buckets.count)?;
    let snapshots = Snapshots::open(&settings.home)?;
    let locate = |snapshot: &Snapshot| -> PathBuf { snapshots.path(snapshot) };
    let split = Split::write(
        || context(settings, declaration, entry, &locate),
        buckets,
        KeptRows::OfBucket(bucket),
        &BTreeSet::new(),
        &path_of,
    )?;
    let context = context(settings, declaration, entry, &locate).for_split(&split, bucket);
    let tables = guarded(&declaration.pipeline_id, || build(&context))?;
    Ok((tables, context.finish().0))
}

pub(crate) fn context<'a>(
    settings: &'a RunSettings,
    declaration: &'a Declaration,
    entry: &TaskEntry,
    locate: &'a (dyn Fn(&Snapshot) -> PathBuf + Sync),
) -> Context<'a> {
    let partition = entry.partition.values().next().cloned();
    Context::new(
        &settings.declarations,
        declaration,
        partition,
        Inputs::new(entry.inputs.clone()),
        locate,
        None,
    )
}
