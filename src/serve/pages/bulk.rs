//! Datasets and releases: what is published, its columns, licence, evidence and known issues, how to read it elsewhere, and what changed from one release to
//! the next.

use std::collections::BTreeSet;

use futures_util::FutureExt;
use minijinja::Value;
use minijinja::value::Serde;
use serde_json::Value as Json;

use super::chart::{sparkline, states};
use super::templates::{context, segment};
use super::visit::{Visit, target};
use super::{Made, Page};
use crate::serve::http::problem::Result;

pub const PAGES: &[Page] = &[
    Page { path: "/datasets", make: |visit| datasets(visit).boxed() },
    Page { path: "/datasets/{dataset_id}", make: |visit| dataset(visit).boxed() },
    Page { path: "/releases", make: |visit| releases(visit).boxed() },
    Page { path: "/releases/{release_id}", make: |visit| release(visit).boxed() },
];

async fn datasets(visit: &Visit<'_>) -> Result<Made> {
    let answer = visit.ask("/v1/datasets".to_owned()).await?;
    Ok(Made::Page("datasets.html", context! { datasets => answer["data"]["datasets"] }))
}

async fn dataset(visit: &Visit<'_>) -> Result<Made> {
    let id = segment(visit.value("dataset_id"));
    let dataset = visit.ask(format!("/v1/datasets/{id}")).await?;
    let coverage = visit.ask("/v1/coverage".to_owned()).await?;
    let covered = coverage["data"]["datasets"].as_array().into_iter().flatten().find(|known| known["dataset_id"] == visit.value("dataset_id"));
    let covered = covered.cloned().unwrap_or_default();
    let counts: Vec<u64> = dataset["data"]["history"].as_array().into_iter().flatten().rev().filter_map(|release| release["rows"].as_u64()).collect();
    let in_states = states_of(&covered);
    let map = if in_states.is_empty() { String::new() } else { states("States that the dataset covers", &in_states) };
    let release_id = dataset["meta"]["release"]["release_id"].as_str().unwrap_or("current").to_owned();
    let files = visit.ask_if_there(format!("/v1/releases/{release_id}/datasets/{id}")).await?;
    let context = context! {
        dataset => dataset["data"], coverage => covered, chart => sparkline("Records over the last releases", &counts), map, release => release_id,
        files => files["data"],
    };
    Ok(Made::Page("dataset.html", context))
}

/// The states that the partitions of a dataset name.
fn states_of(coverage: &Json) -> BTreeSet<String> {
    let partitions = coverage["partitions"].as_array().into_iter().flatten().map(|partition| &partition["partition"]);
    let named = partitions.filter_map(|partition| {
        let of_jurisdiction = || partition["jurisdiction"].as_str()?.split('-').nth(1).map(str::to_uppercase);
        partition["state"].as_str().map(str::to_owned).or_else(of_jurisdiction)
    });
    named.collect()
}

async fn releases(visit: &Visit<'_>) -> Result<Made> {
    let answer = visit.ask(target("/v1/releases", &[("cursor", visit.parameter("cursor"))])).await?;
    Ok(Made::Page("releases.html", context! { releases => answer["data"]["releases"], page => answer["meta"]["page"] }))
}

/// A release by its id, or what is other in the second of two: `A..B`.
async fn release(visit: &Visit<'_>) -> Result<Made> {
    let asked = visit.value("release_id");
    let (since, id) = match asked.split_once("..") {
        Some((since, id)) => (Some(since), id),
        None => (None, asked),
    };
    let release = visit.ask(format!("/v1/releases/{}", segment(id))).await?;
    let changes = visit.ask_if_there(target(&format!("/v1/releases/{}/changes", segment(id)), &[("since", since)])).await?;
    let changed: Vec<Value> = changes["data"]["datasets"].as_array().into_iter().flatten().map(|dataset| Value::from(Serde(dataset))).collect();
    Ok(Made::Page("release.html", context! { release => release["data"], changes => changes["data"], changed, id }))
}
