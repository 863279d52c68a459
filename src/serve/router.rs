//! Makes the axum router from the route table, with the pages beside it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, RawPathParams, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{any, get};
use tower_http::compression::CompressionLayer;

use super::http::dispatch::{Methods, dispatch};
use super::http::metrics::CONTENT_TYPE;
use super::http::middleware::guard;
use super::http::openapi::DOCS_PAGE;
use super::http::problem::{Code, Problem};
use super::http::request_id::RequestId;
use super::http::response::problem_response;
use super::server::Server;
use super::{routes, stream};

impl Server {
    /// The router, for a server or a test.
    pub fn router(self: &Arc<Self>) -> Router {
        router(self)
    }
}

/// The router of the API.
fn router(server: &Arc<Server>) -> Router {
    let mut by_path: BTreeMap<&str, Methods> = BTreeMap::new();
    for endpoint in routes::endpoints() {
        by_path.entry(endpoint.path).or_default().push(endpoint);
    }
    let mut router: Router<Arc<Server>> = Router::new();
    for (path, methods) in by_path {
        let methods = Arc::new(methods);
        let handler = move |State(server): State<Arc<Server>>, path: Result<RawPathParams, _>, request: Request| {
            dispatch(methods.clone(), server.service.clone(), path, request)
        };
        router = router.route(path, any(handler));
    }
    router = router
        .route("/v1/openapi.json", get(openapi_document).fallback(no_route))
        .route("/docs", get(docs).fallback(no_route))
        .route("/problems/{code}", get(|| async { Redirect::temporary("/docs#problems") }).fallback(no_route))
        .route("/", get(|| async { Redirect::temporary("/docs") }).fallback(no_route))
        .route("/v1/stream", get(upgrade).fallback(no_route))
        .route("/healthz", get(|| async { health(StatusCode::OK, "ok", None) }).fallback(no_route))
        .route("/readyz", get(ready).fallback(no_route));
    if server.service.settings.is_metrics_on_main() {
        router = router.route("/metrics", get(metrics).fallback(no_route));
    }
    let guarded = from_fn_with_state(server.service.clone(), guard);
    router.fallback(no_route).layer(CompressionLayer::new()).layer(guarded).with_state(server.clone())
}

async fn upgrade(State(server): State<Arc<Server>>, request: Request) -> Response {
    stream::upgrade(server.stream.clone(), request).await
}

/// The router of the metrics address.
pub fn metrics_router(server: &Arc<Server>) -> Router {
    Router::new().route("/metrics", get(metrics)).with_state(server.clone())
}

async fn no_route(State(server): State<Arc<Server>>, Extension(request_id): Extension<RequestId>, request: Request) -> Response {
    let (method, path) = (request.method(), request.uri().path());
    let shown: String = path.chars().take(200).collect();
    let problem = Problem::new(Code::RouteNotFound, format!("there is no {method} {shown}; /v1/openapi.json lists every route"));
    problem_response(&server.service, &problem, path, &request_id)
}

async fn openapi_document(State(server): State<Arc<Server>>) -> Response {
    page(Body::from(server.openapi.clone()), "application/json")
}

async fn docs() -> Response {
    let mut response = page(Body::from(DOCS_PAGE), "text/html; charset=utf-8");
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}

async fn ready(State(server): State<Arc<Server>>) -> Response {
    match server.service.catalog.current() {
        Some(release) => health(StatusCode::OK, "ready", Some(release.manifest.release_id.as_str())),
        None => health(StatusCode::SERVICE_UNAVAILABLE, "no release yet", None),
    }
}

async fn metrics(State(server): State<Arc<Server>>) -> Response {
    let service = &server.service;
    let release = service.catalog.current();
    let running = service.settings.limits.simultaneous_requests.saturating_sub(service.running.available_permits());
    let text = service.metrics.text(release.as_ref().map(|release| &release.manifest), service.now(), running, server.stream.numbers());
    // Files of the home are looked at.
    let readings = tokio::task::spawn_blocking(move || server.readings(release.as_ref().map(|release| &release.manifest))).await;
    let text = match readings {
        Ok(Some(readings)) => readings.added_to(&text),
        _ => text,
    };
    page(Body::from(text), CONTENT_TYPE)
}

fn health(status: StatusCode, word: &str, release_id: Option<&str>) -> Response {
    let body = serde_json::json!({"status": word, "release_id": release_id}).to_string();
    (status, [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], body).into_response()
}

fn page(body: Body, content_type: &'static str) -> Response {
    ([(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, "no-cache")], body).into_response()
}
