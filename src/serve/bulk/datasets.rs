//! Answers `GET /v1/datasets`: every dataset of the release on one line each.

use crate::described::{Origin, newest_date, tasks_of};
use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, RELEASE, format};
use crate::http::problem::Result;
use crate::json::Json;
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
    data: Data::Written("Datasets"),
    validity: Validity::Release,
    handler: Handler::Memory(list),
};

fn list(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let manifest = &call.release.manifest;
    let (summary, freshness) = (Summary::of(manifest), call.release.freshness(call.today()));
    json.object(|json| {
        json.key("datasets").array(|json| {
            for (dataset_id, dataset) in &manifest.datasets {
                let contract = call.contracts().get(dataset_id);
                let sums = summary.datasets.get(dataset_id).copied().unwrap_or_default();
                json.object(|json| {
                    json.key("dataset_id").text(dataset_id);
                    json.key("family").text(family(dataset_id));
                    json.key("title").optional_text(contract.map(|contract| contract.title.as_str()));
                    json.key("grain").optional_text(contract.map(|contract| contract.grain.as_str()));
                    json.key("rows").count(sums.rows);
                    json.key("quarantined_rows").count(sums.quarantined_rows);
                    json.key("columns").optional_integer(contract.and_then(|contract| i64::try_from(contract.columns.len()).ok()));
                    json.key("parts").count(sums.parts);
                    json.key("size_bytes").count(sums.size_bytes);
                    Origin::of(&tasks_of(manifest, dataset)).write(json);
                    json.key("freshness").text(freshness.of(dataset_id).name());
                    json.key("late_since").optional_text(late_since(call, manifest, dataset).as_deref());
                    json.key("source_date").optional_text(newest_date(manifest, &dataset.parts).as_deref());
                });
            }
        });
    });
    Ok(Meta::default())
}

/// The first word of a dataset's id.
pub fn family(dataset_id: &str) -> &str {
    dataset_id.split('.').next().unwrap_or_default()
}

/// The day since which an edition of the dataset's sources is late.
pub fn late_since(call: &Call<'_>, manifest: &Manifest, dataset: &DatasetEntry) -> Option<String> {
    dataset.parts.iter().filter_map(|part| manifest.late_since(&part.task_id, call.today())).min().map(|day| day.to_string())
}
