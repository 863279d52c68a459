//! Compares what a release's manifest says of its parts with their bytes.

use std::collections::BTreeMap;

use super::RunSettings;
use super::made_with::{MadeWith, contracts_of};
use pubdata_build::publish::{ShownByTask, ShownByUnit};
use pubdata_core::contract::Contracts;
use pubdata_core::error::Error;
use pubdata_store::{BUCKET, Manifest, Part, TaskEntry};

/// Parts of one unit of a task, each with its dataset.
type UnitParts<'m> = Vec<(&'m str, &'m Part)>;

/// What the parts of a release show otherwise than its manifest says.
pub(super) async fn contradictions(settings: &RunSettings, manifest: &Manifest) -> Vec<String> {
    let contracts = contracts_of(settings, manifest).await;
    let mut tasks: BTreeMap<&str, BTreeMap<Option<&String>, UnitParts<'_>>> =
        manifest.tasks.keys().map(|task_id| (task_id.as_str(), BTreeMap::new())).collect();
    let mut found = Vec::new();
    for (dataset_id, part) in manifest.datasets.iter().flat_map(|(dataset_id, dataset)| dataset.parts.iter().map(move |part| (dataset_id, part))) {
        match tasks.get_mut(part.task_id.as_str()) {
            Some(units) => units.entry(part.partition.get(BUCKET)).or_default().push((dataset_id, part)),
            None => found.push(format!("part {}: the release has no task {}", part.path, part.task_id)),
        }
    }
    for (task_id, mut units) in tasks {
        let entry = &manifest.tasks[task_id];
        // A row is in one bucket only where all of the task is built in buckets.
        if units.contains_key(&None) {
            units = BTreeMap::from([(None, units.into_values().flatten().collect())]);
        }
        let (mut shown, mut of_parts) = (ShownByTask::default(), Vec::new());
        for parts in units.into_values() {
            let (unit, contradictions) = shown_by(settings, manifest, &contracts, &parts).await;
            shown.merge(unit);
            of_parts.extend(contradictions);
        }
        // Of a part that cannot be read the rows are not known.
        if of_parts.is_empty() {
            let produces = produces(settings, manifest, entry).await;
            of_parts = shown.contradictions(&produces, entry).into_iter().map(|what| format!("{task_id}: {what}")).collect();
        }
        found.append(&mut of_parts);
    }
    found
}

async fn shown_by(settings: &RunSettings, manifest: &Manifest, contracts: &Contracts, parts: &UnitParts<'_>) -> (ShownByTask, Vec<String>) {
    let (mut shown, mut found) = (ShownByUnit::default(), Vec::new());
    for (dataset_id, part) in parts {
        let contract = contracts.get(*dataset_id).ok_or_else(|| Error::store(format!("part {}: `{dataset_id}` has no contract", part.path)));
        let added = match settings.releases.part(&manifest.release_id, part).await {
            Ok(bytes) => contract.and_then(|contract| shown.add(contract, part, &bytes)),
            Err(error) => Err(Error::store(format!("part {}: {error}", part.path))),
        };
        found.extend(added.err().map(|error| error.to_string()));
    }
    let (shown, of_unit) = shown.finish();
    if found.is_empty() {
        found = of_unit;
    }
    (shown, found)
}

/// The datasets of which a build has a part; none where its declaration is not known, or lost.
async fn produces(settings: &RunSettings, manifest: &Manifest, entry: &TaskEntry) -> Vec<String> {
    if !manifest.carries_declarations_of(entry) {
        return Vec::new();
    }
    let made = MadeWith::of(settings, manifest, entry).await.ok();
    made.and_then(|made| made.declaration(entry).map(|declaration| declaration.produces.clone())).unwrap_or_default()
}
