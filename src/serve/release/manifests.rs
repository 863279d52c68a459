//! Reads the manifests of the channel's earlier releases and their totals, and caches some of them.
//! A release never changes, but it may be deleted, so each access checks that the release still
//! exists.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Instant;
use pubdata_core::error::Result;
use pubdata_core::ids::ReleaseId;
use pubdata_store::{Manifest, Releases};

/// Approximate limit on the memory used by cached manifests; the last manifest is always kept.
const LIMIT_BYTES: usize = 64 << 20;
/// Maximum number of releases whose totals are cached.
const LIMIT_SUMMARIES: usize = 1_000;
/// Approximate memory used by a manifest entry for a part or a build input.
const ENTRY_BYTES: usize = 700;

/// Manifests of earlier releases.
#[derive(Debug)]
pub struct Manifests {
    releases: Releases,
    kept: Mutex<Kept>,
    /// Allows one read at a time: concurrent requests often need the same manifest.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Manifests, least recently used first.
    manifests: Vec<Arc<Manifest>>,
    summaries: BTreeMap<ReleaseId, Arc<Summary>>,
}

/// Totals of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub release_id: ReleaseId,
    pub published_at: String,
    pub run_id: String,
    pub is_sample: bool,
    pub datasets: BTreeMap<String, Sums>,
}

/// Totals over the parts in a dataset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    pub rows: u64,
    pub quarantined_rows: u64,
    pub parts: u64,
    pub size_bytes: u64,
}

#[derive(Serialize, JsonSchema)]
pub struct ReleaseName<'a> {
    /// Identifier of the release.
    #[schemars(extend("pattern" = "^r[0-9a-f]{20}$"))]
    release_id: &'a str,
    /// Time at which the release was published, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    published_at: Instant<'a>,
}

impl<'a> ReleaseName<'a> {
    pub fn from_manifest(manifest: &'a Manifest) -> Self {
        Self {
            release_id: manifest.release_id.as_str(),
            published_at: Instant(&manifest.published_at),
        }
    }
}

impl Summary {
    pub fn name(&self) -> ReleaseName<'_> {
        ReleaseName {
            release_id: self.release_id.as_str(),
            published_at: Instant(&self.published_at),
        }
    }

    pub fn from_manifest(manifest: &Manifest) -> Self {
        let mut datasets: BTreeMap<String, Sums> = BTreeMap::new();
        for (dataset_id, dataset) in &manifest.datasets {
            let sums = datasets.entry(dataset_id.clone()).or_default();
            for part in &dataset.parts {
                sums.rows += part.rows;
                sums.quarantined_rows += part.report.quarantined.values().sum::<u64>();
                sums.parts += 1;
                sums.size_bytes += part.size_bytes;
            }
        }
        let Manifest {
            release_id,
            published_at,
            run_id,
            is_sample,
            ..
        } = manifest;
        Self {
            release_id: release_id.clone(),
            published_at: published_at.clone(),
            run_id: run_id.clone(),
            is_sample: *is_sample,
            datasets,
        }
    }

    /// Returns the totals over all datasets.
    pub fn total(&self) -> Sums {
        self.datasets
            .values()
            .fold(Sums::default(), |total, sums| Sums {
                rows: total.rows + sums.rows,
                quarantined_rows: total.quarantined_rows + sums.quarantined_rows,
                parts: total.parts + sums.parts,
                size_bytes: total.size_bytes + sums.size_bytes,
            })
    }
}

impl Manifests {
    pub fn new(releases: Releases) -> Self {
        Self {
            releases,
            kept: Mutex::default(),
            reading: tokio::sync::Mutex::new(()),
        }
    }

    /// Returns the manifest of a release, or `None` if the release was deleted.
    pub async fn manifest(&self, id: &ReleaseId) -> Result<Option<Arc<Manifest>>> {
        if !self.releases.exists(id).await? {
            return Ok(None);
        }
        if let Some(manifest) = self.lock().manifest(id) {
            return Ok(Some(manifest));
        }
        let _turn = self.reading.lock().await;
        if let Some(manifest) = self.lock().manifest(id) {
            return Ok(Some(manifest));
        }
        let manifest = Arc::new(self.releases.manifest(id).await?);
        self.lock().keep(&manifest);
        Ok(Some(manifest))
    }

    /// Returns the totals of a release, or `None` if it was deleted or is damaged. Logs damage.
    ///
    /// # Errors
    /// `Store` if the store is unavailable.
    pub async fn summary(&self, id: &ReleaseId) -> Result<Option<Arc<Summary>>> {
        let known = self.lock().summaries.get(id).cloned();
        if let Some(known) = known {
            return Ok(self.releases.exists(id).await?.then_some(known));
        }
        match self.manifest(id).await {
            Ok(Some(manifest)) => Ok(Some(self.lock().summarize(&manifest))),
            Ok(None) => Ok(None),
            Err(error) => {
                tracing::warn!("cannot report the totals of release {id}: {error}");
                Ok(None)
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn manifest(&mut self, id: &ReleaseId) -> Option<Arc<Manifest>> {
        let index = self
            .manifests
            .iter()
            .position(|manifest| manifest.release_id == *id)?;
        let manifest = self.manifests.remove(index);
        self.manifests.push(manifest.clone());
        Some(manifest)
    }

    fn keep(&mut self, manifest: &Arc<Manifest>) {
        self.manifests.push(manifest.clone());
        while self.manifests.len() > 1
            && self
                .manifests
                .iter()
                .map(|manifest| size_bytes(manifest))
                .sum::<usize>()
                > LIMIT_BYTES
        {
            self.manifests.remove(0);
        }
    }

    fn summarize(&mut self, manifest: &Manifest) -> Arc<Summary> {
        if self.summaries.len() >= LIMIT_SUMMARIES {
            self.summaries.clear();
        }
        let summary = Arc::new(Summary::from_manifest(manifest));
        self.summaries
            .insert(manifest.release_id.clone(), summary.clone());
        summary
    }
}

fn size_bytes(manifest: &Manifest) -> usize {
    let parts: usize = manifest
        .datasets
        .values()
        .map(|dataset| dataset.parts.len())
        .sum();
    let inputs: usize = manifest
        .tasks
        .values()
        .map(|task| 1 + task.inputs.len())
        .sum();
    ENTRY_BYTES * (parts + inputs)
}
