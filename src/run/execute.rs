//! Executes a plan: builds and stages each task, publishes one release, and writes the ledger. A
//! bad source fails only its own task. An error of the local disk or settings aborts the run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::building::build::{caught, checked_against};
use crate::building::stage::build_and_stage;
use crate::building::units::BuiltTask;
use crate::building::words;
use crate::fetching::manual_import::{import_note, withdrawn_in};
use crate::observer::SharedObserver;
use crate::planning::made_with::declared_texts;
use crate::planning::plan::plan;
use crate::planning::upstream::{OtherTasks, upstream_of};
use crate::reporting::findings;
use crate::reporting::plan::{Plan, PlannedTask, TaskState};
use crate::reporting::report::{ExitCode, RunReport, TaskReport, new_run_id};
use crate::settings::{QUARANTINE, RunSettings};
use crate::task_status::tasks::{is_stale_outcome, stale_marks, stale_since};
use pubdata_build::publish::{self, Contribution, Outcome, StagedBuild, TaskMetadata};
use pubdata_build::validate::is_above_warning_level;
use pubdata_core::error::{Error, ErrorKind, Result};
use pubdata_core::ids::ReleaseId;
use pubdata_core::issue::SourceFinding;
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::{Obtained, Snapshot};
use pubdata_store::{
    self as store, DiskUse, LEDGER_FORMAT_VERSION, LedgerEntry, Snapshots, StaleTask, StaleTasks,
    TaskEntry, redact_folders,
};

/// Executes a run: fetches sources, builds stale tasks, publishes one release, and writes the
/// ledger. Requires a multi-threaded runtime, because builds block.
///
/// # Errors
/// Returns `Busy` if another run holds the lock or has moved the channel first. Also returns
/// `Config` and `Store` errors. A failed task is not an error; the report contains its outcome.
pub async fn run(settings: &RunSettings, observer: &SharedObserver) -> Result<RunReport> {
    let _lock = settings.home.lock()?;
    let started_at = jiff::Timestamp::now();
    let run_id = new_run_id(started_at)?;
    observer.on_run_started(&run_id, started_at);
    let attempt = async {
        let plan = plan(settings, observer).await?;
        let build = |task: &PlannedTask, entry: &TaskEntry| {
            build_and_stage(settings, &plan, task, entry, &run_id, observer)
        };
        carry_out(settings, &plan, &build, &run_id, started_at, observer).await
    };
    let result = attempt.await;
    record_run(settings, &run_id, started_at, result).await
}

/// Records the result of a run in the ledger.
pub(crate) async fn record_run(
    settings: &RunSettings,
    run_id: &str,
    started_at: jiff::Timestamp,
    mut result: Result<RunReport>,
) -> Result<RunReport> {
    if let Ok(report) = &mut result
        && let Err(error) = record_stale_tasks(settings, report).await
    {
        result = Err(error);
    }
    let entry = match &result {
        Ok(report) => report.ledger_entry(),
        Err(error) => failed_entry(settings, run_id, started_at, error).await,
    };
    match (
        store::append_ledger(
            &settings.home,
            &LedgerEntry {
                disk: disk_use(settings),
                ..entry
            },
        ),
        result,
    ) {
        // The error that aborted the run takes precedence: the same full disk may also have
        // prevented the ledger entry.
        (Err(unwritten), Err(error)) => {
            tracing::warn!(error = %unwritten, "the run is not in the ledger");
            Err(error)
        }
        (Err(unwritten), Ok(_)) => Err(unwritten),
        (Ok(()), result) => result,
    }
}

/// Returns the ledger entry for a run that could not be recorded.
///
/// # Errors
/// `Store` if the system's random number generator fails.
pub async fn unwritten_run(settings: &RunSettings, error: &Error) -> Result<LedgerEntry> {
    let now = jiff::Timestamp::now();
    Ok(failed_entry(settings, &new_run_id(now)?, now, error).await)
}

/// Determines since when tasks have been stale, and records this next to the releases for servers.
async fn record_stale_tasks(settings: &RunSettings, report: &mut RunReport) -> Result<()> {
    let mut runs = store::read_ledger(&settings.home)?;
    runs.reverse();
    for task in report
        .tasks
        .iter_mut()
        .filter(|task| is_stale_outcome(task.outcome))
    {
        task.since =
            stale_since(settings, &task.task_id, &runs).or_else(|| Some(report.ended_at.clone()));
    }
    let before = settings.releases.stale_tasks(&settings.channel).await;
    let before = before
        .inspect_err(|error| tracing::warn!(%error, "the earlier list of stale tasks is discarded"))
        .ok()
        .flatten();
    let mut tasks = before.map(|before| before.tasks).unwrap_or_default();
    for (task_id, word) in stale_marks(settings, &runs) {
        tasks.remove(&task_id);
        tasks.extend(word.map(|word| (task_id, word)));
    }
    for task in &report.tasks {
        tasks.remove(&task.task_id);
        if is_stale_outcome(task.outcome) {
            let reason = redact_folders(&task.reasons.join("; "), &[settings.home.root()]);
            tasks.insert(
                task.task_id.clone(),
                StaleTask {
                    reason,
                    since: task.since.clone(),
                },
            );
        }
    }
    settings
        .releases
        .put_stale_tasks(&settings.channel, &StaleTasks::new(tasks))
        .await
}

