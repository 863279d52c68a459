//! Fetches the files that the selected tasks read, and decides for each task what to do, and why.
//! Builds nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::calendar::{Expected, PublishedRange};
use super::entry::{entry, reasons};
use super::selection::{Selected, selected, sources_of};
use super::upstream::{AcceptedFiles, OtherTasks, Upstream, spared, upstream_of};
use crate::fetching::arrivals::Arrivals;
use crate::fetching::dates::date_files;
use crate::fetching::editions::{Series, before_the_first, files_of_source};
use crate::fetching::fetch::fetch_all;
use crate::fetching::fetch_target::{FetchTarget, Fetched};
use crate::fetching::fetcher::fetcher;
use crate::fetching::listing::{
    listed_requests, listing_page, no_longer_listed, no_longer_listed_message, otherwise_requests,
};
use crate::fetching::manual_import::{import_note, imported_or_due_files, is_manual, withdrawn_in};
use crate::fetching::requests::requests;
use crate::observer::SharedObserver;
use crate::reporting::findings::{FILE_MISSING, PAGE_NOT_READ};
use crate::reporting::plan::{FetchedSource, Plan, PlannedTask, Problem, TaskState};
use crate::settings::{RunSettings, is_selected, names};
use pubdata_build::validate::SHRINK;
use pubdata_core::error::{Error, Result};
use pubdata_core::issue::SourceFinding;
use pubdata_core::pipeline::{Source, Variable};
use pubdata_core::provenance::Snapshot;
use pubdata_fetch::{Fetcher, Request};
use pubdata_store::{Manifest, Snapshots, TaskEntry};

struct Candidate<'a> {
    task: Selected<'a>,
    /// The files, each with a flag that says whether the build requires it.
    files: Vec<(FetchTarget, bool)>,
    /// Sources whose files are listed on a page.
    listed: Vec<&'a Source>,
    /// Problems of files that could not be found on these pages.
    not_listed: Vec<String>,
    /// Files of the last release that a page no longer lists but that stay in use, each with the
    /// finding about it.
    no_longer_listed: Vec<(Snapshot, SourceFinding)>,
    /// Findings about pages.
    findings: Vec<SourceFinding>,
    /// Files whose names are labels of periods.
    series: Vec<Series>,
    /// Sources that are fetched on demand, each with the other sources of its declaration.
    on_demand: Vec<(&'a Source, Vec<&'a str>)>,
    /// Tasks of this run or of the last release whose files the build reads. These tasks' own
    /// candidates fetch the files.
    upstream: Upstream<'a>,
    /// Files that the upstream tasks accepted.
    of_upstream: Vec<Snapshot>,
    /// Upstream tasks without an accepted build.
    not_accepted: Vec<Problem>,
}

impl Candidate<'_> {
    /// Takes the files that upstream tasks accepted, and drops pipelines that the build does not
    /// require.
    fn take_upstream(
        &mut self,
        others: &OtherTasks<'_>,
        fetched: &BTreeMap<String, Fetched>,
        previous: &[Snapshot],
    ) -> Result<()> {
        let settings = others.settings;
        let AcceptedFiles { snapshots, lacking } =
            others.accepted_files(self.task.declaration, &self.upstream)?;
        self.of_upstream = snapshots;
        let pipeline_of = |file: &FetchTarget| {
            settings
                .declarations
                .source(&file.request.source_id)
                .map(|(owner, _)| owner.pipeline_id.as_str())
        };
        let did_not_come = |(file, is_required): &&(FetchTarget, bool)| {
            *is_required && !matches!(fetched.get(&file.request.url), Some(Fetched::Snapshots(_)))
        };
        let of_files = self
            .files
            .iter()
            .filter(did_not_come)
            .filter_map(|(file, _)| pipeline_of(file));
        let spared = spared(
            settings,
            self.task.declaration,
            &of_files.chain(lacking.keys().map(String::as_str)).collect(),
            previous,
        );
        for (file, is_required) in &mut self.files {
            *is_required &=
                !pipeline_of(file).is_some_and(|pipeline_id| spared.contains(pipeline_id));
        }
        self.not_accepted = lacking
            .into_iter()
            .filter(|(pipeline_id, _)| !spared.contains(pipeline_id.as_str()))
            .map(|(_, problem)| problem)
            .collect();
        Ok(())
    }
}

