//! Checks a release's sidecar files, which are stored next to the parts and describe them to other
//! engines. The manifest contains the digest of each sidecar file. The files are derived from
//! content that the release id already covers, so they are not hashed into the id.

use object_store::path::Path;

use super::releases::part_key;
use super::{Manifest, Releases};
use pubdata_core::error::Result;
use pubdata_core::ids::{Digest, ReleaseId};

/// Name of the Data Package descriptor of a release, next to the manifest.
pub const DATA_PACKAGE: &str = "datapackage.json";

/// Folder of a dataset's Delta log, within the dataset's folder. Readers of folders ignore names
/// that begin with `_`.
const DELTA_LOG: &str = "_delta_log";

/// Returns the path of a dataset's Delta commit, relative to the release. A dataset has only one
/// commit, because a release never changes.
pub fn delta_log_path(dataset_id: &str) -> String {
    format!("{dataset_id}/{DELTA_LOG}/{:020}.json", 0)
}

impl Releases {
    /// Returns whether a sidecar file exists with these bytes.
    pub async fn has_sidecar(&self, id: &ReleaseId, path: &str, digest: &Digest) -> Result<bool> {
        Ok(self
            .store
            .read(&part_key(id, path)?)
            .await?
            .is_some_and(|bytes| Digest::sha256(&bytes) == *digest))
    }

    /// Returns the problems with a release's sidecar files: missing or changed files, and Delta
    /// commits that another engine has added. Readers of a Delta log would treat such commits as
    /// part of the release. Releases by earlier versions have no sidecar files.
    pub async fn sidecar_problems(&self, manifest: &Manifest) -> Result<Vec<String>> {
        let (id, mut problems) = (&manifest.release_id, Vec::new());
        if manifest.sidecars.is_empty() {
            return Ok(problems);
        }
        for (path, digest) in &manifest.sidecars {
            if !self.has_sidecar(id, path, digest).await? {
                problems.push(format!("release {id}: {path} is missing or was changed; `pubdata run --force` rewrites it if nothing else changes"));
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
                if !manifest.sidecars.keys().any(is_ours) {
                    problems.push(format!("release {id}: {} does not belong to the release, and engines that read the Delta log would apply it: delete it", file.key));
                }
            }
        }
        Ok(problems)
    }
}
