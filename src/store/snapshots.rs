//! Stores publishers' files, named by their content, and the known state of each URL. Losing a
//! URL's state costs a download but never leads to a wrong result.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::blocks::{self, BlockSums};
use super::files::{self, read_file};
use super::{Home, Partial};
use pubdata_core::error::{Error, IoExt, Result};
use pubdata_core::ids::Digest;
use pubdata_core::provenance::Snapshot;

/// Format of the files below `state/urls`. A file in a newer format counts as absent.
pub(super) const URL_STATE_FORMAT_VERSION: u32 = 1;

/// Maximum length of a response header to store. An ETag has about forty bytes.
pub const MAX_HEADER_BYTES: usize = 512;

/// Store of publishers' files, named by their content, and of the known state of each URL.
///
/// ```text
/// HOME/snapshots/<source_id>/<sha256>-<file name>   the bytes, read-only; nothing else is here
/// HOME/state/urls/<hash>.json                       the newest snapshot of a source's URL
/// HOME/state/partial/<hash>.part, <hash>.json       a download in progress, and the publisher's file it belongs to
/// ```
///
/// A snapshot that has its final name is complete: the bytes are written to a temporary file,
/// synced, and then renamed. The URL state is only a cache. Losing it costs a download but never
/// leads to a wrong result.
#[derive(Debug, Clone)]
pub struct Snapshots {
    pub(super) snapshots_dir: PathBuf,
    urls_dir: PathBuf,
    partial_dir: PathBuf,
    blocks_dir: PathBuf,
}

/// State of one URL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownUrl {
    pub snapshot: Snapshot,
    /// Origin of the bytes: the URL itself, or a location on a mirror. ETags and dates are valid
    /// only at this origin.
    pub origin: String,
    /// Stamp of the file, if the origin is a file with a reliable stamp.
    pub stamp: Option<FileStamp>,
    /// True if neither the transfer nor the end of the bytes proves that the file is complete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_length_unknown: bool,
    /// The publisher's date for the bytes, if that date is after the day of the fetch and is
    /// therefore ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub future_date: Option<String>,
    /// The change date that the publisher's document stated at the last fetch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated: Option<KnownChange>,
}

/// A file's last change according to a publisher's document, as of the last fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownChange {
    /// Time of the change, in seconds since 1970-01-01.
    pub seconds: i64,
    /// Time of the last fetch, in seconds since 1970-01-01.
    pub fetched_seconds: i64,
    /// Number of runs since the last fetch that reused the file.
    pub reused_runs: u32,
    /// True if the bytes changed although the stated time did not.
    pub is_contradicted: bool,
}

impl KnownUrl {
    /// Removes values that earlier versions accepted: a date after the day of the fetch, and
    /// overlong headers.
    fn without_invalid_values(mut self) -> Self {
        let snapshot = &mut self.snapshot;
        if let Some(day) = snapshot
            .day_of_fetch()
            .filter(|_| snapshot.has_future_date())
        {
            self.future_date = Some(std::mem::replace(
                &mut snapshot.source_date,
                day.to_string(),
            ));
        }
        snapshot.etag.take_if(|etag| etag.len() > MAX_HEADER_BYTES);
        snapshot
            .last_modified
            .take_if(|date| date.len() > MAX_HEADER_BYTES);
        self
    }
}

/// File system metadata that changes whenever the file's bytes change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    pub size_bytes: u64,
    /// Modification time in nanoseconds since 1970-01-01.
    pub modified_ns: i64,
    /// Time of the last change to content or attributes, on systems that record it. It reveals a
    /// file that was rewritten but kept its modification time.
    pub changed_ns: i64,
}

/// A file in the snapshot folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSnapshot {
    pub source_id: String,
    pub sha256: Digest,
    pub path: PathBuf,
    pub size_bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct UrlState {
    format_version: u32,
    #[serde(flatten)]
    known: KnownUrl,
}

impl Snapshots {
    /// Opens the snapshot store of a home, creating its folders.
    pub fn open(home: &Home) -> Result<Self> {
        let snapshots = Self::look(home);
        for folder in [
            &snapshots.snapshots_dir,
            &snapshots.urls_dir,
            &snapshots.partial_dir,
            &snapshots.blocks_dir,
        ] {
            fs::create_dir_all(folder).at("create folder", folder)?;
        }
        Ok(snapshots)
    }

    /// Opens the snapshot store of a home for reading only, without creating folders.
    pub fn look(home: &Home) -> Self {
        let state_dir = home.state_dir();
        let below = |name: &str| state_dir.join(name);
        Self {
            snapshots_dir: home.snapshots_dir(),
            urls_dir: below("urls"),
            partial_dir: below("partial"),
            blocks_dir: below("blocks"),
        }
    }

