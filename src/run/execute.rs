//! Does what the plan says: builds, validates and stages each task, publishes one release, writes the ledger. A bad source fails its own
//! task; a fault of our disk or settings ends the run.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Instant;

use super::by_hand::{withdrawn_in, word_on};
use super::exit_code::ExitCode;
use super::findings;
use super::pieces::TaskInPieces;
use super::plan::{Plan, PlannedTask, TaskState, plan, today};
use super::report::{RunReport, SubjectCounts, TaskReport};
use super::source_rows::RowUses;
use super::{RunSettings, SharedObserver};
use crate::datasets::{self, BuildWhole, Context, RowsRead, Sharded, Table};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::ids::ReleaseId;
use crate::issue::{Issue, Severity, SourceFinding};
use crate::pipeline::{Buckets, Declaration, Expectations, LayoutEvidence};
use crate::provenance::{Inputs, Obtained, Snapshot, SourcePointer};
use crate::publish::{self, Build, BuiltTable, Contribution, Outcome, StagedBuild};
use crate::store::{self, LEDGER_FORMAT_VERSION, LedgerEntry, Manifest, Part, Snapshots, TaskEntry};
use crate::validate::{Candidate, is_above_warning_level, quarantine_table, validate};

/// The published table of records set aside.
pub(super) const QUARANTINE: &str = "pubdata.quarantine";

/// Runs the plan: fetches, builds what is stale, publishes one release, and writes the ledger. Needs a runtime with several threads:
/// builds block.
///
/// # Errors
/// `Busy`, when another run holds the lock or won the race for the channel; `Config` and `Store` as they come. A task that fails is not
/// an error: the report says what became of it.
pub async fn run(settings: &RunSettings, observer: &SharedObserver) -> Result<RunReport> {
    let _lock = settings.home.lock()?;
    let started_at = jiff::Timestamp::now();
    let run_id = new_run_id(started_at)?;
    let result = attempt(settings, observer, &run_id, started_at).await;
    let entry = match &result {
        Ok(report) => report.ledger_entry(),
        Err(error) => failed_entry(settings, &run_id, started_at, error).await,
    };
    store::append_ledger(&settings.home, &entry)?;
    result
}

/// What the ledger keeps of a run that ended with an error.
async fn failed_entry(settings: &RunSettings, run_id: &str, started_at: jiff::Timestamp, error: &Error) -> LedgerEntry {
    let pointing = settings.releases.channel(&settings.channel).await.ok().flatten();
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
        import: None,
        tasks: BTreeMap::new(),
    }
}

async fn attempt(settings: &RunSettings, observer: &SharedObserver, run_id: &str, started_at: jiff::Timestamp) -> Result<RunReport> {
    let plan = plan(settings, observer).await?;
    let mut reports = Vec::new();
    let mut contributions: Vec<Contribution> = plan
        .untouched
        .iter()
        .map(|task_id| Contribution::Carried { task_id: task_id.clone(), stale_reason: previous_reason(&plan, task_id), due: None })
        .collect();
    for task in &plan.tasks {
        let (report, contribution) = perform(settings, &plan, task, run_id, observer)?;
        observer.built(&report);
        contributions.extend(contribution);
        reports.push(report);
    }
    let now = jiff::Timestamp::now().to_string();
    let (release_id, outcome, is_sample) = if contributions.is_empty() {
        (None, "nothing", plan.is_sample)
    } else {
        let contracts = &settings.declarations.contracts;
        let committed = publish::commit(&settings.home, &settings.releases, contracts, &settings.channel, contributions, plan.is_sample, run_id, &now).await?;
        let outcome = match committed.outcome {
            Outcome::Published => "published",
            Outcome::Unchanged => "unchanged",
            Outcome::Mended => "mended",
        };
        (Some(committed.release_id), outcome, committed.is_sample)
    };
    if let Some(release_id) = &release_id {
        tell_what_is_late(settings, release_id, &plan, &mut reports).await?;
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
        sources: plan.sources,
    })
}

/// Says of each task since when what the release has of it is late.
async fn tell_what_is_late(settings: &RunSettings, release_id: &ReleaseId, plan: &Plan, reports: &mut [TaskReport]) -> Result<()> {
    let mut manifest = settings.releases.manifest(release_id).await?;
    // A release that stays as it was keeps the days of when it was made.
    for task in plan.tasks.iter().filter(|task| task.state == TaskState::Fresh) {
        if let (Some(planned), Some(entry)) = (&task.entry, manifest.tasks.get_mut(&task.task_id)) {
            entry.due.clone_from(&planned.due);
        }
    }
    for report in reports {
        report.late_since = report.late_since.or_else(|| manifest.late_since(&report.task_id, today(settings)));
    }
    Ok(())
}

