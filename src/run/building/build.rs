//! Runs a pipeline's code on snapshots and validates the resulting tables. Writes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use polars::prelude::{BooleanChunked, DataFrame};

use super::declaration_faults::refuse_faults;
use crate::settings::{QUARANTINE, RunSettings, names};
use pubdata_build::datasets::{
    self, BuildShards, BuildWhole, Context, Elsewhere, RowsRead, Sharded, Table,
};
use pubdata_build::normalise::pointers;
use pubdata_build::publish::{BuiltTable, RowValidation};
use pubdata_build::validate::{
    Candidate, FLOOR, QUARANTINED, Refusal, WARNED, quarantine_table, validate,
};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::ids::Digest;
use pubdata_core::issue::{Issue, Severity, SourceFinding};
use pubdata_core::pipeline::{Buckets, Declaration, Expectations, LayoutEvidence};
use pubdata_core::provenance::{Inputs, POINTERS, Snapshot, SourcePointer};
use pubdata_store::{self as store, Manifest, Part, Snapshots, TaskEntry};

/// Output of a pipeline's code for its snapshots.
pub(crate) enum BuildOutput<'a> {
    Tables(Vec<Table>, Inputs, RowsRead),
    /// Still to be built, shard by shard.
    Sharded(PreparedShards),
    /// Still to be built, bucket by bucket.
    Buckets(&'a Buckets, BuildWhole),
}

impl BuildOutput<'_> {
    pub(crate) fn division(&self) -> Division {
        match self {
            Self::Tables(..) => Division::Whole,
            Self::Sharded(_) => Division::Shards,
            Self::Buckets(..) => Division::Buckets,
        }
    }
}

/// How a task is divided into the units in which it is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Division {
    /// One unit, judged while it is built: each partition by itself, and compared with the last
    /// release.
    Whole,
    Buckets,
    /// Some shards are reused from the last release.
    Shards,
}

/// A sharded build before its first shard is built.
pub(crate) struct PreparedShards {
    pub(crate) sharded: Box<dyn Sharded>,
    /// Findings about the source lists that were read.
    pub(crate) findings: Vec<SourceFinding>,
}

/// Runs a pipeline's code on the snapshots of an entry. In a build without shards, `only` restricts
/// the build to some records of a bucket.
pub(crate) fn build<'a>(
    settings: &RunSettings,
    declaration: &'a Declaration,
    partition: Option<String>,
    entry: &TaskEntry,
    only: Option<(&[SourcePointer], Option<&str>)>,
) -> Result<BuildOutput<'a>> {
    refuse_faults(&settings.declarations, declaration)?;
    let snapshots = Snapshots::look(&settings.home);
    let locate = |snapshot: &Snapshot| -> PathBuf { snapshots.path(snapshot) };
    let pointers = only.map(|(pointers, _)| pointers);
    let mut context = Context::new(
        &settings.declarations,
        declaration,
        partition,
        Inputs::new(entry.inputs.clone()),
        &locate,
        pointers,
    );
    if let Some(bucket) = only.and_then(|(_, bucket)| bucket) {
        context = context.in_bucket(bucket);
    }
    match (
        datasets::builder(declaration)?.build,
        declaration
            .buckets
            .as_ref()
            .filter(|buckets| buckets.count > 1),
    ) {
        (datasets::Build::Whole(build), Some(buckets)) if only.is_none() => {
            Ok(BuildOutput::Buckets(buckets, build))
        }
        (datasets::Build::Whole(build), _) => {
            let tables = guarded(&declaration.pipeline_id, || build(&context))?;
            let (inputs, read) = context.finish();
            Ok(BuildOutput::Tables(tables, inputs, read))
        }
        (datasets::Build::Sharded(build), _) => {
            Ok(BuildOutput::Sharded(prepare(settings, context, build)?))
        }
    }
}

