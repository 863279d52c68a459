//! Names an answer by what decides it: program, release, path, parameters, and the datasets'
//! freshness. A compressed form of an answer has the coding's name at the end of its tag.

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::civil::Date;

use crate::http::endpoint::Validity;
use crate::http::query::Query;
use crate::release::loaded::Release;
use pubdata_core::ids::{Digest, Hasher};
use pubdata_store::Scope;

const CODINGS: [&str; 4] = ["-gzip", "-br", "-zstd", "-deflate"];

/// What decides an answer beside the release.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// What the program and its contracts are.
    pub program: &'a Digest,
    pub validity: Validity,
    pub path: &'a str,
    pub query: &'a Query,
    /// Of the key, where the handler looks at them.
    pub scopes: &'a [Scope],
    pub today: Date,
}

impl Question<'_> {
    /// The strong tag of the answer; none of one that is right for the moment only.
    pub fn tag(&self, release: &Release) -> Option<String> {
        if self.validity == Validity::Moment {
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

    /// Whether the present day is part of the question: a rate of today is another one tomorrow.
    fn depends_on_day(&self) -> bool {
        match self.validity {
            Validity::Release | Validity::Moment => false,
            Validity::Day => true,
            Validity::Date => self.query.get("date").is_none(),
        }
    }
}

/// The tag of `If-None-Match` that names the answer, in any coding; its own where `*` names any.
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

/// Whether `If-None-Match` is `*`, which any answer fulfils that is there.
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

/// Marks the tag of a compressed answer with its coding.
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
