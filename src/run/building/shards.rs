//! Builds the shards of a pipeline, each as a unit of the task. Reuses unchanged data of the last
//! release: entire shards as files, individual subjects as rows. In both cases, the parts have the
//! same bytes as in a build from scratch.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use bytes::Bytes;

use super::build::{PreparedShards, ValidatedTables, check, guarded};
use super::drift;
use super::units::{BuiltTask, TaskInUnits, WorkUnit, in_order};
use crate::reporting::report::SubjectCounts;
use crate::settings::QUARANTINE;
use pubdata_build::datasets::{Shard, Sharded, SourceArchive, Subject, Table};
use pubdata_build::decode::Member;
use pubdata_build::publish::{self, Lineage, PreviousPart, ReusedRows, Stage};
use pubdata_build::validate::MAX_RECORD;
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::ids::Digest;
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::provenance::Inputs;
use pubdata_store::{BUCKET, Home, Manifest, Part, TaskEntry};

/// A part of the last release that is reused together with its shard.
pub(crate) struct Known<'a> {
    dataset_id: &'a str,
    schema_version: &'a str,
    part: &'a Part,
}

/// The parts of one shard in the last release.
#[derive(Default)]
pub(crate) struct KnownShard<'a>(Vec<Known<'a>>);

impl<'a> KnownShard<'a> {
    fn published(&self) -> impl Iterator<Item = &Known<'a>> {
        self.0.iter().filter(|known| known.dataset_id != QUARANTINE)
    }

    /// Returns true if all parts have the given fingerprint, which means that a build would produce
    /// the same parts.
    pub(crate) fn is_of(&self, fingerprint: Digest) -> bool {
        self.published().count() > 0
            && self
                .published()
                .all(|known| known.part.fingerprint == Some(fingerprint))
    }

    /// Adds all parts to the stage.
    ///
    /// # Errors
    /// `Contract` if the build already has one of the parts.
    pub(crate) fn reuse(&self, stage: &Stage<'_>) -> Result<()> {
        self.0
            .iter()
            .try_for_each(|known| stage.reuse(known.dataset_id, known.schema_version, known.part))
    }
}

/// Parts of a shard that were read from the last release, by dataset.
#[derive(Default)]
pub(crate) struct Before<'a> {
    /// The parts' bytes, checked against the manifest.
    parts: BTreeMap<&'a str, Bytes>,
    /// Reused rows of the parts, if any.
    kept: BTreeMap<String, ReusedRows>,
}

