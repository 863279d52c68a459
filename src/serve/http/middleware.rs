//! Wraps every request and answer. Each request gets an id and is charged to its client. The
//! middleware limits the request's head and duration, catches panics and writes the access log.
//! Answers leave complete, and their bytes are counted until the client has taken them.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{FutureExt, StreamExt};

use super::connections::{Busy, Connection};
use super::documents::Shared;
use super::metrics::Route;
use super::pieces::Counted;
use super::quota::held;
use super::request_id::{RequestId, shown};
use super::response::problem_response;
use crate::http::auth::Client;
use crate::http::problem::{Code, Problem};
use crate::http::service::{Payer, Service};
use crate::http::{cors, etag};

/// Seconds after which a client may retry a request that took too long.
const BUSY_SECONDS: u64 = 5;
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Determines from the headers who pays for a request.
pub type PayerOf = fn(&HeaderMap) -> Payer;

/// Wraps the answers of the axum router.
pub async fn guard_page(
    State((service, pays)): State<(Arc<Service>, PayerOf)>,
    request: Request,
    next: Next,
) -> Response {
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .cloned()
        .map(Route::from);
    let pays = pays(request.headers());
    guard(service, route, pays, request, |request| next.run(request)).await
}

/// Wraps every answer. `route` is the request's path pattern, or `None` if no route matches. The
/// handler finds [`Metered`](super::service::Metered) among the request's extensions and must
/// refuse a client without a token.
pub async fn guard<F: Future<Output = Response>>(
    service: Arc<Service>,
    route: Option<Route>,
    pays: Payer,
    request: Request,
    answer: impl FnOnce(Request) -> F,
) -> Response {
    let started = Instant::now();
    let request_id = RequestId::from_headers(request.headers());
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let path = if uri.path().len() > service.settings.limits.url_bytes {
        shown(uri.path())
    } else {
        uri.path()
    };
    let origin = request.headers().get(header::ORIGIN).cloned();
    let busy = request
        .extensions()
        .get::<Arc<Connection>>()
        .cloned()
        .map(Connection::begin);
    let (mut parts, body) = request.into_parts();
    let (now, head) = (service.now(), check_head(&service, &parts));
    let metered = service.meter(&parts, &pays, now).await;
    let (client, is_paid, allowance) =
        (metered.client.clone(), metered.is_paid(), metered.allowance);
    parts.extensions.insert(request_id.clone());
    parts.extensions.insert(metered);
    let request = Request::from_parts(parts, body);

    let refused = match head {
        Ok(()) => None,
        Err(_) if !allowance.is_allowed => Some(problem_response(
            &service,
            &allowance.refusal(),
            path,
            &request_id,
        )),
        Err(problem) => Some(problem_response(&service, &problem, path, &request_id)),
    };
    let response = match refused {
        Some(response) => response,
        None => {
            let answer = AssertUnwindSafe(answer(request)).catch_unwind();
            match tokio::time::timeout(service.settings.limits.request_time, answer).await {
                Ok(Ok(response)) => response,
                Ok(Err(panic)) => problem_response(
                    &service,
                    &Problem::internal(&panic_text(panic.as_ref())),
                    path,
                    &request_id,
                ),
                Err(_) => problem_response(
                    &service,
                    &too_long(service.settings.limits.request_time),
                    path,
                    &request_id,
                ),
            }
        }
    };
    let response = hold(&service, response, busy, &client).await;
    let mut response =
        response.unwrap_or_else(|problem| problem_response(&service, &problem, path, &request_id));
    cors::add_headers(
        &service.settings.cors_origins,
        origin.as_ref(),
        response.headers_mut(),
    );
    finish(&service, &mut response, &method, &request_id);
    let duration = started.elapsed();
    service.metrics.record(route, response.status(), duration);
    let has_line = is_paid
        || {
            let noted = service.free_requests.note(&client.id, now);
            for (client, count) in noted.left_out {
                tracing::info!(target: "pubdata::access", client, count, "omitted the log lines of {count} requests of {client} that took no token within a minute");
            }
            noted.has_line
        };
    if has_line {
        log(&response, &client, &method, path, &request_id, duration);
    }
    response
}

