//! Reads the declaration and contract files that a release keeps next to its manifest. Each file is
//! named by its digest.

use super::Releases;
use super::releases::part_key;
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::{Digest, ReleaseId};

/// Returns the path of the file with this digest, relative to the release. The output of
/// `sha256sum` equals the file's name.
pub fn declared_path(digest: &Digest) -> String {
    format!("declarations/{digest}.jsonl")
}

impl Releases {
    /// Reads a file; `None` if it is missing or was changed.
    pub async fn intact_text(&self, id: &ReleaseId, digest: &Digest) -> Result<Option<String>> {
        let bytes = self
            .store
            .read(&part_key(id, &declared_path(digest))?)
            .await?;
        Ok(bytes
            .filter(|bytes| Digest::sha256(bytes) == *digest)
            .and_then(|bytes| String::from_utf8(bytes.to_vec()).ok()))
    }

    /// Reads a file that the release's manifest lists.
    ///
    /// # Errors
    /// `Store`, when the file is missing or was changed.
    pub async fn text(&self, id: &ReleaseId, digest: &Digest) -> Result<String> {
        let lost = || {
            Error::store(format!(
                "release {id}: {} is missing or was changed",
                declared_path(digest)
            ))
            .hint("restore it from a copy of the release: its name is the SHA-256 of its content")
        };
        self.intact_text(id, digest).await?.ok_or_else(lost)
    }
}
