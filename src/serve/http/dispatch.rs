//! Runs one request through its endpoint: rate limit, key, parameters, release, ETag and answer.
//! Adds the headers for problems and answers.

use std::str::Utf8Error;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use jiff::Timestamp;
use jiff::civil::Date;

use super::request_id::{RequestId, shown};
use super::response::{JSON_LD, answer_response, insert, not_modified, problem_response};
use crate::http::allowance::Allowance;
use crate::http::auth::Client;
use crate::http::endpoint::{Access, Call, Endpoint, Handler};
use crate::http::envelope;
use crate::http::format::Format;
use crate::http::paths::{Methods, Paths};
use crate::http::problem::{Code, Problem, Result};
use crate::http::query::Query;
use crate::http::receive::receive;
use crate::http::service::{Metered, Service, day_of};
use crate::http::table::TableRequest;
use crate::http::{cursor, etag, format, table};
use crate::release::catalog::ReleaseSelector;
use crate::release::loaded::Release;
use pubdata_core::provenance::is_future_date;

/// Answers a request to a path in the route table. `path` contains the decoded placeholder values.
pub async fn dispatch(
    methods: Arc<Methods>,
    service: Arc<Service>,
    path: std::result::Result<Vec<(String, String)>, Utf8Error>,
    request: Request,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let request_id = parts
        .extensions
        .get::<RequestId>()
        .cloned()
        .unwrap_or_default();
    let Metered {
        known,
        client,
        mut allowance,
        ..
    } = parts
        .extensions
        .remove()
        .expect("a request is metered before anything else");
    let now = service.now();
    let outcome = match path {
        _ if !allowance.is_allowed => Err(allowance.refusal()),
        Ok(path) => {
            serve_one(
                &service,
                &methods,
                (&parts, now),
                &path,
                body,
                (known, &mut allowance),
            )
            .await
        }
        Err(_) => Err(not_utf8()),
    };
    let mut response = outcome.unwrap_or_else(|problem| {
        problem_response(&service, &problem, parts.uri.path(), &request_id)
    });
    service.usage.record(&client, response.status(), now);
    allowance.add_headers(&client.plan_name, response.headers_mut());
    response
}

async fn serve_one(
    service: &Arc<Service>,
    methods: &Methods,
    (parts, now): (&Parts, Timestamp),
    path: &[(String, String)],
    body: Body,
    (known, allowance): (Result<Arc<Client>>, &mut Allowance),
) -> Result<Response> {
    let method = if parts.method == "HEAD" {
        "GET"
    } else {
        parts.method.as_str()
    };
    if method == "OPTIONS" {
        return Ok(options_response(methods));
    }
    let endpoint = methods
        .iter()
        .copied()
        .find(|endpoint| endpoint.method == method)
        .ok_or_else(|| wrong_method(parts, methods))?;
    let client = known?;
    check_access(endpoint, &client)?;
    let mut query = Query::read(
        parts.uri.query().unwrap_or_default(),
        endpoint.parameters,
        &service.contracts,
    )?;
    let file = match &endpoint.handler {
        Handler::Download { file, .. } => {
            format::choose_file(&parts.headers, &mut query);
            query.get("format").map(|_| file)
        }
        _ => None,
    };
    let format = if file.is_some() {
        Format::Json
    } else {
        format::requested(endpoint, &parts.headers, &mut query)?
    };
    let body = if endpoint.body.is_some() {
        check_media_type(&parts.headers)?;
        receive(
            service,
            &client,
            parts,
            body,
            service.settings.limits.body_bytes,
        )
        .await?
    } else {
        Bytes::new()
    };
    // The permit is taken after the body, so slow or stalled uploads never block other requests.
    let _running = service.run(&client)?;
    let release = release_for(service, endpoint, &query, None).await?;
    let today = day_of(now);
    let request_id = parts
        .extensions
        .get::<RequestId>()
        .cloned()
        .unwrap_or_default();
    let call_of = |release| Call {
        endpoint,
        service,
        release,
        path,
        query: &query,
        body: &body,
        client: &client,
        today,
        request_id: &request_id.0,
    };
    if let Some(file) = file {
        return file(&call_of(&release), parts).await;
    }
    let scopes = if endpoint.access == Access::Key {
        client.scopes.as_slice()
    } else {
        &[]
    };
    let question = etag::Question {
        program: &service.program,
        cache_policy: endpoint.cache_policy,
        path: parts.uri.path(),
        query: &query,
        scopes,
        today,
    };
    let tag = question.tag(&release).filter(|_| endpoint.method == "GET");
    let matched = tag
        .as_ref()
        .and_then(|tag| etag::matching(&parts.headers, tag));
    // A 304 is returned here only if no check is left to the handler. Endpoints with `Access::Key`
    // check scopes themselves, and `If-None-Match: *` depends on whether an answer exists.
    let is_checked = endpoint.access != Access::Key && !etag::is_any(&parts.headers);
    if let Some(matched) = matched.as_ref().filter(|_| is_checked) {
        return Ok(not_modified(matched, now));
    }
    if let Format::Csv(rows) = format {
        let (path, values) = (parts.uri.path().to_owned(), path.to_vec());
        let table_request = TableRequest {
            endpoint,
            service: service.clone(),
            release,
            path,
            values,
            query,
            client,
            today,
        };
        let response = table::answer(table_request, rows, tag.as_deref(), now).await?;
        return Ok(matched.map_or(response, |matched| not_modified(&matched, now)));
    }
    let answer = envelope::answer(&call_of(&release)).await;
    if endpoint.method == "POST" {
        // A batch has taken further tokens since the request was admitted.
        *allowance = service
            .limiter
            .look(&client, service.now(), *allowance)
            .await;
    }
    let (bytes, is_uncacheable) = answer?;
    if let Some(matched) = matched.filter(|_| !is_uncacheable) {
        return Ok(not_modified(&matched, now));
    }
    let content_type = if format == Format::LinkedData {
        JSON_LD
    } else {
        "application/json"
    };
    Ok(answer_response(
        content_type,
        Body::from(bytes),
        tag.as_deref().filter(|_| !is_uncacheable),
        now,
    ))
}

