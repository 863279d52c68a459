//! Builds the shards of a pipeline side by side. Each is validated and written before the next is begun, so that memory holds a few shards
//! whatever the archive's size. What has not changed since the last release is carried over: whole shards as files, single subjects as
//! rows. Either way the parts are the bytes that a build from nothing makes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use polars::prelude::DataFrame;

use super::execute::{Checked, QUARANTINE, check};
use super::report::SubjectCounts;
use super::{RunSettings, SharedObserver};
use crate::datasets::{Shard, Sharded, Subject, Table};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::ids::Digest;
use crate::issue::Issue;
use crate::pipeline::Declaration;
use crate::provenance::Inputs;
use crate::publish::{self, Lineage, Stage, StagedBuild, StagedPart};
use crate::store::{self, BUCKET, Home, Manifest, Part, TaskEntry};
use crate::validate::{Counts, example_of, judge_totals};

/// What a sharded build is given.
pub(super) struct ShardedTask<'a> {
    pub(super) settings: &'a RunSettings,
    pub(super) declaration: &'a Declaration,
    pub(super) task_id: &'a str,
    pub(super) entry: &'a TaskEntry,
    pub(super) is_sample: bool,
    /// The release to carry over from; none to build everything.
    pub(super) previous: Option<&'a Manifest>,
    pub(super) observer: Option<&'a SharedObserver>,
}

/// A sharded build on disk, and what is to be told about it.
pub(super) struct BuiltShards {
    pub(super) staged: StagedBuild,
    /// Ceilings that were passed.
    pub(super) notes: Vec<String>,
    pub(super) subjects: SubjectCounts,
}

/// What the shards have come to so far.
#[derive(Default)]
struct Progress {
    done: usize,
    issues: Vec<Issue>,
    blocked: Vec<String>,
    failures: Vec<Error>,
    /// Subjects that were built, as opposed to carried over.
    built_subjects: usize,
}

impl Progress {
    fn add(&mut self, result: Result<ShardOutcome>) {
        self.done += 1;
        match result {
            Ok(outcome) => {
                self.issues.extend(outcome.issues);
                self.blocked.extend(outcome.blocked);
                self.built_subjects += outcome.built_subjects;
            }
            Err(error) => self.failures.push(error),
        }
    }
}

/// A part that is not built with its shard but known from the last release.
struct Known<'a> {
    dataset_id: &'a str,
    schema_version: &'a str,
    part: &'a Part,
}

