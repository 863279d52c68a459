//! Answers `GET /v1/provenance/{record_id}`: the chain from a record to the publisher's bytes. Record, part, release, the run and
//! channel that published it, then for each source cell the snapshot, archive member and byte range. Where it is asked for, the bytes themselves
//! with the way to fetch the same ones, and what comes of making the record again from them.

use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};

use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, Kind, Parameter, RELEASE};
use crate::http::problem::{Code, Problem, Result};
use crate::http::scope;
use crate::http::shared_work::SharedWork;
use crate::json::Json;
use crate::tracer::Tracer;
use pubdata_core::ids::RecordId;
use pubdata_core::provenance::{Obtained, Snapshot, SourcePointer};
use pubdata_store::{FoundRecord, Part, Record};

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/provenance/{record_id}",
    operation_id: "getProvenance",
    summary: "From a record to the publisher's bytes",
    access: Access::Key,
    parameters: PARAMETERS,
    body: None,
    data: Data::Written("Chain"),
    validity: Validity::Release,
    handler: Handler::Files(|call, json| trace(call, json).boxed()),
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "include",
        kind: Kind::Words(&["bytes", "replay"]),
        description: "Comma list. `bytes`: the publisher's bytes, and how to fetch the same ones; of lists that may tell of persons, what is published of them. `replay`: what comes of making the record again from its bytes.",
    },
    RELEASE,
    AS_OF,
];

/// What is told of the publishers' files, as far as it was asked for.
#[derive(Default)]
struct Told {
    /// One for each pointer.
    bytes: Option<Arc<Value>>,
    replay: Option<Arc<Value>>,
}

async fn trace(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let id: RecordId = call.path_value("record_id").parse().map_err(|error| Problem::of_field(Code::InvalidParameter, "record_id", format!("{error}")))?;
    let dataset_id = id.dataset_id();
    scope::check_record(call, &id)?;
    if !call.release.manifest.datasets.contains_key(dataset_id) {
        let message = format!("the release has no dataset `{dataset_id}`; /v1/coverage lists those it has");
        return Err(Problem::of_field(Code::NotFound, "record_id", message));
    }
    let Some((part, record)) = call.reader().find(call.contracts(), &id).await? else {
        return Err(Problem::of_field(Code::NotFound, "record_id", format!("the release has no record `{id}`")));
    };
    let asked = call.listed("include").unwrap_or_default();
    let record = Arc::new(record);
    let service = call.service;
    let bytes = async {
        if !asked.contains(&"bytes") {
            return Ok(None);
        }
        let nothing =
            record.1.iter().map(|_| json!({"shown": "unavailable", "reason": NO_TRACER, "sha256": null, "header": null, "excerpt": null, "cells": []}));
        let nothing = Value::Array(nothing.collect());
        look(call, &service.looks, (&id, part, &record), nothing, |tracer, found| tracer.bytes(found).map(|told| told.map(Value::Array)).boxed())
            .await
            .map(Some)
    };
    let replay = async {
        if !asked.contains(&"replay") {
            return Ok(None);
        }
        let nothing = json!({"verdict": null, "reason": NO_TRACER, "differences": [], "notes": []});
        look(call, &service.replays, (&id, part, &record), nothing, |tracer, found| tracer.replay(found)).await.map(Some)
    };
    let (bytes, replay) = tokio::try_join!(bytes, replay)?;
    let told = Told { bytes, replay };
    let mut meta = Meta { datasets: vec![dataset_id.to_owned().into()], ..Meta::default() };
    // Another server of the same store may have the files, and this one tomorrow.
    meta.is_momentary = told.replay.as_ref().is_some_and(|replay| !is_final(replay)) || told.bytes.as_ref().is_some_and(|bytes| !is_seen(bytes));
    write_chain(call, json, &id, part, &record, &told);
    Ok(meta)
}

/// Said by a server that nobody gave a tracer.
const NO_TRACER: &str = "this server does not look at the publishers' files";

type Look = for<'a> fn(&'a dyn Tracer, FoundRecord<'a>) -> futures_util::future::BoxFuture<'a, pubdata_core::error::Result<Value>>;

/// Has a record's files looked at, or says with `nothing` that this server cannot.
async fn look(call: &Call<'_>, work: &Arc<SharedWork>, (id, part, record): (&RecordId, &Part, &Arc<Record>), nothing: Value, look: Look) -> Result<Arc<Value>> {
    let Some(tracer) = call.service.settings.tracer.clone() else { return Ok(Arc::new(nothing)) };
    let (release, runtime) = (call.release.clone(), tokio::runtime::Handle::current());
    let (record_id, part, record) = (id.clone(), part.clone(), record.clone());
    let subject = (release.manifest.release_id.clone(), id.clone());
    let made = move || {
        let found = FoundRecord { manifest: &release.manifest, part: &part, record_id: &record_id, columns: &record.0, pointers: &record.1 };
        runtime.block_on(look(&*tracer, found))
    };
    work.done(&call.client.id, subject, is_final, made).await
}

/// Whether a record will always come out so: what differs may be a damaged file, which is mended.
fn is_final(replay: &Value) -> bool {
    matches!(replay["verdict"].as_str(), Some("match" | "not_possible"))
}

/// Whether all bytes could be looked at.
fn is_seen(bytes: &Value) -> bool {
    bytes.as_array().into_iter().flatten().all(|bytes| bytes["shown"] != "unavailable")
}

