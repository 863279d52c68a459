//! The companions of a release: files beside its parts that say of them what other engines ask,
//! each with its digest in the manifest. Made from what the release id is the hash of, they are no
//! part of it.

use object_store::path::Path;

use super::releases::part_key;
use super::{Manifest, Releases};
use pubdata_core::error::Result;
use pubdata_core::ids::{Digest, ReleaseId};

/// The release as a Data Package, beside the manifest.
pub const DATA_PACKAGE: &str = "datapackage.json";

/// Where a dataset's Delta log is, in the dataset's folder. Readers of folders pass over names that
/// begin with `_`.
const DELTA_LOG: &str = "_delta_log";

/// The only commit of a dataset's Delta log, below its release: a release never changes.
pub fn delta_log_path(dataset_id: &str) -> String {
    format!("{dataset_id}/{DELTA_LOG}/{:020}.json", 0)
}

impl Releases {
    /// Whether a companion is there with these bytes.
    ///
    /// # Errors
    /// `Store`, when it is there and cannot be read.
    pub async fn has_companion(&self, id: &ReleaseId, path: &str, digest: &Digest) -> Result<bool> {
        Ok(self
            .store
            .read(&part_key(id, path)?)
            .await?
            .is_some_and(|bytes| Digest::of(&bytes) == *digest))
    }

    /// What is wrong with the companions of a release: which are missing or changed, and which
    /// commits an engine has written behind ours, because readers of a Delta log would take those
    /// for the release. Releases of earlier versions have none.
    ///
    /// # Errors
    /// `Store`, when the store cannot be asked.
    pub async fn companion_problems(&self, manifest: &Manifest) -> Result<Vec<String>> {
        let (id, mut problems) = (&manifest.release_id, Vec::new());
        if manifest.companions.is_empty() {
            return Ok(problems);
        }
        for (path, digest) in &manifest.companions {
            if !self.has_companion(id, path, digest).await? {
                problems.push(format!("release {id}: {path} is missing or was changed; `pubdata run --force` writes it anew where nothing else changes"));
            }
        }
        for dataset_id in manifest.datasets.keys() {
            for file in self
                .store
                .list(&part_key(id, &format!("{dataset_id}/{DELTA_LOG}"))?)
                .await?
            {
                let is_ours = |path: &String| {
                    part_key(id, path).is_ok_and(|key| key == Path::from(file.key.as_str()))
                };
                if !manifest.companions.keys().any(is_ours) {
                    problems.push(format!("release {id}: {} is not of the release, and engines that read the Delta log would follow it: delete it", file.key));
                }
            }
        }
        Ok(problems)
    }
}
