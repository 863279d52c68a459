//! Reports failures to callers as RFC 9457 problem details. Codes are stable; messages may change.
//! The statuses are those of the specification, plus 405 for a wrong method and 503 for temporary
//! failures. Requests that HTTP would answer with 406, 413, 414 or 415 get 400. Problems are short,
//! whatever the size of the request.

use std::borrow::Cow;

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::json::Json;
use crate::release::release_unavailable::ReleaseUnavailable;
use pubdata_core::error::Error;
use pubdata_store::Manifest;

/// Kind of failure, as a stable code for programs; `x-problems` describes how to handle each code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ProblemCode")]
pub enum Code {
    InvalidParameter,
    MissingParameter,
    UnknownParameter,
    InvalidCursor,
    InvalidJson,
    BatchTooLarge,
    AmbiguousIdentifier,
    MissingApiKey,
    InvalidApiKey,
    InsufficientPermission,
    NotFound,
    RouteNotFound,
    MethodNotAllowed,
    CoverageUnavailable,
    RateLimited,
    InternalError,
    Busy,
}

/// Description of a code, for the OpenAPI document and the docs page.
pub struct CodeEntry {
    pub code: Code,
    /// Name of the code in answers.
    pub name: &'static str,
    pub status: u16,
    pub title: &'static str,
    /// Advice for the caller.
    pub advice: &'static str,
}

/// All codes.
#[rustfmt::skip]
pub const CODES: [CodeEntry; 17] = [
    CodeEntry { code: Code::InvalidParameter, name: "invalid_parameter", status: 400, title: "Invalid parameter",
        advice: "Correct the parameter, header or body field that `errors` names." },
    CodeEntry { code: Code::MissingParameter, name: "missing_parameter", status: 400, title: "Missing parameter",
        advice: "Add the parameter or body field that `errors` names." },
    CodeEntry { code: Code::UnknownParameter, name: "unknown_parameter", status: 400, title: "Unknown parameter",
        advice: "Remove or correct the name; the nearest valid one is given." },
    CodeEntry { code: Code::InvalidCursor, name: "invalid_cursor", status: 400, title: "Invalid cursor",
        advice: "Use a cursor only with the filters and the release of the page it came from, or start again without it." },
    CodeEntry { code: Code::InvalidJson, name: "invalid_json", status: 400, title: "Invalid JSON",
        advice: "Send one JSON object with `Content-Type: application/json`." },
    CodeEntry { code: Code::BatchTooLarge, name: "batch_too_large", status: 400, title: "Batch too large",
        advice: "Split the batch." },
    CodeEntry { code: Code::AmbiguousIdentifier, name: "ambiguous_identifier", status: 400, title: "Ambiguous identifier",
        advice: "Repeat the request with one of `candidates`." },
    CodeEntry { code: Code::MissingApiKey, name: "missing_api_key", status: 401, title: "Missing API key",
        advice: "Send `Authorization: Bearer KEY` or `X-API-Key: KEY`." },
    CodeEntry { code: Code::InvalidApiKey, name: "invalid_api_key", status: 401, title: "Invalid API key",
        advice: "Check the key; it may be mistyped, expired or revoked." },
    CodeEntry { code: Code::InsufficientPermission, name: "insufficient_permission", status: 403, title: "Insufficient permission",
        advice: "Use a key with the scope that `detail` names." },
    CodeEntry { code: Code::NotFound, name: "not_found", status: 404, title: "Not found",
        advice: "Check the code; `detail` says why it may be missing." },
    CodeEntry { code: Code::RouteNotFound, name: "route_not_found", status: 404, title: "No such route",
        advice: "Check the path against /v1/openapi.json." },
    CodeEntry { code: Code::MethodNotAllowed, name: "method_not_allowed", status: 405, title: "Method not allowed",
        advice: "Use one of the methods in `Allow`." },
    CodeEntry { code: Code::CoverageUnavailable, name: "coverage_unavailable", status: 404, title: "Not covered",
        advice: "See /v1/coverage for what is published." },
    CodeEntry { code: Code::RateLimited, name: "rate_limited", status: 429, title: "Rate limit exceeded",
        advice: "Wait for the seconds in `Retry-After`." },
    CodeEntry { code: Code::InternalError, name: "internal_error", status: 500, title: "Internal error",
        advice: "Try again; if the error persists, report the request ID." },
    CodeEntry { code: Code::Busy, name: "busy", status: 503, title: "Busy",
        advice: "Try again after the seconds in `Retry-After`." },
];

impl Code {
    fn entry(self) -> &'static CodeEntry {
        CODES
            .iter()
            .find(|entry| entry.code == self)
            .expect("every code has an entry")
    }

    /// Returns the code's name in answers.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    pub fn title(self) -> &'static str {
        self.entry().title
    }

    /// Returns the advice for the caller.
    pub fn advice(self) -> &'static str {
        self.entry().advice
    }

    /// Returns the HTTP status.
    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.entry().status).expect("the statuses are valid")
    }
}

/// Seconds after which a release that is being loaded is likely to be ready.
const LOADING_SECONDS: u64 = 2;

/// Maximum length, in characters, of a detail, of the message for a field, and of the field's name
/// and the path.
const MAX_DETAIL: usize = 1_000;
const MAX_MESSAGE: usize = 400;
const MAX_NAME: usize = 200;
/// Maximum number of listed fields and of listed candidates.
const MAX_LISTED: usize = 20;

/// Truncates a string to `most` characters.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// One invalid field of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Name of the parameter, header or body field.
    pub field: String,
    pub code: Code,
    pub message: String,
}

