//! Explains why records changed in a later release. Repeats the build with its inputs exchanged one
//! at a time, and attributes each record to the exchange that changed it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::available_snapshots::{AvailableSnapshots, Need};
use super::trace::reason_of;
use super::verify::built_again;
use crate::planning::made_with::MadeWith;
use crate::settings::RunSettings;
use pubdata_build::publish::StagedBuild;
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::ids::Digest;
use pubdata_store::{
    Cause, CausedChanges, Causes, DatasetDiff, Home, Manifest, Part, PartRows, RecordCause,
    RecordChange, RecordWhy, ReleaseDiff, TaskEntry, changed_inputs, changes_of_records,
};

/// A build as it was made for a release.
#[derive(Clone, Copy)]
struct Made<'a> {
    manifest: &'a Manifest,
    entry: &'a TaskEntry,
}

impl Made<'_> {
    fn is_sample(&self) -> bool {
        self.manifest.is_sample_build(self.entry)
    }
}

/// Inputs exchanged between one version of a build and the next. A step exchanges several inputs at
/// once if none of them can be exchanged alone.
type Step = Vec<RecordCause>;

/// A step, with the changes that it made in a part. `None` if it is the only step, which therefore
/// changed everything that differs.
type StepChanges = (Step, Option<HashMap<String, Option<RecordChange>>>);

/// The versions of a build between the earlier and the later release, with the inputs exchanged
/// between each version and the next.
#[derive(Default)]
struct Chain {
    /// The steps. Their number is one more than the number of builds.
    steps: Vec<Step>,
    builds: Vec<StagedBuild>,
    scratch: Vec<Home>,
    /// The reason why a step does not have a single cause.
    reason: Option<String>,
}

impl Chain {
    fn of_one(step: Step, reason: Option<String>) -> Self {
        Self {
            steps: vec![step],
            reason,
            ..Self::default()
        }
    }
}

/// Compares two releases just as [`pubdata_store::diff`] does, and explains why each record
/// changed. If only one input changed, nothing is built. Otherwise, the number of builds is one
/// less than the number of changed inputs.
///
/// # Errors
/// Returns the same errors as `diff`, and `Store` if the scratch folder cannot be created or a
/// built part cannot be read. A failed build is described in the result instead.
pub async fn explained_diff(
    settings: &RunSettings,
    (old, new): (&Manifest, &Manifest),
    max_examples: usize,
    only: &[String],
) -> Result<ReleaseDiff> {
    let mut diff = pubdata_store::diff(&settings.releases, (old, new), max_examples, only).await?;
    let task_ids: BTreeSet<String> = diff
        .datasets
        .values()
        .flat_map(|dataset| dataset.tasks.iter().cloned())
        .collect();
    let mut counted: BTreeMap<String, BTreeMap<Causes, CausedChanges>> = diff
        .datasets
        .keys()
        .map(|id| (id.clone(), BTreeMap::new()))
        .collect();
    let mut not_distinguished = BTreeMap::new();
    for task_id in task_ids {
        let chain = chain(settings, old, new, &task_id).await?;
        if let Some(reason) = &chain.reason {
            not_distinguished.insert(task_id.clone(), reason.clone());
        }
        for (dataset_id, dataset) in diff
            .datasets
            .iter_mut()
            .filter(|(_, dataset)| dataset.tasks.contains(&task_id))
        {
            let explained = Explained {
                settings,
                old,
                new,
                task_id: &task_id,
                chain: &chain,
            };
            explained
                .count(
                    dataset_id,
                    dataset,
                    counted.entry(dataset_id.clone()).or_default(),
                )
                .await
                .context(|| dataset_id.clone())?;
        }
        chain.scratch.iter().try_for_each(Home::remove)?;
    }
    for (dataset_id, dataset) in &mut diff.datasets {
        dataset.why = counted
            .remove(dataset_id)
            .map(|counts| counts.into_values().collect());
    }
    diff.not_distinguished = Some(not_distinguished);
    Ok(diff)
}