impl ShardedTask<'_> {
    /// Builds what has changed, carries over the rest, and stages all of it in `home`. Findings go to `issues_file`.
    pub(super) fn stage(&self, home: &Home, sharded: &dyn Sharded, issues_file: Option<&std::path::Path>) -> Result<BuiltShards> {
        let contracts = &self.settings.declarations.contracts;
        let stage = Stage::begin(home, contracts, self.task_id.to_owned(), self.entry.clone())?;
        let known = self.known_parts();
        let runtime = tokio::runtime::Handle::current();
        let progress = Mutex::new(Progress::default());
        let shards = sharded.shards();
        let next = AtomicUsize::new(0);
        // Threads of their own: a pool's thread that waits inside one shard would begin another on the same stack.
        std::thread::scope(|scope| {
            for _ in 0..rayon::current_num_threads() {
                scope.spawn(|| {
                    // Shards are what runs side by side: inside one, handing small columns to other threads costs more than it gains.
                    let _alone = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
                    while let Some(shard) = shards.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let known = known.get(shard.key.as_str()).map_or(&[][..], Vec::as_slice);
                        let result = self.build_shard(sharded, shard, known, &stage, &runtime);
                        let mut progress = progress.lock().expect("nothing panics while holding it");
                        progress.add(result);
                        if let Some(observer) = self.observer {
                            observer.shard_built(self.task_id, progress.done, shards.len());
                        }
                    }
                });
            }
        });
        let mut progress = progress.into_inner().expect("nothing panics while holding it");
        tracing::info!(task.id = self.task_id, shards = shards.len(), built_subjects = progress.built_subjects, "shards built");
        // Threads finish in any order; what people read does not depend on it.
        progress.issues.sort_by(|a, b| (&a.dataset_id, &a.record, &a.code, &a.detail).cmp(&(&b.dataset_id, &b.record, &b.code, &b.detail)));
        progress.blocked.sort();
        if let Some(file) = issues_file
            && !progress.issues.is_empty()
        {
            store::append_lines(file, &progress.issues)?;
        }
        if let Some(failure) = first_failure(progress.failures) {
            return Err(failure);
        }
        // Judged before it is finished: the next run takes up what is finished without another look.
        let (blocked, notes) = self.judge(&stage.parts(), &progress.issues);
        progress.blocked.extend(blocked);
        if progress.blocked.is_empty() {
            let staged = stage.finish()?;
            let subjects: usize = shards.iter().map(|shard| shard.subjects.len()).sum();
            let built = progress.built_subjects;
            return Ok(BuiltShards { staged, notes, subjects: SubjectCounts { built, carried: subjects - built } });
        }
        let count = progress.blocked.len();
        let mut shown: Vec<String> = progress.blocked.into_iter().take(10).collect();
        if count > shown.len() {
            shown.push(format!("and {} more", count - shown.len()));
        }
        let hint = issues_file.map_or_else(String::new, |file| format!("every finding is in {}", file.display()));
        Err(Error::contract(shown.join("; ")).hint(hint))
    }

    /// The parts of the last release that this task made, by shard; none when what decides their bytes besides the sources has changed.
    fn known_parts(&self) -> HashMap<&str, Vec<Known<'_>>> {
        let mut known: HashMap<&str, Vec<Known<'_>>> = HashMap::new();
        let Some(previous) = self.previous else { return known };
        let Some(before) = previous.tasks.get(self.task_id) else { return known };
        let is_same = before.declaration_hash == self.entry.declaration_hash
            && before.contracts_hash == self.entry.contracts_hash
            && before.code_version == self.entry.code_version
            && previous.is_sample == self.is_sample;
        if !is_same {
            return known;
        }
        for (dataset_id, dataset) in &previous.datasets {
            for part in dataset.parts.iter().filter(|part| part.task_id == self.task_id) {
                if let Some(bucket) = part.partition.get(BUCKET) {
                    known.entry(bucket).or_default().push(Known { dataset_id, schema_version: &dataset.schema_version, part });
                }
            }
        }
        known
    }

    fn build_shard(
        &self,
        sharded: &dyn Sharded,
        shard: &Shard,
        known: &[Known<'_>],
        stage: &Stage<'_>,
        runtime: &tokio::runtime::Handle,
    ) -> Result<ShardOutcome> {
        let fingerprint = fingerprint(shard);
        let published = || known.iter().filter(|known| known.dataset_id != QUARANTINE);
        if published().count() > 0 && published().all(|known| known.part.fingerprint == Some(fingerprint)) {
            known.iter().try_for_each(|known| stage.carry(known.dataset_id, known.schema_version, known.part))?;
            return Ok(ShardOutcome::default());
        }
        let mut before = BTreeMap::new();
        for known in published() {
            let bytes = runtime.block_on(self.settings.releases.part(&self.previous.expect("parts are known from it").release_id, known.part))?;
            publish::verify_part(known.part, &bytes)?;
            before.insert(known.dataset_id, bytes);
        }
        let carried = carried_subjects(shard, &before)?;
        let changed: Vec<&Subject> = shard.subjects.iter().filter(|subject| !carried.contains(subject.key.as_str())).collect();
        let mut inputs = Inputs::new(self.entry.inputs.clone());
        let place = || format!("{} bucket {}", self.declaration.pipeline_id, shard.key);
        let mut tables = super::execute::guarded(&self.declaration.pipeline_id, || sharded.build(shard, &changed, &mut inputs))?;
        if !carried.is_empty() {
            for table in &mut tables {
                let bytes = before.get(table.dataset_id.as_str()).ok_or_else(|| Error::store(format!("{}: no part to carry from", table.dataset_id)))?;
                let batch = publish::rows_of_subjects(bytes.clone(), |subject| carried.contains(subject))?;
                let contract = super::execute::contract(self.settings, &table.dataset_id)?;
                let rows = publish::frame(contract, &batch, &mut inputs).context(place)?;
                table.frame = appended(std::mem::take(&mut table.frame), rows).context(place)?;
            }
        }
        self.finish_shard(shard, fingerprint, changed.len(), tables, &inputs, stage)
    }

    /// Validates and writes the tables of a shard.
    fn finish_shard(
        &self,
        shard: &Shard,
        fingerprint: Digest,
        built_subjects: usize,
        tables: Vec<Table>,
        inputs: &Inputs,
        stage: &Stage<'_>,
    ) -> Result<ShardOutcome> {
        let Checked { tables, issues, blocked } = check(self.settings, self.declaration, tables, inputs, None, self.is_sample)?;
        // What a subject's findings were is not in its rows: one with findings is built again when its shard is.
        let restless: BTreeSet<&str> = issues.iter().filter_map(|issue| issue.record.as_deref()?.split(':').nth(1)).collect();
        let line = |subject: &Subject| match restless.contains(subject.key.as_str()) {
            true => format!("{} -\n", subject.key),
            false => format!("{} {}\n", subject.key, subject.fingerprint),
        };
        let lineage = Lineage { fingerprint, subjects: shard.subjects.iter().map(line).collect() };
        if blocked.is_empty() {
            tables.into_iter().try_for_each(|table| stage.add(table, inputs, Some(&lineage)))?;
        }
        Ok(ShardOutcome { issues, blocked, built_subjects })
    }

    /// Judges each dataset by its totals over all shards.
    fn judge(&self, parts: &[StagedPart], issues: &[Issue]) -> (Vec<String>, Vec<String>) {
        let (mut blocked, mut notes) = (Vec::new(), Vec::new());
        for (dataset_id, expectations) in &self.declaration.expect {
            let mut rows = 0;
            let (mut quarantined, mut warnings) = (BTreeMap::new(), BTreeMap::new());
            for part in parts.iter().filter(|staged| staged.dataset_id == *dataset_id).map(|staged| &staged.part) {
                rows += part.rows;
                for (totals, counts) in [(&mut quarantined, &part.report.quarantined), (&mut warnings, &part.report.warnings)] {
                    counts.iter().for_each(|(code, count)| *totals.entry(code.clone()).or_insert(0) += count);
                }
            }
            let is_accepted = self.settings.accepted.iter().any(|accepted| accepted == dataset_id);
            let previous_rows = self.previous.filter(|_| !is_accepted).and_then(|manifest| super::execute::rows_of(manifest, dataset_id, self.task_id, None));
            let example = |rule: &str| issues.iter().find(|issue| issue.dataset_id == *dataset_id && issue.code == rule).map(example_of);
            let totals = judge_totals(
                expectations,
                dataset_id,
                &Counts { rows, quarantined: &quarantined, warnings: &warnings },
                example,
                previous_rows,
                self.is_sample,
            );
            blocked.extend(totals.blocked);
            notes.extend(totals.notes.into_iter().map(|note| format!("{dataset_id}: {note}")));
        }
        (blocked, notes)
    }
}

