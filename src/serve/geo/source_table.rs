//! Lists the provenance of rows: each row names its records and their sources, and a table
//! describes each source once.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::geo::area::Area;
use crate::geo::tables::Geo;
use crate::http::parameters::{Kind, Parameter};
use crate::release::provenance::Origin;
use pubdata_core::provenance::Snapshot;

/// Parameter of lists that can state their provenance.
pub const INCLUDE: Parameter =
    Kind::Word(&["provenance"]).described("`provenance`: each row names its records and their sources, and `data.provenance` describes each source once.");

/// Number of digits of a file's digest in the key of its source.
const DIGEST_DIGITS: usize = 12;

/// Sources by key: dataset, source and the first digits of the file's SHA-256.
#[derive(Default, Serialize, JsonSchema)]
pub struct SourceTable<'a>(BTreeMap<String, ListedSource<'a>>);

/// Source of records in a list.
#[derive(Serialize, JsonSchema)]
struct ListedSource<'a> {
    /// Dataset of the records, such as `geo.zcta_metric`.
    dataset_id: &'a str,
    /// Publisher's file family of the records; null if they name no file.
    source_id: Option<&'a str>,
    /// URL of the publisher's file; null if the records name no file.
    source_url: Option<&'a str>,
    /// The publisher's own label of the file, such as `2019-2023`; null if the records name no
    /// file.
    source_version: Option<&'a str>,
    /// The publisher's date of the file, YYYY-MM-DD; null if the records name no file.
    source_date: Option<&'a str>,
    /// Name of the mirror from which the file was fetched instead of the publisher; null if it came
    /// from the publisher or was imported manually.
    source_mirror: Option<&'a str>,
    /// Version of the dataset's contract that the records follow.
    schema_version: &'a str,
}

/// Records, each with the key of its source in `data.provenance`.
#[derive(Serialize, JsonSchema)]
pub struct RecordReferences<'a>(pub Vec<RecordReference<'a>>);

/// A record, with the key of its source.
#[derive(Serialize, JsonSchema)]
pub struct RecordReference<'a> {
    /// Key of the record's source in `data.provenance`.
    source: String,
    /// Result of validation: `passed`, or `passed_with_warnings` if the record carries warnings.
    #[schemars(title = "ValidationStatus", extend("enum" = ["passed", "passed_with_warnings"]))]
    validation_status: &'a str,
    /// Identifier of the record, for `/v1/provenance/{record_id}`.
    record_id: String,
}

impl<'a> SourceTable<'a> {
    /// Adds the source of a record and returns the reference to it.
    pub fn record(
        &mut self,
        (dataset_id, schema_version): (&'a str, &'a str),
        snapshot: Option<&'a Snapshot>,
        validation_status: &'a str,
        record_id: String,
    ) -> RecordReference<'a> {
        let source = key_of(dataset_id, snapshot);
        self.0
            .entry(source.clone())
            .or_insert_with(|| ListedSource {
                dataset_id,
                source_id: snapshot.map(|snapshot| snapshot.source_id.as_str()),
                source_url: snapshot.map(|snapshot| snapshot.url.as_str()),
                source_version: snapshot.map(|snapshot| snapshot.source_version.as_str()),
                source_date: snapshot.map(|snapshot| snapshot.source_date.as_str()),
                source_mirror: snapshot.and_then(|snapshot| snapshot.mirror.as_deref()),
                schema_version,
            });
        RecordReference {
            source,
            validation_status,
            record_id,
        }
    }

    /// Returns references to the records of an area's geography and metrics, if these records
    /// exist.
    pub fn area(
        &mut self,
        geo: &Geo<'_>,
        area: &Area<'a>,
        metrics: &[usize],
    ) -> RecordReferences<'a> {
        let mut references = Vec::new();
        let mut add = |origin: &'a Origin, validation_status, record_id| {
            references.push(self.record(
                (&origin.dataset_id, &origin.schema_version),
                origin.snapshot.as_ref(),
                validation_status,
                record_id,
            ));
        };
        if let Some((places, row)) = area.place
            && let Some(origin) = &places.origin
        {
            add(
                origin,
                places.validation_statuses.at(row),
                places.record_ids.at(row).to_owned(),
            );
        }
        for &metric in metrics {
            if let Some(estimate) = area.estimate(metric) {
                add(
                    estimate.origin,
                    estimate.validation_status,
                    area.record_id(&geo.metric_keys[metric]),
                );
            }
        }
        RecordReferences(references)
    }
}

/// Builds the key of a source: dataset, source and the beginning of the file's digest, which
/// distinguishes two files from the same source.
fn key_of(dataset_id: &str, snapshot: Option<&Snapshot>) -> String {
    match snapshot {
        Some(snapshot) => {
            let digest = snapshot.sha256.to_string();
            [
                dataset_id,
                snapshot.source_id.as_str(),
                digest.get(..DIGEST_DIGITS).unwrap_or(&digest),
            ]
            .join(":")
        }
        None => dataset_id.to_owned(),
    }
}
