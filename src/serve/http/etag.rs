//! Computes the ETag of an answer from everything that determines it: program, release, path,
//! parameters, and the freshness of the datasets. The tag of a compressed answer ends with the name
//! of the content coding.

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::civil::Date;

use crate::http::endpoint::CachePolicy;
use crate::http::query::Query;
use crate::release::loaded::Release;
use pubdata_core::ids::{Digest, Hasher};
use pubdata_store::Scope;

const CODINGS: [&str; 4] = ["-gzip", "-br", "-zstd", "-deflate"];

/// Inputs besides the release that determine an answer.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Digest of the program and its contracts.
    pub program: &'a Digest,
    pub cache_policy: CachePolicy,
    pub path: &'a str,
    pub query: &'a Query,
    /// Scopes of the key, if the handler checks them.
    pub scopes: &'a [Scope],
    pub today: Date,
}

impl Question<'_> {
    /// Returns the strong tag of the answer, or `None` if the answer is never cached.
    pub fn tag(&self, release: &Release) -> Option<String> {
        if self.cache_policy == CachePolicy::NoStore {
            return None;
        }
        let mut hasher = Hasher::default();
        hasher.update(self.program.as_bytes());
        hasher.update(release.manifest.release_id.as_str().as_bytes());
        hasher.update(release.freshness(self.today).fingerprint().as_bytes());
        hasher.update(self.path.as_bytes());
        if self.depends_on_day() {
            hasher.update(self.today.to_string().as_bytes());
        }
        for (name, value) in self.query.iter() {
            hasher.update(&[0]);
            hasher.update(name.as_bytes());
            hasher.update(b"=");
            hasher.update(value.as_bytes());
        }
        let mut scopes: Vec<&str> = self.scopes.iter().map(|scope| scope.name()).collect();
        scopes.sort_unstable();
        scopes.dedup();
        for scope in scopes {
            hasher.update(&[1]);
            hasher.update(scope.as_bytes());
        }
        let mut tag = String::with_capacity(24);
        tag.push('"');
        URL_SAFE_NO_PAD.encode_string(&hasher.finish().as_bytes()[..16], &mut tag);
        tag.push('"');
        Some(tag)
    }

    /// Reports whether the answer depends on the current day, for example a tax rate without a
    /// date.
    fn depends_on_day(&self) -> bool {
        match self.cache_policy {
            CachePolicy::PerRelease | CachePolicy::NoStore => false,
            CachePolicy::PerDay => true,
            CachePolicy::PerDate => self.query.get("date").is_none(),
        }
    }
}

/// Returns the tag in `If-None-Match` that matches the answer, in any coding. For `*` it returns
/// the answer's tag.
pub fn matching(headers: &HeaderMap, tag: &str) -> Option<String> {
    sent(headers).find_map(|sent| {
        if sent == "*" {
            return Some(tag.to_owned());
        }
        let strong = sent.strip_prefix("W/").unwrap_or(sent);
        let inner = strong.strip_prefix('"')?.strip_suffix('"')?;
        let plain = CODINGS
            .iter()
            .find_map(|coding| inner.strip_suffix(coding))
            .unwrap_or(inner);
        (format!("\"{plain}\"") == tag).then(|| strong.to_owned())
    })
}

/// Reports whether `If-None-Match` is `*`, which matches any existing answer.
pub fn is_any(headers: &HeaderMap) -> bool {
    sent(headers).any(|sent| sent == "*")
}

fn sent(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

/// Appends the coding of a compressed answer to its tag.
pub fn mark_coding(headers: &mut HeaderMap) {
    let Some(coding) = headers
        .get(header::CONTENT_ENCODING)
        .and_then(|value| value.to_str().ok())
    else {
        return;
    };
    let Some(tag) = headers
        .get(header::ETAG)
        .and_then(|value| value.to_str().ok())
    else {
        return;
    };
    let marked = format!("{}-{coding}\"", tag.trim_end_matches('"'));
    if let Ok(value) = HeaderValue::from_str(&marked) {
        headers.insert(header::ETAG, value);
    }
}
