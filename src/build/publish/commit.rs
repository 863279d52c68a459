//! Composes the next release from new builds and reused parts, writes and verifies it, and points
//! the channel at it. The release id is the hash of the content, so identical content produces an
//! identical release.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use jiff::civil::Date;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;

use super::delta_log::PartFacts;
use super::stage::StagingLocation;
use super::{StagedBuild, fault, part};
use pubdata_core::contract::{Contract, Contracts};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_core::pipeline::Evidence;
use pubdata_store::{
    ChannelAction, ChannelEntry, ChannelMove, DatasetEntry, Home, MANIFEST_FORMAT_VERSION,
    Manifest, Part, Releases, Staging, TaskEntry,
};

/// A task's contribution to the next release.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "a run has a few dozen of them")]
pub enum Contribution {
    /// A new build.
    Built(StagedBuild),
    /// The task's parts in the channel's current release, with the task's current metadata if
    /// known.
    Reused {
        task_id: String,
        metadata: Option<TaskMetadata>,
    },
}

/// A task's metadata that does not affect its published bytes.
#[derive(Debug, Clone)]
pub struct TaskMetadata {
    /// Dates after which the next editions count as late.
    due: BTreeMap<String, Date>,
    /// How the layout of each of the task's sources is known.
    evidence: BTreeMap<String, Evidence>,
    covers: Vec<String>,
}

impl TaskMetadata {
    /// Copies the metadata from a newly built task's entry.
    pub fn from_entry(entry: &TaskEntry) -> Self {
        let TaskEntry {
            due,
            evidence,
            covers,
            ..
        } = entry.clone();
        Self {
            due,
            evidence,
            covers,
        }
    }

    /// Replaces an entry's metadata.
    pub fn apply_to(self, entry: &mut TaskEntry) {
        (entry.due, entry.evidence, entry.covers) = (self.due, self.evidence, self.covers);
    }
}

/// Result of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    pub release_id: ReleaseId,
    pub outcome: Outcome,
    /// The release that the channel pointed at before the commit.
    pub previous: Option<ReleaseId>,
    /// Number of parts linked from the previous release instead of written.
    pub parts_linked: u64,
    pub parts_written: u64,
    /// True if any of the release's builds was made from samples.
    pub is_sample: bool,
}

/// Effect of a commit on the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Published,
    /// The channel already points at this release.
    Unchanged,
    /// The channel already points at this release. Missing or damaged parts were written again.
    Repaired,
}

/// A composed release with its id, based on a specific generation of the channel.
#[derive(Debug, Clone)]
pub struct Prepared {
    channel: String,
    pub(super) manifest: Manifest,
    /// Contracts for the release's datasets.
    pub(super) contracts: Contracts,
    pub(super) current: Option<Current>,
    /// Staged builds by task.
    staged: BTreeMap<String, StagingLocation>,
    /// Declarations and contracts by digest.
    pub(super) texts: BTreeMap<Digest, String>,
}

#[derive(Debug, Clone)]
pub(super) struct Current {
    pub(super) entry: ChannelEntry,
    pub(super) manifest: Manifest,
}

/// Publishes a release composed of the contributions, and points the channel at the release.
///
/// # Errors
/// `Busy` if another publisher moved the channel in the meantime. In that case, no channel points
/// at the release, and the staged builds are kept for the next run. `Contract` if contributions do
/// not fit together. `Store` if reading, writing or verifying fails.
#[expect(
    clippy::too_many_arguments,
    reason = "each is a fact of the run; a struct would only rename them"
)]
pub async fn commit(
    home: &Home,
    releases: &Releases,
    contracts: &Contracts,
    channel: &str,
    contributions: Vec<Contribution>,
    is_sample: bool,
    run_id: &str,
    now: &str,
) -> Result<Committed> {
    let prepared = prepare(
        releases,
        contracts,
        channel,
        contributions,
        is_sample,
        run_id,
        now,
    )
    .await?;
    prepared.publish(home, releases).await
}

