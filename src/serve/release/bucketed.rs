//! Datasets too large for memory, by the bucket that a registrant is in: one part is read when an
//! answer needs it.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::release::part_cache::CachedPart;
use crate::release::part_reader::PartReader;
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Cik;
use pubdata_store::{Manifest, Part};

/// Column that names the folder a registrant's records are in: the last three digits of its CIK.
pub const BUCKET: &str = "bucket";

/// The parts of a dataset that is too large to be kept in memory as a whole, by the registrants
/// they are about.
#[derive(Debug)]
pub struct Buckets<T> {
    by_bucket: HashMap<String, Part>,
    held: PhantomData<fn() -> T>,
}

/// A part in memory, and what the manifest says of it.
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
    /// Takes the dataset's parts of a release.
    ///
    /// # Errors
    /// `Store`, when a part has no bucket, or two have the same.
    pub fn of(manifest: &Manifest) -> Result<Self> {
        let mut by_bucket = HashMap::new();
        for part in manifest
            .datasets
            .get(T::DATASET_ID)
            .into_iter()
            .flat_map(|dataset| &dataset.parts)
        {
            let bucket = part.partition.get(BUCKET).ok_or_else(|| {
                Error::store(format!("{}: the part names no {BUCKET}", part.path))
            })?;
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

    /// Whether the release has the dataset.
    pub fn is_empty(&self) -> bool {
        self.by_bucket.is_empty()
    }

    /// All parts, in no order.
    pub fn parts(&self) -> impl Iterator<Item = (&str, &Part)> {
        self.by_bucket
            .iter()
            .map(|(bucket, part)| (bucket.as_str(), part))
    }

    /// The part of a bucket.
    ///
    /// # Errors
    /// `Store`, when it is missing, damaged, or not as its contract says.
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

    /// The part that holds a registrant's records, if there are any.
    ///
    /// # Errors
    /// As for [`Buckets::bucket`].
    pub async fn about(&self, reader: PartReader<'_>, cik: Cik) -> Result<Option<Bucket<'_, T>>> {
        self.bucket(reader, &bucket_of(cik)).await
    }
}

/// The bucket of a registrant.
pub fn bucket_of(cik: Cik) -> String {
    format!("{:03}", cik.number() % 1_000)
}