/// Fetches the selected sources and determines what to build from them, and why.
///
/// # Errors
/// Returns `Config` if a selector matches nothing, and `Store` if local files cannot be read.
pub async fn plan(settings: &RunSettings, observer: &SharedObserver) -> Result<Plan> {
    let (current, generation) = match settings.releases.channel(&settings.channel).await? {
        Some(entry) => (
            Some(settings.releases.manifest(&entry.release_id).await?),
            Some(entry.generation),
        ),
        None => (None, None),
    };
    let fetcher = fetcher(settings)?;
    if !settings.is_offline {
        fetcher.prepare().await?;
    }
    let is_sample = fetcher.is_sample()
        || (settings.is_offline && current.as_ref().is_some_and(|manifest| manifest.is_sample));
    let mut candidates = candidates(settings, current.as_ref())?;
    if candidates.is_empty()
        && !(settings.chosen.pipelines.is_empty() && settings.chosen.disabled.is_empty())
    {
        return Err(Error::config(
            "`pipelines` and `disabled` in pubdata.toml leave nothing to run",
        )
        .hint("`pubdata settings` shows what is in force"));
    }
    let listing_pages = find_listed(
        settings,
        &fetcher,
        &mut candidates,
        current.as_ref(),
        observer,
    )
    .await?;
    let (fetched, mut sources) = fetch_files(settings, &fetcher, &mut candidates, observer).await?;
    for candidate in &mut candidates {
        let previous = current
            .as_ref()
            .and_then(|manifest| manifest.tasks.get(&candidate.task.task_id))
            .map_or(&[][..], |entry| &entry.inputs);
        candidate
            .series
            .iter()
            .for_each(|series| series.settle(&mut candidate.files, &fetched, previous));
    }
    sources.extend(listing_pages);
    sources.sort_by(|a, b| a.url.cmp(&b.url));
    let published = published_ranges(&candidates, &fetched);
    let today = settings.today();
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|index| !candidates[*index].upstream.is_empty());
    let mut tasks: BTreeMap<usize, PlannedTask> = BTreeMap::new();
    for index in order {
        let candidate = &mut candidates[index];
        let previous = current
            .as_ref()
            .and_then(|manifest| manifest.tasks.get(&candidate.task.task_id));
        let planned = tasks
            .values()
            .map(|task| (task.task_id.as_str(), task))
            .collect();
        let others = OtherTasks {
            settings,
            current: current.as_ref(),
            is_sample,
            planned,
            refused: &BTreeSet::new(),
        };
        candidate.take_upstream(
            &others,
            &fetched,
            previous.map_or(&[], |entry| &entry.inputs),
        )?;
        let range = published
            .get(&candidate.task.declaration.pipeline_id)
            .copied();
        let expected = Expected::for_partition(
            candidate.task.declaration,
            candidate.task.partition.as_deref(),
            range,
            previous.is_some(),
            today,
        )?;
        let (state, entry) = judge(
            settings,
            candidate,
            &fetched,
            previous,
            expected,
            is_sample,
            current.as_ref(),
        )?;
        let pipeline_id = candidate.task.declaration.pipeline_id.clone();
        let late_since = expected
            .late_since
            .filter(|_| !is_sample && matches!(state, TaskState::NotPublished(_)));
        let is_optional = settings
            .chosen
            .is_optional(candidate.task.declaration, &candidate.task.task_id);
        let task_id = candidate.task.task_id.clone();
        tasks.insert(
            index,
            PlannedTask {
                is_optional,
                task_id,
                pipeline_id,
                partition: candidate.task.partition.clone(),
                state,
                late_since,
                entry,
            },
        );
    }
    let tasks: Vec<PlannedTask> = tasks.into_values().collect();
    let untouched =
        current
            .iter()
            .flat_map(|manifest| &manifest.tasks)
            .filter(|(task_id, entry)| {
                let is_declared = settings
                    .declarations
                    .pipelines
                    .get(&entry.pipeline_id)
                    .is_some_and(|declaration| !declaration.produces.is_empty());
                is_declared && !tasks.iter().any(|task| task.task_id == **task_id)
            });
    let untouched = untouched.map(|(task_id, _)| task_id.clone()).collect();
    Ok(Plan {
        tasks,
        sources,
        untouched,
        current,
        generation,
        is_sample,
    })
}