/// Composes the release and derives its id, without writing anything.
pub async fn prepare(
    releases: &Releases,
    contracts: &Contracts,
    channel: &str,
    contributions: Vec<Contribution>,
    is_sample: bool,
    run_id: &str,
    now: &str,
) -> Result<Prepared> {
    let current = match releases.channel(channel).await? {
        Some(entry) => Some(Current {
            manifest: current_manifest(releases, &entry).await?,
            entry,
        }),
        None => {
            // The check runs only before the first use. A local folder does not need it, because it
            // is consistent by itself.
            if releases.folder().is_none() {
                releases.store().check().await?;
            }
            None
        }
    };
    fault::point("commit.begun");
    let mut is_sample = is_sample;
    let (mut tasks, mut datasets, mut staged) = (
        BTreeMap::new(),
        BTreeMap::<String, DatasetEntry>::new(),
        BTreeMap::new(),
    );
    for contribution in contributions {
        let (task_id, entry, parts) = match contribution {
            Contribution::Built(build) => {
                staged.insert(build.task_id.clone(), build.place);
                (
                    build.task_id,
                    build.entry,
                    build
                        .parts
                        .into_iter()
                        .map(|staged| (staged.dataset_id, staged.part))
                        .collect(),
                )
            }
            Contribution::Reused { task_id, metadata } => {
                let previous = current.as_ref().map(|current| &current.manifest);
                let (mut entry, parts) = reuse(previous, contracts, &task_id)
                    .context(|| format!("channel `{channel}`"))?;
                // A reused task built from samples remains a sample, even if other tasks are not.
                if previous.is_some_and(|previous| previous.is_sample_build(&entry)) {
                    (entry.is_sample, is_sample) = (Some(true), true);
                }
                (entry.is_stale, entry.stale_reason) = (false, None);
                if let Some(metadata) = metadata {
                    metadata.apply_to(&mut entry);
                }
                (task_id, entry, parts)
            }
        };
        for (dataset_id, part) in parts {
            let contract = contracts.get(&dataset_id).ok_or_else(|| {
                Error::contract(format!("`{dataset_id}` has no contract")).context(task_id.clone())
            })?;
            let empty = || DatasetEntry {
                schema_version: contract.version.clone(),
                parts: Vec::new(),
            };
            datasets
                .entry(dataset_id)
                .or_insert_with(empty)
                .parts
                .push(part);
        }
        if tasks.insert(task_id.clone(), entry).is_some() {
            return Err(Error::contract(format!("task {task_id} contributes twice")));
        }
    }
    if tasks.is_empty() {
        return Err(Error::store("there is nothing to publish")
            .hint("`pubdata status` shows what each task waits for"));
    }
    for dataset in datasets.values_mut() {
        dataset.parts.sort_by(|a, b| a.path.cmp(&b.path));
        if let Some(pair) = dataset
            .parts
            .windows(2)
            .find(|pair| pair[0].path == pair[1].path)
        {
            return Err(Error::contract(format!(
                "tasks {} and {} both make the part {}",
                pair[0].task_id, pair[1].task_id, pair[0].path
            )));
        }
    }
    let mut manifest = Manifest {
        format_version: MANIFEST_FORMAT_VERSION,
        // Replaced below, because the id is the hash of the rest of the manifest.
        release_id: ReleaseId::from_digest(&Digest::sha256(b"")),
        pubdata_version: env!("CARGO_PKG_VERSION").to_owned(),
        is_sample,
        tasks,
        datasets,
        declarations: BTreeSet::new(),
        sidecars: BTreeMap::new(),
        published_at: now.to_owned(),
        run_id: run_id.to_owned(),
    };
    manifest.release_id = manifest.derive_release_id();
    let contracts = contracts
        .iter()
        .filter(|(dataset_id, _)| manifest.datasets.contains_key(*dataset_id));
    let contracts = contracts
        .map(|(dataset_id, contract)| (dataset_id.clone(), contract.clone()))
        .collect();
    Ok(Prepared {
        channel: channel.to_owned(),
        manifest,
        contracts,
        current,
        staged,
        texts: BTreeMap::new(),
    }
    .with_declarations(BTreeMap::new()))
}

async fn current_manifest(releases: &Releases, entry: &ChannelEntry) -> Result<Manifest> {
    let with_hint = |error: Error| match error.hint_text() {
        Some(_) => error,
        None => error.hint(format!(
            "`pubdata releases rollback` points `{}` at an earlier release",
            entry.channel
        )),
    };
    releases
        .manifest(&entry.release_id)
        .await
        .map_err(with_hint)
        .context(|| format!("channel `{}`", entry.channel))
}

/// Returns the reason why a task's parts cannot be reused in the next release, or none if they can.
pub fn reason_not_reusable(
    previous: Option<&Manifest>,
    contracts: &Contracts,
    task_id: &str,
) -> Option<String> {
    reuse(previous, contracts, task_id)
        .err()
        .map(|error| error.to_string())
}

