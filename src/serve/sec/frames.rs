//! Answers `GET financials/frames/{metric}`: one metric of all registrants for one fiscal year.

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{Date, Decimal};
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::Meta;
use crate::http::nearest;
use crate::http::paging::ListPaging;
use crate::http::parameters::{AS_OF, CURSOR, LIMIT, RELEASE, allowed, format};
use crate::http::problem::{Code, Problem, Result, not_published};
use crate::json::Json;
use crate::release::provenance::Provenance;
use crate::sec::company::CompanyName;
use crate::sec::financials::describe;
use crate::sec::frame_index::FrameValue;
use crate::sec::links::FilingKey;
use crate::sec::periods::{ANNUAL, PERIOD, SPAN, Span, YEAR, add_instant_notice};
use crate::sec::tables::{SecTables, VALUES};
use crate::sec::units::RequestedMetric;
use pubdata_core::contract::Day;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/sec/financials/frames/{metric}",
    operation_id: "getFinancialFrame",
    summary: "One metric of all companies for a fiscal year",
    access: Access::Scope(Scope::Sec),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<FinancialFrame<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| frame(call, json).boxed()),
};

query! {
    pub struct Parameters<'a> {
        /// The companies' own fiscal year.
        fiscal_year: i32 = YEAR.required("`fiscal_year` is needed"),
        period: Option<&'a str> = PERIOD, span: Option<&'a str> = SPAN, limit: usize = LIMIT, cursor: Option<&'a str> = CURSOR,
        ..format("values"), ..RELEASE, ..AS_OF,
    }
}

#[derive(Serialize, JsonSchema)]
struct FinancialFrame<'a> {
    #[serde(flatten)]
    requested: RequestedMetric<'a>,
    /// The companies' own fiscal year. It is only a label; the dates identify the period.
    fiscal_year: i32,
    /// One value for each company and period, ordered by company and period.
    values: Vec<ShownValue<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FinancialFrameValue")]
struct ShownValue<'a> {
    #[serde(flatten)]
    company: CompanyName<'a>,
    #[schemars(extend("$field" = "sec.financial_value/fiscal_period"))]
    fiscal_period: Option<&'a str>,
    /// First day; null for a balance or a share count, which holds on the single day `period_end`.
    period_start: Option<Date>,
    /// Last day of the period, or the day of the balance.
    period_end: Date,
    /// Exact figure as filed, from the report whose figure counts. This is the last report, except
    /// for rounded repetitions and figures with noncontrolling interest.
    value: Decimal,
    #[schemars(extend("$field" = "sec.financial_value/unit"))]
    unit: &'a str,
    /// True if the figure covers more than one quarter from the fiscal year's first day; false for
    /// a first quarter, a year and a balance.
    is_ytd: bool,
    /// SEC accession number of the report that contains the figure.
    #[schemars(extend("pattern" = "^[0-9]{10}-[0-9]{2}-[0-9]{6}$"))]
    accession_number: String,
    /// URL of the filing's index page at the SEC.
    evidence_url: Option<String>,
    /// Provenance of the figure's record in `sec.financial_value`.
    provenance: Provenance<'a>,
}

async fn frame(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let (sec, metric) = (
        SecTables::from_release(call.release),
        call.path_value("metric"),
    );
    let known = allowed(call.contracts(), VALUES, "metric");
    if !known.contains(&metric) {
        let shown: String = metric.chars().take(64).collect();
        return Err(Problem::of_field(
            Code::InvalidParameter,
            "metric",
            format!(
                "`{shown}` is not a metric; {}",
                nearest::hint(&shown, &known)
            ),
        ));
    }
    let Parameters {
        fiscal_year,
        period,
        span,
        limit,
        cursor,
    } = Parameters::read(call)?;
    if sec.values.is_empty() {
        return Err(not_published(VALUES));
    }
    let period = period.unwrap_or(ANNUAL);
    let paging = ListPaging::new(call, limit, cursor)?;
    let frame = sec
        .frames
        .get(call.reader(), &sec.values, metric, period)
        .await
        .map_err(|error| Problem::internal(&error))?;
    let requested_span = Span::parse(span, period)?;
    let mut found = frame.of_year(fiscal_year);
    found.retain(|value| {
        requested_span
            .is_none_or(|span| span.matches(value.is_ytd, value.fiscal_period, value.period_start))
    });
    let page = paging.slice(&found);
    let record_ids: Vec<String> = page.iter().map(|value| record_id(metric, value)).collect();
    json.value(&FinancialFrame {
        requested: RequestedMetric::new(call, metric, period, span),
        fiscal_year,
        values: page
            .iter()
            .zip(&record_ids)
            .map(|(value, record_id)| shown(sec, frame.scale, value, record_id))
            .collect(),
    });
    let mut meta = describe(call, period);
    add_instant_notice(&mut meta, page.iter().map(|value| value.period_start));
    meta.page = Some(paging.page_of_all(found.len()));
    Ok(meta)
}

fn record_id(metric: &str, value: &FrameValue<'_>) -> String {
    let end = Day::from_number(value.period_end);
    let days = value.period_start.map_or_else(
        || end.to_string(),
        |start| format!("{}..{end}", Day::from_number(start)),
    );
    format!(
        "{VALUES}:{}:{metric}:{days}:{}",
        value.cik, value.accession_number
    )
}

/// Builds a value for answers; `scale` is the scale of its units.
fn shown<'a>(
    sec: &'a SecTables,
    scale: u8,
    value: &FrameValue<'a>,
    record_id: &'a str,
) -> ShownValue<'a> {
    let name = sec
        .registrants
        .as_ref()
        .and_then(|registrants| registrants.name(registrants.find(value.cik)?));
    let accession_number = value.accession_number.to_string();
    let key = FilingKey {
        cik: value.cik,
        accession_number: &accession_number,
        primary_document: None,
    };
    ShownValue {
        company: CompanyName::new(value.cik, name),
        fiscal_period: value.fiscal_period,
        period_start: value.period_start.map(Date),
        period_end: Date(value.period_end),
        value: Decimal {
            units: value.value,
            scale,
        },
        unit: value.unit,
        is_ytd: value.is_ytd,
        evidence_url: sec.links.evidence(key),
        accession_number,
        provenance: value.origin.provenance(value.validation_status, record_id),
    }
}