/// Fetches the candidates' files. If the newest files are absent, fetches earlier ones.
async fn fetch_files(
    settings: &RunSettings,
    fetcher: &Fetcher,
    candidates: &mut [Candidate<'_>],
    observer: &SharedObserver,
) -> Result<(BTreeMap<String, Fetched>, Vec<FetchedSource>)> {
    let (mut fetched, mut sources) = (BTreeMap::new(), Vec::new());
    loop {
        let is_new = |file: &&mut FetchTarget| !fetched.contains_key(&file.request.url);
        let files = candidates
            .iter_mut()
            .flat_map(|candidate| &mut candidate.files)
            .map(|(file, _)| file)
            .filter(is_new)
            .collect();
        sources.extend(date_files(settings, fetcher, files, observer).await?);
        let files = candidates
            .iter()
            .flat_map(|candidate| &candidate.files)
            .map(|(file, _)| (file.request.url.as_str(), file));
        let targets: BTreeMap<&str, &FetchTarget> = files
            .filter(|(url, _)| !fetched.contains_key(*url))
            .collect();
        let (more, reported) = fetch_all(
            settings,
            fetcher,
            targets.into_values().cloned().collect(),
            observer,
        )
        .await?;
        fetched.extend(more);
        sources.extend(reported);
        let mut is_complete = true;
        for Candidate { series, files, .. } in candidates.iter_mut() {
            for series in series {
                let earlier = series.earlier(files, &fetched);
                is_complete &= earlier.is_empty();
                files.extend(earlier);
            }
        }
        if is_complete {
            return Ok((fetched, sources));
        }
    }
}

/// Fetches on-demand files of the selected pipelines for the given values.
///
/// # Errors
/// Returns `Config` if the selected pipelines have no source with that variable, and `Store` if
/// local files cannot be read.
pub async fn fetch_on_demand(
    settings: &RunSettings,
    variable: &str,
    values: &[String],
    observer: &SharedObserver,
) -> Result<Vec<FetchedSource>> {
    let fetcher = fetcher(settings)?;
    fetcher.prepare().await?;
    let mut targets = Vec::new();
    for declaration in settings.declarations.pipelines.values() {
        let is_needed = settings.selectors.is_empty()
            || settings
                .selectors
                .iter()
                .any(|selector| is_selected(selector, declaration, &declaration.pipeline_id));
        for source in declaration
            .sources
            .iter()
            .filter(|source| is_needed && source.on_demand.as_deref() == Some(variable))
        {
            let source = Source {
                variables: [(variable.to_owned(), Variable::Values(values.to_vec()))].into(),
                ..source.clone()
            };
            targets.extend(requests(settings, declaration, &source, None)?);
        }
    }
    if targets.is_empty() {
        return Err(
            Error::config(format!("no selected pipeline has files by `{variable}`")).hint(format!(
                "`pubdata fetch sec --{variable} …` fetches those of the SEC"
            )),
        );
    }
    Ok(fetch_all(settings, &fetcher, targets, observer).await?.1)
}

/// Fetches the pages that list files, and adds the newest listed files to their tasks. If a page no
/// longer lists a kind of file that the last release used, that kind is reported as missing, so
/// that data never disappears without a message.
async fn find_listed(
    settings: &RunSettings,
    fetcher: &Fetcher,
    candidates: &mut [Candidate<'_>],
    current: Option<&Manifest>,
    observer: &SharedObserver,
) -> Result<Vec<FetchedSource>> {
    // Keyed by URL, because sources that share a page fetch it once. Two concurrent fetches would
    // write the same snapshot.
    let pages: BTreeMap<&str, FetchTarget> = candidates
        .iter()
        .flat_map(|candidate| &candidate.listed)
        .filter(|source| !is_manual(settings, source))
        .map(|source| (source.url.as_str(), listing_page(source)))
        .collect();
    let (fetched, sources) = if pages.is_empty() {
        Default::default()
    } else {
        fetch_all(settings, fetcher, pages.into_values().collect(), observer).await?
    };
    for candidate in candidates {
        let previous = current
            .and_then(|manifest| manifest.tasks.get(&candidate.task.task_id))
            .map_or(&[][..], |entry| &entry.inputs);
        for source in &candidate.listed {
            let files = match fetched
                .get(&source.url)
                .filter(|_| !is_manual(settings, source))
            {
                Some(page) => listed_requests(fetcher, source, page)?,
                None => imported_or_due_files(settings, source)?,
            };
            let files = match files {
                Ok(files) => files,
                Err(problem) => {
                    let mut files = otherwise_requests(source, previous)?;
                    if files.is_empty() {
                        // Falls back to manually imported files if the page refuses programs.
                        files = imported_or_due_files(settings, source)?.unwrap_or_default();
                    }
                    if !files.is_empty() {
                        let detail = format!(
                            "{}: {problem}; used the addresses from the declaration, the last release or imported files instead",
                            source.url
                        );
                        candidate.findings.push(SourceFinding::new(
                            &source.source_id,
                            PAGE_NOT_READ,
                            detail,
                        ));
                    } else if source.required {
                        candidate
                            .not_listed
                            .push(format!("{} ({}): {problem}", source.source_id, source.url));
                        continue;
                    }
                    files
                }
            };
            let gone =
                no_longer_listed(settings, &candidate.task.task_id, source, &files, previous);
            if source.partial {
                let reason = |gone: &Snapshot| {
                    SourceFinding::new(
                        &source.source_id,
                        FILE_MISSING,
                        no_longer_listed_message(source, &[gone]),
                    )
                };
                candidate
                    .no_longer_listed
                    .extend(gone.into_iter().map(|gone| (gone.clone(), reason(gone))));
            } else if !gone.is_empty() {
                candidate.not_listed.push(format!(
                    "{}: {}",
                    source.source_id,
                    no_longer_listed_message(source, &gone)
                ));
            }
            candidate
                .files
                .extend(files.into_iter().map(|file| (file, source.required)));
        }
    }
    Ok(sources)
}

/// Returns the tasks that the selectors name, with the files to fetch for each.
fn candidates<'a>(
    settings: &'a RunSettings,
    current: Option<&Manifest>,
) -> Result<Vec<Candidate<'a>>> {
    let mut candidates = Vec::new();
    let tasks = selected(
        &settings.declarations,
        &settings.chosen,
        &settings.selectors,
        settings.fetch.clock.now(),
    )?;
    let mut task_ids: BTreeSet<String> = tasks.iter().map(|task| task.task_id.clone()).collect();
    task_ids.extend(
        current
            .into_iter()
            .flat_map(|current| current.tasks.keys().cloned()),
    );
    for task in tasks {
        // The files of an upstream task that is neither run nor released are not judged, but are
        // read as fetched.
        let mut upstream = upstream_of(settings, task.declaration)?;
        upstream.retain(|pipeline_id, _| task_ids.contains(*pipeline_id));
        let mut files = Vec::new();
        let (mut on_demand, mut listed, mut series, mut not_listed) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (owner, source) in sources_of(settings, task.declaration)? {
            if upstream.contains_key(owner.pipeline_id.as_str()) {
                continue;
            }
            if source.on_demand.is_some() {
                let others = owner
                    .sources
                    .iter()
                    .filter(|other| other.on_demand.is_none())
                    .map(|other| other.source_id.as_str());
                on_demand.push((source, others.collect()));
                continue;
            }
            if source.listing.is_some() {
                listed.push(source);
                continue;
            }
            let partition = task
                .partition
                .as_deref()
                .filter(|_| std::ptr::eq(owner, task.declaration));
            let (targets, of_source) = files_of_source(settings, owner, source, partition)?;
            files.extend(targets.into_iter().map(|target| (target, source.required)));
            series.extend(of_source);
            not_listed.extend(before_the_first(settings, owner, source)?);
        }
        candidates.push(Candidate {
            task,
            files,
            listed,
            not_listed,
            no_longer_listed: Vec::new(),
            findings: Vec::new(),
            series,
            on_demand,
            upstream,
            of_upstream: Vec::new(),
            not_accepted: Vec::new(),
        });
    }
    Ok(candidates)
}

