//! Runs an endpoint's handler and writes the whole answer: its data, and what is said of them; a document alone.

use super::endpoint::{Call, Handler};
use super::meta::{Meta, SAMPLE_RELEASE};
use super::problem::Result;
use crate::json::Json;
use crate::meaning::{self, Searched};
use crate::release::freshness::freshness_of;
use pubdata_store::Manifest;

/// Runs a handler and writes the whole envelope. With it, whether the answer is right for the moment only.
///
/// # Errors
/// The handler's.
pub async fn answer(call: &Call<'_>) -> Result<(Vec<u8>, bool)> {
    let mut json = Json::new();
    if call.endpoint.is_document() {
        let meta = write_data(call, &mut json).await?;
        return Ok((json.into_bytes(), meta.is_momentary));
    }
    json.raw("{\"data\":");
    let mut meta = write_data(call, &mut json).await?;
    if manifest_of(call, &meta).is_sample {
        meta.notice("SAMPLE_RELEASE", SAMPLE_RELEASE);
    }
    let coverage = meta.coverage.as_ref();
    let searched = Searched {
        datasets: &meta.datasets,
        jurisdictions: coverage.map(|coverage| coverage.jurisdictions_searched.as_slice()).unwrap_or_default(),
        states: coverage.map(|coverage| coverage.states_searched.as_slice()).unwrap_or_default(),
    };
    if let Some(message) = meaning::lost(&searched, manifest_of(call, &meta)) {
        meta.notice("MEANING_LOST", message);
    }
    json.key("meta");
    write_meta(&mut json, call, &meta);
    let mut bytes = json.into_bytes();
    bytes.push(b'}');
    Ok((bytes, meta.is_momentary))
}

/// The manifest of the release that an answer is from.
fn manifest_of<'a>(call: &'a Call<'_>, meta: &'a Meta) -> &'a Manifest {
    meta.release.as_deref().unwrap_or(&call.release.manifest)
}

/// Runs a handler, which writes the data alone.
///
/// # Errors
/// The handler's.
pub async fn write_data(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    match &call.endpoint.handler {
        Handler::Memory(handler) | Handler::Document(handler) | Handler::LinkedData(handler) => handler(call, json),
        Handler::Files(handler) | Handler::Download { list: handler, .. } => handler(call, json).await,
    }
}

fn write_meta(json: &mut Json, call: &Call<'_>, meta: &Meta) {
    let manifest = manifest_of(call, meta);
    let of_release = call.release.freshness(call.today());
    json.object(|json| {
        json.key("request_id").text(call.request_id);
        json.key("release").object(|json| {
            json.key("release_id").text(manifest.release_id.as_str());
            json.key("channel").text(call.service.catalog.channel());
        });
        json.key("datasets").array(|json| {
            for dataset_id in &meta.datasets {
                json.object(|json| {
                    json.key("dataset_id").text(dataset_id);
                    json.key("published_at").instant(&manifest.published_at);
                    let of_earlier = meta.release.as_ref().and_then(|earlier| Some(freshness_of(earlier, earlier.datasets.get(&**dataset_id)?, call.today())));
                    json.key("freshness").text(of_earlier.unwrap_or_else(|| of_release.of(dataset_id)).name());
                });
            }
        });
        json.key("notices").array(|json| {
            for notice in &meta.notices {
                notice.write(json);
            }
        });
        if let Some(coverage) = &meta.coverage {
            json.key("coverage").object(|json| {
                if let Some(geography_type) = coverage.geography_type {
                    json.key("geography_type").text(geography_type);
                }
                json.key("scope").text(&coverage.scope);
                for (name, searched) in [("states_searched", &coverage.states_searched), ("jurisdictions_searched", &coverage.jurisdictions_searched)] {
                    if !searched.is_empty() {
                        json.key(name).texts(searched.iter().map(String::as_str));
                    }
                }
            });
        }
        if let Some(page) = &meta.page {
            json.key("page").object(|json| {
                json.key("limit").count(page.limit as u64);
                json.key("count").count(page.count as u64);
                json.key("next_cursor").optional_text(page.next_cursor.as_deref());
                json.key("total").count(page.total as u64);
                json.key("total_relation").text(if page.is_total_exact { "eq" } else { "gte" });
            });
        }
    });
}
