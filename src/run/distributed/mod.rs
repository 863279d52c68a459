//! Distributes the work of a run over other processes, on this machine or on others. The plan is a
//! file in the store, and each unit writes its parts and a unit result there. A commit combines all
//! unit results into the release that `run` would have made.
//!
//! ```text
//! plan --write    fetches the sources, puts snapshots and the plan into the store
//! task split      for tasks built in buckets: writes the rows of a file in the order of their buckets
//! task build      builds units: parts, then a unit result, created once
//! commit          checks that all unit results exist, judges totals, publishes, moves the channel
//! ```
//! Every name derives from whatever determines the content. A process may be retried or wrongly
//! considered dead, so a unit may be built twice. Both builds write the same bytes under the same
//! name.

mod commit;
mod plan_file;
mod receipt;
mod tasks;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

pub use commit::commit;
pub use plan_file::PLAN_FORMAT_VERSION;
pub use plan_file::PlanAddress;
use plan_file::{
    DistributedArchive, DistributedTask, Failure, PlanFile, Shape, Unit, Work, program,
};
pub use receipt::RECEIPT_FORMAT_VERSION;
#[cfg(fuzzing)]
pub use receipt::fuzzing;
pub use tasks::{UnitReport, Wave, WorkerIndex, build_units, split_inputs, work_of_share};

use crate::building::build::{BuildOutput, Division, PreparedShards, build, is_whole};
use crate::building::shards;
use crate::building::stage::check_snapshots;
use crate::building::units::TaskInUnits;
use crate::fetching::manual_import::withdrawn_in;
use crate::reporting::plan::{Plan, PlannedTask, TaskState};
use crate::settings::RunSettings;
use pubdata_build::datasets::{Shard, SourceArchive, SplitPlan};
use pubdata_core::error::Result;
use pubdata_core::ids::{Digest, bucket_name};
use pubdata_core::pipeline::Buckets;
use pubdata_core::provenance::Snapshot;
use pubdata_store::{DistributedRunStore, Manifest, Snapshots, TaskEntry};

/// Key of the only unit of a task that is built as a whole.
const WHOLE: &str = "0";

/// A plan in the store, and its work.
#[derive(Debug, Clone)]
pub struct WrittenPlan {
    /// The plan's address.
    pub plan: String,
    pub work: Vec<WorkOfTask>,
}

/// Work for a task.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkOfTask {
    /// The task.
    pub task_id: String,
    /// Files that are split (`task split --input NUMBER`) before any unit of the task is built;
    /// empty if no files are split.
    pub inputs: Vec<Input>,
    /// Units that are built (`task build --unit KEY`); empty if everything is reused.
    pub units: Vec<WrittenUnit>,
}

/// A file that is split.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Input {
    /// The file's number, counted from 0.
    pub number: usize,
    /// Cost of splitting the file, in bytes of the file.
    pub cost_bytes: u64,
}

/// A unit that is built.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WrittenUnit {
    /// Name of a bucket or shard; `0` for a task that is built as a whole.
    pub key: String,
    /// Hash of everything that determines the unit's rows, as far as it is known when the plan is
    /// made.
    pub fingerprint: Digest,
    /// The unit's cost, in bytes of the sources.
    pub cost_bytes: u64,
}

