//! Answers `GET companies/{cik}/filings`: one registrant's periodic reports.

use futures_util::FutureExt;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use super::company::{Company, CompanyName};
use super::filing_query::{FILED_FROM, FILED_TO, Filter, PERIOD_FROM, PERIOD_TO};
use super::filing_record::PeriodicReport;
use super::filings::{describe, of_registrants};
use super::tables::FILINGS;
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, CURSOR, Kind, LIMIT, RELEASE, format, noted};
use crate::http::problem::Result;
use crate::json::Json;
use pubdata_store::Scope;

/// Note in the contract that identifies the forms of periodic reports: annual and quarterly
/// reports, reports for a changed fiscal year, and their amendments.
const PERIODIC: &str = "periodic";

query! {
    pub struct Parameters<'a> {
        /// Comma-separated list of form types; all periodic reports when absent. `10-K` does not
        /// include `10-K/A`.
        form: Vec<&'a str> = Kind::OneWithNote(FILINGS, "form", PERIODIC),
        filed_from: Option<Date> = FILED_FROM, filed_to: Option<Date> = FILED_TO,
        period_from: Option<Date> = PERIOD_FROM, period_to: Option<Date> = PERIOD_TO,
        limit: usize = LIMIT, cursor: Option<&'a str> = CURSOR,
        ..format("filings"), ..RELEASE, ..AS_OF,
    }
}

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/sec/companies/{cik}/filings",
    operation_id: "getCompanyFilings",
    summary: "Annual and quarterly reports of a company",
    access: Access::Scope(Scope::Sec),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Reports<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| answer_company(call, json).boxed()),
};

#[derive(Serialize, JsonSchema)]
struct Reports<'a> {
    #[serde(flatten)]
    company: CompanyName<'a>,
    /// Periodic reports of the company, newest first.
    filings: Vec<PeriodicReport<'a>>,
}

async fn answer_company(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let company = Company::of_path(call).await?;
    let Parameters {
        form,
        filed_from,
        filed_to,
        period_from,
        period_to,
        limit,
        cursor,
    } = Parameters::read(call)?;
    let (filed, period) = Filter::days((filed_from, filed_to), (period_from, period_to))?;
    let forms = if form.is_empty() {
        noted(call.contracts(), FILINGS, "form", PERIODIC)
    } else {
        form
    };
    let forms = forms.into_iter().map(str::to_owned).collect();
    let filter = Filter {
        forms,
        filed,
        period,
        items: &[],
        accession_number: None,
        limit,
        cursor,
    };
    let (page, found) = of_registrants(call, &[company.cik], &filter, &mut Meta::default()).await?;
    json.value(&Reports {
        company: company.shown(),
        filings: found
            .iter()
            .filter_map(|rows| PeriodicReport::from_rows(call, rows))
            .collect(),
    });
    let mut meta = describe(call, page);
    meta.notice("PERIODIC_REPORTS", "Annual and quarterly reports and their amendments; /v1/filings/search has filings of all forms.");
    Ok(meta)
}
