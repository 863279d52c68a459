//! Reads a snapshot that is in a store but not on this machine. Fetches only the bytes that are
//! read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use tokio::runtime::Handle;

use pubdata_build::decode::ReadAt;
use pubdata_core::error::{Error, IoExt, Result};
use pubdata_core::provenance::Snapshot;
use pubdata_store::{SharedStore, Snapshots};

/// Cost of a request, expressed as the number of bytes that could be fetched in the same time. The
/// value assumes ten concurrent requests, each answered within 20 ms, on a 100 MB/s connection.
pub(crate) const REQUEST_BYTES: u64 = 200_000;
/// Maximum number of bytes in memory at once, and of a single piece.
const BYTES_AT_ONCE: u64 = 32 << 20;
const PIECE_BYTES: u64 = 8 << 20;

/// A snapshot in a store. Fetched bytes are kept at their offsets in a local sparse file.
#[derive(Debug)]
pub(crate) struct RemoteSnapshot {
    store: SharedStore,
    snapshots: Snapshots,
    snapshot: Snapshot,
    runtime: Handle,
    local: File,
    local_path: PathBuf,
    /// Fetched ranges, by start offset, with their end offsets. No two ranges touch.
    here: Mutex<BTreeMap<u64, u64>>,
    /// The complete snapshot, if it was fetched after all.
    whole: OnceLock<File>,
}

impl RemoteSnapshot {
    /// Creates an empty local file for a snapshot in a folder.
    ///
    /// # Errors
    /// Returns `Store` if the file cannot be created.
    pub(crate) fn new(
        store: &SharedStore,
        snapshots: &Snapshots,
        snapshot: &Snapshot,
        folder: &Path,
    ) -> Result<Self> {
        let path = folder.join(snapshot.sha256.to_string());
        let local = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .at("create", &path)?;
        local.set_len(snapshot.size_bytes).at("write", &path)?;
        Ok(Self {
            store: store.clone(),
            snapshots: snapshots.clone(),
            snapshot: snapshot.clone(),
            runtime: Handle::current(),
            local,
            local_path: path,
            here: Mutex::default(),
            whole: OnceLock::new(),
        })
    }

    /// Returns the local file that contains the fetched bytes at their offsets. Callers must not
    /// read other ranges.
    pub(crate) fn local_path(&self) -> &Path {
        &self.local_path
    }

    /// Fetches the byte ranges that have not been fetched yet.
    ///
    /// # Errors
    /// Returns `Store` if the bytes cannot be fetched or kept.
    ///
    /// # Panics
    /// Panics if another thread panicked while it recorded fetched ranges.
    pub(crate) async fn fetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        let missing: Vec<Range<u64>> = {
            let here = self.here.lock().expect("nothing panics while holding it");
            ranges
                .iter()
                .filter(|range| !range.is_empty() && !is_within(&here, range))
                .cloned()
                .collect()
        };
        let cut = |range: Range<u64>| {
            (range.start..range.end)
                .step_by(PIECE_BYTES as usize)
                .map(move |start| start..range.end.min(start + PIECE_BYTES))
        };
        let (mut pieces, mut bytes) = (Vec::new(), 0);
        for piece in missing.into_iter().flat_map(cut) {
            bytes += piece.end - piece.start;
            pieces.push(piece);
            if bytes >= BYTES_AT_ONCE {
                self.fetch_at_once(std::mem::take(&mut pieces)).await?;
                bytes = 0;
            }
        }
        if pieces.is_empty() {
            Ok(())
        } else {
            self.fetch_at_once(pieces).await
        }
    }

    async fn fetch_at_once(&self, ranges: Vec<Range<u64>>) -> Result<()> {
        let pieces = self
            .snapshots
            .ranges(&self.store, &self.snapshot, &ranges)
            .await?;
        let url = &self.snapshot.url;
        for (range, piece) in ranges.into_iter().zip(pieces) {
            if piece.len() as u64 != range.end - range.start {
                return Err(Error::store(format!(
                    "snapshot of {url}: {} bytes arrived instead of {}",
                    piece.len(),
                    range.end - range.start
                )));
            }
            self.local
                .write_all_at(&piece, range.start)
                .map_err(|error| {
                    Error::store(format!("snapshot of {url}: cannot be kept: {error}"))
                })?;
            add(
                &mut self.here.lock().expect("nothing panics while holding it"),
                range,
            );
        }
        Ok(())
    }

    /// Uses a file that contains the complete snapshot for all further reads.
    pub(crate) fn use_whole(&self, path: &Path) -> Result<()> {
        let _ = self.whole.set(File::open(path).at("open", path)?);
        Ok(())
    }
}

impl ReadAt for RemoteSnapshot {
    fn size(&self) -> io::Result<u64> {
        Ok(self.snapshot.size_bytes)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if let Some(whole) = self.whole.get() {
            return FileExt::read_at(whole, buffer, offset);
        }
        let end = self
            .snapshot
            .size_bytes
            .min(offset.saturating_add(buffer.len() as u64));
        self.expect(std::slice::from_ref(&(offset..end.max(offset))))?;
        let count = usize::try_from(end.saturating_sub(offset)).unwrap_or(buffer.len());
        FileExt::read_exact_at(&self.local, &mut buffer[..count], offset)?;
        Ok(count)
    }

    fn expect(&self, ranges: &[Range<u64>]) -> io::Result<()> {
        if self.whole.get().is_some() {
            return Ok(());
        }
        tokio::task::block_in_place(|| self.runtime.block_on(self.fetch(ranges)))
            .map_err(io::Error::other)
    }
}

fn is_within(here: &BTreeMap<u64, u64>, range: &Range<u64>) -> bool {
    here.range(..=range.start)
        .next_back()
        .is_some_and(|(_, end)| *end >= range.end)
}

/// Adds a range and merges it with the ranges that touch it.
fn add(here: &mut BTreeMap<u64, u64>, range: Range<u64>) {
    let mut whole = range;
    while let Some((begin, end)) = here
        .range(..=whole.end)
        .next_back()
        .map(|(begin, end)| (*begin, *end))
        .filter(|(_, end)| *end >= whole.start)
    {
        here.remove(&begin);
        whole = whole.start.min(begin)..whole.end.max(end);
    }
    here.insert(whole.start, whole.end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        let mut here = BTreeMap::new();
        for range in [10..20, 40..50, 0..5, 20..30, 28..41, 60..70] {
            add(&mut here, range);
        }
        assert_eq!(here, BTreeMap::from([(0, 5), (10, 50), (60, 70)]));
        assert!(
            is_within(&here, &(10..50)) && is_within(&here, &(12..13)) && is_within(&here, &(0..5))
        );
        assert!(
            !is_within(&here, &(4..11))
                && !is_within(&here, &(9..12))
                && !is_within(&here, &(49..51))
                && !is_within(&here, &(70..71))
        );
    }
}
