//! Answers `GET companies/search`: registrants by name, ticker or CIK.

use super::lookup::check_name;
use super::lookup::with_tickers;
use crate::serve::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::serve::http::meta::{Coverage, Meta, Page};
use crate::serve::http::paging::ListPaging;
use crate::serve::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, Parameter, RELEASE};
use crate::serve::http::problem::not_published;
use crate::serve::http::problem::{Code, Problem, Result};
use crate::serve::json::{Json, Trim};
use crate::serve::release::provenance::ProvenanceWriter;
use crate::serve::sec::company::cik_of;
use crate::serve::sec::names::{Found, Match};
use crate::serve::sec::registrants::Registrants;
use crate::serve::sec::tables::REGISTRANTS;
use crate::serve::sec::tables::SecTables;
use crate::store::Scope;

/// Declared for the route table.
pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/sec/companies/search",
    operation_id: "searchCompanies",
    summary: "Companies by name, ticker or CIK",
    access: Access::Scope(Scope::Sec),
    parameters: PARAMETERS,
    body: None,
    data: "Companies",
    validity: Validity::Release,
    handler: Handler::Memory(search),
};

/// So many are always looked for, so that the total of a short page says more than its length.
const FIRST_FOUND: usize = 25;
/// How far down a search can be paged: beyond it a better name helps more than another page.
const MAX_FOUND: usize = 1_000;

/// The endpoint's parameters.
const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "name",
        kind: NAME,
        description: "Name or part of it; the last word may be unfinished. A whole ticker is found too. Exactly one of `name`, `ticker` and `cik`.",
    },
    Parameter { name: "q", kind: NAME, description: "The same as `name`." },
    Parameter {
        name: "ticker",
        kind: Kind::Form("^[A-Za-z0-9./-]{1,16}(,[A-Za-z0-9./-]{1,16}){0,19}$"),
        description: "Comma list of tickers, exact; `BRK.B` and `BRK-B` are one.",
    },
    Parameter { name: "cik", kind: Kind::Form("^0{0,9}[1-9][0-9]{0,9}$"), description: "CIK, with or without leading zeros." },
    LIMIT,
    CURSOR,
    RELEASE,
    AS_OF,
];
const NAME: Kind = Kind::Form("^.{1,120}$");

/// The handler of the route table.
pub fn search(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let registrants = SecTables::of(call.release).registrants.as_ref().ok_or_else(|| not_published(REGISTRANTS))?;
    let paging = ListPaging::of(call)?;
    let mut meta = Meta { datasets: vec![REGISTRANTS.to_owned()], ..Meta::default() };
    let (found, has_more) = find(call, registrants, &mut meta, paging.end().clamp(FIRST_FOUND, MAX_FOUND))?;
    let page = paging.slice(&found);
    let end = paging.first + page.len();
    let is_last = end >= found.len() && !has_more || end >= MAX_FOUND;
    let stamps = ProvenanceWriter::of_dataset(&call.release.manifest, REGISTRANTS);
    json.array(|json| page.iter().for_each(|found| write_item(json, registrants, &stamps, found)));
    let next_cursor = (!is_last).then(|| paging.cursor(end));
    meta.page = Some(Page { limit: paging.limit(), count: page.len(), next_cursor, total: found.len(), is_total_exact: !has_more });
    meta.coverage =
        Some(Coverage { scope: format!("{} registrants, of which those with a ticker have today's only", registrants.len()), ..Coverage::default() });
    Ok(meta)
}

/// Finds what the request asks for by the one way it names.
fn find(call: &Call<'_>, registrants: &Registrants, meta: &mut Meta, wanted: usize) -> Result<(Vec<Found>, bool)> {
    let given: Vec<(&'static str, &str)> = ["name", "q", "ticker", "cik"].iter().filter_map(|name| Some((*name, call.query.get(name)?))).collect();
    let (name, text) = match given.as_slice() {
        [one] => *one,
        [] => return Err(Problem::of_field(Code::MissingParameter, "name", "give one of `name`, `ticker` and `cik`")),
        [_, second, ..] => {
            return Err(Problem::of_field(Code::InvalidParameter, second.0, "give only one of `name` (or its alias `q`), `ticker` and `cik`"));
        }
    };
    let of_rows = |rows: &mut dyn Iterator<Item = usize>, matched: Match| -> Vec<Found> {
        rows.filter_map(|row| Some(Found { row: u32::try_from(row).ok()?, matched, former: None })).collect()
    };
    match name {
        "ticker" => Ok((with_tickers(registrants, text, meta)?.iter().flat_map(|rows| of_rows(&mut rows.iter().copied(), Match::Ticker)).collect(), false)),
        "cik" => {
            let cik = cik_of(text, "cik")?;
            let found = of_rows(&mut registrants.find(cik).into_iter(), Match::Cik);
            if found.is_empty() {
                meta.notice("CIK_UNKNOWN", format!("no registrant with the CIK {cik} is published"));
            }
            Ok((found, false))
        }
        _ => {
            check_name(name, text)?;
            Ok(registrants.search(text, wanted))
        }
    }
}

fn write_item(json: &mut Json, registrants: &Registrants, stamps: &ProvenanceWriter<'_>, found: &Found) {
    let row = found.row as usize;
    json.object(|json| {
        json.key("cik").text(&registrants.cik(row).to_string());
        json.key("name").optional_text(registrants.name(row));
        json.key("tickers").texts(registrants.tickers(row));
        json.key("exchanges").array(|json| registrants.exchanges(row).for_each(|exchange| json.optional_text(exchange)));
        json.key("sic").optional_text(registrants.sic(row));
        json.key("sic_description").optional_text(registrants.sic_description(row));
        json.key("former_name_matched").optional_text(found.former.and_then(|number| registrants.former_name(row, number)));
        json.key("match").object(|json| {
            json.key("type").text(found.matched.name());
            json.key("score").decimal(found.matched.score(), 2, Trim::Zeros);
        });
        registrants.write_provenance(json.key("provenance"), stamps, row);
    });
}
