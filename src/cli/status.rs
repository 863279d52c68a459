//! `pubdata status`: what the channel's release holds, what is late or was not renewed and why, files by hand, and the last runs. Asks no
//! publisher.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use jiff::civil::Date;

use super::{Global, output};
use crate::error::Result;
use crate::pipeline::{Evidence, EvidenceKind, LayoutEvidence};
use crate::run::{self, FileByHand, NeverBuilt};
use crate::serve::freshness_of_task;
use crate::store::{self, LedgerEntry, Manifest, TaskEntry};

#[derive(Args)]
pub(super) struct StatusArgs {
    /// The channel to show.
    #[arg(long, default_value = "nightly")]
    channel: String,
    /// Runs to show, newest first.
    #[arg(long, default_value_t = 5)]
    runs: usize,
}

pub(super) async fn status(global: &Global, arguments: &StatusArgs) -> Result<ExitCode> {
    let settings = global.reading(&arguments.channel)?;
    let manifest = match settings.releases.channel(&arguments.channel).await? {
        Some(entry) => Some(settings.releases.manifest(&entry.release_id).await?),
        None => None,
    };
    let mut runs = store::read_ledger(&settings.home)?;
    runs.reverse();
    let newest_run = runs.iter().find(|run| run.import.is_none() && run.outcome != store::IMPORTED).cloned();
    let never_built = run::never_built(&settings, manifest.as_ref(), &runs)?;
    let by_hand = run::files_by_hand(&settings)?;
    let is_running = settings.home.is_running()?;
    if global.json {
        let late: BTreeMap<&String, Date> = manifest.iter().flat_map(late_tasks).collect();
        output::json(&serde_json::json!({
            "channel": arguments.channel,
            "is_running": is_running,
            "release": manifest,
            "never_built": never_built,
            "by_hand": by_hand,
            "late_since": late,
            "runs": runs.iter().take(arguments.runs).collect::<Vec<_>>(),
        }));
        return Ok(ExitCode::SUCCESS);
    }
    match &manifest {
        Some(manifest) => {
            print_release(manifest, &arguments.channel, &runs);
            print_findings(manifest, newest_run.as_ref());
        }
        None => anstream::println!("channel {} has no release yet; `pubdata run` makes one", arguments.channel),
    }
    print_never_built(&never_built);
    print_by_hand(&by_hand);
    if is_running {
        anstream::println!("\na run is under way");
    }
    print_runs(&runs[..runs.len().min(arguments.runs)]);
    Ok(ExitCode::SUCCESS)
}

