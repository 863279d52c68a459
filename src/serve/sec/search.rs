//! Answers `GET companies/search`: registrants by name, ticker or CIK.

use super::company::cik_of;
use super::{FILINGS, REGISTRANTS};
use crate::serve::call::{Call, Coverage, Meta, Page, not_published};
use crate::serve::cursor;
use crate::serve::index::{Found, Match, Registrants, Stamps};
use crate::serve::json::{Json, Trim};
use crate::serve::parameters::{AS_OF, CURSOR, Kind, LIMIT, Parameter, RELEASE};
use crate::serve::problem::{Code, Problem, Result};

const DEFAULT_LIMIT: usize = 25;
/// The most tickers of one request.
const MAX_TICKERS: usize = 20;
/// How far down a search can be paged: beyond it a better name helps more than another page.
const MAX_FOUND: usize = 1_000;

/// The endpoint's parameters.
pub const PARAMETERS: &[Parameter] = &[
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
    let registrants = call.release.sec.registrants.as_ref().ok_or_else(|| not_published(REGISTRANTS))?;
    let limit = call.query.parsed("limit").unwrap_or(DEFAULT_LIMIT);
    let (filters, release_id) = (cursor::mark(call.path, call.query), &call.release.manifest.release_id);
    let skipped: usize = match call.query.get("cursor") {
        Some(text) => cursor::sort_key(text, release_id, &filters)?.parse().map_err(|_| cursor::not_one())?,
        None => 0,
    };
    let mut meta = Meta { datasets: vec![REGISTRANTS.to_owned()], ..Meta::default() };
    let (found, has_more) = find(call, registrants, &mut meta, (skipped + limit).clamp(DEFAULT_LIMIT, MAX_FOUND))?;
    let page = found.get(skipped..found.len().min(skipped + limit)).unwrap_or_default();
    let end = skipped + page.len();
    let is_last = end >= found.len() && !has_more || end >= MAX_FOUND;
    let stamps = Stamps::of_dataset(&call.release.manifest, REGISTRANTS);
    json.array(|json| page.iter().for_each(|found| write_item(json, registrants, &stamps, found)));
    let next_cursor = (!is_last).then(|| cursor::write(release_id, &filters, &end.to_string()));
    meta.page = Some(Page { limit, count: page.len(), next_cursor, total: found.len(), is_total_exact: !has_more });
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
            super::check_name(name, text)?;
            Ok(registrants.search(text, wanted))
        }
    }
}

/// The rows of each ticker of a comma list, in its order. Notes that tickers are of today, and which are unknown.
///
/// # Errors
/// `invalid_parameter`, when the list is too long, or an item is empty.
pub fn with_tickers(registrants: &Registrants, list: &str, meta: &mut Meta) -> Result<Vec<Vec<usize>>> {
    let tickers: Vec<&str> = list.split(',').collect();
    if tickers.len() > MAX_TICKERS || tickers.iter().any(|ticker| ticker.trim().is_empty()) {
        return Err(Problem::of_field(Code::InvalidParameter, "ticker", format!("`ticker`: expected 1 to {MAX_TICKERS} tickers with commas between them")));
    }
    let mut found: Vec<Vec<usize>> = Vec::new();
    let mut unknown = Vec::new();
    for ticker in tickers {
        let rows: Vec<usize> = registrants.with_ticker(ticker).filter(|row| !found.iter().flatten().any(|known| known == row)).collect();
        if registrants.with_ticker(ticker).next().is_none() {
            unknown.push(ticker.trim().to_ascii_uppercase());
        }
        found.push(rows);
    }
    meta.notice(
        "TICKER_IS_CURRENT",
        "Tickers are those of today: a former ticker finds nobody, and a ticker that was given to another company finds that one.",
    );
    if !unknown.is_empty() {
        meta.notice("TICKER_UNKNOWN", format!("no registrant has the ticker {} today; delisted companies are found by name", unknown.join(", ")));
    }
    Ok(found)
}

fn write_item(json: &mut Json, registrants: &Registrants, stamps: &Stamps<'_>, found: &Found) {
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

/// Datasets of answers about filings.
pub const OF_FILINGS: [&str; 2] = [FILINGS, REGISTRANTS];
