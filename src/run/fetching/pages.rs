//! Fetches paged lists to their ends. If the publisher states the number of records, a list that
//! changed during the fetch is fetched again. Otherwise, a row that moves between two pages would
//! appear twice or not at all.

use std::collections::BTreeMap;

use super::fetch_target::{Fetched, NEW, Paging};
use super::source_fetcher::SourceFetcher;
use crate::reporting::plan::FetchedSource;
use pubdata_build::decode;
use pubdata_core::error::{ErrorKind, Result};
use pubdata_core::pipeline::{CountQuery, expand};
use pubdata_core::provenance::Snapshot;
use pubdata_fetch::Request;

/// Maximum number of pages. A list with more pages is assumed to have no end.
const MAX_PAGES: u64 = 10_000;

/// Maximum number of times that a changing list is fetched.
const LIST_TRIES: u32 = 3;

/// Maximum size of a document that states the number of records.
const MAX_COUNT_BYTES: u64 = 1 << 20;

/// Result of fetching each URL.
type SourcesByUrl = BTreeMap<String, FetchedSource>;

/// The pages of a list and the number of their records, or the reason why the list is missing.
type ListOfPages = std::result::Result<(Vec<Snapshot>, u64), Fetched>;

impl Paging {
    /// Returns the request for the page that follows a number of records.
    fn page(&self, first: &Request, records: u64) -> Result<Request> {
        let mut keys = first.keys.clone();
        keys.insert(self.pages.variable.clone(), records.to_string());
        Ok(Request {
            url: expand(&self.url, &keys)?,
            keys,
            ..first.clone()
        })
    }

    fn count(&self, count: &CountQuery, first: &Request) -> Result<Request> {
        let mut keys = first.keys.clone();
        keys.remove(&self.pages.variable);
        Ok(Request {
            url: expand(&count.url, &keys)?,
            keys,
            source_version: "number of records".to_owned(),
            source_date: None,
            is_archive: false,
            is_json: true,
            max_bytes: MAX_COUNT_BYTES,
            ..first.clone()
        })
    }
}

/// Fetches paged lists.
struct ListFetcher<'a>(&'a SourceFetcher<'a>);

/// Fetches every page of a list. The list fails if one of its pages fails, or if its records do not
/// match the publisher's count.
pub(super) async fn fetch_list(
    source_fetcher: &SourceFetcher<'_>,
    first: &Request,
    paging: &Paging,
) -> Result<(Fetched, Vec<FetchedSource>)> {
    ListFetcher(source_fetcher).fetch_list(first, paging).await
}

