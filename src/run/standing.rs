//! What there is of each task and of the files by hand, for a person who looks: from declarations, ledger and home, without asking anybody.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::Serialize;

use super::RunSettings;
use super::by_hand::imported_when;
use super::due::due;
use super::selection::selected;
use crate::error::Result;
use crate::pipeline::{Declaration, Source};
use crate::provenance::Obtained;
use crate::store::{LedgerEntry, LedgerTask, Manifest, Snapshots};

/// A task of which the release has no build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NeverBuilt {
    pub task_id: String,
    /// What became of it when a run last tried, as in the run's report; none where none did.
    pub outcome: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// When that run ended, RFC 3339 UTC.
    pub tried_at: Option<String>,
}

/// A source whose files a person fetches, or of which a person's file counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileByHand {
    pub source_id: String,
    /// Whether it is declared so: a run asks nobody.
    pub is_by_hand: bool,
    pub url: String,
    /// The date of the newest file, `YYYY-MM-DD`; none where there is none yet.
    pub source_date: Option<String>,
    /// The day of the import; none of a file from a mirror.
    pub imported_on: Option<String>,
    pub imported_by: Option<String>,
    /// The day from which a newer file is late; none where nobody knows.
    pub due: Option<Date>,
}

/// The declared tasks that the release has no build of, with what the runs say of them. `runs` are newest first.
///
/// # Errors
/// `Config`, when a declaration's calendar cannot be read.
pub fn never_built(settings: &RunSettings, release: Option<&Manifest>, runs: &[LedgerEntry]) -> Result<Vec<NeverBuilt>> {
    let last = |task_id: &str| runs.iter().filter(|run| run.channel == settings.channel).find_map(|run| run.tasks.get(task_id).map(|task| (run, task)));
    let is_built = |task_id: &str| release.is_some_and(|release| release.tasks.contains_key(task_id));
    let tasks = selected(&settings.declarations, &[], settings.fetch.clock.now())?;
    let told = |task_id: String| match last(&task_id) {
        None => NeverBuilt { task_id, outcome: None, reason: None, tried_at: None },
        Some((run, task)) => NeverBuilt { task_id, outcome: Some(task.outcome.clone()), reason: reason(task), tried_at: Some(run.ended_at.clone()) },
    };
    Ok(tasks.into_iter().map(|task| task.task_id).filter(|task_id| !is_built(task_id)).map(told).collect())
}

fn reason(task: &LedgerTask) -> Option<String> {
    match (task.outcome.as_str(), &task.reason) {
        ("built" | "resumed" | "fresh", _) => Some("was built, and is not in the release that the channel points at".to_owned()),
        ("not_published", None) => Some("the publisher has not published it yet".to_owned()),
        (_, reason) => reason.clone(),
    }
}

/// The sources whose files come by hand, with when the next is due.
///
/// # Errors
/// `Store`, when our own files cannot be read; `Config`, when a calendar cannot be.
pub fn files_by_hand(settings: &RunSettings) -> Result<Vec<FileByHand>> {
    let mut files = Vec::new();
    for declaration in settings.declarations.pipelines.values() {
        for source in &declaration.sources {
            files.extend(of_source(settings, declaration, source)?);
        }
    }
    Ok(files)
}

fn of_source(settings: &RunSettings, declaration: &Declaration, source: &Source) -> Result<Vec<FileByHand>> {
    let mut known = Snapshots::look(&settings.home).known_of_source(&source.source_id)?;
    let days: BTreeMap<String, Date> = due(settings, declaration, None, &known)?;
    known.retain(|known| known.obtained == Obtained::ByHand || (source.by_hand && (source.listing.is_none() || known.url != source.url)));
    if known.is_empty() && !source.by_hand {
        return Ok(Vec::new());
    }
    let due = days.get(&source.source_id).copied();
    let none = FileByHand {
        source_id: source.source_id.clone(),
        is_by_hand: source.by_hand,
        url: source.url.clone(),
        source_date: None,
        imported_on: None,
        imported_by: None,
        due,
    };
    let mut files = Vec::new();
    for snapshot in &known {
        let imported = if snapshot.obtained == Obtained::ByHand { Some(imported_when(settings, snapshot)?) } else { None };
        let (imported_on, imported_by) = imported.map_or((None, None), |(day, by)| (Some(day), by));
        files.push(FileByHand { url: snapshot.url.clone(), source_date: Some(snapshot.source_date.clone()), imported_on, imported_by, ..none.clone() });
    }
    Ok(if files.is_empty() { vec![none] } else { files })
}
