//! Does what the plan says: has each task built and staged, publishes one release, writes the
//! ledger. A bad source fails its own task; a fault of our disk or settings ends the run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::building::build::{caught, judged_against};
use crate::building::stage::build_and_stage;
use crate::building::units::BuiltTask;
use crate::building::words;
use crate::fetching::by_hand::{withdrawn_in, word_on};
use crate::observer::SharedObserver;
use crate::planning::made_with::declared_texts;
use crate::planning::plan::plan;
use crate::planning::upstream::{OtherTasks, upstream_of};
use crate::reporting::findings;
use crate::reporting::plan::{Plan, PlannedTask, TaskState};
use crate::reporting::report::{ExitCode, RunReport, TaskReport, new_run_id};
use crate::settings::{QUARANTINE, RunSettings};
use crate::standing::tasks::{is_not_renewed, not_renewed_since, unrenewed_by};
use pubdata_build::publish::{self, Contribution, Outcome, StagedBuild, Told};
use pubdata_build::validate::is_above_warning_level;
use pubdata_core::error::{Error, ErrorKind, Result};
use pubdata_core::ids::ReleaseId;
use pubdata_core::issue::SourceFinding;
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::{Obtained, Snapshot};
use pubdata_store::{
    self as store, DiskUse, LEDGER_FORMAT_VERSION, LedgerEntry, NotRenewed, Snapshots, TaskEntry,
    Unrenewed, without_folders,
};

/// Runs the plan: fetches, builds what is stale, publishes one release, and writes the ledger.
/// Needs a runtime with several threads: builds block.
///
/// # Errors
/// `Busy`, when another run holds the lock or won the race for the channel; `Config` and `Store` as
/// they come. A task that fails is not an error: the report says what became of it.
pub async fn run(settings: &RunSettings, observer: &SharedObserver) -> Result<RunReport> {
    let _lock = settings.home.lock()?;
    let started_at = jiff::Timestamp::now();
    let run_id = new_run_id(started_at)?;
    observer.begun(&run_id, started_at);
    let attempt = async {
        let plan = plan(settings, observer).await?;
        let build = |task: &PlannedTask, entry: &TaskEntry| {
            build_and_stage(settings, &plan, task, entry, &run_id, observer)
        };
        carry_out(settings, &plan, &build, &run_id, started_at, observer).await
    };
    let result = attempt.await;
    written_down(settings, &run_id, started_at, result).await
}

/// Writes down what came of a run.
pub(crate) async fn written_down(
    settings: &RunSettings,
    run_id: &str,
    started_at: jiff::Timestamp,
    mut result: Result<RunReport>,
) -> Result<RunReport> {
    if let Ok(report) = &mut result
        && let Err(error) = note_unrenewed(settings, report).await
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
        // What ended the run comes first; the same full disk keeps it out of the ledger.
        (Err(unwritten), Err(error)) => {
            tracing::warn!(error = %unwritten, "the run is not in the ledger");
            Err(error)
        }
        (Err(unwritten), Ok(_)) => Err(unwritten),
        (Ok(()), result) => result,
    }
}

/// What the ledger would say of a run that could not be written down.
///
/// # Errors
/// `Store`, when the system gives no random numbers.
pub async fn unwritten_run(settings: &RunSettings, error: &Error) -> Result<LedgerEntry> {
    let now = jiff::Timestamp::now();
    Ok(failed_entry(settings, &new_run_id(now)?, now, error).await)
}

/// Says since when what could not be renewed could not, and puts it beside the releases for those
/// who serve them.
async fn note_unrenewed(settings: &RunSettings, report: &mut RunReport) -> Result<()> {
    let mut runs = store::read_ledger(&settings.home)?;
    runs.reverse();
    for task in report
        .tasks
        .iter_mut()
        .filter(|task| is_not_renewed(task.outcome))
    {
        task.since = not_renewed_since(settings, &task.task_id, &runs)
            .or_else(|| Some(report.ended_at.clone()));
    }
    let before = settings.releases.unrenewed(&settings.channel).await;
    let before = before
        .inspect_err(|error| tracing::warn!(%error, "what could not be updated is reported anew"))
        .ok()
        .flatten();
    let mut tasks = before.map(|before| before.tasks).unwrap_or_default();
    for (task_id, word) in unrenewed_by(settings, &runs) {
        tasks.remove(&task_id);
        tasks.extend(word.map(|word| (task_id, word)));
    }
    for task in &report.tasks {
        tasks.remove(&task.task_id);
        if is_not_renewed(task.outcome) {
            let reason = without_folders(&task.reasons.join("; "), &[settings.home.root()]);
            tasks.insert(
                task.task_id.clone(),
                NotRenewed {
                    reason,
                    since: task.since.clone(),
                },
            );
        }
    }
    settings
        .releases
        .put_unrenewed(&settings.channel, &Unrenewed::new(tasks))
        .await
}