    /// Returns the newest snapshot of a source's URL, which is given without secrets. Returns
    /// `None` if the snapshot's file is missing or has a different size.
    pub fn known(&self, source_id: &str, url: &str) -> Option<Snapshot> {
        self.known_url(source_id, url).map(|known| known.snapshot)
    }

    /// Returns the newest snapshot as [`Snapshots::known`] does, together with the state of the
    /// URL.
    pub fn known_url(&self, source_id: &str, url: &str) -> Option<KnownUrl> {
        let path = self.url_state_file(source_id, url);
        let bytes = read_file(&path).ok()?;
        let known = match serde_json::from_slice::<UrlState>(&bytes) {
            Ok(state) if state.format_version == URL_STATE_FORMAT_VERSION => {
                state.known.without_invalid_values()
            }
            Ok(state) => {
                tracing::warn!(path = %path.display(), format_version = state.format_version, "state of a URL has an unknown format; fetching it again");
                return None;
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "state of a URL is not readable; fetching it again");
                return None;
            }
        };
        let metadata = fs::metadata(self.path(&known.snapshot)).ok()?;
        (metadata.is_file() && metadata.len() == known.snapshot.size_bytes).then_some(known)
    }

    /// Returns the newest snapshot of every URL of a source, sorted by keys.
    pub fn known_of_source(&self, source_id: &str) -> Result<Vec<Snapshot>> {
        let mut snapshots = Vec::new();
        for path in self.url_states()? {
            let bytes = read_file(&path).at("read", &path)?;
            let state = serde_json::from_slice::<UrlState>(&bytes)
                .ok()
                .filter(|state| state.known.snapshot.source_id == source_id);
            snapshots
                .extend(state.and_then(|state| self.known(source_id, &state.known.snapshot.url)));
        }
        snapshots.sort_by(|a, b| a.keys.cmp(&b.keys));
        Ok(snapshots)
    }

    /// Returns the newest snapshot of every URL, sorted by keys, and the errors for states that
    /// cannot be read.
    pub fn readable(&self) -> Result<(Vec<Snapshot>, Vec<Error>)> {
        let (mut snapshots, mut unreadable) = (Vec::new(), Vec::new());
        for path in self.url_states()? {
            match read_file(&path).at("read", &path) {
                Ok(bytes) => {
                    let state = serde_json::from_slice::<UrlState>(&bytes)
                        .ok()
                        .map(|state| state.known.snapshot);
                    snapshots.extend(
                        state.and_then(|snapshot| self.known(&snapshot.source_id, &snapshot.url)),
                    );
                }
                Err(error) => unreadable.push(error),
            }
        }
        snapshots.sort_by(|a, b| a.keys.cmp(&b.keys));
        Ok((snapshots, unreadable))
    }

    /// Returns the digests of the newest snapshots of all URLs.
    pub fn newest(&self) -> Result<std::collections::BTreeSet<Digest>> {
        let mut newest = std::collections::BTreeSet::new();
        for path in self.url_states()? {
            let bytes = read_file(&path).at("read", &path)?;
            newest.extend(
                serde_json::from_slice::<UrlState>(&bytes)
                    .ok()
                    .map(|state| state.known.snapshot.sha256),
            );
        }
        Ok(newest)
    }

    /// Returns the paths of all URL state files, without temporary files left by killed processes.
    fn url_states(&self) -> Result<Vec<PathBuf>> {
        let is_state = |path: &PathBuf| path.extension() == Some(OsStr::new("json"));
        Ok(files_of(&self.urls_dir)?
            .into_iter()
            .filter(is_state)
            .collect())
    }

    /// Returns the path of a snapshot's file, which need not exist.
    pub fn path(&self, snapshot: &Snapshot) -> PathBuf {
        self.source_dir(&snapshot.source_id).join(format!(
            "{}-{}",
            snapshot.sha256,
            file_name(&snapshot.url, &snapshot.keys)
        ))
    }

    /// Finds a snapshot by its digest alone, as provenance names it.
    pub fn find(&self, source_id: &str, sha256: &Digest) -> Result<Option<PathBuf>> {
        let folder = self.source_dir(source_id);
        let mut paths: Vec<PathBuf> = files_of(&folder)?
            .into_iter()
            .filter(|path| digest_of_name(path) == Some(*sha256) && path.is_file())
            .collect();
        paths.sort();
        Ok(paths.into_iter().next())
    }

    /// Returns all snapshots, sorted by source and digest.
    ///
    /// # Errors
    /// `Store`, when a folder cannot be read or contains something that is not a snapshot.
    pub fn all(&self) -> Result<Vec<StoredSnapshot>> {
        let mut snapshots = Vec::new();
        for folder in files_of(&self.snapshots_dir)? {
            let source_id = folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            for path in files_of(&folder)? {
                let sha256 = digest_of_name(&path).ok_or_else(|| {
                    Error::store(format!(
                        "{} is not a snapshot: its name does not begin with a digest",
                        path.display()
                    ))
                    .hint("move the file away")
                })?;
                let size_bytes = fs::metadata(&path).at("read", &path)?.len();
                snapshots.push(StoredSnapshot {
                    source_id: source_id.clone(),
                    sha256,
                    path,
                    size_bytes,
                });
            }
        }
        snapshots.sort_by(|a, b| {
            (&a.source_id, a.sha256, &a.path).cmp(&(&b.source_id, b.sha256, &b.path))
        });
        Ok(snapshots)
    }

    /// Deletes a snapshot. The snapshot's URL then counts as never fetched.
    pub fn remove(&self, snapshot: &StoredSnapshot) -> Result<()> {
        fs::remove_file(&snapshot.path).at("delete", &snapshot.path)?;
        match fs::remove_file(self.blocks_file(&snapshot.sha256)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).at("delete", &self.blocks_file(&snapshot.sha256))
            }
            _ => Ok(()),
        }
    }

    /// Opens the download for a source's URL, resuming a download in progress or starting a new
    /// one.
    ///
    /// # Errors
    /// `Busy`, when another process is downloading the URL; `Store`, when the download cannot be
    /// opened.
    pub fn partial(&self, source_id: &str, url: &str) -> Result<Partial> {
        Partial::open(&self.partial_dir, &name_of(source_id, url))
    }

    /// Turns a finished download into a snapshot: syncs the file, makes it read-only, renames it,
    /// and stores the state of its URL. An existing file is replaced by the same bytes, which also
    /// repairs a damaged file.
    ///
    /// # Errors
    /// `Store`, when a step fails or when `known` does not describe the bytes. Existing snapshots
    /// remain unchanged.
    pub fn accept(&self, partial: Partial, known: &KnownUrl) -> Result<()> {
        self.keep(partial, &known.snapshot)?;
        self.remember(known)
    }

    /// Turns a finished download into a snapshot without storing a URL state.
    pub(super) fn keep(&self, partial: Partial, snapshot: &Snapshot) -> Result<()> {
        if partial.digest() != snapshot.sha256 || partial.len() != snapshot.size_bytes {
            return Err(Error::store(format!(
                "downloaded bytes are not the snapshot {} of {}",
                snapshot.sha256, snapshot.url
            )));
        }
        let folder = self.source_dir(&snapshot.source_id);
        fs::create_dir_all(&folder).at("create folder", &folder)?;
        write_json(&self.blocks_file(&snapshot.sha256), &partial.block_sums())?;
        partial.move_to(&self.path(snapshot))?;
        File::open(&folder)
            .and_then(|folder| folder.sync_all())
            .at("sync folder", &folder)
    }

    /// Deletes the state of a snapshot's URL, so that the next fetch requests the entire file
    /// unconditionally.
    pub fn forget(&self, snapshot: &Snapshot) -> Result<()> {
        let path = self.url_state_file(&snapshot.source_id, &snapshot.url);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).at("delete", &path)
            }
            _ => Ok(()),
        }
    }

    /// Stores the state of a URL whose snapshot is already stored.
    pub fn remember(&self, known: &KnownUrl) -> Result<()> {
        let path = self.url_state_file(&known.snapshot.source_id, &known.snapshot.url);
        let state = UrlState {
            format_version: URL_STATE_FORMAT_VERSION,
            known: known.clone(),
        };
        write_json(&path, &state)
    }

    /// Returns a message saying that a snapshot's file is missing or is not a regular file.
    pub fn absence(&self, snapshot: &Snapshot) -> String {
        let path = self.path(snapshot);
        let what = if path.exists() {
            "cannot be read: it is not a regular file"
        } else {
            "is gone"
        };
        format!(
            "snapshot {} {what} (fetched from {})",
            path.display(),
            snapshot.url
        )
    }

    /// Returns a description of the damage to a snapshot's file: the file is missing, or the listed
    /// byte ranges differ from the fetched bytes. Returns `None` if the file is intact.
    pub fn damage(&self, snapshot: &Snapshot) -> Result<Option<String>> {
        let path = self.path(snapshot);
        if !path.is_file() {
            return Ok(Some(self.absence(snapshot)));
        }
        let hasher = blocks::hash_file(&path)?;
        if hasher.digest() == snapshot.sha256 {
            return Ok(None);
        }
        let known = read_file(&self.blocks_file(&snapshot.sha256))
            .ok()
            .and_then(|bytes| serde_json::from_slice::<BlockSums>(&bytes).ok());
        let place = known
            .map(|known| known.differences(&hasher.sums()))
            .filter(|ranges| !ranges.is_empty())
            .map_or_else(String::new, |ranges| {
                let ranges: Vec<String> = ranges
                    .iter()
                    .take(5)
                    .map(|(start, end)| format!("{start} to {end}"))
                    .collect();
                format!(", changed within bytes {}", ranges.join(", "))
            });
        Ok(Some(format!(
            "snapshot {} is not what was fetched from {}: its SHA-256 is no longer {}{place}",
            path.display(),
            snapshot.url,
            snapshot.sha256
        )))
    }

    fn blocks_file(&self, sha256: &Digest) -> PathBuf {
        self.blocks_dir.join(format!("{sha256}.json"))
    }

    fn source_dir(&self, source_id: &str) -> PathBuf {
        self.snapshots_dir.join(sanitised(source_id))
    }

    fn url_state_file(&self, source_id: &str, url: &str) -> PathBuf {
        self.urls_dir
            .join(format!("{}.json", name_of(source_id, url)))
    }
}

