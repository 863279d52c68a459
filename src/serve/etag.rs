//! Names an answer by what decides it: release, path, parameters, and the datasets' freshness. A compressed form of an answer has
//! the coding's name at the end of its tag.

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::civil::Date;

use super::index::Release;
use super::parameters::Query;
use crate::ids::Hasher;

const ZIP: &str = "/v1/zip/";
const TAX_RATE: &str = "/v1/tax/rate";
const CODINGS: [&str; 4] = ["-gzip", "-br", "-zstd", "-deflate"];

/// The strong tag of an answer.
pub fn of(release: &Release, today: Date, path: &str, query: &Query) -> String {
    let mut hasher = Hasher::default();
    hasher.update(release.manifest.release_id.as_str().as_bytes());
    hasher.update(&release.freshness(today).mark().collect::<Vec<u8>>());
    hasher.update(path.as_bytes());
    if depends_on_day(path, query) {
        hasher.update(today.to_string().as_bytes());
    }
    for (name, value) in query.iter() {
        hasher.update(&[0]);
        hasher.update(name.as_bytes());
        hasher.update(b"=");
        hasher.update(value.as_bytes());
    }
    format!("\"{}\"", URL_SAFE_NO_PAD.encode(&hasher.finish().as_bytes()[..16]))
}

/// Whether the present day is part of the question: a rate of today is another one tomorrow.
fn depends_on_day(path: &str, query: &Query) -> bool {
    path.starts_with(ZIP) || (path == TAX_RATE && query.get("date").is_none())
}

/// Whether an answer may be kept for a day: ZIP codes change rarely, and rates of the past are settled.
pub fn is_kept_for_a_day(path: &str, query: &Query, today: Date) -> bool {
    let is_past = || query.parsed::<Date>("date").is_some_and(|date| date < today);
    path.starts_with(ZIP) || (path == TAX_RATE && is_past())
}

/// The tag of `If-None-Match` that names the answer, in any coding.
pub fn matching(headers: &HeaderMap, tag: &str) -> Option<String> {
    let sent = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).map(str::trim);
    sent.into_iter().find_map(|sent| {
        let strong = sent.strip_prefix("W/").unwrap_or(sent);
        let inner = strong.strip_prefix('"')?.strip_suffix('"')?;
        let plain = CODINGS.iter().find_map(|coding| inner.strip_suffix(coding)).unwrap_or(inner);
        if sent == "*" || format!("\"{plain}\"") == tag { Some(strong.to_owned()) } else { None }
    })
}

/// Marks the tag of a compressed answer with its coding.
pub fn mark_coding(headers: &mut HeaderMap) {
    let Some(coding) = headers.get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok()) else { return };
    let Some(tag) = headers.get(header::ETAG).and_then(|value| value.to_str().ok()) else { return };
    let marked = format!("{}-{coding}\"", tag.trim_end_matches('"'));
    if let Ok(value) = HeaderValue::from_str(&marked) {
        headers.insert(header::ETAG, value);
    }
}