pub(super) fn new_run_id(now: jiff::Timestamp) -> Result<String> {
    let mut bytes = [0; 3];
    getrandom::fill(&mut bytes).map_err(|error| Error::store(format!("the system gives no random numbers: {error}")))?;
    let suffix: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}-{suffix}", now.strftime("%Y%m%dT%H%M%SZ")))
}

pub(super) fn exit_code(reports: &[TaskReport]) -> ExitCode {
    let code = |report: &TaskReport| match report.outcome {
        "blocked" => ExitCode::Blocked,
        "missing" => ExitCode::SourceMissing,
        _ => {
            let is_to_be_seen_to = report.is_above_warning_level || report.late_since.is_some();
            let of_task = if is_to_be_seen_to { ExitCode::Quarantined } else { ExitCode::Ok };
            report.findings.iter().map(findings::exit_code).fold(of_task, ExitCode::max)
        }
    };
    reports.iter().map(code).max().unwrap_or(ExitCode::Ok)
}

fn previous_reason(plan: &Plan, task_id: &str) -> Option<String> {
    plan.current.as_ref().and_then(|manifest| manifest.tasks.get(task_id)).and_then(|entry| entry.stale_reason.clone())
}

/// Does what the plan says for one task. A failed build is reported and the last good one carried on.
fn perform(settings: &RunSettings, plan: &Plan, task: &PlannedTask, run_id: &str, observer: &SharedObserver) -> Result<(TaskReport, Option<Contribution>)> {
    let due = task.entry.as_ref().filter(|_| task.state == TaskState::Fresh).map(|entry| entry.due.clone());
    let carried = |stale_reason: Option<String>| Contribution::Carried { task_id: task.task_id.clone(), stale_reason, due: due.clone() };
    let mut report = TaskReport { late_since: task.late_since, ..TaskReport::of_state(&task.task_id, &task.state) };
    match (&task.state, &task.entry) {
        (TaskState::Fresh, entry) => {
            let before = plan.current.as_ref().and_then(|manifest| manifest.tasks.get(&task.task_id));
            let of_build = before.into_iter().flat_map(|before| &before.findings).filter(|finding| findings::is_of_build(finding));
            report.findings = entry.iter().flat_map(|entry| &entry.findings).chain(of_build).cloned().collect();
            report.is_carried = true;
            return Ok((report, Some(carried(None))));
        }
        (TaskState::NotPublished(_), _) => return Ok((report, None)),
        (TaskState::Stale(_), Some(entry)) => {
            observer.building(&task.task_id);
            let begun = Instant::now();
            let built = match publish::staged(&settings.home, &task.task_id, &entry.input_hash)? {
                Some(staged) => {
                    report.outcome = "resumed";
                    Ok(staged)
                }
                None => {
                    report.outcome = "built";
                    build_and_stage(settings, plan, task, entry, run_id, observer).map(|built| {
                        report.notes.extend(built.notes);
                        report.subjects = built.subjects;
                        built.staged
                    })
                }
            };
            report.duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            match built {
                Ok(mut staged) => {
                    staged.entry.findings.extend(findings::turned_empty(&staged, plan.current.as_ref()));
                    report.findings.clone_from(&staged.entry.findings);
                    count(&staged, &settings.declarations.pipelines[&task.pipeline_id], &mut report);
                    return Ok((report, Some(Contribution::Built(staged))));
                }
                // Our own disk, settings and contracts fail every task alike; a source that is not what it should be fails its own.
                Err(error) if matches!(error.kind(), ErrorKind::Store | ErrorKind::Config | ErrorKind::Busy) => return Err(error),
                Err(error) => {
                    forget_unreadable(settings, entry, &error)?;
                    report.outcome = "blocked";
                    // Whoever tells of a task names it first.
                    let text = error.to_string();
                    let text = text.strip_prefix(&format!("{}: ", task.pipeline_id)).unwrap_or(&text);
                    report.reasons = vec![error.way_out().map_or_else(|| text.to_owned(), |hint| format!("{text} ({hint})"))];
                    for input in &entry.inputs {
                        report.reasons.extend(word_on(settings, input)?);
                    }
                }
            }
        }
        (TaskState::Blocked(_) | TaskState::Stale(_), _) => {}
    }
    report.reasons.extend(withdrawn_in(settings, plan.current.as_ref().and_then(|current| current.tasks.get(&task.task_id)))?);
    let reason = report.reasons.join("; ");
    tracing::error!(task.id = %task.task_id, %reason, "not renewed");
    match publish::refusal_to_carry(plan.current.as_ref(), &settings.declarations.contracts, &task.task_id) {
        None => {
            report.is_carried = true;
            Ok((report, Some(carried(Some(reason)))))
        }
        Some(_) => Ok((report, None)),
    }
}

