//! Turns a source's declaration into requests for its files and sends them, several at a time. A host that keeps failing is asked no more.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt;
use futures_util::stream;

use super::by_hand::{fetched_by_hand, imported, is_by_hand, stands};
use super::pages::Paging;
use super::{FetchedSource, RunSettings, SharedObserver};
use crate::decode;
use crate::error::{Error, Result, ResultExt};
use crate::fetch::{Fetcher, Outcome, Request, links, recorded_url};
use crate::pipeline::{DatedBy, Declaration, Format, Listed, Source, Syntax, expand, is_packed};
use crate::provenance::Snapshot;

/// Files asked for at a time, over all hosts; fetch itself limits each host.
const CONCURRENT_FILES: usize = 8;

/// A host that failed this often is not asked again in the same run.
const FAILURES_PER_HOST: usize = 3;

/// What became of a file.
#[derive(Debug, Clone)]
pub(super) enum Fetched {
    /// One snapshot, or one for each page.
    Snapshots(Vec<Snapshot>),
    Absent,
    NotConfigured(String),
    Failed(String),
}

/// A file to fetch, or the first page of a list.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) request: Request,
    pub(super) paging: Option<Paging>,
    /// What says when the file changed.
    pub(super) dated_by: Option<DatedBy>,
}

/// The files of a source for one partition: every combination of its variables.
pub(super) fn requests(settings: &RunSettings, declaration: &Declaration, source: &Source, partition: Option<&str>) -> Result<Vec<Wanted>> {
    let mut combinations: Vec<BTreeMap<String, String>> = vec![BTreeMap::new()];
    if let (Some(range), Some(value)) = (&declaration.partition, partition) {
        combinations[0].insert(range.variable.clone(), value.to_owned());
    }
    for (name, values) in &source.variables {
        let with_value = |keys: &BTreeMap<String, String>, value: &String| {
            let mut keys = keys.clone();
            keys.insert(name.clone(), value.clone());
            keys
        };
        combinations = combinations.iter().flat_map(|keys| values.values().iter().map(move |value| with_value(keys, value))).collect();
    }
    if let Some(pages) = &source.pages {
        combinations.iter_mut().for_each(|keys| drop(keys.insert(pages.variable.clone(), "0".to_owned())));
    }
    let request = |keys: BTreeMap<String, String>| {
        let url = expand(&source.url, &keys)?;
        let bundled = url.strip_prefix("bundled:").map(|path| {
            let file = format!("pipelines/{path}");
            settings.declarations.files.read(&file).map(<[u8]>::to_vec).ok_or_else(|| Error::config(format!("there is no file {file}")))
        });
        let request = Request {
            source_id: source.source_id.clone(),
            source_version: expand(&source.source_version, &keys)?,
            source_date: source.source_date.clone(),
            is_archive: source.is_archive(),
            is_page: false,
            is_json: !source.is_archive() && matches!(source.format, Format::JsonRows | Format::JsonRecords { .. } | Format::Document { syntax: Syntax::Json }),
            min_bytes: source.min_bytes,
            max_bytes: source.max_bytes,
            bundled: bundled.transpose()?,
            redirects: source.redirects.clone(),
            app_token: source.app_token.clone(),
            url,
            keys,
        };
        let dated_by = source.dated_by.as_ref();
        let dated_by = dated_by.map(|dated_by| expand(&dated_by.url, &request.keys).map(|url| DatedBy { url, seconds: dated_by.seconds.clone() }));
        let paging = source.pages.clone().map(|pages| Paging { pages, url: source.url.clone(), format: source.format.clone() });
        Ok(Wanted { request, paging, dated_by: dated_by.transpose()? })
    };
    combinations.into_iter().map(request).collect::<Result<_>>().context(|| format!("source {}", source.source_id))
}

/// Largest page of links.
const MAX_PAGE_BYTES: u64 = 16 << 20;

