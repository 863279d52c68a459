//! Defines the plan of a distributed run, which is a single file in the store that contains all its
//! inputs.

use std::io::Read;

use serde::{Deserialize, Serialize};

use crate::reporting::plan::{FetchedSource, Plan, PlannedTask};
use crate::settings::RunSettings;
use pubdata_build::datasets::SplitPlan;
use pubdata_core::error::{Error, ErrorKind, IoExt, Result};
use pubdata_core::ids::{Digest, Hasher, ReleaseId};
use pubdata_core::issue::SourceFinding;
use pubdata_core::provenance::Snapshot;
use pubdata_store::{DistributedRunStore, Manifest, TaskEntry};

/// Format of plans in the store. Plans in other formats are refused.
pub const PLAN_FORMAT_VERSION: u32 = 1;

/// A plan in the store.
#[derive(Serialize, Deserialize)]
pub(super) struct PlanFile {
    pub(super) format_version: u32,
    /// Digest of the program that wrote the plan. Only this program may execute it.
    pub(super) program: Digest,
    /// Digest of the declaration files.
    pub(super) declarations: Digest,
    /// The home in which the plan was made, which has the ledger and the acceptances.
    pub(super) home: String,
    pub(super) channel: String,
    /// The channel's generation and the release that the channel points at. Unchanged parts are
    /// reused from this release.
    pub(super) generation: Option<u64>,
    pub(super) base: Option<ReleaseId>,
    pub(super) is_sample: bool,
    pub(super) is_forced: bool,
    pub(super) accepted: Vec<String>,
    pub(super) confirmed: Vec<String>,
    pub(super) untouched: Vec<String>,
    pub(super) sources: Vec<FetchedSource>,
    pub(super) tasks: Vec<DistributedTask>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct DistributedTask {
    pub(super) planned: PlannedTask,
    /// The work of the task; `None` if nothing is built.
    pub(super) work: Option<Work>,
}

/// A task's work, divided into independent units.
#[derive(Serialize, Deserialize)]
pub(super) struct Work {
    /// Hash of everything that determines the results of the units.
    pub(super) hash: Digest,
    /// True if the last release is a baseline for this build.
    #[serde(rename = "is_believed")]
    pub(super) is_accepted: bool,
    pub(super) shape: Shape,
    pub(super) units: Vec<Unit>,
}

/// How a task is divided.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Shape {
    Whole,
    Shards {
        /// Findings about the lists that determine the shards.
        findings: Vec<SourceFinding>,
        /// Archives from which each unit reads only a few members.
        archives: Vec<DistributedArchive>,
    },
    /// Built after a first wave that splits the sources.
    Buckets {
        to_split: SplitPlan,
    },
    /// The task cannot be divided because its sources cannot be read.
    Unreadable(Failure),
}

/// An archive from which each unit reads only a few members.
#[derive(Serialize, Deserialize)]
pub(super) struct DistributedArchive {
    pub(super) sha256: Digest,
    /// Offset of the archive's member directory. The bytes from this offset on are enough to find
    /// every member.
    pub(super) directory_start: u64,
}

/// A unit of a task: a bucket, a shard, or the entire task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Unit {
    pub(super) key: String,
    /// Hash of everything that determines the unit's rows, as far as it is known when the plan is
    /// made.
    pub(super) fingerprint: Digest,
    /// The unit's cost, in bytes of its sources.
    pub(super) cost_bytes: u64,
    pub(super) subjects: usize,
    /// True if the unit is reused unchanged and need not be built.
    #[serde(rename = "is_carried")]
    pub(super) is_reused: bool,
}

/// Reason why something could not be built.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Failure {
    pub(super) kind: ErrorKind,
    pub(super) message: String,
    #[serde(rename = "way_out")]
    pub(super) hint: Option<String>,
}

impl Failure {
    pub(super) fn from_error(error: &Error) -> Self {
        Self {
            kind: error.kind(),
            message: error.to_string(),
            hint: error.hint_text().map(str::to_owned),
        }
    }

    pub(super) fn error(&self) -> Error {
        let error = Error::new(self.kind, self.message.clone());
        match &self.hint {
            Some(hint) => error.hint(hint.clone()),
            None => error,
        }
    }

    /// Returns true if a retry would also fail, because the sources themselves are at fault.
    pub(super) fn is_final(error: &Error) -> bool {
        matches!(error.kind(), ErrorKind::Format | ErrorKind::Contract)
    }
}

/// Address of a plan, or only its hash if the store is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanAddress {
    pub hash: Digest,
    /// The store that the address contains, if any.
    pub store: Option<String>,
}

impl std::str::FromStr for PlanAddress {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (store, name) = match text.rsplit_once("/plans/") {
            Some((store, name)) => (Some(store.to_owned()), name),
            None => (None, text),
        };
        let hash = name.strip_suffix(".json").unwrap_or(name).parse();
        let hash = hash.map_err(|_| {
            Error::config(format!("`{text}` is not a plan"))
                .hint("give what `pubdata plan --write --json` prints as `plan`: an address, or a hash of 64 digits")
        })?;
        Ok(Self { hash, store })
    }
}