/// Builds the versions between two releases.
async fn chain(
    settings: &RunSettings,
    old: &Manifest,
    new: &Manifest,
    task_id: &str,
) -> Result<Chain> {
    let (before, after) = match (old.tasks.get(task_id), new.tasks.get(task_id)) {
        (Some(before), Some(after)) => (
            Made {
                manifest: old,
                entry: before,
            },
            Made {
                manifest: new,
                entry: after,
            },
        ),
        (None, _) => return Ok(Chain::of_one(vec![RecordCause::TaskAdded], None)),
        (_, None) => return Ok(Chain::of_one(vec![RecordCause::TaskRemoved], None)),
    };
    let mut exchanged = exchanged(before.entry, after.entry);
    let (not_ours_before, not_ours_after) = (
        not_ours(settings, before).await,
        not_ours(settings, after).await,
    );
    let is_ours = (not_ours_before.is_none(), not_ours_after.is_none());
    // Code versions whose lists differ only in their order are the same code.
    if is_ours == (true, true) {
        exchanged.retain(|cause| *cause != RecordCause::Code);
    }
    if exchanged.is_empty() {
        return Ok(Chain::of_one(
            exchanged,
            Some("no input of the build is known to have changed".to_owned()),
        ));
    }
    if exchanged.len() == 1 {
        return Ok(Chain::of_one(exchanged, None));
    }
    // Only this program's code can build. If one of the two versions was built with other code, the
    // code is exchanged next to that version, before or after all builds.
    match is_ours {
        (false, false) => return Ok(Chain::of_one(exchanged, not_ours_after)),
        (true, false) => exchanged.sort_by_key(|cause| *cause == RecordCause::Code),
        (_, true) => {}
    }
    build_between(settings, before, after, task_id, exchanged).await
}

/// Returns the differences between the inputs of two builds, code first.
fn exchanged(before: &TaskEntry, after: &TaskEntry) -> Step {
    let kinds = pubdata_store::causes_of_task(Some(before), Some(after))
        .into_iter()
        .filter_map(|cause| match cause {
            Cause::CodeChanged { .. } => Some(RecordCause::Code),
            Cause::DeclarationChanged => Some(RecordCause::Declaration),
            Cause::ContractsChanged => Some(RecordCause::Contract),
            Cause::SourceChanged { .. }
            | Cause::SampleChanged
            | Cause::DateChanged { .. }
            | Cause::InputsChanged => Some(RecordCause::SourceBytes),
            // These changes do not affect records.
            Cause::LayoutEvidenceChanged
            | Cause::BecameStale { .. }
            | Cause::BecameFresh
            | Cause::TaskAdded
            | Cause::TaskRemoved => None,
        });
    let kinds: BTreeSet<RecordCause> = kinds.collect();
    let in_turn = [
        RecordCause::Code,
        RecordCause::SourceBytes,
        RecordCause::Declaration,
        RecordCause::Contract,
    ];
    in_turn
        .into_iter()
        .filter(|kind| kinds.contains(kind))
        .collect()
}

/// Returns the reason why this program cannot repeat a build as it was originally made.
async fn not_ours(settings: &RunSettings, made: Made<'_>) -> Option<String> {
    match MadeWith::load(settings, made.manifest, made.entry).await {
        Ok(made) => made.not_held,
        Err(error) => Some(error.to_string()),
    }
}

async fn build_between(
    settings: &RunSettings,
    before: Made<'_>,
    after: Made<'_>,
    task_id: &str,
    exchanged: Step,
) -> Result<Chain> {
    let mut chain = Chain::default();
    let mut step = Step::new();
    let builds = exchanged.len() - 1;
    for (number, cause) in exchanged.iter().copied().enumerate() {
        step.push(cause);
        if number < builds {
            let so_far = &exchanged[..=number];
            tracing::info!(task.id = task_id, exchanged = ?so_far, "built with exchanged inputs: {} of {builds}", number + 1);
            let scratch = settings.home.scratch_of_process(&format!("why-{number}"))?;
            let built = build_with(settings, before, after, task_id, so_far, &scratch).await;
            chain.scratch.push(scratch);
            match built {
                Ok(build) => chain.builds.push(build),
                Err(error) => {
                    let what: Vec<&str> = so_far.iter().copied().map(words_of_cause).collect();
                    chain.reason = Some(format!(
                        "with the other {} alone it cannot be built: {error}",
                        what.join(" and ")
                    ));
                    continue;
                }
            }
        }
        chain.steps.push(std::mem::take(&mut step));
    }
    Ok(chain)
}

/// Returns the name of a cause for use in a sentence.
pub fn words_of_cause(cause: RecordCause) -> &'static str {
    match cause {
        RecordCause::TaskAdded => "built for the first time",
        RecordCause::TaskRemoved => "no longer built",
        RecordCause::SourceBytes => "source bytes",
        RecordCause::Declaration => "declaration",
        RecordCause::Contract => "contract",
        RecordCause::Code => "code",
    }
}

