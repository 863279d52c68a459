//! `pubdata plan`, `fetch` and `run`, which take the same selectors and sources, and how their reports are printed.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::after_run::{self, AfterRunArgs};
use super::{Global, output, progress::Progress};
use crate::error::{Error, Result};
use crate::fetch::FetchSettings;
use crate::ids::Cik;
use crate::run::{self, FetchedSource, Plan, RunReport, RunSettings, SharedObserver, TaskReport, TaskState};

/// Where files come from and what to work on.
#[derive(Args)]
pub(super) struct SourceArgs {
    /// Pipelines (census.acs5), families (census), datasets (geo.school) or tasks (census.acs5/vintage=2023); everything when none is given.
    selectors: Vec<String>,
    /// A folder or URL that stands in for all publishers; may be given several times, the first that has a file wins.
    #[arg(long, value_name = "DIR|URL")]
    mirror: Vec<String>,
    /// Contact address for publishers, sent in the User-Agent.
    #[arg(long, env = "PUBDATA_CONTACT", value_name = "ADDRESS")]
    contact: Option<String>,
    /// Certificate authorities (PEM) to trust besides the system's, such as that of a proxy that decrypts traffic.
    #[arg(long, env = "PUBDATA_CA", value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The channel to compare with and to move.
    #[arg(long, default_value = "nightly")]
    channel: String,
}

#[derive(Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Uses the snapshots that are there and asks no publisher.
    #[arg(long)]
    offline: bool,
}

#[derive(Args)]
pub(super) struct FetchArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Registrants to refresh from the publisher's JSON interfaces, without waiting for tonight's archives; the next run reads them.
    #[arg(long, value_name = "CIK,…", value_delimiter = ',')]
    cik: Vec<String>,
}

#[derive(Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Uses the snapshots that are there and asks no publisher.
    #[arg(long)]
    offline: bool,
    /// Builds again even when nothing changed.
    #[arg(long)]
    force: bool,
    /// Takes a source's or dataset's losses against the last release, and members that cannot be read, as they are, in this run; may be
    /// given several times. `pubdata accept ID:shrink` does it for the runs of a week.
    #[arg(long, value_name = "ID")]
    accept: Vec<String>,
    #[command(flatten)]
    after: AfterRunArgs,
}

fn settings(global: &Global, source: &SourceArgs) -> Result<RunSettings> {
    let fetch = FetchSettings { mirrors: source.mirror.clone(), contact: source.contact.clone(), ca_file: source.ca.clone(), ..FetchSettings::default() };
    let declarations = global.declarations()?;
    // Before the home is made: a name typed wrong leaves nothing behind.
    run::check_selectors(&declarations, &source.selectors, fetch.clock.now())?;
    Ok(RunSettings { fetch, selectors: source.selectors.clone(), ..global.settings(declarations, &source.channel)? })
}

pub(super) async fn plan(global: &Global, arguments: &PlanArgs) -> Result<ExitCode> {
    let settings = RunSettings { is_offline: arguments.offline, ..settings(global, &arguments.source)? };
    let plan = planned(&settings).await?;
    if global.json {
        let task = |task: &run::PlannedTask| {
            let (state, reasons) = words(&task.state);
            serde_json::json!({ "task_id": task.task_id, "state": state, "reasons": reasons })
        };
        output::json(&serde_json::json!({ "tasks": plan.tasks.iter().map(task).collect::<Vec<_>>(), "untouched": plan.untouched, "sources": plan.sources }));
    } else {
        let mut rows = vec![vec!["TASK".into(), "STATE".into(), "WHY".into()]];
        for task in &plan.tasks {
            let (state, reasons) = words(&task.state);
            rows.push(vec![task.task_id.clone(), output::coloured(state), shortened(&reasons)]);
        }
        output::table(&rows);
    }
    // The worse of what a run would end with because of files: one that is not believed before one that is not there.
    let problems = || plan.tasks.iter().filter_map(|task| if let TaskState::Blocked(problems) = &task.state { Some(problems) } else { None }).flatten();
    let code = match (problems().next(), problems().any(|problem| !problem.is_source_missing)) {
        (None, _) => run::ExitCode::Ok,
        (Some(_), true) => run::ExitCode::Blocked,
        (Some(_), false) => run::ExitCode::SourceMissing,
    };
    Ok(ExitCode::from(u8::from(code)))
}