/// Prepares a sharded build if some of its archives are not on this machine.
pub(crate) fn prepare_elsewhere(
    settings: &RunSettings,
    declaration: &Declaration,
    entry: &TaskEntry,
    elsewhere: &Elsewhere,
) -> Result<PreparedShards> {
    refuse_faults(&settings.declarations, declaration)?;
    let snapshots = Snapshots::look(&settings.home);
    let locate = |snapshot: &Snapshot| -> PathBuf { snapshots.path(snapshot) };
    let context = Context::new(
        &settings.declarations,
        declaration,
        None,
        Inputs::new(entry.inputs.clone()),
        &locate,
        None,
    )
    .with_remote_archives(elsewhere);
    match datasets::builder(declaration)?.build {
        datasets::Build::Sharded(build) => prepare(settings, context, build),
        datasets::Build::Whole(_) => Err(Error::config(format!(
            "`{}` is no longer built shard by shard",
            declaration.pipeline_id
        ))),
    }
}

fn prepare(
    settings: &RunSettings,
    context: Context<'_>,
    build: BuildShards,
) -> Result<PreparedShards> {
    let sharded = guarded(&context.declaration.pipeline_id, || build(&context))?;
    let findings = context.finish().1.findings(&settings.declarations);
    Ok(PreparedShards { sharded, findings })
}

/// Returns true if a pipeline is built as a whole, neither in shards nor in buckets.
pub(crate) fn is_whole(declaration: &Declaration) -> Result<bool> {
    let is_split = declaration
        .buckets
        .as_ref()
        .is_some_and(|buckets| buckets.count > 1);
    Ok(!is_split
        && matches!(
            datasets::builder(declaration)?.build,
            datasets::Build::Whole(_)
        ))
}

/// Returns true if a pipeline is built shard by shard.
pub(crate) fn is_sharded(declaration: &Declaration) -> Result<bool> {
    Ok(matches!(
        datasets::builder(declaration)?.build,
        datasets::Build::Sharded(_)
    ))
}

/// Calls a pipeline's code and turns a panic into an error, so that other pipelines still run.
pub(super) fn guarded<T>(pipeline_id: &str, build: impl FnOnce() -> Result<T>) -> Result<T> {
    caught(build).context(|| pipeline_id.to_owned())
}

/// Runs `work` and turns a panic into an error.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(Error::format(format!(
            "the pipeline's code stopped with a defect: {message}"
        )))
    })
}

pub(crate) fn contract<'a>(
    settings: &'a RunSettings,
    dataset_id: &str,
) -> Result<&'a pubdata_core::contract::Contract> {
    settings
        .declarations
        .contracts
        .get(dataset_id)
        .ok_or_else(|| Error::config(format!("`{dataset_id}` has no contract")))
}

/// Tables after validation.
#[derive(Default)]
pub(crate) struct ValidatedTables {
    /// The validated tables, including a quarantine table for each table with quarantined records.
    pub(crate) tables: Vec<BuiltTable>,
    pub(crate) issues: Vec<Issue>,
    /// Pointer numbers of the rows of quarantined records.
    pub(super) quarantined_pointers: Vec<u64>,
    /// Pointer numbers of rows that repeat another row.
    pub(super) repeated: Vec<u64>,
    /// Reasons why nothing may be published; empty if the build may be published.
    pub(crate) blocked: Vec<Refusal>,
    /// Remarks about differences from the last release.
    pub(crate) notes: Vec<String>,
}

/// Returns a dataset's row count in one partition of the last release.
pub(super) type RowsOf<'a> = &'a dyn Fn(&str, &BTreeMap<String, String>) -> Option<u64>;

/// Expectations that the totals of a build must meet.
pub(crate) struct Totals<'a> {
    /// Expectations by dataset.
    pub(crate) expectations: &'a BTreeMap<String, Expectations>,
    pub(super) previous_rows: RowsOf<'a>,
}

