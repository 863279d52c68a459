//! Answers `GET companies/{cik}/financials`: one registrant's metrics by fiscal period.

use super::periods::add_as_filed_notice;
use super::periods::add_fiscal_periods_notice;
use super::periods::add_stated_periods_notice;
use super::periods::fiscal_years;
use super::succession::Successions;
use super::tables::REGISTRANTS;
use super::units::unit_of;
use crate::days::since_epoch;
use crate::sec::tables::SecTables;
use std::collections::BTreeSet;

use futures_util::FutureExt;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::{Coverage, Meta};
use crate::http::parameters::{AS_OF, Kind, RELEASE, allowed, format};
use crate::http::problem::Result;
use crate::json::Json;
use crate::release::bucketed::Bucket;
use crate::sec::company::{Company, CompanyName};
use crate::sec::figure::{FigureFilter, Series, reports_not_in_archive, series};
use crate::sec::financial_value::{FinancialValue, Source};
use crate::sec::owners::Owned;
use crate::sec::periods::{
    ANNUAL, FISCAL_YEAR, FISCAL_YEAR_FROM, FISCAL_YEAR_TO, KNOWN_AT, PERIOD, SPAN, Span,
    add_instant_notice,
};
use crate::sec::tables::VALUES;
use crate::sec::value_table::ValueTable;
use pubdata_core::ids::Cik;
use pubdata_store::Scope;

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/sec/companies/{cik}/financials",
    operation_id: "getCompanyFinancials",
    summary: "Metrics of a company by fiscal period, as filed",
    access: Access::Scope(Scope::Sec),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Financials<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| answer(call, json).boxed()),
};

/// Reason for a registrant that is not in the facts archive.
const NO_FACTS: &str = "no_xbrl_facts";
/// Outcome of a registrant whose figures are published.
const PUBLISHED: &str = "published";

query! {
    pub struct Parameters<'a> {
        /// Comma-separated list of metrics; all eight when absent.
        metric: Vec<&'a str> = Kind::OneOf(VALUES, "metric"),
        period: Option<&'a str> = PERIOD, span: Option<&'a str> = SPAN,
        fiscal_year: Option<i32> = FISCAL_YEAR, fiscal_year_from: Option<i32> = FISCAL_YEAR_FROM, fiscal_year_to: Option<i32> = FISCAL_YEAR_TO,
        known_at: Option<Date> = KNOWN_AT,
        /// `history`: each value also contains every report of the value, first to last.
        include: Option<&'a str> = Kind::Word(&["history"]),
        ..format("series/values"), ..RELEASE, ..AS_OF,
    }
}

#[derive(Serialize, JsonSchema)]
struct Financials<'a> {
    #[serde(flatten)]
    company: CompanyName<'a>,
    /// Length of the periods: fiscal years (`annual`) or fiscal quarters (`quarterly`).
    #[schemars(title = "PeriodType", extend("enum" = ["annual", "quarterly"]))]
    period_type: &'a str,
    /// First fiscal year in the request, or else in the answer; null without values.
    fiscal_year_from: Option<i32>,
    /// Last fiscal year in the request, or else in the answer; null without values.
    fiscal_year_to: Option<i32>,
    /// Span from the request: only figures for the quarter alone (`quarter`), or only figures from
    /// the fiscal year's first day (`ytd`). Null if the request has no span.
    #[schemars(extend("enum" = ["quarter", "ytd", null]))]
    span: Option<&'a str>,
    /// Date from the request: only reports filed on or before this date count. Null if the request
    /// has no date.
    #[schemars(with = "Option<&str>")]
    known_at: Option<Date>,
    /// One series for each requested metric.
    series: Vec<FinancialSeries<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct FinancialSeries<'a> {
    #[schemars(extend("$field" = "sec.financial_value/metric"))]
    metric: &'a str,
    /// Unit of the metric: `USD`, `USD/shares` or `shares`.
    unit: &'a str,
    /// Values of the metric, ordered by period, oldest first.
    values: Vec<FinancialValue<'a>>,
    /// With the reason `other_concept`: the concepts that the company tags, each with the figure of
    /// the newest period, such as `us-gaap:PassengerRevenue=400`.
    other_concepts: &'a [String],
    #[schemars(extend(
        "$field" = "sec.financial_value/null_reason",
        "also" = ["no_xbrl_facts", "no_us_gaap_facts", "foreign_filer", "no_wanted_concept", "not_known_yet", "not_in_range", "not_in_span"]
    ))]
    null_reason: Option<&'a str>,
}

