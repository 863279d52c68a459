//! Reads the documents that state when files last changed. A portal generates an export for each
//! request and publishes the time of the last change elsewhere.

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::fetch::fetch_all;
use super::fetch_target::{FetchTarget, Fetched};
use crate::observer::SharedObserver;
use crate::reporting::plan::FetchedSource;
use crate::settings::RunSettings;
use pubdata_build::decode;
use pubdata_core::error::Result;
use pubdata_core::provenance::is_future_date;
use pubdata_fetch::{Fetcher, Request, StatedChange};

/// Maximum size of a document that describes a list.
const MAX_BYTES: u64 = 16 << 20;

/// Fetches the documents and uses them to date the files. Documents are fetched before the files,
/// so a change in between is dated too early, never too late. If a document is missing or its date
/// is in the future, its files are not dated.
pub(crate) async fn date_files(
    settings: &RunSettings,
    fetcher: &Fetcher,
    files: Vec<&mut FetchTarget>,
    observer: &SharedObserver,
) -> Result<Vec<FetchedSource>> {
    let documents: BTreeMap<String, FetchTarget> = files
        .iter()
        .filter_map(|file| document(file))
        .map(|document| (document.request.url.clone(), document))
        .collect();
    if documents.is_empty() {
        return Ok(Vec::new());
    }
    let (fetched, mut sources) = fetch_all(
        settings,
        fetcher,
        documents.into_values().collect(),
        observer,
    )
    .await?;
    for file in files {
        let Some((seconds, day)) = stated_change(fetcher, file, &fetched) else {
            continue;
        };
        if is_future_date(day, settings.today()) {
            file.future_date = Some(day.to_string());
            continue;
        }
        file.request.source_date = Some(day.to_string());
        let whole_every = file
            .dated_by
            .as_ref()
            .and_then(|dated_by| dated_by.whole_every);
        file.request.stated = whole_every.map(|whole_every| StatedChange {
            seconds,
            whole_every,
        });
    }
    sources.retain(|source| source.outcome != "absent");
    Ok(sources)
}

fn document(file: &FetchTarget) -> Option<FetchTarget> {
    let dated_by = file.dated_by.as_ref()?;
    let request = Request {
        url: dated_by.url.clone(),
        source_version: "description".to_owned(),
        source_date: None,
        is_archive: false,
        is_json: true,
        min_bytes: 0,
        max_bytes: MAX_BYTES,
        ..file.request.clone()
    };
    Some(FetchTarget {
        request,
        paging: None,
        dated_by: None,
        future_date: None,
    })
}

/// Returns the instant stated in a file's document, in seconds since 1970-01-01, and its UTC date.
fn stated_change(
    fetcher: &Fetcher,
    file: &FetchTarget,
    documents: &BTreeMap<String, Fetched>,
) -> Option<(i64, Date)> {
    let dated_by = file.dated_by.as_ref()?;
    let Fetched::Snapshots(snapshots) = documents.get(&dated_by.url)? else {
        return None;
    };
    let content =
        decode::read_document(&fetcher.snapshots().path(snapshots.first()?), MAX_BYTES).ok();
    let document: Option<serde_json::Value> =
        content.and_then(|content| serde_json::from_slice(&content).ok());
    let seconds = document
        .as_ref()
        .and_then(|document| document.get(&dated_by.seconds)?.as_i64());
    let instant = seconds.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    if instant.is_none() {
        tracing::warn!(url = %dated_by.url, "does not say when its rows changed: no number `{}`", dated_by.seconds);
    }
    instant.map(|instant| {
        (
            instant.as_second(),
            instant.to_zoned(jiff::tz::TimeZone::UTC).date(),
        )
    })
}
