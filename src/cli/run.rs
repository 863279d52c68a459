//! `pubdata plan`, `fetch` and `run`, which share selectors, sources, and the output of their
//! reports.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::after_run::{self, AfterRunArgs};
use super::attention::Extent;
use super::publishers::PublisherArgs;
use super::receipts::{self, SigningKeyArgs};
use super::{Global, output, progress::Progress};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Cik;
use pubdata_fetch::FetchSettings;
use pubdata_run::{
    self as run, FetchedSource, Plan, PlannedTask, RunReport, RunSettings, SharedObserver,
    TaskReport, TaskState, WorkOfTask, WrittenPlan,
};
use pubdata_store::receipts::BackgroundRoots;
use pubdata_store::{self as store, LedgerEntry};

/// Sources of the files, and selection of the work.
#[derive(Args)]
pub(super) struct SourceArgs {
    /// Pipelines (census.acs5), families (census), datasets (geo.school) or tasks
    /// (census.acs5/vintage=2023); default: everything.
    selectors: Vec<String>,
    #[command(flatten)]
    publishers: PublisherArgs,
    /// Fetches files even if the publisher's own document states that they have not changed.
    #[arg(long)]
    ask_all: bool,
    /// Time limit for the files of one pipeline, after which the run continues without them.
    #[arg(long, env = "PUBDATA_FETCH_MINUTES", value_name = "MINUTES", default_value_t = 240, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    fetch_minutes: u32,
    /// Channel to compare with and to update.
    #[arg(long, default_value = "nightly")]
    channel: String,
}

#[derive(Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Uses only local snapshots and sends no requests to publishers.
    #[arg(long)]
    offline: bool,
    /// Writes the plan and its snapshots to the store, for `pubdata task` on other machines and
    /// `pubdata commit`. Prints the plan's URL.
    #[arg(long)]
    write: bool,
    /// With --write: rebuilds tasks even if nothing changed.
    #[arg(long, requires = "write")]
    force: bool,
}

#[derive(Args)]
pub(super) struct FetchArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Registrants to refresh from the publisher's JSON APIs, without waiting for tonight's
    /// archives. The next run reads the refreshed data.
    #[arg(long, value_name = "CIK,…", value_delimiter = ',')]
    cik: Vec<String>,
}

#[derive(Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Uses only local snapshots and sends no requests to publishers.
    #[arg(long)]
    offline: bool,
    /// Rebuilds tasks even if nothing changed.
    #[arg(long)]
    force: bool,
    /// Accepts for this run what a rule blocks, as in permit.nashville:shrink; can be repeated.
    /// `pubdata status` shows the value; `pubdata accept` has the same effect for several runs.
    #[arg(long, value_name = "TASK:RULE")]
    accept: Vec<String>,
    #[command(flatten)]
    pub(super) extent: ExtentArgs,
    #[command(flatten)]
    after: AfterRunArgs,
    #[command(flatten)]
    signing: SigningKeyArgs,
}

/// How much of a run to print.
#[derive(Args)]
pub(super) struct ExtentArgs {
    /// Prints only items that need attention, and nothing if all is well. Intended for cron.
    #[arg(long, conflicts_with = "verbose")]
    pub(super) quiet: bool,
    /// Prints every task and how each source's rows were used.
    #[arg(long)]
    verbose: bool,
}

fn settings(global: &Global, source: &SourceArgs) -> Result<RunSettings> {
    let pipeline_deadline = Duration::from_secs(u64::from(source.fetch_minutes) * 60);
    let fetch = FetchSettings {
        pipeline_deadline,
        ignores_stated_changes: source.ask_all,
        ..source.publishers.fetch_settings()
    };
    let declarations = global.declarations()?;
    // Checks the names before the home is created, so that a mistyped name leaves nothing behind.
    run::check_selectors(&declarations, &source.selectors, fetch.clock.now())?;
    run::check_chosen(&declarations, &global.chosen, fetch.clock.now())?;
    global.announce_new_home();
    Ok(RunSettings {
        fetch,
        selectors: source.selectors.clone(),
        ..global.settings(declarations, &source.channel)?
    })
}

/// Planned work of a run: `pubdata plan`.
#[derive(Serialize, JsonSchema)]
pub(super) struct PlanReport<'a> {
    /// The channel with which the plan is compared.
    channel: &'a str,
    /// Every selected task.
    tasks: &'a [TaskReport],
    /// Tasks of the release that the selectors exclude.
    untouched: &'a [String],
    /// Every URL that was requested.
    sources: &'a [FetchedSource],
    /// URL of the plan in the store, for `task` and `commit`; absent without `--write`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    plan: Option<&'a str>,
    /// Work for other processes, by task. All inputs must be split before units are built; the
    /// order within each group does not matter. Absent without `--write`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<WorkOfTask>")]
    work: Option<&'a [WorkOfTask]>,
}