/// Returns the current disk usage of the home. A failed measurement does not stop the run.
fn disk_use(settings: &RunSettings) -> Option<DiskUse> {
    let usage = store::disk_use(&settings.home);
    usage
        .inspect_err(|error| tracing::warn!(%error, "the size of the home is not known"))
        .ok()
}

/// Returns the ledger entry of a run that was aborted by an error.
async fn failed_entry(
    settings: &RunSettings,
    run_id: &str,
    started_at: jiff::Timestamp,
    error: &Error,
) -> LedgerEntry {
    let pointing = settings
        .releases
        .channel(&settings.channel)
        .await
        .ok()
        .flatten();
    LedgerEntry {
        format_version: LEDGER_FORMAT_VERSION,
        run_id: run_id.to_owned(),
        started_at: started_at.to_string(),
        ended_at: jiff::Timestamp::now().to_string(),
        exit_code: error.kind().exit_code(),
        channel: settings.channel.clone(),
        release_id: pointing.map(|entry| entry.release_id),
        outcome: "failed".to_owned(),
        error: Some(error.to_string()),
        note: None,
        accepted: settings.accepted.clone(),
        import: None,
        fetched_bytes: None,
        disk: None,
        tasks: BTreeMap::new(),
    }
}

/// Function that builds a task, either on this machine or from the units that other machines built.
pub(crate) type BuildTask<'b> = &'b dyn Fn(&PlannedTask, &TaskEntry) -> Result<BuiltTask>;

/// Executes a plan and publishes the result.
pub(crate) async fn carry_out(
    settings: &RunSettings,
    plan: &Plan,
    build: BuildTask<'_>,
    run_id: &str,
    started_at: jiff::Timestamp,
    observer: &SharedObserver,
) -> Result<RunReport> {
    observer.on_planned(plan);
    let mut contributions: Vec<Contribution> = plan
        .untouched
        .iter()
        .map(|task_id| Contribution::Reused {
            task_id: task_id.clone(),
            metadata: None,
        })
        .collect();
    let mut reports = perform_all(settings, plan, build, observer, &mut contributions)?;
    let now = jiff::Timestamp::now().to_string();
    let (release_id, outcome, is_sample) = if contributions.is_empty() {
        (None, "nothing", plan.is_sample)
    } else {
        let contracts = &settings.declarations.contracts;
        let prepared = publish::prepare(
            &settings.releases,
            contracts,
            &settings.channel,
            contributions,
            plan.is_sample,
            run_id,
            &now,
        )
        .await;
        // Checks afterwards that the channel still points at the release on which this run is
        // based. A moved channel may also be the cause of other failures.
        settings
            .releases
            .refuse_moved(&settings.channel, plan.generation)
            .await?;
        let prepared = prepared?;
        let texts = declared_texts(settings, prepared.manifest())?;
        let committed = prepared
            .with_declarations(texts)
            .publish(&settings.home, &settings.releases)
            .await?;
        let outcome = match committed.outcome {
            Outcome::Published => "published",
            Outcome::Unchanged => "unchanged",
            Outcome::Repaired => "mended",
        };
        (Some(committed.release_id), outcome, committed.is_sample)
    };
    if let Some(release_id) = &release_id {
        add_late_dates(settings, release_id, plan, &mut reports).await?;
    }
    Ok(RunReport {
        run_id: run_id.to_owned(),
        started_at: started_at.to_string(),
        ended_at: jiff::Timestamp::now().to_string(),
        channel: settings.channel.clone(),
        release_id,
        outcome,
        is_sample,
        exit_code: exit_code(&reports),
        tasks: reports,
        sources: plan.sources.clone(),
        accepted: settings.accepted.clone(),
    })
}

/// Adds to each report the day since which the task's data in the release is late.
async fn add_late_dates(
    settings: &RunSettings,
    release_id: &ReleaseId,
    plan: &Plan,
    reports: &mut [TaskReport],
) -> Result<()> {
    let mut manifest = settings.releases.manifest(release_id).await?;
    // An unchanged release keeps the due dates that were set when it was made.
    for task in plan
        .tasks
        .iter()
        .filter(|task| task.state == TaskState::Fresh)
    {
        if let (Some(planned), Some(entry)) = (&task.entry, manifest.tasks.get_mut(&task.task_id)) {
            entry.due.clone_from(&planned.due);
        }
    }
    for report in reports {
        report.late_since = report
            .late_since
            .or_else(|| manifest.late_since(&report.task_id, settings.today()));
    }
    Ok(())
}

