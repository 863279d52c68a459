//! Answers `GET /v1/log/…`: the files of the channel's log as C2SP `tlog-tiles` names them, with `key`, which its checkpoint is verified with. They
//! are for machines of others: no envelope, no key.

use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::receipts::Log;
use crate::serve::http::problem::{Code, Problem, Result};
use crate::serve::http::service::Service;

const MOST_BYTES_OF_A_NAME: usize = 100;
/// A whole tile never changes, nor does one of so many hashes.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
const ASK_AGAIN: &str = "no-cache";

/// A file of the log.
///
/// # Errors
/// `not_found`, when the log has no such file, or there is none yet.
pub async fn answer(service: &Service, name: &str) -> Result<Response> {
    let nothing =
        |what: &str| Problem::new(Code::NotFound, format!("the log has no {what}; /v1/log/checkpoint says how far it goes, /v1/log/key who signs it"));
    let (releases, channel) = (service.catalog.releases(), service.catalog.channel());
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"/.".contains(&byte);
    let is_file = name.len() <= MOST_BYTES_OF_A_NAME && name.bytes().all(is_plain) && !name.contains("..") && !name.contains("//");
    let (content_type, kept_for, bytes) = match name {
        "checkpoint" => ("text/plain; charset=utf-8", ASK_AGAIN, Log::of(releases, channel).newest_note().await?),
        "key" => ("text/plain; charset=utf-8", ASK_AGAIN, releases.log_file(channel, name).await?),
        _ if is_file && name.starts_with("tile/") => ("application/octet-stream", FOR_EVER, releases.log_file(channel, name).await?),
        _ => return Err(nothing("such file")),
    };
    let bytes = bytes.ok_or_else(|| nothing(if name == "checkpoint" || name == "key" { "release yet" } else { "such tile" }))?;
    Ok(([(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, kept_for)], bytes).into_response())
}
