//! Answers `GET financials/frames/{metric}`: one metric of all registrants for a fiscal year.

use futures_util::FutureExt;

use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::nearest;
use crate::http::paging::ListPaging;
use crate::http::parameters::{AS_OF, CURSOR, LIMIT, Parameter, RELEASE, allowed, format};
use crate::http::problem::{Code, Problem, Result, not_published};
use crate::json::Json;
use crate::sec::financials::describe;
use crate::sec::frame_index::FrameValue;
use crate::sec::links::FilingKey;
use crate::sec::periods::{ANNUAL, PERIOD, SPAN, Span, YEAR, add_instant_notice};
use crate::sec::tables::{SecTables, VALUES};
use crate::sec::units::unit_of;
use pubdata_core::contract::Day;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/sec/financials/frames/{metric}",
    operation_id: "getFinancialFrame",
    summary: "One metric of all companies for a fiscal year",
    access: Access::Scope(Scope::Sec),
    parameters: PARAMETERS,
    body: None,
    data: Data::Written("FinancialFrame"),
    validity: Validity::Release,
    handler: Handler::Files(|call, json| frame(call, json).boxed()),
};

/// The endpoint's parameters.
const PARAMETERS: &[Parameter] = &[
    Parameter { name: "fiscal_year", kind: YEAR, description: "The companies' own fiscal year." },
    PERIOD,
    SPAN,
    LIMIT,
    CURSOR,
    format("values"),
    RELEASE,
    AS_OF,
];

async fn frame(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let (sec, metric) = (SecTables::of(call.release), call.path_value("metric"));
    let known = allowed(call.contracts(), VALUES, "metric");
    if !known.contains(&metric) {
        let shown: String = metric.chars().take(64).collect();
        return Err(Problem::of_field(Code::InvalidParameter, "metric", format!("`{shown}` is no metric; {}", nearest::hint(&shown, &known))));
    }
    let fiscal_year: i32 =
        call.query.parsed("fiscal_year").ok_or_else(|| Problem::of_field(Code::MissingParameter, "fiscal_year", "`fiscal_year` is needed"))?;
    if sec.values.is_empty() {
        return Err(not_published(VALUES));
    }
    let period = call.query.get("period").unwrap_or(ANNUAL);
    let paging = ListPaging::of(call)?;
    let frame = sec.frames.get(call.reader(), &sec.values, metric, period).await.map_err(|error| Problem::internal(&error))?;
    let span = Span::of(call)?;
    let mut found = frame.of_year(fiscal_year);
    found.retain(|value| span.is_none_or(|span| span.matches(value.is_ytd, value.fiscal_period, value.period_start)));
    json.object(|json| {
        json.key("metric").text(metric);
        json.key("unit").text(unit_of(call.contracts(), metric));
        json.key("period_type").text(period);
        json.key("span").optional_text(call.query.get("span"));
        json.key("fiscal_year").integer(i64::from(fiscal_year));
        json.key("values").array(|json| paging.slice(&found).iter().for_each(|value| json.object(|json| write_value(json, sec, (metric, frame.scale), value))));
    });
    let mut meta = describe(call, period);
    add_instant_notice(&mut meta, paging.slice(&found).iter().map(|value| value.period_start));
    meta.page = Some(paging.page_of_all(found.len()));
    Ok(meta)
}

fn write_value(json: &mut Json, sec: &SecTables, (metric, scale): (&str, u8), value: &FrameValue<'_>) {
    let (cik, accession_number) = (value.cik.to_string(), value.accession_number.to_string());
    let name = sec.registrants.as_ref().and_then(|registrants| registrants.name(registrants.find(value.cik)?));
    json.key("cik").text(&cik);
    json.key("name").optional_text(name);
    json.key("fiscal_period").optional_text(value.fiscal_period);
    json.key("period_start").optional_day(value.period_start);
    json.key("period_end").day(value.period_end);
    json.key("value").wide_decimal(value.value, scale);
    json.key("unit").text(value.unit);
    json.key("is_ytd").flag(value.is_ytd);
    json.key("accession_number").text(&accession_number);
    let key = FilingKey { cik: value.cik, accession_number: &accession_number, primary_document: None };
    json.key("evidence_url").optional_text(sec.links.evidence(key).as_deref());
    let end = Day::from_number(value.period_end);
    let days = value.period_start.map_or_else(|| end.to_string(), |start| format!("{}..{end}", Day::from_number(start)));
    let record_id = format!("{VALUES}:{cik}:{metric}:{days}:{accession_number}");
    value.origin.write(json.key("provenance"), value.validation_status, &record_id);
}
