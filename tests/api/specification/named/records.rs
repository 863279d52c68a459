//! Checks records of the geographic and financials APIs, and their provenance.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::same;
use crate::specification::Desk;

/// Records of an answer, and those with complete provenance: their own, or a reference to a source
/// in the table `data.provenance`.
#[derive(Default)]
struct Records {
    all: BTreeSet<String>,
    traced: BTreeSet<String>,
}

impl Records {
    fn new(data: &Value) -> Self {
        let mut records = Self::default();
        records.read(data, &data["provenance"]);
        records
    }

    fn read(&mut self, value: &Value, table: &Value) {
        let has = |value: &Value, names: &[&str]| names.iter().all(|name| value[*name].is_string());
        let is_source = |value: &Value| {
            has(
                value,
                &["dataset_id", "source_id", "source_version", "source_date"],
            )
        };
        match value {
            Value::Object(members) => {
                let is_reference = has(value, &["source", "validation_status"]);
                let is_traced = is_source(value) && has(value, &["validation_status"]);
                if let Some(record_id) = value["record_id"].as_str() {
                    let is_known = is_traced
                        || (is_reference
                            && value["source"]
                                .as_str()
                                .is_some_and(|key| is_source(&table[key])));
                    if is_known {
                        self.traced.insert(record_id.to_owned());
                    } else {
                        self.all.insert(record_id.to_owned());
                    }
                }
                // The first reported value is a part of the value.
                members
                    .iter()
                    .filter(|(name, _)| *name != "first_reported")
                    .for_each(|(_, member)| self.read(member, table));
            }
            Value::Array(items) => items.iter().for_each(|item| self.read(item, table)),
            _ => {}
        }
    }

    fn untraced(&self) -> Vec<&String> {
        self.all.difference(&self.traced).collect()
    }
}

pub async fn every_record_has_provenance(desk: &Desk) -> Result<(), String> {
    let mut failures = Vec::new();
    for path in [
        "/v1/geo-demographics/locations/90210",
        "/v1/geo-demographics/locations/90210/demographics",
        "/v1/geo-demographics/locations/90210/schools",
        "/v1/geo-demographics/counties/06037",
        "/v1/geo-demographics/counties/06037/locations?metric=population&include=provenance",
        "/v1/geo-demographics/states/CA/counties?metric=population&include=provenance",
        "/v1/geo-demographics/metrics/population?include=provenance",
        "/v1/sec/companies/search?name=apple",
        "/v1/sec/companies/320193",
        "/v1/sec/companies/320193/filings",
        "/v1/sec/companies/320193/financials",
        "/v1/sec/financials/compare?metric=revenue&ciks=320193,1045810",
        "/v1/sec/financials/frames/revenue?fiscal_year=2024",
    ] {
        let reply = desk.get(path).await;
        let records = Records::new(&reply.body["data"]);
        let untraced = records.untraced();
        if reply.status != 200 || records.traced.is_empty() {
            failures.push(format!(
                "GET {path}: status {}, {} records with provenance",
                reply.status,
                records.traced.len()
            ));
        }
        failures.extend((!untraced.is_empty()).then(|| {
            format!(
                "GET {path}: {} records without provenance, such as {}",
                untraced.len(),
                untraced[0]
            )
        }));
    }
    let reply = desk
        .post(
            "/v1/geo-demographics/locations/compare",
            &json!({"locations": ["90210", "95120"]}),
        )
        .await;
    let records = Records::new(&json!([
        reply.body["data"]["comparisons"],
        reply.body["data"]["provenance"]
    ]));
    same(
        "figures of a comparison that have provenance",
        records.traced.len(),
        24,
    )?;
    failures.extend(
        records
            .untraced()
            .into_iter()
            .map(|record_id| format!("POST compare: {record_id}")),
    );
    same("records without provenance", failures, Vec::new())
}

#[test]
fn record_without_complete_provenance_is_reported() {
    let source = json!({"dataset_id": "a", "source_id": "b", "source_version": "1", "source_date": "2026-01-01"});
    let whole = |record_id: &str| {
        let mut whole = source.clone();
        whole["validation_status"] = json!("passed");
        whole["record_id"] = json!(record_id);
        whole
    };
    let reference = |key: &str, record_id: &str| json!({"source": key, "validation_status": "passed", "record_id": record_id});
    let data = json!({
        "provenance": {"k": source, "broken": {"dataset_id": "a"}},
        "rows": [
            {"record_id": "r1"},
            {"record_id": "r2", "provenance": [reference("k", "r2")]},
            {"record_id": "r3", "provenance": [reference("none", "r3")]},
            {"record_id": "r4", "provenance": [reference("broken", "r4")]},
            {"record_id": "r5", "provenance": whole("r5"), "inner": {"record_id": "r6"}, "first_reported": {"record_id": "r7"}},
        ],
    });
    assert_eq!(Records::new(&data).untraced(), ["r1", "r3", "r4", "r6"]);
}
