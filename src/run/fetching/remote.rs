//! A snapshot that is in a store and not on this machine: only the bytes come that are read.

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

/// What a request costs besides its bytes, in bytes that would come in the same time: ten requests
/// are under way at once, each answered within 20 ms, on a line of 100 MB/s.
pub(crate) const REQUEST_BYTES: u64 = 200_000;
/// Bytes that are in memory on their way, and of one of them at most.
const BYTES_AT_ONCE: u64 = 32 << 20;
const PIECE_BYTES: u64 = 8 << 20;

/// A snapshot in a store. Its bytes stand at their places in a file of this machine once they have
/// come; the rest of that file is empty.
#[derive(Debug)]
pub(crate) struct RemoteSnapshot {
    store: SharedStore,
    snapshots: Snapshots,
    snapshot: Snapshot,
    runtime: Handle,
    local: File,
    local_path: PathBuf,
    /// What has come: beginnings and ends, none of which touch.
    here: Mutex<BTreeMap<u64, u64>>,
    /// The whole snapshot, where it has come after all.
    whole: OnceLock<File>,
}

impl RemoteSnapshot {
    /// Of a snapshot; its bytes are kept in a new file of a folder.
    ///
    /// # Errors
    /// `Store`, when the file cannot be made.
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

    /// The file that has what has come, at its places: who reads no other bytes reads the snapshot.
    pub(crate) fn local_path(&self) -> &Path {
        &self.local_path
    }

    /// Has some of its bytes come.
    ///
    /// # Errors
    /// `Store`, when they do not, or cannot be kept.
    ///
    /// # Panics
    /// When another thread panicked while it noted what has come.
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
                    "snapshot of {url}: {} bytes came in place of {}",
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

    /// Reads the rest from a file that has all of it.
    ///
    /// # Errors
    /// `Store`, when it cannot be opened.
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

/// Adds a range, and makes one of it and those it touches.
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