impl TaskInUnits<'_> {
    /// Builds changed data, reuses the rest, and stages everything in `home`. Issues are written to
    /// `issues_file`.
    pub(super) fn stage_shards(
        &self,
        home: &Home,
        sharded: &PreparedShards,
        issues_file: Option<&Path>,
    ) -> Result<BuiltTask> {
        let PreparedShards { sharded, findings } = sharded;
        let sharded = &**sharded;
        let known = self.known_parts();
        let runtime = tokio::runtime::Handle::current();
        let shards = sharded.shards();
        let build = |number: usize, stage: &Stage<'_>| {
            let shard = &shards[number];
            let mut unit = self.build_shard(
                sharded,
                shard,
                known
                    .get(shard.key.as_str())
                    .unwrap_or(&KnownShard::default()),
                stage,
                &runtime,
            )?;
            if number == 0 {
                unit.findings.clone_from(findings);
            }
            Ok(unit)
        };
        let (mut built, built_subjects) = self.fill(
            self.begin(home)?,
            shards.len(),
            &BTreeMap::new(),
            &build,
            issues_file,
        )?;
        let subjects: usize = shards.iter().map(|shard| shard.subjects.len()).sum();
        built.subjects = Some(SubjectCounts {
            built: built_subjects,
            reused: subjects - built_subjects,
        });
        Ok(built)
    }

    /// Returns the last release and its build of this task. Returns `None` if anything that
    /// determines the bytes of the parts, other than the sources, has changed.
    pub(super) fn reusable(&self) -> Option<(&Manifest, &TaskEntry)> {
        let previous = self.previous?;
        let before = previous.tasks.get(self.task_id)?;
        let is_same = before.declaration_hash == self.entry.declaration_hash
            && before.contracts_hash == self.entry.contracts_hash
            && before.code_version == self.entry.code_version
            && previous.is_sample_build(before) == self.is_sample;
        is_same.then_some((previous, before))
    }

    /// Returns the parts of the last release that this task made, by shard. The map is empty if
    /// anything that determines their bytes, other than the sources, has changed.
    pub(crate) fn known_parts(&self) -> HashMap<&str, KnownShard<'_>> {
        let mut known: HashMap<&str, KnownShard<'_>> = HashMap::new();
        let Some((previous, _)) = self.reusable() else {
            return known;
        };
        for (dataset_id, dataset) in &previous.datasets {
            for part in dataset
                .parts
                .iter()
                .filter(|part| part.task_id == self.task_id)
            {
                if let Some(bucket) = part.partition.get(BUCKET) {
                    known.entry(bucket).or_default().0.push(Known {
                        dataset_id,
                        schema_version: &dataset.schema_version,
                        part,
                    });
                }
            }
        }
        known
    }

    pub(crate) fn build_shard(
        &self,
        sharded: &dyn Sharded,
        shard: &Shard,
        known: &KnownShard<'_>,
        stage: &Stage<'_>,
        runtime: &tokio::runtime::Handle,
    ) -> Result<WorkUnit> {
        let fingerprint = fingerprint(shard);
        if known.is_of(fingerprint) {
            known.reuse(stage)?;
            return Ok(WorkUnit::default());
        }
        let (mut before, mut earlier) = (Before::default(), BTreeMap::new());
        for known in known.published() {
            let bytes = runtime.block_on(self.settings.releases.part(
                &self.previous.expect("parts are known from it").release_id,
                known.part,
            ))?;
            publish::verify_part(known.part, &bytes)?;
            before.parts.insert(known.dataset_id, bytes.clone());
            earlier.insert(
                known.dataset_id,
                PreviousPart::open(bytes).context(|| known.part.path.clone())?,
            );
        }
        let mut inputs = Inputs::new(self.entry.inputs.clone());
        let mut reused = reused_subjects(shard, earlier.values());
        let findings = self.reused_issues(known, &mut reused, &mut inputs, runtime)?;
        let changed: Vec<&Subject> = shard
            .subjects
            .iter()
            .filter(|subject| !reused.contains(subject.key.as_str()))
            .collect();
        let place = || format!("{} bucket {}", self.declaration.pipeline_id, shard.key);
        for (dataset_id, part) in earlier.into_iter().filter(|_| !reused.is_empty()) {
            before.kept.insert(
                dataset_id.to_owned(),
                part.keep(|subject| reused.contains(subject))
                    .context(place)?,
            );
        }
        self.compare_with_before(&shard.key, &reused, &before, stage, runtime);
        for (archive, members) in members_of(sharded, &changed)? {
            archive.expect(members.into_iter())?;
        }
        let mut tables = guarded(&self.declaration.pipeline_id, || {
            sharded.build(shard, &changed, &mut inputs)
        })?;
        for finding in findings {
            let table = tables
                .iter_mut()
                .find(|table| table.dataset_id == finding.dataset_id);
            table
                .ok_or_else(|| {
                    Error::store(format!(
                        "{}: no table to carry a finding into",
                        finding.dataset_id
                    ))
                })?
                .issues
                .push(finding);
        }
        if let Some(table) = tables
            .iter()
            .find(|table| !reused.is_empty() && !before.kept.contains_key(&table.dataset_id))
        {
            return Err(Error::store(format!(
                "{}: no part to carry from",
                table.dataset_id
            )));
        }
        let built = changed.len();
        let unit = self.finish_shard(shard, fingerprint, tables, &before.kept, &inputs, stage)?;
        Ok(WorkUnit {
            built_subjects: built,
            reused_subjects: reused,
            ..unit
        })
    }

    /// Returns the last release's issues about reused subjects, with numbers for their pointers.
    /// Removes a subject from `reused` if one of its issues points to a file that is not an input
    /// of this build.
    fn reused_issues(
        &self,
        known: &KnownShard<'_>,
        reused: &mut BTreeSet<String>,
        inputs: &mut Inputs,
        runtime: &tokio::runtime::Handle,
    ) -> Result<Vec<Issue>> {
        let mut findings = Vec::new();
        for known in known
            .0
            .iter()
            .filter(|known| known.dataset_id == QUARANTINE && !reused.is_empty())
        {
            let bytes = runtime.block_on(self.settings.releases.part(
                &self.previous.expect("parts are known from it").release_id,
                known.part,
            ))?;
            publish::verify_part(known.part, &bytes)?;
            findings.extend(
                publish::quarantined_issues(bytes, |subject| reused.contains(subject))
                    .context(|| known.part.path.clone())?,
            );
        }
        for pointer in findings
            .iter()
            .filter_map(|finding| finding.pointer.as_ref())
        {
            if let Some(member) = pointer
                .member
                .as_ref()
                .filter(|_| inputs.numbers_of(pointer).is_none())
            {
                inputs.number_document(member, pointer.snapshot);
            }
        }
        let is_lost = |finding: &&Issue| {
            finding
                .pointer
                .as_ref()
                .is_some_and(|pointer| inputs.numbers_of(pointer).is_none())
        };
        for subject in findings
            .iter()
            .filter(is_lost)
            .filter_map(subject_of_finding)
        {
            reused.remove(subject);
        }
        findings.retain(|finding| {
            subject_of_finding(finding).is_some_and(|subject| reused.contains(subject))
        });
        Ok(findings)
    }

    /// Adds the last release's rows for the rebuilt subjects of a shard to the baseline of the
    /// build. The rows count no matter which version of the code built them.
    pub(crate) fn compare_with_before(
        &self,
        bucket: &str,
        reused: &BTreeSet<String>,
        read: &Before<'_>,
        stage: &Stage<'_>,
        runtime: &tokio::runtime::Handle,
    ) {
        let Some(previous) = self.compared().filter(|_| stage.is_comparing()) else {
            return;
        };
        for (dataset_id, part) in drift::parts_of(previous, self.task_id)
            .filter(|(_, part)| part.partition.get(BUCKET).is_some_and(|of| of == bucket))
        {
            let add = || match (read.kept.get(dataset_id), read.parts.get(dataset_id)) {
                (Some(kept), _) => stage.add_others_before(dataset_id, kept),
                (None, Some(bytes)) => stage.add_before(dataset_id, bytes.clone()),
                (None, None) => {
                    let Some(bytes) = runtime.block_on(
                        self.settings
                            .releases
                            .part_if_present(&previous.release_id, part),
                    )?
                    else {
                        return Ok(());
                    };
                    publish::verify_part(part, &bytes)?;
                    match reused.is_empty() {
                        true => stage.add_before(dataset_id, bytes),
                        false => stage.add_others_before(
                            dataset_id,
                            &PreviousPart::open(bytes)?.keep(|subject| reused.contains(subject))?,
                        ),
                    }
                }
            };
            if let Err(error) = add() {
                tracing::warn!(
                    task.id = self.task_id,
                    part = part.path,
                    "cannot compare with the last release: {error}"
                );
            }
        }
    }

    /// Validates the tables of a shard and writes them together with the rows reused from the last
    /// release.
    fn finish_shard(
        &self,
        shard: &Shard,
        fingerprint: Digest,
        tables: Vec<Table>,
        kept: &BTreeMap<String, ReusedRows>,
        inputs: &Inputs,
        stage: &Stage<'_>,
    ) -> Result<WorkUnit> {
        // Issues are reused only if they are published in full in the quarantine and no operator
        // has overridden them. A subject with any other issue is rebuilt together with its shard.
        let is_published = |issue: &&Issue| {
            issue.severity == Severity::Quarantine
                && issue
                    .record
                    .as_ref()
                    .is_some_and(|record| record.chars().count() <= MAX_RECORD)
        };
        let others = |issues: &[Issue]| -> BTreeSet<String> {
            issues
                .iter()
                .filter(|issue| !is_published(issue))
                .filter_map(subject_of_finding)
                .map(str::to_owned)
                .collect()
        };
        let mut with_others: BTreeSet<String> = tables
            .iter()
            .flat_map(|table| others(&table.issues))
            .collect();
        let ValidatedTables {
            tables,
            issues,
            blocked,
            ..
        } = check(
            self.settings,
            self.task_id,
            tables,
            inputs,
            None,
            self.is_sample,
        )?;
        with_others.extend(others(&issues));
        let of_subject = |subject: &Subject| {
            (
                subject.key.clone(),
                (!with_others.contains(&subject.key)).then_some(subject.fingerprint),
            )
        };
        let lineage = Lineage {
            fingerprint,
            subjects: Some(shard.subjects.iter().map(of_subject).collect()),
        };
        let of_quarantined = Lineage {
            fingerprint,
            subjects: None,
        };
        if blocked.is_empty() {
            for table in tables {
                let lineage = if table.dataset_id == QUARANTINE {
                    &of_quarantined
                } else {
                    &lineage
                };
                let reused = kept.get(&table.dataset_id);
                stage.add(table, inputs, Some(lineage), reused)?;
            }
        }
        Ok(WorkUnit {
            issues: in_order(issues),
            blocked,
            ..WorkUnit::default()
        })
    }
}

