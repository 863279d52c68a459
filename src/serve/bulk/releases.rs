//! Answers `GET /v1/releases`: lists the releases that the channel has pointed at, newest first.

use futures_util::FutureExt;
use futures_util::future::try_join_all;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Instant;
use crate::http::components::Data;
use crate::http::cursor::malformed_cursor;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::{Meta, Page};
use crate::http::paging::Paging;
use crate::http::parameters::{CURSOR, LIMIT, RELEASE_ID, format};
use crate::http::problem::Result;
use crate::json::Json;
use crate::release::manifests::Summary;
use pubdata_store::{ChannelAction, ChannelEntry};

query! {
    pub struct Parameters<'a> {
        limit: usize = LIMIT, cursor: Option<&'a str> = CURSOR,
        ..format("releases"),
    }
}

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/releases",
    operation_id: "listReleases",
    summary: "The releases of the channel, newest first",
    access: Access::Everyone,
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Releases<'static>>(),
    // `is_kept` changes when a release is deleted, and no ETag input reflects this change.
    cache_policy: CachePolicy::NoStore,
    handler: Handler::Files(|call, json| list(call, json).boxed()),
};

#[derive(Serialize, JsonSchema)]
struct Releases<'a> {
    /// Channel that the server follows.
    channel: &'a str,
    /// Changes to the channel, newest first.
    releases: Vec<Move<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ChannelMove")]
struct Move<'a> {
    /// Release that the channel pointed at after the change.
    #[schemars(extend("pattern" = RELEASE_ID.pattern))]
    release_id: &'a str,
    /// Number of the change, counted from 1; the highest generation is the channel's current state.
    generation: u64,
    /// Action that made the channel point to the release.
    #[schemars(with = "&str", extend("enum" = ["publish", "promote", "rollback"]))]
    action: ChannelAction,
    /// Time of the change, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    moved_at: Instant<'a>,
    /// Time at which the release was published. Like the other facts from the manifest, it is null
    /// if the release is no longer kept.
    #[schemars(extend("format" = "date-time"))]
    published_at: Option<Instant<'a>>,
    /// Run that made the change or the release; null if neither names a run.
    run_id: Option<&'a str>,
    /// Number of records in the release; null if it is no longer kept.
    rows: Option<u64>,
    /// Number of datasets in the release; null if it is no longer kept.
    datasets: Option<usize>,
    /// Number of Parquet files in the release; null if it is no longer kept.
    parts: Option<u64>,
    /// Size of all Parquet files in bytes; null if the release is no longer kept.
    size_bytes: Option<u64>,
    /// True if the release was built from sample files; null if it is no longer kept.
    is_sample: Option<bool>,
    /// True if the release can still be requested.
    is_kept: bool,
    /// True if this is the channel's newest change.
    is_current: bool,
}

async fn list(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let catalog = &call.service.catalog;
    let Parameters { limit, cursor } = Parameters::read(call)?;
    let (history, paging) = (catalog.history().await?, Paging::new(call, limit, cursor)?);
    let before = paging
        .after
        .as_deref()
        .map(str::parse::<u64>)
        .transpose()
        .map_err(|_| malformed_cursor())?;
    let newest = history.last().map(|entry| entry.generation);
    let mut page: Vec<&ChannelEntry> = history
        .iter()
        .rev()
        .filter(|entry| before.is_none_or(|before| entry.generation < before))
        .collect();
    let is_cut = page.len() > paging.limit;
    page.truncate(paging.limit);
    let summaries = try_join_all(
        page.iter()
            .map(|entry| catalog.manifests.summary(&entry.release_id)),
    )
    .await?;
    let moves = page
        .iter()
        .zip(&summaries)
        .map(|(entry, summary)| Move::new(entry, summary.as_deref(), newest));
    json.value(&Releases {
        channel: catalog.channel(),
        releases: moves.collect(),
    });
    let next_cursor = page
        .last()
        .filter(|_| is_cut)
        .map(|entry| paging.cursor(&entry.generation.to_string()));
    let page = Page {
        limit: paging.limit,
        count: page.len(),
        next_cursor,
        total: history.len(),
        is_total_exact: true,
        is_cut: false,
    };
    Ok(Meta {
        page: Some(page),
        ..Meta::default()
    })
}

impl<'a> Move<'a> {
    fn new(entry: &'a ChannelEntry, summary: Option<&'a Summary>, newest: Option<u64>) -> Self {
        let total = summary.map(Summary::total);
        Self {
            release_id: entry.release_id.as_str(),
            generation: entry.generation,
            action: entry.action,
            moved_at: Instant(&entry.moved_at),
            published_at: summary.map(|summary| Instant(&summary.published_at)),
            run_id: entry
                .run_id
                .as_deref()
                .or_else(|| summary.map(|summary| summary.run_id.as_str())),
            rows: total.map(|total| total.rows),
            datasets: summary.map(|summary| summary.datasets.len()),
            parts: total.map(|total| total.parts),
            size_bytes: total.map(|total| total.size_bytes),
            is_sample: summary.map(|summary| summary.is_sample),
            is_kept: summary.is_some(),
            is_current: Some(entry.generation) == newest,
        }
    }
}