/// Writes a plan, and the snapshots that its work reads, to the store. Builds nothing.
///
/// # Errors
/// Returns `Store` if the store cannot be written, and `Config` if it ignores conditional writes. A
/// task whose sources cannot be read is still part of the plan, and is blocked at the commit.
pub async fn write_plan(settings: &RunSettings, plan: &Plan) -> Result<WrittenPlan> {
    let (store, snapshots) = (settings.releases.store(), Snapshots::open(&settings.home)?);
    if plan.generation.is_none() && settings.releases.folder().is_none() {
        store.check().await?;
    }
    let program = program()?;
    let mut tasks = Vec::new();
    for planned in &plan.tasks {
        let work = match (&planned.state, &planned.entry) {
            (TaskState::Stale(_), Some(entry)) => {
                Some(work(settings, plan, planned, entry, &program)?)
            }
            _ => None,
        };
        if let Some((work, entry)) = work.as_ref().zip(planned.entry.as_ref())
            && !matches!(work.shape, Shape::Unreadable(_))
        {
            for snapshot in &entry.inputs {
                snapshots.share(store, snapshot).await?;
            }
        }
        tasks.push(DistributedTask {
            planned: planned.clone(),
            work,
        });
    }
    let file = PlanFile {
        format_version: PLAN_FORMAT_VERSION,
        program,
        declarations: settings.declarations.files.digest(),
        home: settings.home.root().display().to_string(),
        channel: settings.channel.clone(),
        generation: plan.generation,
        base: plan
            .current
            .as_ref()
            .map(|current| current.release_id.clone()),
        is_sample: plan.is_sample,
        is_forced: settings.is_forced,
        accepted: settings.accepted.clone(),
        confirmed: settings.confirmed.clone(),
        untouched: plan.untouched.clone(),
        sources: plan.sources.clone(),
        tasks,
    };
    let run_store = DistributedRunStore::new(store);
    let hash = run_store
        .put_plan(
            serde_json::to_vec(&file)
                .expect("a plan is plain data")
                .into(),
        )
        .await?;
    Ok(WrittenPlan {
        plan: run_store.plan_url(&hash),
        work: file.tasks.iter().filter_map(work_of_task).collect(),
    })
}

/// Returns the settings of the run for which a plan was made.
///
/// # Errors
/// Returns `Config` if the plan does not exist or belongs to another program, and `Store` if it
/// cannot be read.
pub async fn settings_of_plan(
    settings: &RunSettings,
    address: &PlanAddress,
) -> Result<RunSettings> {
    Ok(PlanFile::read(settings, address).await?.settings(settings))
}

fn work_of_task(task: &DistributedTask) -> Option<WorkOfTask> {
    let work = task.work.as_ref()?;
    let inputs = match &work.shape {
        Shape::Buckets { to_split } => {
            let mut parts: BTreeMap<Digest, u64> = BTreeMap::new();
            to_split
                .snapshots()
                .for_each(|snapshot| *parts.entry(snapshot.sha256).or_default() += 1);
            let cost = |snapshot: &Snapshot| snapshot.size_bytes / parts[&snapshot.sha256];
            to_split
                .snapshots()
                .enumerate()
                .map(|(number, snapshot)| Input {
                    number,
                    cost_bytes: cost(snapshot),
                })
                .collect()
        }
        _ => Vec::new(),
    };
    let to_build = work.units.iter().filter(|unit| !unit.is_reused);
    let units = to_build.map(|unit| WrittenUnit {
        key: unit.key.clone(),
        fingerprint: unit.fingerprint,
        cost_bytes: unit.cost_bytes,
    });
    Some(WorkOfTask {
        task_id: task.planned.task_id.clone(),
        inputs,
        units: units.collect(),
    })
}

/// Divides a task into units.
fn work(
    settings: &RunSettings,
    plan: &Plan,
    planned: &PlannedTask,
    entry: &TaskEntry,
    program: &Digest,
) -> Result<Work> {
    let is_accepted = withdrawn_in(
        settings,
        plan.current
            .as_ref()
            .and_then(|current| current.tasks.get(&planned.task_id)),
    )?
    .is_none();
    let base = plan.current.as_ref().map(|current| &current.release_id);
    // The entry includes the time of the plan, so failed or partial results from an earlier plan
    // are ignored.
    let decides = serde_json::json!([
        planned.task_id,
        entry,
        base,
        is_accepted,
        plan.is_sample,
        settings.is_forced,
        settings.accepted,
        settings.confirmed,
        program
    ]);
    let hash = Digest::sha256(decides.to_string().as_bytes());
    let (shape, units) = match divided(settings, plan, planned, entry, &hash, is_accepted) {
        Err(error) if Failure::is_final(&error) => {
            (Shape::Unreadable(Failure::from_error(&error)), Vec::new())
        }
        divided => divided?,
    };
    Ok(Work {
        hash,
        is_accepted,
        shape,
        units,
    })
}

