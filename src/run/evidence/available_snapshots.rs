//! Provides the snapshots for a rebuild, from the home or, if the home lacks them, from the store.
//! If an archive is built member by member, fetches only the members that are read.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::building::build::is_sharded;
use crate::fetching::remote::RemoteSnapshot;
use crate::settings::RunSettings;
use pubdata_build::datasets::Elsewhere;
use pubdata_build::decode::{Archive, ReadAt};
use pubdata_core::error::Result;
use pubdata_core::pipeline::Declarations;
use pubdata_core::provenance::Snapshot;
use pubdata_store::{Home, SharedStore, Snapshots, Taken, TaskEntry};

/// Result of looking for a snapshot.
pub(crate) enum Found {
    AsFetched,
    /// The snapshot's bytes have changed, as the text describes.
    Damaged(String),
    /// The snapshot was not found in any of the locations that the text names.
    Missing(String),
    /// The home has something other than a file at the snapshot's path, and the store does not have
    /// the snapshot.
    Unreadable(String),
}

/// How much of a snapshot is read.
#[derive(Debug, Clone)]
pub(crate) enum Need {
    Whole,
    /// The archive's directory and these members. Other members are fetched when they are read.
    Members(BTreeSet<String>),
}

/// Snapshots that are in the store but not in the home. They are copied to a folder that is removed
/// on drop.
pub(super) struct AvailableSnapshots {
    own: Snapshots,
    home: Home,
    /// The store; `None` if the home is also the store.
    store: Option<SharedStore>,
    /// The home in which builds find their snapshots if the real home lacks some of them. The flag
    /// is true if this home was created for that purpose.
    beside: Option<(Home, bool)>,
    /// The scratch home to use as that home.
    given: Option<Home>,
    max_bytes: u64,
    elsewhere: Elsewhere,
    missing: Vec<String>,
    damaged: Vec<String>,
}

impl Drop for AvailableSnapshots {
    fn drop(&mut self) {
        if let Some((home, true)) = &self.beside
            && let Err(error) = home.remove()
        {
            tracing::warn!(%error, "a scratch folder stays behind");
        }
    }
}

/// Looks for a snapshot, first in the home, then in the store.
///
/// # Errors
/// Returns `Store` if the store cannot be read.
pub(crate) async fn find(settings: &RunSettings, snapshot: &Snapshot) -> Result<Found> {
    let snapshots = Snapshots::look(&settings.home);
    if snapshots.path(snapshot).is_file() {
        return Ok(snapshots
            .damage(snapshot)?
            .map_or(Found::AsFetched, Found::Damaged));
    }
    let store = Some(settings.releases.store()).filter(|store| !store.is_home(&settings.home));
    let digest = match store {
        Some(store) => snapshots
            .digest_in(store, snapshot)
            .await?
            .map(|digest| (store, digest)),
        None => None,
    };
    Ok(match digest {
        None if snapshots.path(snapshot).exists() => {
            Found::Unreadable(missing(&snapshots, store, snapshot))
        }
        None => Found::Missing(missing(&snapshots, store, snapshot)),
        Some((_, digest)) if digest == snapshot.sha256 => Found::AsFetched,
        Some((store, _)) => Found::Damaged(not_as_fetched(&snapshots, store, snapshot)?),
    })
}

fn missing(own: &Snapshots, store: Option<&SharedStore>, snapshot: &Snapshot) -> String {
    let nor = store.map_or_else(String::new, |store| {
        format!(", and the store {} does not have it", store.url())
    });
    format!("{}{nor}", own.absence(snapshot))
}

fn not_as_fetched(own: &Snapshots, store: &SharedStore, snapshot: &Snapshot) -> Result<String> {
    let place = own.place_in(store, snapshot)?;
    Ok(format!(
        "snapshot {place} is not what was fetched from {}: its SHA-256 is no longer {}",
        snapshot.url, snapshot.sha256
    ))
}

impl AvailableSnapshots {
    /// Creates a provider that copies required snapshots into a scratch folder of the home, or into
    /// the scratch home `given`.
    pub(crate) fn new(settings: &RunSettings, given: Option<&Home>) -> Self {
        let store = settings.releases.store();
        Self {
            own: Snapshots::look(&settings.home),
            home: settings.home.clone(),
            store: (!store.is_home(&settings.home)).then(|| store.clone()),
            beside: None,
            given: given.cloned(),
            max_bytes: u64::MAX,
            elsewhere: Elsewhere::new(),
            missing: Vec::new(),
            damaged: Vec::new(),
        }
    }

