//! Answers `GET /v1/releases/{release_id}`: shows the contents of a release, part by part with
//! digests, and the files that the release was built from.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;

use super::causes::SourceFile;
use super::query;
use crate::answer::{Instant, Sha256};
use crate::dataset_summary::{Counts, notes, verdict};
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::Meta;
use crate::http::parameters::{Kind, RELEASE_ID, TextForm, format};
use crate::http::problem::Result;
use crate::json::Json;
use crate::release::manifests::Summary;
use pubdata_store::{DatasetEntry, Manifest, Part, TaskEntry};

query! {
    pub struct Parameters<'a> {
        ..format("datasets"),
        /// Only this dataset, and the builds of its parts.
        dataset: Option<&'a str> = Kind::Form(TextForm { pattern: "^[a-z0-9_]+\\.[a-z0-9_]+$", description: "a dataset id such as `sec.filing`" }),
    }
}

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/releases/{release_id}",
    operation_id: "getRelease",
    summary: "A release: its parts with their digests, and the files that it was built from",
    access: Access::Everyone,
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Release<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| describe(call, json).boxed()),
};

#[derive(Serialize, JsonSchema)]
struct Release<'a> {
    /// Identifier of the release.
    #[schemars(extend("pattern" = RELEASE_ID.pattern))]
    release_id: &'a str,
    /// True if the release currently answers requests.
    is_current: bool,
    /// Time at which the release was published, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    published_at: Instant<'a>,
    /// Identifier of the run that made the release.
    run_id: &'a str,
    /// Version of the program that made the release.
    pubdata_version: &'a str,
    /// True if the release was built from sample files instead of the publishers' complete files.
    is_sample: bool,
    /// Number of records in all datasets.
    rows: u64,
    /// Number of Parquet files.
    parts: u64,
    /// Size of all Parquet files in bytes.
    size_bytes: u64,
    /// Datasets in the release.
    datasets: Vec<ReleaseDataset<'a>>,
    /// Builds in the release. Each build covers a pipeline and one partition.
    tasks: Vec<ReleaseTask<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct ReleaseDataset<'a> {
    /// Identifier of the dataset, such as `permit.permit`.
    dataset_id: &'a str,
    /// Version of the contract that the release was made with.
    schema_version: &'a str,
    /// Size of the dataset's Parquet files in bytes.
    size_bytes: u64,
    /// Result of validation: `passed`, or `passed_with_warnings` if any record carries warnings.
    /// Data that fail validation are not published.
    #[schemars(extend("enum" = ["passed", "passed_with_warnings"]))]
    validation_status: &'static str,
    #[serde(flatten)]
    counts: Counts<'a>,
    /// Issues about totals that did not block the build.
    #[schemars(with = "Vec<String>")]
    notes: BTreeSet<String>,
    /// Parquet files of the dataset.
    parts: Vec<BuiltPart<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReleaseDatasetPart")]
struct BuiltPart<'a> {
    #[serde(flatten)]
    file: PartFile<'a>,
    /// Task that built the file.
    task_id: &'a str,
}

// Part as its manifest entry describes it.
#[derive(Serialize, JsonSchema)]
pub struct PartFile<'a> {
    /// Path below the release, which a copy should use as its name.
    path: &'a str,
    /// Column and value that all rows of the file share; `bucket` only distributes rows across
    /// files.
    partition: &'a BTreeMap<String, String>,
    /// Number of records in the file.
    rows: u64,
    /// Size of the file in bytes.
    size_bytes: u64,
    /// SHA-256 digest of the file, in hexadecimal.
    sha256: Sha256,
}

