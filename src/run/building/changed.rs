//! Rebuilds only the changed subjects of a list that is built in buckets, and takes all other
//! records from the last release.
//!
//! A subject is a value of the column by which the list is split. It has changed if at least one of
//! its rows is in a file that was added, removed or replaced since the last build. The records of
//! changed subjects are built twice: from the files of the last build, which must reproduce the
//! records of the last release, and from the files of this build. The differences between the two
//! results are applied to parts and counts. If anything does not match, the task is built from all
//! rows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::buckets::context;
use super::build::{Division, ValidatedTables, check, guarded};
use super::source_rows::RowUses;
use super::stage::first_damage;
use super::units::{BuiltTask, TaskInUnits, WorkUnit, in_order};
use crate::reporting::report::SubjectCounts;
use crate::settings::QUARANTINE;
use bytes::Bytes;
use pubdata_build::datasets::{BuildWhole, Context, Split, SplitPlan};
use pubdata_build::decode::KeptRows;
use pubdata_build::publish::{self, BuiltTable, Stage};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::bucket_name;
use pubdata_core::issue::{Issue, SourceFinding};
use pubdata_core::pipeline::Buckets;
use pubdata_core::provenance::{Inputs, Snapshot};
use pubdata_store::{self as store, BUCKET, Home, Manifest, Part, Scratch, Snapshots, TaskEntry};

/// At most one row in this many may belong to a changed subject. With more, a build of all rows
/// takes no longer.
const ROWS_PER_KEY: u64 = 8;
/// The changed files may be this many times as large as the unchanged ones, which may be packed.
const MAX_SIZE_RATIO: u64 = 4;
/// Maximum number of changed subjects whose keys are held in memory.
const MAX_KEYS: u64 = 2_000_000;

/// The snapshots of the last build and of this build combined.
struct Changes {
    entry: TaskEntry,
    /// Numbers of the snapshots that only the last build read.
    removed: BTreeSet<u64>,
    /// Numbers of the snapshots that only this build reads.
    added: BTreeSet<u64>,
}

