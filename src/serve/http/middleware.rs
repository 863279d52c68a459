//! What every request meets first: an id, bounds on its head, a bound on how many run at once and for how long, a net for panics,
//! and the access log. Every answer leaves through here.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::FutureExt;

use super::request_id::RequestId;
use super::response::problem_response;
use crate::serve::http::auth::Client;
use crate::serve::http::problem::{Code, Problem};
use crate::serve::http::service::Service;
use crate::serve::http::{cors, etag};

/// Wraps every route.
pub async fn guard(State(service): State<Arc<Service>>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let request_id = RequestId::of(request.headers());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let origin = request.headers().get(header::ORIGIN).cloned();
    let route = request.extensions().get::<MatchedPath>().cloned();
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
    service.metrics.record(route, response.status(), started.elapsed());
    log(&response, &method, &path, &request_id, started);
    response
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

#[cfg(test)]
mod tests;
