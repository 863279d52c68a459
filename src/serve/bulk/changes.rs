//! Answers `GET /v1/releases/{release_id}/changes`: what is different from an earlier release, and why. Only manifests are read: records are compared by
//! `pubdata releases diff`, one record by `/v1/records/{record_id}/history`.

use std::collections::BTreeSet;

use futures_util::FutureExt;

use super::asked::{self, Earlier};
use super::causes::write_causes;
use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::{Kind, Parameter, RELEASE_ID, format};
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use pubdata_core::ids::ReleaseId;
use pubdata_store::{Manifest, Part, causes, paired_parts};

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/releases/{release_id}/changes",
    operation_id: "getChanges",
    summary: "What is different between two releases, and why",
    access: Access::Everyone,
    parameters: &[
        format("datasets"),
        Parameter {
            name: "since",
            kind: Kind::Form(RELEASE_ID),
            description: "The release to compare with; when absent, the last one that the channel had before and that is kept.",
        },
    ],
    body: None,
    data: Data::Written("Changes"),
    validity: Validity::Release,
    handler: Handler::Files(|call, json| compare(call, json).boxed()),
};

/// The most parts of a dataset that are named one by one; all are counted.
const MOST_PARTS: usize = 100;

/// A part on both sides; none where it is not.
type Sides<'a> = (Option<&'a Part>, Option<&'a Part>);

async fn compare(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let release = asked::release(call).await?;
    let after = asked::manifest(call, &release);
    let since = match call.query.get("since") {
        Some(text) => asked::by_id(call, "since", text).await?,
        None => release_before(call, &after.release_id).await?,
    };
    let before = asked::manifest(call, &since);
    json.object(|json| {
        for (name, manifest) in [("from", before), ("to", after)] {
            json.key(name).object(|json| {
                json.key("release_id").text(manifest.release_id.as_str());
                json.key("published_at").instant(&manifest.published_at);
            });
        }
        let dataset_ids: BTreeSet<&String> = before.datasets.keys().chain(after.datasets.keys()).collect();
        json.key("datasets").array(|json| dataset_ids.into_iter().for_each(|dataset_id| write_dataset(json, before, after, dataset_id)));
        json.key("tasks").array(|json| {
            for task_id in causes(before, after).into_keys() {
                json.object(|json| {
                    json.key("task_id").text(&task_id);
                    write_causes(json, call.service, before.tasks.get(&task_id), after.tasks.get(&task_id));
                });
            }
        });
    });
    Ok(Meta { release, ..Meta::default() })
}

/// The last release before the first time that the channel had one, of those that are kept.
async fn release_before(call: &Call<'_>, id: &ReleaseId) -> Result<Earlier> {
    let catalog = &call.service.catalog;
    let history = catalog.history().await?;
    let first = history.iter().position(|entry| entry.release_id == *id).unwrap_or(0);
    for entry in history[..first].iter().rev().take(asked::MOST_ASKED_FOR) {
        if let Some(manifest) = catalog.manifests.manifest(&entry.release_id).await? {
            return Ok(Some(manifest));
        }
    }
    let message = format!("channel `{}` had no release before {id} that is kept; give `since` one of those that /v1/releases lists", catalog.channel());
    Err(Problem::of_field(Code::CoverageUnavailable, "since", message))
}

/// Writes what is different in a dataset; nothing where nothing is.
fn write_dataset(json: &mut Json, before: &Manifest, after: &Manifest, dataset_id: &str) {
    let sides = paired_parts(before, after, dataset_id);
    let all = sides.len();
    let changed: Vec<(&str, Sides<'_>)> = sides.into_iter().filter_map(|sides| Some((change(sides)?, sides))).collect();
    if changed.is_empty() {
        return;
    }
    let count = |word: &str| changed.iter().filter(|(change, _)| *change == word).count() as u64;
    let rows = |manifest: &Manifest| manifest.datasets.contains_key(dataset_id).then(|| manifest.rows(dataset_id).cast_signed());
    json.object(|json| {
        json.key("dataset_id").text(dataset_id);
        json.key("rows_before").optional_integer(rows(before));
        json.key("rows_after").optional_integer(rows(after));
        json.key("parts").object(|json| {
            for word in ["added", "removed", "changed"] {
                json.key(word).count(count(word));
            }
            json.key("unchanged").count((all - changed.len()) as u64);
        });
        json.key("changed_parts").array(|json| changed.iter().take(MOST_PARTS).for_each(|(change, sides)| write_part(json, change, *sides)));
    });
}

fn change((before, after): Sides<'_>) -> Option<&'static str> {
    match (before, after) {
        (Some(before), Some(after)) => (before.sha256 != after.sha256).then_some("changed"),
        (Some(_), None) => Some("removed"),
        (None, _) => Some("added"),
    }
}

fn write_part(json: &mut Json, change: &str, (before, after): Sides<'_>) {
    let Some(part) = after.or(before) else { return };
    let rows = |side: Option<&Part>| side.map(|part| part.rows.cast_signed());
    let digest = |side: Option<&Part>| side.map(|part| part.sha256.to_string());
    json.object(|json| {
        json.key("path").text(&part.path);
        json.key("partition").value(&part.partition);
        json.key("task_id").text(&part.task_id);
        json.key("change").text(change);
        json.key("rows_before").optional_integer(rows(before));
        json.key("rows_after").optional_integer(rows(after));
        json.key("sha256_before").optional_text(digest(before).as_deref());
        json.key("sha256_after").optional_text(digest(after).as_deref());
    });
}
