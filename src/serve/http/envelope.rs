//! Runs an endpoint's handler and writes the entire answer: `data` and `meta`, or a document
//! without an envelope.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::endpoint::{Call, Handler};
use super::meta::{Coverage, Meta, Notice, Page, SAMPLE_RELEASE};
use super::problem::Result;
use crate::answer::Instant;
use crate::json::Json;
use crate::meaning::{self, Searched};
use crate::release::freshness::{Freshness, freshness_of};
use pubdata_store::Manifest;

/// Runs a handler and writes the entire envelope. The returned flag is true if the answer must not
/// be cached.
///
/// # Errors
/// The handler's errors.
pub async fn answer(call: &Call<'_>) -> Result<(Vec<u8>, bool)> {
    let mut json = Json::new();
    if call.endpoint.is_document() {
        let meta = write_data(call, &mut json).await?;
        return Ok((json.into_bytes(), meta.is_uncacheable));
    }
    json.raw("{\"data\":");
    let mut meta = write_data(call, &mut json).await?;
    if manifest_of(call, &meta).is_sample {
        meta.notice("SAMPLE_RELEASE", SAMPLE_RELEASE);
    }
    let coverage = meta.coverage.as_ref();
    let searched = Searched {
        datasets: &meta.datasets,
        jurisdictions: coverage
            .map(|coverage| coverage.jurisdictions_searched.as_slice())
            .unwrap_or_default(),
        states: coverage
            .map(|coverage| coverage.states_searched.as_slice())
            .unwrap_or_default(),
    };
    if let Some(message) = meaning::lost(&searched, manifest_of(call, &meta)) {
        meta.notice("MEANING_LOST", message);
    }
    json.key("meta").value(&AnswerMeta::new(call, &meta));
    let mut bytes = json.into_bytes();
    bytes.push(b'}');
    Ok((bytes, meta.is_uncacheable))
}

/// Returns the manifest of the release that an answer comes from.
fn manifest_of<'a>(call: &'a Call<'_>, meta: &'a Meta) -> &'a Manifest {
    meta.release.as_deref().unwrap_or(&call.release.manifest)
}

/// Runs a handler, which writes only the data.
///
/// # Errors
/// The handler's errors.
pub async fn write_data(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let answer = match &call.endpoint.handler {
        Handler::Memory(handler) | Handler::Document(handler) | Handler::LinkedData(handler) => {
            handler(call, json)
        }
        Handler::Files(handler)
        | Handler::WithoutRelease(handler)
        | Handler::Download { list: handler, .. } => handler(call, json).await,
    };
    answer.map_err(|problem| problem.with_samples_named(&call.release.manifest))
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Meta")]
pub struct AnswerMeta<'a> {
    /// Identifier of the request, repeated in the header `X-Request-Id`.
    request_id: &'a str,
    /// Release that the entire answer comes from; null while no release is loaded. Without a
    /// release, the server answers only requests about keys and plans.
    release: Option<MetaRelease<'a>>,
    /// Datasets that the answer is based on.
    datasets: Vec<MetaDataset<'a>>,
    /// Facts that a reader needs to interpret the answer; empty if none apply.
    notices: &'a [Notice],
    /// Records or areas that the datasets behind the answer cover; absent from answers to which
    /// coverage does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Coverage")]
    coverage: Option<&'a Coverage>,
    /// Position of the answer in a list; absent from answers that are not lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Page")]
    page: Option<&'a Page>,
}

#[derive(Serialize, JsonSchema)]
struct MetaRelease<'a> {
    /// Release that answered the request; send it as `release` to repeat the request on the same
    /// data.
    #[schemars(pattern(r"^r[0-9a-f]{20}$"))]
    release_id: &'a str,
    /// Channel that the server follows, such as `nightly` or `stable`.
    channel: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct MetaDataset<'a> {
    /// Identifier of the dataset, such as `geo.zcta_metric`.
    dataset_id: &'a str,
    /// Time at which the release was published, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    published_at: Instant<'a>,
    /// Age of the dataset's newest source file compared with the publisher's cadence.
    freshness: Freshness,
}

impl<'a> AnswerMeta<'a> {
    fn new(call: &'a Call<'_>, meta: &'a Meta) -> Self {
        let manifest = manifest_of(call, meta);
        let of_release = call.release.freshness(call.today());
        let dataset = |dataset_id: &'a Cow<'static, str>| {
            let of_earlier = meta.release.as_ref().and_then(|earlier| {
                Some(freshness_of(
                    earlier,
                    earlier.datasets.get(&**dataset_id)?,
                    call.today(),
                ))
            });
            let freshness = of_earlier.unwrap_or_else(|| of_release.get(dataset_id));
            MetaDataset {
                dataset_id,
                published_at: Instant(&manifest.published_at),
                freshness,
            }
        };
        let release = MetaRelease {
            release_id: manifest.release_id.as_str(),
            channel: call.service.catalog.channel(),
        };
        Self {
            request_id: call.request_id,
            release: (!call.release.is_none()).then_some(release),
            datasets: meta.datasets.iter().map(dataset).collect(),
            notices: &meta.notices,
            coverage: meta.coverage.as_ref(),
            page: meta.page.as_ref(),
        }
    }
}
