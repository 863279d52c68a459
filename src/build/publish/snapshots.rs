//! Finds the snapshots that are no longer needed in a home, or in a store shared by several homes.

use std::collections::BTreeSet;

use super::operations::{PLAN_GRACE, Pruned};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_store::{DistributedRunStore, Home, Releases, SharedFile, Snapshots, StoredSnapshot};

/// Snapshots that are no longer needed.
#[derive(Default)]
pub struct UnneededSnapshots {
    of_home: Vec<StoredSnapshot>,
    /// Snapshots in the store, if the store is separate from the home.
    of_store: Vec<SharedFile>,
}

impl UnneededSnapshots {
    /// Finds unneeded snapshots. In the home, a snapshot is unneeded if no kept release in the home
    /// or the store was built from it, and it is not the newest for any URL. In the store, a
    /// snapshot is unneeded if no kept release was built from it, no plan names it, and it is at
    /// least a day old. Another home may be about to write a plan that names a younger snapshot.
    ///
    /// # Errors
    /// `Store` if manifests, snapshots or plans cannot be read.
    pub async fn find(
        home: &Home,
        releases: &Releases,
        pruned: &Pruned,
        now: jiff::Timestamp,
    ) -> Result<Self> {
        let store = releases.store();
        let mut referenced = referenced_snapshots(releases, &pruned.releases).await?;
        if !store.is_home(home) {
            referenced.extend(referenced_snapshots(&Releases::open(home, None)?, &[]).await?);
        }
        let snapshots = Snapshots::look(home);
        let newest = snapshots.newest()?;
        let is_needed = |snapshot: &StoredSnapshot| {
            referenced.contains(&snapshot.sha256) || newest.contains(&snapshot.sha256)
        };
        let mut unneeded = Self {
            of_home: snapshots
                .all()?
                .into_iter()
                .filter(|snapshot| !is_needed(snapshot))
                .collect(),
            of_store: Vec::new(),
        };
        if !store.is_home(home) {
            let run_store = DistributedRunStore::new(store);
            let plans = run_store
                .plans()
                .await?
                .into_iter()
                .filter(|(name, _)| !pruned.plans.contains(name));
            let plans: Vec<String> = plans
                .map(|(_, plan)| String::from_utf8_lossy(&plan).into_owned())
                .collect();
            let is_planned =
                |sha256: &Digest| plans.iter().any(|plan| plan.contains(&sha256.to_string()));
            let may_go = |sha256: &Digest, file: &SharedFile| {
                now.duration_since(file.modified) > PLAN_GRACE
                    && !referenced.contains(sha256)
                    && !is_planned(sha256)
            };
            let copies = run_store.snapshots().await?.into_iter();
            unneeded.of_store = copies
                .filter(|(sha256, file)| may_go(sha256, file))
                .map(|(_, file)| file)
                .collect();
        }
        Ok(unneeded)
    }

    /// Rejects a separate store without releases, because the needed snapshots are then unknown. It
    /// may also be the wrong store.
    ///
    /// # Errors
    /// `Config` if the store has no release; `Store` if the releases cannot be listed.
    pub async fn require_releases(home: &Home, releases: &Releases) -> Result<()> {
        let store = releases.store();
        if store.is_home(home) || !releases.list().await?.is_empty() {
            return Ok(());
        }
        Err(Error::config(format!(
            "the store {} has no release, so the snapshots that are needed are unknown",
            store.url()
        ))
        .hint("is it the right --store? Without --snapshots, no snapshot is deleted"))
    }

    /// Deletes the snapshots. The caller holds the run lock.
    pub async fn remove(&self, home: &Home, releases: &Releases) -> Result<()> {
        let snapshots = Snapshots::open(home)?;
        self.of_home
            .iter()
            .try_for_each(|snapshot| snapshots.remove(snapshot))?;
        for snapshot in &self.of_store {
            DistributedRunStore::new(releases.store())
                .remove_snapshot(snapshot)
                .await?;
        }
        Ok(())
    }

    /// Returns the location and the size in bytes of each snapshot.
    #[must_use]
    pub fn places(&self, releases: &Releases) -> Vec<(String, u64)> {
        let of_home = self
            .of_home
            .iter()
            .map(|snapshot| (snapshot.path.display().to_string(), snapshot.size_bytes));
        let of_store = self.of_store.iter().map(|file| {
            (
                format!("{}/{}", releases.store().url(), file.key),
                file.size_bytes,
            )
        });
        of_home.chain(of_store).collect()
    }
}

/// Returns the snapshots that any release refers to, except the releases in `without`. All other
/// snapshots may be deleted.
pub async fn referenced_snapshots(
    releases: &Releases,
    without: &[ReleaseId],
) -> Result<BTreeSet<Digest>> {
    let mut digests = BTreeSet::new();
    for release_id in releases
        .list()
        .await?
        .into_iter()
        .filter(|release_id| !without.contains(release_id))
    {
        let manifest = releases.manifest(&release_id).await?;
        digests.extend(
            manifest
                .tasks
                .values()
                .flat_map(|task| &task.inputs)
                .map(|input| input.sha256),
        );
    }
    Ok(digests)
}
