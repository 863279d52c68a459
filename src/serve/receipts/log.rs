//! Answers `GET /v1/log/…`: the files of the channel's log under their C2SP `tlog-tiles` names, and
//! `key`, which verifies the log's checkpoint. Other parties' programs read these files, so they
//! have no envelope and need no key.

use std::sync::atomic::Ordering;

use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::http::problem::{Code, Problem, Result};
use crate::http::service::Service;
use pubdata_store::receipts::{Log, Tile};

/// Cache policy for tiles that no longer change: full tiles, and partial tiles once the log has
/// reached their size.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";
const NO_CACHE: &str = "no-cache";

/// Returns a file of the log.
///
/// # Errors
/// `not_found` if the log has no such file, or does not contain a release yet.
pub async fn answer(service: &Service, name: &str) -> Result<Response> {
    let nothing = |what: &str| {
        Problem::new(
            Code::NotFound,
            format!(
                "the log has no {what}; /v1/log/checkpoint has its size, /v1/log/key the key that signs it"
            ),
        )
    };
    let (releases, channel) = (service.catalog.releases(), service.catalog.channel());
    let newest = Log::new(releases, channel)
        .newest_note(service.log_size.load(Ordering::Relaxed))
        .await?;
    let size = newest.as_ref().map_or(0, |(size, _)| *size);
    service.log_size.store(size, Ordering::Relaxed);
    let (content_type, kept_for, bytes) = match (name, Tile::parse(name)) {
        ("checkpoint", _) => (
            "text/plain; charset=utf-8",
            NO_CACHE,
            newest.map(|(_, note)| note),
        ),
        ("key", _) => (
            "text/plain; charset=utf-8",
            NO_CACHE,
            releases.log_file(channel, name).await?,
        ),
        // Entries that are not signed yet may be reverted.
        (_, Some(tile)) if tile.is_in(size) => (
            "application/octet-stream",
            IMMUTABLE,
            releases.log_file(channel, name).await?,
        ),
        (_, Some(_)) => return Err(nothing("such tile")),
        (_, None) => return Err(nothing("such file")),
    };
    let bytes = bytes.ok_or_else(|| {
        nothing(if name == "checkpoint" || name == "key" {
            "release yet"
        } else {
            "such tile"
        })
    })?;
    Ok((
        [
            (header::CONTENT_TYPE, content_type),
            (header::CACHE_CONTROL, kept_for),
        ],
        bytes,
    )
        .into_response())
}
