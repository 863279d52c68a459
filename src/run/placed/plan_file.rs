//! The plan of work that is placed on several machines: all that decides it, in one file of the
//! store.

use std::io::Read;

use serde::{Deserialize, Serialize};

use crate::reporting::plan::{FetchedSource, Plan, PlannedTask};
use crate::settings::RunSettings;
use pubdata_build::datasets::ToSplit;
use pubdata_core::error::{Error, ErrorKind, IoExt, Result};
use pubdata_core::ids::{Digest, Hasher, ReleaseId};
use pubdata_core::issue::SourceFinding;
use pubdata_core::provenance::Snapshot;
use pubdata_store::{Manifest, PlacedWork, TaskEntry};

/// Format of plans in the store; another one is refused.
pub const PLAN_FORMAT_VERSION: u32 = 1;

/// A plan, as it stands in the store.
#[derive(Serialize, Deserialize)]
pub(super) struct PlanFile {
    pub(super) format_version: u32,
    /// Of the program that wrote it, which alone may carry it out.
    pub(super) program: Digest,
    /// Of the files it declares by.
    pub(super) declarations: Digest,
    /// The home that planned, which has the ledger and what was accepted.
    pub(super) home: String,
    pub(super) channel: String,
    /// The channel's generation, and the release it points at, from which what has not changed is
    /// carried over.
    pub(super) generation: Option<u64>,
    pub(super) base: Option<ReleaseId>,
    pub(super) is_sample: bool,
    pub(super) is_forced: bool,
    pub(super) accepted: Vec<String>,
    pub(super) confirmed: Vec<String>,
    pub(super) untouched: Vec<String>,
    pub(super) sources: Vec<FetchedSource>,
    pub(super) tasks: Vec<PlacedTask>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct PlacedTask {
    pub(super) planned: PlannedTask,
    /// None where nothing is built.
    pub(super) work: Option<Work>,
}

/// What is to be built of a task, in units that know nothing of each other.
#[derive(Serialize, Deserialize)]
pub(super) struct Work {
    /// Of everything that decides what the units come to.
    pub(super) hash: Digest,
    /// Whether the last release is a measure for this build.
    pub(super) is_believed: bool,
    pub(super) shape: Shape,
    pub(super) units: Vec<Unit>,
}

/// How a task is divided.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Shape {
    Whole,
    Shards {
        /// About the lists that decide the shards.
        findings: Vec<SourceFinding>,
        /// The archives of which a unit reads a few members.
        archives: Vec<PlacedArchive>,
    },
    /// After a first wave, which splits the sources.
    Buckets {
        to_split: ToSplit,
    },
    /// Not at all: its sources cannot be read.
    Unreadable(Failure),
}

/// An archive of which a unit reads a few members.
#[derive(Serialize, Deserialize)]
pub(super) struct PlacedArchive {
    pub(super) sha256: Digest,
    /// Where the directory of its members begins: whoever has the rest from there finds each of
    /// them.
    pub(super) directory_start: u64,
}

/// A unit of a task: a bucket, a shard, or all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Unit {
    pub(super) key: String,
    /// Of what decides its rows, as far as the plan knows it.
    pub(super) fingerprint: Digest,
    /// What it costs to build, in bytes of its sources.
    pub(super) cost_bytes: u64,
    pub(super) subjects: usize,
    /// Taken over as it is: nobody has to build it.
    pub(super) is_carried: bool,
}

/// Why something could not be built.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Failure {
    pub(super) kind: ErrorKind,
    pub(super) message: String,
    pub(super) way_out: Option<String>,
}

impl Failure {
    pub(super) fn of(error: &Error) -> Self {
        Self {
            kind: error.kind(),
            message: error.to_string(),
            way_out: error.way_out().map(str::to_owned),
        }
    }

    pub(super) fn error(&self) -> Error {
        let error = Error::new(self.kind, self.message.clone());
        match &self.way_out {
            Some(way_out) => error.hint(way_out.clone()),
            None => error,
        }
    }

    /// Whether another try would end alike: the sources are what they are.
    pub(super) fn is_final(error: &Error) -> bool {
        matches!(error.kind(), ErrorKind::Format | ErrorKind::Contract)
    }
}

/// Names a plan: by its address, or by its hash where the store is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanAddress {
    pub hash: Digest,
    /// The store that the address names.
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
    /// Reads a plan that this program has made, with these declarations.
    pub(super) async fn read(settings: &RunSettings, address: &PlanAddress) -> Result<Self> {
        let bytes = PlacedWork::of(settings.releases.store())
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
                "it was made by another program than this one, whose parts could be others",
            ));
        }
        if plan.declarations != settings.declarations.files.digest() {
            return Err(other("it was made with other declarations than these")
                .hint("give the same --declarations as to `pubdata plan`"));
        }
        Ok(plan)
    }

    /// The settings of the run that planned.
    pub(super) fn settings(&self, settings: &RunSettings) -> RunSettings {
        RunSettings {
            channel: self.channel.clone(),
            is_forced: self.is_forced,
            accepted: self.accepted.clone(),
            confirmed: self.confirmed.clone(),
            ..settings.clone()
        }
    }

    /// The release that the plan was made against.
    pub(super) async fn base(&self, settings: &RunSettings) -> Result<Option<Manifest>> {
        match &self.base {
            Some(base) => settings.releases.manifest(base).await.map(Some),
            None => Ok(None),
        }
    }

    /// As a run in one process would have planned.
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

    /// A task of which something is built.
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
            "the plan builds nothing: `pubdata commit` is all there is to do".to_owned()
        } else {
            format!("to be built: {}", ids.join(", "))
        }
    }
}

/// A task of a plan, of which something is built.
#[derive(Clone, Copy)]
pub(super) struct TaskToBuild<'a> {
    pub(super) planned: &'a PlannedTask,
    pub(super) entry: &'a TaskEntry,
    pub(super) work: &'a Work,
}

impl TaskToBuild<'_> {
    /// Snapshots that a unit reads itself: what is split, others have read.
    pub(super) fn snapshots_of_units(&self) -> Vec<&Snapshot> {
        let is_read = |snapshot: &&Snapshot| match &self.work.shape {
            Shape::Buckets { to_split } => !to_split.has(&snapshot.source_id),
            Shape::Whole | Shape::Shards { .. } | Shape::Unreadable(_) => true,
        };
        self.entry.inputs.iter().filter(is_read).collect()
    }
}

/// The digest of this program's own file: machines that are to make the same bytes run the same.
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