/// Parts of the last release by bucket.
type KnownParts<'a> = BTreeMap<&'a str, Vec<(&'a str, &'a str, &'a Part)>>;

impl TaskInUnits<'_> {
    /// Builds the changed subjects of a list in buckets and stages all its records. Returns `None`
    /// if the list must be built from all rows. Findings about changed subjects are written to
    /// `issues_file`.
    pub(super) fn stage_changed(
        &self,
        home: &Home,
        buckets: &Buckets,
        build: BuildWhole,
        issues_file: Option<&Path>,
    ) -> Result<Option<BuiltTask>> {
        let Some((previous, before)) = self.reusable().filter(|_| !self.settings.is_forced) else {
            return Ok(None);
        };
        let Some(changes) = self.changes(before)? else {
            return Ok(None);
        };
        let Some(known) = known_parts(previous, self.task_id) else {
            return Ok(None);
        };
        match self.try_changed(home, buckets, build, &changes, previous, before, &known) {
            Ok((built, issues)) => {
                if let Some(file) = issues_file.filter(|_| !issues.is_empty()) {
                    store::append_lines(file, &issues)?;
                }
                Ok(Some(built))
            }
            Err(error) => {
                tracing::info!(
                    task.id = self.task_id,
                    "the task is built from all rows: {error}"
                );
                Ok(None)
            }
        }
    }

    /// Returns the files that changed since the last build. Returns `None` if the list cannot be
    /// built from them alone: it uses tables of other pipelines, no file is unchanged, or too much
    /// has changed.
    fn changes(&self, before: &TaskEntry) -> Result<Option<Changes>> {
        if !self.declaration.builds_on.is_empty() || !self.declaration.inputs.is_empty() {
            return Ok(None);
        }
        let identity = |snapshot: &Snapshot| {
            (
                snapshot.source_id.clone(),
                snapshot.keys.clone(),
                snapshot.sha256,
                snapshot.source_version.clone(),
            )
        };
        let identities =
            |entry: &TaskEntry| -> BTreeSet<_> { entry.inputs.iter().map(identity).collect() };
        let (then, now) = (identities(before), identities(self.entry));
        let removed: Vec<&Snapshot> = before
            .inputs
            .iter()
            .filter(|snapshot| !now.contains(&identity(snapshot)))
            .collect();
        let mut entry = self.entry.clone();
        entry.inputs.extend(removed.iter().copied().cloned());
        let (mut unchanged_bytes, mut changed_bytes) = (0, 0);
        let inputs = Inputs::new(entry.inputs.clone());
        let mut changes = Changes {
            entry,
            removed: BTreeSet::new(),
            added: BTreeSet::new(),
        };
        for (number, snapshot) in (0..).zip(inputs.snapshots()) {
            let known = identity(snapshot);
            match (then.contains(&known), now.contains(&known)) {
                (true, true) => {
                    unchanged_bytes += snapshot.size_bytes;
                    continue;
                }
                (true, false) => changes.removed.insert(number),
                (false, _) => changes.added.insert(number),
            };
            changed_bytes += snapshot.size_bytes;
        }
        if changed_bytes == 0 || changed_bytes > MAX_SIZE_RATIO * unchanged_bytes {
            return Ok(None);
        }
        // The files of this build were already checked.
        Ok(
            first_damage(&Snapshots::open(&self.settings.home)?, &removed)?
                .is_none()
                .then_some(changes),
        )
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one caller, which has found them all"
    )]
    fn try_changed(
        &self,
        home: &Home,
        buckets: &Buckets,
        build: BuildWhole,
        changes: &Changes,
        previous: &Manifest,
        before: &TaskEntry,
        known: &KnownParts<'_>,
    ) -> Result<(BuiltTask, Vec<Issue>)> {
        let scratch = Scratch::begin(home, self.task_id, "run")?;
        let path_of = |bucket: u32, input: u64, member: u64| scratch.file(bucket, input, member);
        let snapshots = Snapshots::open(&self.settings.home)?;
        let locate = |snapshot: &Snapshot| -> PathBuf { snapshots.path(snapshot) };
        let open = || context(self.settings, self.declaration, &changes.entry, &locate);
        scratch.make(buckets.count)?;
        let changed: BTreeSet<u64> = changes.removed.union(&changes.added).copied().collect();
        let to_split = SplitPlan::from_context(open(), buckets)?;
        if let Some(other) = changed
            .iter()
            .map(|number| &to_split.inputs().snapshots()[*number as usize])
            .find(|snapshot| !to_split.has(&snapshot.source_id))
        {
            return Err(misfit(format!(
                "{} changed, which is not split by `{}`",
                other.source_id, buckets.key
            )));
        }
        let numbered = open().numbered(to_split.inputs().clone());
        let rows: u64 = before.source_rows.values().map(|rows| rows.read).sum();
        let max_keys = usize::try_from(MAX_KEYS.min(rows / ROWS_PER_KEY)).unwrap_or_default();
        let keys = to_split.keys(&changed, &numbered, buckets, max_keys)?;
        let split = Split::write(
            open,
            buckets,
            KeptRows::OfKeys(&keys),
            &changes.removed,
            &path_of,
        )?;
        tracing::info!(
            task.id = self.task_id,
            subjects = keys.len(),
            files = changed.len(),
            "rows of changed subjects split"
        );
        let units = Units {
            task: self,
            build,
            changes,
            previous,
            split: &split,
            runtime: tokio::runtime::Handle::current(),
            known,
        };
        let before_rows: Mutex<RowUses> = Mutex::default();
        let all_issues: Mutex<BTreeMap<usize, Vec<Issue>>> = Mutex::default();
        let kept: Mutex<u64> = Mutex::default();
        let panics = "nothing panics while holding it";
        let build_unit = |number: usize, stage: &Stage<'_>| {
            let bucket = number as u32;
            let name = bucket_name(bucket, buckets.count);
            // Records that cannot be read are assigned to the first bucket.
            if bucket > 0 && split.is_empty(bucket) {
                for (dataset_id, version, part) in known.get(name.as_str()).into_iter().flatten() {
                    *kept.lock().expect(panics) += reuse(stage, dataset_id, version, part)?;
                }
                return Ok(WorkUnit::default());
            }
            let (mut unit, rows, records) = units.build(bucket, &name, &open, stage)?;
            if number == 0 {
                unit.findings
                    .extend(split.findings(&self.settings.declarations));
            }
            before_rows.lock().expect(panics).add(rows);
            all_issues
                .lock()
                .expect(panics)
                .insert(number, unit.issues.clone());
            *kept.lock().expect(panics) += records;
            scratch.remove_bucket(bucket)?;
            Ok(unit)
        };
        let account = |rows: RowUses| {
            let before_rows = std::mem::take(&mut *before_rows.lock().expect("no unit is built"));
            RowUses::of_entry(before)
                .minus(&before_rows)
                .map(|mut unchanged| {
                    unchanged.add(rows);
                    unchanged
                })
                .ok_or_else(|| misfit("its account of rows has fewer rows than its files"))
        };
        let reused = TaskInUnits {
            division: Division::Shards,
            ..*self
        };
        let mut built = reused.fill_accounted(
            self.begin(home)?,
            buckets.count as usize,
            &split.rows(),
            &build_unit,
            &account,
        )?;
        built.subjects = Some(SubjectCounts {
            built: keys.len(),
            reused: usize::try_from(kept.into_inner().expect("no unit is built"))
                .unwrap_or(usize::MAX),
        });
        let issues = all_issues.into_inner().expect("no unit is built");
        Ok((built, issues.into_values().flatten().collect()))
    }
}