fn check_access(endpoint: &Endpoint, client: &Client) -> Result<()> {
    match endpoint.access {
        Access::Everyone | Access::Optional => Ok(()),
        Access::Key | Access::Scope(_) if client.scopes.is_empty() => Err(Problem::new(
            Code::MissingApiKey,
            "this endpoint needs an API key: send `Authorization: Bearer KEY` or `X-API-Key: KEY`",
        )),
        Access::Scope(scope) if !client.scopes.contains(&scope) => Err(Problem::new(
            Code::InsufficientPermission,
            format!("this endpoint needs a key with the scope `{scope}`"),
        )),
        Access::Key | Access::Scope(_) => Ok(()),
    }
}

/// Internal API request of an HTML page.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    pub method: &'a str,
    /// Path and query, percent-encoded.
    pub target: &'a str,
    pub body: &'a [u8],
    /// Release to treat as the current one for this request, even if the channel has moved since
    /// then. The value is `None` if no release is loaded.
    pub present: Option<&'a Arc<Release>>,
}

/// Answers an internal request as if a client had sent it, with the same checks, release and answer
/// as over the network. It reads no key and takes no token, because the outer request has already
/// done both.
///
/// # Errors
/// The endpoint's errors, or `route_not_found` if no endpoint matches.
pub async fn ask(
    service: &Service,
    paths: &Paths,
    client: &Client,
    question: Question<'_>,
    request_id: &RequestId,
) -> Result<Vec<u8>> {
    let (path, query) = question
        .target
        .split_once('?')
        .unwrap_or((question.target, ""));
    let unknown = || {
        Problem::new(
            Code::RouteNotFound,
            format!("there is no {} {}", question.method, shown(path)),
        )
    };
    let found = paths.at(path).ok_or_else(unknown)?;
    let values = found.values.map_err(|_| not_utf8())?;
    let endpoint = found
        .methods
        .iter()
        .find(|endpoint| endpoint.method == question.method)
        .ok_or_else(unknown)?;
    check_access(endpoint, client)?;
    let query = Query::read(query, endpoint.parameters, &service.contracts)?;
    let release = release_for(service, endpoint, &query, question.present).await?;
    let (today, request_id) = (service.today(), &*request_id.0);
    let call = Call {
        endpoint,
        service,
        release: &release,
        path: &values,
        query: &query,
        body: question.body,
        client,
        today,
        request_id,
    };
    envelope::answer(&call).await.map(|(bytes, _)| bytes)
}

