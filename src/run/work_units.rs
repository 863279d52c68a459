//! Builds a task unit by unit, several side by side. Each is validated and written before the next is begun, so that memory holds a few
//! units whatever the size of the sources. Totals are judged over all of them; one that fails blocks the task.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::build::{caught, expectations, names, refused, rows_of};
use super::report::SubjectCounts;
use super::side_by_side::side_by_side;
use super::source_rows::RowUses;
use super::{RunSettings, SharedObserver, drift, words};
use pubdata_build::publish::{IsCompared, Stage, StagedBuild, StagedPart};
use pubdata_build::validate::{Counts, JudgedTotals, Refusal, SHRINK, example_of, judge_totals};
use pubdata_core::error::{Error, ErrorKind, Result};
use pubdata_core::ids::Digest;
use pubdata_core::issue::{Issue, SourceFinding};
use pubdata_core::pipeline::{Declaration, Expectations};
use pubdata_store::{self as store, Home, Manifest, Part, TaskEntry};

/// What a build in units is given.
pub(super) struct TaskInUnits<'a> {
    pub(super) settings: &'a RunSettings,
    pub(super) declaration: &'a Declaration,
    pub(super) task_id: &'a str,
    pub(super) entry: &'a TaskEntry,
    pub(super) is_sample: bool,
    /// The release to compare with, and to carry over from; none to build everything.
    pub(super) previous: Option<&'a Manifest>,
    pub(super) observer: Option<&'a SharedObserver>,
    /// Whether its units are shards, of which some are carried over.
    pub(super) is_sharded: bool,
    /// What it is judged against ([`judged_against`]); none where no later run takes it up.
    pub(super) against: Option<Digest>,
}

/// A build on disk, and how many of its subjects were built for it.
pub(super) struct BuiltTask {
    pub(super) staged: StagedBuild,
    pub(super) subjects: Option<SubjectCounts>,
}

/// What became of a unit of work: a bucket, or a shard.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct WorkUnit {
    pub(super) issues: Vec<Issue>,
    /// Why it must not be published; empty when it is staged.
    pub(super) blocked: Vec<Refusal>,
    /// Subjects that were built, as opposed to carried over.
    pub(super) built_subjects: usize,
    /// Keys of those that were carried over, where the rest of their shard was built.
    pub(super) carried_subjects: BTreeSet<String>,
    pub(super) rows: RowUses,
    pub(super) findings: Vec<SourceFinding>,
    /// On totals, of a task that is built at once: those of others are judged when all their units are there.
    pub(super) notes: Vec<String>,
}

/// What the units have come to so far.
#[derive(Default)]
struct Progress {
    done: usize,
    blocked: Vec<Refusal>,
    built_subjects: usize,
    rows: RowUses,
    findings: BTreeSet<SourceFinding>,
    failures: Vec<Error>,
    /// Findings of units that wait for an earlier one: they are written in the order of the units, whichever is built first.
    waiting: BTreeMap<usize, Vec<Issue>>,
    written: usize,
    /// The first finding of each dataset and code, and its unit. A list of millions has too many to keep them all.
    examples: BTreeMap<(String, String), (usize, Issue)>,
}

impl Progress {
    fn add(&mut self, number: usize, result: Result<WorkUnit>, issues_file: Option<&Path>) {
        self.done += 1;
        let mut issues = match result {
            Ok(unit) => {
                self.blocked.extend(unit.blocked);
                self.built_subjects += unit.built_subjects;
                self.rows.add(unit.rows);
                self.findings.extend(unit.findings);
                unit.issues
            }
            Err(error) => {
                self.failures.push(error);
                Vec::new()
            }
        };
        issues.sort_by(|a, b| (&a.dataset_id, &a.record, &a.code, &a.detail).cmp(&(&b.dataset_id, &b.record, &b.code, &b.detail)));
        for issue in &issues {
            let kind = (issue.dataset_id.clone(), issue.code.clone());
            if self.examples.get(&kind).is_none_or(|(known, _)| number < *known) {
                self.examples.insert(kind, (number, issue.clone()));
            }
        }
        self.waiting.insert(number, issues);
        while let Some(issues) = self.waiting.remove(&self.written) {
            self.written += 1;
            if let Some(file) = issues_file.filter(|_| !issues.is_empty()) {
                self.failures.extend(store::append_lines(file, &issues).err());
            }
        }
    }
}

