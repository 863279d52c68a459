//! Locates the parts of datasets that are too large for memory by the registrant's bucket. A part
//! is read when an answer needs it.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::release::part_cache::CachedPart;
use crate::release::part_reader::PartReader;
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Cik;
use pubdata_store::{Manifest, Part};

/// Partition column with a registrant's bucket: the last three digits of its CIK.
pub const BUCKET: &str = "bucket";

/// Parts of a dataset that is too large for memory, by registrant bucket.
#[derive(Debug)]
pub struct Buckets<T> {
    by_bucket: HashMap<String, Part>,
    held: PhantomData<fn() -> T>,
}

/// A part in memory with its manifest entry.
pub struct Bucket<'a, T> {
    pub part: &'a Part,
    pub table: Arc<T>,
}

impl<T> Default for Buckets<T> {
    fn default() -> Self {
        Self {
            by_bucket: HashMap::new(),
            held: PhantomData,
        }
    }
}

impl<T: CachedPart> Buckets<T> {
    /// Collects the dataset's parts in a release. Each part must have a bucket, and no two parts
    /// may have the same bucket.
    pub fn from_manifest(manifest: &Manifest) -> Result<Self> {
        let mut by_bucket = HashMap::new();
        for part in manifest
            .datasets
            .get(T::DATASET_ID)
            .into_iter()
            .flat_map(|dataset| &dataset.parts)
        {
            let bucket = part
                .partition
                .get(BUCKET)
                .ok_or_else(|| Error::store(format!("{}: the part has no {BUCKET}", part.path)))?;
            if by_bucket.insert(bucket.clone(), part.clone()).is_some() {
                return Err(Error::store(format!(
                    "{}: a second part of {BUCKET} {bucket}",
                    part.path
                )));
            }
        }
        Ok(Self {
            by_bucket,
            held: PhantomData,
        })
    }

    /// Reports whether the release lacks the dataset.
    pub fn is_empty(&self) -> bool {
        self.by_bucket.is_empty()
    }

    /// Returns all parts, in no particular order.
    pub fn parts(&self) -> impl Iterator<Item = (&str, &Part)> {
        self.by_bucket
            .iter()
            .map(|(bucket, part)| (bucket.as_str(), part))
    }

    /// Reads the part for a bucket.
    pub async fn bucket(
        &self,
        reader: PartReader<'_>,
        bucket: &str,
    ) -> Result<Option<Bucket<'_, T>>> {
        let Some(part) = self.by_bucket.get(bucket) else {
            return Ok(None);
        };
        Ok(Some(Bucket {
            part,
            table: reader.get(part).await?,
        }))
    }

    /// Reads the part that contains a registrant's records, if the registrant has any.
    pub async fn about(&self, reader: PartReader<'_>, cik: Cik) -> Result<Option<Bucket<'_, T>>> {
        self.bucket(reader, &bucket_of(cik)).await
    }
}

/// Returns the bucket of a registrant.
pub fn bucket_of(cik: Cik) -> String {
    format!("{:03}", cik.number() % 1_000)
}
