//! Reads the pages that list files and finds the files on them. Adds to the mirror of samples a
//! page that lists the files a run would fetch.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use futures_util::stream;

use super::address::{Address, PredictedTask, is_lookup, sample_path};
use super::examine::unavailable;
use super::examined::Examined;
use super::hints::hints;
use super::report::Verdict;
use super::{ProbeContext, ProbedAddress, Role};
use crate::fetching::fetch_target::{FetchTarget, Fetched};
use crate::fetching::listing::{listed_requests, listing_page, otherwise_requests};
use crate::fetching::manual_import::{imported_files, is_manual, listing_due_message};
use pubdata_core::error::{Error, ErrorKind, Result};
use pubdata_core::pipeline::Source;
use pubdata_core::provenance::Snapshot;
use pubdata_fetch::{Head, NoProgress, Outcome, Piece, links};

/// Maximum number of pages requested at a time.
const CONCURRENT_PAGES: usize = 8;

/// A page, or the result of examining its URL if the page could not be read.
pub(super) type Page = std::result::Result<Snapshot, Examined>;

/// Requests the pages that list files, each page once, and puts them on the mirror of samples.
pub(super) async fn read_pages(
    context: &ProbeContext<'_>,
    tasks: &[PredictedTask<'_>],
) -> Result<BTreeMap<String, Page>> {
    let sources = listings(tasks)
        .into_iter()
        .map(|(source, _)| source)
        .filter(|source| !is_manual(&context.run, source));
    let by_url: BTreeMap<&str, &Source> = sources
        .map(|source| (source.url.as_str(), source))
        .collect();
    let read = async |source: &Source| {
        Ok::<_, Error>((source.url.clone(), read_page(context, source).await?))
    };
    let pages: Vec<Result<(String, Page)>> = stream::iter(by_url.into_values())
        .map(read)
        .buffer_unordered(CONCURRENT_PAGES)
        .collect()
        .await;
    pages.into_iter().collect()
}

async fn read_page(context: &ProbeContext<'_>, source: &Source) -> Result<Page> {
    let request = listing_page(source).request;
    let snapshot = match context.fetcher.fetch(&request, &NoProgress).await {
        Ok(Outcome::New(snapshot) | Outcome::Unchanged(snapshot) | Outcome::Reused(snapshot)) => {
            snapshot
        }
        Ok(Outcome::Absent) => {
            return Ok(Err(Examined::with(
                Verdict::Absent,
                None,
                context.fetcher.absence(&request.url, "page"),
            )));
        }
        Ok(Outcome::NotConfigured { variable }) => {
            return Ok(Err(Examined::with(
                Verdict::NotRequested,
                None,
                format!("needs {variable}"),
            )));
        }
        Err(error) if error.kind() == ErrorKind::Fetch => {
            // Sends the request again without the retries of a fetch, in order to report the
            // server's exact response.
            return Ok(Err(
                match context.fetcher.head(&request, Piece::Start(1)).await? {
                    Head::Found { status, .. } | Head::Absent { status } => {
                        Examined::with(Verdict::Unreachable, status, error.to_string())
                    }
                    head => unavailable(context, &request.url, "page", head),
                },
            ));
        }
        Err(error) => return Err(error),
    };
    let path = context.fetcher.snapshots().path(&snapshot);
    let bytes = std::fs::read(&path)
        .map_err(|error| Error::store(format!("cannot read {}: {error}", path.display())))?;
    context
        .temporary
        .put(&sample_path(&snapshot.url)?, &bytes)?;
    Ok(Ok(snapshot))
}

/// Finds the files of each source that has a page. The page itself is reported only if the source's
/// files could not be read from it.
pub(super) fn listed<'a>(
    context: &ProbeContext<'_>,
    tasks: &[PredictedTask<'a>],
    pages: &BTreeMap<String, Page>,
) -> Result<Vec<(Option<ProbedAddress<'a>>, Vec<Address<'a>>)>> {
    let mut all = Vec::new();
    for (source, is_lookup) in listings(tasks) {
        let of_page = match pages.get(&source.url) {
            Some(Ok(snapshot)) => listed_requests(
                &context.fetcher,
                source,
                &Fetched::Snapshots(vec![snapshot.clone()]),
            )?
            .map_err(|problem| Examined::with(Verdict::Changed, None, problem)),
            Some(Err(examined)) => Err(examined.clone()),
            None => {
                let files = imported(context, source)?;
                if files.is_empty() {
                    Err(Examined::with(
                        Verdict::NotRequested,
                        None,
                        listing_due_message(source),
                    ))
                } else {
                    Ok(files)
                }
            }
        };
        let address = |file: FetchTarget| Address {
            source,
            request: file.request,
            is_lookup,
        };
        let (page, files) = match of_page {
            Ok(files) => (None, files),
            Err(examined) => {
                let mut files = otherwise_requests(source, &previous(context, tasks, source))?;
                if files.is_empty() {
                    files = imported(context, source)?;
                }
                (
                    Some(page(context, source, is_lookup, examined, &files)),
                    files,
                )
            }
        };
        if page.is_some() || is_manual(&context.run, source) {
            put_on_page(context, source, &files)?;
        }
        all.push((page, files.into_iter().map(address).collect()));
    }
    Ok(all)
}

fn page<'a>(
    context: &ProbeContext<'_>,
    source: &'a Source,
    is_lookup: bool,
    mut examined: Examined,
    files: &[FetchTarget],
) -> ProbedAddress<'a> {
    let request = listing_page(source).request;
    examined.hints = hints(context, source, &request, &examined);
    let role = Role::Page {
        is_replaced: !files.is_empty(),
    };
    if let Some(first) = files.first() {
        let others = if files.len() > 1 {
            format!(" and {} more", files.len() - 1)
        } else {
            String::new()
        };
        examined.in_use = Some(format!("asked for instead: {}{others}", first.request.url));
    }
    ProbedAddress {
        address: Address {
            source,
            request,
            is_lookup,
        },
        role,
        examined,
        fallback_file: None,
    }
}

