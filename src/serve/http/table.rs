//! Answers with a CSV table of the requested page or of a complete list. For a complete list, each
//! page is produced while earlier pages are sent, and at most one page is in memory. If a list
//! cannot be completed, the answer is aborted, so that it never looks complete.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header;
use axum::response::Response;
use futures_util::stream::{Stream, StreamExt, iter, try_unfold};
use jiff::Timestamp;
use jiff::civil::Date;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::auth::Client;
use super::columns::Columns;
use super::endpoint::{Call, Endpoint, Handler};
use super::envelope::write_data;
use super::meta::Page;
use super::parameters::Parameter;
use super::pieces::in_pieces;
use super::problem::{Code, Problem, Result};
use super::query::Query;
use super::response::{answer_response, as_answer, insert};
use super::service::Service;
use crate::json::Json;
use crate::release::loaded::Release;
use pubdata_core::error::{self, Error};

const CONTENT_TYPE: &str = "text/csv; charset=utf-8; header=present";

/// Number of records on each later page of a complete list. The first page is no larger than the
/// page of any other request. Each page runs the search again.
const RECORDS_PER_PAGE: usize = 1_000;

/// Characters that are not percent-encoded in a query.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b',')
    .remove(b':');

/// Request data that outlives the function that answers it.
pub struct TableRequest {
    pub endpoint: &'static Endpoint,
    pub service: Arc<Service>,
    pub release: Arc<Release>,
    /// Path as it was sent, and the values of the path's placeholders.
    pub path: String,
    pub values: Vec<(String, String)>,
    pub query: Query,
    pub client: Arc<Client>,
    pub today: Date,
}

/// Answers with a table of the records at `rows` in `data`.
///
/// # Errors
/// The handler's errors; `invalid_parameter` if a complete list is requested with a cursor or the
/// search cannot find all records; `rate_limited` if too many complete lists are being sent.
pub async fn answer(
    request: TableRequest,
    rows: &'static str,
    tag: Option<&str>,
    now: Timestamp,
) -> Result<Response> {
    let columns = Columns::from_schema(&request.endpoint.data, rows, &|name| {
        request
            .query
            .iter()
            .any(|(_, list)| list.split(',').any(|named| named == name))
    });
    let is_whole =
        request.query.get("limit").is_none() && request.endpoint.parameter("limit").is_some();
    if is_whole && request.query.get("cursor").is_some() {
        let message = "a table without `limit` contains all pages: omit `cursor`, or add `limit`";
        return Err(Problem::of_field(Code::InvalidParameter, "cursor", message));
    }
    let mut text = columns.header();
    let first = if is_whole {
        request
            .endpoint
            .parameter("limit")
            .and_then(Parameter::max_integer)
    } else {
        None
    };
    let (count, page) = request.write_page(&columns, first, None, &mut text).await?;
    let next = page.as_ref().and_then(|page| page.next_cursor.clone());
    if is_whole && page.is_some_and(|page| page.is_cut) {
        let message = "more records match than the search examines, so the list would be incomplete: narrow the search, or request pages with `limit`";
        return Err(Problem::of_field(Code::InvalidParameter, "format", message));
    }
    match next {
        Some(cursor) if is_whole => {
            let (service, client) = (request.service.clone(), request.client.clone());
            let download = service.download(&client)?;
            let rest = Rest {
                request,
                columns,
                cursor: Some(cursor),
                count,
            }
            .into_stream();
            let response = in_pieces(&service, &client, download, iter([Ok(text)]).chain(rest));
            Ok(as_answer(response, CONTENT_TYPE, tag, now))
        }
        next => {
            let mut response = answer_response(CONTENT_TYPE, Body::from(text), tag, now);
            if let Some(cursor) = next {
                insert(
                    response.headers_mut(),
                    header::LINK,
                    &format!("<{}>; rel=\"next\"", request.address_of_next(&cursor)),
                );
            }
            Ok(response)
        }
    }
}

impl TableRequest {
    /// Appends a page of records. Returns the number of rows and the paging of the list.
    async fn write_page(
        &self,
        columns: &Columns,
        limit: Option<usize>,
        cursor: Option<String>,
        text: &mut Vec<u8>,
    ) -> Result<(usize, Option<Page>)> {
        let mut release = self.release.clone();
        if matches!(self.endpoint.handler, Handler::Files(_)) {
            release = self
                .service
                .catalog
                .intact(release)
                .await
                .map_err(|error| Problem::internal(&error))?;
        }
        let mut query = self.query.clone();
        limit
            .into_iter()
            .for_each(|limit| query.set("limit", limit.to_string()));
        cursor
            .into_iter()
            .for_each(|cursor| query.set("cursor", cursor));
        let call = Call {
            endpoint: self.endpoint,
            service: &self.service,
            release: &release,
            path: &self.values,
            query: &query,
            body: &[],
            client: &self.client,
            today: self.today,
            // A table has no field for the request id.
            request_id: "",
        };
        let mut json = Json::new();
        let meta = write_data(&call, &mut json).await?;
        let count = columns.write(&json.into_bytes(), text)?;
        Ok((count, meta.page))
    }

    /// Returns the URL of the page that begins at a cursor.
    fn address_of_next(&self, cursor: &str) -> String {
        let mut query = self.query.clone();
        query.set("cursor", cursor.to_owned());
        let pairs: Vec<String> = query
            .iter()
            .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, PLAIN)))
            .collect();
        format!(
            "{}{}?{}",
            self.service.public_url(),
            self.path,
            pairs.join("&")
        )
    }
}

/// Remaining pages of a list.
struct Rest {
    request: TableRequest,
    columns: Columns,
    /// Cursor of the next page, or `None` after the last page.
    cursor: Option<String>,
    /// Number of rows written so far.
    count: usize,
}

impl Rest {
    /// Returns the pages as a stream. Each page is produced when the previous page is taken. An
    /// error closes the connection before the end of the body.
    fn into_stream(self) -> impl Stream<Item = error::Result<Vec<u8>>> {
        try_unfold(self, |mut rest| async move {
            let Some(cursor) = rest.cursor.take() else {
                return Ok(None);
            };
            let mut text = Vec::new();
            let page = rest
                .request
                .write_page(
                    &rest.columns,
                    Some(RECORDS_PER_PAGE),
                    Some(cursor),
                    &mut text,
                )
                .await;
            let (count, page) = page.map_err(|problem| abort_error(&problem.detail))?;
            rest.count += count;
            let most = rest.request.service.settings.limits.max_list_rows;
            if rest.count > most {
                return Err(abort_error(&format!("it has more than {most} rows")));
            }
            let page =
                page.ok_or_else(|| abort_error(&"a later page has no position in the list"))?;
            if page.is_cut {
                return Err(abort_error(&"more records match than the search examines"));
            }
            rest.cursor = page.next_cursor;
            Ok(Some((text, rest)))
        })
    }
}

fn abort_error(why: &dyn std::fmt::Display) -> Error {
    tracing::warn!("a table was aborted: {why}");
    Error::store(format!("the table was aborted: {why}"))
}
