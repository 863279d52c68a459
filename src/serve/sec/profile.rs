//! Answers `GET companies/{cik}`: a registrant's identity, names and tickers, its periodic reports,
//! and its available metrics.

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::{Coverage, Meta};
use crate::http::parameters::RELEASE_PARAMETERS;
use crate::http::parameters::allowed;
use crate::http::problem::not_published;
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::release::bucketed::Bucket;
use crate::release::key_columns::cell;
use crate::release::provenance::Provenance;
use crate::release::rows::Record;
use crate::sec::company::cik_of;
use crate::sec::figure::{FigureFilter, Series};
use crate::sec::financials::read;
use crate::sec::owners::Owned;
use crate::sec::periods::{ANNUAL, QUARTERLY};
use crate::sec::profile_table::{CompanyFields, ReportCounts, shown};
use crate::sec::succession::{Succession, Successions};
use crate::sec::tables::{REGISTRANTS, SecTables, VALUES};
use crate::sec::value_table::ValueTable;
use pubdata_core::ids::Cik;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/sec/companies/{cik}",
    operation_id: "getCompany",
    summary: "Company profile",
    access: Access::Scope(Scope::Sec),
    parameters: RELEASE_PARAMETERS,
    body: None,
    data: Data::for_type::<Company<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| answer(call, json).boxed()),
};

#[derive(Serialize, JsonSchema)]
struct Company<'a> {
    #[serde(flatten)]
    company: CompanyFields<'a>,
    /// Number of periodic reports of each kind.
    filings: ReportCounts,
    /// Filings in which the registrant reports that it succeeds another registrant (8-K12B,
    /// 8-K12G3, 8-K15D5), oldest first. The document names the predecessor; the SEC's lists do not.
    successions: Vec<Succession<'a>>,
    /// Extent of the published figures, one item for each metric and period type.
    metrics_available: Vec<AvailableMetric<'a>>,
    /// Provenance of the registrant's record in `sec.registrant`.
    provenance: Provenance<'a>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CompanyMetricsAvailable")]
struct AvailableMetric<'a> {
    #[schemars(extend("$field" = "sec.financial_value/metric"))]
    metric: &'a str,
    /// Length of the periods: fiscal years (`annual`) or fiscal quarters (`quarterly`).
    #[schemars(title = "PeriodType", extend("enum" = ["annual", "quarterly"]))]
    period: &'a str,
    /// First fiscal year with a value; null if there is no value.
    first_fiscal_year: Option<i32>,
    /// Last fiscal year with a value; null if there is no value.
    last_fiscal_year: Option<i32>,
    /// Number of periods with a value.
    values: usize,
    /// Reason why the metric has no value; null if it has values.
    reason_if_none: Option<String>,
}

async fn answer(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let cik = cik_of(call.path_value("cik"), "cik")?;
    let sec = SecTables::from_release(call.release);
    if sec.profiles.is_empty() {
        return Err(not_published(REGISTRANTS));
    }
    let bucket = sec.profiles.about(call.reader(), cik).await?;
    let record =
        bucket.and_then(|bucket| Record::find(&bucket.table, bucket.part, &cik.to_string()));
    let record = record.ok_or_else(|| {
        Problem::of_field(
            Code::NotFound,
            "cik",
            format!("no registrant with the CIK {cik} is published"),
        )
    })?;
    let values = sec.values.about(call.reader(), cik).await?;
    let successions = Successions::find(call, cik).await?;
    json.value(&Company {
        company: shown(&record),
        filings: ReportCounts::from_record(&record),
        successions: successions.shown(&sec.links),
        metrics_available: available(call, cik, values.as_ref()),
        provenance: record.origin(&call.release.manifest),
    });
    let mut meta = Meta {
        datasets: vec![REGISTRANTS.into(), VALUES.into()],
        ..Meta::default()
    };
    meta.coverage = Some(Coverage {
        scope: format!("{} registrants", call.release.manifest.rows(REGISTRANTS)),
        ..Coverage::default()
    });
    meta.notice(
        "TICKER_IS_CURRENT",
        "Tickers and exchanges are current; former tickers are not published.",
    );
    meta.notice(
        "FISCAL_YEAR_END_IS_A_HINT",
        "fiscal_year_end is that of the last report; years of 52 or 53 weeks end on other days. Figures carry their own period_end.",
    );
    successions.add_notice(&mut meta);
    let missing = record.long_integer("missing_filings").unwrap_or_default();
    if missing > 0 {
        meta.notice(
            "OLDER_FILINGS_MISSING",
            format!("The SEC's archive refers to pages with {missing} older filings of any form but does not contain them: they are not counted here."),
        );
    }
    if record.flag("is_address_withheld") == Some(true) {
        meta.notice(
            "ADDRESS_WITHHELD",
            "Street, city and postal code may belong to a person and are not published.",
        );
    }
    Ok(meta)
}

/// Lists the metrics with values in both series, or the reason why a metric has none.
fn available<'a>(
    call: &'a Call<'_>,
    cik: Cik,
    values: Option<&Bucket<'_, Owned<ValueTable>>>,
) -> Vec<AvailableMetric<'a>> {
    let metrics = allowed(call.contracts(), VALUES, "metric");
    let of_period = |period: &'static str| {
        let filter = FigureFilter {
            period,
            fiscal_year_from: None,
            fiscal_year_to: None,
            known_at: None,
            span: None,
        };
        metrics
            .iter()
            .zip(read(call, values, cik, &metrics, filter))
            .map(move |(metric, series)| {
                let years = || fiscal_years(values, &series);
                AvailableMetric {
                    metric,
                    period,
                    first_fiscal_year: years().min(),
                    last_fiscal_year: years().max(),
                    values: series.figures.len(),
                    reason_if_none: series.null_reason,
                }
            })
    };
    [ANNUAL, QUARTERLY]
        .into_iter()
        .flat_map(of_period)
        .collect()
}

fn fiscal_years<'a>(
    values: Option<&'a Bucket<'_, Owned<ValueTable>>>,
    series: &'a Series,
) -> impl Iterator<Item = i32> + 'a {
    values.into_iter().flat_map(|bucket| {
        series
            .figures
            .iter()
            .filter_map(|figure| cell(&bucket.table.fiscal_year, figure.latest()))
    })
}
