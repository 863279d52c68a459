//! Puts snapshots where other machines find them, and takes them from there.

use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use object_store::path::Path;

use super::{SharedStore, Snapshots};
use pubdata_core::error::{Error, ErrorKind, IoExt, Result};
use pubdata_core::provenance::Snapshot;

/// Between looks at a snapshot that another process of this machine is taking.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

impl Snapshots {
    /// Puts a snapshot into a store, where it is not there yet.
    ///
    /// # Errors
    /// `Store`, when it cannot be read or written.
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

    /// Takes a snapshot from a store, where it is not here yet. What comes is as it was fetched, or it does not come.
    ///
    /// # Errors
    /// `Store`, when the store does not have it, or has other bytes; or when it cannot be written here.
    pub async fn bring(&self, store: &SharedStore, snapshot: &Snapshot) -> Result<()> {
        let is_here = || std::fs::metadata(self.path(snapshot)).is_ok_and(|found| found.len() == snapshot.size_bytes);
        let mut partial = loop {
            if is_here() {
                return Ok(());
            }
            match self.partial(&snapshot.source_id, &format!("{}/{}", store.url(), snapshot.sha256)) {
                Err(error) if error.kind() == ErrorKind::Busy => tokio::time::sleep(BETWEEN_LOOKS).await,
                partial => break partial?,
            }
        };
        // Another process may have finished between the look and the lock.
        if is_here() {
            return partial.discard();
        }
        let key = self.key(snapshot)?;
        partial.restart()?;
        let place = || format!("snapshot {key} of {}", store.url());
        if !store.read_pieces(&key, |piece| partial.write(piece)).await? {
            partial.discard()?;
            return Err(Error::store(format!("{} is gone (fetched from {})", place(), snapshot.url)).hint("`pubdata plan --write` puts it there again"));
        }
        if partial.digest() != snapshot.sha256 {
            partial.discard()?;
            return Err(Error::store(format!("{} is not what was fetched from {}", place(), snapshot.url))
                .hint("delete it there; `pubdata plan --write` puts it there again"));
        }
        self.keep(partial, snapshot)
    }

    /// Reads ranges of a snapshot of a store, several at a time. Its digest says nothing of them: whoever reads them checks what they hold.
    ///
    /// # Errors
    /// `Store`, when the store does not have it, or cannot be read.
    pub async fn ranges(&self, store: &SharedStore, snapshot: &Snapshot, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        store.read_ranges(&self.key(snapshot)?, ranges).await
    }

    fn key(&self, snapshot: &Snapshot) -> Result<Path> {
        let path = self.path(snapshot);
        let below = path.strip_prefix(&self.snapshots_dir).unwrap_or(&path).to_string_lossy();
        Path::parse(format!("snapshots/{below}")).map_err(|error| Error::store(format!("{}: {error}", path.display())))
    }
}