pub(super) async fn fetch(global: &Global, arguments: &FetchArgs) -> Result<ExitCode> {
    let settings = settings(global, &arguments.source)?;
    let _lock = settings.home.lock()?;
    let sources = if arguments.cik.is_empty() { planned(&settings).await?.sources } else { refresh(&settings, &arguments.cik).await? };
    if global.json {
        output::json(&sources);
    } else {
        print_sources(&sources);
    }
    Ok(ExitCode::from(if sources.iter().any(|source| source.outcome == "failed") { 30 } else { 0 }))
}

pub(super) async fn run(global: &Global, arguments: &RunArgs) -> Result<ExitCode> {
    let mut settings = RunSettings { is_offline: arguments.offline, is_forced: arguments.force, ..settings(global, &arguments.source)? };
    run::check_accepted(&settings.declarations, &arguments.accept)?;
    settings.accepted.extend(arguments.accept.iter().cloned());
    settings.confirmed.extend(arguments.accept.iter().cloned());
    let progress = Arc::new(Progress::new());
    let observer: SharedObserver = progress.clone();
    let run_before = after_run::last_run_id(&settings);
    let report = run::run(&settings, &observer).await;
    progress.finish();
    after_run::tell(&settings, &arguments.after, run_before.as_deref()).await;
    let report = report?;
    if global.json {
        output::json(&report);
    } else {
        print_report(&report);
    }
    Ok(ExitCode::from(u8::from(report.exit_code)))
}

/// Fetches what the publisher says of single registrants now.
async fn refresh(settings: &RunSettings, ciks: &[String]) -> Result<Vec<FetchedSource>> {
    let parse = |text: &String| text.parse::<Cik>().map(|cik| cik.to_string()).map_err(|error| Error::config(format!("{error}")));
    let ciks = ciks.iter().map(parse).collect::<Result<Vec<_>>>()?;
    let progress = Arc::new(Progress::new());
    let observer: SharedObserver = progress.clone();
    let sources = run::fetch_on_demand(settings, "cik", &ciks, &observer).await;
    progress.finish();
    sources
}

async fn planned(settings: &RunSettings) -> Result<Plan> {
    let progress = Arc::new(Progress::new());
    let observer: SharedObserver = progress.clone();
    let plan = run::plan(settings, &observer).await;
    progress.finish();
    plan
}

fn words(state: &TaskState) -> (&'static str, Vec<String>) {
    match state {
        TaskState::Fresh => ("fresh", Vec::new()),
        TaskState::Stale(reasons) => ("stale", reasons.clone()),
        // As the run will call it: a file that is not there, or one that is not believed.
        TaskState::Blocked(problems) => {
            let is_missing = problems.iter().all(|problem| problem.is_source_missing);
            (if is_missing { "missing" } else { "blocked" }, problems.iter().map(|problem| problem.message.clone()).collect())
        }
        TaskState::NotPublished(reasons) => ("not_published", reasons.clone()),
    }
}

fn shortened(reasons: &[String]) -> String {
    match reasons {
        [] => String::new(),
        [reason] => reason.clone(),
        [first, rest @ ..] => format!("{first} {}", output::dim(&format!("(and {} more)", rest.len()))),
    }
}

fn print_sources(sources: &[FetchedSource]) {
    let mut rows = vec![vec!["OUTCOME".into(), "SIZE".into(), "URL".into()]];
    for source in sources {
        let detail = source.detail.as_deref().map(|detail| output::dim(&format!(" {detail}"))).unwrap_or_default();
        rows.push(vec![output::coloured(source.outcome), source.size_bytes.map(output::size).unwrap_or_default(), format!("{}{detail}", source.url)]);
    }
    output::table(&rows);
}

