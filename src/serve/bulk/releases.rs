//! Answers `GET /v1/releases`: what the channel has pointed at, newest first.

use futures_util::FutureExt;
use futures_util::future::try_join_all;

use crate::http::components::Data;
use crate::http::cursor::not_a_cursor;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::{Meta, Page};
use crate::http::paging::Paging;
use crate::http::parameters::{CURSOR, LIMIT, format};
use crate::http::problem::Result;
use crate::json::Json;
use crate::release::manifests::{Summary, Sums};
use pubdata_store::ChannelEntry;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/releases",
    operation_id: "listReleases",
    summary: "The releases of the channel, newest first",
    access: Access::Everyone,
    parameters: &[LIMIT, CURSOR, format("releases")],
    body: None,
    data: Data::Written("Releases"),
    // A release that is deleted is no longer kept, and nothing else says so.
    validity: Validity::Moment,
    handler: Handler::Files(|call, json| list(call, json).boxed()),
};

async fn list(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let catalog = &call.service.catalog;
    let (history, paging) = (catalog.history().await?, Paging::of(call)?);
    let before = paging.after.as_deref().map(str::parse::<u64>).transpose().map_err(|_| not_a_cursor())?;
    let newest = history.last().map(|entry| entry.generation);
    let mut page: Vec<&ChannelEntry> = history.iter().rev().filter(|entry| before.is_none_or(|before| entry.generation < before)).collect();
    let is_cut = page.len() > paging.limit;
    page.truncate(paging.limit);
    let summaries = try_join_all(page.iter().map(|entry| catalog.manifests.summary(&entry.release_id))).await?;
    json.object(|json| {
        json.key("channel").text(catalog.channel());
        json.key("releases").array(|json| {
            for (entry, summary) in page.iter().zip(&summaries) {
                json.object(|json| write_move(json, entry, summary.as_deref(), newest));
            }
        });
    });
    let next_cursor = page.last().filter(|_| is_cut).map(|entry| paging.cursor(&entry.generation.to_string()));
    let page = Page { limit: paging.limit, count: page.len(), next_cursor, total: history.len(), is_total_exact: true, is_cut: false };
    Ok(Meta { page: Some(page), ..Meta::default() })
}

fn write_move(json: &mut Json, entry: &ChannelEntry, summary: Option<&Summary>, newest: Option<u64>) {
    let total = summary.map(Summary::total);
    let sum = |of: fn(Sums) -> u64| total.map(|total| of(total).cast_signed());
    json.key("release_id").text(entry.release_id.as_str());
    json.key("generation").count(entry.generation);
    json.key("action").value(&entry.action);
    json.key("moved_at").instant(&entry.moved_at);
    match summary {
        Some(summary) => json.key("published_at").instant(&summary.published_at),
        None => json.key("published_at").null(),
    }
    json.key("run_id").optional_text(entry.run_id.as_deref().or_else(|| summary.map(|summary| summary.run_id.as_str())));
    json.key("rows").optional_integer(sum(|total| total.rows));
    json.key("datasets").optional_integer(summary.and_then(|summary| i64::try_from(summary.datasets.len()).ok()));
    json.key("parts").optional_integer(sum(|total| total.parts));
    json.key("size_bytes").optional_integer(sum(|total| total.size_bytes));
    json.key("is_sample").optional_flag(summary.map(|summary| summary.is_sample));
    json.key("is_kept").flag(summary.is_some());
    json.key("is_current").flag(Some(entry.generation) == newest);
}
