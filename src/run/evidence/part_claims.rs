//! Compares the claims of a release's manifest about its parts with the parts' bytes.

use std::collections::BTreeMap;

use crate::planning::made_with::{MadeWith, contracts_of};
use crate::settings::RunSettings;
use pubdata_build::publish::{TaskFacts, UnitFacts};
use pubdata_core::contract::Contracts;
use pubdata_core::error::Error;
use pubdata_store::{BUCKET, Manifest, Part, TaskEntry};

/// Parts of one unit of a task, each with the id of its dataset.
type UnitParts<'m> = Vec<(&'m str, &'m Part)>;

/// Returns the manifest's claims that the parts contradict.
pub(crate) async fn contradictions(settings: &RunSettings, manifest: &Manifest) -> Vec<String> {
    let contracts = contracts_of(settings, manifest).await;
    let mut tasks: BTreeMap<&str, BTreeMap<Option<&String>, UnitParts<'_>>> = manifest
        .tasks
        .keys()
        .map(|task_id| (task_id.as_str(), BTreeMap::new()))
        .collect();
    let mut found = Vec::new();
    for (dataset_id, part) in manifest
        .datasets
        .iter()
        .flat_map(|(dataset_id, dataset)| dataset.parts.iter().map(move |part| (dataset_id, part)))
    {
        match tasks.get_mut(part.task_id.as_str()) {
            Some(units) => units
                .entry(part.partition.get(BUCKET))
                .or_default()
                .push((dataset_id, part)),
            None => found.push(format!(
                "part {}: the release has no task {}",
                part.path, part.task_id
            )),
        }
    }
    for (task_id, mut units) in tasks {
        let entry = &manifest.tasks[task_id];
        // Each row is in a single bucket only if the entire task is built in buckets.
        if units.contains_key(&None) {
            units = BTreeMap::from([(None, units.into_values().flatten().collect())]);
        }
        let (mut facts, mut of_parts) = (TaskFacts::default(), Vec::new());
        for parts in units.into_values() {
            let (unit, contradictions) = facts_of(settings, manifest, &contracts, &parts).await;
            facts.merge(unit);
            of_parts.extend(contradictions);
        }
        // The rows of a part that cannot be read are unknown.
        if of_parts.is_empty() {
            let produces = produces(settings, manifest, entry).await;
            of_parts = facts
                .contradictions(&produces, entry)
                .into_iter()
                .map(|what| format!("{task_id}: {what}"))
                .collect();
        }
        found.append(&mut of_parts);
    }
    found
}

async fn facts_of(
    settings: &RunSettings,
    manifest: &Manifest,
    contracts: &Contracts,
    parts: &UnitParts<'_>,
) -> (TaskFacts, Vec<String>) {
    let (mut facts, mut found) = (UnitFacts::default(), Vec::new());
    for (dataset_id, part) in parts {
        let contract = contracts.get(*dataset_id).ok_or_else(|| {
            Error::store(format!(
                "part {}: `{dataset_id}` has no contract",
                part.path
            ))
        });
        let added = match settings.releases.part(&manifest.release_id, part).await {
            Ok(bytes) => contract.and_then(|contract| facts.add(contract, part, &bytes)),
            Err(error) => Err(Error::store(format!("part {}: {error}", part.path))),
        };
        found.extend(added.err().map(|error| error.to_string()));
    }
    let (facts, of_unit) = facts.finish();
    if found.is_empty() {
        found = of_unit;
    }
    (facts, found)
}

/// Returns the datasets for which a build has parts. The list is empty if its declaration is
/// unknown or lost.
async fn produces(settings: &RunSettings, manifest: &Manifest, entry: &TaskEntry) -> Vec<String> {
    if !manifest.has_declarations_of(entry) {
        return Vec::new();
    }
    let made = MadeWith::load(settings, manifest, entry).await.ok();
    made.and_then(|made| {
        made.declaration(entry)
            .map(|declaration| declaration.produces.clone())
    })
    .unwrap_or_default()
}
