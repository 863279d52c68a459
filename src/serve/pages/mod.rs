//! Renders HTML pages from `/v1` responses, which are requested within the server. A page shows
//! only what the API returns, is readable without scripts, and loads nothing from other hosts
//! ([decision 28](../../../docs/decisions/0028-pages.md)).

mod bulk;
mod chart;
mod company;
mod cookie;
mod docs;
mod keys;
mod place;
mod reasons;
mod record;
mod registry;
mod sales_tax;
mod start;
mod status;
mod svg;
mod templates;
mod visit;
mod words;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Extension, RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use axum::routing::{any, get};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::BoxFuture;
use minijinja::value::Serde;
use minijinja::{Environment, Value, context};

use self::cookie::Forms;
use self::visit::{Visit, VisitRecord, Visitor, location, pairs};
use super::http::auth::Client;
use super::http::documents::{BoxedLazy, Document};
use super::http::etag;
use super::http::paths::Paths;
use super::http::problem::{Code, Problem, Result};
use super::http::receive::receive;
use super::http::request_id::RequestId;
use super::http::response::insert;
use super::http::service::{Metered, Payer, Service};
use super::release::loaded::Release;
use super::settings::Pages as Who;
use pubdata_core::ids::Digest;
use pubdata_store::Scope;

/// Page that receives forms; no other page reads a request body.
const FORMS: &str = keys::PATH;
/// Maximum size of a form.
const MAX_FORM_BYTES: usize = 16 << 10;

const POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// One page.
pub struct Page {
    pub path: &'static str,
    pub make: for<'a> fn(&'a Visit<'a>) -> BoxFuture<'a, Result<Made>>,
}

/// Result of a page.
pub enum Made {
    Page(&'static str, Value),
    /// A page with a cookie to set.
    PageWithCookie(&'static str, Value, String),
    /// A redirect within this server, with a cookie to set.
    Redirect(String, Option<String>),
}

/// All pages.
static PAGES: &[&[Page]] = &[
    start::PAGES,
    place::PAGES,
    company::PAGES,
    registry::PAGES,
    sales_tax::PAGES,
    record::PAGES,
    bulk::PAGES,
    status::PAGES,
    docs::PAGES,
    keys::PAGES,
];

/// State of the browser, used for pages without a visitor.
#[derive(Debug, Clone, Copy, Default)]
struct Browser<'a> {
    form_token: &'a str,
    is_keyed: bool,
}

/// State shared by all pages.
pub struct Pages {
    service: Arc<Service>,
    paths: Arc<Paths>,
    openapi: Arc<BoxedLazy<serde_json::Value>>,
    /// Searchable documentation of each operation, in lower case.
    searched: OnceLock<BTreeMap<String, String>>,
    templates: Environment<'static>,
    forms: Forms,
    style: Arc<Document>,
    script: Arc<Document>,
}

impl Pages {
    /// Reads the templates.
    ///
    /// # Errors
    /// `Config` if a template in the operator's folder is invalid.
    pub fn new(
        service: Arc<Service>,
        paths: Arc<Paths>,
        openapi: Arc<BoxedLazy<serde_json::Value>>,
    ) -> pubdata_core::error::Result<Self> {
        let templates = templates::environment(service.settings.templates.as_deref())?;
        let document = |content_type, text: &'static str| {
            Arc::new(Document::new(
                content_type,
                Bytes::from_static(text.as_bytes()),
            ))
        };
        Ok(Self {
            templates,
            forms: Forms::new()?,
            style: document("text/css; charset=utf-8", include_str!("assets/pages.css")),
            script: document(
                "text/javascript; charset=utf-8",
                include_str!("assets/pages.js"),
            ),
            openapi,
            searched: OnceLock::new(),
            service,
            paths,
        })
    }

