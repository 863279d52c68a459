//! Answers `GET /v1/filings/search`: finds filings of all form types, by registrant or by date.

use super::names::has_all_words;
use futures_util::FutureExt;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use super::company::{CIK, TICKER, cik_of};
use super::filing_query::{FILED_FROM, FILED_TO, FORM, Filter, PERIOD_FROM, PERIOD_TO};
use super::filing_record::Filing;
use super::filings::{describe, of_all, of_registrants};
use super::lookup::{check_alternatives, check_name, with_tickers};
use super::registrants::Registrants;
use super::tables::{REGISTRANTS, SecTables};
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, RELEASE, TextForm, format};
use crate::http::problem::{Code, Problem, Result, not_published};
use crate::json::Json;
use pubdata_core::ids::Cik;
use pubdata_store::Scope;

/// Maximum number of registrants whose filings one search combines.
const MAX_REGISTRANTS: usize = 20;

query! {
    pub struct Parameters<'a> {
        /// Comma-separated list of current tickers; each must match exactly.
        ticker: Vec<&'a str> = Kind::Form(TICKER).items(1, 20),
        /// CIK, with or without leading zeros. Cannot be combined with `ticker`.
        cik: Option<&'a str> = Kind::Form(CIK),
        /// Company name or part of it. Selects filings of the 20 registrants that match best.
        /// Cannot be combined with `ticker` or `cik`.
        company: Option<&'a str> = Kind::Line { max: 120 },
        form: Vec<&'a str> = FORM,
        /// The same as `form`; cannot be combined with it.
        form_type: Vec<&'a str> = FORM,
        /// `true`: each form type in `form` also selects its amendments (`/A`).
        include_amendments: Option<bool> = Kind::Flag,
        filed_from: Option<Date> = FILED_FROM, filed_to: Option<Date> = FILED_TO,
        period_from: Option<Date> = PERIOD_FROM, period_to: Option<Date> = PERIOD_TO,
        /// Comma-separated list of item numbers from current reports, such as `2.02`; requires
        /// `ticker`, `cik` or `company`.
        items: Vec<&'a str> = Kind::Form(TextForm { pattern: "^[0-9]{1,2}(\\.[0-9]{2})?$", description: "an item number such as `2.02`" }),
        /// Accession number of the only filing to return; requires `ticker`, `cik` or `company`.
        accession_number: Option<&'a str> = Kind::Form(TextForm {
            pattern: "^[0-9]{10}-[0-9]{2}-[0-9]{6}$",
            description: "an accession number such as `0000320193-24-000123`",
        }),
        limit: usize = LIMIT, cursor: Option<&'a str> = CURSOR,
        ..format(""), ..RELEASE, ..AS_OF,
    }
}

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/filings/search",
    operation_id: "searchFilings",
    summary: "Filings by company, form and date",
    access: Access::Scope(Scope::General),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Filings<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| answer_search(call, json).boxed()),
};

/// Filings, newest first.
#[derive(Serialize, JsonSchema)]
struct Filings<'a>(Vec<Filing<'a>>);

async fn answer_search(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let registrants = SecTables::from_release(call.release)
        .registrants
        .as_ref()
        .ok_or_else(|| not_published(REGISTRANTS))?;
    let query = Parameters::read(call)?;
    let filter = query.filter()?;
    let mut notes = Meta::default();
    let (page, found) = match registrants_of(&query, registrants, &mut notes)? {
        Some(ciks) => of_registrants(call, &ciks, &filter, &mut notes).await?,
        None => of_all(call, &filter, &mut notes).await?,
    };
    json.value(&Filings(
        found
            .iter()
            .filter_map(|rows| Filing::from_rows(call, registrants, rows))
            .collect(),
    ));
    let mut meta = describe(call, page);
    meta.notices.extend(notes.notices);
    Ok(meta)
}

impl Parameters<'_> {
    /// Returns the filters in the query.
    fn filter(&self) -> Result<Filter<'_>> {
        if !self.form.is_empty() && !self.form_type.is_empty() {
            return Err(Problem::of_field(
                Code::InvalidParameter,
                "form_type",
                "give `form` or `form_type`, not both",
            ));
        }
        let mut forms: Vec<String> = self
            .form
            .iter()
            .chain(&self.form_type)
            .map(|form| form.trim().to_ascii_uppercase())
            .collect();
        if self.include_amendments == Some(true) {
            let amendments: Vec<String> = forms
                .iter()
                .filter(|form| !form.ends_with("/A"))
                .map(|form| format!("{form}/A"))
                .collect();
            forms.extend(amendments);
        }
        let (filed, period) = Filter::days(
            (self.filed_from, self.filed_to),
            (self.period_from, self.period_to),
        )?;
        Ok(Filter {
            forms,
            filed,
            period,
            items: &self.items,
            accession_number: self.accession_number,
            limit: self.limit,
            cursor: self.cursor,
        })
    }
}

/// Returns the registrants that a search names; `None` if the search names no registrant.
fn registrants_of(
    query: &Parameters<'_>,
    registrants: &Registrants,
    notes: &mut Meta,
) -> Result<Option<Vec<Cik>>> {
    let given = [
        ("ticker", !query.ticker.is_empty()),
        ("cik", query.cik.is_some()),
        ("company", query.company.is_some()),
    ];
    check_alternatives(&given, "give only one of `ticker`, `cik` and `company`")?;
    if !query.ticker.is_empty() {
        return Ok(Some(
            with_tickers(registrants, &query.ticker, notes)
                .into_iter()
                .flatten()
                .map(|row| registrants.cik(row))
                .collect(),
        ));
    }
    if let Some(text) = query.cik {
        let cik = cik_of(text, "cik")?;
        if registrants.find(cik).is_none() {
            notes.notice("CIK_UNKNOWN", "no registrant with this CIK is published");
        }
        return Ok(Some(vec![cik]));
    }
    let Some(text) = query.company else {
        return Ok(None);
    };
    check_name("company", text)?;
    let (mut found, is_cut) = registrants.search(text, MAX_REGISTRANTS);
    // Drops registrants whose name is only similar, because their filings would appear among those
    // of the intended registrant.
    found.retain(|found| {
        found.matched.is_whole()
            || registrants
                .matched_name(found)
                .is_some_and(|name| has_all_words(text, name))
    });
    if found.is_empty() {
        notes.notice("COMPANY_UNKNOWN", "no registrant has a name with all these words; /v1/sec/companies/search also finds similar names");
    } else if is_cut || found.len() > MAX_REGISTRANTS {
        notes.notice("COMPANIES_CUT", format!("more registrants match the name; these are filings of the {MAX_REGISTRANTS} best matches"));
    }
    Ok(Some(
        found
            .iter()
            .take(MAX_REGISTRANTS)
            .map(|found| registrants.cik(found.row as usize))
            .collect(),
    ))
}
