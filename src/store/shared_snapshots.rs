//! Uploads snapshots to the shared store, and downloads them from it.

use std::ops::Range;
use std::path::Path as FilePath;
use std::time::Duration;

use bytes::Bytes;
use object_store::path::Path;

use super::{Partial, SharedStore, Snapshots};
use pubdata_core::error::{Error, ErrorKind, IoExt, Result};
use pubdata_core::ids::{Digest, Hasher};
use pubdata_core::provenance::Snapshot;

/// Result of linking or copying a snapshot from a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    AsFetched,
    /// The store does not have the snapshot.
    Gone,
    /// The store has different bytes under the snapshot's name.
    Other,
}

/// Interval between checks for a snapshot that another process on this machine is downloading.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

impl Snapshots {
    /// Uploads a snapshot to a store unless the store already has it.
    pub async fn share(&self, store: &SharedStore, snapshot: &Snapshot) -> Result<()> {
        let (path, key) = (self.path(snapshot), self.key(snapshot)?);
        if store.size(&key).await? == Some(snapshot.size_bytes) {
            return Ok(());
        }
        if let Some(folder) = store.folder() {
            let shared = folder.join(key.as_ref());
            if let Some(parent) = shared.parent() {
                std::fs::create_dir_all(parent).at("create folder", parent)?;
            }
            if std::fs::hard_link(&path, &shared).is_ok() {
                return Ok(());
            }
        }
        store.put_file(&key, &path).await
    }

    /// Downloads a snapshot from a store unless this home has it. Accepts only bytes with the
    /// snapshot's digest.
    ///
    /// # Errors
    /// `Store`, when the store does not have the snapshot or has different bytes, or when the
    /// snapshot cannot be written to this home.
    pub async fn bring(&self, store: &SharedStore, snapshot: &Snapshot) -> Result<()> {
        let is_here = || {
            std::fs::metadata(self.path(snapshot))
                .is_ok_and(|found| found.len() == snapshot.size_bytes)
        };
        let mut partial = loop {
            if is_here() {
                return Ok(());
            }
            match self.partial(
                &snapshot.source_id,
                &format!("{}/{}", store.url(), snapshot.sha256),
            ) {
                Err(error) if error.kind() == ErrorKind::Busy => {
                    tokio::time::sleep(BETWEEN_LOOKS).await;
                }
                partial => break partial?,
            }
        };
        // Another process may have finished the download between the check and the lock.
        if is_here() {
            return partial.discard();
        }
        partial.restart()?;
        let place = || {
            Ok::<_, Error>(format!(
                "snapshot {} of {}",
                self.key(snapshot)?,
                store.url()
            ))
        };
        match self.fill(partial, store, snapshot).await? {
            Taken::AsFetched => Ok(()),
            Taken::Gone => Err(Error::store(format!(
                "{} is gone (fetched from {})",
                place()?,
                snapshot.url
            ))
            .hint("`pubdata plan --write` uploads it again")),
            Taken::Other => Err(Error::store(format!(
                "{} is not what was fetched from {}",
                place()?,
                snapshot.url
            ))
            .hint("delete it there; `pubdata plan --write` uploads it again")),
        }
    }

    /// Copies a snapshot from a store to a temporary home, or links it if the store is a folder.
    pub async fn take(&self, store: &SharedStore, snapshot: &Snapshot) -> Result<Taken> {
        if let Some(folder) = store.folder() {
            let path = folder.join(self.key(snapshot)?.as_ref());
            return match self.digest_in(store, snapshot).await? {
                None => Ok(Taken::Gone),
                Some(digest) if digest != snapshot.sha256 => Ok(Taken::Other),
                Some(_) => self.link(snapshot, &path).map(|()| Taken::AsFetched),
            };
        }
        let partial = self.partial(&snapshot.source_id, &snapshot.url)?;
        self.fill(partial, store, snapshot).await
    }

    async fn fill(
        &self,
        mut partial: Partial,
        store: &SharedStore,
        snapshot: &Snapshot,
    ) -> Result<Taken> {
        if !store
            .read_pieces(&self.key(snapshot)?, |piece| partial.write(piece))
            .await?
        {
            partial.discard()?;
            return Ok(Taken::Gone);
        }
        if partial.digest() != snapshot.sha256 {
            partial.discard()?;
            return Ok(Taken::Other);
        }
        self.keep(partial, snapshot).map(|()| Taken::AsFetched)
    }

    /// Links a snapshot's path to another file on this machine that contains the same bytes.
    pub fn link(&self, snapshot: &Snapshot, to: &FilePath) -> Result<()> {
        let path = self.path(snapshot);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).at("create folder", folder)?;
        }
        match std::os::unix::fs::symlink(to, &path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked.at("create link", &path),
        }
    }

    /// Returns whether a store has a snapshot.
    pub async fn is_in(&self, store: &SharedStore, snapshot: &Snapshot) -> Result<bool> {
        Ok(store.size(&self.key(snapshot)?).await?.is_some())
    }

    /// Returns the digest of a snapshot's bytes in a store; `None` if the store does not have the
    /// snapshot.
    pub async fn digest_in(
        &self,
        store: &SharedStore,
        snapshot: &Snapshot,
    ) -> Result<Option<Digest>> {
        let mut hasher = Hasher::default();
        let is_there = store
            .read_pieces(&self.key(snapshot)?, |piece| {
                hasher.update(piece);
                Ok(())
            })
            .await?;
        Ok(is_there.then(|| hasher.finish()))
    }

    /// Returns the URL of a snapshot in a store.
    pub fn place_in(&self, store: &SharedStore, snapshot: &Snapshot) -> Result<String> {
        Ok(format!("{}/{}", store.url(), self.key(snapshot)?))
    }

    /// Reads byte ranges of a snapshot in a store, several at a time. The snapshot's digest does
    /// not cover individual ranges, so the caller must verify their content.
    ///
    /// # Errors
    /// `Store`, when the store does not have the snapshot or cannot be read.
    pub async fn ranges(
        &self,
        store: &SharedStore,
        snapshot: &Snapshot,
        ranges: &[Range<u64>],
    ) -> Result<Vec<Bytes>> {
        store.read_ranges(&self.key(snapshot)?, ranges).await
    }

    fn key(&self, snapshot: &Snapshot) -> Result<Path> {
        let path = self.path(snapshot);
        let below = path
            .strip_prefix(&self.snapshots_dir)
            .unwrap_or(&path)
            .to_string_lossy();
        Path::parse(format!("snapshots/{below}"))
            .map_err(|error| Error::store(format!("{}: {error}", path.display())))
    }
}
