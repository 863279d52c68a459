//! Publishes a release from units that other processes built. Judges the totals of each task just
//! as a run in one process does, then composes and publishes the release.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use tokio::runtime::Handle;

use super::plan_file::{PlanAddress, PlanFile, Shape, TaskToBuild, Unit};
use super::receipt::{Outcome, Receipt};
use super::tasks::{split_inputs_of, split_unit};
use super::{Judged, in_units};
use crate::building::shards::Before;
use crate::building::units::{BuiltTask, TaskInUnits, WorkUnit};
use crate::execute::{carry_out, record_run};
use crate::observer::SharedObserver;
use crate::reporting::findings::issues_file;
use crate::reporting::plan::{Plan, PlannedTask};
use crate::reporting::report::{RunReport, SubjectCounts};
use crate::settings::{QUARANTINE, RunSettings};
use pubdata_build::datasets::RowsRead;
use pubdata_build::publish::{KeepStatistics, Stage, StagedPart, TaskFacts, UnitFacts};
use pubdata_core::contract::Contract;
use pubdata_core::error::{Error, ErrorKind, Result};
use pubdata_core::pipeline::Declaration;
use pubdata_store::{BUCKET, DistributedRunStore, Manifest, TaskEntry, staged_part_key};

/// Maximum number of units named in a message.
const UNITS_SHOWN: usize = 8;

/// Publishes the units built for a plan, with the settings of the plan
/// ([`super::settings_of_plan`]). A second commit of the same plan finds the release and changes
/// nothing.
///
/// # Errors
/// Returns `Unfinished`, naming the unfinished units, in which case nothing is published. Returns
/// `Busy` if the channel has moved since the plan was made. Other errors are the same as for `run`.
pub async fn commit(
    settings: &RunSettings,
    address: &PlanAddress,
    observer: &SharedObserver,
) -> Result<RunReport> {
    let _lock = settings.home.lock()?;
    let file = PlanFile::read(settings, address).await?;
    let run_id = format!("plan-{}", address.hash.short(20));
    let started_at = jiff::Timestamp::now();
    let home = settings.home.root().display().to_string();
    if home != file.home {
        tracing::warn!(
            "the plan was made with the home {}, and is committed with {home}: ledger and acceptances of the first are not updated",
            file.home
        );
    }
    refuse_unfinished(settings, &file, address).await?;
    observer.on_run_started(&run_id, started_at);
    // Issues written by an earlier commit of the same plan are replaced.
    let issues = issues_file(&settings.home, &run_id);
    if issues.exists() {
        pubdata_store::write_file(&issues, b"")?;
    }
    let mut result = attempt(settings, &file, &run_id, started_at, observer).await;
    // Two commits of the same plan make the same release. The commit that lost the race finds that
    // release published.
    if result
        .as_ref()
        .is_err_and(|error| error.kind() == ErrorKind::Busy)
        && is_own(settings, &run_id).await?
    {
        result = attempt(settings, &file, &run_id, started_at, observer).await;
    }
    record_run(settings, &run_id, started_at, result).await
}

/// Returns true if the channel points at the release that this plan produced.
async fn is_own(settings: &RunSettings, run_id: &str) -> Result<bool> {
    let entry = settings.releases.channel(&settings.channel).await?;
    Ok(entry.is_some_and(|entry| entry.run_id.as_deref() == Some(run_id)))
}

