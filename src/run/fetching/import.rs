//! Imports and withdraws files that were downloaded manually because a publisher's site refuses
//! programs. Determines which of a source's files they are, and records who imported or withdrew
//! them, and when.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::Date;

use super::editions::files_of_source;
use super::listing::listed_files;
use super::requests::requests;
use crate::reporting::report::new_run_id;
use crate::settings::RunSettings;
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::pipeline::{Declaration, Declarations, Source, Variable, nearest};
use pubdata_core::provenance::{Obtained, Snapshot};
use pubdata_fetch::{Fetcher, Outcome, Request, is_within_reach, recorded_url};
use pubdata_store::{self as store, ImportedFile, LEDGER_FORMAT_VERSION, LedgerEntry, Snapshots};

/// A manually downloaded file to import.
#[derive(Debug, Clone)]
pub struct Import {
    pub source_id: String,
    pub file: PathBuf,
    /// The source's URL from which the file was downloaded.
    pub url: Option<String>,
    /// The publisher's date for the file.
    pub date: Option<Date>,
    /// Values of the URL variables.
    pub keys: BTreeMap<String, String>,
    pub by: String,
}

/// Result of an import.
#[derive(Debug, Clone)]
pub struct Imported {
    pub snapshot: Snapshot,
    /// `new`, `redated` if the same bytes were known under another date, or `unchanged`.
    pub outcome: &'static str,
}

/// The withdrawal of an imported file.
#[derive(Debug, Clone)]
pub struct Withdrawal {
    pub source_id: String,
    pub url: Option<String>,
    /// Values of the URL variables.
    pub keys: BTreeMap<String, String>,
    pub by: String,
}

/// Result of a withdrawal.
#[derive(Debug, Clone)]
pub struct Withdrawn {
    pub snapshot: Snapshot,
    /// The snapshot that is used instead. `None` if no snapshot existed before the import.
    pub instead: Option<Snapshot>,
}

/// Makes a file the snapshot of a source's URL, after the same checks as for a download, and
/// records the import in the ledger.
///
/// # Errors
/// Returns `Config` if it is not clear which file of the source is meant, `Fetch` if the file is
/// not of the declared kind, and `Busy` while a run is under way.
pub async fn import(settings: &RunSettings, import: &Import) -> Result<Imported> {
    refuse_pipe(&import.file)?;
    let _lock = settings.home.lock()?;
    let started_at = Timestamp::now();
    let today = settings
        .fetch
        .clock
        .now()
        .to_zoned(jiff::tz::TimeZone::UTC)
        .date();
    // The local date of an operator east of Greenwich may be a day ahead of UTC.
    if let Some(date) = import
        .date
        .filter(|date| today.tomorrow().is_ok_and(|tomorrow| *date > tomorrow))
    {
        return Err(Error::config(format!("--date {date} is in the future: the file would stay in use until the publisher has a newer one"))
            .hint("give the day on which the publisher made the file"));
    }
    if let Some(date) = import.date.filter(|date| date.year() < FIRST_YEAR) {
        return Err(
            Error::config(format!("--date {date} is before any publisher's file"))
                .hint("write it as YYYY-MM-DD"),
        );
    }
    let mut request = request(settings, import)?;
    request.source_date = import
        .date
        .map(|date| date.to_string())
        .or(request.source_date);
    let snapshots = Snapshots::open(&settings.home)?;
    let before = snapshots.known_url(&request.source_id, &recorded_url(&request.url)?);
    let fetcher = Fetcher::new(settings.fetch.clone(), snapshots)?;
    let (snapshot, is_new) = match fetcher.import(&request, &import.file).await? {
        Outcome::New(snapshot) => (snapshot, true),
        Outcome::Unchanged(snapshot) | Outcome::Reused(snapshot) => (snapshot, false),
        Outcome::Absent | Outcome::NotConfigured { .. } => {
            return Err(Error::config(format!(
                "there is no file {}",
                import.file.display()
            )));
        }
    };
    let is_redated = before
        .as_ref()
        .is_some_and(|before| before.snapshot.source_date != snapshot.source_date);
    let outcome = match (is_new, is_redated) {
        (true, _) => "new",
        (false, true) => "redated",
        (false, false) => "unchanged",
    };
    // If the same bytes are imported again, they replace the snapshot that their first import
    // replaced.
    let same = before.as_ref().filter(|before| {
        before.snapshot.obtained == Obtained::Manual && before.snapshot.sha256 == snapshot.sha256
    });
    let instead_of = match same {
        Some(same) => store::last_import_entry(&settings.home, &same.snapshot)?
            .and_then(|entry| entry.import?.instead_of),
        None => before,
    };
    let date = &snapshot.source_date;
    let note = format!(
        "{} imported {} as {} (sha256 {}, dated {date})",
        import.by, import.source_id, snapshot.url, snapshot.sha256
    );
    let file = imported_file(&snapshot, &import.by);
    write_down(
        settings,
        started_at,
        store::IMPORTED,
        note,
        ImportedFile { instead_of, ..file },
    )?;
    Ok(Imported { snapshot, outcome })
}

