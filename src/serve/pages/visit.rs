//! Represents one request for a page: the visitor, the parameters, and the API requests that fill
//! the page.

use std::sync::{Arc, Mutex, PoisonError};

use axum::http::Method;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use serde::Serialize;
use serde_json::Value as Json;

use super::{Pages, templates};
use crate::http::auth::Client;
use crate::http::dispatch::{Question, ask};
use crate::http::problem::{Code, Problem, Result};
use crate::http::request_id::RequestId;
use crate::release::loaded::Release;

/// Visitor of a page.
#[derive(Debug, Clone)]
pub struct Visitor {
    /// Client with the scopes of the key in the cookie; without a key, with the scopes of public
    /// pages.
    pub client: Arc<Client>,
    /// True if a cookie contains a key.
    pub is_keyed: bool,
}

/// A request for a page.
pub struct Visit<'a> {
    pub pages: &'a Pages,
    pub visitor: Visitor,
    pub method: Method,
    pub values: Vec<(String, String)>,
    pub query: Vec<(String, String)>,
    /// Fields of the submitted form.
    pub form: Vec<(String, String)>,
    pub request_id: RequestId,
    /// Release from which all answers on the page come; `None` if no release is loaded.
    pub release: Option<Arc<Release>>,
    pub record: Mutex<VisitRecord>,
}

/// An API request whose answer the page shows.
#[derive(Debug, Serialize)]
pub struct ApiRequest {
    /// Path and query of the request.
    target: String,
    /// JSON body of a POST request, without apostrophes, because pages show it between apostrophes.
    body: Option<String>,
}

/// API requests made for a page, and the notices in their answers.
#[derive(Debug, Default)]
pub struct VisitRecord {
    /// Requests that fill the page, in order.
    pub requests: Vec<ApiRequest>,
    /// Distinct notices.
    pub notices: Vec<(String, String)>,
}

impl Visit<'_> {
    /// Returns the value of a placeholder in the path.
    pub fn value(&self, name: &str) -> &str {
        find(&self.values, name).unwrap_or_default()
    }

    /// Returns a query parameter that is not blank.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        find(&self.query, name)
            .map(str::trim)
            .filter(|value| !value.is_empty())
    }

    /// Returns a form field that is not blank.
    pub fn field(&self, name: &str) -> Option<&str> {
        find(&self.form, name)
            .map(str::trim)
            .filter(|value| !value.is_empty())
    }

    /// Sends a GET request to the API with the visitor's permissions, and returns the complete
    /// answer.
    pub async fn ask(&self, target: String) -> Result<Json> {
        let answer = self.put("GET", &target, &[]).await?;
        self.add_request(ApiRequest { target, body: None });
        Ok(answer)
    }

    /// Sends a POST request to the API, and returns the complete answer.
    pub async fn ask_with(&self, target: String, body: &Json) -> Result<Json> {
        let answer = self.send(&target, body).await?;
        self.add_request(ApiRequest {
            target,
            body: Some(body.to_string().replace('\'', "\\u0027")),
        });
        Ok(answer)
    }

    /// Sends a POST request that changes something, and returns the complete answer. The page does
    /// not list this request.
    pub async fn send(&self, target: &str, body: &Json) -> Result<Json> {
        self.put("POST", target, body.to_string().as_bytes()).await
    }

    /// Requests optional data. Returns null if it does not exist, is not covered, or is not
    /// accessible to this visitor. Returns other problems as errors.
    pub async fn ask_optional(&self, target: String) -> Result<Json> {
        match self.ask(target).await {
            Err(problem)
                if matches!(
                    problem.code,
                    Code::NotFound
                        | Code::CoverageUnavailable
                        | Code::InsufficientPermission
                        | Code::MissingApiKey
                ) =>
            {
                Ok(Json::Null)
            }
            outcome => outcome,
        }
    }

    /// Requests the record that names the page. Drops the notices of the answer, because the page
    /// shows only the name.
    pub async fn ask_for_name(&self, target: String) -> Result<Json> {
        let notices = self
            .record
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .notices
            .len();
        let answer = self.ask_optional(target).await?;
        self.record
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .notices
            .truncate(notices);
        Ok(answer)
    }

    fn add_request(&self, request: ApiRequest) {
        self.record
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .requests
            .push(request);
    }

    async fn put(&self, method: &str, target: &str, body: &[u8]) -> Result<Json> {
        let Pages { service, paths, .. } = self.pages;
        let question = Question {
            method,
            target,
            body,
            present: self.release.as_ref(),
        };
        let bytes = ask(
            service,
            paths,
            &self.visitor.client,
            question,
            &self.request_id,
        )
        .await?;
        let answer: Json =
            serde_json::from_slice(&bytes).map_err(|error| Problem::internal(&error))?;
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        for notice in answer["meta"]["notices"].as_array().into_iter().flatten() {
            let (code, message) = (
                notice["code"].as_str().unwrap_or_default(),
                notice["message"].as_str().unwrap_or_default(),
            );
            if !record
                .notices
                .iter()
                .any(|(known, text)| known == code && text == message)
            {
                record.notices.push((code.to_owned(), message.to_owned()));
            }
        }
        Ok(answer)
    }
}

