//! Routes every request. Paths in the route table are routed directly, pages and the stream's
//! socket through an axum router.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Extension, Path, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, TryFutureExt};
use tower::{Service, ServiceExt, service_fn};
use tower_http::compression::Compression;
use tower_http::compression::predicate::{DefaultPredicate, Predicate};

use super::http::dispatch::dispatch;
use super::http::format::is_html_preferred;
use super::http::host;
use super::http::metrics::{CONTENT_TYPE, TransportNumbers};
use super::http::middleware::{PayerOf, guard, guard_page, is_bodiless};
use super::http::paths::Paths;
use super::http::peer;
use super::http::pieces::Counted;
use super::http::problem::{CODES, Code, Problem};
use super::http::request_id::{RequestId, shown};
use super::http::response::problem_response;
use super::http::service::{self, Metered, Payer};
use super::pages::{Pages, pays, pays_for_api};
use super::receipts;
use super::server::Server;
use super::stream;

impl Server {
    /// Returns the service that answers requests, for use by a server or a test.
    pub fn api(self: &Arc<Self>) -> Api {
        Api(Arc::new(Inner {
            paths: self.paths.clone(),
            service: self.service.clone(),
            pages: pages(self),
            people: self.pages.clone(),
        }))
    }
}

/// Service that answers requests.
#[derive(Clone)]
pub struct Api(Arc<Inner>);

struct Inner {
    paths: Arc<Paths>,
    service: Arc<service::Service>,
    pages: Router,
    people: Arc<Pages>,
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
        let Inner {
            paths,
            service,
            pages,
            people,
        } = &*self.0;
        let Some(found) = paths.at(request.uri().path()) else {
            let answer = pages.clone().oneshot(request);
            return answer.map_ok(without_false_length).boxed();
        };
        let (service, people) = (service.clone(), people.clone());
        let pays = pays_for_api(&request);
        let answer = guard(
            service.clone(),
            Some(found.pattern.into()),
            pays,
            request,
            |request| {
                explained(people, request, |request| {
                    compressed(request, |request| {
                        dispatch(found.methods, service, found.values, request)
                    })
                })
            },
        );
        answer.map(Ok).boxed()
    }
}

