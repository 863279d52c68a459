//! How much of the disk a home takes, room by room, and what is left on its file system.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Home;
use pubdata_core::error::{Error, Result};

/// Files and folders that are looked at in one walk: a home with more is told of as far as it was
/// seen.
const MOST_ENTRIES: usize = 2_000_000;

/// The room of files that lie in the home itself, such as the ledger.
const OWN_FILES: &str = "files";

/// Size of a block as the operating system counts them, whatever the file system's own are.
const BLOCK_BYTES: u64 = 512;

/// What a home takes of the disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskUse {
    /// Bytes by folder of the home. A file that several names lead to is counted once, in the first
    /// folder by name that has it.
    pub rooms: BTreeMap<String, u64>,
    /// What may still be written to the file system.
    pub free_bytes: u64,
    /// Whether there was more than a walk looks at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
}

impl DiskUse {
    /// All rooms together.
    pub fn total_bytes(&self) -> u64 {
        self.rooms.values().sum()
    }
}

/// Walks through a home. What goes away meanwhile, and what may not be read, is passed over; links
/// are not followed.
///
/// # Errors
/// `Store`, when the file system does not say what is free.
pub fn disk_use(home: &Home) -> Result<DiskUse> {
    let mut rooms: BTreeMap<String, u64> = BTreeMap::new();
    let (mut seen, mut known) = (0, BTreeSet::new());
    for (room, path) in entries(home.root().to_owned()) {
        // The lock of a run and the like stand beside the rooms.
        let is_room = path
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_dir());
        let bytes = rooms
            .entry(if is_room { room } else { OWN_FILES.to_owned() })
            .or_default();
        let mut open = vec![path];
        while let Some(path) = open.pop().filter(|_| seen < MOST_ENTRIES) {
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
        is_partial: seen >= MOST_ENTRIES,
    })
}

/// What may still be written to a home's file system.
///
/// # Errors
/// `Store`, when the file system does not say.
pub fn free_bytes(home: &Home) -> Result<u64> {
    let told = rustix::fs::statvfs(home.root()).map_err(|error| {
        Error::store(format!(
            "cannot ask what is free at {}: {error}",
            home.root().display()
        ))
    })?;
    Ok(told.f_bavail.saturating_mul(told.f_frsize))
}

/// Names and paths in a folder, by name.
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

/// What a file takes; nothing when it was counted by another name.
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
    fn a_file_of_two_names_is_counted_once_and_a_link_is_not_followed() {
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