fn today() -> Date {
    Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// The tasks of which an edition is late, with the day since when.
fn late_tasks(manifest: &Manifest) -> impl Iterator<Item = (&String, Date)> {
    manifest.tasks.keys().filter_map(|task_id| Some((task_id, manifest.late_since(task_id, today())?)))
}

/// When the next edition is due: the day from which it is late; nothing of an older partition and where nobody knows.
fn next_edition(manifest: &Manifest, task_id: &str) -> String {
    let late = manifest.late_since(task_id, today()).map(|day| output::warning(&format!("late since {day}")));
    late.or_else(|| manifest.late_since(task_id, Date::MAX).map(|day| format!("by {day}"))).unwrap_or_default()
}

/// Why the last try to renew a build failed. A release that a later run left as it was keeps the reason of the first.
fn why_not_renewed(task_id: &str, entry: &TaskEntry, runs: &[LedgerEntry]) -> String {
    let last = runs.iter().find_map(|run| run.tasks.get(task_id)).filter(|last| matches!(last.outcome.as_str(), "blocked" | "missing"));
    let reason = last.and_then(|last| last.reason.clone()).or_else(|| entry.stale_reason.clone());
    reason.filter(|_| entry.is_stale).unwrap_or_default()
}

fn print_release(manifest: &Manifest, channel: &str, runs: &[LedgerEntry]) {
    anstream::println!("channel {channel} → {} published {}", output::bold(manifest.release_id.as_str()), manifest.published_at);
    if manifest.is_sample {
        anstream::println!("built from samples: row floors do not apply");
    }
    anstream::println!();
    let mut rows = vec![vec!["DATASET".into(), "ROWS".into(), "QUARANTINED".into(), "PARTS".into(), "SIZE".into()]];
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
    anstream::println!();
    let mut rows = vec![vec!["TASK".into(), "FRESHNESS".into(), "NEWEST SOURCE".into(), "NEXT EDITION".into(), "BUILT".into(), "WHY NOT RENEWED".into()]];
    for (task_id, entry) in &manifest.tasks {
        rows.push(vec![
            task_id.clone(),
            output::coloured(freshness_of_task(manifest, task_id, today()).name()),
            entry.inputs.iter().map(|input| input.source_date.as_str()).max().unwrap_or_default().to_owned(),
            next_edition(manifest, task_id),
            output::to_seconds(&entry.built_at),
            why_not_renewed(task_id, entry, runs),
        ]);
    }
    output::table(&rows);
    print_source_rows(manifest);
    let is_documented = |entry: &&TaskEntry| entry.layout_evidence == Some(LayoutEvidence::Documented);
    let documented: BTreeSet<&str> = manifest.tasks.values().filter(is_documented).map(|entry| entry.pipeline_id.as_str()).collect();
    if !documented.is_empty() {
        anstream::println!(
            "\nlayout taken from the publisher's documentation, not yet confirmed on a file: {}",
            documented.into_iter().collect::<Vec<_>>().join(", ")
        );
    }
    let is_excerpt = |(_, evidence): &(&String, &Evidence)| evidence.kind == EvidenceKind::Excerpt;
    let excerpts: BTreeMap<&String, &Evidence> = manifest.tasks.values().flat_map(|entry| &entry.evidence).filter(is_excerpt).collect();
    if !excerpts.is_empty() {
        let told: Vec<String> = excerpts.iter().map(|(source_id, evidence)| format!("{source_id} ({})", evidence.seen)).collect();
        anstream::println!("\nlayout known from some records or an older copy: {}", told.join(", "));
    }
}

/// What needs attention about the sources: as the newest run found it, of tasks that it left alone as their builds did. What several tasks tell
/// alike is told once.
fn print_findings(manifest: &Manifest, newest: Option<&LedgerEntry>) {
    let mut told: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (task_id, entry) in &manifest.tasks {
        let findings = newest.and_then(|run| run.tasks.get(task_id)).map_or(&entry.findings, |task| &task.findings);
        for finding in findings {
            told.entry(output::finding(finding, task_id)).or_default().push(task_id);
        }
    }
    let mut by_tasks: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (finding, tasks) in told {
        by_tasks.entry(tasks.join(", ")).or_default().push(finding);
    }
    if !by_tasks.is_empty() {
        anstream::println!("\nneeds attention:");
    }
    for (tasks, findings) in by_tasks {
        anstream::println!("  {tasks}");
        findings.iter().for_each(|finding| anstream::println!("    {finding}"));
    }
}

/// The tasks that are declared and not in the release, and why.
fn print_never_built(tasks: &[NeverBuilt]) {
    let mut rows = vec![vec!["NEVER BUILT".into(), "LAST RUN".into(), "WHY".into()]];
    for task in tasks {
        if let Some(outcome) = &task.outcome {
            rows.push(vec![task.task_id.clone(), output::coloured(outcome), task.reason.clone().unwrap_or_default()]);
        }
    }
    if rows.len() > 1 {
        anstream::println!();
        output::table(&rows);
    }
    let untried: Vec<&str> = tasks.iter().filter(|task| task.outcome.is_none()).map(|task| task.task_id.as_str()).collect();
    if !untried.is_empty() {
        anstream::println!("\nnever built, and no run has tried: {}", untried.join(", "));
    }
}

/// The sources whose files a person fetches or has imported, and from when a newer one is wanted.
fn print_by_hand(files: &[FileByHand]) {
    let mut rows = vec![vec!["FETCHED BY A PERSON".into(), "NEWEST".into(), "NEXT DUE".into(), "IMPORTED".into(), "HOW".into()]];
    for file in files {
        let due = match (&file.source_date, file.due) {
            (None, _) => output::warning("now"),
            (Some(_), Some(due)) if due <= today() => output::warning(&format!("since {due}")),
            (Some(_), due) => due.map(|due| due.to_string()).unwrap_or_default(),
        };
        let imported = [file.imported_on.clone(), file.imported_by.as_ref().map(|by| format!("by {by}"))];
        let how = match file.is_by_hand {
            true => format!("download {}, then `pubdata import {} FILE`", file.url, file.source_id),
            false => format!("stands until the publisher hands out a newer one: {}", file.url),
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
        anstream::println!();
        output::table(&rows);
    }
}

/// What became of every row of the sources: each line adds up.
fn print_source_rows(manifest: &Manifest) {
    let mut rows = vec![vec!["SOURCE".into(), "ROWS READ".into(), "RECORDS".into(), "MERGED".into(), "QUARANTINED".into(), "LEFT OUT".into()]];
    for (task_id, entry) in &manifest.tasks {
        let partition = task_id.split_once('/').map(|(_, partition)| format!(" {partition}")).unwrap_or_default();
        for (source_id, source) in &entry.source_rows {
            let left_out: Vec<String> = source.left_out.iter().map(|(reason, count)| format!("{} {reason}", output::grouped(*count))).collect();
            let counts = [source.read, source.records, source.merged, source.quarantined].map(output::grouped);
            rows.push([format!("{source_id}{partition}")].into_iter().chain(counts).chain([left_out.join(", ")]).collect());
        }
    }
    if rows.len() > 1 {
        anstream::println!();
        output::table(&rows);
    }
}

fn print_runs(runs: &[LedgerEntry]) {
    if runs.is_empty() {
        return;
    }
    anstream::println!();
    let mut rows = vec![vec!["RUN".into(), "ENDED".into(), "EXIT".into(), "OUTCOME".into(), "RELEASE".into()]];
    for run in runs {
        let release = run.release_id.as_ref().map(ToString::to_string).unwrap_or_default();
        let what = run.note.clone().or_else(|| run.error.clone()).unwrap_or(release);
        rows.push(vec![run.run_id.clone(), output::to_seconds(&run.ended_at), run.exit_code.to_string(), output::coloured(&run.outcome), what]);
    }
    output::table(&rows);
}