    /// Returns the routes of all pages; empty if pages are disabled.
    pub fn router(self: &Arc<Self>) -> Router {
        let mut router = Router::new();
        for page in PAGES
            .iter()
            .copied()
            .flatten()
            .filter(|_| self.service.settings.pages != Who::Off)
        {
            router = router.route(
                page.path,
                any(move |pages: State<Arc<Self>>, id, values, request| {
                    answer(page, pages, id, values, request)
                }),
            );
        }
        router.with_state(self.clone())
    }

    /// Returns the routes of shared assets; empty if pages are disabled.
    pub fn assets(self: &Arc<Self>) -> Router {
        if self.service.settings.pages == Who::Off {
            return Router::new();
        }
        Router::new()
            .route("/assets/pages.css", get(style))
            .route("/assets/pages.js", get(script))
            .with_state(self.clone())
    }

    /// Returns a page for a browser that opened an API URL without a valid key, or `None` if pages
    /// are disabled.
    pub fn explanation(&self, path: &str) -> Option<Response> {
        let detail =
            "This address is for programs that send an API key, and this browser sent none.";
        let problem = Problem::new(Code::MissingApiKey, detail);
        (self.service.settings.pages != Who::Off)
            .then(|| self.problem_page(&problem, path, Browser::default()))
    }

    /// Returns a page for a browser that opened an unknown URL, or `None` if pages are disabled.
    pub fn missing(&self, path: &str) -> Option<Response> {
        let problem = Problem::new(Code::RouteNotFound, "There is no page at this address.");
        (self.service.settings.pages != Who::Off)
            .then(|| self.problem_page(&problem, path, Browser::default()))
    }

    fn problem_page(&self, problem: &Problem, path: &str, browser: Browser<'_>) -> Response {
        let status = problem.code.status();
        let title = if problem.code == Code::RouteNotFound {
            "Page not found"
        } else {
            problem.code.title()
        };
        let candidates = Value::from(Serde(&problem.candidates));
        let context = context! {
            status => status.as_u16(), code => problem.code.name(), title, advice => problem.code.advice(),
            detail => problem.detail.as_str(), candidates, is_api => path.starts_with("/v1/"), needs_key => status == StatusCode::UNAUTHORIZED,
            retry_after => problem.retry_after,
            ..self.shared(path, &VisitRecord::default(), browser, self.service.catalog.current().as_deref(), "")
        };
        let mut response = match self.render("problem.html", context) {
            Ok(text) => page_response(status, text),
            Err(problem) => page_response(StatusCode::INTERNAL_SERVER_ERROR, problem.detail),
        };
        if let Some(seconds) = problem.retry_after {
            insert(
                response.headers_mut(),
                header::RETRY_AFTER,
                &seconds.to_string(),
            );
        }
        response
    }

    fn shared(
        &self,
        path: &str,
        record: &VisitRecord,
        browser: Browser<'_>,
        release: Option<&Release>,
        search: &str,
    ) -> Value {
        let Browser {
            form_token,
            is_keyed,
        } = browser;
        context! {
            path, form_token, is_keyed, search, requests => Value::from(Serde(&record.requests)), base_url => self.service.settings.own_url(),
            notices => record.notices.iter().map(|(code, message)| context! { code, message }).collect::<Vec<_>>(),
            release_id => release.map(|release| release.manifest.release_id.as_str()),
            channel => self.service.catalog.channel(), version => env!("CARGO_PKG_VERSION"),
            is_sample => release.is_some_and(|release| release.manifest.is_sample),
        }
    }

    fn render(&self, template: &str, context: Value) -> Result<String> {
        let template = self
            .templates
            .get_template(template)
            .map_err(|error| Problem::internal(&error))?;
        template
            .render(context)
            .map_err(|error| Problem::internal(&format!("{error:#}")))
    }