/// Builds the unit of a number and adds its tables to the stage.
pub(super) type BuildUnit<'b> = &'b (dyn Fn(usize, &Stage<'_>) -> Result<WorkUnit> + Sync);

impl TaskInUnits<'_> {
    /// The release that the build's columns are compared with.
    pub(super) fn compared(&self) -> Option<&Manifest> {
        drift::to_compare(self.settings, self.previous, self.task_id, self.is_sample)
    }

    /// Builds all units, stages them in `home`, and says how many subjects were built. `read` are the rows of each source that the units
    /// share. Findings go to `issues_file`.
    pub(super) fn stage(
        &self,
        home: &Home,
        units: usize,
        read: &BTreeMap<String, u64>,
        build: BuildUnit<'_>,
        issues_file: Option<&Path>,
    ) -> Result<(BuiltTask, usize)> {
        let stage = Stage::begin(home, &self.settings.declarations.contracts, self.task_id.to_owned(), self.entry.clone())?;
        let stage = stage.judged_against(self.against);
        self.fill(stage.observed_by(self.settings.part_observer.as_ref()), units, read, build, issues_file)
    }

    /// Has all units added to a stage, and judges them.
    pub(super) fn fill(
        &self,
        stage: Stage<'_>,
        units: usize,
        read: &BTreeMap<String, u64>,
        build: BuildUnit<'_>,
        issues_file: Option<&Path>,
    ) -> Result<(BuiltTask, usize)> {
        let compared = self.compared();
        let stage = stage.comparing(IsCompared(compared.is_some()));
        let Progress { mut blocked, built_subjects, rows, findings, failures, examples, .. } =
            self.side_by_side(units, &|number| build(number, &stage), issues_file);
        tracing::info!(task.id = self.task_id, units, built_subjects, "units built");
        if let Some(failure) = first_failure(failures) {
            return Err(failure);
        }
        // Judged before it is finished: the next run takes up what is finished without another look.
        let examples: Vec<Issue> = examples.into_values().map(|(_, issue)| issue).collect();
        let parts = stage.parts();
        let (by_totals, notes) = self.judge(&parts, &examples);
        blocked.extend(by_totals);
        blocked.extend(self.grown(&parts));
        if let Some(previous) = compared.filter(|_| blocked.is_empty()) {
            // Shards have told what they were while they were built.
            if !self.is_sharded {
                drift::read_before(self.settings, previous, self.task_id, &stage)?;
            }
            blocked.extend(drift::judge(self.settings, self.declaration, self.task_id, &stage, self.builds()));
        }
        if blocked.is_empty() {
            let staged = stage.finish(rows.account(self.declaration, read), findings, notes)?;
            return Ok((BuiltTask { staged, subjects: None }, built_subjects));
        }
        Err(refused(self.task_id, blocked, issues_file.unwrap_or(Path::new("issues.jsonl"))))
    }

    fn side_by_side(&self, units: usize, build: &(dyn Fn(usize) -> Result<WorkUnit> + Sync), issues_file: Option<&Path>) -> Progress {
        let progress = Mutex::new(Progress::default());
        side_by_side(units, &|number| {
            let result = caught(|| build(number));
            let mut progress = progress.lock().expect("nothing panics while holding it");
            progress.add(number, result, issues_file);
            if let Some(observer) = self.observer {
                observer.shard_built(self.task_id, progress.done, units);
            }
        });
        progress.into_inner().expect("nothing panics while holding it")
    }

    /// The build, and the one that the last release has.
    pub(super) fn builds(&self) -> drift::Builds<'_> {
        drift::Builds { now: self.entry, before: self.previous.and_then(|previous| previous.tasks.get(self.task_id)) }
    }

    /// Of which columns too many words have no known meaning against the last release.
    pub(super) fn grown(&self, parts: &[StagedPart]) -> Vec<Refusal> {
        let before = words::Before { previous: self.previous, is_sample: self.is_sample };
        words::grown(self.settings, self.declaration, self.task_id, parts, before)
    }

    /// Judges each dataset by its totals over all units.
    fn judge(&self, parts: &[StagedPart], issues: &[Issue]) -> (Vec<Refusal>, Vec<String>) {
        let (mut blocked, mut notes) = (Vec::new(), Vec::new());
        for (dataset_id, expected) in &expectations(self.settings, self.declaration, self.task_id, self.entry) {
            let of_dataset = parts.iter().filter(|staged| staged.dataset_id == *dataset_id).map(|staged| &staged.part);
            let totals = self.judge_parts(dataset_id, expected, of_dataset, None, issues);
            blocked.extend(totals.blocked);
            notes.extend(totals.notes.into_iter().chain(totals.growth).map(|note| format!("{dataset_id}: {note}")));
        }
        (blocked, notes)
    }

    /// Judges each partition of each dataset, as a build that is made at once is judged.
    pub(super) fn judge_partitions(&self, parts: &[StagedPart], issues: &[Issue]) -> Vec<Refusal> {
        let expected = expectations(self.settings, self.declaration, self.task_id, self.entry);
        let of_part = |staged: &StagedPart| {
            let part = &staged.part;
            Some(self.judge_parts(&staged.dataset_id, expected.get(&staged.dataset_id)?, std::iter::once(part), Some(&part.partition), issues).blocked)
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
            for (totals, counts) in [(&mut quarantined, &part.report.quarantined), (&mut warnings, &part.report.warnings)] {
                counts.iter().for_each(|(code, count)| *totals.entry(code.clone()).or_insert(0) += count);
            }
        }
        let is_accepted = self.settings.waives(&names(self.task_id, dataset_id), SHRINK);
        let previous_rows = self.previous.filter(|_| !is_accepted).and_then(|manifest| rows_of(manifest, dataset_id, self.task_id, partition));
        let example = |rule: &str| issues.iter().find(|issue| issue.dataset_id == dataset_id && issue.code == rule).map(example_of);
        judge_totals(expected, dataset_id, &Counts { rows, quarantined: &quarantined, warnings: &warnings }, example, previous_rows, self.is_sample)
    }
}

/// Our own disk and settings count before what a source holds; of several damaged members the first is named, with their number.
fn first_failure(mut failures: Vec<Error>) -> Option<Error> {
    failures.sort_by_key(|error| (!matches!(error.kind(), ErrorKind::Store | ErrorKind::Config), error.to_string()));
    let others = failures.len().saturating_sub(1);
    let first = failures.into_iter().next()?;
    Some(if others > 0 { first.context(format!("{others} more units of the build failed; the first")) } else { first })
}
