//! The part of a provenance object that many records share.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::table::read_pointers;
use crate::error::Result;
use crate::provenance::Snapshot;
use crate::serve::json::Json;
use crate::store::{Manifest, Part};

/// Which dataset and publisher's file records come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    pub dataset_id: String,
    pub schema_version: String,
    /// None when the part names no file, which only an empty part may.
    pub snapshot: Option<Snapshot>,
}

impl Origin {
    /// Writes the provenance object of one record.
    pub fn write(&self, json: &mut Json, validation_status: &str, record_id: &str) {
        let snapshot = self.snapshot.as_ref();
        let source_id = snapshot.map_or("", |snapshot| snapshot.source_id.as_str());
        write_stamp(json, (&self.dataset_id, &self.schema_version), (source_id, snapshot), validation_status, record_id);
    }
}

/// Writes a provenance object: dataset and its version, source and its file, verdict, record.
pub fn write_stamp(
    json: &mut Json,
    (dataset_id, schema_version): (&str, &str),
    (source_id, snapshot): (&str, Option<&Snapshot>),
    validation_status: &str,
    record_id: &str,
) {
    json.object(|json| {
        json.key("dataset_id").text(dataset_id);
        json.key("source_id").optional_text(Some(source_id).filter(|source_id| !source_id.is_empty()));
        json.key("source_url").optional_text(snapshot.map(|snapshot| snapshot.url.as_str()));
        json.key("source_version").optional_text(snapshot.map(|snapshot| snapshot.source_version.as_str()));
        json.key("source_date").optional_text(snapshot.map(|snapshot| snapshot.source_date.as_str()));
        json.key("schema_version").text(schema_version);
        json.key("validation_status").text(validation_status);
        json.key("record_id").text(record_id);
    });
}

/// Finds the origins of chosen rows of a part: the file that the row's first pointer names.
///
/// # Errors
/// `Store`, when the pointers cannot be read.
pub fn origins_of_rows(manifest: &Manifest, dataset_id: &str, part: &Part, bytes: Bytes, rows: &[usize]) -> Result<Vec<Origin>> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&index| rows[index]);
    let sorted: Vec<usize> = order.iter().map(|&index| rows[index]).collect();
    let pointers = read_pointers(bytes, &sorted, &part.path)?;
    let inputs = manifest.tasks.get(&part.task_id).map(|task| task.inputs.as_slice()).unwrap_or_default();
    let mut found: BTreeMap<usize, Origin> = BTreeMap::new();
    for (&index, pointers) in order.iter().zip(pointers) {
        let first = pointers.first();
        let named = first.and_then(|pointer| inputs.iter().find(|input| input.sha256 == pointer.snapshot && input.source_id == pointer.source_id));
        found.insert(index, origin(manifest, dataset_id, named.or(inputs.first())));
    }
    Ok(found.into_values().collect())
}

/// The origin of a dataset's records that come from `snapshot`.
pub fn origin(manifest: &Manifest, dataset_id: &str, snapshot: Option<&Snapshot>) -> Origin {
    let schema_version = manifest.datasets.get(dataset_id).map(|dataset| dataset.schema_version.clone()).unwrap_or_default();
    Origin { dataset_id: dataset_id.to_owned(), schema_version, snapshot: snapshot.cloned() }
}
