//! Reads each operation's documentation: the example request, body and answer from `docs/examples`,
//! and the description from `docs/operations`. A test sends the requests again and compares the
//! answers.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;

use super::endpoint::{Access, Endpoint};

#[derive(rust_embed::RustEmbed)]
#[folder = "../../docs/examples"]
struct Kept;

#[derive(rust_embed::RustEmbed)]
#[folder = "../../docs/operations"]
struct Descriptions;

/// Percent-encodes everything but characters that are safe in a query, a shell and a curl command.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b',')
    .remove(b':');

/// Example request for display, which works as shown.
#[derive(Debug, Clone, PartialEq)]
pub struct ExampleRequest {
    pub method: &'static str,
    /// Percent-encoded path.
    pub path: String,
    /// Parameter names and values, not percent-encoded.
    pub query: Vec<(String, String)>,
    pub body: Option<Value>,
    pub needs_key: bool,
    /// True if the answer is a document without an envelope.
    pub is_document: bool,
}

impl ExampleRequest {
    /// Returns the request whose answer is stored. If no request is stored, the result contains
    /// only the endpoint's path.
    pub fn for_endpoint(endpoint: &Endpoint) -> Self {
        let kept = read("requests")
            .and_then(|requests| requests[endpoint.operation_id].as_str().map(str::to_owned));
        let target = kept.unwrap_or_else(|| endpoint.path.to_owned());
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        Self {
            method: endpoint.method,
            path: path.to_owned(),
            query: pairs
                .map(|(name, value)| (decoded(name), decoded(value)))
                .collect(),
            body: endpoint.body.and_then(|_| body(endpoint.operation_id)),
            needs_key: endpoint.access != Access::Everyone,
            is_document: endpoint.is_document(),
        }
    }

    /// Returns the path and the query.
    pub fn target(&self) -> String {
        let pairs: Vec<String> = self
            .query
            .iter()
            .map(|(name, value)| format!("{name}={}", encoded(value)))
            .collect();
        if pairs.is_empty() {
            self.path.clone()
        } else {
            format!("{}?{}", self.path, pairs.join("&"))
        }
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// Returns the operation's recorded answer, if one is stored.
pub fn answer(operation_id: &str) -> Option<Value> {
    read(operation_id)
}

/// Returns the example request body, if the operation has one.
pub fn body(operation_id: &str) -> Option<Value> {
    read(&format!("{operation_id}.request"))
}

/// Returns the Markdown description of an operation, beyond its summary.
pub fn description(operation_id: &str) -> Option<String> {
    let file = Descriptions::get(&format!("{operation_id}.md"))?;
    String::from_utf8(file.data.into_owned())
        .ok()
        .map(|text| text.trim().to_owned())
}

fn read(name: &str) -> Option<Value> {
    let file = Kept::get(&format!("{name}.json"))?;
    serde_json::from_slice(&file.data).ok()
}