/// Refuses pipes, sockets and devices. They have no size and may never end, and the home is locked
/// while they are read.
fn refuse_pipe(path: &Path) -> Result<()> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => Err(Error::config(format!(
            "{} is a pipe, a socket or a device, not a file",
            path.display()
        ))
        .hint("save its output as a file and import the file")),
        _ => Ok(()),
    }
}

/// Withdraws an imported file, so that the earlier snapshot of its URL applies again. The file's
/// bytes are kept for the releases made from them, and the ledger keeps both the import and the
/// withdrawal.
///
/// # Errors
/// Returns `Config` if the source has no imported file in use, or if several files match, and
/// `Busy` while a run is under way.
pub fn withdraw(settings: &RunSettings, withdrawal: &Withdrawal) -> Result<Withdrawn> {
    let _lock = settings.home.lock()?;
    let started_at = Timestamp::now();
    let snapshots = Snapshots::open(&settings.home)?;
    let mut counting = snapshots.known_of_source(&withdrawal.source_id)?;
    counting.retain(|known| known.obtained == Obtained::Manual);
    let is_meant = |known: &Snapshot| {
        withdrawal.url.as_ref().is_none_or(|url| *url == known.url)
            && withdrawal
                .keys
                .iter()
                .all(|(name, value)| known.keys.get(name) == Some(value))
    };
    let (meant, others): (Vec<Snapshot>, Vec<Snapshot>) = counting.into_iter().partition(is_meant);
    let snapshot = match meant.as_slice() {
        [one] => one.clone(),
        several => return Err(unclear_withdrawal(&withdrawal.source_id, several, &others)),
    };
    let instead_of = store::last_import_entry(&settings.home, &snapshot)?
        .and_then(|entry| entry.import?.instead_of);
    snapshots.forget(&snapshot)?;
    if let Some(before) = &instead_of {
        snapshots.remember(before)?;
    }
    let instead = snapshots.known(&snapshot.source_id, &snapshot.url);
    let note = format!(
        "{} withdrew {} as {} (sha256 {})",
        withdrawal.by, snapshot.source_id, snapshot.url, snapshot.sha256
    );
    write_down(
        settings,
        started_at,
        store::WITHDRAWN,
        note,
        imported_file(&snapshot, &withdrawal.by),
    )?;
    Ok(Withdrawn { snapshot, instead })
}

