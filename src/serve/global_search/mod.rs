//! Answers `GET /v1/search`, one search over all families. Exact identifiers come first, then
//! names. Each family uses its own search to compare names; this module adds no rules.

mod companies;
mod hit;
mod permits;
mod places;
mod query;
mod records;
mod registries;

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, Kind, RELEASE};
use crate::http::problem::Result;
use crate::json::Json;
use hit::{Found, Hit, Interpretation};
use pubdata_store::Scope;
use query::SearchQuery;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/search",
    operation_id: "search",
    summary: "One search over everything",
    access: Access::Key,
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Search<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| answer(call, json).boxed()),
};

query! {
    pub struct Parameters<'a> {
        /// A ZIP code, city, county, state, company, ticker, CIK, business, license, address,
        /// permit, accession number, record, dataset or release; or a metric and a ZCTA, such as
        /// `median income 90210`.
        q: &'a str = Kind::Line { max: 120 }.required("`q` is needed: a name, a number, a code or an address"),
        /// Maximum number of results.
        limit: usize = Kind::Integer { min: 1, max: 50 }.or("20"),
        ..RELEASE, ..AS_OF,
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Found")]
struct Search<'a> {
    /// The search text without surrounding blanks.
    query: &'a str,
    /// Interpretations of the text, including those without results.
    interpretations: &'a [Interpretation],
    /// Results by score; identifiers come before names with the same score.
    results: &'a [Hit],
}

async fn answer(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let Parameters { q, limit } = Parameters::read(call)?;
    let query = SearchQuery::read(q);
    let mut found = Found::default();
    let has = |scope: Scope| call.scopes().contains(&scope);
    records::find(call, &query, &mut found).await?;
    let mut unsearched: Vec<(&str, Scope)> = Vec::new();
    if has(Scope::Geo) {
        places::find_areas(call, &query, &mut found);
    } else {
        unsearched.push(("areas and their metrics", Scope::Geo));
    }
    if has(Scope::Sec) {
        companies::find(call, &query, &mut found).await?;
    } else {
        unsearched.push(("companies and filings", Scope::Sec));
    }
    if has(Scope::General) {
        places::find_zips(call, &query, &mut found);
        registries::find_businesses(call, &query, &mut found).await?;
        registries::find_licenses(call, &query, &mut found).await?;
        permits::find(call, &query, &mut found).await?;
    } else {
        unsearched.push((
            "ZIP codes, businesses, licenses and permits",
            Scope::General,
        ));
    }
    found.sort_and_truncate(limit);
    json.value(&Search {
        query: query.text,
        interpretations: &found.interpretations,
        results: &found.hits,
    });
    let mut meta = Meta {
        datasets: found
            .datasets
            .iter()
            .map(|dataset_id| (*dataset_id).into())
            .collect(),
        ..Meta::default()
    };
    for (what, scope) in unsearched {
        meta.notice(
            "NOT_SEARCHED",
            format!("{what} were not searched: the key lacks the scope `{scope}`"),
        );
    }
    if !found.missing.is_empty() {
        meta.notice(
            "NOT_PUBLISHED",
            format!(
                "not in the release and therefore not searched: {}",
                found.missing.join(", ")
            ),
        );
    }
    for notice in found.notices {
        meta.notices.push(notice);
    }
    Ok(meta)
}
