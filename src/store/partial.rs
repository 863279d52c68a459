//! Keeps a download in progress so that a later run can resume it. On Linux, the download starts
//! over after a reboot, because bytes may have been lost.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{channel, sync_channel};

use serde::{Deserialize, Serialize};

use super::blocks::{BlockHasher, BlockSums};
use super::files;
use super::snapshots::write_json;
use pubdata_core::error::{Error, ErrorKind, IoExt, Result};
use pubdata_core::ids::Digest;

/// Number of bytes to read, write and hash at a time.
const COPIED_AT_A_TIME: usize = 1 << 18;
/// Maximum number of copied pieces that wait to be hashed.
const AHEAD: usize = 4;
/// Format of the sidecar files below `state/partial`. A download whose sidecar has another format
/// is not resumed.
const SIDECAR_FORMAT_VERSION: u32 = 1;

/// A download in progress: the bytes received so far, their running hash, and the file that they
/// belong to. The download stays on disk when dropped, so that the next run can resume it. A lock
/// ensures that only one process at a time downloads a URL.
pub struct Partial {
    file: File,
    path: PathBuf,
    sidecar: PathBuf,
    hasher: BlockHasher,
    len: u64,
    of: Option<PartialOrigin>,
}

/// The publisher's file that the bytes of a partial download belong to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialOrigin {
    /// The requested URL, or the file's location on a mirror.
    pub origin: String,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    pub total_bytes: Option<u64>,
    /// The redirect targets, without queries. The last target sent the bytes, ETag and date.
    #[serde(default)]
    pub redirected_through: Vec<String>,
    /// True if the server compressed the response, so that offsets in the file differ from offsets
    /// in the response.
    #[serde(default)]
    pub is_decoded: bool,
    /// True if the end of the body was marked neither by a length nor by a last chunk.
    #[serde(default)]
    pub is_length_unknown: bool,
}

#[derive(Serialize, Deserialize)]
struct Sidecar {
    format_version: u32,
    /// Id of the current boot. After a power failure, the file may have the right length but not
    /// the right bytes.
    boot: Option<String>,
    of: PartialOrigin,
}

