//! What work that is spread over machines leaves for each other: plans, staged parts, and a receipt
//! for each unit that is done.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path as FilePath;

use bytes::Bytes;
use object_store::path::Path;

use super::{SharedFile, SharedStore};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Digest;

const RECEIPT: &str = "unit.json";
/// Hexadecimal digits of a digest, with which the name of a snapshot begins.
const DIGEST_TEXT_BYTES: usize = 64;

/// The plans and receipts of a store.
///
/// ```text
/// plans/<sha256>.json                        of its own bytes
/// staging/<work>/<unit>/<sha256>.parquet     parts, before their receipt
/// staging/<work>/<unit>/rows                 of a source that is split: the rows of all buckets, one after the other
/// staging/<work>/<unit>/unit.json            the receipt, created once: whoever else did the same work leaves it
/// ```
///
/// `work` is the hash of everything that decides what a unit comes to.
#[derive(Debug, Clone, Copy)]
pub struct PlacedWork<'a> {
    store: &'a SharedStore,
}

impl<'a> PlacedWork<'a> {
    pub fn of(store: &'a SharedStore) -> Self {
        Self { store }
    }

    /// Writes a plan and returns its hash.
    ///
    /// # Errors
    /// `Store`, when it cannot be written.
    pub async fn put_plan(&self, plan: Bytes) -> Result<Digest> {
        let hash = Digest::of(&plan);
        self.store.put(&plan_key(&hash), plan).await?;
        Ok(hash)
    }

