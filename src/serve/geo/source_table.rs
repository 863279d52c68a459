//! The provenance of lists: each row names its records and their sources, and a table describes each source once.

use std::collections::BTreeMap;

use crate::geo::area::Area;
use crate::geo::tables::Geo;
use crate::http::endpoint::Call;
use crate::http::parameters::{Kind, Parameter};
use crate::json::Json;
use crate::release::provenance::Origin;

/// The parameter of lists that can state their provenance.
pub const INCLUDE: Parameter = Parameter {
    name: "include",
    kind: Kind::Word(&["provenance"]),
    description: "`provenance`: each row names its records and their sources, and `data.provenance` describes each source once.",
};

/// Digits of a file's digest in the key of its source.
const DIGEST_DIGITS: usize = 12;

/// The sources that the rows of a list come from, by key.
#[derive(Default)]
pub struct SourceTable(BTreeMap<String, Origin>);

impl SourceTable {
    /// The table of a list, where the request asks for it.
    pub fn asked(call: &Call<'_>) -> Option<Self> {
        call.query.get("include").map(|_| Self::default())
    }

    /// Writes the reference of a record to its source.
    pub fn write_record(&mut self, json: &mut Json, origin: &Origin, validation_status: &str, record_id: &str) {
        let key = key_of(origin);
        json.object(|json| {
            json.key("source").text(&key);
            json.key("validation_status").text(validation_status);
            json.key("record_id").text(record_id);
        });
        self.0.entry(key).or_insert_with(|| origin.clone());
    }

    /// Writes the references of an area's place and of its metrics, as far as they have records.
    pub fn write_area(&mut self, json: &mut Json, geo: &Geo<'_>, area: &Area<'_>, metrics: &[usize]) {
        if let Some((places, row)) = area.place
            && let Some(origin) = &places.origin
        {
            self.write_record(json, origin, places.validation_statuses.at(row), places.record_ids.at(row));
        }
        for &metric in metrics {
            if let Some(estimate) = area.estimate(metric) {
                self.write_record(json, estimate.origin, estimate.validation_status, &area.record_id(&geo.metric_keys[metric]));
            }
        }
    }

    /// Writes the sources by key.
    pub fn write(&self, json: &mut Json) {
        json.object(|json| {
            for (key, Origin { dataset_id, schema_version, snapshot }) in &self.0 {
                let snapshot = snapshot.as_ref();
                json.key(key).object(|json| {
                    json.key("dataset_id").text(dataset_id);
                    json.key("source_id").optional_text(snapshot.map(|snapshot| snapshot.source_id.as_str()));
                    json.key("source_url").optional_text(snapshot.map(|snapshot| snapshot.url.as_str()));
                    json.key("source_version").optional_text(snapshot.map(|snapshot| snapshot.source_version.as_str()));
                    json.key("source_date").optional_text(snapshot.map(|snapshot| snapshot.source_date.as_str()));
                    json.key("source_mirror").optional_text(snapshot.and_then(|snapshot| snapshot.mirror.as_deref()));
                    json.key("schema_version").text(schema_version);
                });
            }
        });
    }
}

/// Dataset, source and the beginning of its file's digest: two files of one source differ in it.
fn key_of(origin: &Origin) -> String {
    match &origin.snapshot {
        Some(snapshot) => {
            let digest = snapshot.sha256.to_string();
            [origin.dataset_id.as_str(), snapshot.source_id.as_str(), digest.get(..DIGEST_DIGITS).unwrap_or(&digest)].join(":")
        }
        None => origin.dataset_id.clone(),
    }
}
