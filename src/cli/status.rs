//! `pubdata status`: first prints everything that needs the operator's attention, with the command
//! to type. Then prints the content of the channel's release, manual imports, and the latest runs.
//! Sends no requests to publishers.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use super::attention::Extent;
use super::{Global, output};
use pubdata_core::error::Result;
use pubdata_core::ids::ReleaseId;
use pubdata_core::pipeline::{Evidence, EvidenceKind, LayoutEvidence};
use pubdata_core::provenance::Snapshot;
use pubdata_run::{self as run, Attention, ManualImport, TaskReport};
use pubdata_serve::{DatasetState, Freshness, freshness_of, freshness_of_task, summary_of_states};
use pubdata_store::{self as store, LedgerEntry, Manifest, TaskEntry};

#[derive(Args)]
pub(super) struct StatusArgs {
    /// The channel to show.
    #[arg(long, default_value = "nightly")]
    channel: String,
    /// Number of runs to show, newest first.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Shows datasets, tasks, and how every row of their sources was used.
    #[arg(long)]
    verbose: bool,
}

/// Published data, and everything that needs attention: `pubdata status`. `pubdata releases show
/// --json` prints the entire manifest.
#[derive(Serialize, JsonSchema)]
pub(super) struct StatusReport<'a> {
    /// The channel.
    channel: &'a str,
    /// True while a run is in progress.
    is_running: bool,
    /// Items that need the operator's attention, worst first.
    attention: &'a [Attention],
    /// The release that the channel points at; null if nothing was ever published.
    release: Option<StatusRelease<'a>>,
    /// Every task selected for runs, with the outcome of the latest run that tried it.
    tasks: &'a [TaskReport],
    /// Tasks in the release that no run rebuilds.
    not_chosen: &'a [String],
    /// Files that are or were imported manually.
    #[serde(rename = "by_hand")]
    manual_imports: &'a [ManualImport],
    /// The latest runs, newest first (`--runs`), including manual imports.
    runs: Vec<StatusRun<'a>>,
}

/// A release, without its parts and inputs.
#[derive(Serialize, JsonSchema)]
struct StatusRelease<'a> {
    /// The release.
    release_id: &'a ReleaseId,
    /// When it was published, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    published_at: &'a str,
    /// True if a build was made from samples.
    is_sample: bool,
    /// The release's datasets, by id.
    datasets: Vec<StatusDataset<'a>>,
}

/// A dataset of the release.
#[derive(Serialize, JsonSchema)]
struct StatusDataset<'a> {
    /// The dataset.
    dataset_id: &'a str,
    /// Number of published rows.
    rows: u64,
    /// Quarantined records, by rule.
    quarantined: BTreeMap<String, u64>,
    /// Total size of the dataset's files in bytes.
    size_bytes: u64,
    /// The dataset's age relative to its publisher's calendar, as in the API.
    freshness: Freshness,
    /// The most severe condition, or `fresh`; `findings` if only a source needs attention.
    state: DatasetState,
}

/// A run.
#[derive(Serialize, JsonSchema)]
struct StatusRun<'a> {
    /// The run.
    run_id: &'a str,
    /// When it began, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    started_at: &'a str,
    /// When it ended, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    ended_at: &'a str,
    /// The exit code.
    exit_code: u8,
    /// Outcome of the run. `failed`: the run did not complete; `imported`, `withdrawn`: the entry
    /// is a manual import or its withdrawal, not a run.
    #[schemars(extend("enum" = ["published", "unchanged", "mended", "nothing", "failed", "imported", "withdrawn"]))]
    outcome: &'a str,
    /// The release that the channel pointed at after the run; null if nothing was ever published.
    release_id: Option<&'a ReleaseId>,
    /// Further information, such as who imported which file; null otherwise.
    note: Option<&'a str>,
    /// Why the run failed; null if it did not fail.
    error: Option<&'a str>,
    /// Acceptances that the run used, each as `TASK:RULE`.
    accepted: &'a [String],
}