    /// Limits the total size of the copied snapshots.
    #[must_use]
    pub(super) fn at_most(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Returns the snapshots of the home itself.
    pub(crate) fn own(&self) -> &Snapshots {
        &self.own
    }

    /// Returns the home in which builds find the snapshots.
    pub(crate) fn home(&self) -> &Home {
        self.beside.as_ref().map_or(&self.home, |(home, _)| home)
    }

    /// Returns the archives of which this machine has only a part.
    pub(crate) fn elsewhere(&self) -> &Elsewhere {
        &self.elsewhere
    }

    /// Returns the snapshots that neither the home nor the store has, with the locations that were
    /// searched.
    pub(crate) fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Returns the snapshots whose bytes in the store differ from the fetched bytes.
    pub(crate) fn damaged(&self) -> &[String] {
        &self.damaged
    }

    /// Returns true if the home itself has a snapshot.
    pub(crate) fn is_own(&self, snapshot: &Snapshot) -> bool {
        self.own.path(snapshot).is_file()
    }

    /// Returns true if a build can find a snapshot.
    pub(crate) fn has(&self, snapshot: &Snapshot) -> bool {
        self.is_own(snapshot) || Snapshots::look(self.home()).path(snapshot).is_file()
    }

    /// Returns the location of a snapshot for readers.
    pub(crate) fn place(&self, snapshot: &Snapshot) -> String {
        let in_store = self
            .store
            .as_ref()
            .filter(|_| !self.is_own(snapshot) && self.has(snapshot));
        let in_store = in_store.and_then(|store| self.own.place_in(store, snapshot).ok());
        in_store.unwrap_or_else(|| self.own.path(snapshot).display().to_string())
    }

    /// Copies the required inputs of a build that the home lacks.
    ///
    /// # Errors
    /// Returns `Store` if the store cannot be read or the scratch folder cannot be written.
    pub(crate) async fn take<'s>(
        &mut self,
        entry: &TaskEntry,
        needed: impl Iterator<Item = (&'s Snapshot, Need)>,
    ) -> Result<()> {
        let lacking: Vec<(&Snapshot, Need)> =
            needed.filter(|(snapshot, _)| !self.has(snapshot)).collect();
        if self.beside.is_some() {
            self.beside(entry)?;
        }
        let mut there = Vec::new();
        for (snapshot, need) in lacking {
            match &self.store {
                Some(store) if self.own.is_in(store, snapshot).await? => {
                    there.push((store.clone(), snapshot, need));
                }
                store => self
                    .missing
                    .push(missing(&self.own, store.as_ref(), snapshot)),
            }
        }
        let bytes: u64 = there
            .iter()
            .map(|(_, snapshot, _)| snapshot.size_bytes)
            .sum();
        if bytes > self.max_bytes {
            self.missing.push(format!("the snapshots are in the store alone, and their {bytes} bytes are more than are taken from there for one request"));
            return Ok(());
        }
        for (store, snapshot, need) in there {
            let home = self.beside(entry)?;
            match need {
                Need::Members(members)
                    if self.take_members(&store, &home, snapshot, &members).await? => {}
                _ => self.take_whole(&store, &home, snapshot).await?,
            }
        }
        Ok(())
    }

    /// Returns the additional home, with links to those inputs of the build that the real home has.
    fn beside(&mut self, entry: &TaskEntry) -> Result<Home> {
        // Several replays may run at the same time.
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let home = match (&self.beside, &self.given) {
            (Some((home, _)), _) => home.clone(),
            (None, Some(given)) => self.beside.insert((given.clone(), false)).0.clone(),
            (None, None) => {
                let made = self.home.scratch_of_process(&format!(
                    "at-hand-{}",
                    NUMBER.fetch_add(1, Ordering::Relaxed)
                ))?;
                self.beside.insert((made, true)).0.clone()
            }
        };
        let snapshots = Snapshots::open(&home)?;
        for input in entry
            .inputs
            .iter()
            .filter(|input| self.own.path(input).is_file())
        {
            snapshots.link(input, &self.own.path(input))?;
        }
        Ok(home)
    }

    async fn take_whole(
        &mut self,
        store: &SharedStore,
        home: &Home,
        snapshot: &Snapshot,
    ) -> Result<()> {
        match Snapshots::open(home)?.take(store, snapshot).await? {
            Taken::AsFetched => {}
            Taken::Gone => self.missing.push(missing(&self.own, Some(store), snapshot)),
            Taken::Other => self
                .damaged
                .push(not_as_fetched(&self.own, store, snapshot)?),
        }
        Ok(())
    }

    /// Copies an archive's directory and some of its members. Returns false if the archive cannot
    /// be read this way.
    async fn take_members(
        &mut self,
        store: &SharedStore,
        home: &Home,
        snapshot: &Snapshot,
        members: &BTreeSet<String>,
    ) -> Result<bool> {
        let snapshots = Snapshots::open(home)?;
        let remote = Arc::new(RemoteSnapshot::new(
            store,
            &snapshots,
            snapshot,
            home.root(),
        )?);
        let Ok(archive) = blocking(|| Archive::from_reader(remote.clone(), "*", u64::MAX)) else {
            return Ok(false);
        };
        let directory = archive.directory_start()..snapshot.size_bytes;
        let range_of = |member: &String| {
            archive
                .member(member)
                .map(|member| member.range().start..member.range().end.min(snapshot.size_bytes))
        };
        let ranges: Vec<Range<u64>> = members
            .iter()
            .filter_map(range_of)
            .chain([directory])
            .collect();
        remote.fetch(&ranges).await?;
        snapshots.link(snapshot, remote.local_path())?;
        self.elsewhere
            .insert(snapshot.sha256, remote as Arc<dyn ReadAt>);
        Ok(true)
    }
}

/// Returns the required portion of each input for a rebuild from some members of archives.
pub(crate) fn needs<'e>(
    declarations: &'e Declarations,
    entry: &'e TaskEntry,
    members: &'e BTreeMap<String, BTreeSet<String>>,
) -> impl Iterator<Item = (&'e Snapshot, Need)> {
    let by_members = declarations
        .pipelines
        .get(&entry.pipeline_id)
        .is_some_and(|declaration| is_sharded(declaration).unwrap_or_default());
    let is_archive = move |input: &Snapshot| {
        by_members
            && declarations
                .source(&input.source_id)
                .is_some_and(|(_, source)| source.members.is_some())
    };
    entry.inputs.iter().map(move |input| {
        let need = if is_archive(input) {
            Need::Members(members.get(&input.source_id).cloned().unwrap_or_default())
        } else {
            Need::Whole
        };
        (input, need)
    })
}

/// Runs blocking work without delaying other work of the runtime.
pub(super) fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
