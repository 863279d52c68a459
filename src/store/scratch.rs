//! Provides the folder in which a build keeps its rows by bucket. The folder is removed when
//! dropped.

use std::path::PathBuf;

use super::Home;
use pubdata_core::error::{IoExt, Result};
use pubdata_core::ids::Digest;

/// Temporary folder for rows by bucket,
/// `HOME/scratch/<task>-<purpose>/<bucket>/<snapshot>-<member>`. Removed when dropped.
pub struct Scratch {
    home: Home,
}

impl Scratch {
    /// Creates an empty folder, removing anything that an interrupted build left there.
    pub fn begin(home: &Home, task_id: &str, purpose: &str) -> Result<Self> {
        Ok(Self {
            home: home.scratch(&format!(
                "{}-{purpose}",
                Digest::sha256(task_id.as_bytes()).short(16)
            ))?,
        })
    }

    /// Creates a folder for each bucket.
    pub fn make(&self, buckets: u32) -> Result<()> {
        (0..buckets)
            .map(|bucket| self.folder(bucket))
            .try_for_each(|folder| std::fs::create_dir(&folder).at("create folder", &folder))
    }

    /// Returns the path of the file that holds a bucket's rows from a snapshot and archive member.
    pub fn file(&self, bucket: u32, input: u64, member: u64) -> PathBuf {
        self.folder(bucket).join(format!("{input}-{member}.rows"))
    }

    /// Deletes the rows of a bucket that has been built, to free disk space.
    pub fn remove_bucket(&self, bucket: u32) -> Result<()> {
        let folder = self.folder(bucket);
        std::fs::remove_dir_all(&folder).at("remove folder", &folder)
    }

    fn folder(&self, bucket: u32) -> PathBuf {
        self.home.root().join(bucket.to_string())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = self.home.remove() {
            tracing::warn!(%error, "cannot remove a scratch folder");
        }
    }
}