/// Writes a small file, which other processes see either completely or not at all.
pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| Error::store(format!("cannot write {}: {error}", path.display())))?;
    bytes.push(b'\n');
    let aside = path.with_extension("json.new");
    files::open_with(
        OpenOptions::new().create(true).truncate(true).write(true),
        &aside,
    )
    .and_then(|mut file| file.write_all(&bytes))
    .at("write", &aside)?;
    fs::rename(&aside, path).at("rename to", path)
}

fn name_of(source_id: &str, url: &str) -> String {
    Digest::sha256(format!("{source_id}\n{url}").as_bytes()).short(40)
}

/// Returns the entries of a folder; empty if the folder does not exist.
fn files_of(folder: &Path) -> Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries
            .at("read folder", folder)?
            .map(|entry| Ok(entry.at("read folder", folder)?.path()))
            .collect(),
    }
}

fn digest_of_name(path: &Path) -> Option<Digest> {
    path.file_name()
        .and_then(OsStr::to_str)?
        .split_once('-')?
        .0
        .parse()
        .ok()
}

/// Returns the last path segment of the URL. If the query distinguishes files, the values of the
/// keys are inserted before the file extension.
fn file_name(url: &str, keys: &BTreeMap<String, String>) -> String {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let name = path
        .rsplit(['/', ':'])
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or("index.html");
    if query.is_empty() || keys.is_empty() {
        return sanitised(name);
    }
    let tag: String = keys
        .values()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join("-")
        .chars()
        .take(60)
        .collect();
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => {
            sanitised(&format!("{stem}-{tag}.{extension}"))
        }
        _ => sanitised(&format!("{name}-{tag}")),
    }
}