/// Returns the expectations for a build, by dataset. Expectations are weaker while the layout is
/// known only from documentation, and omit anything that an operator has accepted.
pub(crate) fn expectations(
    settings: &RunSettings,
    declaration: &Declaration,
    task_id: &str,
    entry: &TaskEntry,
) -> BTreeMap<String, Expectations> {
    let is_unseen = entry.layout_evidence == Some(LayoutEvidence::Documented);
    let expected = |(dataset_id, declared): (&String, &Expectations)| {
        let mut expected = if is_unseen {
            declared.without_file_evidence()
        } else {
            declared.clone()
        };
        let has_override = |rule: &str| settings.has_override(&names(task_id, dataset_id), rule);
        // A sample of a few rows may contain no party, officer or case. Tables that are read from
        // the same file as the first table may therefore be empty.
        let has_one_file = declaration
            .sources
            .iter()
            .filter(|source| source.required)
            .count()
            == 1;
        let is_beside = entry.is_sample == Some(true)
            && has_one_file
            && declaration.produces.first() != Some(dataset_id);
        if has_override(FLOOR) || is_beside {
            expected.min_rows = 0;
        }
        if has_override(QUARANTINED) {
            expected.max_quarantined_percent = 100.0;
        }
        if has_override(WARNED) {
            expected.max_warned_percent.clear();
        }
        (dataset_id.clone(), expected)
    };
    declaration.expect.iter().map(expected).collect()
}

/// Hashes the data, other than its inputs, that a build is judged against and may reuse: the task's
/// parts in the last release, and the acceptances.
pub(crate) fn checked_against(
    settings: &RunSettings,
    previous: Option<&Manifest>,
    task_id: &str,
) -> Digest {
    let entry = previous
        .and_then(|previous| previous.tasks.get(task_id))
        .map(|entry| entry.input_hash);
    let parts = previous
        .into_iter()
        .flat_map(|previous| previous.datasets.values())
        .flat_map(|dataset| &dataset.parts);
    let parts: Vec<(&str, Digest)> = parts
        .filter(|part| part.task_id == task_id)
        .map(|part| (part.path.as_str(), part.sha256))
        .collect();
    Digest::sha256(
        serde_json::json!([entry, parts, settings.accepted])
            .to_string()
            .as_bytes(),
    )
}

/// Validates the tables of a build against their contracts and, if `totals` is given, against the
/// expected totals.
pub(crate) fn check(
    settings: &RunSettings,
    task_id: &str,
    tables: Vec<Table>,
    inputs: &Inputs,
    totals: Option<&Totals<'_>>,
    is_sample: bool,
) -> Result<ValidatedTables> {
    let mut checked = ValidatedTables::default();
    for Table {
        dataset_id,
        partition,
        frame,
        mut issues,
    } in tables
    {
        let waived = apply_override(&mut issues, &dataset_id, |code| {
            settings.has_override(&names(task_id, &dataset_id), code)
        });
        let (frame, quarantined) = without_records(frame, &waived)?;
        checked.quarantined_pointers.extend(quarantined);
        checked.issues.extend(
            issues
                .iter()
                .filter(|issue| issue.severity != Severity::Quarantine)
                .cloned(),
        );
        let candidate = Candidate {
            dataset_id: dataset_id.clone(),
            partition: partition.clone(),
            frame,
            issues,
        };
        let expectations = totals.map(|totals| &totals.expectations[&dataset_id]);
        let previous_rows =
            totals.and_then(|totals| (totals.previous_rows)(&dataset_id, &partition));
        let verdict = validate(
            contract(settings, &dataset_id)?,
            expectations,
            candidate,
            inputs,
            previous_rows,
            is_sample,
        )?;
        checked.blocked.extend(verdict.blocked);
        checked.notes.extend(
            verdict
                .growth
                .into_iter()
                .map(|note| format!("{dataset_id}: {note}")),
        );
        checked
            .quarantined_pointers
            .extend(verdict.quarantined_pointers);
        checked.repeated.extend(verdict.repeated);
        if !verdict.quarantine.is_empty() {
            let contract = contract(settings, QUARANTINE)?;
            let frame = quarantine_table(
                contract,
                &dataset_id,
                &partition,
                &verdict.quarantine,
                inputs,
            )?;
            let mut folders = partition.clone();
            folders.insert("dataset_id".to_owned(), dataset_id.clone());
            checked.tables.push(BuiltTable {
                dataset_id: QUARANTINE.to_owned(),
                partition: folders,
                frame,
                rows: RowValidation::Unchecked,
                report: store::PartReport::default(),
            });
        }
        checked.issues.extend(verdict.quarantine);
        checked.tables.push(BuiltTable {
            dataset_id,
            partition,
            frame: verdict.frame,
            rows: RowValidation::Validated,
            report: verdict.report,
        });
    }
    Ok(checked)
}

