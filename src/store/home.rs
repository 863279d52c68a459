//! Resolves the paths in the folder that an installation works in. Holds the lock that allows only
//! one run at a time to change the folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::files;
use pubdata_core::error::{Error, ErrorKind, IoExt, Result};

/// File name of the operator's settings in the home.
pub const SETTINGS_FILE: &str = "pubdata.toml";

/// Format of the home as a whole, which determines the location of each file. A home without
/// `home.json` has format 1. No version of the program has written another format yet, and all
/// versions reject newer formats.
pub(super) const HOME_FORMAT_VERSION: u32 = 1;

const LOOKS: u32 = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// The folder that an installation works in.
///
/// ```text
/// HOME/snapshots/<source_id>/<sha256>-<file name>   publishers' bytes, never changed
/// HOME/releases/<release_id>/…                      parts and manifest (elsewhere with a store URL)
/// HOME/channels/<channel>/<generation>.json         pointers to releases (elsewhere with a store URL)
/// HOME/state/…                                      known state of each URL, downloads in progress
/// HOME/staging/…                                    builds not yet in a release
/// HOME/scratch/…                                    temporary homes
/// HOME/runs/<run_id>/issues.jsonl                   issues found in a run
/// HOME/runs/<run_id>.openlineage.jsonl              lineage of a run, as OpenLineage events
/// HOME/stream/…                                     filings as they appear in the feeds
/// HOME/seen-logs/…                                  servers' logs as this machine last saw them
/// HOME/pubdata.toml                                 the operator's settings
/// HOME/ledger.jsonl  HOME/keys.json  HOME/lock
/// HOME/home.json                                    format of the home, if it is not the first
/// ```
#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
}

/// Names of entries in a home. At least one of them exists as soon as anything has been written to
/// the home.
const HOME_ENTRIES: [&str; 12] = [
    "snapshots",
    "releases",
    "channels",
    "state",
    "runs",
    "stream",
    "seen-logs",
    "ledger.jsonl",
    "accepted.jsonl",
    "keys.json",
    "home.json",
    SETTINGS_FILE,
];

/// Lock held by the one run that may change the home. Released when dropped or when the process
/// dies.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
}

impl Home {
    /// Opens a home, creating the folder if necessary.
    ///
    /// # Errors
    /// `Store`, when the folder cannot be created, or when a newer program has given the home
    /// another format.
    pub fn open(root: &Path) -> Result<Self> {
        std::fs::create_dir_all(root).at("create folder", root)?;
        let root = root.canonicalize().at("find folder", root)?;
        refuse_newer(&root)?;
        Ok(Self { root })
    }

    /// Returns whether a folder contains anything that this program writes to a home.
    pub fn is_home(root: &Path) -> bool {
        HOME_ENTRIES.iter().any(|name| root.join(name).exists())
    }