fn print_report(report: &RunReport) {
    let mut rows = vec![vec!["TASK".into(), "OUTCOME".into(), "ROWS".into(), "QUARANTINED".into(), "TIME".into()]];
    for task in report.tasks.iter().filter(|task| task.outcome != "not_published" || task.late_since.is_some() || !task.reasons.is_empty()) {
        rows.push(vec![
            task.task_id.clone(),
            output::coloured(task.outcome),
            if task.rows.is_empty() { String::new() } else { output::grouped(task.rows.values().sum()) },
            if task.rows.is_empty() { String::new() } else { output::grouped(task.quarantined_total()) },
            if task.duration_ms == 0 { String::new() } else { format!("{:.1} s", task.duration_ms as f64 / 1e3) },
        ]);
    }
    output::table(&rows);
    report.tasks.iter().for_each(print_details);
    let count = |outcome: &str| report.sources.iter().filter(|source| source.outcome == outcome).count();
    anstream::println!(
        "\nsources: {} new, {} unchanged, {} failed; no file at {} more addresses (optional, or not published yet)",
        count("new"),
        count("unchanged"),
        count("failed"),
        count("absent") + count("not configured")
    );
    let sample = if report.is_sample { " (built from samples: row floors do not apply)" } else { "" };
    match &report.release_id {
        Some(release_id) => {
            anstream::println!("{} {} on channel {}{sample}", output::coloured(report.outcome), output::bold(release_id.as_str()), report.channel);
        }
        None => anstream::println!("nothing could be published: no task has a build, now or from before"),
    }
}

/// What there is to say about a task beyond its row of the table, under its name.
fn print_details(task: &TaskReport) {
    let is_not_renewed = matches!(task.outcome, "blocked" | "missing");
    let has_counts = task.source_rows.values().any(|rows| rows.records < rows.read) || !task.quarantined.is_empty() || !task.warnings.is_empty();
    if is_not_renewed || task.late_since.is_some() || has_counts || task.subjects.is_some() || !task.notes.is_empty() || !task.findings.is_empty() {
        let what_stays = match (is_not_renewed, task.is_carried) {
            (true, true) => ": the last good build stays",
            (true, false) => ": not in the release",
            (false, _) => "",
        };
        anstream::println!("\n{} {}{what_stays}", output::coloured(task.outcome), task.task_id);
    }
    if is_not_renewed {
        for reason in task.reasons.iter().take(5) {
            anstream::println!("  {reason}");
        }
        if task.reasons.len() > 5 {
            anstream::println!("  {}", output::dim(&format!("and {} more; --json shows all", task.reasons.len() - 5)));
        }
    }
    if let Some(subjects) = task.subjects {
        anstream::println!("  {} built, {} carried over", output::grouped(subjects.built as u64), output::grouped(subjects.carried as u64));
    }
    if let Some(day) = task.late_since {
        anstream::println!("  {}: the publisher's next edition should be there by its calendar", output::warning(&format!("late since {day}")));
    }
    for (source_id, rows) in task.source_rows.iter().filter(|(_, rows)| rows.records < rows.read) {
        anstream::println!("  {source_id}: {}", output::source_rows(rows));
    }
    for (dataset_id, rules) in &task.quarantined {
        let rules: Vec<String> = rules.iter().map(|(rule, count)| format!("{rule} {count}")).collect();
        anstream::println!("  quarantined in {dataset_id}: {}", rules.join(", "));
    }
    for (dataset_id, codes) in &task.warnings {
        let codes: Vec<String> = codes.iter().map(|(code, count)| format!("{code} {count}")).collect();
        anstream::println!("  warnings in {dataset_id}: {}", codes.join(", "));
    }
    if task.outcome == "not_published" {
        task.reasons.iter().for_each(|reason| anstream::println!("  {reason}"));
    }
    task.notes.iter().for_each(|note| anstream::println!("  note: {note}"));
    task.findings.iter().for_each(|finding| anstream::println!("  {}", output::finding(finding, &task.task_id)));
}