fn unclear_withdrawal(source_id: &str, meant: &[Snapshot], others: &[Snapshot]) -> Error {
    let named = |files: &[Snapshot]| {
        files
            .iter()
            .map(|file| file.url.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    match (meant, others) {
        ([], []) => Error::config(format!(
            "source `{source_id}` has no imported file in use: there is nothing to withdraw"
        ))
        .hint("`pubdata status` lists the imported files in use and the newest imports"),
        ([], others) => Error::config(format!(
            "no imported file of source `{source_id}` matches --url and --key"
        ))
        .hint(format!("it has {}", named(others))),
        (several, _) => Error::config(format!(
            "source `{source_id}` has {} imported files: {}",
            several.len(),
            named(several)
        ))
        .hint("say with --url, or --key NAME=VALUE, which of them to withdraw"),
    }
}

fn imported_file(snapshot: &Snapshot, by: &str) -> ImportedFile {
    ImportedFile {
        source_id: snapshot.source_id.clone(),
        url: snapshot.url.clone(),
        sha256: snapshot.sha256,
        by: by.to_owned(),
        instead_of: None,
    }
}

fn write_down(
    settings: &RunSettings,
    started_at: Timestamp,
    outcome: &str,
    note: String,
    import: ImportedFile,
) -> Result<()> {
    let entry = LedgerEntry {
        format_version: LEDGER_FORMAT_VERSION,
        run_id: new_run_id(started_at)?,
        started_at: started_at.to_string(),
        ended_at: Timestamp::now().to_string(),
        exit_code: 0,
        channel: settings.channel.clone(),
        release_id: None,
        outcome: outcome.to_owned(),
        error: None,
        note: Some(note),
        accepted: Vec::new(),
        import: Some(import),
        fetched_bytes: None,
        disk: None,
        tasks: BTreeMap::new(),
    };
    store::append_ledger(&settings.home, &entry)
}

/// Returns the error for an unknown source, with suggestions of similar names.
pub fn unknown_source(declarations: &Declarations, source_id: &str) -> Error {
    let sources = || {
        declarations
            .pipelines
            .values()
            .flat_map(|declaration| &declaration.sources)
            .map(|source| source.source_id.as_str())
    };
    let last = |id: &str| id.rsplit('.').next().unwrap_or_default().to_owned();
    let mut near: Vec<&str> = sources()
        .filter(|known| known.contains(source_id) || source_id.contains(&last(known)))
        .collect();
    // Suggests names with similar spelling, and names with a missing or wrong family.
    near.extend(nearest(source_id, &sources().collect::<Vec<_>>()));
    near.extend(
        sources().filter(|known| nearest(&last(source_id), &[last(known).as_str()]).is_some()),
    );
    near.sort_unstable();
    near.dedup();
    let family = source_id.split('.').next().unwrap_or_default();
    if near.is_empty() {
        near = sources()
            .filter(|known| known.split('.').next() == Some(family))
            .collect();
    }
    let error = Error::config(format!("no declaration has a source `{source_id}`"));
    if near.is_empty() {
        return error.hint("a source is named FAMILY.NAME, as `source_id` in a declaration; `pubdata probe` lists them all");
    }
    near.truncate(MAX_SUGGESTED);
    error.hint(format!(
        "did you mean {}?",
        near.iter()
            .map(|near| format!("`{near}`"))
            .collect::<Vec<_>>()
            .join(" or ")
    ))
}

/// Earliest year for which publishers have files.
const FIRST_YEAR: i16 = 1900;

/// Maximum number of names that are useful as a suggestion.
const MAX_SUGGESTED: usize = 8;

/// Determines which of the source's files is imported.
fn request(settings: &RunSettings, import: &Import) -> Result<Request> {
    let (owner, source) = settings
        .declarations
        .source(&import.source_id)
        .ok_or_else(|| unknown_source(&settings.declarations, &import.source_id))?;
    if source.pages.is_some() || source.url.starts_with("bundled:") {
        return Err(Error::config(format!(
            "source `{}` is not a single file that could be downloaded",
            import.source_id
        )));
    }
    let is_meant = |request: &Request| -> Result<bool> {
        let url = recorded_url(&request.url)?;
        let is_url = import
            .url
            .as_ref()
            .is_none_or(|meant| *meant == url || *meant == request.url);
        Ok(is_url
            && import
                .keys
                .iter()
                .all(|(name, value)| request.keys.get(name) == Some(value)))
    };
    let mut meant: BTreeMap<String, Request> = BTreeMap::new();
    for request in files(settings, owner, source, import)? {
        if is_meant(&request)? {
            meant.insert(request.url.clone(), request);
        }
    }
    match (meant.pop_first(), meant.len()) {
        (Some((_, request)), 0) => Ok(request),
        (None, _) => Err(no_such_file(source, import)),
        (Some((first, _)), others) => Err(Error::config(format!(
            "source `{}` has {} files, such as {first}",
            import.source_id,
            others + 1
        ))
        .hint("say with --url, or --key NAME=VALUE, which of them it is")),
    }
}

fn no_such_file(source: &Source, import: &Import) -> Error {
    let meant: Vec<String> = import
        .url
        .iter()
        .cloned()
        .chain(
            import
                .keys
                .iter()
                .map(|(name, value)| format!("{name}={value}")),
        )
        .collect();
    let error = Error::config(format!(
        "`{}` is no file that source `{}` has now",
        meant.join(" "),
        source.source_id
    ));
    match &source.listing {
        Some(listing) => error.hint(format!(
            "its files are linked from {} under names of the form `{}`",
            source.url, listing.pattern
        )),
        None => error.hint(format!(
            "its address is {}; --key NAME=VALUE names the variables in it",
            source.url
        )),
    }
}

/// Refuses a URL on a host to which the publisher's page would not lead, because a file from such a
/// host is not the publisher's.
fn check_host(source: &Source, url: &str) -> Result<()> {
    let otherwise = source.listing.iter().flat_map(|listing| &listing.otherwise);
    let declared: Vec<&str> = [source.url.as_str()]
        .into_iter()
        .chain(otherwise.map(String::as_str))
        .collect();
    if declared
        .iter()
        .any(|first| is_within_reach(first, &source.redirects, url))
    {
        return Ok(());
    }
    let host = |address: &str| {
        address
            .split_once("://")
            .map_or("", |(_, rest)| rest.split('/').next().unwrap_or_default())
            .to_owned()
    };
    let mut hosts: Vec<String> = declared
        .iter()
        .map(|address| host(address))
        .chain(source.redirects.iter().cloned())
        .collect();
    hosts.dedup();
    Err(Error::config(format!(
        "{url} is not an address of source `{}`: its files are on {} (https), and in the same domain",
        source.source_id,
        hosts.join(", ")
    ))
    .hint("give the address of the link on the publisher's page; if the publisher keeps its files elsewhere now, name the host in the source's `redirects`"))
}

/// Returns the current files of a source.
fn files(
    settings: &RunSettings,
    owner: &Declaration,
    source: &Source,
    import: &Import,
) -> Result<Vec<Request>> {
    if source.listing.is_some() {
        let url = import.url.clone().ok_or_else(|| {
            Error::config(format!(
                "the files of source `{}` are found on {}",
                source.source_id, source.url
            ))
            .hint("give --url: the address of the link that was followed")
        })?;
        check_host(source, &url)?;
        return Ok(listed_files(source, &[url])?
            .into_iter()
            .map(|target| target.request)
            .collect());
    }
    if let Some(variable) = &source.on_demand {
        let value = import.keys.get(variable).ok_or_else(|| {
            Error::config(format!(
                "say which `{variable}` it is of: --key {variable}=…"
            ))
        })?;
        let one = Source {
            variables: [(variable.clone(), Variable::Values(vec![value.clone()]))].into(),
            ..source.clone()
        };
        return Ok(requests(settings, owner, &one, None)?
            .into_iter()
            .map(|target| target.request)
            .collect());
    }
    let newest = owner.newest_partition(settings.fetch.clock.now())?;
    let partitions: Vec<Option<String>> = match &owner.partition {
        Some(range) => newest
            .map(|to| {
                (range.from..=to)
                    .map(|value| Some(value.to_string()))
                    .collect()
            })
            .unwrap_or_default(),
        None => vec![None],
    };
    let mut files = Vec::new();
    for partition in partitions {
        let (of_partition, _) = files_of_source(settings, owner, source, partition.as_deref())
            .context(|| format!("source {}", source.source_id))?;
        files.extend(of_partition.into_iter().map(|target| target.request));
    }
    Ok(files)
}
