//! Reports the format versions of the files in a home and in a store, and how this program treats
//! each version.

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};

use object_store::path::Path;
use schemars::JsonSchema;
use serde::Serialize;

use super::home::HOME_FORMAT_VERSION;
use super::{
    ACCEPTANCE_FORMAT_VERSION, CHANNEL_FORMAT_VERSION, EVENT_FORMAT_VERSION, Home,
    LEDGER_FORMAT_VERSION, MANIFEST_FORMAT_VERSION, Manifest, PART_FORMAT_VERSION, Releases,
    STALE_TASKS_FORMAT_VERSION, copies, events, files, keys, seen_logs, snapshots,
};
use pubdata_core::error::{IoExt, Result};

/// Report about one kind of file, with the formats that were found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FormatReport {
    /// Name of the kind of file.
    pub name: &'static str,
    /// Path relative to the home or the store of releases; empty for the home itself.
    pub place: &'static str,
    /// The newest format that this program reads. The program writes this format.
    #[schemars(range(min = 1))]
    pub newest: u32,
    /// Number of files, lines or builds by format; `0` counts unreadable items.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub found: BTreeMap<u32, u64>,
    /// How the program treats these files.
    pub treatment: Treatment,
}

/// How this program treats files in the formats found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Treatment {
    /// No such files exist.
    Absent,
    /// The program reads the files as they are and does not rewrite them.
    Read,
    /// The program rebuilds files in another format when they are needed, without losing data.
    MadeAgain,
    /// The program rejects the files; a newer version of the program is needed.
    Refused,
}

/// Treatment of files in another format: kept or rebuilt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Kept,
    Made,
}

type Versions = BTreeMap<u32, u64>;

fn report(
    name: &'static str,
    place: &'static str,
    newest: u32,
    kind: Kind,
    found: Versions,
) -> FormatReport {
    let is_read = found.keys().all(|version| (1..=newest).contains(version));
    let treatment = match (found.is_empty(), is_read, kind) {
        (true, ..) => Treatment::Absent,
        (_, true, _) => Treatment::Read,
        (_, false, Kind::Kept) => Treatment::Refused,
        (_, false, Kind::Made) => Treatment::MadeAgain,
    };
    FormatReport {
        name,
        place,
        newest,
        found,
        treatment,
    }
}

/// The newest formats of files that are not in any release yet.
#[derive(Debug, Clone, Copy)]
pub struct StagedFormats {
    pub build: u32,
    pub plan: u32,
    pub receipt: u32,
}

/// Reports the format of every versioned file.
pub async fn formats(
    home: &Home,
    releases: &Releases,
    staged: StagedFormats,
) -> Result<Vec<FormatReport>> {
    let state = home.state_dir();
    let (mut manifests, mut parts) = (Versions::new(), Versions::new());
    for id in releases.list().await? {
        let bytes = releases.manifest_bytes(&id).await?;
        count(&mut manifests, &bytes);
        if let Ok(manifest) = Manifest::from_json(&bytes) {
            manifest
                .tasks
                .values()
                .for_each(|task| *parts.entry(task.part_format()).or_insert(0) += 1);
        }
    }
    let (channels, stale_tasks) = (
        of_folder(releases, "channels").await?,
        of_folder(releases, "unrenewed").await?,
    );
    let (plans, receipts) = (
        of_folder(releases, "plans").await?,
        of_named(releases, "staging", "unit.json").await?,
    );
    let segments = files_below(&home.stream_dir().join("log"))?;
    let mut reports = vec![
        // A home with a newer format is rejected when it is opened.
        report(
            "home",
            "",
            HOME_FORMAT_VERSION,
            Kind::Kept,
            [(HOME_FORMAT_VERSION, 1)].into(),
        ),
        report(
            "ledger",
            "ledger.jsonl",
            LEDGER_FORMAT_VERSION,
            Kind::Kept,
            of_lines(&home.ledger_file())?,
        ),
        report(
            "acceptances",
            "accepted.jsonl",
            ACCEPTANCE_FORMAT_VERSION,
            Kind::Kept,
            of_lines(&home.accepted_file())?,
        ),
        report(
            "API keys",
            "keys.json",
            keys::FORMAT_VERSION,
            Kind::Kept,
            of_files(&[home.keys_file()])?,
        ),
        report(
            "channels",
            "channels/",
            CHANNEL_FORMAT_VERSION,
            Kind::Kept,
            channels,
        ),
        report(
            "what was not renewed",
            "unrenewed/",
            STALE_TASKS_FORMAT_VERSION,
            Kind::Made,
            stale_tasks,
        ),
        report(
            "manifests",
            "releases/*/manifest.json",
            MANIFEST_FORMAT_VERSION,
            Kind::Kept,
            manifests,
        ),
        report(
            "parts of builds",
            "releases/*/*/*.parquet",
            PART_FORMAT_VERSION,
            Kind::Kept,
            parts,
        ),
        report(
            "logs of servers",
            "seen-logs/",
            seen_logs::SEEN_LOG_FORMAT_VERSION,
            Kind::Kept,
            of_files(&seen_logs::files(home)?)?,
        ),
        report(
            "event log",
            "stream/log/",
            EVENT_FORMAT_VERSION,
            Kind::Kept,
            of_first_lines(&segments)?,
        ),
        report(
            "state of the feeds",
            "stream/state.json",
            events::STATE_FORMAT_VERSION,
            Kind::Kept,
            of_files(&[home.stream_dir().join("state.json")])?,
        ),
        report(
            "state of URLs",
            "state/urls/",
            snapshots::URL_STATE_FORMAT_VERSION,
            Kind::Made,
            of_files(&files_below(&state.join("urls"))?)?,
        ),
        report(
            "copies of parts",
            "state/tables/",
            copies::FORMAT_VERSION,
            Kind::Made,
            of_copies(&state.join("tables"))?,
        ),
        report("plans", "plans/", staged.plan, Kind::Made, plans),
        report(
            "receipts of units",
            "staging/*/*/unit.json",
            staged.receipt,
            Kind::Made,
            receipts,
        ),
        report(
            "staged builds",
            "staging/",
            staged.build,
            Kind::Made,
            of_files(&named(&files_below(&home.staging_dir())?, "build.json"))?,
        ),
    ];
    if !releases.store.is_home(home) {
        reports.push(report(
            "API keys of the store",
            "keys/",
            keys::FORMAT_VERSION,
            Kind::Kept,
            of_folder(releases, "keys").await?,
        ));
        reports.push(report(
            "event log of the store",
            "stream/log/",
            EVENT_FORMAT_VERSION,
            Kind::Made,
            of_batches(releases).await?,
        ));
    }
    Ok(reports)
}