/// Returns the release that answers a request.
async fn release_for(
    service: &Service,
    endpoint: &Endpoint,
    query: &Query,
    present: Option<&Arc<Release>>,
) -> Result<Arc<Release>> {
    if matches!(endpoint.handler, Handler::WithoutRelease(_)) {
        return Ok(present
            .cloned()
            .or_else(|| service.catalog.current())
            .unwrap_or_else(|| Arc::new(Release::none())));
    }
    let release = match (release_selector(query, service.today())?, present) {
        (ReleaseSelector::Current, Some(present)) => present.clone(),
        (selector, _) => service.catalog.resolve(&selector).await?,
    };
    // `Handler::Files` needs intact files on disk; answers from memory do not.
    if matches!(endpoint.handler, Handler::Files(_)) {
        return service
            .catalog
            .intact(release)
            .await
            .map_err(|error| Problem::internal(&error));
    }
    Ok(release)
}

fn not_utf8() -> Problem {
    Problem::new(
        Code::InvalidParameter,
        "the path is not percent-encoded UTF-8",
    )
}

fn check_media_type(headers: &HeaderMap) -> Result<()> {
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("application/json") {
        return Err(Problem::of_field(
            Code::InvalidJson,
            "Content-Type",
            format!("the body must be `application/json`, got `{media_type}`"),
        ));
    }
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Problem::of_field(
            Code::InvalidJson,
            "Content-Encoding",
            "a compressed body is not accepted",
        ));
    }
    Ok(())
}

/// Reads which release is requested: by id, by day, by the cursor, or the current release by
/// default.
fn release_selector(query: &Query, today: Date) -> Result<ReleaseSelector> {
    let (release, as_of, cursor) = (
        query.get("release"),
        query.get("as_of"),
        query.get("cursor"),
    );
    if release.is_some() && as_of.is_some() {
        return Err(Problem::of_field(
            Code::InvalidParameter,
            "as_of",
            "give `release` or `as_of`, not both",
        ));
    }
    if let Some(text) = release {
        let id = text.parse().map_err(|error| {
            Problem::of_field(
                Code::InvalidParameter,
                "release",
                format!("`release`: {error}"),
            )
        })?;
        return Ok(ReleaseSelector::Release(id));
    }
    if let Some(date) = as_of {
        let wrong = |code: Code, message: String| Problem::of_field(code, "as_of", message);
        let date = date
            .parse()
            .map_err(|error| wrong(Code::InvalidParameter, format!("`as_of`: {error}")))?;
        // A release published later that day would change the answer. In a client's time zone, it
        // may already be tomorrow.
        if is_future_date(date, today) {
            return Err(wrong(
                Code::CoverageUnavailable,
                format!("`as_of`: {date} lies in the future; today is {today} (UTC)"),
            ));
        }
        return Ok(ReleaseSelector::AsOf(date));
    }
    // A later page uses the release of the first page, so a new release does not disturb paging.
    match cursor {
        Some(cursor) => cursor::release_of(cursor).map(ReleaseSelector::Release),
        None => Ok(ReleaseSelector::Current),
    }
}

fn wrong_method(parts: &Parts, methods: &Methods) -> Problem {
    let allow = allowed_methods(methods);
    Problem {
        allow: Some(allow.clone()),
        ..Problem::new(
            Code::MethodNotAllowed,
            format!(
                "method {} is not allowed for this path; allowed: {allow}",
                shown(parts.method.as_str())
            ),
        )
    }
}

fn allowed_methods(methods: &Methods) -> String {
    let names = methods.iter().flat_map(|endpoint| {
        if endpoint.method == "GET" {
            vec!["GET", "HEAD"]
        } else {
            vec![endpoint.method]
        }
    });
    names.chain(["OPTIONS"]).collect::<Vec<_>>().join(", ")
}

fn options_response(methods: &Methods) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    insert(
        response.headers_mut(),
        header::ALLOW,
        &allowed_methods(methods),
    );
    response
}