    /// Identifies the visitor by the cookie. A visitor without a key gets the scopes of public
    /// pages.
    fn visitor(&self, parts: &Parts, metered: &Metered) -> Result<Visitor> {
        if cookie::key(&parts.headers).is_some() {
            return Ok(Visitor {
                client: metered.known.clone()?,
                is_keyed: true,
            });
        }
        if self.service.settings.pages == Who::Keyed {
            return Err(Problem::new(
                Code::MissingApiKey,
                "the pages of this server are for holders of an API key: enter yours",
            ));
        }
        let scopes = vec![Scope::General, Scope::Geo, Scope::Sec];
        Ok(Visitor {
            client: Arc::new(Client {
                scopes,
                ..(*metered.client).clone()
            }),
            is_keyed: false,
        })
    }
}

/// Returns who pays for a page: the holder of the key in the cookie.
pub fn pays(headers: &HeaderMap) -> Payer {
    Payer::Visitor(cookie::key(headers))
}

/// Returns who pays for an API request. If a browser follows a link or opens a URL, it sends no key
/// header, and the holder of the key in the cookie pays. Requests from scripts and other sites must
/// send a key.
pub fn pays_for_api(request: &Request) -> Payer {
    let headers = request.headers();
    let is = |name: &str, values: &[&str]| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| values.contains(&value))
    };
    let is_opened =
        is("sec-fetch-mode", &["navigate"]) && is("sec-fetch-site", &["same-origin", "none"]);
    let has_key = headers.contains_key(header::AUTHORIZATION) || headers.contains_key("x-api-key");
    match cookie::key(headers) {
        Some(key)
            if is_opened && !has_key && matches!(*request.method(), Method::GET | Method::HEAD) =>
        {
            Payer::Visitor(Some(key))
        }
        _ => Payer::Caller,
    }
}

async fn style(State(pages): State<Arc<Pages>>, headers: HeaderMap) -> Response {
    pages.style.answer(&headers).await
}

async fn script(State(pages): State<Arc<Pages>>, headers: HeaderMap) -> Response {
    pages.script.answer(&headers).await
}

