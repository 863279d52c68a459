//! Answers `GET /v1/filings/search`: filings of all forms, by registrant or by date.

use super::names::has_all_words;
use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;

use super::company::{CIK, TICKER, cik_of};
use super::filing_query::{FILED_FROM, FILED_TO, FORM, Filter, PERIOD_FROM, PERIOD_TO};
use super::filing_record::Filing;
use super::filings::{describe, of_all, of_registrants};
use super::lookup::{check_name, with_tickers};
use super::registrants::Registrants;
use super::tables::{REGISTRANTS, SecTables};
use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, Parameter, RELEASE, TextForm, format};
use crate::http::problem::{Code, Problem, Result, not_published};
use crate::json::Json;
use pubdata_core::ids::Cik;
use pubdata_store::Scope;

/// The most registrants whose filings one search joins.
const MAX_REGISTRANTS: usize = 20;

/// The parameters of the search over all registrants.
const PARAMETERS: &[Parameter] = &[
    Parameter { name: "ticker", kind: Kind::Forms { item: TICKER, min: 1, max: Some(20) }, description: "Comma list of today's tickers, exact." },
    Parameter { name: "cik", kind: Kind::Form(CIK), description: "CIK, with or without leading zeros. Cannot be combined with `ticker`." },
    Parameter {
        name: "company",
        kind: Kind::Line { max: 120 },
        description: "Name or part of it: filings of the 20 registrants that fit best. Cannot be combined with `ticker` or `cik`.",
    },
    FORM,
    Parameter { name: "form_type", kind: FORM.kind, description: "The same as `form`; cannot be combined with it." },
    Parameter { name: "include_amendments", kind: Kind::Flag, description: "`true`: each form of `form` also stands for its amendments (`/A`)." },
    FILED_FROM,
    FILED_TO,
    PERIOD_FROM,
    PERIOD_TO,
    Parameter {
        name: "items",
        kind: Kind::Forms { item: TextForm { pattern: "^[0-9]{1,2}(\\.[0-9]{2})?$", description: "an item number such as `2.02`" }, min: 1, max: None },
        description: "Comma list of item numbers of current reports, such as `2.02`; needs `ticker`, `cik` or `company`.",
    },
    Parameter {
        name: "accession_number",
        kind: Kind::Form(TextForm { pattern: "^[0-9]{10}-[0-9]{2}-[0-9]{6}$", description: "an accession number such as `0000320193-24-000123`" }),
        description: "Only this filing; needs `ticker`, `cik` or `company`.",
    },
    LIMIT,
    CURSOR,
    format(""),
    RELEASE,
    AS_OF,
];

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/filings/search",
    operation_id: "searchFilings",
    summary: "Filings by company, form and date",
    access: Access::Scope(Scope::General),
    parameters: PARAMETERS,
    body: None,
    data: Data::of::<Filings<'static>>(),
    validity: Validity::Release,
    handler: Handler::Files(|call, json| answer_search(call, json).boxed()),
};

/// Filings, newest first.
#[derive(Serialize, JsonSchema)]
struct Filings<'a>(Vec<Filing<'a>>);

async fn answer_search(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let registrants = SecTables::of(call.release).registrants.as_ref().ok_or_else(|| not_published(REGISTRANTS))?;
    let filter = Filter::read(call)?;
    let mut notes = Meta::default();
    let (page, found) = match registrants_of(call, registrants, &mut notes)? {
        Some(ciks) => of_registrants(call, &ciks, &filter, &mut notes).await?,
        None => of_all(call, &filter, &mut notes).await?,
    };
    json.value(&Filings(found.iter().filter_map(|rows| Filing::of(call, registrants, rows)).collect()));
    let mut meta = describe(call, page);
    meta.notices.extend(notes.notices);
    Ok(meta)
}

/// The registrants that a search names; none when it names none.
fn registrants_of(call: &Call<'_>, registrants: &Registrants, notes: &mut Meta) -> Result<Option<Vec<Cik>>> {
    let given: Vec<(&str, &str)> = ["ticker", "cik", "company"].iter().filter_map(|name| Some((*name, call.query.get(name)?))).collect();
    let (name, text) = match given.as_slice() {
        [] => return Ok(None),
        [one] => *one,
        [_, second, ..] => return Err(Problem::of_field(Code::InvalidParameter, second.0, "give only one of `ticker`, `cik` and `company`")),
    };
    let ciks = match name {
        "ticker" => with_tickers(registrants, text, notes)?.into_iter().flatten().map(|row| registrants.cik(row)).collect(),
        "cik" => vec![cik_of(text, "cik")?],
        _ => {
            check_name("company", text)?;
            let (mut found, is_cut) = registrants.search(text, MAX_REGISTRANTS);
            // Filings of one whose name is only like the one asked for would stand among those of the one who is meant.
            found.retain(|found| found.matched.is_whole() || registrants.name_found(found).is_some_and(|name| has_all_words(text, name)));
            if found.is_empty() {
                notes.notice("COMPANY_UNKNOWN", "no registrant has a name with all these words; /v1/sec/companies/search also finds names that are like it");
            } else if is_cut || found.len() > MAX_REGISTRANTS {
                notes.notice("COMPANIES_CUT", format!("more registrants fit the name; these are filings of the {MAX_REGISTRANTS} that fit best"));
            }
            found.iter().take(MAX_REGISTRANTS).map(|found| registrants.cik(found.row as usize)).collect()
        }
    };
    if name == "cik" && ciks.iter().any(|cik| registrants.find(*cik).is_none()) {
        notes.notice("CIK_UNKNOWN", "no registrant with this CIK is published");
    }
    Ok(Some(ciks))
}
