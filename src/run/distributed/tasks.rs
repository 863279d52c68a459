//! Processes units of a plan: splits the file of a list, or builds a bucket, a shard or an entire
//! task. Writes the parts and the unit result to the store.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::Serialize;
use tokio::runtime::Handle;

use super::plan_file::{DistributedArchive, Failure, PlanAddress, PlanFile, Shape, TaskToBuild};
use super::receipt::{Outcome, Receipt, SplitInput};
use super::{Judged, in_units};
use crate::building::buckets::context;
use crate::building::build::{BuildOutput, build, caught, prepare_elsewhere};
use crate::building::in_parallel::in_parallel;
use crate::building::shards::{KnownShard, members_of};
use crate::building::units::WorkUnit;
use crate::fetching::remote::{REQUEST_BYTES, RemoteSnapshot};
use crate::settings::RunSettings;
use pubdata_build::datasets::{RowsRead, Sharded, Split, SplitPlan, Subject};
use pubdata_build::decode::{Archive, KeptRows, ReadAt};
use pubdata_build::publish::{KeepStatistics, Stage, fault};
use pubdata_core::error::{Error, ErrorKind, IoExt, Result};
use pubdata_core::ids::Digest;
use pubdata_core::pipeline::Buckets;
use pubdata_core::provenance::Snapshot;
use pubdata_store::{DistributedRunStore, Home, Scratch, Snapshots};

/// Result of processing a unit.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UnitReport {
    /// The task that it belongs to.
    pub task_id: String,
    /// The unit's key in the plan. For a file that is split, `split-` and the file's number.
    pub unit: String,
    /// Outcome of the unit. `blocked`: the unit failed permanently, and the commit reports why its
    /// task is stale; `failed`: a disk or the store failed, and a retry may succeed.
    #[schemars(extend("enum" = ["done", "blocked", "failed"]))]
    pub outcome: &'static str,
    /// True if it was already done.
    pub is_known: bool,
    /// Number of rows that were written.
    pub rows: u64,
    /// Why it is blocked or failed; null otherwise.
    pub reason: Option<String>,
    #[serde(skip)]
    pub failure: Option<ErrorKind>,
}

impl UnitReport {
    fn from_receipt(receipt: &Receipt) -> Self {
        let report = Self {
            task_id: receipt.task_id.clone(),
            unit: receipt.unit.clone(),
            outcome: "done",
            is_known: false,
            rows: 0,
            reason: None,
            failure: None,
        };
        match &receipt.outcome {
            Outcome::Built { unit, parts, .. } => {
                let rows = parts
                    .iter()
                    .fold(0, |sum: u64, staged| sum.saturating_add(staged.part.rows));
                match unit.blocked.first() {
                    Some(refusal) => Self {
                        outcome: "blocked",
                        reason: Some(refusal.message.clone()),
                        failure: Some(ErrorKind::Contract),
                        ..report
                    },
                    None => Self { rows, ..report },
                }
            }
            Outcome::Split(split) => Self {
                rows: split.read.by_source().values().sum(),
                ..report
            },
            Outcome::Failed(failure) => Self {
                outcome: "blocked",
                reason: Some(failure.message.clone()),
                failure: Some(failure.kind),
                ..report
            },
        }
    }

    fn failed(task_id: &str, unit: &str, error: &Error) -> Self {
        let (task_id, unit, reason) =
            (task_id.to_owned(), unit.to_owned(), Some(error.to_string()));
        Self {
            task_id,
            unit,
            outcome: "failed",
            is_known: false,
            rows: 0,
            reason,
            failure: Some(error.kind()),
        }
    }
}

/// Phase of a plan's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wave {
    /// Splits files.
    Split,
    /// Builds units.
    Build,
}

/// A worker's equal share of the work, given as a worker index, counted from 0, and the number of
/// workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerIndex {
    pub number: usize,
    pub of: usize,
}

