//! Renders the status of every dataset: freshness, late editions, failed updates with reasons, row
//! counts over the last releases, and quarantined records by rule.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::FutureExt;
use futures_util::future::try_join_all;
use minijinja::Value;
use serde_json::Value as Json;

use super::chart::sparkline;
use super::templates::{context, segment};
use super::visit::Visit;
use super::{Made, Page};
use crate::http::problem::Result;
use crate::release::freshness::summary_of_states;
use pubdata_store::Scope;

pub const PAGES: &[Page] = &[Page {
    path: "/status",
    make: |visit| status(visit).boxed(),
}];

async fn status(visit: &Visit<'_>) -> Result<Made> {
    let coverage = visit.ask("/v1/coverage".to_owned()).await?;
    let datasets: Vec<&Json> = coverage["data"]["datasets"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    let details = datasets
        .iter()
        .filter_map(|dataset| dataset["dataset_id"].as_str())
        .map(|id| visit.ask(format!("/v1/datasets/{}", segment(id))));
    let details = try_join_all(details).await?;
    let mut rows: Vec<StatusRow> = datasets
        .iter()
        .zip(&details)
        .map(|(dataset, details)| StatusRow::new(dataset, &details["data"]))
        .collect();
    // Datasets that need an operator come first.
    rows.sort_by_key(|row| row.urgency);
    let is_admin = visit.visitor.is_keyed && visit.visitor.client.scopes.contains(&Scope::Admin);
    let runs = if is_admin {
        visit.ask("/v1/admin/status".to_owned()).await?
    } else {
        Json::Null
    };
    let summary = summary_of_states(
        datasets
            .iter()
            .filter_map(|dataset| dataset["state"].as_str()),
    );
    let rows: Vec<Value> = rows.into_iter().map(|row| row.shown).collect();
    let without_records = &coverage["data"]["without_records"];
    // A line needs two releases.
    let has_history = details.iter().any(|details| {
        details["data"]["history"]
            .as_array()
            .is_some_and(|releases| releases.len() > 1)
    });
    let published_at = datasets.first().map(|dataset| &dataset["published_at"]);
    Ok(Made::Page(
        "status.html",
        context! { rows, has_history, without_records, summary, runs => runs["data"]["runs"], published_at },
    ))
}

/// Returns the state of each dataset from the answer of `/v1/coverage`.
pub fn states_by_dataset(coverage: &Json) -> BTreeMap<String, String> {
    let datasets = coverage["data"]["datasets"]
        .as_array()
        .into_iter()
        .flatten();
    datasets
        .filter_map(|dataset| {
            Some((
                dataset["dataset_id"].as_str()?.to_owned(),
                dataset["state"].as_str()?.to_owned(),
            ))
        })
        .collect()
}

/// Returns the first day on which an expected edition is late.
fn next_due(details: &Json) -> Option<&str> {
    details["expected"]
        .as_array()?
        .iter()
        .filter_map(|source| source["late_from"].as_str())
        .min()
}

struct StatusRow {
    urgency: u8,
    shown: Value,
}

impl StatusRow {
    fn new(dataset: &Json, details: &Json) -> Self {
        let partitions: Vec<&Json> = dataset["partitions"]
            .as_array()
            .into_iter()
            .flatten()
            .collect();
        let texts = |name: &str| {
            partitions
                .iter()
                .filter_map(|partition| partition[name].as_str())
                .map(str::to_owned)
                .collect::<BTreeSet<String>>()
        };
        let (reasons, late_since) = (
            texts("stale_reason"),
            texts("late_since").into_iter().next(),
        );
        let state = dataset["state"].as_str().unwrap_or_default();
        let urgency = match state {
            "not_updated" => 0,
            "late" => 1,
            "fresh" => 3,
            _ => 2,
        };
        let counts: Vec<u64> = details["history"]
            .as_array()
            .into_iter()
            .flatten()
            .rev()
            .filter_map(|release| release["rows"].as_u64())
            .collect();
        let title = format!("Records in the last {} releases", counts.len());
        let shown = context! {
            dataset, state, urgency, reasons, late_since, chart => sparkline(&title, &counts), releases => counts.len(), next => next_due(details),
            quarantined => dataset["quarantined"], findings => dataset["findings"],
        };
        Self { urgency, shown }
    }
}