/// Failed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub code: Code,
    /// Description of the failure and of what to do about it, readable without context.
    pub detail: String,
    pub errors: Vec<FieldError>,
    /// Possible meanings of an ambiguous identifier.
    pub candidates: Vec<String>,
    /// Seconds to wait, if the request can be retried.
    pub retry_after: Option<u64>,
    /// Allowed methods of the path, if the method was wrong.
    pub allow: Option<String>,
}

/// Result of a handler.
pub type Result<T> = std::result::Result<T, Problem>;

impl Problem {
    /// Builds a problem without a field.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            errors: Vec::new(),
            candidates: Vec::new(),
            retry_after: None,
            allow: None,
        }
    }

    /// Builds a problem with one field, whose message is also the detail.
    pub fn of_field(code: Code, field: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            errors: vec![FieldError {
                field: field.to_owned(),
                code,
                message: message.clone(),
            }],
            ..Self::new(code, message)
        }
    }

    /// Builds the problem for a server failure. The cause goes to the log, not to the caller.
    pub fn internal(cause: &dyn std::fmt::Display) -> Self {
        tracing::error!("request failed: {cause}");
        Self::new(
            Code::InternalError,
            "the server failed to answer the request; the cause is in its log under this request id",
        )
    }

    /// Returns the problem in the public format, for a request or for one item of a batch.
    pub fn shown<'a>(
        &'a self,
        public_url: &str,
        instance: &'a str,
        request_id: &'a str,
    ) -> ProblemDetails<'a> {
        let CodeEntry {
            name,
            status,
            title,
            ..
        } = self.code.entry();
        ProblemDetails {
            kind: format!("{public_url}/problems/{name}"),
            title,
            status: *status,
            detail: cut(&self.detail, MAX_DETAIL),
            instance: cut(instance, MAX_NAME),
            code: self.code,
            request_id,
            errors: self.shown_errors(),
            candidates: &self.candidates[..self.candidates.len().min(MAX_LISTED)],
        }
    }

    /// Returns the invalid fields in the public format.
    pub fn shown_errors(&self) -> Vec<FieldErrorDetails<'_>> {
        let errors = self.errors.iter().take(MAX_LISTED);
        errors
            .map(
                |FieldError {
                     field,
                     code,
                     message,
                 }| FieldErrorDetails {
                    field: cut(field, MAX_NAME),
                    code: *code,
                    message: cut(message, MAX_MESSAGE),
                },
            )
            .collect()
    }

    /// Returns the JSON body.
    pub fn body(&self, public_url: &str, instance: &str, request_id: &str) -> Vec<u8> {
        let mut json = Json::new();
        json.value(&self.shown(public_url, instance, request_id));
        json.into_bytes()
    }
}

/// RFC 9457 problem details. `code` is stable; texts may change.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub struct ProblemDetails<'a> {
    /// URL that identifies the kind of problem and describes it.
    #[serde(rename = "type")]
    kind: String,
    /// Short name of the kind of problem, the same for every occurrence.
    title: &'static str,
    /// HTTP status code of the problem.
    status: u16,
    /// Description of this failure.
    detail: Cow<'a, str>,
    /// Path of the request that failed.
    instance: Cow<'a, str>,
    /// Stable code of the problem, for programs.
    code: Code,
    /// Identifier of the request, repeated in the header `X-Request-Id`; include it when you report
    /// the problem.
    request_id: &'a str,
    /// Invalid fields; empty if the problem is not about a field.
    errors: Vec<FieldErrorDetails<'a>>,
    /// Possible meanings of an ambiguous identifier.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    candidates: &'a [String],
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FieldError")]
pub struct FieldErrorDetails<'a> {
    /// Parameter, header or body field.
    pub field: Cow<'a, str>,
    /// Stable code of the field's error.
    pub code: Code,
    /// Description of the field's error.
    pub message: Cow<'a, str>,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::internal(&error)
    }
}

impl Problem {
    /// Adds to a "not found" problem that a release built from samples may lack the record, unless
    /// the problem has its own hint.
    pub fn with_samples_named(mut self, manifest: &Manifest) -> Self {
        if manifest.is_sample
            && self.code == Code::NotFound
            && !self.detail.contains([';', '?', ':'])
        {
            self.detail.push_str("; this release is built from samples, and one built from the publishers' files may have it");
        }
        self
    }
}

impl From<ReleaseUnavailable> for Problem {
    fn from(reason: ReleaseUnavailable) -> Self {
        match reason {
            ReleaseUnavailable::Missing {
                parameter: Some(parameter),
                detail,
            } => Self::of_field(Code::CoverageUnavailable, parameter, detail),
            ReleaseUnavailable::Missing {
                parameter: None,
                detail,
            } => Self::new(Code::CoverageUnavailable, detail),
            ReleaseUnavailable::Busy(detail) => Self {
                retry_after: Some(LOADING_SECONDS),
                ..Self::new(Code::Busy, detail)
            },
            ReleaseUnavailable::Failed(error) => Self::internal(&error),
        }
    }
}

/// Builds the problem for a dataset that the release does not have.
pub fn not_published(dataset_id: &str) -> Problem {
    Problem::new(
        Code::CoverageUnavailable,
        format!("this release has no `{dataset_id}`; /v1/coverage lists what it has"),
    )
}

/// Builds the problem for a request outside the coverage, with a list of what is covered.
pub fn not_covered(field: &str, what: String, covered: &[&str]) -> Problem {
    let list = if covered.is_empty() {
        "nothing yet".to_owned()
    } else {
        covered.join(", ")
    };
    Problem::of_field(
        Code::CoverageUnavailable,
        field,
        format!("{what}; covered: {list}. /v1/coverage says more"),
    )
}
