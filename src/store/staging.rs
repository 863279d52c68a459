//! Stores builds that are not in a release yet. Parts are written first and the description last,
//! so that an interrupted build is never mistaken for a complete build.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use super::{Home, durable};
use pubdata_core::error::{IoExt, Result};
use pubdata_core::ids::Digest;

const BUILD: &str = "build.json";

/// Folder for a build that is not in a release yet: `HOME/staging/<task>-<input hash>/`. Parts are
/// written first and `build.json` last.
#[derive(Debug, Clone)]
pub struct Staging {
    folder: PathBuf,
}

impl Staging {
    /// Returns the folder of a build without reading or creating anything.
    pub fn for_task(home: &Home, task_id: &str, input_hash: &Digest) -> Self {
        Self {
            folder: home
                .staging_dir()
                .join(format!("{}{}", prefix(task_id), input_hash.short(32))),
        }
    }

    /// Creates an empty folder, removing anything that an interrupted build left there.
    pub fn begin(&self) -> Result<()> {
        if self.folder.exists() {
            // Delete the description first, so that a partially removed build never looks complete.
            let build = self.folder.join(BUILD);
            if build.exists() {
                std::fs::remove_file(&build).at("delete", &build)?;
                durable::sync_folder(&self.folder)?;
            }
            std::fs::remove_dir_all(&self.folder).at("delete folder", &self.folder)?;
        }
        durable::create_folder(&self.folder)
    }

    /// Writes a part. [`super::part_path`] builds `part_path`. The write is not durable, because a
    /// build can have thousands of parts. Damage caused by a power failure is detected by the
    /// digest in the description.
    pub fn put(&self, part_path: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path(part_path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).at("create folder", parent)?;
        }
        // An existing file is never overwritten, because a release may have a hard link to it.
        File::create_new(&path)
            .and_then(|mut file| file.write_all(bytes))
            .at("write", &path)
    }

    /// Returns the path of a part, which need not exist.
    pub(super) fn path(&self, part_path: &str) -> PathBuf {
        self.folder.join(part_path)
    }

    /// Writes the description durably. From this point on, the build is complete.
    pub fn finish(&self, description: &[u8]) -> Result<()> {
        durable::write_file(&self.folder.join(BUILD), description)
    }

    /// Reads the description; `None` if no build was completed in this folder.
    pub fn description(&self) -> Result<Option<Vec<u8>>> {
        let path = self.folder.join(BUILD);
        match super::files::read_file(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some).at("read", &path),
        }
    }

    /// Reads a part; `None` if it does not exist.
    pub fn part(&self, part_path: &str) -> Result<Option<Vec<u8>>> {
        let path = self.path(part_path);
        match super::files::read_file(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some).at("read", &path),
        }
    }

    /// Removes all builds of a task, regardless of their inputs.
    pub fn clear(home: &Home, task_id: &str) -> Result<()> {
        let folder = home.staging_dir();
        if !folder.exists() {
            return Ok(());
        }
        for entry in std::fs::read_dir(&folder).at("read folder", &folder)? {
            let path = entry.at("read folder", &folder)?.path();
            if path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(&prefix(task_id)))
            {
                Self {
                    folder: path.clone(),
                }
                .begin()?;
                std::fs::remove_dir(&path).at("delete folder", &path)?;
            }
        }
        Ok(())
    }
}

fn prefix(task_id: &str) -> String {
    format!("{}-", Digest::sha256(task_id.as_bytes()).short(16))
}
