//! Lets scripts of chosen web origins call the API and read its answers.

use axum::http::{HeaderMap, HeaderValue, header};

const REQUEST_HEADERS: &str =
    "Authorization, X-API-Key, Content-Type, If-None-Match, If-Range, Range, X-Request-Id";
const ANSWER_HEADERS: &str = "ETag, Content-Disposition, Content-Range, Link, X-Request-Id, RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After";

/// Adds the headers that let a script from the requesting origin read the answer. Adds no headers
/// for an origin that is not allowed.
pub fn add_headers(origins: &[String], origin: Option<&HeaderValue>, answer: &mut HeaderMap) {
    let Some(origin) = origin else { return };
    let is_chosen = origins
        .iter()
        .any(|chosen| chosen == "*" || chosen.as_bytes() == origin.as_bytes());
    if !is_chosen {
        return;
    }
    answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    answer.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static(ANSWER_HEADERS),
    );
    if let Some(methods) = answer.get(header::ALLOW).cloned() {
        answer.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
        answer.insert(
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            HeaderValue::from_static(REQUEST_HEADERS),
        );
        answer.insert(
            header::ACCESS_CONTROL_MAX_AGE,
            HeaderValue::from_static("3600"),
        );
    }
}