/// Applies an acceptance to blocking issues. Record issues become quarantine issues, and issues
/// about the dataset as a whole become warnings. Returns the ids of the quarantined records.
fn apply_override(
    issues: &mut [Issue],
    dataset_id: &str,
    is_overridden: impl Fn(&str) -> bool,
) -> BTreeSet<String> {
    let mut records = BTreeSet::new();
    for issue in issues
        .iter_mut()
        .filter(|issue| issue.severity == Severity::Block && is_overridden(&issue.code))
    {
        let record = issue.record.as_ref().filter(|record| *record != dataset_id);
        issue.severity = if record.is_some() {
            Severity::Quarantine
        } else {
            Severity::Warning
        };
        records.extend(record.cloned());
    }
    records
}

/// Removes records from a table. Also returns the pointer numbers of the removed records.
fn without_records(frame: DataFrame, records: &BTreeSet<String>) -> Result<(DataFrame, Vec<u64>)> {
    if records.is_empty() {
        return Ok((frame, Vec::new()));
    }
    let record_ids = frame.column("record_id")?.str()?;
    let is_kept: BooleanChunked = record_ids
        .iter()
        .map(|record_id| Some(!record_id.is_some_and(|record_id| records.contains(record_id))))
        .collect();
    let quarantined = pointers(&frame.filter(&!&is_kept)?, POINTERS)?;
    Ok((
        frame.filter(&is_kept)?,
        quarantined.into_iter().flatten().flatten().collect(),
    ))
}

/// Maximum number of refusals quoted in a message.
const REFUSALS_SHOWN: usize = 10;

/// Returns the error for a build that must not be published, with a hint on how to accept it after
/// a review.
pub(crate) fn refused(task_id: &str, mut blocked: Vec<Refusal>, issues_file: &Path) -> Error {
    // Threads finish in any order, and the message must not depend on that order.
    blocked.sort_by(|a, b| a.message.cmp(&b.message));
    let rules: BTreeSet<String> = blocked
        .iter()
        .map(|refusal| format!("{task_id}:{}", refusal.rule))
        .collect();
    let rules: Vec<String> = rules.into_iter().collect();
    let mut shown: Vec<String> = blocked
        .iter()
        .take(REFUSALS_SHOWN)
        .map(|refusal| refusal.message.clone())
        .collect();
    if blocked.len() > shown.len() {
        shown.push(format!("and {} more", blocked.len() - shown.len()));
    }
    Error::contract(shown.join("; ")).hint(format!(
        "look at {}, which has every finding; if the data is right nevertheless: `pubdata accept {}`",
        issues_file.display(),
        rules.join(" ")
    ))
}

/// Returns the row count of a task's dataset, in one partition or in total.
pub(crate) fn rows_of(
    manifest: &Manifest,
    dataset_id: &str,
    task_id: &str,
    partition: Option<&BTreeMap<String, String>>,
) -> Option<u64> {
    let parts = &manifest.datasets.get(dataset_id)?.parts;
    let is_own = |part: &&Part| {
        part.task_id == task_id && partition.is_none_or(|partition| part.partition == *partition)
    };
    let own: Vec<u64> = parts.iter().filter(is_own).map(|part| part.rows).collect();
    (!own.is_empty()).then(|| own.iter().sum())
}
