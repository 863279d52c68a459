//! Says what a night would do without doing it: asks each declared address for its head, compares it with the declaration, and runs the night on a
//! mirror of the first records, in a home of its own. Nothing is published and nothing of it stays. Where the publisher's file is another than
//! declared, suggests changes of the declaration, and tries them on the same samples.

mod address;
mod edit;
mod examine;
mod foresee;
mod night;
mod report;
mod suggest;
mod values;

use std::collections::BTreeMap;

use futures_util::StreamExt;
use futures_util::stream;

pub use report::{ProbeReport, ProbedSource, ProbedTask, Verdict, Would};

use self::address::{Address, Foreseen, is_lookup};
use self::examine::{Examined, examine};
use super::requests::{Fetched, listed_requests, listing_page, otherwise_requests};
use super::selection::{Selected, selected};
use super::{RunSettings, SharedObserver};
use crate::error::{Error, Result};
use crate::fetch::{FetchSettings, Fetcher, Head, NoProgress, Outcome, Piece};
use crate::pipeline::{Declarations, Source};
use crate::store::{Manifest, Releases, Snapshots, TemporaryHome};

/// Files asked for at a time, over all hosts; fetch itself limits each host.
const CONCURRENT_FILES: usize = 48;

/// What a probe works with.
pub struct ProbeSettings {
    pub declarations: Declarations,
    pub fetch: FetchSettings,
    /// Pipelines, datasets, families or tasks to look at; everything when empty.
    pub selectors: Vec<String>,
    /// Most records of each file that the dataset's own code is run on.
    pub rows: usize,
    /// The release that a night would renew, when there is one.
    pub published: Option<Manifest>,
    /// The publishers' files of earlier nights, when there is a home.
    pub snapshots: Option<Snapshots>,
}

/// An address with what it has.
pub(super) struct Asked<'a> {
    address: Address<'a>,
    examined: Examined,
}

impl Asked<'_> {
    /// Whether a night would have the file.
    fn is_had(&self) -> bool {
        matches!(self.examined.verdict(), Verdict::Ok | Verdict::Changed) && !self.examined.is_refused_file
    }
}

/// Asks the publishers and says what a night would do.
///
/// # Errors
/// `Config`, when a selector matches nothing; `Store`, when the temporary files cannot be written; `Fetch`, when a mirror does not answer.
pub async fn probe(settings: &ProbeSettings, observer: &SharedObserver) -> Result<ProbeReport> {
    let temporary = TemporaryHome::make("probe")?;
    temporary.put(".pubdata-mirror", b"sample = true\n")?;
    let desk = RunSettings {
        home: temporary.home().clone(),
        releases: Releases::open(temporary.home(), None)?,
        declarations: settings.declarations.clone(),
        fetch: settings.fetch.clone(),
        channel: String::new(),
        selectors: settings.selectors.clone(),
        is_forced: false,
        is_offline: false,
        accepted: Vec::new(),
        confirmed: Vec::new(),
    };
    let fetcher = Fetcher::new(settings.fetch.clone(), Snapshots::open(temporary.home())?)?;
    fetcher.prepare().await?;
    let tasks = newest_partitions(&desk, &fetcher).await?;
    let asked = ask(&desk, &fetcher, &tasks, &temporary, settings, observer).await?;
    foresee::foresee(settings, &temporary, &tasks, &asked, observer).await
}

/// The selected tasks; of a pipeline with partitions the newest that the publisher has.
async fn newest_partitions<'a>(desk: &'a RunSettings, fetcher: &Fetcher) -> Result<Vec<Foreseen<'a>>> {
    let mut by_pipeline: Vec<Vec<Selected<'a>>> = Vec::new();
    for task in selected(&desk.declarations, &desk.selectors, desk.fetch.clock.now())? {
        match by_pipeline.last_mut().filter(|tasks| tasks[0].declaration.pipeline_id == task.declaration.pipeline_id) {
            Some(tasks) => tasks.push(task),
            None => by_pipeline.push(vec![task]),
        }
    }
    let mut newest = Vec::new();
    for partitions in by_pipeline {
        let mut candidates: Vec<Foreseen<'a>> = partitions.into_iter().map(|task| Foreseen::new(desk, task)).collect::<Result<_>>()?;
        let mut chosen = None;
        while let Some(candidate) = candidates.pop() {
            if candidates.is_empty() && chosen.is_none() || is_published(desk, fetcher, &candidate).await? {
                chosen = Some(candidate);
                break;
            }
        }
        newest.extend(chosen);
    }
    Ok(newest)
}

/// Whether the first required file of a partition is there.
async fn is_published(desk: &RunSettings, fetcher: &Fetcher, task: &Foreseen<'_>) -> Result<bool> {
    if task.partition.is_none() {
        return Ok(true);
    }
    let own = task.sources.iter().find(|(owner, source)| owner.pipeline_id == task.declaration.pipeline_id && source.required && source.listing.is_none());
    let Some((owner, source)) = own else { return Ok(true) };
    let Some(address) = task.addresses(desk, owner, source)?.into_iter().flatten().next() else { return Ok(true) };
    Ok(!matches!(fetcher.head(&address.request, Piece::Start(1)).await?, Head::Absent { .. }))
}

