//! Requests the beginning of every file of the tasks. Each file is requested only once, however
//! many tasks read it, and requests alternate between hosts.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use futures_util::stream;

use super::address::{Address, PredictedTask};
use super::examine::examine;
use super::listing::{listed, read_pages};
use super::report::Verdict;
use super::{ProbeContext, ProbedAddress, Role, fallback_file};
use crate::planning::selection::{Selected, selected};
use pubdata_core::error::{Error, Result};
use pubdata_fetch::{Head, Piece};

/// Maximum number of files requested at a time, over all hosts. `fetch` itself limits the number
/// for each host.
const CONCURRENT_FILES: usize = 48;

/// Returns the selected tasks. A partitioned pipeline is represented by the newest partition that
/// the publisher has.
pub(super) async fn newest_partitions<'d>(
    context: &'d ProbeContext<'_>,
) -> Result<Vec<PredictedTask<'d>>> {
    let run = &context.run;
    let mut by_pipeline: Vec<Vec<Selected<'_>>> = Vec::new();
    for task in selected(
        &run.declarations,
        &run.chosen,
        &run.selectors,
        run.fetch.clock.now(),
    )? {
        match by_pipeline
            .last_mut()
            .filter(|tasks| tasks[0].declaration.pipeline_id == task.declaration.pipeline_id)
        {
            Some(tasks) => tasks.push(task),
            None => by_pipeline.push(vec![task]),
        }
    }
    let mut newest = Vec::new();
    for partitions in by_pipeline {
        let mut candidates: Vec<PredictedTask<'_>> = partitions
            .into_iter()
            .map(|task| PredictedTask::new(run, task))
            .collect::<Result<_>>()?;
        while let Some(candidate) = candidates.pop() {
            if candidates.is_empty() || is_published(context, &candidate).await? {
                newest.push(candidate);
                break;
            }
        }
    }
    Ok(newest)
}

/// Returns true if the first required file of a partition exists.
async fn is_published(context: &ProbeContext<'_>, task: &PredictedTask<'_>) -> Result<bool> {
    if task.partition.is_none() {
        return Ok(true);
    }
    let own = task.sources.iter().find(|(owner, source)| {
        owner.pipeline_id == task.declaration.pipeline_id
            && source.required
            && source.listing.is_none()
    });
    let Some((owner, source)) = own else {
        return Ok(true);
    };
    let Some(address) = task
        .addresses(&context.run, owner, source)?
        .into_iter()
        .flatten()
        .next()
    else {
        return Ok(true);
    };
    Ok(!matches!(
        context
            .fetcher
            .head(&address.request, Piece::Start(1))
            .await?,
        Head::Absent { .. }
    ))
}

/// Requests the first bytes of every file of the tasks, each file only once.
pub(super) async fn ask<'a>(
    context: &'a ProbeContext<'_>,
    tasks: &[PredictedTask<'a>],
) -> Result<Vec<ProbedAddress<'a>>> {
    let mut probed = Vec::new();
    // Keyed by source and first URL, so that a source read by several tasks is requested once.
    let mut rows: BTreeMap<(String, String), Vec<Address<'a>>> = BTreeMap::new();
    let mut add = |row: Vec<Address<'a>>| {
        if let Some(first) = row.first() {
            rows.insert(
                (first.source.source_id.clone(), first.request.url.clone()),
                row,
            );
        }
    };
    for task in tasks {
        for (owner, source) in task
            .sources
            .iter()
            .filter(|(_, source)| source.listing.is_none())
        {
            task.addresses(&context.run, owner, source)?
                .into_iter()
                .for_each(&mut add);
        }
    }
    let pages = read_pages(context, tasks).await?;
    for (page, files) in listed(context, tasks, &pages)? {
        probed.extend(page);
        files.into_iter().for_each(|address| add(vec![address]));
    }
    context.observer.on_fetch_started(rows.len());
    // Neighbouring files in the list share a host. Alternating between hosts lets requests to all
    // hosts start at once.
    let rows = in_turns(rows.into_values().collect());
    let examined: Vec<Result<Option<ProbedAddress<'a>>>> = stream::iter(rows)
        .map(async |row| ask_row(context, row).await)
        .buffer_unordered(CONCURRENT_FILES)
        .collect()
        .await;
    for result in examined {
        probed.extend(result?);
    }
    probed.sort_by(|a, b| {
        (&a.address.source.source_id, &a.address.request.url)
            .cmp(&(&b.address.source.source_id, &b.address.request.url))
    });
    Ok(probed)
}

/// Tries the URLs in a list of alternatives one after another until one of them has a file.
async fn ask_row<'a>(
    context: &ProbeContext<'_>,
    row: Vec<Address<'a>>,
) -> Result<Option<ProbedAddress<'a>>> {
    let mut absent = None;
    for address in row {
        let examined = examine(context, &address).await?;
        let (examined, fallback_file) = fallback_file::load(context, &address, examined).await?;
        let verdict = examined.verdict();
        let is_absent = verdict == Verdict::Absent && fallback_file.is_none();
        let probed = ProbedAddress {
            address,
            role: Role::File,
            examined,
            fallback_file,
        };
        if !is_absent {
            context
                .observer
                .on_fetched(&probed.address.request.url, verdict.word());
            return Ok(Some(probed));
        }
        absent = absent.or(Some(probed));
    }
    context.observer.on_fetched(
        absent
            .as_ref()
            .map_or("", |probed| probed.address.request.url.as_str()),
        Verdict::Absent.word(),
    );
    Ok::<_, Error>(absent)
}

/// Reorders the lists of alternative URLs so that hosts alternate.
fn in_turns(rows: Vec<Vec<Address<'_>>>) -> Vec<Vec<Address<'_>>> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut turns: Vec<(usize, Vec<Address<'_>>)> = Vec::new();
    for row in rows {
        let host = row[0]
            .request
            .url
            .split('/')
            .nth(2)
            .unwrap_or_default()
            .to_owned();
        let turn = seen.entry(host).or_default();
        *turn += 1;
        turns.push((*turn, row));
    }
    turns.sort_by_key(|(turn, _)| *turn);
    turns.into_iter().map(|(_, row)| row).collect()
}