/// Returns the first and last partition of each pipeline with at least one existing file.
fn published_ranges(
    candidates: &[Candidate<'_>],
    fetched: &BTreeMap<String, Fetched>,
) -> BTreeMap<String, PublishedRange> {
    let mut ranges: BTreeMap<String, PublishedRange> = BTreeMap::new();
    for candidate in candidates {
        let is_there = |(file, _): &&(FetchTarget, bool)| {
            matches!(fetched.get(&file.request.url), Some(Fetched::Snapshots(_)))
        };
        let own = candidate
            .files
            .iter()
            .filter(|(file, _)| is_own(candidate, &file.request));
        if let Some(value) = candidate
            .task
            .partition
            .as_ref()
            .and_then(|value| value.parse().ok())
            && own.clone().any(|file| is_there(&file))
        {
            let range = ranges
                .entry(candidate.task.declaration.pipeline_id.clone())
                .or_insert((value, value));
            *range = (range.0.min(value), range.1.max(value));
        }
    }
    ranges
}

fn is_own(candidate: &Candidate<'_>, request: &Request) -> bool {
    candidate
        .task
        .declaration
        .sources
        .iter()
        .any(|source| source.source_id == request.source_id)
}

fn judge(
    settings: &RunSettings,
    candidate: &Candidate<'_>,
    fetched: &BTreeMap<String, Fetched>,
    previous: Option<&TaskEntry>,
    expected: Expected,
    is_sample: bool,
    current: Option<&Manifest>,
) -> Result<(TaskState, Option<TaskEntry>)> {
    let Arrivals {
        mut snapshots,
        mut problems,
        mut findings,
        is_failed,
    } = Arrivals::new(
        settings,
        &candidate.files,
        fetched,
        previous.map_or(&[], |previous| &previous.inputs),
    )?;
    problems.extend(
        candidate
            .not_listed
            .iter()
            .map(|message| Problem::missing(message.clone())),
    );
    problems.extend(candidate.not_accepted.iter().cloned());
    findings.extend(candidate.findings.iter().cloned());
    for (snapshot, finding) in &candidate.no_longer_listed {
        snapshots.push(snapshot.clone());
        findings.push(finding.clone());
    }
    if !expected.is_expected && !is_failed {
        return Ok((TaskState::NotPublished(Vec::new()), None));
    }
    let absent = candidate
        .files
        .iter()
        .filter(|(file, is_required)| {
            *is_required && matches!(fetched[&file.request.url], Fetched::Absent)
        })
        .count();
    if expected.may_be_incomplete && !is_failed && absent > 0 && problems.len() == absent {
        return Ok((
            TaskState::NotPublished(vec![format!(
                "only some of its files are published: {absent} are still missing"
            )]),
            None,
        ));
    }
    for (source, others) in &candidate.on_demand {
        let newest = snapshots
            .iter()
            .filter(|snapshot| others.contains(&snapshot.source_id.as_str()))
            .map(|snapshot| snapshot.fetched_at.clone())
            .max();
        let known = Snapshots::open(&settings.home)?.known_of_source(&source.source_id)?;
        snapshots.extend(known.into_iter().filter(|snapshot| {
            newest
                .as_ref()
                .is_none_or(|newest| snapshot.fetched_at > *newest)
        }));
    }
    if problems.is_empty() && snapshots.is_empty() && candidate.of_upstream.is_empty() {
        let first = candidate
            .files
            .first()
            .map_or("no file", |(file, _)| file.request.url.as_str());
        let whose = if settings.fetch.mirrors.is_empty() {
            "the publisher has none of its files"
        } else {
            "no mirror has any of its files"
        };
        problems.push(Problem::missing(format!("{whose}, such as {first}")));
    }
    if problems.is_empty() {
        // A build made from a file that was later withdrawn cannot be a baseline.
        let accepted = if withdrawn_in(settings, previous)?.is_some() {
            None
        } else {
            previous
        };
        problems.extend(losses(
            settings,
            &candidate.task.task_id,
            &snapshots,
            accepted,
        )?);
    }
    snapshots.extend(candidate.of_upstream.iter().cloned());
    if !problems.is_empty() {
        return Ok((TaskState::Blocked(problems), None));
    }
    let entry = entry(settings, &candidate.task, snapshots, findings, is_sample)?;
    let reasons = reasons(
        &entry,
        previous,
        settings.is_forced,
        current,
        &settings.declarations.contracts,
    );
    let state = if reasons.is_empty() {
        TaskState::Fresh
    } else {
        TaskState::Stale(reasons)
    };
    Ok((state, Some(entry)))
}

/// Returns the files and paged lists that have shrunk since the last release by more than their
/// declaration allows.
fn losses(
    settings: &RunSettings,
    task_id: &str,
    snapshots: &[Snapshot],
    previous: Option<&TaskEntry>,
) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    let before = sizes(
        settings,
        previous
            .map(|previous| previous.inputs.as_slice())
            .unwrap_or_default(),
    );
    for (file, (size_bytes, first)) in sizes(settings, snapshots) {
        let Some((known_bytes, _)) = before.get(&file) else {
            continue;
        };
        let most = settings
            .declarations
            .source(&first.source_id)
            .map_or(100.0, |(_, source)| source.max_shrink_percent);
        let loss = 100.0 - size_bytes as f64 * 100.0 / (*known_bytes).max(1) as f64;
        if loss > most && !settings.has_override(&names(task_id, &first.source_id), SHRINK) {
            let manual = import_note(settings, first)?
                .map(|word| format!(". {word}"))
                .unwrap_or_default();
            let message = format!(
                "{} ({}) has {size_bytes} bytes, {loss:.1} % fewer than the {known_bytes} of the last release; a loss of more than {most} % is rejected. Look at the file{manual}",
                first.source_id, first.url
            );
            let next_step = Some(format!(
                "if the file is right: `pubdata accept {task_id}:{SHRINK}`"
            ));
            problems.push(Problem {
                is_source_missing: false,
                message,
                next_step,
            });
        }
    }
    Ok(problems)
}

/// A source and the values of its variables, except the page number.
type FileKey<'a> = (&'a str, Vec<(&'a String, &'a String)>);

/// Returns the size and the first snapshot of each file. The pages of a list count as one file.
fn sizes<'a>(
    settings: &RunSettings,
    snapshots: &'a [Snapshot],
) -> BTreeMap<FileKey<'a>, (u64, &'a Snapshot)> {
    let mut sizes = BTreeMap::new();
    for snapshot in snapshots {
        let pages = settings
            .declarations
            .source(&snapshot.source_id)
            .and_then(|(_, source)| source.pages.as_ref());
        let keys = snapshot
            .keys
            .iter()
            .filter(|(name, _)| pages.is_none_or(|pages| pages.variable != **name))
            .collect();
        sizes
            .entry((snapshot.source_id.as_str(), keys))
            .or_insert((0, snapshot))
            .0 += snapshot.size_bytes;
    }
    sizes
}