/// Removes the length that axum sets for responses without a body, because it is not the length of
/// the response to `GET`.
fn without_false_length(mut response: Response) -> Response {
    if is_bodiless(response.status()) {
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    response
}

/// Returns the answer. If a browser is refused because it has no key, returns a page that explains
/// the URL instead.
async fn explained<F: Future<Output = Response>>(
    pages: Arc<Pages>,
    request: Request,
    answer: impl FnOnce(Request) -> F,
) -> Response {
    if !is_html_preferred(request.headers()) {
        return answer(request).await;
    }
    let path = request.uri().path().to_owned();
    let response = answer(request).await;
    let page = if response.status() == StatusCode::UNAUTHORIZED {
        pages.explanation(&path)
    } else {
        None
    };
    page.unwrap_or(response)
}

/// Compresses an answer if the request accepts a supported content coding.
async fn compressed<F: Future<Output = Response>>(
    request: Request,
    answer: impl FnOnce(Request) -> F,
) -> Response {
    if !request.headers().contains_key(header::ACCEPT_ENCODING) {
        return answer(request).await;
    }
    // A service can be called several times, but this service is called once.
    let mut answer = Some(answer);
    let once = service_fn(move |request| {
        let answer = answer.take().expect("called once");
        async move { Ok::<_, Infallible>(answer(request).await) }
    });
    // Counted responses are not compressed, because clients request ranges of them.
    let is_packed = |_, _, _: &HeaderMap, extensions: &axum::http::Extensions| {
        extensions.get::<Counted>().is_none()
    };
    match Compression::new(once)
        .compress_when(DefaultPredicate::new().and(is_packed))
        .oneshot(request)
        .await
    {
        Ok(response) => response.map(Body::new),
        Err(never) => match never {},
    }
}

/// Builds the router for every path that is not in the route table.
fn pages(server: &Arc<Server>) -> Router {
    let settings = &server.service.settings;
    let admitted = || from_fn_with_state(server.service.clone(), admitted);
    let own_host = || from_fn_with_state(server.service.clone(), own_host);
    let guarded = |pays: PayerOf| from_fn_with_state((server.service.clone(), pays), guard_page);
    let documents = Router::new()
        .route(
            "/v1/openapi.json",
            get(openapi_document).fallback(wrong_method),
        )
        .route(
            "/v1/asyncapi.json",
            get(asyncapi_document).fallback(wrong_method),
        )
        .route("/v1/log/{*file}", get(log_file).fallback(wrong_method))
        .route(
            "/problems/{code}",
            get(|code: Path<String>| async move { Redirect::temporary(&problem_page(&code)) })
                .fallback(wrong_method),
        )
        .route("/v1/stream", get(upgrade).fallback(wrong_method))
        .fallback(no_route);
    let free = Router::new()
        .route(
            "/healthz",
            get(|| async { health(StatusCode::OK, "ok", None) }).fallback(wrong_method),
        )
        .route("/readyz", get(ready).fallback(wrong_method));
    let mut numbers = Router::new();
    if settings.is_metrics_on_main() {
        numbers = numbers.route("/metrics", get(metrics_on_main).fallback(no_route));
    }
    let mut pages = server.pages.router();
    if settings.is_reachable_by_local_browsers() {
        (numbers, pages) = (numbers.layer(own_host()), pages.layer(own_host()));
    }
    let free = free
        .merge(numbers)
        .with_state(server.clone())
        .merge(server.pages.assets());
    let documents = documents
        .with_state(server.clone())
        .layer(admitted())
        .layer(guarded(|_| Payer::Caller));
    documents
        .merge(free.layer(admitted()).layer(guarded(|_| Payer::Nobody)))
        .merge(pages.layer(guarded(pays)))
}

/// Rejects a client that exceeded its rate limit on paths without an endpoint.
async fn admitted(
    State(service): State<Arc<service::Service>>,
    Extension(metered): Extension<Metered>,
    Extension(request_id): Extension<RequestId>,
    request: Request,
    next: Next,
) -> Response {
    if metered.allowance.is_allowed {
        return next.run(request).await;
    }
    problem_response(
        &service,
        &metered.allowance.refusal(),
        request.uri().path(),
        &request_id,
    )
}

/// Rejects a request whose host is not this server.
async fn own_host(
    State(service): State<Arc<service::Service>>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    match host::check(&service.settings, &parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(problem) => {
            let request_id = parts
                .extensions
                .get::<RequestId>()
                .cloned()
                .unwrap_or_default();
            problem_response(&service, &problem, parts.uri.path(), &request_id)
        }
    }
}

/// Returns the page that explains a problem code. Text from the path is not copied into the URL.
fn problem_page(code: &str) -> String {
    let known = CODES.iter().find(|entry| entry.name == code);
    format!(
        "/docs/problems{}",
        known
            .map(|entry| format!("#{}", entry.name))
            .unwrap_or_default()
    )
}

async fn upgrade(State(server): State<Arc<Server>>, request: Request) -> Response {
    stream::upgrade(server.stream.clone(), request).await
}

/// Builds the router of the metrics address.
pub fn metrics_router(server: &Arc<Server>) -> Router {
    let router = Router::new()
        .route("/metrics", get(metrics))
        .with_state(server.clone());
    if server
        .service
        .settings
        .metrics_bind
        .is_none_or(|address| !address.ip().is_loopback())
    {
        return router;
    }
    router.layer(from_fn_with_state(server.service.clone(), own_host))
}

async fn no_route(
    State(server): State<Arc<Server>>,
    Extension(request_id): Extension<RequestId>,
    request: Request,
) -> Response {
    let (method, path) = (request.method(), request.uri().path());
    let is_page =
        method == Method::GET && !path.starts_with("/v1/") && is_html_preferred(request.headers());
    if let Some(page) = is_page.then(|| server.pages.missing(path)).flatten() {
        return page;
    }
    let detail = format!(
        "there is no {} {}; /v1/openapi.json lists every route",
        shown(method.as_str()),
        shown(path)
    );
    problem_response(
        &server.service,
        &Problem::new(Code::RouteNotFound, detail),
        path,
        &request_id,
    )
}

/// Rejects a method that the path does not support; the router adds `Allow`.
async fn wrong_method(
    State(server): State<Arc<Server>>,
    Extension(request_id): Extension<RequestId>,
    request: Request,
) -> Response {
    let detail = format!(
        "{} is not a method of this path; `Allow` lists its methods",
        shown(request.method().as_str())
    );
    problem_response(
        &server.service,
        &Problem::new(Code::MethodNotAllowed, detail),
        request.uri().path(),
        &request_id,
    )
}

async fn openapi_document(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    server.openapi().answer(&headers).await
}

async fn asyncapi_document(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    server.asyncapi.answer(&headers).await
}

/// Serves a file of the channel's log.
async fn log_file(
    State(server): State<Arc<Server>>,
    Extension(metered): Extension<Metered>,
    Extension(request_id): Extension<RequestId>,
    file: Path<String>,
) -> Response {
    // The request may wait for the store.
    let answered = match server.service.run(&metered.client) {
        Ok(_running) => receipts::log_answer(&server.service, &file).await,
        Err(problem) => Err(problem),
    };
    answered.unwrap_or_else(|problem| {
        problem_response(
            &server.service,
            &problem,
            &format!("/v1/log/{}", shown(&file)),
            &request_id,
        )
    })
}

async fn ready(State(server): State<Arc<Server>>) -> Response {
    match server.service.catalog.current() {
        Some(release) => health(
            StatusCode::OK,
            "ready",
            Some(release.manifest.release_id.as_str()),
        ),
        None => health(
            StatusCode::SERVICE_UNAVAILABLE,
            server.service.why_not_ready(),
            None,
        ),
    }
}

/// Serves the metrics to clients on this machine. Rejects a request that a proxy forwarded, because
/// it comes from elsewhere.
async fn metrics_on_main(
    State(server): State<Arc<Server>>,
    Extension(request_id): Extension<RequestId>,
    request: Request,
) -> Response {
    if peer::is_forwarded(request.headers()) {
        return no_route(State(server), Extension(request_id), request).await;
    }
    metrics(State(server)).await
}

async fn metrics(State(server): State<Arc<Server>>) -> Response {
    let service = &server.service;
    let release = service.catalog.current();
    let numbers = TransportNumbers {
        running: service.running.taken(),
        connections: service.connections.open(),
        bytes_in_flight: service.in_flight.taken(),
    };
    let text = service.metrics.text(
        release.as_ref().map(|release| &release.manifest),
        service.now(),
        numbers,
        server.stream.numbers(),
    );
    // Reading the home's files blocks.
    let reader = server.clone();
    let readings = tokio::task::spawn_blocking(move || {
        reader.readings(release.as_ref().map(|release| &release.manifest))
    })
    .await;
    let text = match readings {
        Ok(Some(readings)) => readings.added_to(&text),
        _ => text,
    };
    (
        [
            (header::CONTENT_TYPE, CONTENT_TYPE),
            (header::CACHE_CONTROL, "no-cache"),
        ],
        text,
    )
        .into_response()
}

fn health(status: StatusCode, word: &str, release_id: Option<&str>) -> Response {
    let body = serde_json::json!({"status": word, "release_id": release_id}).to_string();
    (
        status,
        [
            (header::CONTENT_TYPE, "application/json"),
            (header::CACHE_CONTROL, "no-store"),
        ],
        body,
    )
        .into_response()
}