impl ListFetcher<'_> {
    async fn fetch_list(
        &self,
        first: &Request,
        paging: &Paging,
    ) -> Result<(Fetched, Vec<FetchedSource>)> {
        let mut sources = SourcesByUrl::new();
        let mut difference = String::new();
        for _ in 0..LIST_TRIES {
            let before = match self.count(first, paging, &mut sources).await? {
                Ok(count) => count,
                Err(fetched) => return Ok((fetched, sources.into_values().collect())),
            };
            let (pages, records) = match self.pages(first, paging, &mut sources).await? {
                Ok(list) => list,
                Err(fetched) => return Ok((fetched, sources.into_values().collect())),
            };
            let after = match self.count(first, paging, &mut sources).await? {
                Ok(count) => count,
                Err(fetched) => return Ok((fetched, sources.into_values().collect())),
            };
            difference = match (before, after) {
                (Some(before), Some(after)) if (before, after) != (records, records) => {
                    difference_of(before, records, after)
                }
                // If the publisher stated the number only once, that number is used.
                (Some(count), None) | (None, Some(count)) if count != records => {
                    difference_of(count, records, count)
                }
                (None, None) if !difference.is_empty() => difference,
                _ => return Ok((Fetched::Snapshots(pages), sources.into_values().collect())),
            };
            tracing::warn!(source.id = %first.source_id, "{difference}");
        }
        let message =
            format!("{difference}, {LIST_TRIES} times in a row: the list is not accepted");
        Ok((Fetched::Failed(message), sources.into_values().collect()))
    }

    async fn pages(
        &self,
        first: &Request,
        paging: &Paging,
        sources: &mut SourcesByUrl,
    ) -> Result<ListOfPages> {
        let (mut pages, mut total): (Vec<Snapshot>, u64) = (Vec::new(), 0);
        let mut request = first.clone();
        loop {
            let fetched = self.fetch_recorded(&request, sources).await?;
            let snapshot = match fetched {
                Fetched::Snapshots(mut snapshots) if snapshots.len() == 1 => snapshots.remove(0),
                Fetched::Absent if !pages.is_empty() => {
                    return Ok(Err(Fetched::Failed(format!(
                        "page {} is missing, and the one before it is full",
                        request.url
                    ))));
                }
                other => return Ok(Err(other)),
            };
            let records = match decode::count_records(
                &self.0.fetcher.snapshots().path(&snapshot),
                &paging.format,
                request.max_bytes,
            ) {
                Ok(records) => records,
                Err(error) => {
                    if error.kind() == ErrorKind::Format {
                        self.0.doubt(&snapshot)?;
                    }
                    return Ok(Err(Fetched::Failed(error.to_string())));
                }
            };
            if pages
                .last()
                .is_some_and(|before| before.sha256 == snapshot.sha256)
                && records > 0
            {
                return Ok(Err(Fetched::Failed(format!(
                    "page {} repeats the page before it",
                    request.url
                ))));
            }
            pages.push(snapshot);
            total += records;
            if records < paging.pages.records {
                let size_bytes: u64 = pages.iter().map(|page| page.size_bytes).sum();
                if size_bytes < paging.min_bytes && self.0.is_held_to_floors() {
                    let reason = format!(
                        "its pages have {size_bytes} bytes together, fewer than the {} declared as `min_bytes`",
                        paging.min_bytes
                    );
                    return Ok(Err(Fetched::Failed(reason)));
                }
                return Ok(Ok((pages, total)));
            }
            if pages.len() as u64 == MAX_PAGES {
                return Ok(Err(Fetched::Failed(format!(
                    "has more than {MAX_PAGES} pages"
                ))));
            }
            request = paging.page(first, pages.len() as u64 * paging.pages.records)?;
        }
    }

    /// Returns the publisher's record count. Returns `None` if the source declares no count or a
    /// mirror does not have it.
    async fn count(
        &self,
        first: &Request,
        paging: &Paging,
        sources: &mut SourcesByUrl,
    ) -> Result<std::result::Result<Option<u64>, Fetched>> {
        let Some(query) = &paging.pages.count else {
            return Ok(Ok(None));
        };
        let request = paging.count(query, first)?;
        let fetched = self.fetch_recorded(&request, sources).await?;
        let snapshot = match fetched {
            Fetched::Snapshots(mut snapshots) if snapshots.len() == 1 => snapshots.remove(0),
            Fetched::Absent => {
                sources.remove(&request.url);
                return Ok(Ok(None));
            }
            other => return Ok(Err(other)),
        };
        let content =
            decode::read_document(&self.0.fetcher.snapshots().path(&snapshot), MAX_COUNT_BYTES)?;
        let count = serde_json::from_slice(&content)
            .ok()
            .and_then(|document| count_in(&document, &query.member));
        if count.is_none() {
            self.0.doubt(&snapshot)?;
        }
        Ok(count.map(Some).ok_or_else(|| {
            Fetched::Failed(format!(
                "{}: there is no number at `{}`",
                snapshot.url, query.member
            ))
        }))
    }

    async fn fetch_recorded(
        &self,
        request: &Request,
        sources: &mut SourcesByUrl,
    ) -> Result<Fetched> {
        let (fetched, outcome) = self.0.fetch_one(request).await?;
        // A URL that was new in the first attempt stays new.
        let was_new = sources
            .get(&request.url)
            .is_some_and(|source| source.outcome == NEW);
        let outcome = if was_new && matches!(fetched, Fetched::Snapshots(_)) {
            NEW
        } else {
            outcome
        };
        sources.insert(request.url.clone(), fetched.report(&request.url, outcome));
        Ok(fetched)
    }
}

/// Describes how a list differs from the publisher's record count.
fn difference_of(before: u64, records: u64, after: u64) -> String {
    if before != after {
        return format!(
            "the list changed while it was being asked for: {before} records before, {after} after, {records} on its pages"
        );
    }
    let reason = if records < before {
        "rows moved between two pages, or a page has fewer records than `records` says"
    } else {
        "rows moved between two pages"
    };
    format!("the pages have {records} records and the publisher counts {before}: {reason}")
}

/// Returns the number at a path such as `count`, `result.total` or `0.count`. Socrata writes the
/// number as a string.
fn count_in(document: &serde_json::Value, member: &str) -> Option<u64> {
    let step = |value: &serde_json::Value, name: &str| match value {
        serde_json::Value::Array(values) => values.get(name.parse::<usize>().ok()?).cloned(),
        other => other.get(name).cloned(),
    };
    let value = member
        .split('.')
        .try_fold(document.clone(), |value, name| step(&value, name))?;
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_are_found_where_each_portal_writes_them() {
        assert_eq!(count_in(&json!({"count": 5996}), "count"), Some(5996));
        assert_eq!(
            count_in(
                &json!({"success": true, "result": {"total": 271_534, "records": []}}),
                "result.total"
            ),
            Some(271_534)
        );
        assert_eq!(
            count_in(&json!([{"count": "3120041"}]), "0.count"),
            Some(3_120_041)
        );
        for (document, member) in [
            (json!({}), "count"),
            (json!({"count": "many"}), "count"),
            (json!([]), "0.count"),
            (json!({"count": -1}), "count"),
        ] {
            assert_eq!(count_in(&document, member), None, "{document} {member}");
        }
    }
}