/// Completes an answer before it is sent, so that no encoder and no uncounted bytes wait for a
/// client that stops reading. An answer that is sent in pieces counts each piece itself.
async fn hold(
    service: &Service,
    response: Response,
    busy: Option<Busy>,
    client: &Client,
) -> Result<Response, Problem> {
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        busy.into_iter().for_each(Busy::stay);
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    let counted = parts.extensions.get::<Counted>().copied();
    let answered = |busy: Option<Busy>| busy.and_then(|busy| busy.answered(client.eviction_rank()));
    if counted == Some(Counted::Streamed) {
        let busy = answered(busy);
        let pieces = body.into_data_stream().inspect(move |_| {
            let _until_the_end = &busy;
        });
        return Ok(Response::from_parts(parts, Body::from_stream(pieces)));
    }
    let bytes = to_bytes(body, usize::MAX)
        .await
        .map_err(|error| Problem::internal(&format!("an answer cannot be compressed: {error}")))?;
    let is_large = bytes.len() >= service.settings.limits.least_counted_bytes;
    let unread_answers = if is_large {
        Some(service.hold_unread(client)?)
    } else {
        None
    };
    let is_counted = is_large && parts.extensions.get::<Shared>().is_none() && counted.is_none();
    let share = if is_counted {
        Some(service.send(&client.id, bytes.len())?)
    } else {
        None
    };
    Ok(Response::from_parts(
        parts,
        Body::from(held(bytes, (unread_answers, share, answered(busy)))),
    ))
}

fn check_head(service: &Service, parts: &Parts) -> Result<(), Problem> {
    let limits = service.settings.limits;
    let url_bytes = parts
        .uri
        .path_and_query()
        .map_or(0, |text| text.as_str().len());
    if url_bytes > limits.url_bytes {
        return Err(Problem::new(
            Code::InvalidParameter,
            format!(
                "the URL has {url_bytes} bytes; the limit is {}",
                limits.url_bytes
            ),
        ));
    }
    let header_bytes: usize = parts
        .headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum();
    if parts.headers.len() > limits.header_count || header_bytes > limits.header_bytes {
        let message = format!(
            "the request has too many or too large headers; the limits are {} headers and {} bytes",
            limits.header_count, limits.header_bytes
        );
        return Err(Problem::new(Code::InvalidParameter, message));
    }
    Ok(())
}

/// Builds the problem for a request that takes too long. A retry can succeed, because the data it
/// needs is often in memory by then.
fn too_long(limit: Duration) -> Problem {
    let detail = format!("no answer within {limit:?}, the time limit of a request");
    tracing::error!("request failed: {detail}");
    Problem {
        retry_after: Some(BUSY_SECONDS),
        ..Problem::new(Code::Busy, detail)
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    format!(
        "a handler panicked: {}",
        text.unwrap_or("without a message")
    )
}

fn finish(service: &Service, response: &mut Response, method: &Method, request_id: &RequestId) {
    let length = response
        .body()
        .size_hint()
        .exact()
        .filter(|_| !is_bodiless(response.status()));
    let headers = response.headers_mut();
    etag::mark_coding(headers);
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    if service.settings.tls.is_some() {
        headers.insert(
            header::STRICT_TRANSPORT_SECURITY,
            HeaderValue::from_static("max-age=31536000"),
        );
    }
    if let Ok(value) = HeaderValue::from_str(&request_id.0) {
        headers.insert(X_REQUEST_ID, value);
    }
    if method == Method::HEAD {
        if let Some(length) = length.filter(|_| !headers.contains_key(header::CONTENT_LENGTH)) {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        *response.body_mut() = Body::empty();
    }
}

/// Reports whether answers with a status never have a body. A `Content-Length` header would
/// describe another answer (RFC 9110, section 8.6).
pub fn is_bodiless(status: StatusCode) -> bool {
    status.is_informational() || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

fn log(
    response: &Response,
    client: &Client,
    method: &Method,
    path: &str,
    request_id: &RequestId,
    duration: Duration,
) {
    let client = client.id.as_str();
    let (status, duration_us) = (
        response.status().as_u16(),
        u64::try_from(duration.as_micros()).unwrap_or(u64::MAX),
    );
    tracing::info!(target: "pubdata::access", status, duration_us, client, request.id = &*request_id.0, "{} {}", shown(method.as_str()), shown(path));
}

#[cfg(test)]
mod tests;