async fn of_folder(releases: &Releases, folder: &str) -> Result<Versions> {
    of_named(releases, folder, ".json").await
}

/// Counts the formats of the files in a folder with the given suffix.
async fn of_named(releases: &Releases, folder: &str, ending: &str) -> Result<Versions> {
    let mut versions = Versions::new();
    for file in releases
        .store
        .list(&Path::from(folder))
        .await?
        .into_iter()
        .filter(|file| file.key.ends_with(ending))
    {
        if let Some(bytes) = releases.store.read(&Path::from(file.key)).await? {
            count(&mut versions, &bytes);
        }
    }
    Ok(versions)
}

/// Counts the formats of event batches. Batches have no header. A batch that begins with an event
/// has the first format.
async fn of_batches(releases: &Releases) -> Result<Versions> {
    let mut versions = Versions::new();
    for file in releases.store.list(&Path::from("stream/log")).await? {
        let batch = releases
            .store
            .read(&Path::from(file.key))
            .await?
            .unwrap_or_default();
        let first = batch
            .split(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        *versions
            .entry(u32::from(
                serde_json::from_slice::<events::Line>(first).is_ok(),
            ))
            .or_insert(0) += 1;
    }
    Ok(versions)
}

fn count(versions: &mut Versions, bytes: &[u8]) {
    let value: serde_json::Value = serde_json::from_slice(bytes).unwrap_or_default();
    let version = value["format_version"]
        .as_u64()
        .and_then(|version| u32::try_from(version).ok())
        .unwrap_or(0);
    *versions.entry(version).or_insert(0) += 1;
}

fn of_files(paths: &[PathBuf]) -> Result<Versions> {
    let mut versions = Versions::new();
    for path in paths {
        match files::read_file(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            read => count(&mut versions, &read.at("read", path)?),
        }
    }
    Ok(versions)
}

/// Counts the formats of a file's complete lines.
fn of_lines(path: &FilePath) -> Result<Versions> {
    let text = match files::read_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Versions::new()),
        read => read.at("read", path)?,
    };
    let mut versions = Versions::new();
    text.split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.ends_with(b"\n"))
        .for_each(|line| count(&mut versions, line));
    Ok(versions)
}

/// Counts the formats of log segments, which state their format in the first line.
fn of_first_lines(paths: &[PathBuf]) -> Result<Versions> {
    let mut versions = Versions::new();
    for path in paths {
        let text = files::read_file(path).at("read", path)?;
        count(
            &mut versions,
            text.split(|byte| *byte == b'\n').next().unwrap_or_default(),
        );
    }
    Ok(versions)
}

/// Counts the copies by format. Their names contain the format, and only the current format is
/// read.
fn of_copies(folder: &FilePath) -> Result<Versions> {
    let copies = files_below(folder)?.len() as u64;
    Ok(if copies == 0 {
        Versions::new()
    } else {
        [(copies::FORMAT_VERSION, copies)].into()
    })
}

fn named(paths: &[PathBuf], name: &str) -> Vec<PathBuf> {
    paths
        .iter()
        .filter(|path| path.file_name().is_some_and(|own| own == name))
        .cloned()
        .collect()
}

/// Returns all files below a folder, sorted; empty if the folder does not exist.
fn files_below(folder: &FilePath) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            entries => entries.at("read folder", &folder)?,
        };
        for entry in entries {
            let path = entry.at("read folder", &folder)?.path();
            if path.is_dir() {
                open.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}
