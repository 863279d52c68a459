//! Determines the status of each task and of manual imports from declarations, ledger and home,
//! without sending any requests.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Serialize;

use crate::fetching::manual_import::imported_when;
use crate::planning::calendar::due;
use crate::planning::selection::selected;
use crate::reporting::report::TaskReport;
use crate::settings::{QUARANTINE, RunSettings};
use pubdata_core::error::Result;
use pubdata_core::ids::Digest;
use pubdata_core::pipeline::{Declaration, Source};
use pubdata_core::provenance::{Obtained, Snapshot};
use pubdata_store::{LedgerEntry, LedgerTask, Manifest, Snapshots, StaleTask, redact_folders};

/// A source whose files are imported manually, or for which an imported file is in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "FileByHand")]
pub struct ManualImport {
    /// The source.
    pub source_id: String,
    /// The pipeline that declares it.
    pub pipeline_id: String,
    /// True if the build requires the source.
    pub is_required: bool,
    /// True if the source is declared as manual, so that runs send no requests.
    #[serde(rename = "is_by_hand")]
    pub is_manual: bool,
    /// The file's URL.
    pub url: String,
    /// Date of the newest file, `YYYY-MM-DD`; null if no file exists yet.
    #[schemars(extend("format" = "date"))]
    pub source_date: Option<String>,
    /// Day of the import; null for a file from a mirror.
    #[schemars(extend("format" = "date"))]
    pub imported_on: Option<String>,
    /// User who imported the file; null for a file from a mirror.
    pub imported_by: Option<String>,
    /// The day from which a newer file is late; null if unknown, and for samples.
    pub due: Option<Date>,
}

impl ManualImport {
    /// Returns true if a file must be imported now, because a newer version is late or the build
    /// requires a file that was never imported.
    pub fn is_due(&self, today: Date) -> bool {
        self.is_manual
            && if self.source_date.is_none() {
                self.is_required
            } else {
                self.due.is_some_and(|due| due <= today)
            }
    }
}

/// Manually imported files.
#[derive(Debug, Clone, Default)]
pub struct ManualImports {
    pub files: Vec<ManualImport>,
    /// Reasons why some files in the home, which may be imported files, could not be read.
    pub unreadable: Vec<String>,
}

/// Returns the status of each task selected for runs: the outcome of the last run that tried the
/// task, and the task's state in the release. `runs` are sorted newest first.
///
/// # Errors
/// Returns `Config` if a declaration's calendar cannot be read.
pub fn task_statuses(
    settings: &RunSettings,
    release: Option<&Manifest>,
    runs: &[LedgerEntry],
) -> Result<Vec<TaskReport>> {
    let tasks = selected(
        &settings.declarations,
        &settings.chosen,
        &[],
        settings.fetch.clock.now(),
    )?;
    Ok(tasks
        .into_iter()
        .map(|task| of_task(settings, task.declaration, &task.task_id, release, runs))
        .collect())
}

/// Returns the runs of a channel that tried a task, newest first.
fn tries<'r>(
    settings: &'r RunSettings,
    task_id: &'r str,
    runs: &'r [LedgerEntry],
) -> impl Iterator<Item = (&'r LedgerEntry, &'r LedgerTask)> {
    runs.iter()
        .filter(|run| run.channel == settings.channel)
        .filter_map(move |run| run.tasks.get(task_id).map(|task| (run, task)))
}

/// Returns the time since which a task has been stale. This is the end of the first of the
/// consecutive runs, up to the latest run, that failed to rebuild the task.
pub fn stale_since(settings: &RunSettings, task_id: &str, runs: &[LedgerEntry]) -> Option<String> {
    tries(settings, task_id, runs)
        .take_while(|(_, task)| is_stale_outcome(&task.outcome))
        .last()
        .map(|(run, _)| run.ended_at.clone())
}

/// Returns the last attempt to build a task, if the same files blocked it. Another attempt would be
/// blocked too, unless an operator has accepted something for the task since then.
pub fn blocked_before<'r>(
    settings: &'r RunSettings,
    task_id: &'r str,
    input_hash: Digest,
    runs: &'r [LedgerEntry],
) -> Option<&'r LedgerTask> {
    let last = tries(settings, task_id, runs).next().map(|(_, task)| task);
    let is_about = |accepted: &String| {
        accepted
            .split(':')
            .next()
            .is_some_and(|id| id == task_id || task_id.split('/').next() == Some(id))
    };
    let is_accepted = settings.accepted.iter().any(is_about);
    last.filter(|last| {
        last.outcome == "blocked" && last.input_hash == Some(input_hash) && !is_accepted
    })
}

/// Returns the tasks of a channel that the ledger knows, each with a mark if the last attempt left
/// the task stale. `runs` are sorted newest first.
pub fn stale_marks(
    settings: &RunSettings,
    runs: &[LedgerEntry],
) -> BTreeMap<String, Option<StaleTask>> {
    let known: BTreeSet<&String> = runs
        .iter()
        .filter(|run| run.channel == settings.channel)
        .flat_map(|run| run.tasks.keys())
        .collect();
    let word = |task_id: &String| {
        let (_, last) = tries(settings, task_id, runs).next()?;
        let reason = last.reason.as_deref().unwrap_or_default();
        let mark = || StaleTask {
            reason: redact_folders(reason, &[settings.home.root()]),
            since: stale_since(settings, task_id, runs),
        };
        is_stale_outcome(&last.outcome).then(mark)
    };
    known
        .into_iter()
        .map(|task_id| (task_id.clone(), word(task_id)))
        .collect()
}