/// The page that lists a source's files.
pub(super) fn listing_page(source: &Source) -> Wanted {
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
    };
    Wanted { request, paging: None, dated_by: None }
}

/// The files of a source that its page lists, or why there are none.
pub(super) fn listed_requests(fetcher: &Fetcher, source: &Source, page: &Fetched) -> Result<std::result::Result<Vec<Wanted>, String>> {
    let Some(listing) = &source.listing else { return Ok(Ok(Vec::new())) };
    let snapshot = match page {
        Fetched::Snapshots(snapshots) => &snapshots[0],
        Fetched::Absent => return Ok(Err("the publisher has no such page".to_owned())),
        Fetched::NotConfigured(variable) => return Ok(Err(format!("needs {variable}"))),
        Fetched::Failed(message) => return Ok(Err(message.clone())),
    };
    let content = decode::read_document(&fetcher.snapshots().path(snapshot), MAX_PAGE_BYTES)?;
    let files = listed_files(source, &links(&source.url, &String::from_utf8_lossy(&content)))?;
    Ok(if files.is_empty() { Err(format!("the page names no file of the form `{}`", listing.pattern)) } else { Ok(files) })
}

/// The files to ask for while a source's page does not name any: of each kind the newest of those that the declaration names and those that the last
/// release was made from. None where the declaration names none.
pub(super) fn otherwise_requests(source: &Source, previous: &[Snapshot]) -> Result<Vec<Wanted>> {
    let Some(listing) = source.listing.as_ref().filter(|listing| !listing.otherwise.is_empty()) else { return Ok(Vec::new()) };
    let known = previous.iter().filter(|snapshot| snapshot.source_id == source.source_id).map(|snapshot| snapshot.url.clone());
    let links: Vec<String> = known.chain(listing.otherwise.iter().cloned()).collect();
    listed_files(source, &links)
}

/// The newest files of each kind among links, as requests.
pub(super) fn listed_files(source: &Source, links: &[String]) -> Result<Vec<Wanted>> {
    let Some(listing) = &source.listing else { return Ok(Vec::new()) };
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
        Ok(Wanted { request, paging: None, dated_by: None })
    };
    listing.newest(links)?.into_iter().map(request).collect()
}

/// The files of the last release whose kinds a source's page does not name any more; none where a person has looked at it.
pub(super) fn no_longer_listed<'a>(settings: &RunSettings, source: &Source, files: &[Wanted], previous: &'a [Snapshot]) -> Vec<&'a Snapshot> {
    let Some(listing) = source.listing.as_ref().filter(|_| !settings.accepted.contains(&source.source_id)) else { return Vec::new() };
    let listed: BTreeSet<Vec<&String>> = files.iter().map(|file| listing.kind(&file.request.keys)).collect();
    let known = previous.iter().filter(|snapshot| snapshot.source_id == source.source_id && listing.is_wanted(&snapshot.keys));
    known.filter(|snapshot| !listed.contains(&listing.kind(&snapshot.keys))).collect()
}

/// Says which files a page does not name any more.
pub(super) fn no_longer_listed_message(source: &Source, gone: &[&Snapshot]) -> String {
    let gone: Vec<&str> = gone.iter().map(|snapshot| snapshot.url.as_str()).collect();
    format!(
        "{}: the page no longer names what the last release has from {}. If the publisher took it back for good, run again with `--accept {}`",
        source.url,
        gone.join(", "),
        source.source_id
    )
}

/// Fetches every file once, several at a time, and lists of pages to their ends.
pub(super) async fn fetch_all(
    settings: &RunSettings,
    fetcher: &Fetcher,
    wanted: Vec<Wanted>,
    observer: &SharedObserver,
) -> Result<(BTreeMap<String, Fetched>, Vec<FetchedSource>)> {
    observer.fetching(wanted.len());
    let desk = Desk { settings, fetcher, observer, failures: std::sync::Mutex::default() };
    let fetch_one = async |wanted: Wanted| desk.fetch_wanted(&wanted).await.map(|(fetched, sources)| (wanted.request.url, fetched, sources));
    let results: Vec<Result<(String, Fetched, Vec<FetchedSource>)>> = stream::iter(wanted).map(fetch_one).buffer_unordered(CONCURRENT_FILES).collect().await;
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

/// Where files are asked for.
pub(super) struct Desk<'a> {
    settings: &'a RunSettings,
    pub(super) fetcher: &'a Fetcher,
    observer: &'a SharedObserver,
    /// By host.
    failures: std::sync::Mutex<BTreeMap<String, usize>>,
}

