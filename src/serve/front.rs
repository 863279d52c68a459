//! What every request meets first: an id, bounds on its head, a bound on how many run at once and for how long, a net for panics,
//! and the access log. Every answer leaves through here.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use axum::body::{Body, HttpBody};
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::FutureExt;

use super::Service;
use super::auth::Client;
use super::problem::{Code, Problem};
use super::run::problem_response;
use super::{cors, etag};

/// Names one request in answer and log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestId(pub String);

/// Wraps every route.
pub async fn front(State(service): State<Arc<Service>>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let request_id = request_id(request.headers());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let origin = request.headers().get(header::ORIGIN).cloned();
    let route = request.extensions().get::<MatchedPath>().map(|route| route.as_str().to_owned());
    request.extensions_mut().insert(request_id.clone());

    let running = service.running.try_acquire();
    let mut response = match (check_head(&service, &request), &running) {
        (Err(problem), _) => problem_response(&service, &problem, &path, &request_id),
        (Ok(()), Err(_)) => problem_response(&service, &too_many_requests(), &path, &request_id),
        (Ok(()), Ok(_)) => {
            let answer = AssertUnwindSafe(next.run(request)).catch_unwind();
            match tokio::time::timeout(service.settings.limits.request_time, answer).await {
                Ok(Ok(response)) => response,
                Ok(Err(panic)) => problem_response(&service, &Problem::internal(&panic_text(panic.as_ref())), &path, &request_id),
                Err(_) => problem_response(&service, &Problem::internal(&"the request took longer than it may"), &path, &request_id),
            }
        }
    };
    cors::add_headers(&service.settings.cors_origins, origin.as_ref(), response.headers_mut());
    finish(&mut response, &method, &request_id);
    service.metrics.record(route.as_deref(), response.status(), started.elapsed());
    log(&response, &method, &path, &request_id, started);
    response
}

/// The client's id when it sends a usable one, otherwise a new one.
fn request_id(headers: &HeaderMap) -> RequestId {
    let is_usable = |text: &&str| (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    let sent = headers.get("x-request-id").and_then(|value| value.to_str().ok()).filter(is_usable);
    RequestId(sent.map_or_else(new_request_id, str::to_owned))
}

/// A random start for each process, then counted.
fn new_request_id() -> String {
    static START: LazyLock<u64> = LazyLock::new(|| getrandom::u64().unwrap_or_default());
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{:016x}{:08x}", *START, COUNT.fetch_add(1, Ordering::Relaxed))
}

fn check_head(service: &Service, request: &Request) -> Result<(), Problem> {
    let limits = service.settings.limits;
    let url_bytes = request.uri().path_and_query().map_or(0, |text| text.as_str().len());
    if url_bytes > limits.url_bytes {
        return Err(Problem::new(Code::InvalidParameter, format!("the URL has {url_bytes} bytes, at most {} are read", limits.url_bytes)));
    }
    let header_bytes: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if request.headers().len() > limits.header_count || header_bytes > limits.header_bytes {
        let message = format!("the request has too many headers: at most {} with {} bytes are read", limits.header_count, limits.header_bytes);
        return Err(Problem::new(Code::InvalidParameter, message));
    }
    Ok(())
}

fn too_many_requests() -> Problem {
    Problem { retry_after: Some(1), ..Problem::new(Code::RateLimited, "the server answers as many requests as it can; try again in a second") }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("a handler panicked: {}", text.unwrap_or("without a message"))
}

fn finish(response: &mut Response, method: &Method, request_id: &RequestId) {
    let length = response.body().size_hint().exact();
    let headers = response.headers_mut();
    etag::mark_coding(headers);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(value) = HeaderValue::from_str(&request_id.0) {
        headers.insert("x-request-id", value);
    }
    if method == Method::HEAD {
        // Where the router has emptied the body already, it has said how long it was.
        if let Some(length) = length.filter(|_| !headers.contains_key(header::CONTENT_LENGTH)) {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        *response.body_mut() = Body::empty();
    }
}

fn log(response: &Response, method: &Method, path: &str, request_id: &RequestId, started: Instant) {
    let client = response.extensions().get::<Arc<Client>>().map(|client| client.id.as_str()).unwrap_or_default();
    let (status, duration_us) = (response.status().as_u16(), u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX));
    tracing::info!(target: "pubdata::access", status, duration_us, client, request.id = request_id.0.as_str(), "{method} {path}");
}

/// The caller's address: the proxy's word for it when there is one in front.
pub fn peer_address(service: &Service, parts: &Parts) -> String {
    let forwarded = || parts.headers.get("x-forwarded-for")?.to_str().ok()?.rsplit(',').next().map(|address| address.trim().chars().take(64).collect());
    let connected = || parts.extensions.get::<ConnectInfo<std::net::SocketAddr>>().map(|info| info.0.ip().to_string());
    let from_proxy = if service.settings.is_behind_proxy { forwarded() } else { None };
    from_proxy.or_else(connected).unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests;