/// Repeats the earlier build, with some of its inputs replaced by those of the later build.
async fn build_with(
    settings: &RunSettings,
    before: Made<'_>,
    after: Made<'_>,
    task_id: &str,
    exchanged: &[RecordCause],
    scratch: &Home,
) -> Result<StagedBuild> {
    let side = |cause: RecordCause| {
        if exchanged.contains(&cause) {
            after
        } else {
            before
        }
    };
    let (sources, declared, contracts) = (
        side(RecordCause::SourceBytes),
        side(RecordCause::Declaration),
        side(RecordCause::Contract),
    );
    let entry = TaskEntry {
        inputs: sources.entry.inputs.clone(),
        declaration_hash: declared.entry.declaration_hash,
        evidence: declared.entry.evidence.clone(),
        layout_evidence: declared.entry.layout_evidence,
        contracts_hash: contracts.entry.contracts_hash,
        code_version: side(RecordCause::Code).entry.code_version.clone(),
        ..before.entry.clone()
    };
    let texts = (
        (declared.manifest, declared.entry),
        (contracts.manifest, contracts.entry),
    );
    let mut mixed = MadeWith::mixed(settings, texts.0, texts.1, &entry).await?;
    let mut available_snapshots = AvailableSnapshots::new(settings, Some(scratch));
    available_snapshots
        .take(
            &entry,
            entry.inputs.iter().map(|input| (input, Need::Whole)),
        )
        .await?;
    if let Some(reason) = reason_of(available_snapshots.missing())
        .or_else(|| reason_of(available_snapshots.damaged()))
    {
        return Err(Error::store(reason));
    }
    mixed.home = available_snapshots.home().clone();
    built_again(
        &mixed,
        task_id,
        &entry,
        sources.is_sample(),
        Some(before.manifest),
        scratch,
    )
}

/// A task whose records are explained.
struct Explained<'a> {
    settings: &'a RunSettings,
    old: &'a Manifest,
    new: &'a Manifest,
    task_id: &'a str,
    chain: &'a Chain,
}

