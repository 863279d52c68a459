//! Derives from two manifests how their releases differ, and why. Reads nothing else.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Manifest, Part, TaskEntry};
use pubdata_core::ids::Digest;
use pubdata_core::provenance::{Obtained, Snapshot};

/// Why a task's build differs from the build in the earlier release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "snake_case")]
#[schemars(with = "CauseMembers")]
pub enum Cause {
    /// The task is in the later release only.
    TaskAdded,
    /// The task is in the earlier release only.
    TaskRemoved,
    /// The publisher's bytes changed. One side is absent if that release did not read the file.
    SourceChanged {
        source_id: String,
        url: String,
        from: Option<Digest>,
        to: Option<Digest>,
    },
    DeclarationChanged,
    ContractsChanged,
    CodeChanged {
        from: String,
        to: String,
    },
    /// Samples were replaced by the publisher's own files, or vice versa.
    SampleChanged,
    /// An operator confirmed the layout, or withdrew the confirmation.
    LayoutEvidenceChanged,
    /// An operator corrected the date of a file.
    DateChanged {
        url: String,
        from: String,
        to: String,
    },
    /// The build differs although no recorded input differs.
    InputsChanged,
    /// The last attempt to rebuild the task failed.
    BecameStale {
        reason: Option<String>,
    },
    /// The task was rebuilt after a failure.
    BecameFresh,
}

/// The fields of all variants of [`Cause`], for the schema.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct CauseMembers {
    /// Kind of change.
    #[schemars(extend("enum" = [
        "task_added", "task_removed", "source_changed", "declaration_changed", "contracts_changed", "code_changed", "sample_changed",
        "layout_evidence_changed", "date_changed", "inputs_changed", "became_stale", "became_fresh"
    ]))]
    cause: String,
    /// Id of the source, for `source_changed`; absent for other causes.
    #[schemars(skip_serializing_if = "String::is_empty")]
    source_id: String,
    /// The file's URL, for `source_changed` and `date_changed`; absent otherwise.
    #[schemars(skip_serializing_if = "String::is_empty")]
    url: String,
    /// Earlier digest, version or date; null if the file was not read. Absent if `cause` needs no
    /// details.
    #[schemars(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// Later digest, version or date; null if the file is no longer read. Absent if `cause` needs
    /// no details.
    #[schemars(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    /// Why the rebuild failed, for `became_stale`; null if no reason was recorded. Absent for other
    /// causes.
    #[schemars(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A file in the earlier and the later release, with `None` for a release that did not read it.
pub type InputChange<'a> = (Option<&'a Snapshot>, Option<&'a Snapshot>);

/// Returns, by task, why the build differs from that in an earlier release. Unchanged tasks are
/// omitted.
pub fn causes(old: &Manifest, new: &Manifest) -> BTreeMap<String, Vec<Cause>> {
    let mut causes = BTreeMap::new();
    for task_id in old.tasks.keys().chain(new.tasks.keys()) {
        let found = causes_of_task(old.tasks.get(task_id), new.tasks.get(task_id));
        if !found.is_empty() {
            causes.insert(task_id.clone(), found);
        }
    }
    causes
}

/// Returns why a task's build differs; empty if the build does not differ.
pub fn causes_of_task(before: Option<&TaskEntry>, after: Option<&TaskEntry>) -> Vec<Cause> {
    match (before, after) {
        (None, None) => Vec::new(),
        (Some(_), None) => vec![Cause::TaskRemoved],
        (None, Some(_)) => vec![Cause::TaskAdded],
        (Some(before), Some(after)) => causes_between(before, after),
    }
}

