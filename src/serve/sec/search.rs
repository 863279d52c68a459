//! Answers `GET companies/search`: registrants by name, ticker or CIK.

use super::lookup::check_name;
use super::lookup::with_tickers;
use futures_util::FutureExt;

use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::{Coverage, Meta, Page};
use crate::http::paging::{ListPaging, MAX_COUNTED};
use crate::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, Parameter, RELEASE, format};
use crate::http::problem::not_published;
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::release::provenance::ProvenanceWriter;
use crate::search::rank::MatchOfName;
use crate::sec::company::{CIK, TICKER, cik_of};
use crate::sec::names::{Found, Match};
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
    parameters: PARAMETERS,
    body: None,
    data: Data::Written("Companies"),
    validity: Validity::Release,
    handler: Handler::Files(|call, json| async move { search(call, json) }.boxed()),
};

/// How far down a search can be paged: beyond it a better name helps more than another page.
const MAX_FOUND: usize = 1_000;

/// The endpoint's parameters.
const PARAMETERS: &[Parameter] = &[
    Parameter { name: "name", kind: NAME, description: "Name or part of it; the last word may be unfinished. A whole ticker is found too." },
    Parameter { name: "q", kind: NAME, description: "The same as `name`; cannot be combined with it." },
    Parameter {
        name: "ticker",
        kind: Kind::Forms { item: TICKER, min: 1, max: Some(20) },
        description: "Comma list of tickers, exact; `BRK.B` and `BRK-B` are the same. Cannot be combined with `name`.",
    },
    Parameter { name: "cik", kind: Kind::Form(CIK), description: "CIK, with or without leading zeros. Cannot be combined with `name` or `ticker`." },
    LIMIT,
    CURSOR,
    format(""),
    RELEASE,
    AS_OF,
];
const NAME: Kind = Kind::Line { max: 120 };

/// The handler of the route table.
pub fn search(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let registrants = SecTables::of(call.release).registrants.as_ref().ok_or_else(|| not_published(REGISTRANTS))?;
    let paging = ListPaging::of(call)?;
    let mut meta = Meta { datasets: vec![REGISTRANTS.into()], ..Meta::default() };
    let (found, is_cut) = find(call, registrants, &mut meta, paging.end().min(MAX_FOUND))?;
    let reachable = &found[..found.len().min(MAX_FOUND)];
    let provenance = ProvenanceWriter::of_dataset(&call.release.manifest, REGISTRANTS);
    json.array(|json| paging.slice(reachable).iter().for_each(|found| write_item(json, registrants, &provenance, found)));
    let (total, is_total_exact) = (found.len().min(MAX_COUNTED), !is_cut && found.len() <= MAX_COUNTED);
    meta.page = Some(Page { total, is_total_exact, ..paging.page(reachable.len(), is_cut || reachable.len() < found.len()) });
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

fn write_item(json: &mut Json, registrants: &Registrants, provenance: &ProvenanceWriter<'_>, found: &Found) {
    let row = found.row as usize;
    json.object(|json| {
        json.key("cik").text(&registrants.cik(row).to_string());
        json.key("name").optional_text(registrants.name(row));
        json.key("tickers").texts(registrants.tickers(row));
        json.key("exchanges").array(|json| registrants.exchanges(row).for_each(|exchange| json.optional_text(exchange)));
        json.key("sic").optional_text(registrants.sic(row));
        json.key("sic_description").optional_text(registrants.sic_description(row));
        json.key("former_name_matched").optional_text(found.former.and_then(|number| registrants.former_name(row, number)));
        json.key("match").value(&MatchOfName::of(found.matched.score(), found.matched.name()));
        registrants.write_provenance(json.key("provenance"), provenance, row);
    });
}