impl Explained<'_> {
    /// Counts the changed records of a dataset by cause, part by part, and explains why its example
    /// records changed.
    async fn count(
        &self,
        dataset_id: &str,
        dataset: &mut DatasetDiff,
        counts: &mut BTreeMap<Causes, CausedChanges>,
    ) -> Result<()> {
        let mut examples: HashMap<String, &mut Option<RecordWhy>> = dataset
            .examples
            .iter_mut()
            .map(|example| (example.record_id.clone(), &mut example.why))
            .collect();
        for (before, after) in pubdata_store::paired_parts(self.old, self.new, dataset_id) {
            // A part that a different task made earlier is counted with the task that makes the
            // part now.
            let Some(part) = after.or(before).filter(|part| part.task_id == self.task_id) else {
                continue;
            };
            if before.map(|part| part.sha256) == after.map(|part| part.sha256) {
                continue;
            }
            let old = self.rows(self.old, before).await?;
            let new = self.rows(self.new, after).await?;
            let columns = shared_columns(&old, &new);
            let steps = match before.filter(|before| before.task_id != part.task_id) {
                Some(_) => vec![(vec![RecordCause::TaskRemoved, RecordCause::TaskAdded], None)],
                None => {
                    self.changes(
                        dataset_id,
                        part,
                        (before, &old),
                        (after, &new),
                        columns.as_deref(),
                    )
                    .await?
                }
            };
            let changes =
                changes_of_records(old.as_ref(), new.as_ref(), &columns.unwrap_or_default())?;
            for (record_id, change) in &changes {
                let causes = causes_of(&steps, record_id, *change);
                let count = counts
                    .entry(causes.clone())
                    .or_insert_with(|| CausedChanges {
                        causes: causes.clone(),
                        ..CausedChanges::default()
                    });
                match change {
                    Some(RecordChange::Added) => count.added += 1,
                    Some(RecordChange::Removed) => count.removed += 1,
                    Some(RecordChange::Changed) => count.changed += 1,
                    None => count.provenance_only += 1,
                }
                if let Some(why) = examples.get_mut(record_id) {
                    let urls = if causes.causes.contains(&RecordCause::SourceBytes) {
                        self.urls(record_id, [&old, &new])?
                    } else {
                        BTreeSet::new()
                    };
                    **why = Some(RecordWhy { causes, urls });
                }
            }
        }
        Ok(())
    }

    /// Returns the changes that each step made in a part, for the given columns. If no columns are
    /// given, uses the columns that both sides of the step have.
    async fn changes(
        &self,
        dataset_id: &str,
        part: &Part,
        (before, old): (Option<&Part>, &Option<PartRows>),
        (after, new): (Option<&Part>, &Option<PartRows>),
        columns: Option<&[String]>,
    ) -> Result<Vec<StepChanges>> {
        if self.chain.builds.is_empty() {
            return Ok(self
                .chain
                .steps
                .iter()
                .map(|step| (step.clone(), None))
                .collect());
        }
        let mut changes = Vec::new();
        let (mut last_digest, mut last) = (before.map(|part| part.sha256), old.clone());
        for (number, step) in self.chain.steps.iter().enumerate() {
            let (digest, next) = match self.chain.builds.get(number) {
                Some(build) => self.built(build, dataset_id, part).await?,
                None => (after.map(|part| part.sha256), new.clone()),
            };
            let columns = columns
                .map(<[String]>::to_vec)
                .or_else(|| shared_columns(&last, &next))
                .unwrap_or_default();
            let changed = if digest == last_digest {
                HashMap::new()
            } else {
                changes_of_records(last.as_ref(), next.as_ref(), &columns)?
            };
            changes.push((step.clone(), Some(changed)));
            (last_digest, last) = (digest, next);
        }
        Ok(changes)
    }

    /// Returns a part of one of the builds between the two releases.
    async fn built(
        &self,
        build: &StagedBuild,
        dataset_id: &str,
        part: &Part,
    ) -> Result<(Option<Digest>, Option<PartRows>)> {
        let staged = build.parts.iter().find(|staged| {
            staged.dataset_id == dataset_id && staged.part.partition == part.partition
        });
        let Some(staged) = staged else {
            return Ok((None, None));
        };
        let rows = match staged.is_reused {
            true => self.rows(self.old, Some(&staged.part)).await?,
            false => Some(PartRows::read(build.bytes(&staged.part)?)?),
        };
        Ok((Some(staged.part.sha256), rows))
    }

    async fn rows(&self, manifest: &Manifest, part: Option<&Part>) -> Result<Option<PartRows>> {
        let Some(part) = part else { return Ok(None) };
        PartRows::read(
            self.settings
                .releases
                .part(&manifest.release_id, part)
                .await?,
        )
        .context(|| format!("part {}", part.path))
        .map(Some)
    }

    /// Returns the URLs of the changed files from which a record was built, before or after.
    fn urls(&self, record_id: &str, sides: [&Option<PartRows>; 2]) -> Result<BTreeSet<String>> {
        let changed = changed_inputs(
            self.old.tasks.get(self.task_id),
            self.new.tasks.get(self.task_id),
        );
        let mut source_ids = BTreeSet::new();
        for rows in sides.into_iter().flatten() {
            source_ids.extend(
                rows.pointers_of(record_id)?
                    .into_iter()
                    .map(|pointer| pointer.source_id),
            );
        }
        let files = changed.iter().flat_map(|(from, to)| [*from, *to]).flatten();
        Ok(files
            .filter(|file| source_ids.contains(&file.source_id))
            .map(|file| file.url.clone())
            .collect())
    }
}

/// Returns the columns that two versions of a part share. Returns `None` if one of the versions
/// lacks the part.
fn shared_columns(earlier: &Option<PartRows>, later: &Option<PartRows>) -> Option<Vec<String>> {
    earlier
        .as_ref()
        .zip(later.as_ref())
        .map(|(earlier, later)| earlier.columns_shared_with(later))
}

/// Returns the causes of a record's change. These are the steps that changed its values or, if no
/// step changed its values, its pointers.
fn causes_of(steps: &[StepChanges], record_id: &str, change: Option<RecordChange>) -> Causes {
    let is_of = |changed: &HashMap<String, Option<RecordChange>>| {
        changed
            .get(record_id)
            .is_some_and(|of_step| of_step.is_some() || change.is_none())
    };
    let of_record: Vec<&Step> = steps
        .iter()
        .filter(|(_, changed)| changed.as_ref().is_none_or(is_of))
        .map(|(step, _)| step)
        .collect();
    let is_distinguished = !of_record.is_empty() && of_record.iter().all(|step| step.len() == 1);
    Causes {
        causes: of_record.into_iter().flatten().copied().collect(),
        is_distinguished,
    }
}