/// An archive that cannot be read may have been damaged on its way: the next run asks for it whole, not only whether it changed. Text
/// with other columns than declared is as the publisher made it.
fn forget_unreadable(settings: &RunSettings, entry: &TaskEntry, error: &Error) -> Result<()> {
    if error.kind() != ErrorKind::Format {
        return Ok(());
    }
    let snapshots = Snapshots::open(&settings.home)?;
    // What a person gave cannot be asked for again.
    let is_by_program = |snapshot: &&Snapshot| snapshot.obtained == Obtained::ByProgram;
    let is_archive = |snapshot: &&Snapshot| settings.declarations.source(&snapshot.source_id).is_some_and(|(_, source)| source.is_archive());
    entry.inputs.iter().filter(is_by_program).filter(is_archive).try_for_each(|snapshot| snapshots.forget(snapshot))
}

/// Rows and findings of a staged build, from what its parts say.
fn count(staged: &StagedBuild, declaration: &Declaration, report: &mut TaskReport) {
    report.source_rows.clone_from(&staged.entry.source_rows);
    for staged in staged.parts.iter().filter(|staged| staged.dataset_id != QUARANTINE) {
        let part = &staged.part;
        *report.rows.entry(staged.dataset_id.clone()).or_insert(0) += part.rows;
        for (totals, counts) in [(&mut report.quarantined, &part.report.quarantined), (&mut report.warnings, &part.report.warnings)] {
            for (code, count) in counts {
                *totals.entry(staged.dataset_id.clone()).or_default().entry(code.clone()).or_insert(0) += count;
            }
        }
        report.notes.extend(part.report.notes.iter().map(|note| format!("{}: {note}", staged.dataset_id)));
    }
    let none = BTreeMap::new();
    report.is_above_warning_level = declaration.expect.iter().any(|(dataset_id, expectations)| {
        let quarantined = report.quarantined.get(dataset_id).unwrap_or(&none);
        is_above_warning_level(expectations, report.rows.get(dataset_id).copied().unwrap_or(0), quarantined)
    });
}

/// A build on disk, and what is to be told about it that stands in none of its parts.
pub(super) struct BuiltTask {
    pub(super) staged: StagedBuild,
    /// On totals.
    pub(super) notes: Vec<String>,
    pub(super) subjects: Option<SubjectCounts>,
}

fn build_and_stage(settings: &RunSettings, plan: &Plan, task: &PlannedTask, entry: &TaskEntry, run_id: &str, observer: &SharedObserver) -> Result<BuiltTask> {
    let declaration = &settings.declarations.pipelines[&task.pipeline_id];
    check_snapshots(settings, plan, entry)?;
    let issues_file = super::issues_file(&settings.home, run_id);
    // What a wrong file brought is no measure for the right one.
    let believed = match withdrawn_in(settings, plan.current.as_ref().and_then(|current| current.tasks.get(&task.task_id)))? {
        Some(_) => None,
        None => plan.current.as_ref(),
    };
    let in_pieces =
        |previous| TaskInPieces { settings, declaration, task_id: &task.task_id, entry, is_sample: plan.is_sample, previous, observer: Some(observer) };
    let (tables, inputs, read) = match build(settings, declaration, task.partition.clone(), entry, None)? {
        Made::Tables(tables, inputs, read) => (tables, inputs, read),
        Made::Sharded(prepared) => {
            let previous = believed.filter(|_| !settings.is_forced);
            return in_pieces(previous).stage_shards(&settings.home, &prepared, Some(&issues_file));
        }
        Made::Buckets(buckets, build) => {
            return in_pieces(believed).stage_buckets(&settings.home, buckets, build, Some(&issues_file));
        }
    };
    let previous_rows = |dataset_id: &str, partition: &BTreeMap<String, String>| {
        let is_accepted = settings.accepted.iter().any(|accepted| accepted == dataset_id);
        believed.filter(|_| !is_accepted).and_then(|manifest| rows_of(manifest, dataset_id, &task.task_id, Some(partition)))
    };
    let totals = Totals { expectations: &expectations(declaration, entry), previous_rows: &previous_rows };
    let checked = check(settings, tables, &inputs, Some(&totals), plan.is_sample)?;
    if !checked.issues.is_empty() {
        store::append_lines(&issues_file, &checked.issues)?;
    }
    if !checked.blocked.is_empty() {
        return Err(Error::contract(checked.blocked.join("; ")).hint(format!("every finding is in {}", issues_file.display())));
    }
    let build = whole(settings, &task.task_id, entry, declaration, checked, inputs, &read)?;
    Ok(BuiltTask { staged: publish::stage(&settings.home, &settings.declarations.contracts, build)?, notes: Vec::new(), subjects: None })
}

