//! Reads parts on demand and caches them under one memory limit for all datasets and releases.
//! Releases that share a part share its cache entry. No lock is held while a part is read, and
//! concurrent requests for the same part share one read.

use std::any::Any;
use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use bytes::Bytes;
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};

use crate::index::file::{Index, Saved, Stored};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::ids::{Digest, RecordId, ReleaseId};
use pubdata_store::{Copies, Copy, Manifest, Part, Record, Releases, find_record, of_all};

/// Number of parts read at the same time. Each of these parts takes memory beyond the limit until
/// it is cached.
const READING: usize = 4;

/// Number of bytes up to which a part is hashed in place. This takes some hundredths of a
/// millisecond, less than starting work on another thread.
const HASHED_AT_ONCE: usize = 64 << 10;

/// Number of attempts to replace a copy on disk that changed after it was written.
const MAX_COPY_CHANGES: usize = 3;

/// A part in the representation from which answers are written.
pub trait CachedPart: Send + Sync + Sized + 'static {
    const DATASET_ID: &'static str;

    /// Reads a part whose digest was verified.
    fn read(bytes: Bytes, path: &str) -> Result<Self>;

    /// Returns the approximate memory size.
    fn size_bytes(&self) -> usize;

    /// Columns on which a copy on disk depends; `None` for types without copies.
    const COPIED: Option<&'static [&'static str]> = None;

    /// Returns the complete contents for a copy.
    fn to_copy(&self) -> Result<Option<RecordBatch>> {
        Ok(None)
    }

    /// Opens a mapped copy that [`CachedPart::to_copy`] made.
    fn from_copy(_copy: Copy, path: &str) -> Result<Self> {
        Err(Error::store(format!(
            "{path}: parts of this type have no copies"
        )))
    }

    /// Reports whether the part is readable. Another process can change a mapped file.
    fn is_intact(&self) -> bool {
        true
    }
}

/// Cache of parts in memory.
pub struct PartCache {
    releases: Releases,
    copies: Copies,
    limit_bytes: usize,
    /// Digest of the program's build, which determines the format of an index.
    program: Digest,
    reading: Semaphore,
    /// Allows one dataset at a time to write indexes and copies of large parts, because they take
    /// much memory until they are written to their files.
    making: Semaphore,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    by_digest: HashMap<(&'static str, Digest), Entry>,
    size_bytes: usize,
    /// Counts uses; the entry with the lowest count is evicted next.
    clock: u64,
}

#[derive(Default)]
struct Entry {
    slot: Slot,
    size_bytes: usize,
    last_used: u64,
}

type Slot = Arc<OnceCell<Arc<dyn Any + Send + Sync>>>;

impl PartCache {
    pub fn new(releases: Releases, copies: Copies, limit_bytes: usize, program: Digest) -> Self {
        Self {
            releases,
            copies,
            limit_bytes,
            program,
            reading: Semaphore::new(READING),
            making: Semaphore::new(1),
            kept: Mutex::default(),
        }
    }

    /// Returns a part from the cache, or reads it.
    pub async fn get<T: CachedPart>(&self, release_id: &ReleaseId, part: &Part) -> Result<Arc<T>> {
        for _ in 0..MAX_COPY_CHANGES {
            let slot = self.slot((T::DATASET_ID, part.sha256));
            let held = self.get_from::<T>(&slot, release_id, part).await?;
            if held.is_intact() {
                return Ok(held);
            }
            tracing::warn!(
                "the copy of {} on disk changed while it was served: it is written again",
                part.path
            );
            self.forget((T::DATASET_ID, part.sha256), &slot);
        }
        Err(
            Error::store(format!("{}: its copy on disk keeps changing", part.path))
                .hint("find the process that writes into the home's folder of copies"),
        )
    }

    async fn get_from<T: CachedPart>(
        &self,
        slot: &Slot,
        release_id: &ReleaseId,
        part: &Part,
    ) -> Result<Arc<T>> {
        let key = (T::DATASET_ID, part.sha256);
        let mut was_read = None;
        let held = slot
            .get_or_try_init(|| async {
                let held = self.read::<T>(release_id, part).await?;
                was_read = Some(held.size_bytes());
                Ok::<_, Error>(Arc::new(held) as Arc<dyn Any + Send + Sync>)
            })
            .await?
            .clone();
        if let Some(size_bytes) = was_read {
            self.keep(key, size_bytes);
        }
        held.downcast()
            .map_err(|_| Error::store(format!("{}: the part is cached as another type", part.path)))
    }