type ReusedTask = (TaskEntry, Vec<(String, Part)>);

fn reuse(previous: Option<&Manifest>, contracts: &Contracts, task_id: &str) -> Result<ReusedTask> {
    let previous =
        previous.ok_or_else(|| Error::store(format!("no release yet to reuse {task_id} from")))?;
    let entry = previous.tasks.get(task_id).ok_or_else(|| {
        Error::store(format!(
            "release {} has no build of {task_id} to reuse",
            previous.release_id
        ))
    })?;
    let mut parts = Vec::new();
    for (dataset_id, dataset) in &previous.datasets {
        for part in dataset.parts.iter().filter(|part| part.task_id == task_id) {
            // Minor versions only add columns. Parts with different major versions cannot all be
            // read with one schema.
            let is_readable = |version: &str| {
                version.split('.').next() == dataset.schema_version.split('.').next()
            };
            let today = contracts
                .get(dataset_id)
                .map(|contract| contract.version.as_str());
            if !today.is_some_and(is_readable) {
                let today = today.map_or("no longer declared".to_owned(), |version| {
                    format!("now {version}")
                });
                return Err(Error::contract(format!(
                    "{task_id} cannot be reused from release {}: its {dataset_id} has schema version {}, {today}",
                    previous.release_id, dataset.schema_version
                ))
                .hint("build it again"));
            }
            parts.push((dataset_id.clone(), part.clone()));
        }
    }
    Ok((entry.clone(), parts))
}

impl Prepared {
    /// Returns the manifest of the release to be published.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Writes and verifies the release, and points the channel at it.
    ///
    /// # Errors
    /// As [`commit`].
    pub async fn publish(self, home: &Home, releases: &Releases) -> Result<Committed> {
        let release_id = self.manifest.release_id.clone();
        let previous = self
            .current
            .as_ref()
            .map(|current| current.entry.release_id.clone());
        let mut committed = Committed {
            release_id,
            outcome: Outcome::Unchanged,
            previous,
            parts_linked: 0,
            parts_written: 0,
            is_sample: self.manifest.is_sample,
        };
        if committed.previous.as_ref() != Some(&committed.release_id) {
            self.write(releases, &mut committed)
                .await
                .context(|| format!("release {}", committed.release_id))?;
            let to = ChannelMove {
                release_id: committed.release_id.clone(),
                action: ChannelAction::Publish,
                moved_at: self.manifest.published_at.clone(),
                run_id: Some(self.manifest.run_id.clone()),
            };
            releases
                .advance_channel(
                    &self.channel,
                    self.current
                        .as_ref()
                        .map(|current| current.entry.generation),
                    to,
                )
                .await?;
            committed.outcome = Outcome::Published;
            fault::point("commit.channel_moved");
        } else if !self.staged.is_empty() {
            // The staged builds are available, so missing or damaged parts are written again from
            // them.
            self.write(releases, &mut committed)
                .await
                .context(|| format!("release {}", committed.release_id))?;
            committed.outcome = if committed.parts_written > 0 {
                Outcome::Repaired
            } else {
                Outcome::Unchanged
            };
        }
        for task_id in self.staged.keys() {
            Staging::clear(home, task_id)?;
        }
        fault::point("commit.staging_cleared");
        Ok(committed)
    }

