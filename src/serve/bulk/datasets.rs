//! Answers `GET /v1/datasets`: lists the datasets in the release, with one line per dataset.

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer;
use crate::dataset_summary::{Origin, newest_date, tasks_of};
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, RELEASE, format};
use crate::http::problem::Result;
use crate::json::Json;
use crate::release::freshness::Freshness;
use crate::release::manifests::Summary;
use pubdata_store::{DatasetEntry, Manifest};

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/datasets",
    operation_id: "listDatasets",
    summary: "The datasets of the release",
    access: Access::Everyone,
    parameters: &[format("datasets"), RELEASE, AS_OF],
    body: None,
    data: Data::for_type::<Datasets<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Memory(list),
};

#[derive(Serialize, JsonSchema)]
struct Datasets<'a> {
    /// The datasets in the release, by identifier.
    datasets: Vec<DatasetLine<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct DatasetLine<'a> {
    /// Identifier of the dataset, such as `permit.permit`.
    dataset_id: &'a str,
    /// First segment of the dataset's identifier, such as `permit`.
    family: &'a str,
    /// Name of the dataset; null if this server has no contract for it.
    title: Option<&'a str>,
    /// Meaning of one row; null if this server has no contract for the dataset.
    grain: Option<&'a str>,
    /// Number of records in the dataset.
    rows: u64,
    /// Number of quarantined records.
    quarantined_rows: u64,
    /// Number of columns; null if this server has no contract for the dataset.
    columns: Option<usize>,
    /// Number of Parquet files.
    parts: u64,
    /// Size of all Parquet files of the dataset, in bytes.
    size_bytes: u64,
    #[serde(flatten)]
    origin: Origin,
    /// Age of the dataset's newest source file compared with the publisher's cadence.
    freshness: Freshness,
    /// Day since which the publisher's next edition is late by its calendar; null when on time.
    #[schemars(with = "Option<answer::Date>")]
    late_since: Option<Date>,
    /// Date of the newest source file, YYYY-MM-DD; null if no file has a date.
    #[schemars(extend("format" = "date"))]
    source_date: Option<String>,
}

fn list<'a>(call: &'a Call<'_>, json: &mut Json) -> Result<Meta> {
    let manifest = &call.release.manifest;
    let (summary, freshness) = (
        Summary::from_manifest(manifest),
        call.release.freshness(call.today()),
    );
    let line = |(dataset_id, dataset): (&'a String, &'a DatasetEntry)| {
        let contract = call.contracts().get(dataset_id);
        let sums = summary
            .datasets
            .get(dataset_id)
            .copied()
            .unwrap_or_default();
        DatasetLine {
            dataset_id,
            family: family(dataset_id),
            title: contract.map(|contract| contract.title.as_str()),
            grain: contract.map(|contract| contract.grain.as_str()),
            rows: sums.rows,
            quarantined_rows: sums.quarantined_rows,
            columns: contract.map(|contract| contract.columns.len()),
            parts: sums.parts,
            size_bytes: sums.size_bytes,
            origin: Origin::from_tasks(&tasks_of(manifest, dataset)),
            freshness: freshness.get(dataset_id),
            late_since: late_since(call, manifest, dataset),
            source_date: newest_date(manifest, &dataset.parts),
        }
    };
    json.value(&Datasets {
        datasets: manifest.datasets.iter().map(line).collect(),
    });
    Ok(Meta::default())
}

/// Returns the first segment of a dataset's id.
pub fn family(dataset_id: &str) -> &str {
    dataset_id.split('.').next().unwrap_or_default()
}

/// Returns the day since which an edition of the dataset's sources is late.
pub fn late_since(call: &Call<'_>, manifest: &Manifest, dataset: &DatasetEntry) -> Option<Date> {
    dataset
        .parts
        .iter()
        .filter_map(|part| manifest.late_since(&part.task_id, call.today()))
        .min()
}