impl std::str::FromStr for WorkerIndex {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let numbers = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if number < of => Ok(Self { number, of }),
            _ => Err(
                Error::config(format!("`{text}` is not a share of the work"))
                    .hint("shares are counted from 0: 0/8 is the first of eight, 7/8 the last"),
            ),
        }
    }
}

/// Returns a worker's units in a wave, by task. Units are assigned in order of decreasing cost,
/// each to the worker with the lowest total so far. Each unit is assigned to exactly one worker.
///
/// # Errors
/// Returns the same errors as [`settings_of_plan`](super::settings_of_plan).
pub async fn work_of_share(
    settings: &RunSettings,
    address: &PlanAddress,
    wave: Wave,
    share: WorkerIndex,
) -> Result<BTreeMap<String, Vec<String>>> {
    let plan = PlanFile::read(settings, address).await?;
    let mut pieces = Vec::new();
    for work in plan.tasks.iter().filter_map(super::work_of_task) {
        match wave {
            Wave::Split => pieces.extend(work.inputs.iter().map(|input| {
                (
                    input.cost_bytes,
                    work.task_id.clone(),
                    input.number.to_string(),
                )
            })),
            Wave::Build => pieces.extend(
                work.units
                    .iter()
                    .map(|unit| (unit.cost_bytes, work.task_id.clone(), unit.key.clone())),
            ),
        }
    }
    pieces.sort_by(|a, b| (b.0, &a.1, &a.2).cmp(&(a.0, &b.1, &b.2)));
    let (mut costs, mut own) = (
        vec![(0, 0); share.of],
        BTreeMap::<String, Vec<String>>::new(),
    );
    for (cost, task_id, name) in pieces {
        let least = (0..share.of)
            .min_by_key(|number| costs[*number])
            .unwrap_or(0);
        // The counter also distributes units without a cost evenly.
        costs[least] = (costs[least].0 + cost, costs[least].1 + 1);
        if least == share.number {
            own.entry(task_id).or_default().push(name);
        }
    }
    Ok(own)
}

/// Splits the files of a task's lists that have the given numbers.
///
/// # Errors
/// Returns `Config` if the plan belongs to another program or has no such task or file, and `Store`
/// if the store cannot be read.
pub async fn split_inputs(
    settings: &RunSettings,
    address: &PlanAddress,
    task_id: &str,
    inputs: &[usize],
) -> Result<Vec<UnitReport>> {
    let plan = PlanFile::read(settings, address).await?;
    let settings = plan.settings(settings);
    let task = plan.task(task_id)?;
    let Shape::Buckets { to_split } = &task.work.shape else {
        return Err(Error::config(format!("`{task_id}` has nothing to split"))
            .hint("its units are built at once: `pubdata task build`"));
    };
    let files: Vec<&Snapshot> = to_split.snapshots().collect();
    if let Some(unknown) = inputs.iter().find(|input| **input >= files.len()) {
        return Err(
            Error::config(format!("`{task_id}` has no input {unknown}")).hint(format!(
                "its inputs are 0 to {}",
                files.len().saturating_sub(1)
            )),
        );
    }
    let inputs: BTreeSet<usize> = inputs.iter().copied().collect();
    let units: Vec<(String, usize)> = inputs
        .iter()
        .map(|input| (split_unit(*input), *input))
        .collect();
    let declaration = &settings.declarations.pipelines[&task.planned.pipeline_id];
    let buckets = declaration
        .buckets
        .as_ref()
        .ok_or_else(|| Error::config(format!("`{task_id}` no longer has buckets")))?;
    let here = Here::new(&settings, task);
    let names: Vec<String> = units.iter().map(|(name, _)| name.clone()).collect();
    let known = here.known(&names).await?;
    let to_do = units
        .iter()
        .filter(|(name, _)| !known.contains_key(name))
        .map(|(_, input)| (files[*input], to_split.member(*input)));
    let scratch = here.scratch("members")?;
    let remote = here.bring_members(to_do, scratch.root()).await?;
    let done = here.all(&names, known, &|name| {
        let input = units
            .iter()
            .find(|(unit, _)| unit == name)
            .map_or(0, |(_, input)| *input);
        here.split(to_split, buckets, &remote, name, input)
    });
    scratch.remove()?;
    done
}