/// Downloaded files: `pubdata fetch`.
#[derive(Serialize, JsonSchema)]
pub(super) struct FetchReport<'a> {
    /// Every URL that was requested.
    sources: &'a [FetchedSource],
}

pub(super) async fn plan(global: &Global, arguments: &PlanArgs) -> Result<ExitCode> {
    let settings = RunSettings {
        is_offline: arguments.offline,
        is_forced: arguments.force,
        ..settings(global, &arguments.source)?
    };
    let _lock = arguments.write.then(|| settings.home.lock()).transpose()?;
    let plan = planned(&settings).await?;
    let written = match arguments.write {
        true => Some(run::write_plan(&settings, &plan).await?),
        false => None,
    };
    let mut runs = store::read_ledger(&settings.home)?;
    runs.reverse();
    let tasks: Vec<TaskReport> = plan
        .tasks
        .iter()
        .map(|task| foreseen(&settings, &plan, task, &runs))
        .collect();
    if global.json {
        output::sorted_document(&PlanReport {
            channel: &settings.channel,
            tasks: &tasks,
            untouched: &plan.untouched,
            sources: &plan.sources,
            plan: written.as_ref().map(|written| written.plan.as_str()),
            work: written.as_ref().map(|written| written.work.as_slice()),
        });
    } else {
        let mut rows = vec![vec!["TASK".into(), "STATE".into(), "WHY".into()]];
        for task in &tasks {
            rows.push(vec![
                task.task_id.clone(),
                output::coloured(task.outcome),
                shortened(&task.reasons),
            ]);
        }
        output::table(&rows);
        if let Some(written) = &written {
            print_plan(global, written);
        }
    }
    // The commit reports problems with files; the plan itself has been written.
    if written.is_some() {
        return Ok(ExitCode::SUCCESS);
    }
    // Returns the worst exit code that the files would cause. Rejected files are worse than missing
    // ones.
    let has = |outcome: &str| {
        tasks
            .iter()
            .any(|task| task.outcome == outcome && !(task.is_optional && outcome == "missing"))
    };
    let code = match (has("blocked"), has("missing")) {
        (true, _) => run::ExitCode::Blocked,
        (false, true) => run::ExitCode::SourceMissing,
        (false, false) => run::ExitCode::Ok,
    };
    Ok(ExitCode::from(u8::from(code)))
}

pub(super) async fn fetch(global: &Global, arguments: &FetchArgs) -> Result<ExitCode> {
    let settings = settings(global, &arguments.source)?;
    let _lock = settings.home.lock()?;
    let sources = if arguments.cik.is_empty() {
        planned(&settings).await?.sources
    } else {
        refresh(&settings, &arguments.cik).await?
    };
    if global.json {
        output::sorted_document(&FetchReport { sources: &sources });
    } else {
        print_sources(&sources);
    }
    Ok(ExitCode::from(
        if sources.iter().any(|source| source.outcome == "failed") {
            30
        } else {
            0
        },
    ))
}

pub(super) async fn run(global: &Global, arguments: &RunArgs) -> Result<ExitCode> {
    let mut settings = RunSettings {
        is_offline: arguments.offline,
        is_forced: arguments.force,
        ..settings(global, &arguments.source)?
    };
    if arguments.after.test_message {
        return after_run::test(global, &settings, &arguments.after).await;
    }
    if !arguments.accept.is_empty() {
        let mut runs = store::read_ledger(&settings.home)?;
        runs.reverse();
        run::check_accepted(
            &settings.declarations,
            &arguments.accept,
            &runs,
            settings.fetch.clock.now(),
        )?;
    }
    settings.accepted.extend(arguments.accept.iter().cloned());
    settings.confirmed.extend(arguments.accept.iter().cloned());
    let sealing = arguments
        .signing
        .read()?
        .map(|key| (key, Arc::new(BackgroundRoots::start())));
    if let Some((_, roots)) = &sealing {
        let roots = Arc::clone(roots);
        settings.part_observer = Some(Arc::new(move |part, rows| roots.add(part, rows)));
    }
    let progress = Arc::new(Progress::new());
    let emitter = arguments.after.emitter(&settings, progress.clone());
    let observer: SharedObserver = emitter.clone();
    let run_before = after_run::last_run_id(&settings);
    let report = run::run(&settings, &observer).await;
    progress.finish();
    if let (Some((key, roots)), Ok(_)) = (&sealing, &report) {
        receipts::seal_after_run(&settings, key, &roots.finish()).await;
    }
    after_run::report_lineage(&emitter, &report).await;
    after_run::tell(
        &settings,
        &arguments.after,
        run_before.as_deref(),
        report.as_ref().err(),
    )
    .await;
    Ok(report_outcome(global, &report?, &arguments.extent))
}

