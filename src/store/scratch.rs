//! The folder in which a build keeps its rows by bucket while it runs; removed when dropped.

use std::path::PathBuf;

use super::Home;
use pubdata_core::error::{IoExt, Result};
use pubdata_core::ids::Digest;

/// The folder of rows on their way to their buckets,
/// `HOME/scratch/<task>-<purpose>/<bucket>/<snapshot>-<member>`; removed when dropped.
pub struct Scratch {
    home: Home,
}

impl Scratch {
    /// Makes the folder, empty: what an interrupted build left there is removed.
    ///
    /// # Errors
    /// `Store`, when it cannot be made.
    pub fn begin(home: &Home, task_id: &str, purpose: &str) -> Result<Self> {
        Ok(Self {
            home: home.scratch(&format!(
                "{}-{purpose}",
                Digest::of(task_id.as_bytes()).short(16)
            ))?,
        })
    }

    /// Makes a folder for each bucket.
    ///
    /// # Errors
    /// `Store`, when one cannot be made.
    pub fn make(&self, buckets: u32) -> Result<()> {
        (0..buckets)
            .map(|bucket| self.folder(bucket))
            .try_for_each(|folder| std::fs::create_dir(&folder).at("create folder", &folder))
    }

    /// The file of a bucket's rows of a snapshot and member.
    pub fn file(&self, bucket: u32, input: u64, member: u64) -> PathBuf {
        self.folder(bucket).join(format!("{input}-{member}.rows"))
    }

    /// Gives the space of a bucket back that is built.
    ///
    /// # Errors
    /// `Store`, when it cannot be removed.
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
            tracing::warn!(%error, "a scratch folder stays behind");
        }
    }
}
