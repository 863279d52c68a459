//! Creates the manifest entry of a build, with its inputs, the hash of everything that determines
//! its bytes, and the reasons why that hash changed.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::calendar::due;
use super::made_with::fingerprint;
use super::selection::Selected;
use crate::fetching::manual_import::{other_date, stated_dates};
use crate::reporting::findings::unconfirmed_layout;
use crate::settings::RunSettings;
use pubdata_build::publish;
use pubdata_core::error::Result;
use pubdata_core::ids::Digest;
use pubdata_core::issue::SourceFinding;
use pubdata_core::pipeline::{Declaration, LayoutEvidence};
use pubdata_core::provenance::{Obtained, Snapshot};
use pubdata_store::{Manifest, TaskEntry};

/// Returns the reasons why a build differs from the build in the current release. The list is empty
/// if the build does not differ.
pub(crate) fn reasons(
    entry: &TaskEntry,
    previous: Option<&TaskEntry>,
    is_forced: bool,
    current: Option<&Manifest>,
    contracts: &pubdata_core::contract::Contracts,
) -> Vec<String> {
    let Some(previous) = previous else {
        return vec!["never built".to_owned()];
    };
    let mut reasons = Vec::new();
    for snapshot in &entry.inputs {
        let same = |known: &&Snapshot| {
            known.source_id == snapshot.source_id && known.keys == snapshot.keys
        };
        match previous.inputs.iter().find(same) {
            None => reasons.push(format!("new source file {}", snapshot.url)),
            Some(known) if known.sha256 != snapshot.sha256 => {
                reasons.push(format!("source changed: {}", snapshot.url));
            }
            Some(known)
                if (&known.url, &known.source_version)
                    != (&snapshot.url, &snapshot.source_version) =>
            {
                reasons.push(format!(
                    "the same bytes as {} {}, now {} {}",
                    known.source_version, known.url, snapshot.source_version, snapshot.url
                ));
            }
            Some(known) => reasons.extend(other_date(known, snapshot)),
        }
    }
    let is_gone = |known: &&Snapshot| {
        !entry
            .inputs
            .iter()
            .any(|snapshot| snapshot.source_id == known.source_id && snapshot.keys == known.keys)
    };
    reasons.extend(
        previous
            .inputs
            .iter()
            .filter(is_gone)
            .map(|known| format!("source file no longer read: {}", known.url)),
    );
    if entry.declaration_hash != previous.declaration_hash {
        reasons.push("declaration changed".to_owned());
    }
    if entry.contracts_hash != previous.contracts_hash {
        reasons.push("contract changed".to_owned());
    }
    if entry.code_version != previous.code_version {
        reasons.push(format!(
            "code changed from {} to {}",
            previous.code_version, entry.code_version
        ));
    }
    if entry.layout_evidence != previous.layout_evidence
        && entry.declaration_hash == previous.declaration_hash
    {
        reasons.push(
            "the evidence of the layout changed: an operator confirmed it or withdrew the confirmation"
                .to_owned(),
        );
    }
    if reasons.is_empty() && entry.input_hash != previous.input_hash {
        let mut inputs = entry.inputs.iter().chain(&previous.inputs);
        reasons.push(
            match inputs.any(|input| input.obtained == Obtained::Manual) {
                true => {
                    "the stated date of an imported file changed, or the sources became or ceased to be samples"
                        .to_owned()
                }
                false => "the sources are no longer samples, or have become samples".to_owned(),
            },
        );
    }
    if let Some(refusal) = publish::reason_not_reusable(current, contracts, &task_id_of(entry)) {
        reasons.push(refusal);
    }
    if reasons.is_empty() && is_forced {
        reasons.push("forced".to_owned());
    }
    reasons
}

/// Returns the task id of an entry.
pub(crate) fn task_id_of(entry: &TaskEntry) -> String {
    entry
        .partition
        .iter()
        .fold(entry.pipeline_id.clone(), |id, (variable, value)| {
            format!("{id}/{variable}={value}")
        })
}

/// Creates the entry of a build, with its inputs and the hash of everything that determines its
/// bytes.
pub(crate) fn entry(
    settings: &RunSettings,
    task: &Selected<'_>,
    snapshots: Vec<Snapshot>,
    mut findings: Vec<SourceFinding>,
    is_sample: bool,
) -> Result<TaskEntry> {
    let declaration = task.declaration;
    let layout_evidence = layout_evidence(settings, declaration);
    if !is_sample {
        // A sample is not the publisher's complete file, so it cannot confirm a layout.
        findings.extend(unconfirmed_layout(declaration, layout_evidence));
    }
    let inputs = pubdata_core::provenance::Inputs::new(snapshots)
        .snapshots()
        .to_vec();
    let (declaration_hash, contracts_hash, code_version) = fingerprint(settings, declaration)?;
    // The URL and version are included because the release, and possibly its rows, contain them.
    let files: Vec<_> = inputs
        .iter()
        .map(|input| {
            (
                &input.source_id,
                &input.keys,
                input.sha256,
                &input.url,
                &input.source_version,
            )
        })
        .collect();
    let mut decides = vec![serde_json::json!([
        task.task_id,
        files,
        declaration_hash,
        contracts_hash,
        code_version,
        is_sample
    ])];
    // A layout that has not been seen is not judged by its totals until it is confirmed.
    decides.extend(
        (layout_evidence != LayoutEvidence::File).then(|| serde_json::json!(layout_evidence)),
    );
    // A date stated by an operator is published in the release.
    decides.extend(stated_dates(&inputs));
    let text = decides
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n");
    let partition = declaration
        .partition
        .iter()
        .zip(&task.partition)
        .map(|(range, value)| (range.variable.clone(), value.clone()))
        .collect();
    let due = if is_sample {
        BTreeMap::new()
    } else {
        due(settings, declaration, task.partition.as_deref(), &inputs)?
    };
    Ok(TaskEntry {
        due,
        meaning_lost: BTreeMap::new(),
        source_rows: BTreeMap::new(),
        findings,
        pipeline_id: declaration.pipeline_id.clone(),
        partition,
        input_hash: Digest::sha256(text.as_bytes()),
        declaration_hash,
        contracts_hash,
        code_version,
        is_sample: Some(is_sample),
        inputs,
        is_stale: false,
        stale_reason: None,
        publisher: declaration.publisher.clone(),
        licence: declaration.licence.clone(),
        homepage: declaration.homepage.clone(),
        cadence_days: declaration.cadence.days(),
        layout_evidence: Some(layout_evidence),
        evidence: declaration
            .sources
            .iter()
            .map(|source| (source.source_id.clone(), source.evidence.clone()))
            .collect(),
        covers: declaration.covers.clone(),
        built_at: Timestamp::now().to_string(),
    })
}

/// Returns the evidence for a layout, including an operator's confirmation.
fn layout_evidence(settings: &RunSettings, declaration: &Declaration) -> LayoutEvidence {
    let mut names = declaration
        .sources
        .iter()
        .map(|source| &source.source_id)
        .chain([&declaration.pipeline_id]);
    match declaration.layout_evidence() {
        LayoutEvidence::Documented if names.any(|name| settings.confirmed.contains(name)) => {
            LayoutEvidence::Confirmed
        }
        declared => declared,
    }
}