pub(crate) fn is_stale_outcome(outcome: &str) -> bool {
    matches!(outcome, "blocked" | "missing")
}

fn of_task(
    settings: &RunSettings,
    declaration: &Declaration,
    task_id: &str,
    release: Option<&Manifest>,
    runs: &[LedgerEntry],
) -> TaskReport {
    let entry = release.and_then(|release| release.tasks.get(task_id));
    let last = tries(settings, task_id, runs).next().map(|(_, task)| task);
    let today = settings.fetch.clock.now().to_zoned(TimeZone::UTC).date();
    let (outcome, reason) = match (last, entry) {
        (None, None) => ("never_run", None),
        // After the home has been moved, the ledger and the release may belong to different homes.
        (None, Some(entry)) => (
            if entry.is_stale { "blocked" } else { "fresh" },
            entry.stale_reason.clone(),
        ),
        (Some(last), _) if last.outcome == "missing" => ("missing", last.reason.clone()),
        (Some(last), _) if is_stale_outcome(&last.outcome) => ("blocked", last.reason.clone()),
        (Some(_), Some(_)) => ("fresh", None),
        (Some(last), None) if last.outcome == "not_published" => {
            ("not_published", last.reason.clone())
        }
        (Some(_), None) => (
            "to_build",
            Some("was built, and is not in the release that the channel points at".to_owned()),
        ),
    };
    let mut report = TaskReport::new(task_id, outcome, reason.into_iter().collect());
    report.is_in_release = entry.is_some();
    report.is_optional = settings.chosen.is_optional(declaration, task_id);
    report.since = stale_since(settings, task_id, runs);
    report.late_since = release
        .and_then(|release| release.late_since(task_id, today))
        .or_else(|| last.and_then(|last| last.late_since));
    report.findings = last.map_or_else(
        || {
            entry
                .map(|entry| entry.findings.clone())
                .unwrap_or_default()
        },
        |last| last.findings.clone(),
    );
    if let Some(last) = last {
        report.next_step = last.next_step.clone().filter(|_| is_stale_outcome(outcome));
        report.is_above_warning_level = last.is_above_warning_level;
        report.duration_ms = last.duration_ms;
    }
    for (dataset_id, dataset) in release.iter().flat_map(|release| &release.datasets) {
        for part in dataset
            .parts
            .iter()
            .filter(|part| part.task_id == task_id && dataset_id != QUARANTINE)
        {
            *report.rows.entry(dataset_id.clone()).or_insert(0) += part.rows;
            for (totals, counts) in [
                (&mut report.quarantined, &part.report.quarantined),
                (&mut report.warnings, &part.report.warnings),
            ] {
                counts.iter().for_each(|(code, count)| {
                    *totals
                        .entry(dataset_id.clone())
                        .or_default()
                        .entry(code.clone())
                        .or_insert(0) += count;
                });
            }
        }
    }
    report
}

/// Returns the sources whose files are imported manually, with the date on which the next file is
/// due. A release made from samples has no next edition.
///
/// # Errors
/// Returns `Store` if the folder of known files cannot be read, and `Config` if a calendar cannot
/// be read.
pub fn manual_imports(settings: &RunSettings, release: Option<&Manifest>) -> Result<ManualImports> {
    let (known, unreadable) = Snapshots::look(&settings.home).readable()?;
    let is_sample = release.is_some_and(|release| release.is_sample);
    let mut files = Vec::new();
    for declaration in settings.declarations.pipelines.values() {
        for source in &declaration.sources {
            let of_source: Vec<Snapshot> = known
                .iter()
                .filter(|known| known.source_id == source.source_id)
                .cloned()
                .collect();
            files.extend(files_of_source(
                settings,
                declaration,
                source,
                of_source,
                is_sample,
            )?);
        }
    }
    Ok(ManualImports {
        files,
        unreadable: unreadable.iter().map(ToString::to_string).collect(),
    })
}

fn files_of_source(
    settings: &RunSettings,
    declaration: &Declaration,
    source: &Source,
    mut known: Vec<Snapshot>,
    is_sample: bool,
) -> Result<Vec<ManualImport>> {
    let days: BTreeMap<String, Date> = if is_sample {
        BTreeMap::new()
    } else {
        due(settings, declaration, None, &known)?
    };
    known.retain(|known| {
        known.obtained == Obtained::Manual
            || (source.by_hand && (source.listing.is_none() || known.url != source.url))
    });
    let is_awaited = source.by_hand && settings.chosen.has(declaration, &declaration.pipeline_id);
    if known.is_empty() && !is_awaited {
        return Ok(Vec::new());
    }
    let none = ManualImport {
        source_id: source.source_id.clone(),
        pipeline_id: declaration.pipeline_id.clone(),
        is_required: source.required,
        is_manual: source.by_hand,
        url: source.url.clone(),
        source_date: None,
        imported_on: None,
        imported_by: None,
        due: days.get(&source.source_id).copied(),
    };
    let mut files = Vec::new();
    for snapshot in &known {
        let imported = if snapshot.obtained == Obtained::Manual {
            Some(imported_when(settings, snapshot)?)
        } else {
            None
        };
        let (imported_on, imported_by) = imported.map_or((None, None), |(day, by)| (Some(day), by));
        files.push(ManualImport {
            url: snapshot.url.clone(),
            source_date: Some(snapshot.source_date.clone()),
            imported_on,
            imported_by,
            ..none.clone()
        });
    }
    Ok(if files.is_empty() { vec![none] } else { files })
}
