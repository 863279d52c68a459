use std::collections::BTreeMap;

use futures_util::StreamExt;
use futures_util::stream;

use super::{FetchedSource, RunSettings, SharedObserver};
use crate::error::{Error, Result, ResultExt};
use crate::fetch::{Fetcher, Outcome, Request, recorded_url};
use crate::pipeline::{Declaration, Format, Source, Syntax, expand};
use crate::provenance::Snapshot;

/// Files asked for at a time, over all hosts; fetch itself limits each host.
const CONCURRENT_FILES: usize = 8;

/// A host that failed this often is not asked again in the same run.
const FAILURES_PER_HOST: usize = 3;

/// What became of a file.
#[derive(Debug, Clone)]
pub(super) enum Fetched {
    Snapshot(Box<Snapshot>),
    Absent,
    NotConfigured(String),
    Failed(String),
}

/// The files of a source for one partition: every combination of its variables.
pub(super) fn requests(settings: &RunSettings, declaration: &Declaration, source: &Source, partition: Option<&str>) -> Result<Vec<Request>> {
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
        combinations = combinations.iter().flat_map(|keys| values.iter().map(move |value| with_value(keys, value))).collect();
    }
    let request = |keys: BTreeMap<String, String>| {
        let url = expand(&source.url, &keys)?;
        let bundled = url.strip_prefix("bundled:").map(|path| {
            let file = format!("pipelines/{path}");
            settings.declarations.files.read(&file).map(<[u8]>::to_vec).ok_or_else(|| Error::config(format!("there is no file {file}")))
        });
        Ok(Request {
            source_id: source.source_id.clone(),
            source_version: expand(&source.source_version, &keys)?,
            source_date: source.source_date.clone(),
            is_archive: source.is_archive(),
            is_json: !source.is_archive() && matches!(source.format, Format::JsonRows | Format::JsonRecords { .. } | Format::Document { syntax: Syntax::Json }),
            min_bytes: source.min_bytes,
            max_bytes: source.max_bytes,
            bundled: bundled.transpose()?,
            url,
            keys,
        })
    };
    combinations.into_iter().map(request).collect::<Result<_>>().context(|| format!("source {}", source.source_id))
}

/// Fetches every file once, several at a time.
pub(super) async fn fetch_all(
    settings: &RunSettings,
    fetcher: &Fetcher,
    requests: Vec<Request>,
    observer: &SharedObserver,
) -> Result<(BTreeMap<String, Fetched>, Vec<FetchedSource>)> {
    observer.fetching(requests.len());
    let failures: std::sync::Mutex<BTreeMap<String, usize>> = std::sync::Mutex::default();
    let fetch_one = async |request: Request| {
        let host = host_of(&request.url).to_owned();
        let count = |host: &str| failures.lock().expect("nothing panics while holding it").get(host).copied().unwrap_or(0);
        let fetched = if settings.is_offline && request.bundled.is_none() {
            fetcher
                .snapshots()
                .known(&request.source_id, &recorded_url(&request.url)?)
                .map_or(Fetched::Absent, |snapshot| Fetched::Snapshot(Box::new(snapshot)))
        } else if count(&host) >= FAILURES_PER_HOST {
            Fetched::Failed(format!("not asked: {host} failed {FAILURES_PER_HOST} times in this run"))
        } else {
            match fetcher.fetch(&request, &**observer).await {
                Ok(Outcome::New(snapshot)) => {
                    observer.fetched(&snapshot.url, "new");
                    return Ok((request.url, Fetched::Snapshot(Box::new(snapshot)), true));
                }
                Ok(Outcome::Unchanged(snapshot)) => Fetched::Snapshot(Box::new(snapshot)),
                Ok(Outcome::Absent) => Fetched::Absent,
                Ok(Outcome::NotConfigured { variable }) => Fetched::NotConfigured(variable),
                Err(error) => {
                    *failures.lock().expect("nothing panics while holding it").entry(host).or_insert(0) += 1;
                    Fetched::Failed(error.way_out().map_or_else(|| error.to_string(), |hint| format!("{error} ({hint})")))
                }
            }
        };
        observer.fetched(&request.url, fetched.word());
        Ok((request.url, fetched, false))
    };
    let results: Vec<Result<(String, Fetched, bool)>> = stream::iter(requests).map(fetch_one).buffer_unordered(CONCURRENT_FILES).collect().await;
    let mut by_url = BTreeMap::new();
    let mut sources = Vec::new();
    for result in results {
        let (url, fetched, is_new) = result?;
        sources.push(FetchedSource::new(&url, &fetched, is_new));
        by_url.insert(url, fetched);
    }
    sources.sort_by(|a, b| a.url.cmp(&b.url));
    Ok((by_url, sources))
}

impl Fetched {
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Snapshot(_) => "unchanged",
            Self::Absent => "absent",
            Self::NotConfigured(_) => "not configured",
            Self::Failed(_) => "failed",
        }
    }
}

fn host_of(url: &str) -> &str {
    url.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or_default())
}
