//! Answers `GET companies/search`: finds registrants by name, ticker or CIK.

use super::lookup::{check_alternatives, check_name, with_tickers};
use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::{Coverage, Meta, Page};
use crate::http::paging::{ListPaging, MAX_COUNTED};
use crate::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, RELEASE, format};
use crate::http::problem::not_published;
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::release::provenance::{Provenance, ProvenanceWriter};
use crate::sec::company::{CIK, CompanyName, TICKER, cik_of};
use crate::sec::names::{Found, Match, ShownMatch};
use crate::sec::registrants::Registrants;
use crate::sec::tables::REGISTRANTS;
use crate::sec::tables::SecTables;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/sec/companies/search",
    operation_id: "searchCompanies",
    summary: "Companies by name, ticker or CIK",
    access: Access::Scope(Scope::Sec),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Companies<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| async move { search(call, json) }.boxed()),
};

/// Maximum depth of paging. Beyond it, a better name helps more than another page.
const MAX_FOUND: usize = 1_000;

query! {
    pub struct Parameters<'a> {
        /// Name or part of it; the last word may be unfinished. A complete ticker also matches.
        name: Option<&'a str> = NAME,
        /// The same as `name`; cannot be combined with it.
        q: Option<&'a str> = NAME,
        /// Comma-separated list of tickers; each must match exactly. `BRK.B` and `BRK-B` are
        /// equivalent. Cannot be combined with `name`.
        ticker: Vec<&'a str> = Kind::Form(TICKER).items(1, 20),
        /// CIK, with or without leading zeros. Cannot be combined with `name` or `ticker`.
        cik: Option<&'a str> = Kind::Form(CIK),
        limit: usize = LIMIT, cursor: Option<&'a str> = CURSOR,
        ..format(""), ..RELEASE, ..AS_OF,
    }
}
const NAME: Kind = Kind::Line { max: 120 };

/// Matching registrants, best match first.
#[derive(Serialize, JsonSchema)]
struct Companies<'a>(Vec<CompanyMatch<'a>>);

#[derive(Serialize, JsonSchema)]
struct CompanyMatch<'a> {
    #[serde(flatten)]
    company: CompanyName<'a>,
    /// Current ticker symbols, in the order of the SEC's list.
    tickers: Vec<&'a str>,
    /// Exchange of each ticker; null if it is not published.
    exchanges: Vec<Option<&'a str>>,
    /// Standard Industrial Classification code, four digits; null if the SEC assigns none.
    sic: Option<&'a str>,
    /// The SEC's description of the industry code; null if it publishes none.
    sic_description: Option<&'a str>,
    /// Former name that matches the search; null if the current name, the ticker or the CIK
    /// matches.
    former_name_matched: Option<&'a str>,
    /// How the registrant matches the search.
    #[serde(rename = "match")]
    matched: ShownMatch,
    /// Provenance of the registrant's record in `sec.registrant`.
    provenance: Provenance<'a>,
}

/// Answers `GET companies/search`.
pub fn search(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let registrants = SecTables::from_release(call.release)
        .registrants
        .as_ref()
        .ok_or_else(|| not_published(REGISTRANTS))?;
    let query = Parameters::read(call)?;
    let paging = ListPaging::new(call, query.limit, query.cursor)?;
    let mut meta = Meta {
        datasets: vec![REGISTRANTS.into()],
        ..Meta::default()
    };
    let (found, is_cut) = find(&query, registrants, &mut meta, paging.end().min(MAX_FOUND))?;
    let reachable = &found[..found.len().min(MAX_FOUND)];
    let provenance = ProvenanceWriter::of_dataset(&call.release.manifest, REGISTRANTS);
    let page = paging.slice(reachable);
    let record_ids: Vec<String> = page
        .iter()
        .map(|found| registrants.record_id(found.row as usize))
        .collect();
    let shown = page
        .iter()
        .zip(&record_ids)
        .map(|(found, record_id)| shown(registrants, &provenance, found, record_id));
    json.value(&Companies(shown.collect()));
    let (total, is_total_exact) = (
        found.len().min(MAX_COUNTED),
        !is_cut && found.len() <= MAX_COUNTED,
    );
    meta.page = Some(Page {
        total,
        is_total_exact,
        ..paging.page(reachable.len(), is_cut || reachable.len() < found.len())
    });
    meta.coverage = Some(Coverage {
        scope: format!(
            "{} registrants, with current tickers only",
            registrants.len()
        ),
        ..Coverage::default()
    });
    Ok(meta)
}

/// Finds the registrants by the single parameter in the request.
fn find(
    query: &Parameters<'_>,
    registrants: &Registrants,
    meta: &mut Meta,
    needed: usize,
) -> Result<(Vec<Found>, bool)> {
    let given = [
        ("name", query.name.is_some()),
        ("q", query.q.is_some()),
        ("ticker", !query.ticker.is_empty()),
        ("cik", query.cik.is_some()),
    ];
    check_alternatives(
        &given,
        "give only one of `name` (or its alias `q`), `ticker` and `cik`",
    )?;
    let of_rows = |rows: &mut dyn Iterator<Item = usize>, matched: Match| -> Vec<Found> {
        rows.filter_map(|row| {
            Some(Found {
                row: u32::try_from(row).ok()?,
                matched,
                former: None,
            })
        })
        .collect()
    };
    if !query.ticker.is_empty() {
        let rows = with_tickers(registrants, &query.ticker, meta);
        return Ok((
            of_rows(&mut rows.into_iter().flatten(), Match::Ticker),
            false,
        ));
    }
    if let Some(text) = query.cik {
        let cik = cik_of(text, "cik")?;
        let found = of_rows(&mut registrants.find(cik).into_iter(), Match::Cik);
        if found.is_empty() {
            meta.notice(
                "CIK_UNKNOWN",
                format!("no registrant with the CIK {cik} is published"),
            );
        }
        return Ok((found, false));
    }
    let (field, text) = match (query.name, query.q) {
        (Some(name), _) => ("name", name),
        (None, Some(name)) => ("q", name),
        (None, None) => {
            return Err(Problem::of_field(
                Code::MissingParameter,
                "name",
                "give one of `name`, `ticker` and `cik`",
            ));
        }
    };
    check_name(field, text)?;
    Ok(registrants.search(text, needed))
}

fn shown<'a>(
    registrants: &'a Registrants,
    provenance: &ProvenanceWriter<'a>,
    found: &Found,
    record_id: &'a str,
) -> CompanyMatch<'a> {
    let row = found.row as usize;
    CompanyMatch {
        company: CompanyName::new(registrants.cik(row), registrants.name(row)),
        tickers: registrants.tickers(row).collect(),
        exchanges: registrants.exchanges(row).collect(),
        sic: registrants.sic(row),
        sic_description: registrants.sic_description(row),
        former_name_matched: found
            .former
            .and_then(|number| registrants.former_name(row, number)),
        matched: found.matched.shown(),
        provenance: registrants.provenance(provenance, row, record_id),
    }
}
