//! Builds a task unit by unit, several units in parallel. Each thread validates and writes a unit
//! before it starts the next one, so only a few units are in memory, whatever the size of the
//! sources. Totals are evaluated across all units, and one failure blocks the task. A task that is
//! built as a whole is a single unit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::build::{Division, caught, expectations, refused, rows_of};
use super::drift;
use super::in_parallel::in_parallel;
use super::source_rows::RowUses;
use super::words;
use crate::observer::SharedObserver;
use crate::reporting::report::SubjectCounts;
use crate::settings::{RunSettings, names};
use pubdata_build::publish::{KeepStatistics, Stage, StagedBuild, StagedPart};
use pubdata_build::validate::{Counts, JudgedTotals, Refusal, SHRINK, example_of, judge_totals};
use pubdata_core::error::{Error, ErrorKind, Result};
use pubdata_core::ids::Digest;
use pubdata_core::issue::{Issue, SourceFinding};
use pubdata_core::pipeline::{Declaration, Expectations};
use pubdata_store::{self as store, Home, Manifest, Part, TaskEntry};

/// Inputs of a build in units.
pub(crate) struct TaskInUnits<'a> {
    pub(crate) settings: &'a RunSettings,
    pub(crate) declaration: &'a Declaration,
    pub(crate) task_id: &'a str,
    pub(crate) entry: &'a TaskEntry,
    pub(crate) is_sample: bool,
    /// The release to compare with and to reuse data from. If there is none, everything is built.
    pub(crate) previous: Option<&'a Manifest>,
    pub(crate) observer: Option<&'a SharedObserver>,
    pub(crate) division: Division,
    /// Hash of the data that the build is judged against ([`checked_against`]). `None` if no later
    /// run resumes the build.
    pub(crate) against: Option<Digest>,
}

/// A build on disk, with the numbers of built and reused subjects.
pub(crate) struct BuiltTask {
    pub(crate) staged: StagedBuild,
    pub(crate) subjects: Option<SubjectCounts>,
}

/// Result of a unit of work, which is a bucket, a shard, or an entire task.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct WorkUnit {
    pub(crate) issues: Vec<Issue>,
    /// Reasons why the unit must not be published; empty if it is staged.
    pub(crate) blocked: Vec<Refusal>,
    /// Number of subjects that were built rather than reused.
    pub(crate) built_subjects: usize,
    /// Keys of the reused subjects in a shard whose other subjects were built.
    #[serde(rename = "carried_subjects")]
    pub(crate) reused_subjects: BTreeSet<String>,
    pub(crate) rows: RowUses,
    pub(crate) findings: Vec<SourceFinding>,
    /// Remarks on the totals of a task that is built as a whole. The totals of other tasks are
    /// judged when all units are complete.
    pub(crate) notes: Vec<String>,
}

/// Results of the units so far.
#[derive(Default)]
struct Progress {
    done: usize,
    blocked: Vec<Refusal>,
    built_subjects: usize,
    rows: RowUses,
    findings: BTreeSet<SourceFinding>,
    failures: Vec<Error>,
    /// Issues of units that wait for an earlier unit. Issues are written in unit order, regardless
    /// of the order in which the units are built.
    waiting: BTreeMap<usize, Vec<Issue>>,
    written: usize,
    /// The first issue of each dataset and code, with its unit. A list with millions of records may
    /// have too many issues to keep all of them.
    examples: BTreeMap<(String, String), (usize, Issue)>,
    notes: Vec<String>,
}

impl Progress {
    fn add(&mut self, number: usize, result: Result<WorkUnit>, issues_file: Option<&Path>) {
        self.done += 1;
        let issues = match result {
            Ok(unit) => {
                self.blocked.extend(unit.blocked);
                self.built_subjects += unit.built_subjects;
                self.rows.add(unit.rows);
                self.findings.extend(unit.findings);
                self.notes.extend(unit.notes);
                unit.issues
            }
            Err(error) => {
                self.failures.push(error);
                Vec::new()
            }
        };
        for issue in &issues {
            let kind = (issue.dataset_id.clone(), issue.code.clone());
            if self
                .examples
                .get(&kind)
                .is_none_or(|(known, _)| number < *known)
            {
                self.examples.insert(kind, (number, issue.clone()));
            }
        }
        self.waiting.insert(number, issues);
        while let Some(issues) = self.waiting.remove(&self.written) {
            self.written += 1;
            if let Some(file) = issues_file.filter(|_| !issues.is_empty()) {
                self.failures
                    .extend(store::append_lines(file, &issues).err());
            }
        }
    }
}

