//! Measures how much disk space a home uses, by folder, and how much space is left on the file
//! system.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Home;
use pubdata_core::error::{Error, Result};

/// Maximum number of files and folders in one walk. The report for a larger home is marked as
/// partial.
const MAX_ENTRIES: usize = 2_000_000;

/// Name under which files directly in the home, such as the ledger, are reported.
const ROOT_FILES: &str = "files";

/// Unit in which the operating system counts blocks, independent of the file system.
const BLOCK_BYTES: u64 = 512;

/// Disk space that a home uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskUse {
    /// Size in bytes by folder of the home. A file with several hard links is counted once, in the
    /// folder whose name sorts first.
    pub rooms: BTreeMap<String, u64>,
    /// Bytes that can still be written to the file system.
    pub free_bytes: u64,
    /// True if the home has more entries than one walk visits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
}

impl DiskUse {
    /// Returns the total size of all folders.
    pub fn total_bytes(&self) -> u64 {
        self.rooms.values().sum()
    }
}

/// Walks through a home. Skips entries that disappear or are not readable, and does not follow
/// links.
pub fn disk_use(home: &Home) -> Result<DiskUse> {
    let mut rooms: BTreeMap<String, u64> = BTreeMap::new();
    let (mut seen, mut known) = (0, BTreeSet::new());
    for (room, path) in entries(home.root().to_owned()) {
        // Files such as the run lock are directly in the home.
        let is_room = path
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_dir());
        let bytes = rooms
            .entry(if is_room { room } else { ROOT_FILES.to_owned() })
            .or_default();
        let mut open = vec![path];
        while let Some(path) = open.pop().filter(|_| seen < MAX_ENTRIES) {
            seen += 1;
            let Ok(metadata) = path.symlink_metadata() else {
                continue;
            };
            *bytes += bytes_of(&metadata, &mut known);
            if metadata.is_dir() {
                open.extend(entries(path).into_iter().map(|(_, path)| path));
            }
        }
    }
    Ok(DiskUse {
        rooms,
        free_bytes: free_bytes(home)?,
        is_partial: seen >= MAX_ENTRIES,
    })
}

/// Returns the bytes that can still be written to a home's file system.
pub fn free_bytes(home: &Home) -> Result<u64> {
    let stats = rustix::fs::statvfs(home.root()).map_err(|error| {
        Error::store(format!(
            "cannot query the free space at {}: {error}",
            home.root().display()
        ))
    })?;
    Ok(stats.f_bavail.saturating_mul(stats.f_frsize))
}

/// Returns the names and paths of the entries in a folder, sorted by name.
fn entries(folder: PathBuf) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<(String, PathBuf)> = entries
        .map(|entry| {
            (
                entry.file_name().to_string_lossy().into_owned(),
                entry.path(),
            )
        })
        .collect();
    found.sort();
    found
}

/// Returns the size of a file; 0 if another link to it was already counted.
fn bytes_of(metadata: &Metadata, known: &mut BTreeSet<(u64, u64)>) -> u64 {
    let is_counted = metadata.is_file()
        && metadata.nlink() > 1
        && !known.insert((metadata.dev(), metadata.ino()));
    if is_counted {
        0
    } else {
        metadata.blocks() * BLOCK_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hard_linked_file_counts_once_and_symlink_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(&folder.path().join("home")).unwrap();
        let put = |path: &str, size: usize| {
            let path = home.root().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, vec![7; size]).unwrap();
        };
        put("releases/r1/a/part-0.parquet", 1_000_000);
        put("snapshots/s/one.zip", 300_000);
        put("ledger.jsonl", 20_000);
        std::fs::write(folder.path().join("outside"), vec![7; 5_000_000]).unwrap();
        std::fs::create_dir_all(home.root().join("releases/r2/a")).unwrap();
        let first = disk_use(&home).unwrap();
        std::fs::hard_link(
            home.root().join("releases/r1/a/part-0.parquet"),
            home.root().join("releases/r2/a/part-0.parquet"),
        )
        .unwrap();
        std::os::unix::fs::symlink(folder.path(), home.root().join("releases/out")).unwrap();
        let second = disk_use(&home).unwrap();
        assert_eq!(
            first.rooms.keys().collect::<Vec<_>>(),
            ["files", "releases", "snapshots"]
        );
        let is_about = |bytes: u64, expected: u64| bytes >= expected && bytes < expected + 200_000;
        assert!(
            is_about(first.rooms["releases"], 1_000_000)
                && is_about(second.rooms["releases"], 1_000_000),
            "{first:?} {second:?}"
        );
        assert!(
            is_about(second.rooms["snapshots"], 300_000) && is_about(second.rooms["files"], 20_000),
            "{second:?}"
        );
        assert!(is_about(second.total_bytes(), 1_320_000), "{second:?}");
        assert!(second.free_bytes > 0 && !second.is_partial);
    }
}