/// Builds the units of a task that have the given keys.
///
/// # Errors
/// Returns `Config` if the plan belongs to another program or has no such task or unit. Returns
/// `Unfinished` if a file is not split yet, and `Store` if the store cannot be read.
pub async fn build_units(
    settings: &RunSettings,
    address: &PlanAddress,
    task_id: &str,
    units: &[String],
) -> Result<Vec<UnitReport>> {
    let plan = PlanFile::read(settings, address).await?;
    let base = plan.base(settings).await?;
    let settings = plan.settings(settings);
    let task = plan.task(task_id)?;
    if let Some(unknown) = units
        .iter()
        .find(|unit| !task.work.units.iter().any(|known| known.key == **unit))
    {
        let known: Vec<&str> = task
            .work
            .units
            .iter()
            .map(|unit| unit.key.as_str())
            .collect();
        let shown = if known.len() > 6 {
            format!("{} to {}", known[0], known[known.len() - 1])
        } else {
            known.join(", ")
        };
        return Err(
            Error::config(format!("`{task_id}` has no unit `{unknown}`"))
                .hint(format!("its units are {shown}")),
        );
    }
    let units: Vec<String> = BTreeSet::from_iter(units.iter().cloned())
        .into_iter()
        .collect();
    let units = units.as_slice();
    let here = Here::new(&settings, task);
    let known = here.known(units).await?;
    if known.len() < units.len() && !matches!(task.work.shape, Shape::Shards { .. }) {
        here.bring(task.snapshots_of_units().into_iter()).await?;
    }
    let in_units = in_units(
        &settings,
        task.planned,
        task.entry,
        base.as_ref(),
        plan.is_sample,
        &Judged::from_work(task.work),
    );
    match &task.work.shape {
        Shape::Unreadable(failure) => Err(failure.error()),
        Shape::Whole => here.all(units, known, &|unit| {
            here.stage(
                unit,
                KeepStatistics(in_units.compared().is_some()),
                &|stage| {
                    let BuildOutput::Tables(tables, inputs, read) = build(
                        &settings,
                        in_units.declaration,
                        task.planned.partition.clone(),
                        task.entry,
                        None,
                    )?
                    else {
                        return Err(Error::config(format!(
                            "`{task_id}` is no longer built at once"
                        )));
                    };
                    Ok((
                        in_units.add_whole(stage, tables, &inputs, &read)?,
                        read.by_source(),
                    ))
                },
            )
        }),
        Shape::Shards { archives, .. } => {
            if known.len() == units.len() {
                return here.all(units, known, &|_| Err(Error::store("every unit is known")));
            }
            let scratch = here.scratch("archives")?;
            let remote = here.remote(archives, scratch.root()).await?;
            here.bring(
                task.snapshots_of_units()
                    .into_iter()
                    .filter(|snapshot| !remote.contains_key(&snapshot.sha256)),
            )
            .await?;
            let elsewhere = remote
                .iter()
                .map(|(sha256, remote)| (*sha256, remote.clone() as Arc<dyn ReadAt>))
                .collect();
            let prepared = tokio::task::block_in_place(|| {
                prepare_elsewhere(&settings, in_units.declaration, task.entry, &elsewhere)
            })?;
            let (sharded, of_release, runtime) = (
                &*prepared.sharded,
                in_units.known_parts(),
                Handle::current(),
            );
            here.bring_where_most_is_read(sharded, units, &known, &remote)
                .await?;
            let done = here.all(units, known, &|unit| {
                let shard = sharded.shards().iter().find(|shard| shard.key == unit);
                let shard = shard
                    .ok_or_else(|| Error::format(format!("the sources have no shard `{unit}`")))?;
                here.stage(unit, KeepStatistics(false), &|stage| {
                    let of_release = of_release.get(unit);
                    let unit = in_units.build_shard(
                        sharded,
                        shard,
                        of_release.unwrap_or(&KnownShard::default()),
                        stage,
                        &runtime,
                    )?;
                    Ok((unit, BTreeMap::new()))
                })
            });
            scratch.remove()?;
            done
        }
        Shape::Buckets { to_split } => {
            let declaration = in_units.declaration;
            let BuildOutput::Buckets(buckets, build) = build(
                &settings,
                declaration,
                task.planned.partition.clone(),
                task.entry,
                None,
            )?
            else {
                return Err(Error::config(format!(
                    "`{task_id}` is no longer built in buckets"
                )));
            };
            let scratch = here.scratch("rows")?;
            let rows = Scratch::begin(&scratch, task_id, "rows")?;
            let path_of = |bucket: u32, input: u64, member: u64| rows.file(bucket, input, member);
            let inputs = if known.len() == units.len() {
                Vec::new()
            } else {
                split_inputs_of(here.run_store, &task, to_split).await?
            };
            let (mut parts, mut read, mut places) = (Vec::new(), RowsRead::default(), Vec::new());
            for input in inputs {
                read.merge(input.read);
                places.push((input.part.numbers(), input.places));
                parts.push(input.part);
            }
            let split = Split::from_parts(buckets, to_split, parts, read, &path_of);
            let snapshots = Snapshots::look(&settings.home);
            let locate = |snapshot: &Snapshot| snapshots.path(snapshot);
            rows.make(buckets.count)?;
            let done = here.all(units, known, &|unit| {
                let bucket = (0..buckets.count)
                    .find(|bucket| pubdata_core::ids::bucket_name(*bucket, buckets.count) == unit);
                let bucket = bucket.ok_or_else(|| {
                    Error::config(format!("the declaration no longer has a bucket `{unit}`"))
                })?;
                here.take_rows(&rows, &places, bucket)?;
                let built = here.stage(unit, KeepStatistics(false), &|stage| {
                    let context = context(&settings, declaration, task.entry, &locate)
                        .for_split(&split, bucket);
                    Ok((
                        in_units.build_bucket(context, bucket, build, stage)?,
                        BTreeMap::new(),
                    ))
                });
                rows.remove_bucket(bucket)?;
                built
            });
            drop(rows);
            scratch.remove()?;
            done
        }
    }
}

