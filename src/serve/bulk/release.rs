//! Answers `GET /v1/releases/{release_id}`: what a release holds, part by part with digests, and the files that it was built from.

use std::collections::BTreeSet;

use futures_util::FutureExt;

use super::asked;
use super::causes::write_input;
use crate::described::{verdict, write_counts};
use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::{Kind, Parameter, TextForm, format};
use crate::http::problem::Result;
use crate::json::Json;
use crate::release::manifests::Summary;
use pubdata_store::{DatasetEntry, Manifest, Part, TaskEntry};

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/releases/{release_id}",
    operation_id: "getRelease",
    summary: "A release: its parts with their digests, and the files that it was built from",
    access: Access::Everyone,
    parameters: &[
        format("datasets"),
        Parameter {
            name: "dataset",
            kind: Kind::Form(TextForm { pattern: "^[a-z0-9_]+\\.[a-z0-9_]+$", description: "a dataset id such as `sec.filing`" }),
            description: "Only this dataset, and the builds that its parts are of.",
        },
    ],
    body: None,
    data: Data::Written("Release"),
    validity: Validity::Release,
    handler: Handler::Files(|call, json| describe(call, json).boxed()),
};

async fn describe(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let earlier = asked::release(call).await?;
    let manifest = asked::manifest(call, &earlier);
    let only = call.query.get("dataset");
    let only_parts = only.map(|dataset_id| asked::dataset(manifest, "dataset", dataset_id)).transpose()?;
    let tasks: Option<BTreeSet<&str>> = only_parts.map(|dataset| dataset.parts.iter().map(|part| part.task_id.as_str()).collect());
    let summary = Summary::of(manifest);
    let total = summary.total();
    json.object(|json| {
        json.key("release_id").text(manifest.release_id.as_str());
        json.key("is_current").flag(earlier.is_none());
        json.key("published_at").instant(&manifest.published_at);
        json.key("run_id").text(&manifest.run_id);
        json.key("pubdata_version").text(&manifest.pubdata_version);
        json.key("is_sample").flag(manifest.is_sample);
        json.key("rows").count(total.rows);
        json.key("parts").count(total.parts);
        json.key("size_bytes").count(total.size_bytes);
        json.key("datasets").array(|json| {
            for (dataset_id, dataset) in manifest.datasets.iter().filter(|(dataset_id, _)| only.is_none_or(|only| *dataset_id == only)) {
                let size_bytes = summary.datasets.get(dataset_id).map_or(0, |sums| sums.size_bytes);
                json.object(|json| write_dataset(json, call, manifest, (dataset_id, dataset), size_bytes));
            }
        });
        json.key("tasks").array(|json| {
            for (task_id, task) in manifest.tasks.iter().filter(|(task_id, _)| tasks.as_ref().is_none_or(|tasks| tasks.contains(task_id.as_str()))) {
                json.object(|json| write_task(json, task_id, task));
            }
        });
    });
    Ok(Meta { release: earlier, ..Meta::default() })
}

fn write_dataset(json: &mut Json, call: &Call<'_>, manifest: &Manifest, (dataset_id, dataset): (&str, &DatasetEntry), size_bytes: u64) {
    let notes: BTreeSet<String> = dataset.parts.iter().flat_map(|part| &part.report.notes).map(|note| call.service.told(note)).collect();
    json.key("dataset_id").text(dataset_id);
    json.key("schema_version").text(&dataset.schema_version);
    json.key("size_bytes").count(size_bytes);
    json.key("validation_status").text(verdict(dataset));
    write_counts(json, manifest, dataset_id);
    json.key("notes").texts(notes.iter().map(String::as_str));
    json.key("parts").array(|json| {
        for part in &dataset.parts {
            json.object(|json| {
                write_part(json, part);
                json.key("task_id").text(&part.task_id);
            });
        }
    });
}

/// A part, as far as it is known before it is read.
pub fn write_part(json: &mut Json, part: &Part) {
    json.key("path").text(&part.path);
    json.key("partition").value(&part.partition);
    json.key("rows").count(part.rows);
    json.key("size_bytes").count(part.size_bytes);
    json.key("sha256").text(&part.sha256.to_string());
}

fn write_task(json: &mut Json, task_id: &str, task: &TaskEntry) {
    json.key("task_id").text(task_id);
    json.key("pipeline_id").text(&task.pipeline_id);
    json.key("publisher").text(&task.publisher);
    json.key("licence").text(&task.licence);
    json.key("built_at").text(&task.built_at);
    json.key("input_hash").text(&task.input_hash.to_string());
    json.key("declaration_hash").text(&task.declaration_hash.to_string());
    json.key("contracts_hash").text(&task.contracts_hash.to_string());
    json.key("code_version").text(&task.code_version);
    json.key("inputs").array(|json| task.inputs.iter().for_each(|input| json.object(|json| write_input(json, input))));
}