    async fn write(&self, releases: &Releases, committed: &mut Committed) -> Result<()> {
        let id = &self.manifest.release_id;
        let known: BTreeMap<Digest, &str> = self
            .current
            .iter()
            .flat_map(|current| parts(&current.manifest))
            .map(|part| (part.sha256, &*part.path))
            .collect();
        let previous = committed.previous.clone();
        // Each part waits for the disk, so several parts are placed in parallel.
        let of_datasets = self
            .manifest
            .datasets
            .iter()
            .filter_map(|(dataset_id, dataset)| {
                Some((self.contracts.get(dataset_id)?, &dataset.parts))
            });
        let places = of_datasets
            .flat_map(|(contract, parts)| parts.iter().map(move |part| (contract, part)));
        let places: Vec<_> = places
            .map(|(contract, part)| self.place(releases, contract, part, &known, previous.as_ref()))
            .collect();
        let mut writes = stream::iter(places).buffer_unordered(PARTS_AT_A_TIME);
        let mut facts = BTreeMap::new();
        while let Some(write) = writes.next().await {
            let (path, how, of_part) = write?;
            facts.insert(path, of_part);
            match how {
                WriteMethod::Already => {}
                WriteMethod::Linked => committed.parts_linked += 1,
                WriteMethod::Written => committed.parts_written += 1,
            }
        }
        fault::point("commit.parts_verified");
        let mut declarations = self.place_declarations(releases).await?;
        fault::point("commit.declarations_placed");
        let sidecars = self.write_sidecars(releases, &facts).await?;
        fault::point("commit.companions_placed");
        // If the same content was published earlier, its intact manifest keeps its dates.
        let known = releases.manifest(id).await.ok();
        if let Some(known) = known
            .as_ref()
            .filter(|known| known.declarations.is_superset(&declarations))
        {
            declarations.clone_from(&known.declarations);
        }
        if known
            .as_ref()
            .is_none_or(|known| known.declarations != declarations || known.sidecars != sidecars)
        {
            releases
                .put_manifest(&Manifest {
                    declarations,
                    sidecars,
                    ..known.unwrap_or_else(|| self.manifest.clone())
                })
                .await?;
            releases.manifest(id).await?;
        }
        fault::point("commit.manifest_written");
        Ok(())
    }

    /// Places one part in the release and verifies its bytes. Returns the part's path, how the part
    /// was placed and the facts in its footer.
    async fn place<'p>(
        &self,
        releases: &Releases,
        contract: &Contract,
        part: &'p Part,
        known: &BTreeMap<Digest, &str>,
        previous: Option<&ReleaseId>,
    ) -> Result<(&'p str, WriteMethod, PartFacts)> {
        let id = &self.manifest.release_id;
        let facts_if_intact = async |bytes: Option<Bytes>| {
            checked(part, bytes?)
                .await
                .ok()
                .map(|footer| PartFacts::from_footer(contract, part, &footer))
        };
        if let Some(facts) = facts_if_intact(releases.part_if_present(id, part).await?).await {
            return Ok((&part.path, WriteMethod::Already, facts));
        }
        if let (Some(from), Some(path)) =
            (previous.filter(|from| *from != id), known.get(&part.sha256))
            && releases.link_part(from, path, id, &part.path).await?
            && let Some(facts) = facts_if_intact(releases.part_if_present(id, part).await?).await
        {
            fault::point("commit.part_placed");
            return Ok((&part.path, WriteMethod::Linked, facts));
        }
        let is_placed = match self.staged.get(&part.task_id) {
            Some(StagingLocation::Home(staging))
                if releases.link_staged(staging, id, &part.path).await? =>
            {
                true
            }
            Some(StagingLocation::Home(staging)) => match staging.part(&part.path)? {
                Some(bytes) => releases
                    .put_part(id, &part.path, bytes.into())
                    .await
                    .map(|()| true)?,
                None => false,
            },
            Some(StagingLocation::Store(keys)) => match keys.get(&part.path) {
                Some(key) => releases.take_part(key, id, &part.path).await?,
                None => false,
            },
            None => false,
        };
        if !is_placed {
            return Err(Error::store(format!(
                "part {} is missing or damaged in the release or staging folder that it comes from",
                part.path
            ))
            .hint("`pubdata verify` lists damaged files; `pubdata run --force` builds it again"));
        }
        fault::point("commit.part_placed");
        let footer = checked(part, releases.part(id, part).await?)
            .await
            .context(|| "after writing".to_owned())?;
        Ok((
            &part.path,
            WriteMethod::Written,
            PartFacts::from_footer(contract, part, &footer),
        ))
    }
}

/// Checks a part on a blocking thread, so that several parts are hashed in parallel.
async fn checked(part: &Part, bytes: Bytes) -> Result<ArrowReaderMetadata> {
    let of = part.clone();
    let checked = tokio::task::spawn_blocking(move || part::checked(&of, &bytes)).await;
    checked.map_err(|error| {
        Error::store(format!(
            "reading part {} back was stopped: {error}",
            part.path
        ))
    })?
}

/// Maximum number of parts that are written, linked or read back in parallel.
pub(super) const PARTS_AT_A_TIME: usize = 16;

/// How a part was placed in the release.
enum WriteMethod {
    Already,
    Linked,
    Written,
}

fn parts(manifest: &Manifest) -> impl Iterator<Item = &Part> {
    manifest
        .datasets
        .values()
        .flat_map(|dataset| &dataset.parts)
}