/// Asks for the head of every file of the tasks, each once.
async fn ask<'a>(
    desk: &'a RunSettings,
    fetcher: &Fetcher,
    tasks: &[Foreseen<'a>],
    temporary: &TemporaryHome,
    given: &ProbeSettings,
    observer: &SharedObserver,
) -> Result<Vec<Asked<'a>>> {
    let mut asked = Vec::new();
    // By source and first address: a source that several tasks read is asked for once.
    let mut rows: BTreeMap<(String, String), Vec<Address<'a>>> = BTreeMap::new();
    let mut add = |row: Vec<Address<'a>>| {
        if let Some(first) = row.first() {
            rows.insert((first.source.source_id.clone(), first.request.url.clone()), row);
        }
    };
    for task in tasks {
        for (owner, source) in task.sources.iter().filter(|(_, source)| source.listing.is_none()) {
            task.addresses(desk, owner, source)?.into_iter().for_each(&mut add);
        }
    }
    for (source, is_lookup) in listings(tasks) {
        let (page, files) = list(fetcher, source, is_lookup, temporary).await?;
        asked.extend(page);
        files.into_iter().for_each(|address| add(vec![address]));
    }
    observer.fetching(rows.len());
    // Neighbours in the list are of one host: in turns, every host is asked from the beginning.
    let rows = in_turns(rows.into_values().collect());
    let examine_row = async |row: Vec<Address<'a>>| {
        let mut absent = None;
        for address in row {
            let examined = examine(fetcher, &address, given.rows, temporary).await?;
            if examined.verdict() != Verdict::Absent {
                observer.fetched(&address.request.url, examined.verdict().word());
                return Ok(Some(Asked { address, examined }));
            }
            absent = absent.or(Some(Asked { address, examined }));
        }
        observer.fetched(absent.as_ref().map_or("", |asked| asked.address.request.url.as_str()), Verdict::Absent.word());
        Ok::<_, Error>(absent)
    };
    let examined: Vec<Result<Option<Asked<'a>>>> = stream::iter(rows).map(examine_row).buffer_unordered(CONCURRENT_FILES).collect().await;
    for result in examined {
        asked.extend(result?);
    }
    asked.sort_by(|a, b| (&a.address.source.source_id, &a.address.request.url).cmp(&(&b.address.source.source_id, &b.address.request.url)));
    Ok(asked)
}

fn listings<'a>(tasks: &[Foreseen<'a>]) -> Vec<(&'a Source, bool)> {
    let mut listings: Vec<(&Source, bool)> = Vec::new();
    for (owner, source) in tasks.iter().flat_map(|task| &task.sources).filter(|(_, source)| source.listing.is_some()) {
        if !listings.iter().any(|(known, _)| known.source_id == source.source_id) {
            listings.push((source, is_lookup(owner)));
        }
    }
    listings
}

/// Asks for the page that lists a source's files. The page itself is told of only where it gives no files.
async fn list<'a>(fetcher: &Fetcher, source: &'a Source, is_lookup: bool, temporary: &TemporaryHome) -> Result<(Option<Asked<'a>>, Vec<Address<'a>>)> {
    let request = listing_page(source).request;
    let page = |verdict: Verdict, problem: String| {
        let examined = Examined { verdict: Some(verdict), problem: Some(problem), ..Examined::default() };
        Some(Asked { address: Address { source, request: request.clone(), is_lookup }, examined })
    };
    // Without the page a run asks for the addresses that the declaration names.
    let otherwise: Vec<Address<'a>> = otherwise_requests(source, &[])?.into_iter().map(|file| Address { source, request: file.request, is_lookup }).collect();
    let fetched = match fetcher.fetch(&request, &NoProgress).await {
        Ok(Outcome::New(snapshot) | Outcome::Unchanged(snapshot)) => snapshot,
        Ok(Outcome::Absent) if !otherwise.is_empty() => return Ok((None, otherwise)),
        Err(error) if error.kind() == crate::error::ErrorKind::Fetch && !otherwise.is_empty() => return Ok((None, otherwise)),
        Ok(Outcome::Absent) => return Ok((page(Verdict::Absent, "there is no such page".to_owned()), Vec::new())),
        Ok(Outcome::NotConfigured { variable }) => return Ok((page(Verdict::NotAsked, format!("{variable} is not set")), Vec::new())),
        Err(error) if error.kind() == crate::error::ErrorKind::Fetch => {
            // What exactly the server said is seen once more, without the tries of a fetch.
            let verdict = match fetcher.head(&request, Piece::Start(1)).await? {
                Head::Moved { .. } => Verdict::Moved,
                Head::Refused { .. } => Verdict::Refused,
                _ => Verdict::Unreachable,
            };
            return Ok((page(verdict, error.to_string()), Vec::new()));
        }
        Err(error) => return Err(error),
    };
    let path = fetcher.snapshots().path(&fetched);
    let bytes = std::fs::read(&path).map_err(|error| Error::store(format!("cannot read {}: {error}", path.display())))?;
    temporary.put(&crate::fetch::mirror_path(&fetched.url)?, &bytes)?;
    match listed_requests(fetcher, source, &Fetched::Snapshots(vec![fetched]))? {
        Ok(files) => Ok((None, files.into_iter().map(|file| Address { source, request: file.request, is_lookup }).collect())),
        Err(_) if !otherwise.is_empty() => Ok((None, otherwise)),
        Err(problem) => Ok((page(Verdict::Changed, problem), Vec::new())),
    }
}

/// Puts rows of addresses in an order in which hosts take turns.
fn in_turns(rows: Vec<Vec<Address<'_>>>) -> Vec<Vec<Address<'_>>> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut turns: Vec<(usize, Vec<Address<'_>>)> = Vec::new();
    for row in rows {
        let host = row[0].request.url.split('/').nth(2).unwrap_or_default().to_owned();
        let turn = seen.entry(host).or_default();
        *turn += 1;
        turns.push((*turn, row));
    }
    turns.sort_by_key(|(turn, _)| *turn);
    turns.into_iter().map(|(_, row)| row).collect()
}
