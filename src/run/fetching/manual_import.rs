//! Handles manually imported files during a run: how long they stay in use, which builds contain
//! them, and how they are reported.

use super::fetch_target::{FetchTarget, Fetched};
use super::listing::listed_files;
use crate::settings::RunSettings;
use pubdata_core::error::Result;
use pubdata_core::pipeline::Source;
use pubdata_core::provenance::{Obtained, Snapshot};
use pubdata_fetch::{Outcome, Request, recorded_url};
use pubdata_store::{self as store, Snapshots, TaskEntry};

/// Returns true if a source's files can only be imported manually. Returns false if mirrors are
/// configured, because mirrors also replace manual imports.
pub(crate) fn is_manual(settings: &RunSettings, source: &Source) -> bool {
    source.by_hand && settings.fetch.mirrors.is_empty()
}

/// Returns the imported snapshot of a file that an operator has to download. If the file was not
/// imported, returns a failure that says what to do.
pub(super) fn imported_or_due(settings: &RunSettings, request: &Request) -> Result<Fetched> {
    let url = recorded_url(&request.url)?;
    let known = Snapshots::open(&settings.home)?.known(&request.source_id, &url);
    Ok(known.map_or_else(
        || Fetched::Failed(due_message(&request.source_id, &url)),
        |snapshot| Fetched::Snapshots(vec![snapshot]),
    ))
}

pub(crate) fn due_message(source_id: &str, url: &str) -> String {
    format!(
        "this file needs a manual import, because the site refuses programs: download {url} and run `pubdata import {source_id} FILE`"
    )
}

/// Returns the imported files among those that a page lists. If none are imported, returns
/// instructions.
pub(crate) fn imported_or_due_files(
    settings: &RunSettings,
    source: &Source,
) -> Result<std::result::Result<Vec<FetchTarget>, String>> {
    let files = imported_files(&Snapshots::open(&settings.home)?, source)?;
    Ok(if files.is_empty() {
        Err(listing_due_message(source))
    } else {
        Ok(files)
    })
}

/// Returns the newest imported file of each kind that a page lists.
pub(crate) fn imported_files(snapshots: &Snapshots, source: &Source) -> Result<Vec<FetchTarget>> {
    let manual = snapshots
        .known_of_source(&source.source_id)?
        .into_iter()
        .filter(|snapshot| snapshot.obtained == Obtained::Manual);
    let links: Vec<String> = manual
        .map(|snapshot| snapshot.url)
        .filter(|url| *url != source.url)
        .collect();
    listed_files(source, &links)
}

pub(crate) fn listing_due_message(source: &Source) -> String {
    format!(
        "{} --url ADDRESS",
        due_message(&source.source_id, "the newest file that the page lists")
    )
}

/// Returns the imported snapshot of a file that is also fetched automatically.
pub(crate) fn imported(snapshots: &Snapshots, request: &Request) -> Result<Option<Snapshot>> {
    let known = snapshots.known(&request.source_id, &recorded_url(&request.url)?);
    Ok(known.filter(|known| known.obtained == Obtained::Manual && known.keys == request.keys))
}

/// Returns true if an imported file stays in use after its publisher was asked. The file stays in
/// use until the publisher has one that is at least as new.
pub(crate) fn stands(imported: &Snapshot, answer: &Result<Outcome>) -> bool {
    match answer {
        Ok(Outcome::New(snapshot)) => snapshot.source_date < imported.source_date,
        Ok(Outcome::Unchanged(_) | Outcome::Reused(_)) => false,
        Ok(Outcome::Absent | Outcome::NotConfigured { .. }) | Err(_) => true,
    }
}

/// Returns the stated dates of imported files, which are inputs of a build. Omits a date that
/// equals the day of the import, because that date was not stated.
pub(crate) fn stated_dates(inputs: &[Snapshot]) -> Vec<serde_json::Value> {
    let is_stated = |input: &&Snapshot| {
        input.obtained == Obtained::Manual && input.fetched_at.get(..10) != Some(&input.source_date)
    };
    inputs
        .iter()
        .filter(is_stated)
        .map(|input| serde_json::json!([input.source_id, input.keys, input.source_date]))
        .collect()
}

/// Explains why a changed date causes another build from the same bytes. Returns `None` if the date
/// is unchanged.
pub(crate) fn other_date(known: &Snapshot, now: &Snapshot) -> Option<String> {
    let is_manual = [known, now]
        .iter()
        .any(|snapshot| snapshot.obtained == Obtained::Manual);
    (is_manual && known.source_date != now.source_date).then(|| {
        format!(
            "the date of an imported file is now {} and was {}: {}",
            now.source_date, known.source_date, now.url
        )
    })
}

/// Describes who imported a file, when, and how to withdraw it. Returns `None` for a file that was
/// fetched automatically.
pub(crate) fn import_note(settings: &RunSettings, snapshot: &Snapshot) -> Result<Option<String>> {
    if snapshot.obtained != Obtained::Manual {
        return Ok(None);
    }
    let (day, by) = imported_when(settings, snapshot)?;
    let of_source = Snapshots::open(&settings.home)?.known_of_source(&snapshot.source_id)?;
    let is_one_of_several = of_source
        .iter()
        .filter(|known| known.obtained == Obtained::Manual)
        .count()
        > 1;
    let url = if is_one_of_several {
        format!(" --url '{}'", snapshot.url)
    } else {
        String::new()
    };
    let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
    Ok(Some(format!(
        "{} was imported manually on {day}{by}: if it is the wrong file, `pubdata import {} --withdraw{url}`",
        snapshot.url, snapshot.source_id
    )))
}

/// Returns the day on which a file was imported and, if the ledger has this information, the user
/// who imported it.
pub(crate) fn imported_when(
    settings: &RunSettings,
    snapshot: &Snapshot,
) -> Result<(String, Option<String>)> {
    let day = |instant: &str| instant.get(..10).unwrap_or(instant).to_owned();
    let entry = store::last_import_entry(&settings.home, snapshot)?;
    Ok(match entry {
        Some(entry) => (day(&entry.started_at), entry.import.map(|import| import.by)),
        None => (day(&snapshot.fetched_at), None),
    })
}

/// Returns a message if the current build was made from a file that has since been withdrawn.
pub(crate) fn withdrawn_in(
    settings: &RunSettings,
    build: Option<&TaskEntry>,
) -> Result<Option<String>> {
    for input in build
        .into_iter()
        .flat_map(|build| &build.inputs)
        .filter(|input| input.obtained == Obtained::Manual)
    {
        let word = store::last_import_entry(&settings.home, input)?
            .filter(|word| word.outcome == store::WITHDRAWN);
        if let Some((word, import)) =
            word.and_then(|word| word.import.clone().map(|import| (word, import)))
        {
            let day = word.started_at.get(..10).unwrap_or_default();
            return Ok(Some(format!(
                "the build that stays was made from {}, which {} withdrew on {day}: `pubdata releases rollback --to RELEASE_ID` goes back to a release without it",
                input.url, import.by
            )));
        }
    }
    Ok(None)
}