fn causes_between(before: &TaskEntry, after: &TaskEntry) -> Vec<Cause> {
    let mut causes: Vec<Cause> = changed_inputs(Some(before), Some(after))
        .into_iter()
        .filter_map(of_bytes)
        .collect();
    if before.declaration_hash != after.declaration_hash {
        causes.push(Cause::DeclarationChanged);
    }
    if before.contracts_hash != after.contracts_hash {
        causes.push(Cause::ContractsChanged);
    }
    if before.code_version != after.code_version {
        causes.push(Cause::CodeChanged {
            from: before.code_version.clone(),
            to: after.code_version.clone(),
        });
    }
    if before
        .is_sample
        .zip(after.is_sample)
        .is_some_and(|(before, after)| before != after)
    {
        causes.push(Cause::SampleChanged);
    }
    if before.declaration_hash == after.declaration_hash
        && before.layout_evidence != after.layout_evidence
    {
        causes.push(Cause::LayoutEvidenceChanged);
    }
    let dated = paired_inputs(before, after)
        .into_iter()
        .filter_map(|(from, to)| from.zip(to));
    let corrected = dated.filter(|(from, to)| {
        to.sha256 == from.sha256
            && to.source_date != from.source_date
            && to.obtained == Obtained::Manual
    });
    causes.extend(corrected.map(|(from, to)| Cause::DateChanged {
        url: to.url.clone(),
        from: from.source_date.clone(),
        to: to.source_date.clone(),
    }));
    if causes.is_empty() && before.input_hash != after.input_hash {
        causes.push(Cause::InputsChanged);
    }
    match (before.is_stale, after.is_stale) {
        (false, true) => causes.push(Cause::BecameStale {
            reason: after.stale_reason.clone(),
        }),
        (true, false) => causes.push(Cause::BecameFresh),
        _ => {}
    }
    causes
}

/// Returns a task's files whose bytes differ between the releases.
pub fn changed_inputs<'a>(
    before: Option<&'a TaskEntry>,
    after: Option<&'a TaskEntry>,
) -> Vec<InputChange<'a>> {
    let paired = match (before, after) {
        (Some(before), Some(after)) => paired_inputs(before, after),
        (before, after) => {
            let of_one = |task: Option<&'a TaskEntry>| {
                task.map(|task| task.inputs.as_slice()).unwrap_or_default()
            };
            of_one(before)
                .iter()
                .map(|input| (Some(input), None))
                .chain(of_one(after).iter().map(|input| (None, Some(input))))
                .collect()
        }
    };
    paired
        .into_iter()
        .filter(|(from, to)| from.map(|input| input.sha256) != to.map(|input| input.sha256))
        .collect()
}

/// Pairs the files of both tasks by source and keys, starting with the files of the earlier task.
fn paired_inputs<'a>(before: &'a TaskEntry, after: &'a TaskEntry) -> Vec<InputChange<'a>> {
    fn by_file(task: &TaskEntry) -> BTreeMap<(&str, &BTreeMap<String, String>), &Snapshot> {
        task.inputs
            .iter()
            .map(|input| ((input.source_id.as_str(), &input.keys), input))
            .collect()
    }
    let (old, new) = (by_file(before), by_file(after));
    let files = old
        .keys()
        .chain(new.keys().filter(|file| !old.contains_key(*file)));
    files
        .map(|file| (old.get(file).copied(), new.get(file).copied()))
        .collect()
}

fn of_bytes((from, to): InputChange<'_>) -> Option<Cause> {
    let file = to.or(from)?;
    let digest = |side: Option<&Snapshot>| side.map(|input| input.sha256);
    Some(Cause::SourceChanged {
        source_id: file.source_id.clone(),
        url: file.url.clone(),
        from: digest(from),
        to: digest(to),
    })
}

/// Pairs the parts of a dataset by partition, because earlier versions of the program named parts
/// differently.
pub fn paired_parts<'a>(
    old: &'a Manifest,
    new: &'a Manifest,
    dataset_id: &str,
) -> Vec<(Option<&'a Part>, Option<&'a Part>)> {
    let by_partition =
        |manifest: &'a Manifest| -> BTreeMap<&'a BTreeMap<String, String>, &'a Part> {
            manifest
                .datasets
                .get(dataset_id)
                .into_iter()
                .flat_map(|dataset| &dataset.parts)
                .map(|part| (&part.partition, part))
                .collect()
        };
    let (before, after) = (by_partition(old), by_partition(new));
    let partitions = before.keys().chain(
        after
            .keys()
            .filter(|partition| !before.contains_key(*partition)),
    );
    partitions
        .map(|partition| {
            (
                before.get(partition).copied(),
                after.get(partition).copied(),
            )
        })
        .collect()
}