/// What the home takes now; a disk that cannot say it holds up no run.
fn disk_use(settings: &RunSettings) -> Option<DiskUse> {
    let told = store::disk_use(&settings.home);
    told.inspect_err(|error| tracing::warn!(%error, "the size of the home is not known"))
        .ok()
}

/// What the ledger keeps of a run that ended with an error.
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

/// How the build of a task comes about: here, or from what other machines have made of it.
pub(crate) type BuildTask<'b> = &'b dyn Fn(&PlannedTask, &TaskEntry) -> Result<BuiltTask>;

/// Does what a plan says, and publishes what comes of it.
pub(crate) async fn carry_out(
    settings: &RunSettings,
    plan: &Plan,
    build: BuildTask<'_>,
    run_id: &str,
    started_at: jiff::Timestamp,
    observer: &SharedObserver,
) -> Result<RunReport> {
    observer.planned(plan);
    let mut contributions: Vec<Contribution> = plan
        .untouched
        .iter()
        .map(|task_id| Contribution::Carried {
            task_id: task_id.clone(),
            told: None,
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
        // Looked at afterwards: what the channel is now it was when the release was composed. That
        // it moved also explains what else failed.
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
            Outcome::Mended => "mended",
        };
        (Some(committed.release_id), outcome, committed.is_sample)
    };
    if let Some(release_id) = &release_id {
        tell_what_is_late(settings, release_id, plan, &mut reports).await?;
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

/// Says of each task since when what the release has of it is late.
async fn tell_what_is_late(
    settings: &RunSettings,
    release_id: &ReleaseId,
    plan: &Plan,
    reports: &mut [TaskReport],
) -> Result<()> {
    let mut manifest = settings.releases.manifest(release_id).await?;
    // A release that stays as it was keeps the days of when it was made.
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
                !(report.is_optional && findings::is_of_arrivals(finding))
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

/// Does what the plan says for all tasks: first for those whose files others read, which learn what
/// was refused. Reports are in the order of the plan.
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
        observer.built(&report);
        contributions.extend(contribution);
        if report.outcome == "blocked" {
            refused.insert(report.task_id.clone());
        }
        reports.insert(index, report);
    }
    Ok(reports.into_values().collect())
}

/// Does what the plan says for one task. A failed build is reported and the last good one carried
/// on.
fn perform(
    settings: &RunSettings,
    plan: &Plan,
    task: &PlannedTask,
    build: BuildTask<'_>,
    observer: &SharedObserver,
) -> Result<(TaskReport, Option<Contribution>)> {
    let told = task
        .entry
        .as_ref()
        .filter(|_| task.state == TaskState::Fresh)
        .map(Told::of);
    let carried = Contribution::Carried {
        task_id: task.task_id.clone(),
        told,
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
            return Ok((report, Some(carried)));
        }
        (TaskState::NotPublished(_), _) => return Ok((report, None)),
        (TaskState::Stale(_), Some(entry)) => {
            observer.building(&task.task_id);
            let begun = Instant::now();
            let against = judged_against(settings, plan.current.as_ref(), &task.task_id);
            let left = publish::staged(
                &settings.home,
                &task.task_id,
                &entry.input_hash,
                Some(&against),
            )?;
            let built = match left.filter(|_| !settings.is_forced) {
                Some(mut staged) => {
                    report.outcome = "resumed";
                    Told::of(entry).tell(&mut staged.entry);
                    Ok(staged)
                }
                None => {
                    report.outcome = "built";
                    // Whatever a file makes of the program, decoding and writing included, ends
                    // with its own task.
                    caught(|| build(task, entry)).map(|built| {
                        report.subjects = built.subjects;
                        built.staged
                    })
                }
            };
            report.duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
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
                // Our own disk, settings and contracts fail every task alike; a source that is not
                // what it should be fails its own.
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
                    // Whoever tells of a task names it first.
                    let text = error.to_string();
                    let text = text
                        .strip_prefix(&format!("{}: ", task.pipeline_id))
                        .unwrap_or(&text);
                    report.reasons = vec![text.to_owned()];
                    report.next_step = error.way_out().map(str::to_owned);
                    for input in &entry.inputs {
                        report.reasons.extend(word_on(settings, input)?);
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
    tracing::error!(target: "pubdata::told", reason, task.id = %task.task_id, "not renewed");
    match publish::refusal_to_carry(
        plan.current.as_ref(),
        &settings.declarations.contracts,
        &task.task_id,
    ) {
        None => {
            report.is_in_release = true;
            Ok((report, Some(carried)))
        }
        Some(_) => Ok((report, None)),
    }
}

/// An archive that cannot be read may have been damaged on its way: the next run asks for it whole,
/// not only whether it changed. Text with other columns than declared is as the publisher made it.
fn forget_unreadable(settings: &RunSettings, entry: &TaskEntry, error: &Error) -> Result<()> {
    if error.kind() != ErrorKind::Format {
        return Ok(());
    }
    let snapshots = Snapshots::open(&settings.home)?;
    // What a person gave cannot be asked for again.
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

/// Rows and findings of a staged build, from what its parts say.
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