impl Desk<'_> {
    /// Fetches a file, or every page of a list.
    async fn fetch_wanted(&self, wanted: &Wanted) -> Result<(Fetched, Vec<FetchedSource>)> {
        if let Some(paging) = &wanted.paging {
            return self.fetch_list(&wanted.request, paging).await;
        }
        let (fetched, is_new) = self.fetch_one(&wanted.request).await?;
        let source = FetchedSource::new(&wanted.request.url, &fetched, is_new);
        Ok((fetched, vec![source]))
    }

    pub(super) async fn fetch_one(&self, request: &Request) -> Result<(Fetched, bool)> {
        let host = host_of(&request.url).to_owned();
        let failures = || self.failures.lock().expect("nothing panics while holding it").get(&host).copied().unwrap_or(0);
        let fetched = if self.settings.is_offline && request.bundled.is_none() {
            let known = self.fetcher.snapshots().known(&request.source_id, &recorded_url(&request.url)?);
            known.map_or(Fetched::Absent, |snapshot| Fetched::Snapshots(vec![snapshot]))
        } else if self.settings.declarations.source(&request.source_id).is_some_and(|(_, source)| is_by_hand(self.settings, source)) {
            fetched_by_hand(self.settings, request)?
        } else if failures() >= FAILURES_PER_HOST {
            Fetched::Failed(format!("not asked: {host} failed {FAILURES_PER_HOST} times in this run"))
        } else {
            let imported = imported(self.fetcher.snapshots(), request)?;
            let answer = self.fetcher.fetch(request, &**self.observer).await;
            if let Some(imported) = imported.filter(|imported| stands(imported, &answer)) {
                self.fetcher.keep_imported(&imported)?;
                self.observer.fetched(&imported.url, "unchanged");
                return Ok((Fetched::Snapshots(vec![imported]), false));
            }
            match answer {
                Ok(Outcome::New(snapshot)) => {
                    self.observer.fetched(&snapshot.url, "new");
                    return Ok((Fetched::Snapshots(vec![snapshot]), true));
                }
                Ok(Outcome::Unchanged(snapshot)) => Fetched::Snapshots(vec![snapshot]),
                Ok(Outcome::Absent) => Fetched::Absent,
                Ok(Outcome::NotConfigured { variable }) => Fetched::NotConfigured(variable),
                Err(error) => {
                    *self.failures.lock().expect("nothing panics while holding it").entry(host).or_insert(0) += 1;
                    let text = without_places(&error.to_string(), request)?;
                    Fetched::Failed(error.way_out().map_or_else(|| text.clone(), |hint| format!("{text} ({hint})")))
                }
            }
        };
        self.observer.fetched(&request.url, fetched.word());
        Ok((fetched, false))
    }
}

impl Fetched {
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Snapshots(_) => "unchanged",
            Self::Absent => "absent",
            Self::NotConfigured(_) => "not configured",
            Self::Failed(_) => "failed",
        }
    }
}

/// What went wrong with a file, without its names: whoever tells of it says first which file it is.
fn without_places(text: &str, request: &Request) -> Result<String> {
    let url = recorded_url(&request.url)?;
    let text = text.strip_prefix(&format!("source `{}`: ", request.source_id)).unwrap_or(text);
    Ok(text.strip_prefix(&format!("{url}: ")).unwrap_or(text).to_owned())
}

fn host_of(url: &str) -> &str {
    url.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or_default())
}
