use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, IoExt, Result};

/// The folder an installation works in.
///
/// ```text
/// HOME/snapshots/<source_id>/<sha256>-<file name>   publishers' bytes, never changed
/// HOME/releases/<release_id>/…                      parts and manifest (elsewhere with a store URL)
/// HOME/channels/<channel>/<generation>.json         pointers to releases (elsewhere with a store URL)
/// HOME/state/…                                      what is known of each URL, downloads in progress
/// HOME/staging/…                                    builds not yet in a release
/// HOME/scratch/…                                    work that is thrown away
/// HOME/runs/<run_id>/issues.jsonl                   findings of a run
/// HOME/ledger.jsonl  HOME/keys.json  HOME/lock
/// ```
#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
}

/// Held by the one run that may change the home; released when dropped or when the process dies.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
}

impl Home {
    /// Opens a home, creating the folder when it is new.
    ///
    /// # Errors
    /// `Store`, when the folder cannot be made.
    pub fn open(root: &Path) -> Result<Self> {
        std::fs::create_dir_all(root).at("create folder", root)?;
        let root = root.canonicalize().at("find folder", root)?;
        Ok(Self { root })
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn snapshots_dir(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    pub fn state_dir(&self) -> PathBuf {
        self.root.join("state")
    }

    pub fn staging_dir(&self) -> PathBuf {
        self.root.join("staging")
    }

    /// Details of one run.
    pub fn run_dir(&self, run_id: &str) -> PathBuf {
        self.root.join("runs").join(run_id)
    }

    pub fn ledger_file(&self) -> PathBuf {
        self.root.join("ledger.jsonl")
    }

    pub fn keys_file(&self) -> PathBuf {
        self.root.join("keys.json")
    }

    /// A home of its own inside this one, empty, for work that is thrown away.
    ///
    /// # Errors
    /// `Store`, when the folder cannot be made.
    pub fn scratch(&self, name: &str) -> Result<Self> {
        let scratch = Self { root: self.root.join("scratch").join(name) };
        scratch.remove()?;
        Self::open(&scratch.root)
    }

    /// Removes the whole folder; only a scratch home is ever removed.
    ///
    /// # Errors
    /// `Store`, when it cannot be removed, or is not a scratch home.
    pub fn remove(&self) -> Result<()> {
        if !self.root.parent().is_some_and(|parent| parent.ends_with("scratch")) {
            return Err(Error::store(format!("{} is not a scratch folder", self.root.display())));
        }
        match std::fs::remove_dir_all(&self.root) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).at("remove folder", &self.root),
            _ => Ok(()),
        }
    }

    /// Takes the run lock without waiting.
    ///
    /// # Errors
    /// `Busy`, when another run holds it; the operating system frees it when that process ends, however it ends.
    pub fn lock(&self) -> Result<RunLock> {
        let path = self.root.join("lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).at("open", &path)?;
        match file.try_lock() {
            Ok(()) => Ok(RunLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(Error::new(ErrorKind::Busy, format!("another run holds the lock {}", path.display()))
                .hint("wait for it to end; `pubdata status` shows what it does")),
            Err(TryLockError::Error(error)) => Err(Error::store(format!("cannot lock {}: {error}", path.display()))),
        }
    }
}
