//! Handles sources whose files are links on a page: the page, the files that it lists, and the
//! files that it no longer lists.

use std::collections::{BTreeMap, BTreeSet};

use super::fetch_target::{FetchTarget, Fetched};
use crate::settings::{RunSettings, names};
use pubdata_build::decode;
use pubdata_build::validate::SHRINK;
use pubdata_core::error::Result;
use pubdata_core::pipeline::{Listed, Source, expand, is_packed};
use pubdata_core::provenance::Snapshot;
use pubdata_fetch::{Fetcher, Request, links};

/// Maximum size of a page of links.
const MAX_PAGE_BYTES: u64 = 16 << 20;

/// Returns the page that lists a source's files.
pub(crate) fn listing_page(source: &Source) -> FetchTarget {
    let request = Request {
        source_id: source.source_id.clone(),
        keys: BTreeMap::new(),
        url: source.url.clone(),
        source_version: "list of files".to_owned(),
        source_date: None,
        is_archive: false,
        is_json: false,
        is_page: true,
        min_bytes: 0,
        max_bytes: MAX_PAGE_BYTES,
        bundled: None,
        redirects: source.redirects.clone(),
        app_token: source.app_token.clone(),
        stated: None,
    };
    FetchTarget {
        request,
        paging: None,
        dated_by: None,
        future_date: None,
    }
}

/// Returns the files of a source that its page lists, or the reason why the page lists none.
pub(crate) fn listed_requests(
    fetcher: &Fetcher,
    source: &Source,
    page: &Fetched,
) -> Result<std::result::Result<Vec<FetchTarget>, String>> {
    let Some(listing) = &source.listing else {
        return Ok(Ok(Vec::new()));
    };
    let snapshot = match page {
        Fetched::Snapshots(snapshots) => &snapshots[0],
        Fetched::Absent => return Ok(Err(fetcher.absence(&source.url, "page"))),
        Fetched::NotConfigured(variable) => return Ok(Err(format!("needs {variable}"))),
        Fetched::Failed(message) => return Ok(Err(message.clone())),
    };
    let content = decode::read_document(&fetcher.snapshots().path(snapshot), MAX_PAGE_BYTES)?;
    let files = listed_files(
        source,
        &links(&source.url, &String::from_utf8_lossy(&content)),
    )?;
    Ok(if files.is_empty() {
        Err(format!(
            "the page names no file of the form `{}`",
            listing.pattern
        ))
    } else {
        Ok(files)
    })
}

/// Returns the files to fetch if a source's page lists none. These are the newest of each kind
/// among the files that the declaration names and the files of the last release. The list
/// is empty if the declaration names no files.
pub(crate) fn otherwise_requests(
    source: &Source,
    previous: &[Snapshot],
) -> Result<Vec<FetchTarget>> {
    let Some(listing) = source
        .listing
        .as_ref()
        .filter(|listing| !listing.otherwise.is_empty())
    else {
        return Ok(Vec::new());
    };
    let known = previous
        .iter()
        .filter(|snapshot| snapshot.source_id == source.source_id)
        .map(|snapshot| snapshot.url.clone());
    let links: Vec<String> = known.chain(listing.otherwise.iter().cloned()).collect();
    listed_files(source, &links)
}

/// Returns requests for the newest file of each kind among the links.
pub(super) fn listed_files(source: &Source, links: &[String]) -> Result<Vec<FetchTarget>> {
    let Some(listing) = &source.listing else {
        return Ok(Vec::new());
    };
    let request = |listed: Listed| {
        let is_archive = source.is_archive() && is_packed(&listed.link);
        let source_version = expand(&source.source_version, &listed.fields)?;
        let page = listing_page(source).request;
        let request = Request {
            url: listed.link,
            keys: listed.keys,
            source_version,
            is_archive,
            is_page: false,
            min_bytes: source.min_bytes,
            max_bytes: source.max_bytes,
            ..page
        };
        Ok(FetchTarget {
            request,
            paging: None,
            dated_by: None,
            future_date: None,
        })
    };
    listing.newest(links)?.into_iter().map(request).collect()
}

/// Returns the files of the last release whose kinds a source's page no longer lists. Returns no
/// files if an operator has accepted the loss.
pub(crate) fn no_longer_listed<'a>(
    settings: &RunSettings,
    task_id: &str,
    source: &Source,
    files: &[FetchTarget],
    previous: &'a [Snapshot],
) -> Vec<&'a Snapshot> {
    let Some(listing) = source
        .listing
        .as_ref()
        .filter(|_| !settings.has_override(&names(task_id, &source.source_id), SHRINK))
    else {
        return Vec::new();
    };
    let listed: BTreeSet<Vec<&String>> = files
        .iter()
        .map(|file| listing.kind(&file.request.keys))
        .collect();
    let known = previous.iter().filter(|snapshot| {
        snapshot.source_id == source.source_id && listing.is_selected(&snapshot.keys)
    });
    known
        .filter(|snapshot| !listed.contains(&listing.kind(&snapshot.keys)))
        .collect()
}

/// Names the files that a page no longer lists.
pub(crate) fn no_longer_listed_message(source: &Source, gone: &[&Snapshot]) -> String {
    let gone: Vec<&str> = gone.iter().map(|snapshot| snapshot.url.as_str()).collect();
    format!(
        "{}: the page no longer names files of the last release: {}. If the publisher withdrew them for good: `pubdata accept {}:shrink`",
        source.url,
        gone.join(", "),
        source.source_id
    )
}
