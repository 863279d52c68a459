//! Failures as the caller sees them: RFC 9457 problem details. The codes are contract, the texts are not. Only the statuses of the
//! specification are used: what HTTP would call 405, 406, 413, 414 or 415 is answered as the 400 or 404 it is a case of.

use axum::http::StatusCode;

use super::json::Json;

/// What went wrong, as a stable word for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    CoverageUnavailable,
    RateLimited,
    InternalError,
}

/// All codes with status, title and what to do about them: the source of the OpenAPI document and the docs page.
pub const CODES: [(Code, &str, u16, &str, &str); 15] = [
    (Code::InvalidParameter, "invalid_parameter", 400, "Invalid parameter", "Correct the parameter, header or body field that `errors` names."),
    (Code::MissingParameter, "missing_parameter", 400, "Missing parameter", "Add the parameter or body field that `errors` names."),
    (Code::UnknownParameter, "unknown_parameter", 400, "Unknown parameter", "Remove or correct the name; the nearest valid one is given."),
    (
        Code::InvalidCursor,
        "invalid_cursor",
        400,
        "Invalid cursor",
        "Use a cursor only with the filters and the release of the page it came from, or start again without it.",
    ),
    (Code::InvalidJson, "invalid_json", 400, "Invalid JSON", "Send one JSON object with `Content-Type: application/json`."),
    (Code::BatchTooLarge, "batch_too_large", 400, "Batch too large", "Split the batch."),
    (Code::AmbiguousIdentifier, "ambiguous_identifier", 400, "Ambiguous identifier", "Ask again for one of `candidates`."),
    (Code::MissingApiKey, "missing_api_key", 401, "Missing API key", "Send `Authorization: Bearer KEY` or `X-API-Key: KEY`."),
    (Code::InvalidApiKey, "invalid_api_key", 401, "Invalid API key", "Check the key; it may be mistyped, expired or revoked."),
    (Code::InsufficientPermission, "insufficient_permission", 403, "Insufficient permission", "Use a key with the scope that `detail` names."),
    (Code::NotFound, "not_found", 404, "Not found", "Check the code; `detail` says why it may be missing."),
    (Code::RouteNotFound, "route_not_found", 404, "No such route", "Check path and method against /v1/openapi.json."),
    (Code::CoverageUnavailable, "coverage_unavailable", 404, "Not covered", "Ask /v1/coverage what is published."),
    (Code::RateLimited, "rate_limited", 429, "Rate limit exceeded", "Wait for the seconds in `Retry-After`."),
    (Code::InternalError, "internal_error", 500, "Internal error", "Try again; report the request id if it stays."),
];

impl Code {
    fn entry(self) -> &'static (Code, &'static str, u16, &'static str, &'static str) {
        CODES.iter().find(|entry| entry.0 == self).expect("every code has an entry")
    }

    /// The code as callers see it.
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    /// The HTTP status.
    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.entry().2).expect("the statuses are valid")
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
        Self { code, detail: detail.into(), errors: Vec::new(), candidates: Vec::new(), retry_after: None, allow: None }
    }

    /// A problem with one field, whose message is also the detail.
    pub fn of_field(code: Code, field: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { errors: vec![FieldError { field: field.to_owned(), code, message: message.clone() }], ..Self::new(code, message) }
    }

    /// A failure of ours: the cause goes to the log, not to the caller.
    pub fn internal(cause: &dyn std::fmt::Display) -> Self {
        tracing::error!("request failed: {cause}");
        Self::new(Code::InternalError, "the request failed on our side; the cause is in the server's log under this request id")
    }

    /// Writes the problem of one item of a batch: without what only a whole request has.
    pub fn write_item(&self, json: &mut Json, public_url: &str) {
        json.object(|json| {
            self.write_kind(json, public_url);
            json.key("code").text(self.code.name());
            self.write_errors(json);
        });
    }

    fn write_kind(&self, json: &mut Json, public_url: &str) {
        let (_, name, status, title, _) = self.code.entry();
        json.key("type").text(&format!("{public_url}/problems/{name}"));
        json.key("title").text(title);
        json.key("status").count(u64::from(*status));
        json.key("detail").text(&self.detail);
    }

    fn write_errors(&self, json: &mut Json) {
        json.key("errors").array(|json| {
            for error in &self.errors {
                json.object(|json| {
                    json.key("field").text(&error.field);
                    json.key("code").text(error.code.name());
                    json.key("message").text(&error.message);
                });
            }
        });
    }

    /// The JSON body.
    pub fn body(&self, public_url: &str, instance: &str, request_id: &str) -> Vec<u8> {
        let mut json = Json::new();
        json.object(|json| {
            self.write_kind(json, public_url);
            json.key("instance").text(instance);
            json.key("code").text(self.code.name());
            json.key("request_id").text(request_id);
            self.write_errors(json);
            if !self.candidates.is_empty() {
                json.key("candidates").texts(self.candidates.iter().map(String::as_str));
            }
        });
        json.into_bytes()
    }
}