async fn answer(
    page: &'static Page,
    State(pages): State<Arc<Pages>>,
    Extension(metered): Extension<Metered>,
    values: std::result::Result<RawPathParams, axum::extract::rejection::RawPathParamsRejection>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let (form_token, new_cookie) = pages.forms.token(&parts.headers, is_secure(&pages.service));
    let is_keyed = cookie::key(&parts.headers).is_some();
    let values = values.map_err(|_| {
        Problem::new(
            Code::InvalidParameter,
            "the path is not percent-encoded UTF-8",
        )
    });
    let made = match values {
        _ if !metered.allowance.is_allowed => Err(metered.allowance.refusal()),
        Ok(values) => made(page, &pages, &metered, &values, &parts, body, &form_token).await,
        Err(problem) => Err(problem),
    };
    let mut response = match made {
        Ok(Answered::Page(text, cookie)) => {
            let mut response = with_tag(&parts.headers, page_response(StatusCode::OK, text)).await;
            cookie
                .iter()
                .for_each(|cookie| append_cookie(response.headers_mut(), cookie));
            response
        }
        Ok(Answered::Redirect(to, cookie)) => redirect(&to, cookie.as_deref()),
        Err(problem) => {
            let mut response = pages.problem_page(
                &problem,
                &path,
                Browser {
                    form_token: &form_token,
                    is_keyed,
                },
            );
            if problem.code == Code::InvalidApiKey {
                // Every page would reject a revoked key.
                append_cookie(response.headers_mut(), &cookie::forgotten());
            }
            response
        }
    };
    if let Some(cookie) = new_cookie {
        append_cookie(response.headers_mut(), &cookie);
    }
    if page.path == FORMS {
        // The page may show new keys and invitation tokens.
        response
            .headers_mut()
            .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

enum Answered {
    Page(String, Option<String>),
    Redirect(String, Option<String>),
}

async fn made(
    page: &'static Page,
    pages: &Arc<Pages>,
    metered: &Metered,
    values: &RawPathParams,
    parts: &Parts,
    body: Body,
    form_token: &str,
) -> Result<Answered> {
    let is_form = page.path == FORMS && parts.method == Method::POST;
    let visitor = match pages.visitor(parts, metered) {
        // A visitor who enters a key or follows an invitation has no key with access yet.
        Err(_) if is_form || page.path == FORMS && cookie::key(&parts.headers).is_none() => {
            Visitor {
                client: metered.client.clone(),
                is_keyed: false,
            }
        }
        outcome => outcome?,
    };
    let form = match parts.method {
        Method::GET | Method::HEAD => Vec::new(),
        Method::POST if is_form => {
            cookie::check_sender(&parts.headers)?;
            let bytes =
                receive(&pages.service, &metered.client, parts, body, MAX_FORM_BYTES).await?;
            cookie::form(&bytes, form_token)?
        }
        _ => {
            let allow = if page.path == FORMS {
                "GET, HEAD, POST"
            } else {
                "GET, HEAD"
            };
            let detail = format!("pages accept GET, and forms are sent to {FORMS} with POST");
            return Err(Problem {
                allow: Some(allow.to_owned()),
                ..Problem::new(Code::MethodNotAllowed, detail)
            });
        }
    };
    let _running = pages.service.run(&metered.client)?;
    let decoded = values
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let visit = Visit {
        pages,
        visitor,
        method: parts.method.clone(),
        values: decoded,
        query: pairs(parts.uri.query().unwrap_or_default()),
        form,
        request_id: parts
            .extensions
            .get::<RequestId>()
            .cloned()
            .unwrap_or_default(),
        release: pages.service.catalog.current(),
        record: Mutex::default(),
    };
    let (template, context, cookie) = match (page.make)(&visit).await? {
        Made::Redirect(to, cookie) => return Ok(Answered::Redirect(to, cookie)),
        Made::Page(template, context) => (template, context, None),
        Made::PageWithCookie(template, context, cookie) => (template, context, Some(cookie)),
    };
    let record = visit.record.lock().unwrap_or_else(PoisonError::into_inner);
    let search = visit.parameter("q").unwrap_or_default();
    let browser = Browser {
        form_token,
        is_keyed: visit.visitor.is_keyed,
    };
    let shared = pages.shared(
        parts.uri.path(),
        &record,
        browser,
        visit.release.as_deref(),
        search,
    );
    pages
        .render(template, context! { ..context, ..shared })
        .map(|text| Answered::Page(text, cookie))
}

/// Reports whether browsers reach this server over TLS, so that cookies are sent over TLS only.
fn is_secure(service: &Service) -> bool {
    service.settings.tls.is_some() || service.settings.is_behind_proxy
}

fn page_response(status: StatusCode, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(POLICY),
    );
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("same-origin"),
    );
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("private, no-cache"),
    );
    headers.insert(header::VARY, HeaderValue::from_static("Cookie"));
    response
}

/// Adds an `ETag` computed from the page's bytes, and omits the body if the browser has the same
/// bytes.
async fn with_tag(request_headers: &HeaderMap, response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return Response::from_parts(parts, Body::empty());
    };
    let tag = format!(
        "\"{}\"",
        URL_SAFE_NO_PAD.encode(&Digest::sha256(&bytes).as_bytes()[..16])
    );
    insert(&mut parts.headers, header::ETAG, &tag);
    if etag::matching(request_headers, &tag).is_some() {
        parts.status = StatusCode::NOT_MODIFIED;
        return Response::from_parts(parts, Body::empty());
    }
    Response::from_parts(parts, Body::from(bytes))
}

fn redirect(to: &str, cookie: Option<&str>) -> Response {
    let mut response = page_response(StatusCode::SEE_OTHER, String::new());
    insert(
        response.headers_mut(),
        header::LOCATION,
        location(to).as_deref().unwrap_or("/"),
    );
    if let Some(cookie) = cookie {
        append_cookie(response.headers_mut(), cookie);
    }
    response
}

fn append_cookie(headers: &mut HeaderMap, cookie: &str) {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        headers.append(header::SET_COOKIE, value);
    }
}
