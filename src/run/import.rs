//! Files that a person downloaded because a publisher's site refuses programs: which file of a source they are, and when they count.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use jiff::civil::Date;

use super::RunSettings;
use super::editions::files_of_source;
use super::execute::new_run_id;
use super::requests::{Fetched, listed_files, requests};
use crate::error::{Error, Result, ResultExt};
use crate::fetch::{Fetcher, Outcome, Request, recorded_url};
use crate::pipeline::{Declaration, Source, Variable};
use crate::provenance::{Obtained, Snapshot};
use crate::store::{self, LEDGER_FORMAT_VERSION, LedgerEntry, Snapshots};

/// A file that a person has downloaded.
#[derive(Debug, Clone)]
pub struct Import {
    pub source_id: String,
    pub file: PathBuf,
    /// Which of the source's addresses it is from.
    pub url: Option<String>,
    /// The publisher's date of it.
    pub date: Option<Date>,
    /// Values of the address's variables.
    pub keys: BTreeMap<String, String>,
    pub by: String,
}

/// Makes a file the snapshot of a source's address, after the checks of a download, and writes into the ledger who did it. The outcome says
/// whether its bytes are new.
///
/// # Errors
/// `Config`, when it is not clear which file of the source it is; `Fetch`, when it is not of the declared kind; `Busy`, while a run is under way.
pub async fn import(settings: &RunSettings, import: &Import) -> Result<Outcome> {
    let _lock = settings.home.lock()?;
    let started_at = Timestamp::now();
    let today = settings.fetch.clock.now().to_zoned(jiff::tz::TimeZone::UTC).date();
    // A person east of Greenwich may be a day ahead.
    if let Some(date) = import.date.filter(|date| today.tomorrow().is_ok_and(|tomorrow| *date > tomorrow)) {
        return Err(Error::config(format!("--date {date} is not here yet: a file with it would stand until the publisher has a newer one")));
    }
    let mut request = request(settings, import)?;
    request.source_date = import.date.map(|date| date.to_string()).or(request.source_date);
    let fetcher = Fetcher::new(settings.fetch.clone(), Snapshots::open(&settings.home)?)?;
    let outcome = fetcher.import(&request, &import.file).await?;
    if let Outcome::New(snapshot) | Outcome::Unchanged(snapshot) = &outcome {
        let note = format!("{} imported {} as {} (sha256 {})", import.by, import.source_id, snapshot.url, snapshot.sha256);
        let entry = LedgerEntry {
            format_version: LEDGER_FORMAT_VERSION,
            run_id: new_run_id(started_at)?,
            started_at: started_at.to_string(),
            ended_at: Timestamp::now().to_string(),
            exit_code: 0,
            channel: settings.channel.clone(),
            release_id: None,
            outcome: store::IMPORTED.to_owned(),
            error: None,
            note: Some(note),
            tasks: BTreeMap::new(),
        };
        store::append_ledger(&settings.home, &entry)?;
    }
    Ok(outcome)
}

/// The file of the source that is meant.
fn request(settings: &RunSettings, import: &Import) -> Result<Request> {
    let (owner, source) = settings.declarations.source(&import.source_id).ok_or_else(|| {
        Error::config(format!("no declaration has a source `{}`", import.source_id)).hint("`pubdata check` proves the declarations; sources are in them")
    })?;
    if source.pages.is_some() || source.url.starts_with("bundled:") {
        return Err(Error::config(format!("source `{}` is not one file that a person could download", import.source_id)));
    }
    let is_meant = |request: &Request| -> Result<bool> {
        let url = recorded_url(&request.url)?;
        let is_url = import.url.as_ref().is_none_or(|meant| *meant == url || *meant == request.url);
        Ok(is_url && import.keys.iter().all(|(name, value)| request.keys.get(name) == Some(value)))
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
        (Some((first, _)), others) => Err(Error::config(format!("source `{}` has {} files, such as {first}", import.source_id, others + 1))
            .hint("say with --url, or --key NAME=VALUE, which of them it is")),
    }
}

fn no_such_file(source: &Source, import: &Import) -> Error {
    let meant: Vec<String> = import.url.iter().cloned().chain(import.keys.iter().map(|(name, value)| format!("{name}={value}"))).collect();
    let error = Error::config(format!("`{}` is no file that source `{}` has now", meant.join(" "), source.source_id));
    match &source.listing {
        Some(listing) => error.hint(format!("its files are linked from {} under names of the form `{}`", source.url, listing.pattern)),
        None => error.hint(format!("its address is {}; --key NAME=VALUE names the variables in it", source.url)),
    }
}