fn find<'t>(pairs: &'t [(String, String)], name: &str) -> Option<&'t str> {
    pairs
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.as_str())
}

/// Returns an API path with a query of the given values.
pub fn target(path: &str, query: &[(&str, Option<&str>)]) -> String {
    let mut target = path.to_owned();
    for (name, value) in query {
        if let Some(value) = value {
            target.push(if target.contains('?') { '&' } else { '?' });
            target.push_str(name);
            target.push('=');
            target.push_str(&templates::segment(value));
        }
    }
    target
}

/// Characters that are percent-encoded in a typed address, in addition to non-ASCII characters.
const ADDRESS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Returns a redirect target within this server. Returns `None` for text that a browser could
/// interpret as another host, because browsers skip tabs and line breaks and read `\` as `/`.
pub fn location(place: &str) -> Option<String> {
    let is_within = place.starts_with('/')
        && !place.starts_with("//")
        && !place.contains(|character: char| character.is_control() || character == '\\');
    is_within.then(|| utf8_percent_encode(place, ADDRESS).to_string())
}

/// Decodes the pairs of a query or form; skips pairs that are not UTF-8.
pub fn pairs(text: &str) -> Vec<(String, String)> {
    let decoded = |part: &str| {
        percent_decode_str(&part.replace('+', " "))
            .decode_utf8()
            .ok()
            .map(std::borrow::Cow::into_owned)
    };
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((decoded(name)?, decoded(value)?))
    };
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .filter_map(pair)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{location, pairs, target};

    #[test]
    fn location_is_an_ascii_path_on_this_server() {
        let within = [
            ("/", "/"),
            ("/zip/90210?a=b&c=%20#d", "/zip/90210?a=b&c=%20#d"),
            ("/a b\"<é>/\u{202e}x", "/a%20b%22%3C%C3%A9%3E/%E2%80%AEx"),
            ("/.//evil.example", "/.//evil.example"),
        ];
        for (typed, sent) in within {
            assert_eq!(location(typed).as_deref(), Some(sent), "{typed}");
        }
        let beyond = [
            "",
            "zip",
            "//evil.example",
            "/\t/evil.example",
            "/\n/evil.example",
            "/\r/evil.example",
            "/\0/evil.example",
            "/\\evil.example",
            "\t//evil.example",
        ];
        for typed in beyond.into_iter().chain([
            "/\u{7f}/evil.example",
            "/\u{85}/evil.example",
            "https://evil.example/",
            "javascript:alert(1)",
        ]) {
            assert_eq!(location(typed), None, "{typed:?}");
        }
    }

    #[test]
    fn targets_and_pairs_are_written_and_read() {
        assert_eq!(
            target(
                "/v1/x",
                &[("a", Some("b c&d")), ("n", None), ("e", Some("é"))]
            ),
            "/v1/x?a=b%20c%26d&e=%C3%A9"
        );
        let read: Vec<(String, String)> = pairs("q=Acme+%26+Co&&empty=&x&bad=%FF");
        assert_eq!(
            read,
            [("q", "Acme & Co"), ("empty", ""), ("x", "")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }
}
