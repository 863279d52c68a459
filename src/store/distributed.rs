//! Exchanges the files of a distributed run through the store: plans, staged parts, and the result
//! of each finished unit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path as FilePath;

use bytes::Bytes;
use object_store::path::Path;

use super::{SharedFile, SharedStore};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Digest;

const RECEIPT: &str = "unit.json";
/// Number of hexadecimal digits in a digest. Snapshot names start with the digest.
const DIGEST_TEXT_BYTES: usize = 64;

/// The plans and unit results in a store.
///
/// ```text
/// plans/<sha256>.json                        named by the hash of its bytes
/// staging/<work>/<unit>/<sha256>.parquet     parts, before the unit's result
/// staging/<work>/<unit>/rows                 rows of a split source, contiguous by bucket
/// staging/<work>/<unit>/unit.json            the unit's result, created once; a second worker keeps the existing result
/// ```
///
/// `work` is the hash of everything that determines the result of a unit.
#[derive(Debug, Clone, Copy)]
pub struct DistributedRunStore<'a> {
    store: &'a SharedStore,
}

impl<'a> DistributedRunStore<'a> {
    pub fn new(store: &'a SharedStore) -> Self {
        Self { store }
    }

    /// Writes a plan and returns its hash.
    pub async fn put_plan(&self, plan: Bytes) -> Result<Digest> {
        let hash = Digest::sha256(&plan);
        self.store.put(&plan_key(&hash), plan).await?;
        Ok(hash)
    }

    /// Returns the URL of a plan.
    pub fn plan_url(&self, hash: &Digest) -> String {
        format!("{}/{}", self.store.url(), plan_key(hash))
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// `Config`, when no plan has that hash; `Store`, when the plan cannot be read or is damaged.
    pub async fn plan(&self, hash: &Digest) -> Result<Bytes> {
        let Some(plan) = self.store.read(&plan_key(hash)).await? else {
            return Err(Error::config(format!("there is no plan {hash} in {}", self.store.url()))
                .hint("`pubdata plan --write` creates one and prints its URL, which includes the store; a hash alone needs --store"));
        };
        if Digest::sha256(&plan) != *hash {
            return Err(Error::store(format!(
                "{} is damaged: its bytes have another hash",
                plan_key(hash)
            ))
            .hint("plan again: `pubdata plan --write`"));
        }
        Ok(plan)
    }

    /// Writes a staged part.
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

    /// Reads a staged part; `None` if it does not exist.
    pub async fn part(&self, work: &Digest, unit: &str, sha256: &Digest) -> Result<Option<Bytes>> {
        self.store
            .read(&Path::from(staged_part_key(work, unit, sha256)))
            .await
    }

    /// Writes the rows of a source that is split into buckets.
    pub async fn put_rows(&self, work: &Digest, unit: &str, rows: &FilePath) -> Result<()> {
        self.store.put_file(&rows_key(work, unit), rows).await
    }

    /// Reads a byte range of the rows of a split source.
    pub async fn rows(
        &self,
        work: &Digest,
        unit: &str,
        range: std::ops::Range<u64>,
    ) -> Result<Bytes> {
        self.store.read_range(&rows_key(work, unit), range).await
    }

    /// Writes the result of a unit, which marks the unit as done. An existing result is kept.
    pub async fn put_unit_result(&self, work: &Digest, unit: &str, receipt: Bytes) -> Result<()> {
        self.store
            .create(&unit_result_key(work, unit), receipt)
            .await
            .map(drop)
    }

    /// Reads the result of a unit; `None` if the unit is not done.
    pub async fn receipt(&self, work: &Digest, unit: &str) -> Result<Option<Bytes>> {
        self.store.read(&unit_result_key(work, unit)).await
    }

    /// Returns the snapshots that were uploaded for plans, by name.
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

    /// Returns the URL and content of each plan.
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

    /// Deletes an uploaded snapshot.
    pub async fn remove_snapshot(&self, snapshot: &SharedFile) -> Result<()> {
        self.store.delete(&Path::from(snapshot.key.as_str())).await
    }

    /// Returns the names of plans and staged work that have not been added to since the given time,
    /// sorted.
    pub async fn untouched_since(&self, since: jiff::Timestamp) -> Result<Vec<String>> {
        let mut newest: BTreeMap<String, jiff::Timestamp> = BTreeMap::new();
        for folder in ["plans", "staging"] {
            for file in self.store.list(&Path::from(folder)).await? {
                let mut segments = file.key.split('/').skip(1);
                let name = segments.next().unwrap_or_default();
                // A home keeps its own staged builds in the same folder. The names of those builds
                // are not digests.
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

    /// Deletes a plan or staged work that [`DistributedRunStore::untouched_since`] named.
    pub async fn remove(&self, name: &str) -> Result<()> {
        match name.starts_with("plans/") {
            true => self.store.delete(&Path::from(name)).await,
            false => self.store.delete_folder(&Path::from(name)).await,
        }
    }

    /// Returns the units that are done.
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

/// Returns the key of a staged part in the store.
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

fn unit_result_key(work: &Digest, unit: &str) -> Path {
    work_key(work).join(unit).join(RECEIPT)
}