/// The files that a source has now.
fn files(settings: &RunSettings, owner: &Declaration, source: &Source, import: &Import) -> Result<Vec<Request>> {
    if source.listing.is_some() {
        let url = import.url.clone().ok_or_else(|| {
            Error::config(format!("the files of source `{}` are found on {}", source.source_id, source.url))
                .hint("give --url: the address of the link that was followed")
        })?;
        return Ok(listed_files(source, &[url])?.into_iter().map(|wanted| wanted.request).collect());
    }
    if let Some(variable) = &source.on_demand {
        let value = import.keys.get(variable).ok_or_else(|| Error::config(format!("say which `{variable}` it is of: --key {variable}=…")))?;
        let one = Source { variables: [(variable.clone(), Variable::Values(vec![value.clone()]))].into(), ..source.clone() };
        return Ok(requests(settings, owner, &one, None)?.into_iter().map(|wanted| wanted.request).collect());
    }
    let newest = owner.newest_partition(settings.fetch.clock.now())?;
    let partitions: Vec<Option<String>> = match &owner.partition {
        Some(range) => newest.map(|to| (range.from..=to).map(|value| Some(value.to_string())).collect()).unwrap_or_default(),
        None => vec![None],
    };
    let mut files = Vec::new();
    for partition in partitions {
        let (of_partition, _) = files_of_source(settings, owner, source, partition.as_deref()).context(|| format!("source {}", source.source_id))?;
        files.extend(of_partition.into_iter().map(|wanted| wanted.request));
    }
    Ok(files)
}

/// Whether nobody but a person asks for a source's files. A mirror stands in for persons too.
pub(super) fn is_by_hand(settings: &RunSettings, source: &Source) -> bool {
    source.by_hand && settings.fetch.mirrors.is_empty()
}

/// What there is of a file that a person fetches.
pub(super) fn fetched_by_hand(settings: &RunSettings, request: &Request) -> Result<Fetched> {
    let url = recorded_url(&request.url)?;
    let known = Snapshots::open(&settings.home)?.known(&request.source_id, &url);
    Ok(known.map_or_else(|| Fetched::Failed(due_message(&request.source_id, &url)), |snapshot| Fetched::Snapshots(vec![snapshot])))
}

pub(super) fn due_message(source_id: &str, url: &str) -> String {
    format!("a person fetches this file, because the site refuses programs: download {url} and run `pubdata import {source_id} FILE`")
}

/// The files that persons have imported of those that a page lists, or what is to be done when there are none.
pub(super) fn listed_by_hand(settings: &RunSettings, source: &Source) -> Result<std::result::Result<Vec<super::requests::Wanted>, String>> {
    let files = imported_files(&Snapshots::open(&settings.home)?, source)?;
    Ok(if files.is_empty() { Err(listing_due_message(source)) } else { Ok(files) })
}

/// The newest files of each kind among those that persons have imported from a page.
pub(super) fn imported_files(snapshots: &Snapshots, source: &Source) -> Result<Vec<super::requests::Wanted>> {
    let by_hand = snapshots.known_of_source(&source.source_id)?.into_iter().filter(|snapshot| snapshot.obtained == Obtained::ByHand);
    let links: Vec<String> = by_hand.map(|snapshot| snapshot.url).filter(|url| *url != source.url).collect();
    listed_files(source, &links)
}

pub(super) fn listing_due_message(source: &Source) -> String {
    format!("{} --url ADDRESS", due_message(&source.source_id, "the newest file that the page lists"))
}

/// The snapshot of a file that a person has imported, where programs ask for it as well.
pub(super) fn imported(snapshots: &Snapshots, request: &Request) -> Result<Option<Snapshot>> {
    let known = snapshots.known(&request.source_id, &recorded_url(&request.url)?);
    Ok(known.filter(|known| known.obtained == Obtained::ByHand && known.keys == request.keys))
}

/// Whether an imported file stands after a publisher was asked: it does until the publisher hands out one that is not older.
pub(super) fn stands(imported: &Snapshot, answer: &Result<Outcome>) -> bool {
    match answer {
        Ok(Outcome::New(snapshot)) => snapshot.source_date < imported.source_date,
        Ok(Outcome::Unchanged(_)) => false,
        Ok(Outcome::Absent | Outcome::NotConfigured { .. }) | Err(_) => true,
    }
}
