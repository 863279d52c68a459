//! What a handler gets and what it returns: one request, one pinned release, one answer written into one buffer.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::Service;
use super::auth::Client;
use super::index::Release;
use super::json::Json;
use super::parameters::{Parameter, Query};
use super::problem::{Problem, Result};
use crate::store::Scope;

/// One operation of the API: a row of the route table.
pub struct Endpoint {
    pub method: &'static str,
    pub path: &'static str,
    pub operation_id: &'static str,
    pub summary: &'static str,
    pub access: Access,
    pub parameters: &'static [Parameter],
    /// Name of the request body's schema.
    pub body: Option<&'static str>,
    /// Name of the schema of `data`.
    pub data: &'static str,
    pub handler: Handler,
}

/// Who may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Everyone,
    /// Any valid key; the handler looks at the scope.
    Key,
    Scope(Scope),
}

/// The function behind an endpoint. It writes the value of `data` and returns what `meta` says.
pub enum Handler {
    /// Answers from memory.
    Memory(fn(&Call<'_>, &mut Json) -> Result<Meta>),
    /// Reads the release's files.
    Files(for<'a> fn(&'a Call<'a>, &'a mut Json) -> BoxFuture<'a, Result<Meta>>),
}

/// One request, checked as far as the declaration of its endpoint goes.
pub struct Call<'a> {
    pub service: &'a Service,
    pub release: &'a Arc<Release>,
    /// Values of the path's placeholders, decoded.
    pub path: &'a [(String, String)],
    pub query: &'a Query,
    pub body: &'a [u8],
    pub client: &'a Client,
}

impl Call<'_> {
    /// Takes a batch's items but its first, which admission took, from the client's bucket.
    ///
    /// # Errors
    /// `rate_limited`, when the bucket has not enough.
    pub fn charge(&self, items: usize) -> Result<()> {
        self.service.charge(self.client, items.saturating_sub(1) as u64)
    }

    pub fn scopes(&self) -> &[Scope] {
        &self.client.scopes
    }

    /// The value of a placeholder of the path.
    pub fn path_value(&self, name: &str) -> &str {
        self.path.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str()).unwrap_or_default()
    }
}

/// What the `meta` of an answer says beyond request id and release.
#[derive(Debug, Default)]
pub struct Meta {
    /// Datasets the answer was made from.
    pub datasets: Vec<String>,
    pub notices: Vec<Notice>,
    pub coverage: Option<Coverage>,
    pub page: Option<Page>,
}

/// Something a reader should know about an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub code: &'static str,
    pub message: String,
}

impl Notice {
    pub fn write(&self, json: &mut Json) {
        json.object(|json| {
            json.key("code").text(self.code);
            json.key("message").text(&self.message);
        });
    }
}

/// What an answer of this kind covers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Kind of area, for answers about areas.
    pub geography_type: Option<&'static str>,
    pub scope: String,
    /// States whose registries or boards were searched, for answers from them.
    pub states_searched: Vec<String>,
    /// Cities and counties whose permits were searched, for answers about permits.
    pub jurisdictions_searched: Vec<String>,
}

/// Where a list stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub limit: usize,
    pub count: usize,
    pub next_cursor: Option<String>,
    pub total: usize,
    /// Whether there are just so many, or at least so many.
    pub is_total_exact: bool,
}

impl Meta {
    /// Adds a notice.
    pub fn notice(&mut self, code: &'static str, message: impl Into<String>) {
        self.notices.push(Notice { code, message: message.into() });
    }
}

/// Runs a handler and writes the whole envelope.
///
/// # Errors
/// The handler's.
pub async fn answer(endpoint: &Endpoint, call: &Call<'_>, request_id: &str) -> Result<Vec<u8>> {
    let mut json = Json::new();
    json.raw("{\"data\":");
    let mut meta = match &endpoint.handler {
        Handler::Memory(handler) => handler(call, &mut json)?,
        Handler::Files(handler) => handler(call, &mut json).await?,
    };
    if call.release.manifest.is_sample {
        meta.notice(
            "SAMPLE_RELEASE",
            "This release was built from samples of the publishers' files: most records are missing, and counts are not those of the nation.",
        );
    }
    json.key("meta");
    write_meta(&mut json, call, &meta, request_id);
    let mut bytes = json.into_bytes();
    bytes.push(b'}');
    Ok(bytes)
}

fn write_meta(json: &mut Json, call: &Call<'_>, meta: &Meta, request_id: &str) {
    let manifest = &call.release.manifest;
    let freshness = call.release.freshness(call.service.today());
    json.object(|json| {
        json.key("request_id").text(request_id);
        json.key("release").object(|json| {
            json.key("release_id").text(manifest.release_id.as_str());
            json.key("channel").text(call.service.catalog.channel());
        });
        json.key("datasets").array(|json| {
            for dataset_id in &meta.datasets {
                json.object(|json| {
                    json.key("dataset_id").text(dataset_id);
                    json.key("published_at").text(&manifest.published_at);
                    json.key("freshness").text(freshness.of(dataset_id).name());
                });
            }
        });
        json.key("notices").array(|json| {
            for notice in &meta.notices {
                notice.write(json);
            }
        });
        if let Some(coverage) = &meta.coverage {
            json.key("coverage").object(|json| {
                if let Some(geography_type) = coverage.geography_type {
                    json.key("geography_type").text(geography_type);
                }
                json.key("scope").text(&coverage.scope);
                for (name, searched) in [("states_searched", &coverage.states_searched), ("jurisdictions_searched", &coverage.jurisdictions_searched)] {
                    if !searched.is_empty() {
                        json.key(name).texts(searched.iter().map(String::as_str));
                    }
                }
            });
        }
        if let Some(page) = &meta.page {
            json.key("page").object(|json| {
                json.key("limit").count(page.limit as u64);
                json.key("count").count(page.count as u64);
                json.key("next_cursor").optional_text(page.next_cursor.as_deref());
                json.key("total").count(page.total as u64);
                json.key("total_relation").text(if page.is_total_exact { "eq" } else { "gte" });
            });
        }
    });
}

/// A problem for something that the release lacks altogether.
pub fn not_published(dataset_id: &str) -> Problem {
    Problem::new(super::problem::Code::CoverageUnavailable, format!("this release has no `{dataset_id}`; /v1/coverage lists what it has"))
}