fn divided(
    settings: &RunSettings,
    plan: &Plan,
    planned: &PlannedTask,
    entry: &TaskEntry,
    hash: &Digest,
    is_accepted: bool,
) -> Result<(Shape, Vec<Unit>)> {
    check_snapshots(settings, &plan.sources, &entry.inputs)?;
    let declaration = &settings.declarations.pipelines[&planned.pipeline_id];
    let bytes: u64 = entry
        .inputs
        .iter()
        .map(|snapshot| snapshot.size_bytes)
        .sum();
    let unit = |key: String, units: u32| Unit {
        fingerprint: Digest::sha256(format!("{hash} {key}").as_bytes()),
        key,
        cost_bytes: bytes / u64::from(units),
        subjects: 0,
        is_reused: false,
    };
    if is_whole(declaration)? {
        return Ok((Shape::Whole, vec![unit(WHOLE.to_owned(), 1)]));
    }
    match build(
        settings,
        declaration,
        planned.partition.clone(),
        entry,
        None,
    )? {
        BuildOutput::Tables(..) => Ok((Shape::Whole, vec![unit(WHOLE.to_owned(), 1)])),
        BuildOutput::Buckets(buckets, _) => {
            let units = (0..buckets.count)
                .map(|bucket| unit(bucket_name(bucket, buckets.count), buckets.count))
                .collect();
            Ok((
                Shape::Buckets {
                    to_split: to_split(settings, planned, entry, buckets)?,
                },
                units,
            ))
        }
        BuildOutput::Sharded(prepared) => {
            let judged = Judged {
                is_accepted,
                division: Division::Shards,
            };
            let in_units = in_units(
                settings,
                planned,
                entry,
                plan.current.as_ref(),
                plan.is_sample,
                &judged,
            );
            let PreparedShards { sharded, findings } = prepared;
            let known = in_units.known_parts();
            let all: usize = sharded
                .shards()
                .iter()
                .map(|shard| shard.subjects.len())
                .sum();
            let of_shard = |shard: &Shard| {
                let fingerprint = shards::fingerprint(shard);
                Unit {
                    key: shard.key.clone(),
                    fingerprint,
                    cost_bytes: (u128::from(bytes) * shard.subjects.len() as u128
                        / all.max(1) as u128) as u64,
                    subjects: shard.subjects.len(),
                    is_reused: known
                        .get(shard.key.as_str())
                        .is_some_and(|known| known.is_of(fingerprint)),
                }
            };
            let place = |archive: &SourceArchive| DistributedArchive {
                sha256: archive.snapshot.sha256,
                directory_start: archive.directory_start(),
            };
            let archives = sharded.archives().into_iter().map(place).collect();
            Ok((
                Shape::Shards { findings, archives },
                sharded.shards().iter().map(of_shard).collect(),
            ))
        }
    }
}

fn to_split(
    settings: &RunSettings,
    planned: &PlannedTask,
    entry: &TaskEntry,
    buckets: &Buckets,
) -> Result<SplitPlan> {
    let declaration = &settings.declarations.pipelines[&planned.pipeline_id];
    let snapshots = Snapshots::look(&settings.home);
    let locate = |snapshot: &Snapshot| snapshots.path(snapshot);
    SplitPlan::from_context(
        crate::building::buckets::context(settings, declaration, entry, &locate),
        buckets,
    )
}

/// How a build uses the last release.
struct Judged {
    /// True if the last release is a baseline for the build.
    is_accepted: bool,
    /// How the task is divided. Only a build in shards may reuse parts.
    division: Division,
}

impl Judged {
    fn from_work(work: &Work) -> Self {
        let division = match work.shape {
            Shape::Shards { .. } => Division::Shards,
            Shape::Buckets { .. } => Division::Buckets,
            Shape::Whole | Shape::Unreadable(_) => Division::Whole,
        };
        Self {
            is_accepted: work.is_accepted,
            division,
        }
    }
}

/// Returns the context in which the units of a task are built or assembled.
fn in_units<'a>(
    settings: &'a RunSettings,
    planned: &'a PlannedTask,
    entry: &'a TaskEntry,
    base: Option<&'a Manifest>,
    is_sample: bool,
    judged: &Judged,
) -> TaskInUnits<'a> {
    TaskInUnits {
        settings,
        declaration: &settings.declarations.pipelines[&planned.pipeline_id],
        task_id: &planned.task_id,
        entry,
        is_sample,
        previous: base.filter(|_| {
            judged.is_accepted && !(judged.division == Division::Shards && settings.is_forced)
        }),
        observer: None,
        division: judged.division,
        against: None,
    }
}