pub(super) async fn status(global: &Global, arguments: &StatusArgs) -> Result<ExitCode> {
    let settings = global.reading(&arguments.channel)?;
    let manifest = settings.releases.present(&arguments.channel).await?;
    let mut runs = store::read_ledger(&settings.home)?;
    runs.reverse();
    let tasks = run::task_statuses(&settings, manifest.as_ref(), &runs)?;
    let last_run = runs.iter().find(|run| is_run(run));
    let mut attention: Vec<Attention> = last_run
        .and_then(run::of_failed_run)
        .into_iter()
        .chain(run::attention(&tasks))
        .collect();
    let manual_imports = run::manual_imports(&settings, manifest.as_ref())?;
    attention.extend(run::of_manual_imports(&manual_imports, today(), &attention));
    let manual_imports = manual_imports.files;
    let is_running = settings.home.is_running()?;
    let others = not_chosen(&settings, manifest.as_ref(), &tasks);
    let shown_runs = &runs[..runs.len().min(arguments.runs)];
    if global.json {
        output::sorted_document(&StatusReport {
            channel: &arguments.channel,
            is_running,
            attention: &attention,
            release: manifest.as_ref().map(release),
            tasks: &tasks,
            not_chosen: &others,
            manual_imports: &manual_imports,
            runs: shown_runs.iter().map(run_line).collect(),
        });
        return Ok(ExitCode::SUCCESS);
    }
    let extent = if arguments.verbose {
        Extent::Full
    } else {
        Extent::Short
    };
    super::attention::print(global, &attention, extent);
    if attention.is_empty() && !tasks.iter().any(|task| task.outcome == "never_run") {
        output::print_line!("nothing needs attention");
        output::print_line!();
    }
    let others_with_release = if manifest.is_none() {
        settings.releases.channels().await?
    } else {
        Vec::new()
    };
    match (&manifest, runs.first()) {
        (Some(manifest), _) => print_summary(manifest, &arguments.channel),
        (None, _) if !others_with_release.is_empty() => {
            output::print_line!(
                "channel {} has no release; there are: {}",
                arguments.channel,
                others_with_release.join(", ")
            );
        }
        (None, Some(_)) => output::print_line!(
            "channel {} has no release: no run could publish anything yet",
            arguments.channel
        ),
        (None, None) => output::print_line!(
            "channel {} has no release yet; `pubdata run` makes one",
            arguments.channel
        ),
    }
    output::print_paragraph!(
        "{}: {}",
        output::counted(tasks.len(), "task"),
        super::attention::counts(tasks.iter().map(|task| task.outcome))
    );
    let untried: Vec<&str> = tasks
        .iter()
        .filter(|task| task.outcome == "never_run")
        .map(|task| task.task_id.as_str())
        .collect();
    if !untried.is_empty() {
        output::print_line!("no run has tried: {}", names(&untried, extent));
    }
    if !others.is_empty() {
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        output::print_line!(
            "in the release and not chosen to run (`pubdata settings`): {}",
            names(&others, extent)
        );
    }
    if let Some(manifest) = manifest.as_ref().filter(|_| arguments.verbose) {
        print_release(manifest);
    }
    let is_shown = |file: &&ManualImport| {
        arguments.verbose
            || file.imported_on.is_some()
            || file.source_date.is_none()
            || file.is_due(today())
    };
    print_manual_imports(manual_imports.iter().filter(is_shown));
    if is_running {
        output::print_paragraph!("a run is under way");
    }
    print_runs(shown_runs);
    if !arguments.verbose {
        output::print_paragraph!(
            "{}",
            output::dim(
                "--verbose shows datasets, tasks and how every row was used; --json shows everything for programs"
            )
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn is_run(entry: &LedgerEntry) -> bool {
    entry.import.is_none() && entry.outcome != store::IMPORTED
}

/// Returns the tasks in the release that no run rebuilds.
fn not_chosen(
    settings: &run::RunSettings,
    manifest: Option<&Manifest>,
    tasks: &[TaskReport],
) -> Vec<String> {
    let is_chosen = |task_id: &&String| tasks.iter().any(|task| task.task_id == **task_id);
    let is_declared = |task_id: &&String| {
        settings
            .declarations
            .pipelines
            .contains_key(task_id.split('/').next().unwrap_or_default())
    };
    let of_release = manifest.iter().flat_map(|manifest| manifest.tasks.keys());
    of_release
        .filter(|task_id| !is_chosen(task_id) && is_declared(task_id))
        .cloned()
        .collect()
}

/// Maximum number of names on a line.
const NAMES: usize = 12;

fn names(names: &[&str], extent: Extent) -> String {
    match names.len() {
        count if count > NAMES && extent == Extent::Short => {
            format!("{} and {} more", names[..NAMES].join(", "), count - NAMES)
        }
        _ => names.join(", "),
    }
}

fn release(manifest: &Manifest) -> StatusRelease<'_> {
    let datasets = manifest
        .datasets
        .iter()
        .map(|(dataset_id, dataset)| StatusDataset {
            dataset_id,
            rows: manifest.rows(dataset_id),
            quarantined: manifest.quarantined(dataset_id),
            size_bytes: dataset.parts.iter().map(|part| part.size_bytes).sum(),
            freshness: freshness_of(manifest, dataset, today()),
            state: DatasetState::new(manifest, dataset, today()),
        });
    StatusRelease {
        release_id: &manifest.release_id,
        published_at: &manifest.published_at,
        is_sample: manifest.is_sample,
        datasets: datasets.collect(),
    }
}

fn run_line(run: &LedgerEntry) -> StatusRun<'_> {
    StatusRun {
        run_id: &run.run_id,
        started_at: &run.started_at,
        ended_at: &run.ended_at,
        exit_code: run.exit_code,
        outcome: &run.outcome,
        release_id: run.release_id.as_ref(),
        note: run.note.as_deref(),
        error: run.error.as_deref(),
        accepted: &run.accepted,
    }
}

fn print_summary(manifest: &Manifest, channel: &str) {
    output::print_line!(
        "channel {channel} → {} published {}",
        output::bold(manifest.release_id.as_str()),
        output::to_seconds(&manifest.published_at)
    );
    let rows: u64 = manifest
        .datasets
        .keys()
        .map(|dataset_id| manifest.rows(dataset_id))
        .sum();
    let size = manifest
        .datasets
        .values()
        .flat_map(|dataset| &dataset.parts)
        .map(|part| part.size_bytes)
        .sum();
    output::print_line!(
        "{}, {}, {}",
        output::counted(manifest.datasets.len(), "dataset"),
        output::counted(rows, "row"),
        output::size(size)
    );
    let states = manifest
        .datasets
        .values()
        .map(|dataset| DatasetState::new(manifest, dataset, today()).name());
    output::print_line!("{}", summary_of_states(states));
    if manifest.is_sample {
        output::print_line!("built from samples: row floors do not apply");
    }
}

fn today() -> Date {
    Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// Formats the day from which the next edition is late. Returns an empty string for older
/// partitions and unknown schedules.
fn next_edition(manifest: &Manifest, task_id: &str) -> String {
    let late = manifest
        .late_since(task_id, today())
        .map(|day| output::warning(&format!("late since {day}")));
    late.or_else(|| {
        manifest
            .late_since(task_id, Date::MAX)
            .map(|day| format!("by {day}"))
    })
    .unwrap_or_default()
}

fn print_release(manifest: &Manifest) {
    output::print_line!();
    let mut rows = vec![vec![
        "DATASET".into(),
        "ROWS".into(),
        "QUARANTINED".into(),
        "PARTS".into(),
        "SIZE".into(),
    ]];
    for (dataset_id, dataset) in &manifest.datasets {
        rows.push(vec![
            dataset_id.clone(),
            output::grouped(manifest.rows(dataset_id)),
            output::grouped(manifest.quarantined(dataset_id).values().sum()),
            dataset.parts.len().to_string(),
            output::size(dataset.parts.iter().map(|part| part.size_bytes).sum()),
        ]);
    }
    output::table(&rows);
    output::print_line!();
    let mut rows = vec![vec![
        "TASK".into(),
        "FRESHNESS".into(),
        "NEWEST SOURCE".into(),
        "NEXT EDITION".into(),
        "BUILT".into(),
    ]];
    for (task_id, entry) in &manifest.tasks {
        rows.push(vec![
            task_id.clone(),
            output::coloured(freshness_of_task(manifest, task_id, today()).name()),
            entry
                .inputs
                .iter()
                .filter_map(Snapshot::day)
                .max()
                .map_or_else(String::new, |day| day.to_string()),
            next_edition(manifest, task_id),
            output::to_seconds(&entry.built_at),
        ]);
    }
    output::table(&rows);
    print_source_rows(manifest);
    print_unknown_words(manifest);
    let is_documented =
        |entry: &&TaskEntry| entry.layout_evidence == Some(LayoutEvidence::Documented);
    let documented: BTreeSet<&str> = manifest
        .tasks
        .values()
        .filter(is_documented)
        .map(|entry| entry.pipeline_id.as_str())
        .collect();
    if !documented.is_empty() {
        output::print_paragraph!(
            "layout taken from the publisher's documentation, not yet confirmed on a file: {}",
            documented.into_iter().collect::<Vec<_>>().join(", ")
        );
    }
    let is_excerpt = |(_, evidence): &(&String, &Evidence)| evidence.kind == EvidenceKind::Excerpt;
    let excerpts: BTreeMap<&String, &Evidence> = manifest
        .tasks
        .values()
        .flat_map(|entry| &entry.evidence)
        .filter(is_excerpt)
        .collect();
    if !excerpts.is_empty() {
        let messages: Vec<String> = excerpts
            .iter()
            .map(|(source_id, evidence)| format!("{source_id} ({})", evidence.seen))
            .collect();
        output::print_paragraph!(
            "layout known from some records or an older copy: {}",
            messages.join(", ")
        );
    }
}

/// Prints the sources whose files are or were imported manually, and when a newer file is due.
fn print_manual_imports<'f>(files: impl Iterator<Item = &'f ManualImport>) {
    let mut rows = vec![vec![
        "MANUAL IMPORT".into(),
        "NEWEST".into(),
        "NEXT DUE".into(),
        "IMPORTED".into(),
        "HOW".into(),
    ]];
    for file in files {
        let due = match (&file.source_date, file.due) {
            (None, _) if file.is_due(today()) => output::warning("now"),
            (None, _) => output::dim("optional"),
            (Some(_), Some(due)) if file.is_due(today()) => {
                output::warning(&format!("since {due}"))
            }
            (Some(_), due) => due.map(|due| due.to_string()).unwrap_or_default(),
        };
        let imported = [
            file.imported_on.clone(),
            file.imported_by.as_ref().map(|by| format!("by {by}")),
        ];
        let how = match file.is_manual {
            true => format!(
                "download {}, then `pubdata import {} FILE`",
                file.url, file.source_id
            ),
            false => format!("in use until the publisher has a newer file: {}", file.url),
        };
        rows.push(vec![
            file.source_id.clone(),
            file.source_date.clone().unwrap_or_default(),
            due,
            imported.into_iter().flatten().collect::<Vec<_>>().join(" "),
            how,
        ]);
    }
    if rows.len() > 1 {
        output::print_line!();
        output::table(&rows);
    }
}

/// Prints the coded columns that contain unknown values.
fn print_unknown_words(manifest: &Manifest) {
    let mut rows = vec![vec![
        "TASK".into(),
        "COLUMN".into(),
        "RECORDS WITH A TEXT".into(),
        "KNOWN".into(),
        "COMMONEST UNKNOWN TEXTS".into(),
    ]];
    for (dataset_id, dataset) in &manifest.datasets {
        for ((task_id, column), counts) in dataset
            .words()
            .into_iter()
            .filter(|(_, counts)| counts.unknown > 0)
        {
            let known = format!(
                "{:.1} %",
                (10.0 * (100.0 - counts.unknown_percent())).floor() / 10.0
            );
            let is_lost = manifest
                .tasks
                .get(task_id)
                .is_some_and(|task| task.has_lost_meaning(dataset_id, column));
            let words: Vec<String> = counts
                .most(UNKNOWN_WORDS_SHOWN)
                .into_iter()
                .map(|(word, count)| format!("{word} ({})", output::grouped(count)))
                .collect();
            let known = if is_lost {
                output::warning(&known)
            } else {
                known
            };
            rows.push(vec![
                task_id.to_owned(),
                column.to_owned(),
                output::grouped(counts.rows),
                known,
                words.join(", "),
            ]);
        }
    }
    if rows.len() > 1 {
        output::print_line!();
        output::table(&rows);
    }
}

/// Maximum number of unknown values on a line of `status`.
const UNKNOWN_WORDS_SHOWN: usize = 3;

/// Prints how every row of the sources was used. The counts on each line add up.
fn print_source_rows(manifest: &Manifest) {
    let mut rows = vec![vec![
        "SOURCE".into(),
        "ROWS READ".into(),
        "RECORDS".into(),
        "MERGED".into(),
        "QUARANTINED".into(),
        "LEFT OUT".into(),
    ]];
    for (task_id, entry) in &manifest.tasks {
        let partition = task_id
            .split_once('/')
            .map(|(_, partition)| format!(" {partition}"))
            .unwrap_or_default();
        for (source_id, source) in &entry.source_rows {
            let left_out: Vec<String> = source
                .left_out
                .iter()
                .map(|(reason, count)| format!("{} {reason}", output::grouped(*count)))
                .collect();
            let counts = [
                source.read,
                source.records,
                source.merged,
                source.quarantined,
            ]
            .map(output::grouped);
            rows.push(
                [format!("{source_id}{partition}")]
                    .into_iter()
                    .chain(counts)
                    .chain([left_out.join(", ")])
                    .collect(),
            );
        }
    }
    if rows.len() > 1 {
        output::print_line!();
        output::table(&rows);
    }
}

fn print_runs(runs: &[LedgerEntry]) {
    if runs.is_empty() {
        return;
    }
    output::print_line!();
    let mut rows = vec![vec![
        "RUN".into(),
        "ENDED".into(),
        "EXIT".into(),
        "OUTCOME".into(),
        "RELEASE".into(),
    ]];
    for run in runs {
        let release = run
            .release_id
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        let what = run
            .note
            .clone()
            .or_else(|| run.error.clone())
            .unwrap_or(release);
        rows.push(vec![
            run.run_id.clone(),
            output::to_seconds(&run.ended_at),
            run.exit_code.to_string(),
            output::coloured(&run.outcome),
            what,
        ]);
    }
    output::table(&rows);
}