/// Hashes the snapshots again that were not fetched just now: a figure is never built from bytes that have changed on our disk.
fn check_snapshots(settings: &RunSettings, plan: &Plan, entry: &TaskEntry) -> Result<()> {
    let snapshots = Snapshots::open(&settings.home)?;
    let is_new = |snapshot: &Snapshot| plan.sources.iter().any(|source| source.outcome == "new" && source.url == snapshot.url);
    for snapshot in entry.inputs.iter().filter(|snapshot| !is_new(snapshot)) {
        if let Some(damage) = snapshots.damage(snapshot)? {
            snapshots.forget(snapshot)?;
            let hint = match snapshot.obtained {
                Obtained::ByProgram => "the next run fetches the file again; look at the disk it was on",
                Obtained::ByHand => "import the file again; look at the disk it was on",
            };
            return Err(Error::format(damage).hint(hint));
        }
    }
    Ok(())
}

pub(super) fn contract<'a>(settings: &'a RunSettings, dataset_id: &str) -> Result<&'a crate::contract::Contract> {
    settings.declarations.contracts.get(dataset_id).ok_or_else(|| Error::config(format!("`{dataset_id}` has no contract")))
}

/// What a pipeline's code made of its snapshots.
pub(super) enum Made<'a> {
    Tables(Vec<Table>, Inputs, RowsRead),
    /// Still to be built, shard by shard.
    Sharded(PreparedShards),
    /// Still to be built, bucket by bucket.
    Buckets(&'a Buckets, BuildWhole),
}

/// A sharded build before any shard of it was made.
pub(super) struct PreparedShards {
    pub(super) sharded: Box<dyn Sharded>,
    /// What is to be seen to about the lists that were read.
    pub(super) findings: Vec<SourceFinding>,
}

/// Runs a pipeline's code over the snapshots of an entry. `only` restricts it to some records of a bucket, where it is not sharded.
pub(super) fn build<'a>(
    settings: &RunSettings,
    declaration: &'a Declaration,
    partition: Option<String>,
    entry: &TaskEntry,
    only: Option<(&[SourcePointer], Option<&str>)>,
) -> Result<Made<'a>> {
    let snapshots = Snapshots::open(&settings.home)?;
    let locate = |snapshot: &Snapshot| -> PathBuf { snapshots.path(snapshot) };
    let pointers = only.map(|(pointers, _)| pointers);
    let mut context = Context::new(&settings.declarations, declaration, partition, Inputs::new(entry.inputs.clone()), &locate, pointers);
    if let Some(bucket) = only.and_then(|(_, bucket)| bucket) {
        context = context.in_bucket(bucket);
    }
    match (datasets::pipeline(&declaration.pipeline_id)?.build, declaration.buckets.as_ref().filter(|buckets| buckets.count > 1)) {
        (datasets::Build::Whole(build), Some(buckets)) if only.is_none() => Ok(Made::Buckets(buckets, build)),
        (datasets::Build::Whole(build), _) => {
            let tables = guarded(&declaration.pipeline_id, || build(&context))?;
            let (inputs, read) = context.finish();
            Ok(Made::Tables(tables, inputs, read))
        }
        (datasets::Build::Sharded(build), _) => {
            let sharded = guarded(&declaration.pipeline_id, || build(&context))?;
            let findings = context.finish().1.findings(&settings.declarations);
            Ok(Made::Sharded(PreparedShards { sharded, findings }))
        }
    }
}

/// Calls a pipeline's code: a defect in one must not take the others' night with it.
pub(super) fn guarded<T>(pipeline_id: &str, build: impl FnOnce() -> Result<T>) -> Result<T> {
    let built = catch_unwind(AssertUnwindSafe(build)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(Error::format(format!("the pipeline's code stopped with a defect: {message}")))
    });
    built.context(|| pipeline_id.to_owned())
}