/// Builds the unit with the given number and adds its tables to the stage.
pub(super) type BuildUnit<'b> = &'b (dyn Fn(usize, &Stage<'_>) -> Result<WorkUnit> + Sync);

impl TaskInUnits<'_> {
    /// Returns the release with which the build's columns are compared.
    pub(crate) fn compared(&self) -> Option<&Manifest> {
        drift::to_compare(self.settings, self.previous, self.task_id, self.is_sample)
    }

    /// Opens the stage in `home` for the units' tables.
    pub(super) fn begin(&self, home: &Home) -> Result<Stage<'_>> {
        let stage = Stage::begin(
            home,
            &self.settings.declarations.contracts,
            self.task_id.to_owned(),
            self.entry.clone(),
        )?;
        let stage = stage
            .checked_against(self.against)
            .comparing(KeepStatistics(self.compared().is_some()));
        Ok(stage.observed_by(self.settings.part_observer.as_ref()))
    }

    /// Adds all units to a stage, judges them and counts the subjects that were built. `read`
    /// contains the rows of each source that the units share. Issues are written to `issues_file`.
    pub(crate) fn fill(
        &self,
        stage: Stage<'_>,
        units: usize,
        read: &BTreeMap<String, u64>,
        build: BuildUnit<'_>,
        issues_file: Option<&Path>,
    ) -> Result<(BuiltTask, usize)> {
        let progress = self.in_parallel(units, &|number| build(number, &stage), issues_file);
        let built_subjects = progress.built_subjects;
        tracing::info!(task.id = self.task_id, units, built_subjects, "units built");
        Ok((
            self.conclude(stage, progress, read, issues_file)?,
            built_subjects,
        ))
    }

    /// Works like [`Self::fill`], for units that do not account for all rows. `account` adds the
    /// other rows to the uses that the units found. The caller handles the findings.
    pub(super) fn fill_accounted(
        &self,
        stage: Stage<'_>,
        units: usize,
        read: &BTreeMap<String, u64>,
        build: BuildUnit<'_>,
        account: &dyn Fn(RowUses) -> Result<RowUses>,
    ) -> Result<BuiltTask> {
        let mut progress = self.in_parallel(units, &|number| build(number, &stage), None);
        if progress.failures.is_empty() {
            progress.rows = account(std::mem::take(&mut progress.rows))?;
        }
        self.conclude(stage, progress, read, None)
    }

    /// Concludes a task whose only unit is staged and already judged. `read` contains the rows of
    /// each source. Issues are written to `issues_file`.
    pub(crate) fn conclude_whole(
        &self,
        stage: Stage<'_>,
        unit: WorkUnit,
        read: &BTreeMap<String, u64>,
        issues_file: Option<&Path>,
    ) -> Result<BuiltTask> {
        let mut progress = Progress::default();
        progress.add(0, Ok(unit), issues_file);
        self.conclude(stage, progress, read, issues_file)
    }

    /// Writes the description of a build that may be published. The build must be judged first,
    /// because the next run resumes a finished build without checking it again.
    fn conclude(
        &self,
        stage: Stage<'_>,
        progress: Progress,
        read: &BTreeMap<String, u64>,
        issues_file: Option<&Path>,
    ) -> Result<BuiltTask> {
        let Progress {
            mut blocked,
            rows,
            findings,
            failures,
            examples,
            mut notes,
            ..
        } = progress;
        if let Some(failure) = first_failure(failures) {
            return Err(failure);
        }
        if self.division != Division::Whole {
            let examples: Vec<Issue> = examples.into_values().map(|(_, issue)| issue).collect();
            let parts = stage.parts();
            let (by_totals, of_totals) = self.judge(&parts, &examples);
            blocked.extend(by_totals.into_iter().chain(self.grown(&parts)));
            notes.extend(of_totals);
            if blocked.is_empty() {
                blocked = self.judge_drift(&stage)?;
            }
        }
        if !blocked.is_empty() {
            return Err(refused(
                self.task_id,
                blocked,
                issues_file.unwrap_or(Path::new("issues.jsonl")),
            ));
        }
        Ok(BuiltTask {
            staged: stage.finish(rows.account(self.declaration, read), findings, notes)?,
            subjects: None,
        })
    }

    /// Compares the staged build with the last release.
    pub(super) fn judge_drift(&self, stage: &Stage<'_>) -> Result<Vec<Refusal>> {
        let Some(previous) = self.compared() else {
            return Ok(Vec::new());
        };
        // Shards were compared with their earlier parts during the build.
        if self.division != Division::Shards {
            drift::read_before(self.settings, previous, self.task_id, stage)?;
        }
        let builds = drift::Builds {
            now: self.entry,
            before: self
                .previous
                .and_then(|previous| previous.tasks.get(self.task_id)),
        };
        Ok(drift::judge(
            self.settings,
            self.declaration,
            self.task_id,
            stage,
            builds,
        ))
    }

    fn in_parallel(
        &self,
        units: usize,
        build: &(dyn Fn(usize) -> Result<WorkUnit> + Sync),
        issues_file: Option<&Path>,
    ) -> Progress {
        let progress = Mutex::new(Progress::default());
        in_parallel(units, &|number| {
            let result = caught(|| build(number));
            let mut progress = progress.lock().expect("nothing panics while holding it");
            progress.add(number, result, issues_file);
            if let Some(observer) = self.observer {
                observer.on_shard_built(self.task_id, progress.done, units);
            }
        });
        progress
            .into_inner()
            .expect("nothing panics while holding it")
    }

    /// Refuses columns whose share of unknown terms has grown too much since the last release.
    pub(super) fn grown(&self, parts: &[StagedPart]) -> Vec<Refusal> {
        let before = words::Before {
            previous: self.previous,
            is_sample: self.is_sample,
        };
        words::grown(self.settings, self.declaration, self.task_id, parts, before)
    }

    /// Judges each dataset by its totals across all units.
    fn judge(&self, parts: &[StagedPart], issues: &[Issue]) -> (Vec<Refusal>, Vec<String>) {
        let (mut blocked, mut notes) = (Vec::new(), Vec::new());
        for (dataset_id, expected) in
            &expectations(self.settings, self.declaration, self.task_id, self.entry)
        {
            let of_dataset = parts
                .iter()
                .filter(|staged| staged.dataset_id == *dataset_id)
                .map(|staged| &staged.part);
            let totals = self.judge_parts(dataset_id, expected, of_dataset, None, issues);
            blocked.extend(totals.blocked);
            notes.extend(
                totals
                    .notes
                    .into_iter()
                    .chain(totals.growth)
                    .map(|note| format!("{dataset_id}: {note}")),
            );
        }
        (blocked, notes)
    }

    /// Judges each partition of each dataset by the same rules as a task that is built as a whole.
    pub(crate) fn judge_partitions(&self, parts: &[StagedPart], issues: &[Issue]) -> Vec<Refusal> {
        let expected = expectations(self.settings, self.declaration, self.task_id, self.entry);
        let of_part = |staged: &StagedPart| {
            let part = &staged.part;
            Some(
                self.judge_parts(
                    &staged.dataset_id,
                    expected.get(&staged.dataset_id)?,
                    std::iter::once(part),
                    Some(&part.partition),
                    issues,
                )
                .blocked,
            )
        };
        parts.iter().filter_map(of_part).flatten().collect()
    }

    fn judge_parts<'p>(
        &self,
        dataset_id: &str,
        expected: &Expectations,
        parts: impl Iterator<Item = &'p Part>,
        partition: Option<&BTreeMap<String, String>>,
        issues: &[Issue],
    ) -> JudgedTotals {
        let mut rows = 0;
        let (mut quarantined, mut warnings) = (BTreeMap::new(), BTreeMap::new());
        for part in parts {
            rows += part.rows;
            for (totals, counts) in [
                (&mut quarantined, &part.report.quarantined),
                (&mut warnings, &part.report.warnings),
            ] {
                counts
                    .iter()
                    .for_each(|(code, count)| *totals.entry(code.clone()).or_insert(0) += count);
            }
        }
        let is_accepted = self
            .settings
            .has_override(&names(self.task_id, dataset_id), SHRINK);
        let previous_rows = self
            .previous
            .filter(|_| !is_accepted)
            .and_then(|manifest| rows_of(manifest, dataset_id, self.task_id, partition));
        let example = |rule: &str| {
            issues
                .iter()
                .find(|issue| issue.dataset_id == dataset_id && issue.code == rule)
                .map(example_of)
        };
        judge_totals(
            expected,
            dataset_id,
            &Counts {
                rows,
                quarantined: &quarantined,
                warnings: &warnings,
            },
            example,
            previous_rows,
            self.is_sample,
        )
    }
}

/// Sorts the issues of a unit into the order in which they are written. The order does not depend
/// on the order in which the unit's tables were built.
pub(super) fn in_order(mut issues: Vec<Issue>) -> Vec<Issue> {
    issues.sort_by(|a, b| {
        (&a.dataset_id, &a.record, &a.code, &a.detail).cmp(&(
            &b.dataset_id,
            &b.record,
            &b.code,
            &b.detail,
        ))
    });
    issues
}

/// Returns the most relevant failure. Errors of the local disk and settings precede errors of a
/// source. If several members are damaged, the message names the first and counts the others.
fn first_failure(mut failures: Vec<Error>) -> Option<Error> {
    failures.sort_by_key(|error| {
        (
            !matches!(error.kind(), ErrorKind::Store | ErrorKind::Config),
            error.to_string(),
        )
    });
    let others = failures.len().saturating_sub(1);
    let first = failures.into_iter().next()?;
    Some(if others > 0 {
        first.context(format!(
            "{others} more units of the build failed; the first"
        ))
    } else {
        first
    })
}
