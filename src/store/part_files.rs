//! Caches parts from a bucket on the local disk by digest, for this server process and later ones.
//! A lost file is fetched again.
//!
//! ```text
//! HOME/state/parts/<sha256>      the bytes of a part, whichever release it is in
//! ```

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;

use super::files::read_file;
use pubdata_core::error::{IoExt, Result};
use pubdata_core::ids::Digest;

/// Cache of parts on the local disk, bounded in size.
#[derive(Debug)]
pub struct PartFiles {
    folder: PathBuf,
    limit_bytes: u64,
    kept: Mutex<Kept>,
    written: AtomicU64,
}

#[derive(Debug, Default)]
struct Kept {
    files: HashMap<Digest, KeptFile>,
    size_bytes: u64,
    /// Counter that increases with each use. The file with the lowest value is evicted next.
    clock: u64,
}

#[derive(Debug)]
struct KeptFile {
    size_bytes: u64,
    last_used: u64,
    /// True if this process has verified the file's digest.
    is_checked: bool,
}

impl PartFiles {
    /// Lists the files in a folder, which need not exist.
    pub fn open(folder: PathBuf, limit_bytes: u64) -> Result<Self> {
        let mut found: Vec<(SystemTime, Digest, u64)> = Vec::new();
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let entry = entry.at("read folder", &folder)?;
            match (
                entry.file_name().to_string_lossy().parse(),
                entry.metadata(),
            ) {
                (Ok(digest), Ok(metadata)) => found.push((
                    metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                    digest,
                    metadata.len(),
                )),
                // A file left unfinished by a killed server.
                _ => drop(fs::remove_file(entry.path())),
            }
        }
        found.sort_unstable();
        let mut kept = Kept::default();
        for (_, digest, size_bytes) in found {
            kept.clock += 1;
            kept.size_bytes += size_bytes;
            kept.files.insert(
                digest,
                KeptFile {
                    size_bytes,
                    last_used: kept.clock,
                    is_checked: false,
                },
            );
        }
        Ok(Self {
            folder,
            limit_bytes,
            kept: Mutex::new(kept),
            written: AtomicU64::new(0),
        })
    }

    /// Returns the maximum size of the cache in bytes.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Returns whether the cache contains a part.
    pub fn has(&self, digest: &Digest) -> bool {
        self.lock().files.contains_key(digest)
    }

    /// Reads a part; `None` if it is not cached. The digest is verified when this process reads the
    /// part for the first time. A damaged file counts as not cached.
    pub fn read(&self, digest: &Digest) -> Option<Bytes> {
        let is_checked = {
            let mut kept = self.lock();
            kept.clock += 1;
            let clock = kept.clock;
            let file = kept.files.get_mut(digest)?;
            file.last_used = clock;
            file.is_checked
        };
        let bytes = read_file(&self.path(digest))
            .ok()
            .filter(|bytes| is_checked || Digest::sha256(bytes) == *digest);
        let mut kept = self.lock();
        match bytes {
            Some(bytes) => {
                if let Some(file) = kept.files.get_mut(digest) {
                    file.is_checked = true;
                }
                Some(bytes.into())
            }
            None => {
                kept.remove(digest);
                drop(fs::remove_file(self.path(digest)));
                None
            }
        }
    }

    /// Caches a part whose digest has already been verified, and evicts the least recently used
    /// parts until all parts fit.
    pub fn write(&self, digest: &Digest, bytes: &Bytes) -> Result<()> {
        let size_bytes = bytes.len() as u64;
        if size_bytes > self.limit_bytes {
            return Ok(());
        }
        fs::create_dir_all(&self.folder).at("create folder", &self.folder)?;
        let path = self.path(digest);
        // The file is not synced, because a file truncated by a crash no longer matches its digest.
        let aside = path.with_extension(format!(
            "{}-{}",
            std::process::id(),
            self.written.fetch_add(1, Ordering::Relaxed)
        ));
        fs::write(&aside, bytes)
            .and_then(|()| fs::rename(&aside, &path))
            .at("write", &path)?;
        let mut kept = self.lock();
        kept.remove(digest);
        kept.clock += 1;
        kept.size_bytes += size_bytes;
        let last_used = kept.clock;
        kept.files.insert(
            *digest,
            KeptFile {
                size_bytes,
                last_used,
                is_checked: true,
            },
        );
        while kept.size_bytes > self.limit_bytes {
            let Some(oldest) = kept
                .files
                .iter()
                .min_by_key(|(_, file)| file.last_used)
                .map(|(oldest, _)| *oldest)
            else {
                break;
            };
            kept.remove(&oldest);
            drop(fs::remove_file(self.path(&oldest)));
        }
        Ok(())
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(digest.to_string())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn remove(&mut self, digest: &Digest) {
        if let Some(file) = self.files.remove(digest) {
            self.size_bytes -= file.size_bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(letter: u8) -> (Digest, Bytes) {
        let bytes = Bytes::from(vec![letter; 100]);
        (Digest::sha256(&bytes), bytes)
    }

    #[test]
    fn least_recently_used_part_is_removed_first_and_damaged_is_absent() {
        let folder = tempfile::tempdir().unwrap();
        let files = PartFiles::open(folder.path().join("parts"), 250).unwrap();
        let parts = [part(b'a'), part(b'b'), part(b'c')];
        assert_eq!(files.read(&parts[0].0), None);
        files.write(&parts[0].0, &parts[0].1).unwrap();
        files.write(&parts[1].0, &parts[1].1).unwrap();
        assert_eq!(files.read(&parts[0].0), Some(parts[0].1.clone()));
        files.write(&parts[2].0, &parts[2].1).unwrap();
        assert_eq!(
            parts.each_ref().map(|(digest, _)| files.has(digest)),
            [true, false, true]
        );
        files
            .write(&Digest::sha256(b"large"), &Bytes::from(vec![b'x'; 251]))
            .unwrap();
        assert!(
            files.has(&parts[0].0),
            "what does not fit at all drives nothing out"
        );

        // The next process finds the files and verifies each file before use.
        fs::write(
            folder.path().join("parts").join(parts[2].0.to_string()),
            [b'C'; 100],
        )
        .unwrap();
        fs::write(folder.path().join("parts/left.123-0"), "half").unwrap();
        let files = PartFiles::open(folder.path().join("parts"), 250).unwrap();
        assert_eq!(files.read(&parts[2].0), None);
        assert!(!files.has(&parts[2].0));
        assert_eq!(files.read(&parts[0].0), Some(parts[0].1.clone()));
        assert_eq!(
            fs::read_dir(folder.path().join("parts")).unwrap().count(),
            1
        );
    }
}