/// State that all buckets of a build share.
struct Units<'a> {
    task: &'a TaskInUnits<'a>,
    build: BuildWhole,
    changes: &'a Changes,
    previous: &'a Manifest,
    split: &'a Split<'a>,
    runtime: tokio::runtime::Handle,
    known: &'a KnownParts<'a>,
}

/// The changed subjects of a bucket as built by one of the two builds.
struct View {
    checked: ValidatedTables,
    inputs: Inputs,
    rows: RowUses,
    findings: Vec<SourceFinding>,
}

impl<'a> Units<'a> {
    /// Builds the changed subjects of a bucket and stages its parts. Returns the unit, the uses of
    /// the rows from which the last build made these subjects, and the number of records kept.
    fn build<'c>(
        &self,
        bucket: u32,
        name: &str,
        open: &dyn Fn() -> Context<'c>,
        stage: &Stage<'_>,
    ) -> Result<(WorkUnit, RowUses, u64)>
    where
        'a: 'c,
    {
        let before = self.view(bucket, &self.changes.added, open)?;
        let now = self.view(bucket, &self.changes.removed, open)?;
        let mut refusals = before.checked.blocked.iter().chain(&now.checked.blocked);
        if let Some(refusal) = refusals.next() {
            return Err(misfit(&refusal.message));
        }
        self.check_quarantined(name, &before.checked, &now.checked)?;
        let mut known: BTreeMap<TableKey, (&str, &Part)> = BTreeMap::new();
        for (dataset_id, version, part) in self.known.get(name).into_iter().flatten() {
            let key = ((*dataset_id).to_owned(), part.partition.clone());
            known.insert(key, (version, part));
        }
        let (mut before_tables, mut now_tables) =
            (by_key(before.checked.tables), by_key(now.checked.tables));
        let keys: BTreeSet<TableKey> = before_tables
            .keys()
            .chain(now_tables.keys())
            .cloned()
            .collect();
        let mut kept = 0;
        for key in keys {
            let height = |tables: &BTreeMap<TableKey, BuiltTable>| {
                tables.get(&key).map_or(0, |table| table.frame.height())
            };
            // If no record of the part changed, the part is reused below.
            if known.contains_key(&key)
                && height(&before_tables) == 0
                && height(&now_tables) == 0
                && before_tables.get(&key).map(|table| &table.report)
                    == now_tables.get(&key).map(|table| &table.report)
            {
                continue;
            }
            let part = known.remove(&key).map(|(_, part)| part);
            let before = before_tables
                .remove(&key)
                .map(|table| (table, &before.inputs));
            let now = now_tables.remove(&key).map(|table| (table, &now.inputs));
            let is_quarantine = key.0 == QUARANTINE;
            let records = self.replace(part, before, now, stage)?;
            kept += if is_quarantine { 0 } else { records as u64 };
        }
        for ((dataset_id, _), (version, part)) in known {
            kept += reuse(stage, &dataset_id, version, part)?;
        }
        let unit = WorkUnit {
            issues: in_order(now.checked.issues),
            rows: now.rows,
            findings: now.findings,
            ..WorkUnit::default()
        };
        Ok((unit, before.rows, kept))
    }

    /// Builds the changed subjects of a bucket, without the rows of the `hidden` snapshots.
    fn view<'c>(
        &self,
        bucket: u32,
        hidden: &'c BTreeSet<u64>,
        open: &dyn Fn() -> Context<'c>,
    ) -> Result<View>
    where
        'a: 'c,
    {
        let task = self.task;
        let context = open().for_split(self.split, bucket).hiding(hidden);
        let mut tables = guarded(&task.declaration.pipeline_id, || (self.build)(&context))?;
        tables.retain(|table| bucket == 0 || table.frame.height() > 0 || !table.issues.is_empty());
        let (inputs, read) = context.finish();
        let checked = check(
            task.settings,
            task.task_id,
            tables,
            &inputs,
            None,
            task.is_sample,
        )?;
        Ok(View {
            rows: RowUses::count(&checked, &read.left_out, &inputs)?,
            findings: read.findings(&task.settings.declarations),
            checked,
            inputs,
        })
    }

    /// Rejects new records whose ids the last release has quarantined for other subjects: a build of
    /// all rows would validate both together.
    fn check_quarantined(
        &self,
        name: &str,
        before: &ValidatedTables,
        now: &ValidatedTables,
    ) -> Result<()> {
        let own: BTreeSet<&str> = before
            .issues
            .iter()
            .filter_map(|issue| issue.record.as_deref())
            .collect();
        let mut ids = BTreeSet::new();
        for table in now
            .tables
            .iter()
            .filter(|table| table.dataset_id != QUARANTINE)
        {
            ids.extend(table.frame.column("record_id")?.str()?.iter().flatten());
        }
        let parts = self.known.get(name).into_iter().flatten();
        for (_, _, part) in parts.filter(|(dataset_id, ..)| *dataset_id == QUARANTINE) {
            let others = publish::quarantined_issues(self.bytes(part)?, |_| true)?;
            let records = others.iter().filter_map(|issue| issue.record.as_deref());
            if let Some(record) = records
                .filter(|record| !own.contains(record))
                .find(|record| ids.contains(record))
            {
                return Err(misfit(format!(
                    "{}: {record} is quarantined for another subject",
                    part.path
                )));
            }
        }
        Ok(())
    }

    fn bytes(&self, part: &Part) -> Result<Bytes> {
        let releases = &self.task.settings.releases;
        let bytes = self
            .runtime
            .block_on(releases.part(&self.previous.release_id, part))?;
        publish::verify_part(part, &bytes)?;
        Ok(bytes)
    }

    fn replace(
        &self,
        part: Option<&Part>,
        before: Option<(BuiltTable, &Inputs)>,
        now: Option<(BuiltTable, &Inputs)>,
        stage: &Stage<'_>,
    ) -> Result<usize> {
        let bytes = match part {
            Some(part) => Some((part, self.bytes(part)?)),
            None => None,
        };
        stage
            .replace(bytes, before, now)?
            .map_err(|reason| match part {
                Some(part) => misfit(format!("{}: {reason}", part.path)),
                None => misfit(reason),
            })
    }
}

