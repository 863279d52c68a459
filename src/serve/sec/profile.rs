//! Answers `GET companies/{cik}`: what a registrant is, its names and tickers, its periodic reports, and which metrics it has.

use crate::sec::tables::SecTables;
use arrow::array::Array;
use futures_util::FutureExt;

use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::{Coverage, Meta};
use crate::http::parameters::OF_RELEASE;
use crate::http::parameters::allowed;
use crate::http::problem::not_published;
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::release::bucketed::Bucket;
use crate::release::provenance::ProvenanceWriter;
use crate::sec::company::cik_of;
use crate::sec::figure::{Series, Wanted};
use crate::sec::financials::read;
use crate::sec::periods::{ANNUAL, QUARTERLY};
use crate::sec::profile_table::{ProfileTable, ReportColumns};
use crate::sec::registrants::UNKNOWN;
use crate::sec::succession::Successions;
use crate::sec::tables::{REGISTRANTS, VALUES};
use crate::sec::value_table::ValueTable;
use pubdata_core::ids::Cik;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/sec/companies/{cik}",
    operation_id: "getCompany",
    summary: "Company profile",
    access: Access::Scope(Scope::Sec),
    parameters: OF_RELEASE,
    body: None,
    data: Data::Written("Company"),
    validity: Validity::Release,
    handler: Handler::Files(|call, json| answer(call, json).boxed()),
};

async fn answer(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let cik = cik_of(call.path_value("cik"), "cik")?;
    let sec = SecTables::of(call.release);
    if sec.profiles.is_empty() {
        return Err(not_published(REGISTRANTS));
    }
    let bucket = sec.profiles.about(call.reader(), cik).await?;
    let found = bucket.as_ref().and_then(|bucket| Some((bucket, bucket.table.find(cik)?)));
    let (bucket, row) = found.ok_or_else(|| Problem::of_field(Code::NotFound, "cik", format!("no registrant with the CIK {cik} is published")))?;
    let values = sec.values.about(call.reader(), cik).await?;
    let successions = Successions::of(call, cik).await?;
    let table = &bucket.table;
    json.object(|json| {
        json.key("cik").text(&cik.to_string());
        write_identity(json, table, row);
        write_address(json.key("business_address"), table, row);
        json.key("website").optional_text(table.text("website", row));
        json.key("investor_website").optional_text(table.text("investor_website", row));
        json.key("filings").object(|json| {
            write_reports(json.key("annual"), &table.annual, row);
            write_reports(json.key("quarterly"), &table.quarterly, row);
        });
        successions.write(json.key("successions"), call);
        json.key("metrics_available").array(|json| write_metrics(call, json, cik, values.as_ref()));
        let provenance = ProvenanceWriter::new(&call.release.manifest, REGISTRANTS, bucket.part);
        let status = table.text("validation_status", row).unwrap_or_default();
        provenance.write(json.key("provenance"), &table.row_sources, row, status, table.record_ids.at(row));
    });
    let mut meta = Meta { datasets: vec![REGISTRANTS.into(), VALUES.into()], ..Meta::default() };
    meta.coverage = Some(Coverage { scope: format!("{} registrants", call.release.manifest.rows(REGISTRANTS)), ..Coverage::default() });
    meta.notice("TICKER_IS_CURRENT", "Tickers and exchanges are those of today; tickers of the past are not published.");
    meta.notice(
        "FISCAL_YEAR_END_IS_A_HINT",
        "fiscal_year_end is that of the last report; years of 52 or 53 weeks end on other days. Figures carry their own period_end.",
    );
    successions.add_notice(&mut meta);
    let missing = table.missing_filings.value(row);
    if missing > 0 {
        meta.notice(
            "OLDER_FILINGS_MISSING",
            format!("The SEC's archive names pages with {missing} older filings of any form and does not hold them: they are not counted here."),
        );
    }
    if table.address_withheld.value(row) {
        meta.notice("ADDRESS_WITHHELD", "Street, city and postal code may be a person's and are not published.");
    }
    Ok(meta)
}