fn write_chain(call: &Call<'_>, json: &mut Json, id: &RecordId, part: &Part, (columns, pointers): &Record, told: &Told) {
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
        json.key("formula").optional_text(formula(call, id, columns).as_deref());
        json.key("derivations").array(|json| {
            let contract = call.contracts().get(id.dataset_id());
            for (column, rule) in contract.into_iter().flat_map(|contract| contract.derivations(columns)) {
                json.object(|json| {
                    json.key("column").text(column);
                    json.key("rule").text(rule);
                });
            }
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
            json.key("published_at").instant(&manifest.published_at);
            json.key("run_id").text(&manifest.run_id);
            json.key("pubdata_version").text(&manifest.pubdata_version);
        });
        json.key("sources").array(|json| {
            for (number, pointer) in pointers.iter().enumerate() {
                write_source(json, pointer, inputs, told.bytes.as_ref().and_then(|bytes| bytes.get(number)));
            }
        });
        if let Some(replay) = &told.replay {
            json.key("replay").value(&**replay);
        }
    });
}

/// How a figure was computed that the publisher does not state: the contract's words with the record's variables in them.
fn formula(call: &Call<'_>, id: &RecordId, columns: &Map<String, Value>) -> Option<String> {
    let is_derived = columns.get("is_derived").filter(|value| value.as_bool() == Some(true))?;
    let words = call.contracts().get(id.dataset_id())?.value("is_derived", &is_derived.to_string())?.note("formula")?;
    let variables: Vec<&str> = columns.get("variables")?.as_array()?.iter().filter_map(Value::as_str).collect();
    let (last, others) = variables.split_last()?;
    Some(words.replace("{others}", &others.join(" + ")).replace("{last}", last))
}

fn write_source(json: &mut Json, pointer: &SourcePointer, inputs: &[Snapshot], bytes: Option<&Value>) {
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
            json.key("mirror").optional_text(snapshot.and_then(|snapshot| snapshot.mirror.as_deref()));
            let places = snapshot.map(|snapshot| snapshot.redirected_through.as_slice()).unwrap_or_default();
            json.key("redirected_through").texts(places.iter().map(String::as_str));
            match snapshot {
                Some(snapshot) => json.key("size_bytes").count(snapshot.size_bytes),
                None => json.key("size_bytes").null(),
            }
        });
        json.key("member").optional_text(pointer.member.as_deref());
        json.key("member_digest").optional_text(member_digest.as_deref());
        json.key("offset").count(pointer.offset);
        json.key("length").count(pointer.length);
        if let Some(bytes) = bytes {
            json.key("bytes").value(bytes);
            json.key("commands").texts(snapshot.map(|snapshot| commands(snapshot, pointer)).unwrap_or_default().iter().map(String::as_str));
        }
    });
}

/// What fetches the same bytes from the publisher, as long as the file is the same there. None of what is not fetched by HTTP, was given by a person, or came
/// from a mirror.
fn commands(snapshot: &Snapshot, pointer: &SourcePointer) -> Vec<String> {
    let SourcePointer { offset, length, member, .. } = pointer;
    if !snapshot.url.starts_with("http") || snapshot.obtained != Obtained::ByProgram || snapshot.mirror.is_some() {
        return Vec::new();
    }
    let url = quoted(&snapshot.url);
    match member {
        None => vec![format!("curl -sSL -r {offset}-{} {url}", (offset + length).saturating_sub(1))],
        Some(member) => {
            // `unzip` takes names for patterns.
            let name: String =
                member.chars().flat_map(|character| matches!(character, '*' | '?' | '[' | '\\').then_some('\\').into_iter().chain([character])).collect();
            vec![format!("curl -sSL -o snapshot.zip {url}"), format!("unzip -p snapshot.zip {} | tail -c +{} | head -c {length}", quoted(&name), offset + 1)]
        }
    }
}

/// A word of a command line.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pubdata_core::ids::Digest;

    use super::*;

    #[test]
    fn commands_fetch_the_publishers_file_and_none_a_mirrors_copy() {
        let snapshot = |mirror: Option<&str>| Snapshot {
            source_id: "test.table".to_owned(),
            keys: BTreeMap::new(),
            url: "https://publisher.example/o'clock.csv".to_owned(),
            sha256: Digest::of(b"table"),
            size_bytes: 100,
            source_version: "current".to_owned(),
            source_date: "2026-11-28".to_owned(),
            etag: None,
            last_modified: None,
            fetched_at: "2026-11-28T04:30:00Z".to_owned(),
            redirected_through: Vec::new(),
            obtained: Obtained::ByProgram,
            mirror: mirror.map(str::to_owned),
        };
        let pointer = |member: Option<&str>| SourcePointer {
            source_id: "test.table".to_owned(),
            snapshot: Digest::of(b"table"),
            member: member.map(str::to_owned),
            offset: 10,
            length: 5,
        };
        assert_eq!(commands(&snapshot(None), &pointer(None)), ["curl -sSL -r 10-14 'https://publisher.example/o'\\''clock.csv'"]);
        let of_member = ["curl -sSL -o snapshot.zip 'https://publisher.example/o'\\''clock.csv'", "unzip -p snapshot.zip 'a\\*.csv' | tail -c +11 | head -c 5"];
        assert_eq!(commands(&snapshot(None), &pointer(Some("a*.csv"))), of_member);
        assert_eq!(commands(&snapshot(Some("samples")), &pointer(None)), [""; 0]);
    }
}
