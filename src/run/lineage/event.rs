//! Serialises events and facets as specified by OpenLineage 2-0-2, using the facet versions that
//! were current in 2026-11.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};

use pubdata_core::ids::Digest;

/// Prefix of the specification's schema names. These are only names; no requests are sent to them.
const SPECIFICATION: &str = "openlineage.io/spec";

/// Version of the events.
const EVENT_VERSION: &str = "2-0-2";

/// Schema version and name of each facet, by the facet's key in an event.
const FACETS: [(&str, &str, &str); 14] = [
    ("columnLineage", "1-2-0", "ColumnLineageDatasetFacet"),
    (
        "dataQualityMetrics",
        "1-0-1",
        "DataQualityMetricsDatasetFacet",
    ),
    ("dataSource", "1-0-1", "DatasourceDatasetFacet"),
    ("documentation", "1-1-0", "DocumentationJobFacet"),
    ("errorMessage", "1-0-1", "ErrorMessageRunFacet"),
    (
        "inputStatistics",
        "1-0-0",
        "InputStatisticsInputDatasetFacet",
    ),
    ("jobType", "2-0-4", "JobTypeJobFacet"),
    (
        "outputStatistics",
        "1-0-2",
        "OutputStatisticsOutputDatasetFacet",
    ),
    ("parent", "1-2-0", "ParentRunFacet"),
    ("processing_engine", "1-1-1", "ProcessingEngineRunFacet"),
    ("schema", "1-2-0", "SchemaDatasetFacet"),
    ("sourceCode", "1-0-1", "SourceCodeJobFacet"),
    ("tags", "1-0-0", "TagsRunFacet"),
    ("version", "1-0-1", "DatasetVersionDatasetFacet"),
];

/// Type of an event in a run's life cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum EventType {
    Start,
    Complete,
    Fail,
    /// Neither of these types, for example a test event.
    Other,
}

/// Facets by key.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(transparent)]
pub(super) struct Facets(Map<String, Value>);

impl Facets {
    /// Adds a facet, given as an object with the fields of its schema, and returns the facets.
    pub(super) fn with(mut self, key: &str, fields: Value) -> Self {
        self.add(key, fields);
        self
    }

    /// Adds a facet in place.
    pub(super) fn add(&mut self, key: &str, mut fields: Value) {
        let (_, version, name) = FACETS
            .iter()
            .find(|(known, _, _)| *known == key)
            .expect("a facet of the table");
        fields["_producer"] = producer().into();
        fields["_schemaURL"] =
            format!("https://{SPECIFICATION}/facets/{version}/{name}.json#/$defs/{name}").into();
        self.0.insert(key.to_owned(), fields);
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A job and one run of it.
#[derive(Debug, Clone)]
pub(super) struct JobRun {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) run_id: String,
}

impl JobRun {
    /// Returns the facet for runs that are part of this run.
    pub(super) fn as_parent(&self) -> Value {
        json!({ "run": { "runId": self.run_id }, "job": { "namespace": self.namespace, "name": self.name } })
    }
}

/// A file that was read, or a dataset that was built.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Dataset {
    pub(super) namespace: String,
    pub(super) name: String,
    #[serde(skip_serializing_if = "Facets::is_empty")]
    pub(super) facets: Facets,
    #[serde(rename = "inputFacets", skip_serializing_if = "Facets::is_empty")]
    pub(super) input_facets: Facets,
    #[serde(rename = "outputFacets", skip_serializing_if = "Facets::is_empty")]
    pub(super) output_facets: Facets,
}

/// One event.
#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) event_type: EventType,
    pub(super) at: Timestamp,
    pub(super) of: JobRun,
    pub(super) run_facets: Facets,
    pub(super) job_facets: Facets,
    pub(super) inputs: Vec<Dataset>,
    pub(super) outputs: Vec<Dataset>,
}

impl Event {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "eventType": self.event_type,
            "eventTime": instant(self.at),
            "run": { "runId": self.of.run_id, "facets": self.run_facets },
            "job": { "namespace": self.of.namespace, "name": self.of.name, "facets": self.job_facets },
            "inputs": self.inputs,
            "outputs": self.outputs,
            "producer": producer(),
            "schemaURL": format!("https://{SPECIFICATION}/{EVENT_VERSION}/OpenLineage.json#/$defs/RunEvent"),
        })
    }
}

/// Returns the event producer, which is the package URL of this version of the program.
fn producer() -> String {
    format!("pkg:generic/pubdata@{}", env!("CARGO_PKG_VERSION"))
}

/// Formats an instant with millisecond precision, which all readers accept.
fn instant(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Returns the id of a job's run, which is a version 7 UUID, as the specification recommends. It
/// consists of the run's start time and a hash of the names.
pub(super) fn uuid(began_at: Timestamp, names: &[&str]) -> String {
    let instant = u64::try_from(began_at.as_millisecond())
        .unwrap_or(0)
        .to_be_bytes();
    let digest = Digest::sha256(format!("{began_at}\n{}", names.join("\n")).as_bytes());
    let mut bytes = [0_u8; 16];
    bytes[..6].copy_from_slice(&instant[2..]);
    bytes[6..].copy_from_slice(&digest.as_bytes()[..10]);
    bytes[6] = (bytes[6] & 0x0f) | 0x70;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ]
    .join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_id_is_a_uuid_of_its_instant_and_all_its_names() {
        // The version 7 example from RFC 9562, appendix A.6.
        let instant: Timestamp = "2022-02-22T14:22:22-05:00".parse().unwrap();
        let id = uuid(instant, &["run", "task"]);
        assert!(id.starts_with("017f22e2-79b0-7"), "{id}");
        assert!("89ab".contains(&id[19..20]) && id.len() == 36, "{id}");
        assert_eq!(id, uuid(instant, &["run", "task"]));
        assert_ne!(id, uuid(instant, &["run", "other"]));
    }
}