fn write_identity(json: &mut Json, table: &ProfileTable, row: usize) {
    json.key("name").optional_text(table.text("name", row));
    json.key("former_names").array(|json| {
        let days = table.former_names_from.at(row).zip(table.former_names_to.at(row));
        for (name, (from, to)) in table.former_names.at(row).zip(days) {
            json.object(|json| {
                json.key("name").text(name);
                json.key("from").optional_text(known(from));
                json.key("to").optional_text(known(to));
            });
        }
    });
    json.key("tickers").array(|json| {
        for (ticker, exchange) in table.tickers.at(row).zip(table.exchanges.at(row)) {
            json.object(|json| {
                json.key("ticker").text(ticker);
                json.key("exchange").optional_text(known(exchange));
            });
        }
    });
    json.key("fund_classes").array(|json| {
        let numbers = table.fund_series.at(row).zip(table.fund_classes.at(row));
        for (symbol, (series_id, class_id)) in table.fund_symbols.at(row).zip(numbers) {
            json.object(|json| {
                json.key("symbol").text(symbol);
                json.key("series_id").text(series_id);
                json.key("class_id").text(class_id);
            });
        }
    });
    json.key("entity_type").optional_text(table.text("entity_type", row));
    json.key("filer_category").optional_text(table.text("filer_category", row));
    json.key("filer_statuses").texts(table.filer_statuses.at(row));
    for name in ["sic", "sic_description", "fiscal_year_end", "state_of_incorporation", "state_of_incorporation_name", "lei"] {
        json.key(name).optional_text(table.text(name, row));
    }
}

fn known(text: &str) -> Option<&str> {
    Some(text).filter(|text| *text != UNKNOWN)
}

fn write_address(json: &mut Json, table: &ProfileTable, row: usize) {
    const FIELDS: [(&str, &str); 8] = [
        ("street_1", "business_street_1"),
        ("street_2", "business_street_2"),
        ("city", "business_city"),
        ("state_or_country", "business_state_or_country"),
        ("state_or_country_name", "business_state_or_country_name"),
        ("postal_code", "business_postal_code"),
        ("country", "business_country"),
        ("country_code", "business_country_code"),
    ];
    if FIELDS.iter().all(|(_, column)| table.text(column, row).is_none()) {
        return json.null();
    }
    json.object(|json| FIELDS.iter().for_each(|(field, column)| json.key(field).optional_text(table.text(column, row))));
}

fn write_reports(json: &mut Json, reports: &ReportColumns, row: usize) {
    json.object(|json| {
        json.key("count").integer(reports.counts.value(row));
        json.key("first_filed").optional_day((!reports.first_filed.is_null(row)).then(|| reports.first_filed.value(row)));
        json.key("last_filed").optional_day((!reports.last_filed.is_null(row)).then(|| reports.last_filed.value(row)));
    });
}

/// Writes which metrics have values, in both series, or why one has none.
fn write_metrics(call: &Call<'_>, json: &mut Json, cik: Cik, values: Option<&Bucket<'_, ValueTable>>) {
    let metrics = allowed(call.contracts(), VALUES, "metric");
    for period in [ANNUAL, QUARTERLY] {
        let wanted = Wanted { period, fiscal_year_from: None, fiscal_year_to: None, known_at: None, span: None };
        for (metric, series) in metrics.iter().zip(read(call, values, cik, &metrics, wanted)) {
            json.object(|json| {
                json.key("metric").text(metric);
                json.key("period").text(period);
                let years = || fiscal_years(values, &series);
                json.key("first_fiscal_year").optional_integer(years().min());
                json.key("last_fiscal_year").optional_integer(years().max());
                json.key("values").count(series.figures.len() as u64);
                json.key("reason_if_none").optional_text(series.null_reason.as_deref());
            });
        }
    }
}

fn fiscal_years<'a>(values: Option<&'a Bucket<'_, ValueTable>>, series: &'a Series) -> impl Iterator<Item = i64> + 'a {
    let years = values.map(|bucket| &bucket.table.fiscal_years);
    series.figures.iter().filter_map(move |figure| years.filter(|years| !years.is_null(figure.latest())).map(|years| i64::from(years.value(figure.latest()))))
}