    /// Reads a part without caching it.
    pub async fn read<T: CachedPart>(&self, release_id: &ReleaseId, part: &Part) -> Result<T> {
        let _turn = self
            .reading
            .acquire()
            .await
            .map_err(|error| Error::store(error.to_string()))?;
        let failed = |error| Error::store(format!("reading a part failed: {error}"));
        if let Some(columns) = T::COPIED {
            let (copies, part) = (self.copies.clone(), part.clone());
            let opened = tokio::task::spawn_blocking(move || {
                copies
                    .open(&part.sha256, &columns.join(" "))?
                    .map(|copy| T::from_copy(copy, &part.path))
                    .transpose()
            });
            match opened.await.map_err(failed)? {
                Ok(Some(held)) => return Ok(held),
                Ok(None) => {}
                Err(error) => tracing::warn!("{error}"),
            }
        }
        let bytes = self
            .releases
            .part(release_id, part)
            .await
            .context(|| part.path.clone())?;
        let (copies, part) = (self.copies.clone(), part.clone());
        let reading = tokio::task::spawn_blocking(move || {
            check_digest(&part, &bytes)?;
            let held = T::read(bytes, &part.path)?;
            let Some(columns) = T::COPIED.filter(|_| copies.is_large(held.size_bytes())) else {
                return Ok(held);
            };
            let copied = held.to_copy().and_then(|copy| {
                let write = |batch: RecordBatch| {
                    copies.write(
                        &part.sha256,
                        &columns.join(" "),
                        &batch.schema(),
                        [Ok(batch)],
                    )
                };
                let copy = copy.map(write).transpose()?;
                copy.map(|copy| T::from_copy(copy, &part.path)).transpose()
            });
            match copied {
                Ok(copied) => Ok(copied.unwrap_or(held)),
                Err(error) => {
                    tracing::warn!(
                        "cannot write a copy of a part, so answers from it are slower: {error}"
                    );
                    Ok(held)
                }
            }
        });
        reading.await.map_err(failed)?
    }

    /// Waits for the permit to build memory-intensive structures.
    pub async fn build_permit(&self) -> Result<SemaphorePermit<'_>> {
        self.making
            .acquire()
            .await
            .map_err(|error| Error::store(error.to_string()))
    }

    /// Reports whether a copy of the part exists. The copy is not verified and may be damaged.
    pub fn has_copy<T: CachedPart>(&self, part: &Part) -> bool {
        T::COPIED.is_some_and(|columns| self.copies.is_there(&part.sha256, &columns.join(" ")))
    }