/// A build that was made at once, with the account of its rows.
pub(super) fn whole(
    settings: &RunSettings,
    task_id: &str,
    entry: &TaskEntry,
    declaration: &Declaration,
    checked: Checked,
    inputs: Inputs,
    read: &RowsRead,
) -> Result<Build> {
    let source_rows = RowUses::of(&checked, &read.left_out, &inputs)?.account(declaration, &read.by_source());
    let mut findings = entry.findings.clone();
    findings.extend(read.findings(&settings.declarations));
    let entry = TaskEntry { source_rows, findings, ..entry.clone() };
    Ok(Build { task_id: task_id.to_owned(), entry, inputs, tables: checked.tables })
}

/// Tables as validation left them.
#[derive(Default)]
pub(super) struct Checked {
    /// With a quarantine table beside each table that had findings.
    pub(super) tables: Vec<BuiltTable>,
    pub(super) issues: Vec<Issue>,
    /// Pointer numbers of the rows of records set aside.
    pub(super) set_aside: Vec<u64>,
    /// Pointer numbers of rows that repeat another.
    pub(super) repeated: Vec<u64>,
    /// Why nothing may be published; empty when all may.
    pub(super) blocked: Vec<String>,
}

/// The rows a dataset had in a partition of the last release.
pub(super) type RowsOf<'a> = &'a dyn Fn(&str, &BTreeMap<String, String>) -> Option<u64>;

/// What the totals of a build are judged by.
pub(super) struct Totals<'a> {
    /// By dataset.
    pub(super) expectations: &'a BTreeMap<String, Expectations>,
    pub(super) previous_rows: RowsOf<'a>,
}

/// What is expected of a build, by dataset: less than declared while nobody has seen a file in the declared layout.
pub(super) fn expectations(declaration: &Declaration, entry: &TaskEntry) -> BTreeMap<String, Expectations> {
    let is_unseen = entry.layout_evidence == Some(LayoutEvidence::Documented);
    let expected = |declared: &Expectations| if is_unseen { declared.of_unseen_layout() } else { declared.clone() };
    declaration.expect.iter().map(|(dataset_id, declared)| (dataset_id.clone(), expected(declared))).collect()
}

/// Validates the tables of a build, each against its contract and, where totals are judged, against what is expected of it.
pub(super) fn check(settings: &RunSettings, tables: Vec<Table>, inputs: &Inputs, totals: Option<&Totals<'_>>, is_sample: bool) -> Result<Checked> {
    let mut checked = Checked::default();
    for Table { dataset_id, partition, frame, mut issues } in tables {
        if settings.accepted.contains(&dataset_id) {
            issues.iter_mut().filter(|issue| issue.severity == Severity::Block).for_each(|issue| issue.severity = Severity::Quarantine);
        }
        checked.issues.extend(issues.iter().filter(|issue| issue.severity != Severity::Quarantine).cloned());
        let candidate = Candidate { dataset_id: dataset_id.clone(), partition: partition.clone(), frame, issues };
        let expectations = totals.map(|totals| &totals.expectations[&dataset_id]);
        let previous_rows = totals.and_then(|totals| (totals.previous_rows)(&dataset_id, &partition));
        let verdict = validate(contract(settings, &dataset_id)?, expectations, candidate, inputs, previous_rows, is_sample)?;
        checked.blocked.extend(verdict.blocked);
        checked.set_aside.extend(verdict.set_aside);
        checked.repeated.extend(verdict.repeated);
        if !verdict.quarantine.is_empty() {
            let contract = contract(settings, QUARANTINE)?;
            let frame = quarantine_table(contract, &dataset_id, &partition, &verdict.quarantine, inputs)?;
            let mut folders = partition.clone();
            folders.insert("dataset_id".to_owned(), dataset_id.clone());
            checked.tables.push(BuiltTable { dataset_id: QUARANTINE.to_owned(), partition: folders, frame, report: store::PartReport::default() });
        }
        checked.issues.extend(verdict.quarantine);
        checked.tables.push(BuiltTable { dataset_id, partition, frame: verdict.frame, report: verdict.report });
    }
    Ok(checked)
}

/// The rows of a task's dataset, in one partition or in all.
pub(super) fn rows_of(manifest: &Manifest, dataset_id: &str, task_id: &str, partition: Option<&BTreeMap<String, String>>) -> Option<u64> {
    let parts = &manifest.datasets.get(dataset_id)?.parts;
    let is_own = |part: &&Part| part.task_id == task_id && partition.is_none_or(|partition| part.partition == *partition);
    let own: Vec<u64> = parts.iter().filter(is_own).map(|part| part.rows).collect();
    (!own.is_empty()).then(|| own.iter().sum())
}
