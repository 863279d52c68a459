//! Reads the parts of one release through the cache that all releases share.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;

use super::part_cache::{CachedPart, PartCache};
use super::record_ids::RecordIds;
use crate::index::file::{Index, Stored};
use pubdata_core::contract::{Contract, Contracts};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::RecordId;
use pubdata_store::{Manifest, Part, Record};

/// Reader for the parts of a release.
#[derive(Clone, Copy)]
pub struct PartReader<'a> {
    cache: &'a Arc<PartCache>,
    manifest: &'a Manifest,
}

impl<'a> PartReader<'a> {
    pub fn new(cache: &'a Arc<PartCache>, manifest: &'a Manifest) -> Self {
        Self { cache, manifest }
    }

    pub fn manifest(self) -> &'a Manifest {
        self.manifest
    }

    pub fn cache(self) -> &'a Arc<PartCache> {
        self.cache
    }

    /// Returns the parts of a dataset; empty if the release lacks the dataset.
    pub fn parts_of(self, dataset_id: &str) -> impl Iterator<Item = &'a Part> + use<'a> {
        self.manifest
            .datasets
            .get(dataset_id)
            .into_iter()
            .flat_map(|dataset| &dataset.parts)
    }

    /// Returns the parts of a record's dataset that may contain the record. `is_sorted` states that
    /// rows are sorted by the prefix of their ids.
    pub fn candidate_parts(
        self,
        record_id: &RecordId,
        is_sorted: bool,
    ) -> impl Iterator<Item = &'a Part> + use<'a, '_> {
        self.parts_of(record_id.dataset_id())
            .filter(move |part| part.may_hold(record_id) && (!is_sorted || part.spans(record_id)))
    }

    /// Returns a part from the cache, or reads it.
    pub async fn get<T: CachedPart>(self, part: &Part) -> Result<Arc<T>> {
        self.cache.get(&self.manifest.release_id, part).await
    }

    /// Reads a part without caching it.
    pub async fn read<T: CachedPart>(self, part: &Part) -> Result<T> {
        self.cache.read(&self.manifest.release_id, part).await
    }

    /// Returns the index of a dataset's parts, either mapped from its file or built by `make`.
    /// `decided_by` names all inputs of the index other than the parts.
    pub async fn index<T: Stored + Send + 'static>(
        self,
        dataset_id: &str,
        decided_by: &str,
        make: impl Future<Output = Result<T>>,
    ) -> Result<Index<T>> {
        let parts = self
            .manifest
            .datasets
            .get(dataset_id)
            .map(|dataset| dataset.parts.as_slice())
            .unwrap_or_default();
        self.cache.index(parts, decided_by, make).await
    }

    /// Returns a structure built from a part, either read from its file or built by `make`.
    /// `decided_by` names all inputs other than the part.
    pub async fn prepared<T: Stored + Send + 'static>(
        self,
        part: &Part,
        decided_by: &str,
        make: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        self.cache.prepared(part, decided_by, make).await
    }

    /// Finds a record, or returns `None` if the part lacks the record. Hashes of the part's ids are
    /// cached, so a repeated request for a missing record reads no data.
    pub async fn find_record(self, part: &Part, record_id: &RecordId) -> Result<Option<Record>> {
        if !self
            .get::<RecordIds>(part)
            .await?
            .may_contain(record_id.as_str())
        {
            return Ok(None);
        }
        self.cache
            .find_record(&self.manifest.release_id, part, record_id)
            .await
    }

    /// Finds a record by its id, in the parts that may contain it.
    pub async fn find(
        self,
        contracts: &Contracts,
        record_id: &RecordId,
    ) -> Result<Option<(&'a Part, Record)>> {
        let is_sorted = contracts
            .get(record_id.dataset_id())
            .is_some_and(Contract::is_sorted_by_subject);
        for part in self.candidate_parts(record_id, is_sorted) {
            if let Some(record) = self.find_record(part, record_id).await? {
                return Ok(Some((part, record)));
            }
        }
        Ok(None)
    }

    /// Decodes a part on a blocking thread after verifying its digest.
    pub async fn decoded<T: Send + 'static>(
        self,
        part: &Part,
        decode: impl FnOnce(&Part, Bytes) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (bytes, part) = (self.bytes(part).await?, part.clone());
        let decoding = tokio::task::spawn_blocking(move || decode(&part, bytes));
        decoding
            .await
            .map_err(|error| Error::store(format!("decoding a part failed: {error}")))?
    }

    /// Returns the bytes of a part after verifying their digest.
    pub async fn bytes(self, part: &Part) -> Result<Bytes> {
        self.cache.bytes(&self.manifest.release_id, part).await
    }
}
