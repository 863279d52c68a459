//! Fetches the wanted files, several at a time. Paged lists are fetched to their ends.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use futures_util::stream;

use super::fetch_target::{FetchTarget, Fetched, REUSED};
use super::pages::fetch_list;
use super::source_fetcher::SourceFetcher;
use crate::observer::SharedObserver;
use crate::reporting::plan::FetchedSource;
use crate::settings::RunSettings;
use pubdata_core::error::Result;
use pubdata_fetch::Fetcher;

/// Maximum number of concurrent file transfers over all hosts. `fetch` itself limits the number for
/// each host.
const CONCURRENT_FILES: usize = 8;

/// Fetches every file once, several at a time. Paged lists are fetched to their ends.
pub(crate) async fn fetch_all(
    settings: &RunSettings,
    fetcher: &Fetcher,
    targets: Vec<FetchTarget>,
    observer: &SharedObserver,
) -> Result<(BTreeMap<String, Fetched>, Vec<FetchedSource>)> {
    observer.on_fetch_started(targets.len());
    let source_fetcher = SourceFetcher::new(settings, fetcher, observer);
    let fetch_one = async |target: FetchTarget| {
        fetch_source(&source_fetcher, &target)
            .await
            .map(|(fetched, sources)| (target.request.url, fetched, sources))
    };
    let results: Vec<Result<(String, Fetched, Vec<FetchedSource>)>> = stream::iter(targets)
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
async fn fetch_source(
    source_fetcher: &SourceFetcher<'_>,
    target: &FetchTarget,
) -> Result<(Fetched, Vec<FetchedSource>)> {
    if let Some(paging) = &target.paging {
        return fetch_list(source_fetcher, &target.request, paging).await;
    }
    let (fetched, outcome) = source_fetcher.fetch_one(&target.request).await?;
    let mut source = fetched.report(&target.request.url, outcome);
    if outcome == REUSED {
        let changed = target
            .request
            .stated
            .and_then(|stated| jiff::Timestamp::from_second(stated.seconds).ok());
        source.detail = target
            .dated_by
            .as_ref()
            .zip(changed)
            .map(|(dated_by, changed)| {
                format!("{} says that it last changed at {changed}", dated_by.url)
            });
    }
    Ok((fetched, vec![source]))
}
