//! Datasets too large for memory, by the bucket that a registrant is in: one part is read when an answer needs it.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::ids::Cik;
use crate::serve::call::Call;
use crate::serve::parts::Held;
use crate::serve::problem::{Problem, Result as ApiResult};
use crate::store::{Manifest, Part};

/// Column that names the folder a registrant's records are in: the last three digits of its CIK.
pub const BUCKET: &str = "bucket";

/// The parts of a dataset that is too large to be kept in memory as a whole, by the registrants they are about.
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
        Self { by_bucket: HashMap::new(), held: PhantomData }
    }
}

impl<T: Held> Buckets<T> {
    /// Takes the dataset's parts of a release.
    ///
    /// # Errors
    /// `Store`, when a part has no bucket, or two have the same.
    pub fn of(manifest: &Manifest) -> Result<Self> {
        let mut by_bucket = HashMap::new();
        for part in manifest.datasets.get(T::DATASET_ID).into_iter().flat_map(|dataset| &dataset.parts) {
            let bucket = part.partition.get(BUCKET).ok_or_else(|| Error::store(format!("{}: the part names no {BUCKET}", part.path)))?;
            if by_bucket.insert(bucket.clone(), part.clone()).is_some() {
                return Err(Error::store(format!("{}: a second part of {BUCKET} {bucket}", part.path)));
            }
        }
        Ok(Self { by_bucket, held: PhantomData })
    }

    /// Whether the release has the dataset.
    pub fn is_empty(&self) -> bool {
        self.by_bucket.is_empty()
    }

    /// All parts, in no order.
    pub fn parts(&self) -> impl Iterator<Item = (&str, &Part)> {
        self.by_bucket.iter().map(|(bucket, part)| (bucket.as_str(), part))
    }

    /// The part of a bucket.
    ///
    /// # Errors
    /// `internal_error`, when it cannot be read.
    pub async fn bucket(&self, call: &Call<'_>, bucket: &str) -> ApiResult<Option<Bucket<'_, T>>> {
        let Some(part) = self.by_bucket.get(bucket) else { return Ok(None) };
        let table = call.service.parts.get(&call.release.manifest.release_id, part).await.map_err(|error| Problem::internal(&error))?;
        Ok(Some(Bucket { part, table }))
    }

    /// The part that holds a registrant's records, if there are any.
    ///
    /// # Errors
    /// As for [`Buckets::bucket`].
    pub async fn about(&self, call: &Call<'_>, cik: Cik) -> ApiResult<Option<Bucket<'_, T>>> {
        self.bucket(call, &bucket_of(cik)).await
    }
}

/// The bucket of a registrant.
pub fn bucket_of(cik: Cik) -> String {
    format!("{:03}", cik.number() % 1_000)
}
