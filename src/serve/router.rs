//! Answers every path: those of the route table at once, pages and the stream's socket by an axum router beside them.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, TryFutureExt};
use percent_encoding::percent_decode_str;
use tower::{Service, ServiceExt, service_fn};
use tower_http::compression::Compression;
use tower_http::compression::predicate::{DefaultPredicate, Predicate};

use super::http::dispatch::{Methods, dispatch};
use super::http::metrics::{CONTENT_TYPE, TransportNumbers};
use super::http::middleware::{guard, guard_page, is_bodiless};
use super::http::peer;
use super::http::pieces::Counted;
use super::http::problem::{Code, Problem};
use super::http::request_id::{RequestId, shown};
use super::http::response::problem_response;
use super::http::service;
use super::server::Server;
use super::{routes, stream};

impl Server {
    /// What answers requests, for a server or a test.
    pub fn api(self: &Arc<Self>) -> Api {
        let mut by_path: BTreeMap<&'static str, Methods> = BTreeMap::new();
        for endpoint in routes::endpoints() {
            by_path.entry(endpoint.path).or_default().push(endpoint);
        }
        let mut paths = matchit::Router::new();
        for (path, methods) in by_path {
            paths.insert(path, (path, Arc::new(methods))).expect("no two paths of the table are the same");
        }
        Api(Arc::new(Inner { paths, service: self.service.clone(), pages: pages(self) }))
    }
}

/// Answers requests.
#[derive(Clone)]
pub struct Api(Arc<Inner>);

struct Inner {
    /// The endpoints of each path, and the path as it is declared.
    paths: matchit::Router<(&'static str, Arc<Methods>)>,
    service: Arc<service::Service>,
    pages: Router,
}

impl<B> Service<axum::http::Request<B>> for Api
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: axum::http::Request<B>) -> Self::Future {
        let request = request.map(Body::new);
        let Inner { paths, service, pages } = &*self.0;
        let Ok(found) = paths.at(request.uri().path()) else {
            let answer = pages.clone().oneshot(request);
            return answer.map_ok(without_false_length).boxed();
        };
        let decoded = |text: &str| percent_decode_str(text).decode_utf8().map(std::borrow::Cow::into_owned);
        let values = found.params.iter().map(|(name, value)| Ok((name.to_owned(), decoded(value)?))).collect();
        let ((path, methods), service) = (found.value.clone(), service.clone());
        let answer = guard(service.clone(), Some(path.into()), request, |request| compressed(request, |request| dispatch(methods, service, values, request)));
        answer.map(Ok).boxed()
    }
}

/// The length that axum tells of what has no body is not the one that the answer would have.
fn without_false_length(mut response: Response) -> Response {
    if is_bodiless(response.status()) {
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    response
}

/// An answer in a coding that the request accepts, where it accepts any.
async fn compressed<F: Future<Output = Response>>(request: Request, answer: impl FnOnce(Request) -> F) -> Response {
    if !request.headers().contains_key(header::ACCEPT_ENCODING) {
        return answer(request).await;
    }
    // A service may be called again, which this one is not.
    let mut answer = Some(answer);
    let once = service_fn(move |request| {
        let answer = answer.take().expect("called once");
        async move { Ok::<_, Infallible>(answer(request).await) }
    });
    // What is counted where it is made is as large as it is, and ranges of it are asked for.
    let is_packed = |_, _, _: &HeaderMap, extensions: &axum::http::Extensions| extensions.get::<Counted>().is_none();
    match Compression::new(once).compress_when(DefaultPredicate::new().and(is_packed)).oneshot(request).await {
        Ok(response) => response.map(Body::new),
        Err(never) => match never {},
    }
}

/// Everything that is not in the route table.
fn pages(server: &Arc<Server>) -> Router {
    let metered = from_fn_with_state(server.service.clone(), metered);
    let mut router = Router::new()
        .route("/v1/openapi.json", get(openapi_document).fallback(no_route))
        .route("/v1/asyncapi.json", get(asyncapi_document).fallback(no_route))
        .route("/docs", get(docs).fallback(no_route))
        .route("/problems/{code}", get(|| async { Redirect::temporary("/docs#problems") }).fallback(no_route))
        .route("/", get(|| async { Redirect::temporary("/docs") }).fallback(no_route))
        .fallback(no_route)
        .layer(metered)
        .route("/v1/stream", get(upgrade).fallback(no_route))
        .route("/healthz", get(|| async { health(StatusCode::OK, "ok", None) }).fallback(no_route))
        .route("/readyz", get(ready).fallback(no_route));
    if server.service.settings.is_metrics_on_main() {
        router = router.route("/metrics", get(metrics_on_main).fallback(no_route));
    }
    let guarded = from_fn_with_state(server.service.clone(), guard_page);
    router.layer(guarded).with_state(server.clone())
}

/// Takes a token for a page that has no endpoint to take it.
async fn metered(State(service): State<Arc<service::Service>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let allowance = service.meter(&parts, service.now()).await.allowance;
    if allowance.is_allowed {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let request_id = parts.extensions.get::<RequestId>().cloned().unwrap_or_default();
    problem_response(&service, &allowance.refusal(), parts.uri.path(), &request_id)
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
    let detail = format!("there is no {} {}; /v1/openapi.json lists every route", shown(method.as_str()), shown(path));
    problem_response(&server.service, &Problem::new(Code::RouteNotFound, detail), path, &request_id)
}

async fn openapi_document(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    server.openapi.answer(&headers).await
}

async fn asyncapi_document(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    server.asyncapi.answer(&headers).await
}

async fn docs(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    let mut response = server.docs.answer(&headers).await;
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}

async fn ready(State(server): State<Arc<Server>>) -> Response {
    match server.service.catalog.current() {
        Some(release) => health(StatusCode::OK, "ready", Some(release.manifest.release_id.as_str())),
        None => health(StatusCode::SERVICE_UNAVAILABLE, server.service.why_not_ready(), None),
    }
}

/// The numbers, for whoever asks on this machine: what a proxy has passed on comes from elsewhere.
async fn metrics_on_main(State(server): State<Arc<Server>>, Extension(request_id): Extension<RequestId>, request: Request) -> Response {
    if peer::is_forwarded(request.headers()) {
        return no_route(State(server), Extension(request_id), request).await;
    }
    metrics(State(server)).await
}

async fn metrics(State(server): State<Arc<Server>>) -> Response {
    let service = &server.service;
    let release = service.catalog.current();
    let numbers = TransportNumbers { running: service.running.taken(), connections: service.connections.open(), bytes_in_flight: service.in_flight.taken() };
    let text = service.metrics.text(release.as_ref().map(|release| &release.manifest), service.now(), numbers, server.stream.numbers());
    // Files of the home are looked at.
    let reader = server.clone();
    let readings = tokio::task::spawn_blocking(move || reader.readings(release.as_ref().map(|release| &release.manifest))).await;
    let text = match readings {
        Ok(Some(readings)) => readings.added_to(&text),
        _ => text,
    };
    ([(header::CONTENT_TYPE, CONTENT_TYPE), (header::CACHE_CONTROL, "no-cache")], text).into_response()
}

fn health(status: StatusCode, word: &str, release_id: Option<&str>) -> Response {
    let body = serde_json::json!({"status": word, "release_id": release_id}).to_string();
    (status, [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], body).into_response()
}
