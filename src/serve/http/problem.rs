//! Failures as the caller sees them: RFC 9457 problem details. The codes are contract, the texts
//! are not. The statuses are those of the specification, 405 for a method that a path does not
//! have, and 503 for what will be there in a moment: what HTTP would call 406, 413, 414 or 415 is
//! answered as the 400 it is a case of. However much a request says, what a problem says of it is
//! short.

use std::borrow::Cow;

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::json::Json;
use crate::release::not_served::NotServed;
use pubdata_core::error::Error;
use pubdata_store::Manifest;

/// What went wrong, as a stable word for programs; `x-problems` says what to do about each.
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

/// What is said of a code everywhere: the source of the OpenAPI document and the docs page.
pub struct CodeEntry {
    pub code: Code,
    /// The word in answers.
    pub name: &'static str,
    pub status: u16,
    pub title: &'static str,
    /// What a caller should do about it.
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
        advice: "Ask again for one of `candidates`." },
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
        advice: "Ask /v1/coverage what is published." },
    CodeEntry { code: Code::RateLimited, name: "rate_limited", status: 429, title: "Rate limit exceeded",
        advice: "Wait for the seconds in `Retry-After`." },
    CodeEntry { code: Code::InternalError, name: "internal_error", status: 500, title: "Internal error",
        advice: "Try again; if the error persists, report the request ID." },
    CodeEntry { code: Code::Busy, name: "busy", status: 503, title: "Busy",
        advice: "Ask again after the seconds in `Retry-After`." },
];

impl Code {
    fn entry(self) -> &'static CodeEntry {
        CODES
            .iter()
            .find(|entry| entry.code == self)
            .expect("every code has an entry")
    }

    /// The code as callers see it.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    pub fn title(self) -> &'static str {
        self.entry().title
    }

    /// What a caller should do about it.
    pub fn advice(self) -> &'static str {
        self.entry().advice
    }

    /// The HTTP status.
    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.entry().status).expect("the statuses are valid")
    }
}

/// When a release that is being loaded is likely to be there.
const LOADING_SECONDS: u64 = 2;

/// The most characters of a detail, of what is said of a field, and of the field's name and the
/// path.
const MAX_DETAIL: usize = 1_000;
const MAX_MESSAGE: usize = 400;
const MAX_NAME: usize = 200;
/// The most fields that are named, and the most candidates.
const MAX_LISTED: usize = 20;

/// The text, as far as it is told.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// One wrong field of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Name of the parameter, header or body field.
    pub field: String,
    pub code: Code,
    pub message: String,
}

/// A failed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub code: Code,
    /// What happened and the way out, readable alone.
    pub detail: String,
    pub errors: Vec<FieldError>,
    /// What could be meant, when an identifier is ambiguous.
    pub candidates: Vec<String>,
    /// Seconds to wait, for a rate limit.
    pub retry_after: Option<u64>,
    /// Methods the path knows, when the method was wrong.
    pub allow: Option<String>,
}

/// A handler's result.
pub type Result<T> = std::result::Result<T, Problem>;

impl Problem {
    /// A problem without a field.
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

    /// A problem with one field, whose message is also the detail.
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

    /// A failure of ours: the cause goes to the log, not to the caller.
    pub fn internal(cause: &dyn std::fmt::Display) -> Self {
        tracing::error!("request failed: {cause}");
        Self::new(
            Code::InternalError,
            "the request failed on our side; the cause is in the server's log under this request id",
        )
    }

    /// The problem as callers see it, of a request or of one item of a batch.
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

    /// The fields at fault as callers see them.
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

    /// The JSON body.
    pub fn body(&self, public_url: &str, instance: &str, request_id: &str) -> Vec<u8> {
        let mut json = Json::new();
        json.value(&self.shown(public_url, instance, request_id));
        json.into_bytes()
    }
}

/// RFC 9457 problem details. `code` is the contract; texts may change.
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
    /// What went wrong this time, in words.
    detail: Cow<'a, str>,
    /// Path of the request that failed.
    instance: Cow<'a, str>,
    /// Stable code of the problem, for programs.
    code: Code,
    /// Identifier of the request, repeated in the header `X-Request-Id`; include it when you report
    /// the problem.
    request_id: &'a str,
    /// The fields at fault; empty if the problem is not about a field.
    errors: Vec<FieldErrorDetails<'a>>,
    /// What could be meant, of an ambiguous identifier.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    candidates: &'a [String],
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FieldError")]
pub struct FieldErrorDetails<'a> {
    /// Parameter, header or body field.
    pub field: Cow<'a, str>,
    /// Stable code of what is wrong with the field.
    pub code: Code,
    /// What is wrong with the field, in words.
    pub message: Cow<'a, str>,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::internal(&error)
    }
}

impl Problem {
    /// Adds to what was not found in a release of samples that another release may have it, unless
    /// the problem has a hint of its own.
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

impl From<NotServed> for Problem {
    fn from(reason: NotServed) -> Self {
        match reason {
            NotServed::Missing {
                parameter: Some(parameter),
                detail,
            } => Self::of_field(Code::CoverageUnavailable, parameter, detail),
            NotServed::Missing {
                parameter: None,
                detail,
            } => Self::new(Code::CoverageUnavailable, detail),
            NotServed::Busy(detail) => Self {
                retry_after: Some(LOADING_SECONDS),
                ..Self::new(Code::Busy, detail)
            },
            NotServed::Failed(error) => Self::internal(&error),
        }
    }
}

/// A problem for something that the release lacks altogether.
pub fn not_published(dataset_id: &str) -> Problem {
    Problem::new(
        Code::CoverageUnavailable,
        format!("this release has no `{dataset_id}`; /v1/coverage lists what it has"),
    )
}

/// The problem of a question about what is not published here, with what is.
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