/// Adds the tables of a unit to a stage. Returns the unit, with row counts by source for a task
/// that is built as a whole.
type AddTables<'a> = &'a dyn Fn(&Stage<'_>) -> Result<(WorkUnit, BTreeMap<String, u64>)>;

/// This process, and the task whose units it processes.
struct Here<'a> {
    settings: &'a RunSettings,
    task: TaskToBuild<'a>,
    run_store: DistributedRunStore<'a>,
    runtime: Handle,
}

impl<'a> Here<'a> {
    fn new(settings: &'a RunSettings, task: TaskToBuild<'a>) -> Self {
        Self {
            settings,
            task,
            run_store: DistributedRunStore::new(settings.releases.store()),
            runtime: Handle::current(),
        }
    }

    /// Returns the unit results that already exist.
    async fn known(&self, units: &[String]) -> Result<BTreeMap<String, Receipt>> {
        let mut known = BTreeMap::new();
        for unit in units {
            known.extend(
                Receipt::read(self.run_store, &self.task, unit)
                    .await?
                    .map(|receipt| (unit.clone(), receipt)),
            );
        }
        Ok(known)
    }

    /// Copies snapshots from the store. Rejects a damaged local copy.
    async fn bring<'s>(&self, needed: impl Iterator<Item = &'s Snapshot>) -> Result<()> {
        let snapshots = Snapshots::open(&self.settings.home)?;
        for snapshot in needed {
            let is_here = snapshots.path(snapshot).is_file();
            snapshots
                .bring(self.settings.releases.store(), snapshot)
                .await?;
            if is_here && let Some(damage) = snapshots.damage(snapshot)? {
                return Err(Error::store(damage).hint("delete the file: it is taken from the store again, or fetched by the next `pubdata plan`"));
            }
        }
        Ok(())
    }

    /// Opens the archives that are not on this machine, each with its directory. The fetched bytes
    /// are kept in `folder`.
    async fn remote(
        &self,
        archives: &[DistributedArchive],
        folder: &Path,
    ) -> Result<BTreeMap<Digest, Arc<RemoteSnapshot>>> {
        let (snapshots, mut remote) = (Snapshots::open(&self.settings.home)?, BTreeMap::new());
        for archive in archives {
            let snapshot = self
                .task
                .entry
                .inputs
                .iter()
                .find(|snapshot| snapshot.sha256 == archive.sha256);
            let snapshot = snapshot.ok_or_else(|| {
                Error::config(format!("the plan has no snapshot {}", archive.sha256))
            })?;
            if snapshots.path(snapshot).is_file() {
                continue;
            }
            let at_store =
                RemoteSnapshot::new(self.settings.releases.store(), &snapshots, snapshot, folder)?;
            at_store
                .fetch(std::slice::from_ref(
                    &(archive.directory_start..snapshot.size_bytes),
                ))
                .await?;
            remote.insert(archive.sha256, Arc::new(at_store));
        }
        Ok(remote)
    }

    /// Copies the files to split. If the selected members of an archive take up less than half of
    /// it, copies only these members.
    async fn bring_members<'s>(
        &self,
        selected: impl Iterator<Item = (&'s Snapshot, Option<&'s str>)>,
        folder: &Path,
    ) -> Result<BTreeMap<Digest, Arc<RemoteSnapshot>>> {
        let (snapshots, mut remote) = (
            Snapshots::open(&self.settings.home)?,
            BTreeMap::<Digest, Arc<RemoteSnapshot>>::new(),
        );
        for (snapshot, member) in selected {
            let is_here = snapshots.path(snapshot).is_file();
            if let Some(member) = member.filter(|_| !is_here) {
                let at_store = match remote.get(&snapshot.sha256) {
                    Some(known) => known.clone(),
                    None => Arc::new(RemoteSnapshot::new(
                        self.settings.releases.store(),
                        &snapshots,
                        snapshot,
                        folder,
                    )?),
                };
                // If the archive cannot be read this way, the reader of the complete archive
                // reports the problem.
                let archive = tokio::task::block_in_place(|| {
                    Archive::from_reader(at_store.clone(), "*", u64::MAX)
                })
                .ok();
                let places = archive.and_then(|archive| {
                    Some((
                        archive.member(member)?.range(),
                        archive.directory_start()..snapshot.size_bytes,
                    ))
                });
                if let Some((range, directory)) =
                    places.filter(|(range, _)| range.end - range.start < snapshot.size_bytes / 2)
                {
                    at_store.fetch(&[range, directory]).await?;
                    remote.insert(snapshot.sha256, at_store);
                    continue;
                }
                remote.remove(&snapshot.sha256);
            }
            self.bring(std::iter::once(snapshot)).await?;
        }
        Ok(remote)
    }

    /// Copies a complete archive if requests for the members of some units would cost more than
    /// half of it.
    async fn bring_where_most_is_read(
        &self,
        sharded: &dyn Sharded,
        units: &[String],
        known: &BTreeMap<String, Receipt>,
        remote: &BTreeMap<Digest, Arc<RemoteSnapshot>>,
    ) -> Result<()> {
        let to_build = sharded
            .shards()
            .iter()
            .filter(|shard| units.contains(&shard.key) && !known.contains_key(&shard.key));
        let subjects: Vec<&Subject> = to_build.flat_map(|shard| &shard.subjects).collect();
        for (archive, members) in members_of(sharded, &subjects)? {
            let Some(at_store) = remote.get(&archive.snapshot.sha256) else {
                continue;
            };
            let cost: u64 = members
                .iter()
                .map(|member| member.range())
                .map(|range| range.end - range.start + REQUEST_BYTES)
                .sum();
            if cost > archive.snapshot.size_bytes / 2 {
                self.bring(std::iter::once(&archive.snapshot)).await?;
                at_store
                    .use_whole(&Snapshots::look(&self.settings.home).path(&archive.snapshot))?;
            }
        }
        Ok(())
    }

    fn scratch(&self, unit: &str) -> Result<Home> {
        self.settings
            .home
            .scratch_of_process(&format!("{}-{unit}", self.task.work.hash.short(16)))
    }

    /// Processes the remaining units in parallel. If a unit fails permanently, a unit result with
    /// the reason is written. A failure of the disk or store writes none.
    fn all(
        &self,
        units: &[String],
        known: BTreeMap<String, Receipt>,
        work: &(dyn Fn(&str) -> Result<Outcome> + Sync),
    ) -> Result<Vec<UnitReport>> {
        let mut done: BTreeMap<String, UnitReport> = known
            .iter()
            .map(|(unit, receipt)| {
                (
                    unit.clone(),
                    UnitReport {
                        is_known: true,
                        ..UnitReport::from_receipt(receipt)
                    },
                )
            })
            .collect();
        let to_do: Vec<&String> = units
            .iter()
            .filter(|unit| !known.contains_key(*unit))
            .collect();
        let reports = Mutex::new(Vec::new());
        in_parallel(to_do.len(), &|number| {
            let unit = to_do[number].as_str();
            // Code that reads the last release requires the runtime in its own thread.
            let _entered = self.runtime.enter();
            let outcome = match caught(|| work(unit)) {
                Err(error) if Failure::is_final(&error) => {
                    Ok(Outcome::Failed(Failure::from_error(&error)))
                }
                outcome => outcome,
            };
            let report = outcome.and_then(|outcome| {
                let receipt = Receipt::new(&self.task, unit, outcome);
                fault::point("task.parts_placed");
                self.runtime
                    .block_on(receipt.write(self.run_store, &self.task))?;
                fault::point("task.receipt_placed");
                Ok(UnitReport::from_receipt(&receipt))
            });
            let report = report.unwrap_or_else(|error| {
                UnitReport::failed(&self.task.planned.task_id, unit, &error)
            });
            reports
                .lock()
                .expect("nothing panics while holding it")
                .push(report);
        });
        done.extend(
            reports
                .into_inner()
                .expect("nothing panics while holding it")
                .into_iter()
                .map(|report| (report.unit.clone(), report)),
        );
        Ok(done.into_values().collect())
    }

    /// Builds a unit's tables in a scratch folder and copies the parts into the store.
    fn stage(
        &self,
        unit: &str,
        is_compared: KeepStatistics,
        add: AddTables<'_>,
    ) -> Result<Outcome> {
        let home = self.scratch(unit)?;
        let stage = Stage::begin(
            &home,
            &self.settings.declarations.contracts,
            self.task.planned.task_id.clone(),
            self.task.entry.clone(),
        )?;
        let stage = stage.comparing(is_compared);
        let (unit_of_work, read) = add(&stage)?;
        let parts = if unit_of_work.blocked.is_empty() {
            stage.parts()
        } else {
            Vec::new()
        };
        for staged in parts.iter().filter(|staged| !staged.is_reused) {
            let bytes = stage.bytes(&staged.part)?;
            self.runtime.block_on(self.run_store.put_part(
                &self.task.work.hash,
                unit,
                &staged.part.sha256,
                bytes,
            ))?;
            fault::point("task.part_placed");
        }
        home.remove()?;
        Ok(Outcome::Built {
            unit: unit_of_work,
            read,
            parts,
        })
    }

    /// Splits a file and writes its rows to the store, sorted by bucket.
    fn split(
        &self,
        to_split: &SplitPlan,
        buckets: &Buckets,
        remote: &BTreeMap<Digest, Arc<RemoteSnapshot>>,
        unit: &str,
        input: usize,
    ) -> Result<Outcome> {
        let home = self.scratch(unit)?;
        let scratch = Scratch::begin(&home, &self.task.planned.task_id, "split")?;
        scratch.make(buckets.count)?;
        let path_of = |bucket: u32, input: u64, member: u64| scratch.file(bucket, input, member);
        let snapshots = Snapshots::look(&self.settings.home);
        let at_store = |snapshot: &Snapshot| {
            remote
                .get(&snapshot.sha256)
                .map(|remote| remote.local_path().to_owned())
        };
        let locate =
            |snapshot: &Snapshot| at_store(snapshot).unwrap_or_else(|| snapshots.path(snapshot));
        let declaration = &self.settings.declarations.pipelines[&self.task.planned.pipeline_id];
        let context = context(self.settings, declaration, self.task.entry, &locate)
            .numbered(to_split.inputs().clone());
        let part = to_split.split(input, &context, buckets, KeptRows::All, &path_of)?;
        let (rows, mut end, mut places) = (home.root().join("rows"), 0, BTreeMap::new());
        let mut file = std::fs::File::create(&rows).at("create", &rows)?;
        for (bucket, path) in part.files(&path_of) {
            let mut of_bucket = std::fs::File::open(&path).at("open", &path)?;
            let begin = end;
            end += std::io::copy(&mut of_bucket, &mut file).at("write", &rows)?;
            places.insert(bucket, (begin, end));
            std::fs::remove_file(&path).at("delete", &path)?;
        }
        drop(file);
        self.runtime
            .block_on(self.run_store.put_rows(&self.task.work.hash, unit, &rows))?;
        drop(scratch);
        home.remove()?;
        Ok(Outcome::Split(SplitInput {
            part,
            read: context.finish().1,
            places,
        }))
    }

    /// Copies the rows of a bucket from the store.
    fn take_rows(&self, scratch: &Scratch, places: &[PlacesOfInput], bucket: u32) -> Result<()> {
        for (input, ((snapshot, member), of_buckets)) in places.iter().enumerate() {
            let Some((begin, end)) = of_buckets.get(&bucket) else {
                continue;
            };
            let rows = self.runtime.block_on(self.run_store.rows(
                &self.task.work.hash,
                &split_unit(input),
                *begin..*end,
            ))?;
            let path = scratch.file(bucket, *snapshot, *member);
            std::fs::write(&path, &rows).at("write", &path)?;
        }
        Ok(())
    }
}