    /// The address of a plan.
    pub fn plan_url(&self, hash: &Digest) -> String {
        format!("{}/{}", self.store.url(), plan_key(hash))
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// `Config`, when there is none of that hash; `Store`, when it cannot be read or is damaged.
    pub async fn plan(&self, hash: &Digest) -> Result<Bytes> {
        let Some(plan) = self.store.read(&plan_key(hash)).await? else {
            return Err(Error::config(format!("there is no plan {hash} in {}", self.store.url()))
                .hint("`pubdata plan --write` makes one and prints its address, which names the store too; a hash alone needs --store"));
        };
        if Digest::of(&plan) != *hash {
            return Err(Error::store(format!(
                "{} is damaged: its bytes have another hash",
                plan_key(hash)
            ))
            .hint("plan again: `pubdata plan --write`"));
        }
        Ok(plan)
    }

    /// Writes a staged part.
    ///
    /// # Errors
    /// `Store`, when it cannot be written.
    pub async fn put_part(
        &self,
        work: &Digest,
        unit: &str,
        sha256: &Digest,
        part: Bytes,
    ) -> Result<()> {
        self.store
            .put(&Path::from(staged_part_key(work, unit, sha256)), part)
            .await
    }

    /// Reads a staged part; none when it is not there.
    ///
    /// # Errors
    /// `Store`, when it cannot be read.
    pub async fn part(&self, work: &Digest, unit: &str, sha256: &Digest) -> Result<Option<Bytes>> {
        self.store
            .read(&Path::from(staged_part_key(work, unit, sha256)))
            .await
    }

    /// Writes the rows of a source that is split.
    ///
    /// # Errors
    /// `Store`, when they cannot be written.
    pub async fn put_rows(&self, work: &Digest, unit: &str, rows: &FilePath) -> Result<()> {
        self.store.put_file(&rows_key(work, unit), rows).await
    }

    /// Reads some of those rows.
    ///
    /// # Errors
    /// `Store`, when they cannot be read.
    pub async fn rows(
        &self,
        work: &Digest,
        unit: &str,
        range: std::ops::Range<u64>,
    ) -> Result<Bytes> {
        self.store.read_range(&rows_key(work, unit), range).await
    }

    /// Writes the receipt of a unit: from now on it is done. Where another process was first, its
    /// receipt stays.
    ///
    /// # Errors
    /// `Store`, when it cannot be written.
    pub async fn put_receipt(&self, work: &Digest, unit: &str, receipt: Bytes) -> Result<()> {
        self.store
            .create(&receipt_key(work, unit), receipt)
            .await
            .map(drop)
    }

    /// The receipt of a unit; none while it is not done.
    ///
    /// # Errors
    /// `Store`, when it cannot be read.
    pub async fn receipt(&self, work: &Digest, unit: &str) -> Result<Option<Bytes>> {
        self.store.read(&receipt_key(work, unit)).await
    }

    /// The snapshots that stand in the store for the work of plans, by name.
    ///
    /// # Errors
    /// `Store`, when they cannot be listed.
    pub async fn snapshots(&self) -> Result<Vec<(Digest, SharedFile)>> {
        let files = self.store.list(&Path::from("snapshots")).await?;
        let digest = |file: &SharedFile| {
            file.key
                .rsplit('/')
                .next()?
                .get(..DIGEST_TEXT_BYTES)?
                .parse()
                .ok()
        };
        Ok(files
            .into_iter()
            .filter_map(|file| Some((digest(&file)?, file)))
            .collect())
    }

    /// The text of each plan.
    ///
    /// # Errors
    /// `Store`, when one cannot be read.
    pub async fn plans(&self) -> Result<Vec<(String, Bytes)>> {
        let mut plans = Vec::new();
        for file in self.store.list(&Path::from("plans")).await? {
            plans.extend(
                self.store
                    .read(&Path::from(file.key.as_str()))
                    .await?
                    .map(|plan| (file.key.clone(), plan)),
            );
        }
        Ok(plans)
    }

    /// Deletes a snapshot of the store.
    ///
    /// # Errors
    /// `Store`, when it cannot be deleted.
    pub async fn remove_snapshot(&self, snapshot: &SharedFile) -> Result<()> {
        self.store.delete(&Path::from(snapshot.key.as_str())).await
    }

    /// Plans, and staged work of plans, to which nothing was added since an instant, by name,
    /// sorted.
    ///
    /// # Errors
    /// `Store`, when they cannot be listed.
    pub async fn untouched_since(&self, since: jiff::Timestamp) -> Result<Vec<String>> {
        let mut newest: BTreeMap<String, jiff::Timestamp> = BTreeMap::new();
        for folder in ["plans", "staging"] {
            for file in self.store.list(&Path::from(folder)).await? {
                let mut segments = file.key.split('/').skip(1);
                let name = segments.next().unwrap_or_default();
                // Beside them a home has its own staged builds, whose names are no digests.
                if name
                    .strip_suffix(".json")
                    .unwrap_or(name)
                    .parse::<Digest>()
                    .is_ok()
                {
                    let known = newest
                        .entry(format!("{folder}/{name}"))
                        .or_insert(file.modified);
                    *known = (*known).max(file.modified);
                }
            }
        }
        Ok(newest
            .into_iter()
            .filter(|(_, modified)| *modified < since)
            .map(|(name, _)| name)
            .collect())
    }

    /// Deletes what [`PlacedWork::untouched_since`] named.
    ///
    /// # Errors
    /// `Store`, when something cannot be deleted.
    pub async fn remove(&self, name: &str) -> Result<()> {
        match name.starts_with("plans/") {
            true => self.store.delete(&Path::from(name)).await,
            false => self.store.delete_folder(&Path::from(name)).await,
        }
    }

    /// The units that are done.
    ///
    /// # Errors
    /// `Store`, when they cannot be listed.
    pub async fn done(&self, work: &Digest) -> Result<BTreeSet<String>> {
        let files = self.store.list(&work_key(work)).await?;
        let unit = |key: &str| {
            key.strip_suffix(RECEIPT)?
                .trim_end_matches('/')
                .rsplit('/')
                .next()
                .map(str::to_owned)
        };
        Ok(files.iter().filter_map(|file| unit(&file.key)).collect())
    }
}

/// Where a staged part is, below the store.
pub fn staged_part_key(work: &Digest, unit: &str, sha256: &Digest) -> String {
    format!("{}/{unit}/{sha256}.parquet", work_key(work))
}

fn plan_key(hash: &Digest) -> Path {
    Path::from(format!("plans/{hash}.json"))
}

fn work_key(work: &Digest) -> Path {
    Path::from(format!("staging/{work}"))
}

fn rows_key(work: &Digest, unit: &str) -> Path {
    work_key(work).join(unit).join("rows")
}

fn receipt_key(work: &Digest, unit: &str) -> Path {
    work_key(work).join(unit).join(RECEIPT)
}