/// Prints the report of a run and returns its exit code.
pub(super) fn report_outcome(global: &Global, report: &RunReport, extent: &ExtentArgs) -> ExitCode {
    if global.json {
        output::document(report);
    } else {
        print_report(global, report, extent);
    }
    ExitCode::from(u8::from(report.exit_code))
}

/// Fetches the publisher's current files for individual registrants.
async fn refresh(settings: &RunSettings, ciks: &[String]) -> Result<Vec<FetchedSource>> {
    let parse = |text: &String| {
        text.parse::<Cik>()
            .map(|cik| cik.to_string())
            .map_err(|error| Error::config(format!("{error}")))
    };
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

/// Returns the report that a run would give for a task. If a task was blocked on the same files
/// before, it is reported as blocked for the same reasons.
fn foreseen(
    settings: &RunSettings,
    plan: &Plan,
    task: &PlannedTask,
    runs: &[LedgerEntry],
) -> TaskReport {
    let mut report = TaskReport::of_state(&task.task_id, &task.state);
    report.is_in_release = plan
        .current
        .as_ref()
        .is_some_and(|current| current.tasks.contains_key(&task.task_id));
    report.is_optional = task.is_optional;
    report.late_since = task.late_since;
    let input_hash = task.entry.as_ref().map(|entry| entry.input_hash);
    let before = input_hash
        .and_then(|input_hash| run::blocked_before(settings, &task.task_id, input_hash, runs));
    if let Some(before) = before.filter(|_| matches!(task.state, TaskState::Stale(_))) {
        report.outcome = "blocked";
        report.reasons = before.reason.iter().cloned().collect();
        report.next_step.clone_from(&before.next_step);
    }
    if matches!(report.outcome, "blocked" | "missing") {
        report.since = run::stale_since(settings, &task.task_id, runs);
    }
    report
}

fn shortened(reasons: &[String]) -> String {
    match reasons {
        [] => String::new(),
        [reason] => reason.clone(),
        [first, rest @ ..] => format!(
            "{first} {}",
            output::dim(&format!("(and {} more)", rest.len()))
        ),
    }
}

/// Prints the URL of a plan and the commands that perform its work.
fn print_plan(global: &Global, written: &WrittenPlan) {
    let units: usize = written.work.iter().map(|work| work.units.len()).sum();
    let inputs: usize = written.work.iter().map(|work| work.inputs.len()).sum();
    let places = global.places();
    output::print_paragraph!("{} {}", output::bold("plan"), written.plan);
    output::print_line!(
        "{} to split, {} to build in {}:",
        output::counted(inputs, "file"),
        output::counted(units, "unit"),
        output::counted(written.work.len(), "task")
    );
    output::print_line!();
    if inputs > 0 {
        output::print_line!(
            "  pubdata {places}task split --plan {} --share 0/1",
            written.plan
        );
    }
    if units > 0 {
        output::print_line!(
            "  pubdata {places}task build --plan {} --share 0/1",
            written.plan
        );
    }
    output::print_line!("  pubdata {places}commit --plan {}", written.plan);
    output::print_line!();
    if units > 0 {
        output::print_line!(
            "{}",
            output::dim(
                "with 0/2 and 1/2 instead of 0/1, two machines do half each: first all shares of split, then all of build, then commit"
            )
        );
    }
}

fn print_sources(sources: &[FetchedSource]) {
    let mut rows = vec![vec!["OUTCOME".into(), "SIZE".into(), "URL".into()]];
    for source in sources {
        let detail = source
            .detail
            .as_deref()
            .map(|detail| output::dim(&format!(" {detail}")))
            .unwrap_or_default();
        rows.push(vec![
            output::coloured(&source.outcome),
            source.size_bytes.map(output::size).unwrap_or_default(),
            format!("{}{detail}", source.url),
        ]);
    }
    output::table(&rows);
}

/// Maximum number of tasks that get their own line in the summary of a run. Further tasks are only
/// counted.
const TASKS_SHOWN: usize = 12;

fn print_report(global: &Global, report: &RunReport, arguments: &ExtentArgs) {
    let attention = run::attention(&report.tasks);
    if arguments.quiet {
        if u8::from(report.exit_code) != 0 {
            super::attention::print(global, &attention, Extent::Short);
            output::print_line!(
                "exit {}; `pubdata status` shows this again",
                u8::from(report.exit_code)
            );
        }
        return;
    }
    let is_shown = |task: &&TaskReport| {
        task.outcome != "not_published" || task.late_since.is_some() || !task.reasons.is_empty()
    };
    let shown: Vec<&TaskReport> = report.tasks.iter().filter(is_shown).collect();
    if arguments.verbose || shown.len() <= TASKS_SHOWN {
        print_tasks(&shown);
        report.tasks.iter().for_each(print_details);
    }
    output::print_line!();
    super::attention::print(
        global,
        &attention,
        if arguments.verbose {
            Extent::Full
        } else {
            Extent::Short
        },
    );
    let counts = super::attention::counts(report.tasks.iter().map(|task| task.outcome));
    let rows: u64 = report
        .tasks
        .iter()
        .flat_map(|task| task.rows.values())
        .sum();
    let quarantined: u64 = report.tasks.iter().map(TaskReport::quarantined_total).sum();
    output::print_line!(
        "{}: {counts}; {} built, {} quarantined",
        output::counted(report.tasks.len(), "task"),
        output::counted(rows, "row"),
        output::grouped(quarantined)
    );
    let count = |outcome: &str| {
        report
            .sources
            .iter()
            .filter(|source| source.outcome == outcome)
            .count()
    };
    output::print_line!(
        "sources: {} new, {} unchanged, {} reused, {} failed; no file at {} more addresses (optional, or not published yet)",
        count("new"),
        count("unchanged"),
        count("reused"),
        count("failed"),
        count("absent") + count("not configured")
    );
    let sample = if report.is_sample {
        " (built from samples: row floors do not apply)"
    } else {
        ""
    };
    match &report.release_id {
        Some(release_id) => {
            output::print_line!(
                "{} {} on channel {}{sample}",
                output::coloured(report.outcome),
                output::bold(release_id.as_str()),
                report.channel
            );
        }
        None => output::print_line!(
            "nothing could be published: no task has a build, new or from an earlier run"
        ),
    }
}

fn print_tasks(tasks: &[&TaskReport]) {
    let mut rows = vec![vec![
        "TASK".into(),
        "OUTCOME".into(),
        "ROWS".into(),
        "QUARANTINED".into(),
        "TIME".into(),
    ]];
    for task in tasks {
        rows.push(vec![
            task.task_id.clone(),
            output::coloured(task.outcome),
            if task.rows.is_empty() {
                String::new()
            } else {
                output::grouped(task.rows.values().sum())
            },
            if task.rows.is_empty() {
                String::new()
            } else {
                output::grouped(task.quarantined_total())
            },
            if task.duration_ms == 0 {
                String::new()
            } else {
                format!("{:.1} s", task.duration_ms as f64 / 1e3)
            },
        ]);
    }
    output::table(&rows);
}

/// Prints further details of a task below its name.
fn print_details(task: &TaskReport) {
    let is_stale_outcome = matches!(task.outcome, "blocked" | "missing");
    let has_counts = task
        .source_rows
        .values()
        .any(|rows| rows.records < rows.read)
        || !task.quarantined.is_empty()
        || !task.warnings.is_empty();
    if !is_stale_outcome && (has_counts || task.subjects.is_some() || !task.notes.is_empty()) {
        output::print_paragraph!("{} {}", output::coloured(task.outcome), task.task_id);
    }
    if let Some(subjects) = task.subjects {
        output::print_line!(
            "  {} built, {} reused",
            output::grouped(subjects.built as u64),
            output::grouped(subjects.reused as u64)
        );
    }
    for (source_id, rows) in task
        .source_rows
        .iter()
        .filter(|(_, rows)| rows.records < rows.read)
    {
        output::print_line!("  {source_id}: {}", output::source_rows(rows));
    }
    for (dataset_id, rules) in &task.quarantined {
        let rules: Vec<String> = rules
            .iter()
            .map(|(rule, count)| format!("{rule} {count}"))
            .collect();
        output::print_line!("  quarantined in {dataset_id}: {}", rules.join(", "));
    }
    for (dataset_id, codes) in &task.warnings {
        let codes: Vec<String> = codes
            .iter()
            .map(|(code, count)| format!("{code} {count}"))
            .collect();
        output::print_line!("  warnings in {dataset_id}: {}", codes.join(", "));
    }
    if task.outcome == "not_published" {
        task.reasons
            .iter()
            .for_each(|reason| output::print_line!("  {reason}"));
    }
    task.notes
        .iter()
        .for_each(|note| output::print_line!("  note: {note}"));
}