fn imported(context: &ProbeContext<'_>, source: &Source) -> Result<Vec<FetchTarget>> {
    context.snapshots.as_ref().map_or_else(
        || Ok(Vec::new()),
        |snapshots| imported_files(snapshots, source),
    )
}

/// Returns the files of a source from which the last release was made.
fn previous(
    context: &ProbeContext<'_>,
    tasks: &[PredictedTask<'_>],
    source: &Source,
) -> Vec<Snapshot> {
    let readers = tasks.iter().filter(|task| {
        task.sources
            .iter()
            .any(|(_, read)| read.source_id == source.source_id)
    });
    let entries =
        readers.filter_map(|task| context.given.published.as_ref()?.tasks.get(&task.task_id));
    entries
        .flat_map(|entry| {
            entry
                .inputs
                .iter()
                .filter(|input| input.source_id == source.source_id)
                .cloned()
        })
        .collect()
}

fn listings<'a>(tasks: &[PredictedTask<'a>]) -> Vec<(&'a Source, bool)> {
    let mut listings: Vec<(&Source, bool)> = Vec::new();
    for (owner, source) in tasks
        .iter()
        .flat_map(|task| &task.sources)
        .filter(|(_, source)| source.listing.is_some())
    {
        if !listings
            .iter()
            .any(|(known, _)| known.source_id == source.source_id)
        {
            listings.push((source, is_lookup(owner)));
        }
    }
    listings
}

/// Adds files that a run would fetch to the page on the mirror of samples, even though the
/// publisher's page does not list them.
fn put_on_page(context: &ProbeContext<'_>, source: &Source, files: &[FetchTarget]) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let path = sample_path(&source.url)?;
    let known = std::fs::read(context.temporary.mirror().join(&path))
        .map(|bytes| links(&source.url, &String::from_utf8_lossy(&bytes)))
        .unwrap_or_default();
    let all = known
        .into_iter()
        .chain(files.iter().map(|file| file.request.url.clone()));
    let text: String = all
        .map(|link| format!("<a href=\"{}\"></a>\n", link.replace('&', "&amp;")))
        .collect();
    context
        .temporary
        .put(&path, format!("<html>\n{text}</html>\n").as_bytes())
}
