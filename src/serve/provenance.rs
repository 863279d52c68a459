//! Answers `GET /v1/provenance/{record_id}`: the chain from a record to the publisher's bytes. Record, part, release, the run and
//! channel that published it, then for each source cell the snapshot, archive member and byte range.

use futures_util::FutureExt;

use crate::contract::Contract;
use crate::ids::RecordId;
use crate::provenance::{Snapshot, SourcePointer};
use crate::serve::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::serve::http::meta::Meta;
use crate::serve::http::parameters::OF_RELEASE;
use crate::serve::http::problem::{Code, Problem, Result};
use crate::serve::http::scope;
use crate::serve::json::Json;
use crate::store::{Part, Record};

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/provenance/{record_id}",
    operation_id: "getProvenance",
    summary: "From a record to the publisher's bytes",
    access: Access::Key,
    parameters: OF_RELEASE,
    body: None,
    data: "Chain",
    validity: Validity::Release,
    handler: Handler::Files(|call, json| trace(call, json).boxed()),
};

async fn trace(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let id: RecordId = call.path_value("record_id").parse().map_err(|error| Problem::of_field(Code::InvalidParameter, "record_id", format!("{error}")))?;
    let dataset_id = id.dataset_id();
    scope::check_record(call, &id)?;
    let manifest = &call.release.manifest;
    if !manifest.datasets.contains_key(dataset_id) {
        let message = format!("the release has no dataset `{dataset_id}`; /v1/coverage lists those it has");
        return Err(Problem::of_field(Code::NotFound, "record_id", message));
    }
    let is_sorted = call.contracts().get(dataset_id).is_some_and(Contract::is_sorted_by_subject);
    for part in call.reader().parts_that_may_hold(&id, is_sorted) {
        if let Some(record) = call.reader().find_record(part, &id).await? {
            write_chain(call, json, &id, part, &record);
            return Ok(Meta { datasets: vec![dataset_id.to_owned().into()], ..Meta::default() });
        }
    }
    Err(Problem::of_field(Code::NotFound, "record_id", format!("the release has no record `{id}`")))
}

fn write_chain(call: &Call<'_>, json: &mut Json, id: &RecordId, part: &Part, (columns, pointers): &Record) {
    let manifest = &call.release.manifest;
    let task = manifest.tasks.get(&part.task_id);
    let inputs = task.map(|task| task.inputs.as_slice()).unwrap_or_default();
    let schema_version = manifest.datasets.get(id.dataset_id()).map(|dataset| dataset.schema_version.as_str());
    json.object(|json| {
        json.key("record").object(|json| {
            json.key("record_id").text(id.as_str());
            json.key("dataset_id").text(id.dataset_id());
            json.key("schema_version").optional_text(schema_version);
            json.key("validation_status").value(&columns.get("validation_status"));
            json.key("columns").value(columns);
        });
        json.key("part").object(|json| {
            json.key("path").text(&part.path);
            json.key("rows").count(part.rows);
            json.key("size_bytes").count(part.size_bytes);
            json.key("sha256").text(&part.sha256.to_string());
        });
        json.key("build").object(|json| {
            json.key("task_id").text(&part.task_id);
            json.key("pipeline_id").optional_text(task.map(|task| task.pipeline_id.as_str()));
            json.key("input_hash").optional_text(task.map(|task| task.input_hash.to_string()).as_deref());
            json.key("built_at").optional_text(task.map(|task| task.built_at.as_str()));
            json.key("publisher").optional_text(task.map(|task| task.publisher.as_str()));
            json.key("licence").optional_text(task.map(|task| task.licence.as_str()));
        });
        json.key("release").object(|json| {
            json.key("release_id").text(manifest.release_id.as_str());
            json.key("channel").text(call.service.catalog.channel());
            json.key("published_at").text(&manifest.published_at);
            json.key("run_id").text(&manifest.run_id);
            json.key("pubdata_version").text(&manifest.pubdata_version);
        });
        json.key("sources").array(|json| pointers.iter().for_each(|pointer| write_source(json, pointer, inputs)));
    });
}

fn write_source(json: &mut Json, pointer: &SourcePointer, inputs: &[Snapshot]) {
    let of_source = || inputs.iter().filter(|input| input.source_id == pointer.source_id);
    let exact = of_source().find(|input| input.sha256 == pointer.snapshot);
    // A pointer into an archive may carry the member's own digest: then the archive of this release holds that member.
    let snapshot = exact.or_else(|| of_source().find(|_| pointer.member.is_some()));
    let member_digest = snapshot.filter(|snapshot| snapshot.sha256 != pointer.snapshot).map(|_| pointer.snapshot.to_string());
    json.object(|json| {
        json.key("source_id").text(&pointer.source_id);
        json.key("snapshot").object(|json| {
            json.key("sha256").text(&snapshot.map_or(pointer.snapshot, |snapshot| snapshot.sha256).to_string());
            json.key("url").optional_text(snapshot.map(|snapshot| snapshot.url.as_str()));
            json.key("source_version").optional_text(snapshot.map(|snapshot| snapshot.source_version.as_str()));
            json.key("source_date").optional_text(snapshot.map(|snapshot| snapshot.source_date.as_str()));
            json.key("fetched_at").optional_text(snapshot.map(|snapshot| snapshot.fetched_at.as_str()));
            json.key("obtained").optional_text(snapshot.map(|snapshot| snapshot.obtained.name()));
            let places = snapshot.map(|snapshot| snapshot.redirected_through.as_slice()).unwrap_or_default();
            json.key("redirected_through").texts(places.iter().map(String::as_str));
            match snapshot {
                Some(snapshot) => json.key("size_bytes").count(snapshot.size_bytes),
                None => json.key("size_bytes").null(),
            }
        });
        json.key("member").optional_text(pointer.member.as_deref());
        json.key("member_sha256").optional_text(member_digest.as_deref());
        json.key("offset").count(pointer.offset);
        json.key("length").count(pointer.length);
    });
}