impl Partial {
    pub(super) fn open(folder: &Path, name: &str) -> Result<Self> {
        let path = folder.join(format!("{name}.part"));
        let sidecar = folder.join(format!("{name}.json"));
        let file = files::open_with(
            OpenOptions::new()
                .create(true)
                .truncate(false)
                .read(true)
                .write(true),
            &path,
        )
        .at("open", &path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::new(
                    ErrorKind::Busy,
                    format!(
                        "another fetch of the same URL is under way ({} is locked)",
                        path.display()
                    ),
                )
                .hint("wait for it to end"));
            }
            Err(TryLockError::Error(error)) => {
                return Err(Error::store(format!(
                    "cannot lock {}: {error}",
                    path.display()
                )));
            }
        }
        let mut partial = Self {
            file,
            path,
            sidecar,
            hasher: BlockHasher::default(),
            len: 0,
            of: None,
        };
        match partial.read_sidecar() {
            Some(of) => {
                partial.hash_existing()?;
                partial.of = Some(of);
            }
            None => partial.restart()?,
        }
        Ok(partial)
    }

    /// Returns the number of bytes received so far.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether no bytes have arrived yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the publisher's file that the bytes belong to, if known.
    pub fn origin(&self) -> Option<&PartialOrigin> {
        self.of.as_ref()
    }

    /// Returns the digest of the bytes received so far.
    pub fn digest(&self) -> Digest {
        self.hasher.digest()
    }

    pub(super) fn block_sums(&self) -> BlockSums {
        self.hasher.sums()
    }

    /// Returns the path of the file that holds the bytes received so far.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Discards all bytes.
    pub fn restart(&mut self) -> Result<()> {
        self.of = None;
        match fs::remove_file(&self.sidecar) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).at("delete", &self.sidecar);
            }
            _ => {}
        }
        self.file
            .set_len(0)
            .and_then(|()| self.file.seek(SeekFrom::Start(0)))
            .at("empty", &self.path)?;
        self.hasher = BlockHasher::default();
        self.len = 0;
        Ok(())
    }

    /// Discards all bytes, and records the file that the next bytes belong to.
    pub fn begin(&mut self, of: PartialOrigin) -> Result<()> {
        self.restart()?;
        write_json(
            &self.sidecar,
            &Sidecar {
                format_version: SIDECAR_FORMAT_VERSION,
                boot: boot(),
                of: of.clone(),
            },
        )?;
        self.of = Some(of);
        Ok(())
    }

    /// Records the total size, which some servers report only when a range is requested.
    pub fn expect(&mut self, total_bytes: u64) -> Result<()> {
        let Some(of) = self
            .of
            .as_mut()
            .filter(|of| of.total_bytes != Some(total_bytes))
        else {
            return Ok(());
        };
        (of.total_bytes, of.is_length_unknown) = (Some(total_bytes), false);
        write_json(
            &self.sidecar,
            &Sidecar {
                format_version: SIDECAR_FORMAT_VERSION,
                boot: boot(),
                of: of.clone(),
            },
        )
    }

    /// Appends bytes to the download.
    ///
    /// # Errors
    /// `Store`, when the bytes cannot be written, for example because the disk is full.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).at("write", &self.path)?;
        self.hasher.update(bytes);
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Appends at most `most` bytes of a file and returns the number of bytes appended. Earlier
    /// pieces are hashed and synced while later ones are copied.
    ///
    /// # Errors
    /// `Fetch`, when the file cannot be read; `Store`, when the bytes cannot be written. After an
    /// error the partial download must be reopened.
    pub fn copy_from(&mut self, source: &File, most: u64) -> Result<u64> {
        let Self {
            file,
            path,
            hasher,
            len,
            ..
        } = self;
        let mut source = source.take(most);
        let file: &File = file;
        let (copied, to_hash) = sync_channel::<Vec<u8>>(AHEAD);
        let (hashed, free) = channel();
        // The sender is dropped after the loop, which ends the thread.
        std::thread::scope(move |scope| {
            // Sync earlier bytes in the meantime. Otherwise, the final sync would have to wait for
            // the entire file.
            let synced = (*len > 0).then(|| scope.spawn(|| file.sync_data()));
            scope.spawn(move || {
                for piece in to_hash {
                    hasher.update(&piece);
                    // The receiver may already be gone when the last pieces are sent.
                    let _ = hashed.send(piece);
                }
            });
            let from = *len;
            let mut copy = || loop {
                let mut piece = free.try_recv().unwrap_or_default();
                piece.resize(COPIED_AT_A_TIME, 0);
                let length = source
                    .read(&mut piece)
                    .map_err(|error| Error::fetch(format!("cannot be read: {error}")))?;
                if length == 0 {
                    return Ok(*len - from);
                }
                piece.truncate(length);
                (&*file).write_all(&piece).at("write", path)?;
                *len += length as u64;
                copied
                    .send(piece)
                    .map_err(|_| Error::store(format!("hashing {} was stopped", path.display())))?;
            };
            let outcome = copy();
            // Check this before any other error, because the kernel reports a lost write only once.
            if let Some(synced) = synced {
                synced
                    .join()
                    .expect("nothing panics while syncing")
                    .at("make durable", path)?;
            }
            outcome
        })
    }

    /// Deletes the download from disk.
    pub fn discard(mut self) -> Result<()> {
        self.restart()?;
        fs::remove_file(&self.path).at("delete", &self.path)
    }

    pub(super) fn move_to(mut self, target: &Path) -> Result<()> {
        self.file
            .flush()
            .and_then(|()| self.file.sync_all())
            .at("sync", &self.path)?;
        fs::rename(&self.path, target).at("rename to", target)?;
        let mut permissions = self.file.metadata().at("read", target)?.permissions();
        permissions.set_readonly(true);
        self.file
            .set_permissions(permissions)
            .at("make read-only", target)?;
        match fs::remove_file(&self.sidecar) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).at("delete", &self.sidecar)
            }
            _ => Ok(()),
        }
    }

    fn read_sidecar(&self) -> Option<PartialOrigin> {
        let sidecar: Sidecar =
            serde_json::from_slice(&files::read_file(&self.sidecar).ok()?).ok()?;
        (sidecar.format_version == SIDECAR_FORMAT_VERSION && sidecar.boot == boot())
            .then_some(sidecar.of)
    }

    fn hash_existing(&mut self) -> Result<()> {
        let mut buffer = vec![0; 1 << 18];
        loop {
            match self.file.read(&mut buffer).at("read", &self.path)? {
                0 => return Ok(()),
                length => {
                    self.hasher.update(&buffer[..length]);
                    self.len += length as u64;
                }
            }
        }
    }
}

/// Returns the id of the current boot on Linux. On other systems, returns `None`, and partial
/// downloads are trusted.
fn boot() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .ok()
        .map(|boot| boot.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_copied_in_pieces_equals_its_source() {
        let folder = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..3_000_017_u32)
            .map(|number| ((number * 31) >> 5) as u8)
            .collect();
        let path = folder.path().join("file");
        fs::write(&path, &content).unwrap();
        let (source, mut partial) = (
            File::open(&path).unwrap(),
            Partial::open(folder.path(), "copy").unwrap(),
        );
        partial.begin(PartialOrigin::default()).unwrap();
        // Pieces with arbitrary lengths, the last of which extends beyond the end of the file.
        let copied: Vec<u64> = [1, 1_000_000, 262_144, 9_000_000, 5]
            .into_iter()
            .map(|most| partial.copy_from(&source, most).unwrap())
            .collect();
        assert_eq!(copied, [1, 1_000_000, 262_144, 1_737_872, 0]);
        assert_eq!(
            (partial.len(), partial.digest()),
            (3_000_017, Digest::sha256(&content))
        );
        assert_eq!(fs::read(partial.path()).unwrap(), content);
        // A new instance resumes from the bytes on disk.
        drop(partial);
        let again = Partial::open(folder.path(), "copy").unwrap();
        assert_eq!(
            (again.len(), again.digest()),
            (3_000_017, Digest::sha256(&content))
        );
    }
}
