//! Stores the last seen state of servers' logs, so that a replaced log is detected. Also stores
//! evidence of contradictions.

use std::io::Write;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Home, durable, files};
use pubdata_core::error::{Error, IoExt, Result};
use pubdata_core::ids::Digest;

/// Format of the files below `seen-logs`; readers reject newer formats.
pub const SEEN_LOG_FORMAT_VERSION: u32 = 1;

/// The last seen state of a server's log.
///
/// ```text
/// HOME/seen-logs/<hash of the URL>.json                  last seen state; replaced after each successful check
/// HOME/seen-logs/evidence/<hash of its content>.json     a contradicting state; never changed
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenLog {
    pub format_version: u32,
    /// URL of the server.
    pub url: String,
    /// The key that verified the log's notes.
    pub key: String,
    /// The signed note.
    pub note: String,
    /// When the log was first seen, RFC 3339 UTC.
    pub first_seen_at: String,
    pub seen_at: String,
}

/// Evidence that a log contradicts a previously seen log. Contains both notes, so that the evidence
/// can be shown to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEvidence {
    pub format_version: u32,
    pub url: String,
    pub reason: String,
    /// The state that the log was compared with, if a state was known.
    pub seen: Option<SeenLog>,
    /// The key that the server presents.
    pub shown_key: Option<String>,
    /// The checkpoint that the server sent.
    pub note: Option<String>,
}

fn folder(home: &Home) -> PathBuf {
    home.root().join("seen-logs")
}

fn file(home: &Home, url: &str) -> PathBuf {
    folder(home).join(format!("{}.json", Digest::sha256(url.as_bytes()).short(32)))
}

fn read(path: &std::path::Path) -> Result<Option<SeenLog>> {
    let bytes = match files::read_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        read => read.at("read", path)?,
    };
    let damaged = |reason: String| {
        Error::store(format!("{} {reason}", path.display()))
            .hint("it has the last seen state of a server's log: restore it from a backup; without it the log is trusted on first use again")
    };
    let seen: SeenLog =
        serde_json::from_slice(&bytes).map_err(|error| damaged(format!("is damaged: {error}")))?;
    match seen.format_version {
        SEEN_LOG_FORMAT_VERSION => Ok(Some(seen)),
        other => Err(damaged(format!(
            "has format {other}; this program reads {SEEN_LOG_FORMAT_VERSION}"
        ))),
    }
}

/// Returns the last seen state of a server's log.
///
/// # Errors
/// `Store`, when the state cannot be read or is damaged. A known log is never treated as a new log.
pub fn seen_log(home: &Home, url: &str) -> Result<Option<SeenLog>> {
    read(&file(home, url))
}

/// Returns the last seen states of all servers' logs, sorted by file name.
///
/// # Errors
/// Same as for [`seen_log`].
pub fn seen_logs(home: &Home) -> Result<Vec<SeenLog>> {
    let mut seen = Vec::new();
    for path in files(home)? {
        seen.extend(read(&path)?);
    }
    Ok(seen)
}

/// Returns the paths of the state files, sorted, without evidence files.
pub(super) fn files(home: &Home) -> Result<Vec<PathBuf>> {
    let folder = folder(home);
    let entries = match std::fs::read_dir(&folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.at("read folder", &folder)?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.at("read folder", &folder)?.path();
        files.extend(
            path.extension()
                .is_some_and(|extension| extension == "json")
                .then(|| path.clone()),
        );
    }
    files.sort();
    Ok(files)
}

/// Stores the last seen state of a log.
pub fn remember_log(home: &Home, seen: &SeenLog) -> Result<()> {
    durable::create_folder(&folder(home))?;
    let mut bytes = serde_json::to_vec_pretty(seen).expect("texts have a JSON form");
    bytes.push(b'\n');
    durable::write_file(&file(home, &seen.url), &bytes)
}

/// Stores evidence and returns the path of the evidence file. Equal evidence has the same file,
/// which is not rewritten.
pub fn keep_log_evidence(home: &Home, evidence: &LogEvidence) -> Result<PathBuf> {
    let folder = folder(home).join("evidence");
    durable::create_folder(&folder)?;
    let mut bytes = serde_json::to_vec_pretty(evidence).expect("texts have a JSON form");
    bytes.push(b'\n');
    let path = folder.join(format!("{}.json", Digest::sha256(&bytes).short(32)));
    match std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
    {
        Ok(mut file) => {
            file.write_all(&bytes)
                .and_then(|()| file.sync_all())
                .at("write", &path)?;
            durable::sync_folder(&folder)?;
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error).at("write", &path),
    }
    Ok(path)
}
