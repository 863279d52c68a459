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

use super::Service;
use super::front::{RequestId, front};
use super::openapi;
use super::problem::{Code, Problem};
use super::routes::ENDPOINTS;
use super::run::{Methods, problem_response, run};
use super::stream;

/// The router of the API.
pub fn router(service: &Arc<Service>) -> Router {
    let mut by_path: BTreeMap<&str, Methods> = BTreeMap::new();
    for endpoint in &ENDPOINTS {
        by_path.entry(endpoint.path).or_default().push(endpoint);
    }
    let mut router: Router<Arc<Service>> = Router::new();
    for (path, methods) in by_path {
        let methods = Arc::new(methods);
        let handler = move |service: State<Arc<Service>>, path: Result<RawPathParams, _>, request: Request| run(methods.clone(), service, path, request);
        router = router.route(path, any(handler));
    }
    router = router
        .route("/v1/openapi.json", get(openapi_document).fallback(no_route))
        .route("/docs", get(docs).fallback(no_route))
        .route("/problems/{code}", get(|| async { Redirect::temporary("/docs#problems") }).fallback(no_route))
        .route("/", get(|| async { Redirect::temporary("/docs") }).fallback(no_route))
        .route("/v1/stream", get(stream::upgrade).fallback(no_route))
        .route("/healthz", get(|| async { health(StatusCode::OK, "ok", None) }).fallback(no_route))
        .route("/readyz", get(ready).fallback(no_route));
    if service.settings.is_metrics_on_main() {
        router = router.route("/metrics", get(metrics).fallback(no_route));
    }
    router.fallback(no_route).layer(CompressionLayer::new()).layer(from_fn_with_state(service.clone(), front)).with_state(service.clone())
}

/// The router of the metrics address.
pub fn metrics_router(service: &Arc<Service>) -> Router {
    Router::new().route("/metrics", get(metrics)).with_state(service.clone())
}

async fn no_route(State(service): State<Arc<Service>>, Extension(request_id): Extension<RequestId>, request: Request) -> Response {
    let (method, path) = (request.method(), request.uri().path());
    let shown: String = path.chars().take(200).collect();
    let problem = Problem::new(Code::RouteNotFound, format!("there is no {method} {shown}; /v1/openapi.json lists every route"));
    problem_response(&service, &problem, path, &request_id)
}

async fn openapi_document(State(service): State<Arc<Service>>) -> Response {
    page(Body::from(service.openapi.clone()), "application/json")
}

async fn docs() -> Response {
    let mut response = page(Body::from(openapi::DOCS_PAGE), "text/html; charset=utf-8");
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}

async fn ready(State(service): State<Arc<Service>>) -> Response {
    match service.catalog.current() {
        Some(release) => health(StatusCode::OK, "ready", Some(release.manifest.release_id.as_str())),
        None => health(StatusCode::SERVICE_UNAVAILABLE, "no release yet", None),
    }
}

async fn metrics(State(service): State<Arc<Service>>) -> Response {
    let release = service.catalog.current();
    let running = service.settings.limits.simultaneous_requests.saturating_sub(service.running.available_permits());
    let text = service.metrics.text(release.as_ref().map(|release| &release.manifest), service.now(), running, service.stream.numbers());
    page(Body::from(text), "text/plain; version=0.0.4; charset=utf-8")
}

fn health(status: StatusCode, word: &str, release_id: Option<&str>) -> Response {
    let body = serde_json::json!({"status": word, "release_id": release_id}).to_string();
    (status, [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], body).into_response()
}

fn page(body: Body, content_type: &'static str) -> Response {
    ([(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, "no-cache")], body).into_response()
}
