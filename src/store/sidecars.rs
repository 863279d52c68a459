//! Checks the sidecar files of a release: files next to its parts that describe them to other
//! engines. The manifest has the digest of each. They are derived from what the release id hashes,
//! so they are not part of it.

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

/// Returns the path of a dataset's only Delta commit, relative to its release: a release never
/// changes.
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

    /// Returns the problems with a release's sidecar files: which are missing or changed, and which
    /// Delta commits another engine has added. Readers of a Delta log would take such commits for
    /// the release. Releases of earlier versions have no sidecar files.
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