/// Returns the archive members that must be read to build some subjects.
pub(crate) fn members_of<'s>(
    sharded: &'s dyn Sharded,
    subjects: &[&Subject],
) -> Result<Vec<(&'s SourceArchive, Vec<&'s Member>)>> {
    let mut members: Vec<(&SourceArchive, Vec<&Member>)> = sharded
        .archives()
        .into_iter()
        .map(|archive| (archive, Vec::new()))
        .collect();
    for subject in subjects {
        for ((_, of_archive), of_subject) in members.iter_mut().zip(sharded.members(subject)?) {
            of_archive.extend(of_subject);
        }
    }
    Ok(members)
}

/// Returns the subject that an issue is about.
fn subject_of_finding(finding: &Issue) -> Option<&str> {
    finding.record.as_deref()?.split(':').nth(1)
}

/// Hashes a shard's subjects and their fingerprints.
pub(crate) fn fingerprint(shard: &Shard) -> Digest {
    let lines: String = shard
        .subjects
        .iter()
        .map(|subject| format!("{} {}\n", subject.key, subject.fingerprint))
        .collect();
    Digest::sha256(lines.as_bytes())
}

/// Returns the subjects whose fingerprints are unchanged in every earlier part. The set is empty if
/// there are no earlier parts.
fn reused_subjects<'p>(
    shard: &Shard,
    before: impl Iterator<Item = &'p PreviousPart>,
) -> BTreeSet<String> {
    let mut reused: Option<BTreeSet<String>> = None;
    for part in before {
        let known: HashMap<&str, Option<Digest>> = part
            .subjects()
            .iter()
            .map(|subject| (subject.key.as_str(), subject.fingerprint))
            .collect();
        let is_same = |subject: &&Subject| {
            known.get(subject.key.as_str()) == Some(&Some(subject.fingerprint))
        };
        let same: BTreeSet<String> = shard
            .subjects
            .iter()
            .filter(is_same)
            .map(|subject| subject.key.clone())
            .collect();
        reused = Some(reused.map_or(same.clone(), |reused| {
            reused.intersection(&same).cloned().collect()
        }));
    }
    reused.unwrap_or_default()
}

/// Builds some of a shard's subjects for a replay. Reuses nothing and writes nothing.
pub(crate) fn build_subjects(
    sharded: &dyn Sharded,
    is_selected: impl Fn(&Subject) -> bool,
    entry: &TaskEntry,
) -> Result<(Vec<Table>, Inputs)> {
    let mut inputs = Inputs::new(entry.inputs.clone());
    let found = sharded.shards().iter().find_map(|shard| {
        let subjects: Vec<&Subject> = shard
            .subjects
            .iter()
            .filter(|subject| is_selected(subject))
            .collect();
        (!subjects.is_empty()).then_some((shard, subjects))
    });
    let Some((shard, subjects)) = found else {
        return Ok((Vec::new(), inputs));
    };
    let tables = sharded.build(shard, &subjects, &mut inputs)?;
    Ok((tables, inputs))
}
