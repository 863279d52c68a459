//! Fetches the wanted files, several at a time, and paged lists to their ends.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use futures_util::stream;

use super::pages::fetch_list;
use super::source_fetcher::SourceFetcher;
use super::wanted::{Fetched, REUSED, Wanted};
use crate::observer::SharedObserver;
use crate::reporting::plan::FetchedSource;
use crate::settings::RunSettings;
use pubdata_core::error::Result;
use pubdata_fetch::Fetcher;

/// Files fetched at a time, over all hosts; `fetch` itself limits each host.
const CONCURRENT_FILES: usize = 8;

/// Fetches every file once, several at a time, and paged lists to their ends.
pub(crate) async fn fetch_all(
    settings: &RunSettings,
    fetcher: &Fetcher,
    wanted: Vec<Wanted>,
    observer: &SharedObserver,
) -> Result<(BTreeMap<String, Fetched>, Vec<FetchedSource>)> {
    observer.fetching(wanted.len());
    let source_fetcher = SourceFetcher::new(settings, fetcher, observer);
    let fetch_one = async |wanted: Wanted| {
        fetch_wanted(&source_fetcher, &wanted)
            .await
            .map(|(fetched, sources)| (wanted.request.url, fetched, sources))
    };
    let results: Vec<Result<(String, Fetched, Vec<FetchedSource>)>> = stream::iter(wanted)
        .map(fetch_one)
        .buffer_unordered(CONCURRENT_FILES)
        .collect()
        .await;
    let mut by_url = BTreeMap::new();
    let mut sources = Vec::new();
    for result in results {
        let (url, fetched, of_url) = result?;
        sources.extend(of_url);
        by_url.insert(url, fetched);
    }
    sources.sort_by(|a, b| a.url.cmp(&b.url));
    Ok((by_url, sources))
}

/// Fetches a file, or every page of a list.
async fn fetch_wanted(
    source_fetcher: &SourceFetcher<'_>,
    wanted: &Wanted,
) -> Result<(Fetched, Vec<FetchedSource>)> {
    if let Some(paging) = &wanted.paging {
        return fetch_list(source_fetcher, &wanted.request, paging).await;
    }
    let (fetched, outcome) = source_fetcher.fetch_one(&wanted.request).await?;
    let mut source = fetched.told(&wanted.request.url, outcome);
    if outcome == REUSED {
        let changed = wanted
            .request
            .stated
            .and_then(|stated| jiff::Timestamp::from_second(stated.seconds).ok());
        source.detail = wanted
            .dated_by
            .as_ref()
            .zip(changed)
            .map(|(dated_by, changed)| {
                format!("{} says that it last changed at {changed}", dated_by.url)
            });
    }
    Ok((fetched, vec![source]))
}