impl PlanFile {
    /// Reads a plan that this program made with the current declarations.
    pub(super) async fn read(settings: &RunSettings, address: &PlanAddress) -> Result<Self> {
        let bytes = DistributedRunStore::new(settings.releases.store())
            .plan(&address.hash)
            .await?;
        let other = |what: &str| {
            Error::config(format!("plan {}: {what}", address.hash.short(20))).hint(
                "let the program that planned do the work, or plan again: `pubdata plan --write`",
            )
        };
        let value: serde_json::Value =
            serde_json::from_slice(&bytes).map_err(|error| other(&error.to_string()))?;
        if value["format_version"] != PLAN_FORMAT_VERSION {
            return Err(other(&format!(
                "it has format {}, this program reads {PLAN_FORMAT_VERSION}",
                value["format_version"]
            )));
        }
        let plan: Self =
            serde_json::from_value(value).map_err(|error| other(&error.to_string()))?;
        if plan.program != program()? {
            return Err(other(
                "it was made by another program than this one, whose parts could differ",
            ));
        }
        if plan.declarations != settings.declarations.files.digest() {
            return Err(other("it was made with other declarations than these")
                .hint("give the same --declarations as to `pubdata plan`"));
        }
        Ok(plan)
    }

    /// Returns the settings of the run that made the plan.
    pub(super) fn settings(&self, settings: &RunSettings) -> RunSettings {
        RunSettings {
            channel: self.channel.clone(),
            is_forced: self.is_forced,
            accepted: self.accepted.clone(),
            confirmed: self.confirmed.clone(),
            ..settings.clone()
        }
    }

    /// Returns the release on which the plan is based.
    pub(super) async fn base(&self, settings: &RunSettings) -> Result<Option<Manifest>> {
        match &self.base {
            Some(base) => settings.releases.manifest(base).await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns the plan, just as a run in one process would have made it.
    pub(super) fn plan(&self, current: Option<Manifest>) -> Plan {
        Plan {
            tasks: self.tasks.iter().map(|task| task.planned.clone()).collect(),
            sources: self.sources.clone(),
            untouched: self.untouched.clone(),
            current,
            generation: self.generation,
            is_sample: self.is_sample,
        }
    }

    /// Returns a task with units to build.
    pub(super) fn task(&self, task_id: &str) -> Result<TaskToBuild<'_>> {
        let task = self
            .tasks
            .iter()
            .find(|task| task.planned.task_id == task_id);
        let task = task.ok_or_else(|| {
            Error::config(format!("the plan has no task `{task_id}`")).hint(self.tasks_to_build())
        })?;
        match (&task.planned.entry, &task.work) {
            (Some(entry), Some(work)) => Ok(TaskToBuild {
                planned: &task.planned,
                entry,
                work,
            }),
            _ => Err(
                Error::config(format!("nothing of `{task_id}` is to be built"))
                    .hint(self.tasks_to_build()),
            ),
        }
    }

    fn tasks_to_build(&self) -> String {
        let ids: Vec<&str> = self
            .tasks
            .iter()
            .filter(|task| task.work.is_some())
            .map(|task| task.planned.task_id.as_str())
            .collect();
        if ids.is_empty() {
            "the plan builds nothing: only `pubdata commit` is left to do".to_owned()
        } else {
            format!("to be built: {}", ids.join(", "))
        }
    }
}

/// A task of a plan with units to build.
#[derive(Clone, Copy)]
pub(super) struct TaskToBuild<'a> {
    pub(super) planned: &'a PlannedTask,
    pub(super) entry: &'a TaskEntry,
    pub(super) work: &'a Work,
}

impl TaskToBuild<'_> {
    /// Returns the snapshots that a unit reads itself. Files that must be split are read by other
    /// units.
    pub(super) fn snapshots_of_units(&self) -> Vec<&Snapshot> {
        let is_read = |snapshot: &&Snapshot| match &self.work.shape {
            Shape::Buckets { to_split } => !to_split.has(&snapshot.source_id),
            Shape::Whole | Shape::Shards { .. } | Shape::Unreadable(_) => true,
        };
        self.entry.inputs.iter().filter(is_read).collect()
    }
}

/// Returns the digest of this program's executable file. Machines that must produce the same bytes
/// must run the same program.
pub(super) fn program() -> Result<Digest> {
    let path = std::env::current_exe().map_err(|error| {
        Error::store(format!("the program does not find its own file: {error}"))
    })?;
    let mut file = std::fs::File::open(&path).at("open", &path)?;
    let (mut hasher, mut piece) = (Hasher::default(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut piece).at("read", &path)? {
            0 => return Ok(hasher.finish()),
            length => hasher.update(&piece[..length]),
        }
    }
}