/// Returns a name that is a single path segment on every file system: no separators, no leading
/// dot, and at most 120 bytes.
fn sanitised(name: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    let name: String = name
        .chars()
        .take(120)
        .map(|character| if is_plain(character) { character } else { '_' })
        .collect();
    match name.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None if name.is_empty() => "_".to_owned(),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_one_plain_segment() {
        let keys = BTreeMap::from([
            (
                "fields".to_owned(),
                "S1701_C03_001E,S1701_C03_001M".to_owned(),
            ),
            ("vintage".to_owned(), "2023".to_owned()),
        ]);
        let check = |url: &str, expected: &str| assert_eq!(file_name(url, &keys), expected);
        check(
            "https://www2.census.gov/a/acsdt5y2023-b01003.dat",
            "acsdt5y2023-b01003.dat",
        );
        check(
            "https://api.census.gov/data/2023/acs/acs5/subject?get=NAME&for=county:*",
            "subject-S1701_C03_001E_S1701_C03_001M-2023",
        );
        check(
            "https://data.example/rows.csv?accessType=DOWNLOAD",
            "rows-S1701_C03_001E_S1701_C03_001M-2023.csv",
        );
        check("https://data.example/list/", "index.html");
        check("https://data.example/..", "_.");
        check("https://data.example/a%2F..%2Fb", "a_2F.._2Fb");
        check("bundled:census/map.csv", "map.csv");
    }
}