pub(crate) fn exit_code(reports: &[TaskReport]) -> ExitCode {
    let code = |report: &TaskReport| match report.outcome {
        "blocked" => ExitCode::Blocked,
        "missing" if report.is_optional => ExitCode::Ok,
        "missing" => ExitCode::SourceMissing,
        _ => {
            let is_to_be_seen_to = report.is_above_warning_level
                || (report.late_since.is_some() && !report.is_optional);
            let of_task = if is_to_be_seen_to {
                ExitCode::Quarantined
            } else {
                ExitCode::Ok
            };
            let counts = |finding: &&SourceFinding| {
                !(report.is_optional && findings::is_about_fetch(finding))
            };
            report
                .findings
                .iter()
                .filter(counts)
                .map(findings::exit_code)
                .fold(of_task, ExitCode::max)
        }
    };
    reports.iter().map(code).max().unwrap_or(ExitCode::Ok)
}

/// Performs all tasks of a plan. Tasks whose files other tasks read come first, so that these
/// readers know which builds were refused. Reports are in the order of the plan.
fn perform_all(
    settings: &RunSettings,
    plan: &Plan,
    build: BuildTask<'_>,
    observer: &SharedObserver,
    contributions: &mut Vec<Contribution>,
) -> Result<Vec<TaskReport>> {
    let mut order = Vec::new();
    for (index, task) in plan.tasks.iter().enumerate() {
        let has_upstream = !upstream_of(
            settings,
            &settings.declarations.pipelines[&task.pipeline_id],
        )?
        .is_empty();
        order.push((has_upstream, index));
    }
    order.sort_unstable();
    let (mut refused, mut reports) = (BTreeSet::new(), BTreeMap::new());
    let planned: BTreeMap<&str, &PlannedTask> = plan
        .tasks
        .iter()
        .map(|task| (task.task_id.as_str(), task))
        .collect();
    for (_, index) in order {
        let others = OtherTasks {
            settings,
            current: plan.current.as_ref(),
            is_sample: plan.is_sample,
            planned: planned.clone(),
            refused: &refused,
        };
        let task = others.settled(&plan.tasks[index])?;
        let (report, contribution) = perform(settings, plan, &task, build, observer)?;
        observer.on_task_built(&report);
        contributions.extend(contribution);
        if report.outcome == "blocked" {
            refused.insert(report.task_id.clone());
        }
        reports.insert(index, report);
    }
    Ok(reports.into_values().collect())
}