#[derive(Default)]
struct ShardOutcome {
    issues: Vec<Issue>,
    blocked: Vec<String>,
    built_subjects: usize,
}

/// Of a shard's subjects and their fingerprints.
fn fingerprint(shard: &Shard) -> Digest {
    let lines: String = shard.subjects.iter().map(|subject| format!("{} {}\n", subject.key, subject.fingerprint)).collect();
    Digest::of(lines.as_bytes())
}

/// The subjects whose fingerprints in every part of before are those of now. No part, no subject.
fn carried_subjects(shard: &Shard, before: &BTreeMap<&str, bytes::Bytes>) -> Result<BTreeSet<String>> {
    let mut carried: Option<BTreeSet<String>> = None;
    for bytes in before.values() {
        let lines = publish::subjects_of(bytes)?.unwrap_or_default();
        let known: HashMap<&str, &str> = lines.lines().filter_map(|line| line.split_once(' ')).collect();
        let is_same = |subject: &&Subject| known.get(subject.key.as_str()).is_some_and(|known| *known == subject.fingerprint.to_string());
        let same: BTreeSet<String> = shard.subjects.iter().filter(is_same).map(|subject| subject.key.clone()).collect();
        carried = Some(carried.map_or(same.clone(), |carried| carried.intersection(&same).cloned().collect()));
    }
    Ok(carried.unwrap_or_default())
}

/// Puts carried rows under new ones; validation sorts them.
fn appended(new: DataFrame, carried: DataFrame) -> Result<DataFrame> {
    let mut new = new;
    if new.column("warnings").is_err() {
        let none = polars::prelude::Column::new_scalar("warnings".into(), polars::prelude::Scalar::from(polars::prelude::PlSmallStr::EMPTY), new.height());
        new.with_column(none)?;
    }
    let names = new.get_column_names_owned();
    Ok(new.vstack(&carried.select(names)?)?)
}

/// Our own disk and settings count before what a source holds; of several damaged members the first is named, with their number.
fn first_failure(mut failures: Vec<Error>) -> Option<Error> {
    failures.sort_by_key(|error| (!matches!(error.kind(), ErrorKind::Store | ErrorKind::Config), error.to_string()));
    let others = failures.len().saturating_sub(1);
    let first = failures.into_iter().next()?;
    Some(if others > 0 { first.context(format!("{others} more shards failed; the first")) } else { first })
}

/// Builds some subjects of one shard for a replay: nothing is carried, nothing is written.
pub(super) fn build_subjects(sharded: &dyn Sharded, is_wanted: impl Fn(&Subject) -> bool, entry: &TaskEntry) -> Result<(Vec<Table>, Inputs)> {
    let mut inputs = Inputs::new(entry.inputs.clone());
    let found = sharded.shards().iter().find_map(|shard| {
        let subjects: Vec<&Subject> = shard.subjects.iter().filter(|subject| is_wanted(subject)).collect();
        (!subjects.is_empty()).then_some((shard, subjects))
    });
    let Some((shard, subjects)) = found else { return Ok((Vec::new(), inputs)) };
    let tables = sharded.build(shard, &subjects, &mut inputs)?;
    Ok((tables, inputs))
}