    /// Returns the index of a dataset's parts, either mapped from its file or built by `make`.
    /// Saves the index to a file if the parts are large. `decided_by` names all inputs of the index
    /// other than the parts and the program.
    pub async fn index<T: Stored + Send + 'static>(
        &self,
        parts: &[Part],
        decided_by: &str,
        make: impl Future<Output = Result<T>>,
    ) -> Result<Index<T>> {
        let size_bytes: u64 = parts.iter().map(|part| part.size_bytes).sum();
        if !self.copies.exceed_memory_limit(size_bytes) {
            return make.await.map(Index::made);
        }
        let failed = |error| Error::store(format!("indexing failed: {error}"));
        let (copies, name, form) = (
            self.copies.clone(),
            of_all(parts),
            Index::<T>::form(&self.program, decided_by),
        );
        let opened = tokio::task::spawn_blocking(move || {
            (
                copies
                    .open(&name, &form)
                    .and_then(|copy| copy.map(Index::of_copy).transpose()),
                copies,
                form,
            )
        });
        let (opened, copies, form) = opened.await.map_err(failed)?;
        match opened {
            Ok(Some(index)) => return Ok(index),
            Ok(None) => {}
            Err(error) => tracing::warn!("{error}"),
        }
        let _turn = self.build_permit().await?;
        let made = make.await?;
        let writing = tokio::task::spawn_blocking(move || {
            let saved = Saved::new(made);
            copies
                .write(&name, &form, &Saved::schema(), saved.batches())
                .and_then(Index::of_copy)
                .or_else(|error| {
                    tracing::warn!(
                        "cannot write an index file, so the next start is slower: {error}"
                    );
                    saved.restored().map(Index::made)
                })
        });
        writing.await.map_err(failed)?
    }

    /// Returns a structure built from a part, either read from its file or built by `make`. Saves
    /// the structure for the next start if the part is large. `decided_by` names all inputs other
    /// than the part and the program.
    pub async fn prepared<T: Stored + Send + 'static>(
        &self,
        part: &Part,
        decided_by: &str,
        make: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        if !self.copies.exceed_memory_limit(part.size_bytes) {
            return make.await;
        }
        let failed = |error| Error::store(format!("preparing a part failed: {error}"));
        let (copies, name, form) = (
            self.copies.clone(),
            part.sha256,
            Index::<T>::form(&self.program, decided_by),
        );
        let read = tokio::task::spawn_blocking(move || {
            let read = copies.read(&name, &form).and_then(|batches| {
                batches
                    .map(|batches| Saved::of_batches(&batches)?.restored())
                    .transpose()
            });
            (read, copies, form)
        });
        let (read, copies, form) = read.await.map_err(failed)?;
        match read {
            Ok(Some(prepared)) => return Ok(prepared),
            Ok(None) => {}
            Err(error) => tracing::warn!("{error}"),
        }
        let made = make.await?;
        let writing = tokio::task::spawn_blocking(move || {
            let saved = Saved::new(made);
            if let Err(error) = copies.write(&name, &form, &Saved::schema(), saved.batches()) {
                tracing::warn!(
                    "cannot write the file of a prepared part, so the next start is slower: {error}"
                );
            }
            saved.restored()
        });
        writing.await.map_err(failed)?
    }

    /// Removes copies of parts that are not in any of the given releases.
    pub fn retain_copies(&self, manifests: &[&Manifest]) {
        self.copies.keep_only(manifests);
    }

    /// Finds a record in a part after verifying the part's digest.
    pub async fn find_record(
        &self,
        release_id: &ReleaseId,
        part: &Part,
        record_id: &RecordId,
    ) -> Result<Option<Record>> {
        let checked = self.get::<VerifiedBytes>(release_id, part).await?;
        let record_id = record_id.clone();
        let finding =
            tokio::task::spawn_blocking(move || find_record(checked.0.clone(), &record_id));
        finding
            .await
            .map_err(|error| Error::store(format!("reading a part failed: {error}")))?
    }

    /// Returns the bytes of a part after verifying their digest.
    pub async fn bytes(&self, release_id: &ReleaseId, part: &Part) -> Result<Bytes> {
        let bytes = self
            .releases
            .part(release_id, part)
            .await
            .context(|| part.path.clone())?;
        if bytes.len() <= HASHED_AT_ONCE {
            return check_digest(part, &bytes).map(|()| bytes);
        }
        let part = part.clone();
        let checking =
            tokio::task::spawn_blocking(move || check_digest(&part, &bytes).map(|()| bytes));
        checking
            .await
            .map_err(|error| Error::store(format!("reading a part failed: {error}")))?
    }

    pub fn releases(&self) -> &Releases {
        &self.releases
    }

    /// Removes an entry, unless another entry has replaced its slot.
    fn forget(&self, key: (&'static str, Digest), slot: &Slot) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept
            .by_digest
            .get(&key)
            .is_some_and(|entry| Arc::ptr_eq(&entry.slot, slot))
        {
            let freed = kept
                .by_digest
                .remove(&key)
                .map_or(0, |entry| entry.size_bytes);
            kept.size_bytes -= freed;
        }
    }

    fn slot(&self, key: (&'static str, Digest)) -> Slot {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clock += 1;
        let clock = kept.clock;
        let entry = kept.by_digest.entry(key).or_default();
        entry.last_used = clock;
        entry.slot.clone()
    }

    /// Counts a part that was just read, and evicts the least recently used parts until all fit.
    fn keep(&self, key: (&'static str, Digest), size_bytes: usize) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = kept.by_digest.get_mut(&key) {
            entry.size_bytes = size_bytes;
            kept.size_bytes += size_bytes;
        }
        while kept.size_bytes > self.limit_bytes {
            let others = kept
                .by_digest
                .iter()
                .filter(|(other, entry)| **other != key && entry.size_bytes > 0);
            let Some(oldest) = others
                .min_by_key(|(_, entry)| entry.last_used)
                .map(|(other, _)| *other)
            else {
                return;
            };
            let freed = kept
                .by_digest
                .remove(&oldest)
                .map_or(0, |entry| entry.size_bytes);
            kept.size_bytes -= freed;
        }
    }
}

/// Verified bytes of a part, cached because one lookup of a record is often followed by another
/// lookup.
struct VerifiedBytes(Bytes);

impl CachedPart for VerifiedBytes {
    /// Shared by all datasets; no other type uses this name.
    const DATASET_ID: &'static str = "bytes";

    fn read(bytes: Bytes, _path: &str) -> Result<Self> {
        Ok(Self(bytes))
    }

    fn size_bytes(&self) -> usize {
        self.0.len()
    }
}

/// Rejects bytes whose digest differs from the manifest.
fn check_digest(part: &Part, bytes: &[u8]) -> Result<()> {
    let digest = Digest::sha256(bytes);
    if digest == part.sha256 {
        return Ok(());
    }
    Err(Error::store(format!(
        "{}: the file is damaged: its digest is {digest}, the manifest says {}",
        part.path, part.sha256
    ))
    .hint("`pubdata verify` lists damaged files; roll the channel back or publish again"))
}

#[cfg(test)]
mod tests;