    /// Returns the home's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn snapshots_dir(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    pub fn state_dir(&self) -> PathBuf {
        self.root.join("state")
    }

    /// Returns the folder where a channel's server keeps copies of large parts.
    pub fn tables_dir(&self, channel: &str) -> PathBuf {
        self.state_dir().join("tables").join(channel)
    }

    /// Returns the folder where a server keeps parts that it has fetched.
    pub fn parts_dir(&self) -> PathBuf {
        self.state_dir().join("parts")
    }

    pub fn staging_dir(&self) -> PathBuf {
        self.root.join("staging")
    }

    /// Returns the folder that contains the details of one run.
    pub fn run_dir(&self, run_id: &str) -> PathBuf {
        self.root.join("runs").join(run_id)
    }

    /// Returns the path of a run's OpenLineage event file.
    pub fn lineage_file(&self, run_id: &str) -> PathBuf {
        self.root
            .join("runs")
            .join(format!("{run_id}.openlineage.jsonl"))
    }

    pub fn ledger_file(&self) -> PathBuf {
        self.root.join("ledger.jsonl")
    }

    /// Returns the path of the operator's settings file.
    pub fn settings_file(&self) -> PathBuf {
        self.root.join(SETTINGS_FILE)
    }

    /// Returns the path of the file that records what operators reviewed and accepted.
    pub fn accepted_file(&self) -> PathBuf {
        self.root.join("accepted.jsonl")
    }

    /// Returns the folder that `pubdata follow` writes to.
    pub fn stream_dir(&self) -> PathBuf {
        self.root.join("stream")
    }

    pub fn keys_file(&self) -> PathBuf {
        self.root.join("keys.json")
    }

    /// Creates a separate, empty home inside this one for temporary work.
    pub fn scratch(&self, name: &str) -> Result<Self> {
        let scratch = Self {
            root: self.root.join("scratch").join(name),
        };
        scratch.remove()?;
        Self::open(&scratch.root)
    }

    /// Creates a home as [`Home::scratch`] does, for this process only. Removes the scratch homes
    /// of processes that have ended, which it recognises by the process id at the end of the name.
    pub fn scratch_of_process(&self, name: &str) -> Result<Self> {
        for entry in std::fs::read_dir(self.root.join("scratch"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let process = entry
                .file_name()
                .to_string_lossy()
                .rsplit('-')
                .next()
                .and_then(|process| process.parse::<u32>().ok());
            // On systems without `/proc`, all processes count as alive.
            let is_gone = |process: u32| {
                Path::new("/proc/self").exists()
                    && !Path::new("/proc").join(process.to_string()).exists()
            };
            if process.is_some_and(is_gone) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
        self.scratch(&format!("{name}-{}", std::process::id()))
    }

    /// Removes the entire folder.
    ///
    /// # Errors
    /// `Store`, when the folder cannot be removed or is not a scratch home.
    pub fn remove(&self) -> Result<()> {
        if !self
            .root
            .parent()
            .is_some_and(|parent| parent.ends_with("scratch"))
        {
            return Err(Error::store(format!(
                "{} is not a scratch folder",
                self.root.display()
            )));
        }
        match std::fs::remove_dir_all(&self.root) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).at("remove folder", &self.root)
            }
            _ => Ok(()),
        }
    }

    /// Takes the run lock. Waits at most a tenth of a second, because a process that only checks
    /// the lock ([`Home::is_running`]) releases it immediately.
    ///
    /// # Errors
    /// `Busy`, when another run holds the lock. The operating system releases the lock when that
    /// process ends.
    pub fn lock(&self) -> Result<RunLock> {
        let (path, file) = self.lock_file()?;
        for _ in 0..LOOKS {
            match file.try_lock() {
                Ok(()) => return Ok(RunLock { _file: file }),
                Err(TryLockError::WouldBlock) => std::thread::park_timeout(BETWEEN_LOOKS),
                Err(TryLockError::Error(error)) => {
                    return Err(Error::store(format!(
                        "cannot lock {}: {error}",
                        path.display()
                    )));
                }
            }
        }
        Err(Error::new(
            ErrorKind::Busy,
            format!("another run holds the lock {}", path.display()),
        )
        .hint("wait for it to end; `pubdata status` shows what it does"))
    }

    /// Returns whether a run is in progress.
    pub fn is_running(&self) -> Result<bool> {
        // Opened for reading only, because the caller may not have write permission. If the file
        // does not exist, no run has started yet.
        let path = self.root.join("lock");
        let file = match files::open_file(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            file => file.at("open", &path)?,
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(Error::store(format!(
                "cannot look at {}: {error}",
                path.display()
            ))),
        }
    }

    fn lock_file(&self) -> Result<(PathBuf, File)> {
        let path = self.root.join("lock");
        let file = files::open_with(
            OpenOptions::new().create(true).truncate(false).write(true),
            &path,
        )
        .at("open", &path)?;
        Ok((path, file))
    }
}

fn refuse_newer(root: &Path) -> Result<()> {
    let path = root.join("home.json");
    let bytes = match files::read_file(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        read => read.at("read", &path)?,
    };
    let value: serde_json::Value = serde_json::from_slice(&bytes).map_err(|error| {
        Error::store(format!("{} is damaged: {error}", path.display())).hint(format!(
            "restore it from a backup; a home of pubdata {} has no such file",
            env!("CARGO_PKG_VERSION")
        ))
    })?;
    if value["format_version"]
        .as_u64()
        .is_some_and(|version| (1..=u64::from(HOME_FORMAT_VERSION)).contains(&version))
    {
        return Ok(());
    }
    let (made_by, needed) = match value["pubdata_version"].as_str() {
        Some(version) => (
            format!(", made by pubdata {version}"),
            format!("use pubdata {version} or a later one"),
        ),
        None => (
            String::new(),
            "use the version of pubdata that wrote it, or a later one".to_owned(),
        ),
    };
    let this = env!("CARGO_PKG_VERSION");
    Err(Error::store(format!(
        "the home {} has format {}{made_by}; pubdata {this} reads up to {HOME_FORMAT_VERSION}",
        root.display(),
        value["format_version"]
    ))
    .hint(needed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A home on a read-only file system may have no lock file, and none can be created.
    #[test]
    fn who_looks_makes_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        assert!(!home.is_running().unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let lock = home.lock().unwrap();
        assert!(home.is_running().unwrap());
        drop(lock);
        assert!(!home.is_running().unwrap());
    }

    #[test]
    fn looking_whether_a_run_is_under_way_never_stops_one_from_starting() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        assert!(!home.is_running().unwrap());
        let (_, looking) = home.lock_file().unwrap();
        looking.try_lock_shared().unwrap();
        let (sender, started) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                sender.send(()).unwrap();
                assert!(home.lock().is_ok());
            });
            started.recv().unwrap();
            drop(looking);
        });
        let run = home.lock().unwrap();
        assert!(home.is_running().unwrap());
        assert_eq!(home.lock().unwrap_err().kind(), ErrorKind::Busy);
        drop(run);
        assert!(!home.is_running().unwrap());
    }
}