async fn answer(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let company = Company::of_path(call).await?;
    let Parameters {
        metric,
        period,
        span,
        fiscal_year,
        fiscal_year_from,
        fiscal_year_to,
        known_at,
        include,
    } = Parameters::read(call)?;
    let (from, to) = fiscal_years(fiscal_year, (fiscal_year_from, fiscal_year_to))?;
    let metrics = if metric.is_empty() {
        allowed(call.contracts(), VALUES, "metric")
    } else {
        metric
    };
    let period = period.unwrap_or(ANNUAL);
    let filter = FigureFilter {
        period,
        fiscal_year_from: from,
        fiscal_year_to: to,
        known_at: known_at.map(since_epoch),
        span: Span::parse(span, period)?,
    };
    let bucket = SecTables::from_release(call.release)
        .values
        .about(call.reader(), company.cik)
        .await?;
    let found = read(call, bucket.as_ref(), company.cik, &metrics, filter);
    let years = || {
        bucket.iter().flat_map(|bucket| {
            found
                .iter()
                .flat_map(|series| &series.figures)
                .map(|figure| bucket.table.fiscal_year.value(figure.latest()))
        })
    };
    let source = bucket
        .as_ref()
        .map(|bucket| Source::new(call, company.cik, bucket));
    json.value(&Financials {
        company: company.shown(),
        period_type: period,
        fiscal_year_from: from.or_else(|| years().min()),
        fiscal_year_to: to.or_else(|| years().max()),
        span,
        known_at,
        series: metrics
            .iter()
            .zip(&found)
            .map(|(metric, series)| {
                shown(
                    call,
                    metric,
                    series,
                    source.as_ref(),
                    include == Some("history"),
                )
            })
            .collect(),
    });
    let mut meta = describe(call, period);
    let stated = bucket.iter().flat_map(|bucket| {
        found
            .iter()
            .flat_map(|series| &series.figures)
            .map(|figure| figure.stated_periods(&bucket.table))
    });
    add_stated_periods_notice(
        &mut meta,
        &stated
            .filter(|stated| !stated.is_empty())
            .collect::<Vec<_>>(),
    );
    add_instant_notice(
        &mut meta,
        bucket.iter().flat_map(|bucket| {
            found
                .iter()
                .flat_map(|series| &series.figures)
                .map(|figure| figure.period_start(&bucket.table))
        }),
    );
    if found.iter().any(|series| series.figures.is_empty()) {
        Successions::find(call, company.cik)
            .await?
            .add_notice(&mut meta);
    }
    let missing = bucket
        .iter()
        .flat_map(|bucket| reports_not_in_archive(&bucket.table, company.cik, &metrics, filter));
    let missing: BTreeSet<String> = missing.collect();
    if !missing.is_empty() {
        let message = format!(
            "The archive of facts of this release lacks the figures of these filed reports: {}.",
            Vec::from_iter(missing).join("; ")
        );
        meta.notice("FILED_NOT_IN_ARCHIVE", message);
    }
    Ok(meta)
}

/// Returns the reason why a registrant has no figures at all: the outcome of its facts, or that the
/// registrant has no facts.
pub fn reason_without_figures<'a>(call: &'a Call<'_>, cik: Cik) -> &'a str {
    SecTables::from_release(call.release)
        .members
        .outcome(cik)
        .filter(|outcome| *outcome != PUBLISHED)
        .unwrap_or(NO_FACTS)
}

/// Reads a registrant's series from its bucket, if the registrant has a bucket.
pub fn read(
    call: &Call<'_>,
    bucket: Option<&Bucket<'_, Owned<ValueTable>>>,
    cik: Cik,
    metrics: &[&str],
    filter: FigureFilter<'_>,
) -> Vec<Series> {
    let mut found = match bucket {
        Some(bucket) => series(&bucket.table, cik, metrics, filter),
        None => metrics.iter().map(|_| Series::default()).collect(),
    };
    for series in found
        .iter_mut()
        .filter(|series| series.figures.is_empty() && series.null_reason.is_none())
    {
        series.null_reason = Some(reason_without_figures(call, cik).to_owned());
    }
    found
}

fn shown<'a>(
    call: &'a Call<'_>,
    metric: &'a str,
    series: &'a Series,
    source: Option<&Source<'a>>,
    has_history: bool,
) -> FinancialSeries<'a> {
    FinancialSeries {
        metric,
        unit: unit_of(call.contracts(), metric),
        values: source
            .into_iter()
            .flat_map(|source| {
                series
                    .figures
                    .iter()
                    .map(|figure| source.value(figure, has_history))
            })
            .collect(),
        other_concepts: &series.other_concepts,
        null_reason: series.null_reason.as_deref(),
    }
}

/// Returns the metadata for every answer with figures.
pub fn describe(call: &Call<'_>, period: &str) -> Meta {
    let mut meta = Meta {
        datasets: vec![VALUES.into(), REGISTRANTS.into()],
        ..Meta::default()
    };
    let rows = call.release.manifest.rows(VALUES);
    meta.coverage = Some(Coverage {
        scope: format!(
            "{rows} reported values of registrants that file annual and quarterly reports in XBRL"
        ),
        ..Coverage::default()
    });
    add_as_filed_notice(&mut meta);
    add_fiscal_periods_notice(&mut meta, period);
    meta
}