/// Reuses a part and returns its number of records. Quarantined records are not counted.
fn reuse(stage: &Stage<'_>, dataset_id: &str, version: &str, part: &Part) -> Result<u64> {
    stage.reuse(dataset_id, version, part)?;
    Ok(if dataset_id == QUARANTINE {
        0
    } else {
        part.rows
    })
}

/// A dataset, and the column and value of each of a partition's keys.
type TableKey = (String, BTreeMap<String, String>);

fn by_key(tables: Vec<BuiltTable>) -> BTreeMap<TableKey, BuiltTable> {
    tables
        .into_iter()
        .map(|table| ((table.dataset_id.clone(), table.partition.clone()), table))
        .collect()
}

/// Returns the parts of a task in a release, by bucket. Returns `None` if a part belongs to no
/// bucket.
fn known_parts<'a>(previous: &'a Manifest, task_id: &str) -> Option<KnownParts<'a>> {
    let mut known = KnownParts::new();
    for (dataset_id, dataset) in &previous.datasets {
        for part in dataset.parts.iter().filter(|part| part.task_id == task_id) {
            let version = dataset.schema_version.as_str();
            known
                .entry(part.partition.get(BUCKET)?)
                .or_default()
                .push((dataset_id, version, part));
        }
    }
    Some(known)
}

/// Returns the error that explains why a task is built from all rows.
fn misfit(reason: impl Into<String>) -> Error {
    Error::store(reason.into())
}