async fn attempt(
    settings: &RunSettings,
    file: &PlanFile,
    run_id: &str,
    started_at: jiff::Timestamp,
    observer: &SharedObserver,
) -> Result<RunReport> {
    let entry = settings.releases.channel(&settings.channel).await?;
    if entry.as_ref().map(|entry| entry.generation) != file.generation
        && !is_own(settings, run_id).await?
    {
        let now = entry.map_or_else(
            || "nothing".to_owned(),
            |entry| format!("{} since {}", entry.release_id, entry.moved_at),
        );
        return Err(Error::new(
            ErrorKind::Busy,
            format!(
                "channel `{}` points at {now}, the plan was made before",
                settings.channel
            ),
        )
        .hint(
            "plan again: `pubdata plan --write`; builds that are in the release by then are reused",
        ));
    }
    // If the channel has moved, an earlier commit of this plan moved it.
    let plan = Plan {
        generation: entry.map(|entry| entry.generation),
        ..file.plan(file.base(settings).await?)
    };
    let build = |planned: &PlannedTask, entry: &TaskEntry| {
        let (current, runtime) = (plan.current.as_ref(), Handle::current());
        // Uses a separate thread, because a thread that drives the runtime must not wait for it.
        let gathered = std::thread::scope(|scope| {
            let gather = || {
                let _entered = runtime.enter();
                let task = file.task(&planned.task_id)?;
                if task.entry.input_hash != entry.input_hash {
                    let message =
                        "its units were built from files of another task that were refused since";
                    return Err(Error::contract(message)
                        .hint("the next plan whose files are all accepted builds it"));
                }
                let task = TaskToBuild { entry, ..task };
                Gathering {
                    settings,
                    file,
                    task,
                    runtime: &runtime,
                    base: current,
                    facts: Mutex::default(),
                }
                .gather(run_id, observer)
            };
            scope.spawn(gather).join()
        });
        gathered.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    };
    carry_out(settings, &plan, &build, run_id, started_at, observer).await
}

/// Refuses a plan that has unfinished units, and names them.
async fn refuse_unfinished(
    settings: &RunSettings,
    file: &PlanFile,
    address: &PlanAddress,
) -> Result<()> {
    let run_store = DistributedRunStore::new(settings.releases.store());
    let (mut units, mut commands) = (0, Vec::new());
    for task in file.tasks.iter().filter(|task| task.work.is_some()) {
        let task = file.task(&task.planned.task_id)?;
        let done = run_store.done(&task.work.hash).await?;
        let missing: Vec<&str> = task
            .work
            .units
            .iter()
            .filter(|unit| !unit.is_reused && !done.contains(&unit.key))
            .map(|unit| unit.key.as_str())
            .collect();
        if missing.is_empty() || is_failed_for_good(run_store, &task).await? {
            continue;
        }
        units += missing.len();
        let shown: Vec<&str> = missing.iter().take(UNITS_SHOWN).copied().collect();
        let more = if missing.len() > shown.len() {
            format!(" and {} more", missing.len() - shown.len())
        } else {
            String::new()
        };
        commands.push(format!(
            "{} unit {}{more}",
            task.planned.task_id,
            shown.join(",")
        ));
    }
    if units == 0 {
        return Ok(());
    }
    let hash = address.hash.short(20);
    Err(Error::new(ErrorKind::Unfinished, format!("{units} units of plan {hash} are not done, nothing is published: {}", commands.join("; ")))
        .hint("do them (all shares of `pubdata task split` and of `pubdata task build`, or by --task, --input and --unit) and commit again"))
}

