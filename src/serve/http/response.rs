//! Builds responses from answers and problems, with their headers.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use jiff::Timestamp;

use super::problem::Problem;
use super::request_id::RequestId;
use super::service::Service;

/// Initial capacity for an answer's headers, so that the map does not grow step by step.
const HEADERS: usize = 16;

/// Media types for files.
pub const PARQUET: &str = "application/vnd.apache.parquet";
pub const CSV: &str = "text/csv";
/// Media type of linked data as JSON.
pub const JSON_LD: &str = "application/ld+json";

const VARY: &str = "Accept, Authorization, X-API-Key, Cookie, Accept-Encoding, Origin";

/// Longest time in seconds that a client may cache an answer. After a rollback no client keeps the
/// old answer longer than docs/API.md promises.
const MAX_AGE_SECONDS: i64 = 300;
const DAY_SECONDS: i64 = 86_400;

/// Returns the `Cache-Control` value. Freshness and current tax rates apply to one day, so an
/// answer expires at midnight UTC at the latest.
fn kept(now: Timestamp) -> HeaderValue {
    let until_midnight = DAY_SECONDS - now.as_second().rem_euclid(DAY_SECONDS);
    let text = format!("private, max-age={}", MAX_AGE_SECONDS.min(until_midnight));
    HeaderValue::try_from(text).expect("words and digits are a valid header value")
}

/// Builds the 304 response for an answer that the client already has.
pub fn not_modified(tag: &str, now: Timestamp) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    let headers = response.headers_mut();
    insert(headers, header::ETAG, tag);
    headers.insert(header::CACHE_CONTROL, kept(now));
    headers.insert(header::VARY, HeaderValue::from_static(VARY));
    response
}

/// Builds a successful answer. An answer without an ETag must not be cached.
pub fn answer_response(
    content_type: &'static str,
    body: Body,
    tag: Option<&str>,
    now: Timestamp,
) -> Response {
    as_answer(Response::new(body), content_type, tag, now)
}

/// Adds the headers of every successful answer.
pub fn as_answer(
    mut response: Response,
    content_type: &'static str,
    tag: Option<&str>,
    now: Timestamp,
) -> Response {
    let headers = response.headers_mut();
    headers.reserve(HEADERS);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(
        header::CACHE_CONTROL,
        tag.map_or(HeaderValue::from_static("no-store"), |_| kept(now)),
    );
    headers.insert(header::VARY, HeaderValue::from_static(VARY));
    if let Some(tag) = tag {
        insert(headers, header::ETAG, tag);
    }
    response
}

/// Adds the headers of every successful answer and a file name for saving.
pub fn as_file(
    response: Response,
    content_type: &'static str,
    file_name: &str,
    tag: &str,
    now: Timestamp,
) -> Response {
    let mut response = as_answer(response, content_type, Some(tag), now);
    insert(
        response.headers_mut(),
        header::CONTENT_DISPOSITION,
        &format!("attachment; filename=\"{file_name}\""),
    );
    response
}

/// Builds the response for a problem.
pub fn problem_response(
    service: &Service,
    problem: &Problem,
    instance: &str,
    request_id: &RequestId,
) -> Response {
    let body = problem.body(service.public_url(), instance, &request_id.0);
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = problem.code.status();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/problem+json"),
    );
    insert(headers, header::CACHE_CONTROL, "no-store");
    headers.insert(header::VARY, HeaderValue::from_static(VARY));
    if problem.code.status() == StatusCode::UNAUTHORIZED {
        insert(headers, header::WWW_AUTHENTICATE, "Bearer");
    }
    if let Some(seconds) = problem.retry_after {
        insert(headers, header::RETRY_AFTER, &seconds.to_string());
    }
    if let Some(allow) = &problem.allow {
        insert(headers, header::ALLOW, allow);
    }
    response
}

/// Sets a header, unless the string is not a valid header value.
pub fn insert(headers: &mut HeaderMap, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.insert(name, value);
    }
}