/// Performs one task of the plan. If its build fails, reports the failure and keeps the last good
/// build.
fn perform(
    settings: &RunSettings,
    plan: &Plan,
    task: &PlannedTask,
    build: BuildTask<'_>,
    observer: &SharedObserver,
) -> Result<(TaskReport, Option<Contribution>)> {
    let metadata = task
        .entry
        .as_ref()
        .filter(|_| task.state == TaskState::Fresh)
        .map(TaskMetadata::from_entry);
    let reused = Contribution::Reused {
        task_id: task.task_id.clone(),
        metadata,
    };
    let mut report = TaskReport {
        is_optional: task.is_optional,
        late_since: task.late_since,
        input_hash: task.entry.as_ref().map(|entry| entry.input_hash),
        ..TaskReport::of_state(&task.task_id, &task.state)
    };
    match (&task.state, &task.entry) {
        (TaskState::Fresh, entry) => {
            let before = plan
                .current
                .as_ref()
                .and_then(|manifest| manifest.tasks.get(&task.task_id));
            let of_build = before
                .into_iter()
                .flat_map(|before| &before.findings)
                .filter(|finding| findings::is_of_build(finding));
            report.findings = entry
                .iter()
                .flat_map(|entry| &entry.findings)
                .chain(of_build)
                .cloned()
                .collect();
            report.is_in_release = true;
            return Ok((report, Some(reused)));
        }
        (TaskState::NotPublished(_), _) => return Ok((report, None)),
        (TaskState::Stale(_), Some(entry)) => {
            observer.on_task_started(&task.task_id);
            let started = Instant::now();
            let against = checked_against(settings, plan.current.as_ref(), &task.task_id);
            let left = publish::staged(
                &settings.home,
                &task.task_id,
                &entry.input_hash,
                Some(&against),
            )?;
            let built = match left.filter(|_| !settings.is_forced) {
                Some(mut staged) => {
                    report.outcome = "resumed";
                    TaskMetadata::from_entry(entry).apply_to(&mut staged.entry);
                    Ok(staged)
                }
                None => {
                    report.outcome = "built";
                    // A panic during a build, including decoding and writing, fails only the task
                    // concerned.
                    caught(|| build(task, entry)).map(|built| {
                        report.subjects = built.subjects;
                        built.staged
                    })
                }
            };
            report.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
            match built {
                Ok(mut staged) => {
                    staged
                        .entry
                        .findings
                        .extend(findings::turned_empty(&staged, plan.current.as_ref()));
                    words::tell(
                        &mut staged,
                        &settings.declarations,
                        &settings.declarations.pipelines[&task.pipeline_id],
                    );
                    report.findings.clone_from(&staged.entry.findings);
                    report.is_in_release = true;
                    count(
                        &staged,
                        &settings.declarations.pipelines[&task.pipeline_id],
                        &mut report,
                    );
                    return Ok((report, Some(Contribution::Built(staged))));
                }
                // Errors of the local disk, settings and contracts affect every task and abort the
                // run. An error of a source fails only the task that reads it.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::Store
                            | ErrorKind::Config
                            | ErrorKind::Busy
                            | ErrorKind::Unfinished
                    ) =>
                {
                    return Err(error);
                }
                Err(error) => {
                    forget_unreadable(settings, entry, &error)?;
                    report.outcome = "blocked";
                    // Callers prepend the task's name.
                    let text = error.to_string();
                    let text = text
                        .strip_prefix(&format!("{}: ", task.pipeline_id))
                        .unwrap_or(&text);
                    report.reasons = vec![text.to_owned()];
                    report.next_step = error.hint_text().map(str::to_owned);
                    for input in &entry.inputs {
                        report.reasons.extend(import_note(settings, input)?);
                    }
                }
            }
        }
        (TaskState::Blocked(_) | TaskState::Stale(_), _) => {}
    }
    report.reasons.extend(withdrawn_in(
        settings,
        plan.current
            .as_ref()
            .and_then(|current| current.tasks.get(&task.task_id)),
    )?);
    let reason = report.reasons.join("; ");
    tracing::error!(target: "pubdata::told", reason, task.id = %task.task_id, "task not rebuilt");
    match publish::reason_not_reusable(
        plan.current.as_ref(),
        &settings.declarations.contracts,
        &task.task_id,
    ) {
        None => {
            report.is_in_release = true;
            Ok((report, Some(reused)))
        }
        Some(_) => Ok((report, None)),
    }
}

/// Forces the next run to fetch unreadable archives in full, instead of only checking whether they
/// changed, because they may have been damaged in transit. Text with unexpected columns is as the
/// publisher made it, and is not fetched again.
fn forget_unreadable(settings: &RunSettings, entry: &TaskEntry, error: &Error) -> Result<()> {
    if error.kind() != ErrorKind::Format {
        return Ok(());
    }
    let snapshots = Snapshots::open(&settings.home)?;
    // A manually imported file cannot be fetched again.
    let is_by_program = |snapshot: &&Snapshot| snapshot.obtained == Obtained::ByProgram;
    let is_archive = |snapshot: &&Snapshot| {
        settings
            .declarations
            .source(&snapshot.source_id)
            .is_some_and(|(_, source)| source.is_archive())
    };
    entry
        .inputs
        .iter()
        .filter(is_by_program)
        .filter(is_archive)
        .try_for_each(|snapshot| snapshots.forget(snapshot))
}

/// Adds the rows and issues of a staged build to the report, from its parts.
fn count(staged: &StagedBuild, declaration: &Declaration, report: &mut TaskReport) {
    report.source_rows.clone_from(&staged.entry.source_rows);
    report.notes.extend(staged.notes.iter().cloned());
    for staged in staged
        .parts
        .iter()
        .filter(|staged| staged.dataset_id != QUARANTINE)
    {
        let part = &staged.part;
        *report.rows.entry(staged.dataset_id.clone()).or_insert(0) += part.rows;
        for (totals, counts) in [
            (&mut report.quarantined, &part.report.quarantined),
            (&mut report.warnings, &part.report.warnings),
        ] {
            for (code, count) in counts {
                *totals
                    .entry(staged.dataset_id.clone())
                    .or_default()
                    .entry(code.clone())
                    .or_insert(0) += count;
            }
        }
        report.notes.extend(
            part.report
                .notes
                .iter()
                .map(|note| format!("{}: {note}", staged.dataset_id)),
        );
    }
    let none = BTreeMap::new();
    report.is_above_warning_level = declaration.expect.iter().any(|(dataset_id, expectations)| {
        let quarantined = report.quarantined.get(dataset_id).unwrap_or(&none);
        is_above_warning_level(
            expectations,
            report.rows.get(dataset_id).copied().unwrap_or(0),
            quarantined,
        )
    });
}
