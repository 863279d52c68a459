//! Writes files that survive a power failure. The file's bytes are synced first, then the folder
//! entry.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::files::open_with;
use pubdata_core::error::{IoExt, Result};

/// Syncs a folder's entries, so that created, renamed and removed files are durable.
pub fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder)
        .and_then(|file| file.sync_all())
        .at("make durable", folder)
}

/// Creates a folder and its parents, and syncs each folder entry.
pub fn create_folder(folder: &Path) -> Result<()> {
    let missing: Vec<&Path> = folder
        .ancestors()
        .take_while(|ancestor| !ancestor.exists())
        .collect();
    std::fs::create_dir_all(folder).at("create folder", folder)?;
    missing
        .iter()
        .filter_map(|made| made.parent())
        .try_for_each(sync_folder)
}

/// Writes a file under a temporary name and then renames it, so that a reader sees either the
/// complete file or none.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    // Two threads may write the same file. Each thread uses a separate temporary file, and the file
    // renamed last remains.
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(
        ".{}.part",
        WRITTEN.fetch_add(1, Ordering::Relaxed) % 16
    ));
    let temporary = PathBuf::from(temporary);
    let written = open_with(
        OpenOptions::new().create(true).truncate(true).write(true),
        &temporary,
    )
    .and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.at("write", &temporary)?;
    std::fs::rename(&temporary, path).at("rename to", path)?;
    path.parent().map_or(Ok(()), sync_folder)
}