#[derive(Serialize, JsonSchema)]
struct ReleaseTask<'a> {
    /// Identifier of the task: a pipeline and its partition, such as `census.acs5/vintage=2023`.
    task_id: &'a str,
    /// Identifier of the pipeline, such as `census.acs5`.
    pipeline_id: &'a str,
    /// Publisher of the source files.
    publisher: &'a str,
    /// Licence of the source files.
    licence: &'a str,
    /// Time of the build, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    built_at: &'a str,
    /// Hash of the inputs, declaration, contracts and code. Equal hashes mean equal builds.
    input_hash: Sha256,
    /// SHA-256 digest of the pipeline's declaration, in hexadecimal.
    declaration_hash: Sha256,
    /// SHA-256 digest of the contracts that the task fills, in hexadecimal.
    contracts_hash: Sha256,
    /// Version of the code that built the task.
    code_version: &'a str,
    /// Source files that the task was built from.
    inputs: Vec<SourceFile<'a>>,
}

async fn describe(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let earlier = query::release(call).await?;
    let manifest = query::manifest(call, &earlier);
    let Parameters { dataset: only } = Parameters::read(call)?;
    let only_parts = only
        .map(|dataset_id| query::dataset(manifest, "dataset", dataset_id))
        .transpose()?;
    let only_tasks: Option<BTreeSet<&str>> = only_parts.map(|dataset| {
        dataset
            .parts
            .iter()
            .map(|part| part.task_id.as_str())
            .collect()
    });
    let summary = Summary::from_manifest(manifest);
    let total = summary.total();
    let datasets = manifest
        .datasets
        .iter()
        .filter(|(dataset_id, _)| only.is_none_or(|only| *dataset_id == only));
    let tasks = manifest.tasks.iter().filter(|(task_id, _)| {
        only_tasks
            .as_ref()
            .is_none_or(|tasks| tasks.contains(task_id.as_str()))
    });
    json.value(&Release {
        release_id: manifest.release_id.as_str(),
        is_current: earlier.is_none(),
        published_at: Instant(&manifest.published_at),
        run_id: &manifest.run_id,
        pubdata_version: &manifest.pubdata_version,
        is_sample: manifest.is_sample,
        rows: total.rows,
        parts: total.parts,
        size_bytes: total.size_bytes,
        datasets: datasets
            .map(|(dataset_id, dataset)| ReleaseDataset::new(call, manifest, dataset_id, dataset))
            .collect(),
        tasks: tasks
            .map(|(task_id, task)| ReleaseTask::new(task_id, task))
            .collect(),
    });
    Ok(Meta {
        release: earlier,
        ..Meta::default()
    })
}

impl<'a> ReleaseDataset<'a> {
    fn new(
        call: &Call<'_>,
        manifest: &'a Manifest,
        dataset_id: &'a str,
        dataset: &'a DatasetEntry,
    ) -> Self {
        Self {
            dataset_id,
            schema_version: &dataset.schema_version,
            size_bytes: dataset.parts.iter().map(|part| part.size_bytes).sum(),
            validation_status: verdict(dataset),
            counts: Counts::for_dataset(manifest, dataset_id),
            notes: notes(call, &dataset.parts),
            parts: dataset
                .parts
                .iter()
                .map(|part| BuiltPart {
                    file: PartFile::from_part(part),
                    task_id: &part.task_id,
                })
                .collect(),
        }
    }
}

impl<'a> PartFile<'a> {
    pub fn from_part(part: &'a Part) -> Self {
        Self {
            path: &part.path,
            partition: &part.partition,
            rows: part.rows,
            size_bytes: part.size_bytes,
            sha256: Sha256(part.sha256),
        }
    }
}

impl<'a> ReleaseTask<'a> {
    fn new(task_id: &'a str, task: &'a TaskEntry) -> Self {
        Self {
            task_id,
            pipeline_id: &task.pipeline_id,
            publisher: &task.publisher,
            licence: &task.licence,
            built_at: &task.built_at,
            input_hash: Sha256(task.input_hash),
            declaration_hash: Sha256(task.declaration_hash),
            contracts_hash: Sha256(task.contracts_hash),
            code_version: &task.code_version,
            inputs: task.inputs.iter().map(SourceFile::from_snapshot).collect(),
        }
    }
}
