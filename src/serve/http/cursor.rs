//! Encodes the end of a page as an opaque cursor with the release, a digest of the filters, and the
//! last record's sort key.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::http::problem::{Code, Problem, Result};
use crate::http::query::Query;
use pubdata_core::ids::{Hasher, ReleaseId};

const VERSION: &str = "1";

/// Returns the cursor for the position after a record.
pub fn write(release: &ReleaseId, filters: &str, sort_key: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{VERSION}|{release}|{filters}|{sort_key}"))
}

/// Returns the digest of a request's filters. The filters are the path and all parameters except
/// those for paging, release and format.
pub fn filters_digest(path: &[(String, String)], query: &Query) -> String {
    let mut hasher = Hasher::default();
    let mut add = |name: &str, value: &str| {
        [name, "=", value, "\0"]
            .iter()
            .for_each(|text| hasher.update(text.as_bytes()));
    };
    path.iter().for_each(|(name, value)| add(name, value));
    query
        .iter()
        .filter(|(name, _)| !matches!(*name, "cursor" | "limit" | "format" | "release" | "as_of"))
        .for_each(|(name, value)| add(name, value));
    hasher.finish().short(16)
}

/// Returns the release in a cursor, which is the release of the first page.
pub fn release_of(text: &str) -> Result<ReleaseId> {
    read(text).map(|(release, _, _)| release)
}

/// Returns the sort key after which the page begins.
///
/// # Errors
/// `invalid_cursor` if the string is not a cursor, or if the cursor belongs to other filters or
/// another release.
pub fn sort_key(text: &str, release: &ReleaseId, filters: &str) -> Result<String> {
    let (of_release, of_filters, sort_key) = read(text)?;
    if of_release != *release {
        return Err(wrong(
            "the cursor belongs to another release than the request asks for",
        ));
    }
    if of_filters != filters {
        return Err(wrong(
            "the cursor belongs to other filters; use it with those of the page it came from",
        ));
    }
    Ok(sort_key)
}

/// Builds the problem for a string that is not a cursor.
pub fn malformed_cursor() -> Problem {
    wrong("this is not a cursor; use `next_cursor` of the previous page unchanged")
}

fn wrong(message: &str) -> Problem {
    Problem::of_field(Code::InvalidCursor, "cursor", message)
}

fn read(text: &str) -> Result<(ReleaseId, String, String)> {
    let decoded = URL_SAFE_NO_PAD
        .decode(text)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(malformed_cursor)?;
    let mut fields = decoded.splitn(4, '|');
    match (fields.next(), fields.next(), fields.next(), fields.next()) {
        (Some(VERSION), Some(release), Some(filters), Some(sort_key)) => Ok((
            release.parse().map_err(|_| malformed_cursor())?,
            filters.to_owned(),
            sort_key.to_owned(),
        )),
        _ => Err(malformed_cursor()),
    }
}