/// Returns true if a file cannot be split, in which case no unit of the task can be built.
async fn is_failed_for_good(
    run_store: DistributedRunStore<'_>,
    task: &TaskToBuild<'_>,
) -> Result<bool> {
    let Shape::Buckets { to_split } = &task.work.shape else {
        return Ok(false);
    };
    for number in 0..to_split.snapshots().count() {
        let receipt = Receipt::read(run_store, task, &split_unit(number)).await?;
        if receipt.is_some_and(|receipt| matches!(receipt.outcome, Outcome::Failed(_))) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Assembles a task from its unit results.
struct Gathering<'a> {
    settings: &'a RunSettings,
    file: &'a PlanFile,
    task: TaskToBuild<'a>,
    base: Option<&'a Manifest>,
    runtime: &'a Handle,
    /// Facts derived from the parts added so far.
    facts: Mutex<TaskFacts>,
}

impl Gathering<'_> {
    fn gather(&self, run_id: &str, observer: &SharedObserver) -> Result<BuiltTask> {
        let built = self.gathered(run_id, observer)?;
        let contradictions = self
            .facts()
            .contradictions(&self.declaration().produces, &built.staged.entry);
        let units = self
            .task
            .work
            .units
            .iter()
            .map(|unit| unit.key.as_str())
            .take(UNITS_SHOWN)
            .collect::<Vec<_>>();
        if contradictions.is_empty() {
            Ok(built)
        } else {
            Err(self.contradiction_error(&units.join(","), &contradictions.join("; ")))
        }
    }

    fn gathered(&self, run_id: &str, observer: &SharedObserver) -> Result<BuiltTask> {
        let Self {
            settings,
            file,
            ref task,
            base,
            ..
        } = *self;
        let in_units = in_units(
            settings,
            task.planned,
            task.entry,
            base,
            file.is_sample,
            &Judged::from_work(task.work),
        );
        let in_units = TaskInUnits {
            observer: Some(observer),
            ..in_units
        };
        let stage = Stage::gather(
            &settings.declarations.contracts,
            task.planned.task_id.clone(),
            task.entry.clone(),
        );
        let issues_file = issues_file(&settings.home, run_id);
        let units = &task.work.units;
        match &task.work.shape {
            Shape::Unreadable(failure) => Err(failure.error()),
            Shape::Whole => {
                let (unit, read, parts) = self.built(&units[0].key)?;
                // The unit was already compared when it was built.
                self.take(
                    &stage,
                    &units[0],
                    parts,
                    &BTreeSet::new(),
                    KeepStatistics(false),
                )?;
                let blocked = if unit.blocked.is_empty() {
                    in_units.judge_partitions(&stage.parts(), &unit.issues)
                } else {
                    Vec::new()
                };
                in_units.conclude_whole(
                    stage,
                    WorkUnit {
                        blocked: unit.blocked.into_iter().chain(blocked).collect(),
                        ..unit
                    },
                    &read,
                    Some(&issues_file),
                )
            }
            Shape::Buckets { to_split } => {
                let inputs =
                    self.runtime
                        .block_on(split_inputs_of(self.run_store(), task, to_split))?;
                let mut read = RowsRead::default();
                inputs.into_iter().for_each(|input| read.merge(input.read));
                let is_compared = KeepStatistics(in_units.compared().is_some());
                let gather = |number: usize, stage: &Stage<'_>| {
                    let (mut unit, _, parts) = self.built(&units[number].key)?;
                    self.take(stage, &units[number], parts, &BTreeSet::new(), is_compared)?;
                    if number == 0 {
                        unit.findings.extend(read.findings(&settings.declarations));
                    }
                    Ok(unit)
                };
                Ok(in_units
                    .fill(
                        stage.comparing(is_compared),
                        units.len(),
                        &read.by_source(),
                        &gather,
                        Some(&issues_file),
                    )?
                    .0)
            }
            Shape::Shards { findings, .. } => {
                let known = in_units.known_parts();
                let is_compared = KeepStatistics(in_units.compared().is_some());
                let gather = |number: usize, stage: &Stage<'_>| {
                    let of_plan = &units[number];
                    let mut unit = match known
                        .get(of_plan.key.as_str())
                        .filter(|_| of_plan.is_reused)
                    {
                        Some(known) => known.reuse(stage).map(|()| WorkUnit::default())?,
                        None => {
                            let (unit, _, parts) = self.built(&of_plan.key)?;
                            self.take(stage, of_plan, parts, &unit.reused_subjects, is_compared)?;
                            in_units.compare_with_before(
                                &of_plan.key,
                                &unit.reused_subjects,
                                &Before::default(),
                                stage,
                                self.runtime,
                            );
                            unit
                        }
                    };
                    if number == 0 {
                        unit.findings.clone_from(findings);
                    }
                    Ok(unit)
                };
                let (mut built, built_subjects) = in_units.fill(
                    stage.comparing(is_compared),
                    units.len(),
                    &BTreeMap::new(),
                    &gather,
                    Some(&issues_file),
                )?;
                let subjects: usize = units.iter().map(|unit| unit.subjects).sum();
                built.subjects = Some(SubjectCounts {
                    built: built_subjects,
                    reused: subjects - built_subjects,
                });
                Ok(built)
            }
        }
    }

    fn run_store(&self) -> DistributedRunStore<'_> {
        DistributedRunStore::new(self.settings.releases.store())
    }

    /// Returns the result of a unit.
    fn built(&self, unit: &str) -> Result<(WorkUnit, BTreeMap<String, u64>, Vec<StagedPart>)> {
        let receipt = self
            .runtime
            .block_on(Receipt::read(self.run_store(), &self.task, unit))?;
        match receipt.map(|receipt| receipt.outcome) {
            Some(Outcome::Built { unit, read, parts }) => Ok((unit, read, parts)),
            Some(Outcome::Failed(failure)) => Err(failure.error()),
            Some(Outcome::Split(_)) => Err(Error::store(format!(
                "the result of unit {unit} belongs to another unit"
            ))),
            None => Err(Error::new(
                ErrorKind::Unfinished,
                format!("{}: unit {unit} is not done", self.task.planned.task_id),
            )),
        }
    }

    /// Adds a unit's parts, including their row statistics if they are compared with the last
    /// release. Refuses parts whose bytes contradict the unit result.
    fn take(
        &self,
        stage: &Stage<'_>,
        unit: &Unit,
        parts: Vec<StagedPart>,
        reused: &BTreeSet<String>,
        is_compared: KeepStatistics,
    ) -> Result<()> {
        let mut facts = UnitFacts::of_this_version();
        for staged in parts {
            let contract = self.contract_of(&staged, unit)?;
            if staged.is_reused {
                self.facts().add_reused(&staged.dataset_id);
                stage.reuse(&staged.dataset_id, &staged.schema_version, &staged.part)?;
                continue;
            }
            let (work, sha256) = (&self.task.work.hash, staged.part.sha256);
            let bytes = self
                .runtime
                .block_on(self.run_store().part(work, &unit.key, &sha256))?;
            let lost = || {
                Error::store(format!(
                    "staged part {} of unit {} is gone",
                    staged.part.path, unit.key
                ))
                .hint("build the unit again")
            };
            let bytes = bytes.ok_or_else(lost)?;
            facts
                .add(contract, &staged.part, &bytes)
                .map_err(|error| self.contradiction_error(&unit.key, &error.to_string()))?;
            if is_compared.0 && staged.dataset_id != QUARANTINE {
                stage.add_remote_part(&staged, bytes, reused)?;
            }
            stage.take(staged, staged_part_key(work, &unit.key, &sha256))?;
        }
        let (facts, contradictions) = facts.finish();
        if !contradictions.is_empty() {
            return Err(self.contradiction_error(&unit.key, &contradictions.join("; ")));
        }
        self.facts().merge(facts);
        Ok(())
    }

    /// Returns the contract of a part's dataset, after checking that the task may have such a part
    /// in this unit.
    fn contract_of(&self, staged: &StagedPart, unit: &Unit) -> Result<&Contract> {
        let StagedPart {
            dataset_id,
            schema_version,
            part,
            is_reused,
        } = staged;
        let refused =
            |what: &str| self.contradiction_error(&unit.key, &format!("part {} {what}", part.path));
        let is_produced =
            dataset_id == QUARANTINE || self.declaration().produces.contains(dataset_id);
        let contract = self
            .settings
            .declarations
            .contracts
            .get(dataset_id)
            .filter(|_| is_produced);
        let contract = contract.ok_or_else(|| {
            refused(&format!(
                "is of {dataset_id}, which the pipeline does not produce"
            ))
        })?;
        if *schema_version != contract.version || part.task_id != self.task.planned.task_id {
            return Err(refused(
                "is of another task, or of another version of its contract",
            ));
        }
        let of_base = self.base.and_then(|base| base.datasets.get(dataset_id));
        if *is_reused && !of_base.is_some_and(|dataset| dataset.parts.contains(part)) {
            return Err(refused(
                "is marked as reused from the last release, which has no such part",
            ));
        }
        let is_sharded = matches!(self.task.work.shape, Shape::Shards { .. });
        if is_sharded && part.fingerprint != Some(unit.fingerprint) {
            return Err(refused("has another fingerprint than the plan"));
        }
        let is_divided = !matches!(self.task.work.shape, Shape::Whole);
        if is_divided && part.partition.get(BUCKET) != Some(&unit.key) {
            return Err(refused(&format!("is not of the bucket {}", unit.key)));
        }
        Ok(contract)
    }

    fn declaration(&self) -> &Declaration {
        &self.settings.declarations.pipelines[&self.task.planned.pipeline_id]
    }

    fn facts(&self) -> MutexGuard<'_, TaskFacts> {
        self.facts.lock().expect("nothing panics while holding it")
    }

    /// Returns the error for a unit result that contradicts its parts.
    fn contradiction_error(&self, unit: &str, what: &str) -> Error {
        let (task_id, work) = (&self.task.planned.task_id, self.task.work.hash);
        Error::store(format!("the result of {task_id} unit {unit} contradicts its parts: {what}")).hint(format!(
            "nothing is published; find out who wrote to staging/ in the store, delete staging/{work}/{unit}/unit.json, and build the unit again"
        ))
    }
}
