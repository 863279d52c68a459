//! Parts that are read when they are asked for. What was read is kept until its place is needed,
//! under one bound for all datasets and releases; a part that two releases share is kept once.
//! Nobody waits for a lock while a part is read, and all who ask for one part at the same time wait
//! for one reading of it.

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

/// The most parts read at the same time: each takes memory beyond the bound until it is kept.
const READING: usize = 4;

/// Bytes that are hashed sooner than another thread would begin to: some hundredths of a
/// millisecond.
const HASHED_AT_ONCE: usize = 64 << 10;

/// How often a copy is made again that is not as it was written when it is to be read.
const MOST_CHANGES: usize = 3;

/// A part in the form that answers are written from.
pub trait CachedPart: Send + Sync + Sized + 'static {
    const DATASET_ID: &'static str;

    /// Reads a part whose digest is right.
    ///
    /// # Errors
    /// `Store`, when it lacks a column or is out of order.
    fn read(bytes: Bytes, path: &str) -> Result<Self>;

    /// About how much memory it takes.
    fn size_bytes(&self) -> usize;

    /// The columns that a copy on disk depends on; none for a form of which no copies are made.
    const COPIED: Option<&'static [&'static str]> = None;

    /// All that it holds, for a copy.
    ///
    /// # Errors
    /// `Store`, when it cannot be put into columns.
    fn to_copy(&self) -> Result<Option<RecordBatch>> {
        Ok(None)
    }

    /// Takes a mapped copy.
    ///
    /// # Errors
    /// `Store`, when it is not what [`CachedPart::to_copy`] made.
    fn from_copy(_copy: Copy, path: &str) -> Result<Self> {
        Err(Error::store(format!(
            "{path}: a copy of a part of which none are made"
        )))
    }

    /// Whether it can be read: a mapped file can be changed behind our back.
    fn is_intact(&self) -> bool {
        true
    }
}

/// The parts in memory.
pub struct PartCache {
    releases: Releases,
    copies: Copies,
    limit_bytes: usize,
    /// Names the build of the program, which decides what an index is.
    program: Digest,
    reading: Semaphore,
    /// Indexes and copies of large parts are made for one dataset at a time: they take much memory
    /// until they are in their files.
    making: Semaphore,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    by_digest: HashMap<(&'static str, Digest), Entry>,
    size_bytes: usize,
    /// Counts uses; the entry with the lowest count is the next to go.
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

    /// Returns a part, from memory or read now.
    ///
    /// # Errors
    /// `Store`, when it is missing, damaged, or not as its contract says.
    pub async fn get<T: CachedPart>(&self, release_id: &ReleaseId, part: &Part) -> Result<Arc<T>> {
        for _ in 0..MOST_CHANGES {
            let slot = self.slot((T::DATASET_ID, part.sha256));
            let held = self.get_from::<T>(&slot, release_id, part).await?;
            if held.is_intact() {
                return Ok(held);
            }
            tracing::warn!(
                "the copy of {} was changed while it was served; it is made again",
                part.path
            );
            self.forget((T::DATASET_ID, part.sha256), &slot);
        }
        Err(Error::store(format!(
            "{}: its copy is changed again and again",
            part.path
        ))
        .hint("see who writes into the folder of copies of the home"))
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
            .map_err(|_| Error::store(format!("{}: the part is kept in another form", part.path)))
    }

    /// Reads a part without keeping it.
    ///
    /// # Errors
    /// As for [`PartCache::get`].
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
                    tracing::warn!("no copy of a part for fast answers: {error}");
                    Ok(held)
                }
            }
        });
        reading.await.map_err(failed)?
    }

    /// Waits until nobody else makes what takes much memory.
    ///
    /// # Errors
    /// `Store`, when the server ends.
    pub async fn turn_to_make(&self) -> Result<SemaphorePermit<'_>> {
        self.making
            .acquire()
            .await
            .map_err(|error| Error::store(error.to_string()))
    }

    /// Whether there is a copy of a part; it may be damaged.
    pub fn has_copy<T: CachedPart>(&self, part: &Part) -> bool {
        T::COPIED.is_some_and(|columns| self.copies.is_there(&part.sha256, &columns.join(" ")))
    }

    /// The index of a dataset's parts, mapped from its file, or made now and kept in one where the
    /// parts are large. `decided_by` is what decides it beside parts and program.
    ///
    /// # Errors
    /// What `make` returns.
    pub async fn index<T: Stored + Send + 'static>(
        &self,
        parts: &[Part],
        decided_by: &str,
        make: impl Future<Output = Result<T>>,
    ) -> Result<Index<T>> {
        let size_bytes: u64 = parts.iter().map(|part| part.size_bytes).sum();
        if !self.copies.are_large(size_bytes) {
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
        let _turn = self.turn_to_make().await?;
        let made = make.await?;
        let writing = tokio::task::spawn_blocking(move || {
            let saved = Saved::of(made);
            copies
                .write(&name, &form, &Saved::schema(), saved.batches())
                .and_then(Index::of_copy)
                .or_else(|error| {
                    tracing::warn!("no file of an index for a quick start: {error}");
                    saved.restored().map(Index::made)
                })
        });
        writing.await.map_err(failed)?
    }

    /// What is made of a part and kept in memory: read from its file, or made now and, of a large
    /// part, kept in one for the next start. `decided_by` is what decides it beside part and
    /// program.
    ///
    /// # Errors
    /// What `make` returns.
    pub async fn prepared<T: Stored + Send + 'static>(
        &self,
        part: &Part,
        decided_by: &str,
        make: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        if !self.copies.are_large(part.size_bytes) {
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
            let saved = Saved::of(made);
            if let Err(error) = copies.write(&name, &form, &Saved::schema(), saved.batches()) {
                tracing::warn!("no file of a part for a quick start: {error}");
            }
            saved.restored()
        });
        writing.await.map_err(failed)?
    }

    /// Removes copies of parts that none of these releases has.
    pub fn forget_all_but(&self, manifests: &[&Manifest]) {
        self.copies.keep_only(manifests);
    }

    /// Finds a record in a part, its digest checked.
    ///
    /// # Errors
    /// `Store`, when the part is missing or damaged.
    pub async fn find_record(
        &self,
        release_id: &ReleaseId,
        part: &Part,
        record_id: &RecordId,
    ) -> Result<Option<Record>> {
        let checked = self.get::<CheckedBytes>(release_id, part).await?;
        let record_id = record_id.clone();
        let finding =
            tokio::task::spawn_blocking(move || find_record(checked.0.clone(), &record_id));
        finding
            .await
            .map_err(|error| Error::store(format!("reading a part failed: {error}")))?
    }

    /// The bytes of a part, its digest checked.
    ///
    /// # Errors
    /// `Store`, when it is missing or damaged.
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

    /// Lets go of what a slot holds, unless another has taken its place.
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

    /// Counts a part that was just read, and lets go of those not used for longest until all fit
    /// again.
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

/// A part as it is, its digest checked: who looks at one record of it often looks at another.
struct CheckedBytes(Bytes);

impl CachedPart for CheckedBytes {
    /// Of every dataset: no other form is called so.
    const DATASET_ID: &'static str = "bytes";

    fn read(bytes: Bytes, _path: &str) -> Result<Self> {
        Ok(Self(bytes))
    }

    fn size_bytes(&self) -> usize {
        self.0.len()
    }
}

/// Refuses bytes that are not those the manifest names.
///
/// # Errors
/// `Store`, with both digests.
fn check_digest(part: &Part, bytes: &[u8]) -> Result<()> {
    let digest = Digest::of(bytes);
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