/// The numbers of a split file and its member, and the offsets of each bucket's rows.
type PlacesOfInput = ((u64, u64), BTreeMap<u32, (u64, u64)>);

/// Returns the key of the unit that splits a file.
pub(super) fn split_unit(input: usize) -> String {
    format!("split-{input:05}")
}

/// Returns the results of a task's split files, in the order of the files.
///
/// # Errors
/// Returns `Unfinished` if a file is not split yet, and the cause if a split failed.
pub(super) async fn split_inputs_of(
    run_store: DistributedRunStore<'_>,
    task: &TaskToBuild<'_>,
    to_split: &SplitPlan,
) -> Result<Vec<SplitInput>> {
    let mut inputs = Vec::new();
    for number in 0..to_split.snapshots().count() {
        match Receipt::read(run_store, task, &split_unit(number))
            .await?
            .map(|receipt| receipt.outcome)
        {
            Some(Outcome::Split(input)) => inputs.push(input),
            Some(Outcome::Failed(failure)) => return Err(failure.error()),
            Some(Outcome::Built { .. }) => {
                return Err(Error::store(format!(
                    "the result of input {number} belongs to another unit"
                )));
            }
            None => {
                let task_id = &task.planned.task_id;
                return Err(Error::new(ErrorKind::Unfinished, format!("input {number} of {task_id} is not split yet"))
                    .hint(format!("first all shares of `pubdata task split`, or `pubdata task split --plan … --task {task_id} --input {number}`")));
            }
        }
    }
    Ok(inputs)
}
