//! Answers `GET financials/compare`: one metric for several registrants, aligned by their own
//! fiscal periods.

use super::periods::fiscal_years;
use super::tables::REGISTRANTS;
use super::units::{RequestedMetric, unit_of};
use crate::days::since_epoch;
use crate::sec::tables::SecTables;
use std::collections::BTreeMap;

use futures_util::FutureExt;
use futures_util::future::try_join_all;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, Kind, RELEASE, format};
use crate::http::problem::not_published;
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::release::bucketed::Bucket;
use crate::release::key_columns::cell;
use crate::release::provenance::Provenance;
use crate::sec::company::{CIK, Company, CompanyName, TICKER, cik_of};
use crate::sec::figure::{Figure, FigureFilter, NOT_IN_SPAN, Series, reason_of_period};
use crate::sec::financial_value::{PeriodFigure, Source};
use crate::sec::financials::{describe, read};
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
    path: "/v1/sec/financials/compare",
    operation_id: "compareCompanies",
    summary: "One metric of several companies",
    access: Access::Scope(Scope::Sec),
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<FinancialComparison<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| answer(call, json).boxed()),
};

/// Number of registrants in one comparison.
const COMPANIES: std::ops::RangeInclusive<usize> = 2..=20;
/// Reason for a period that a registrant with other periods has not reported.
const NO_PERIOD: &str = "period_not_reported";

query! {
    pub struct Parameters<'a> {
        /// The metric to compare.
        metric: &'a str = Kind::OneOf(VALUES, "metric").required("give the `metric` to compare"),
        /// Comma-separated list of 2 to 20 CIKs, with or without leading zeros.
        ciks: Vec<&'a str> = Kind::Form(CIK).items(2, 20),
        /// Comma-separated list of 2 to 20 tickers.
        tickers: Vec<&'a str> = Kind::Form(TICKER).items(2, 20),
        period: Option<&'a str> = PERIOD, span: Option<&'a str> = SPAN,
        fiscal_year: Option<i32> = FISCAL_YEAR, fiscal_year_from: Option<i32> = FISCAL_YEAR_FROM, fiscal_year_to: Option<i32> = FISCAL_YEAR_TO,
        known_at: Option<Date> = KNOWN_AT,
        ..format("periods/values"), ..RELEASE, ..AS_OF,
    }
}

#[derive(Serialize, JsonSchema)]
struct FinancialComparison<'a> {
    #[serde(flatten)]
    requested: RequestedMetric<'a>,
    /// Date from the request: only reports filed on or before this date count. Null if the request
    /// has no date.
    #[schemars(with = "Option<&str>")]
    known_at: Option<Date>,
    /// The compared companies, in the order of the request.
    companies: Vec<ComparedCompany<'a>>,
    /// Periods of all companies, ordered by fiscal year and period.
    periods: Vec<ComparedPeriod<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FinancialComparisonCompany")]
struct ComparedCompany<'a> {
    #[serde(flatten)]
    company: CompanyName<'a>,
    /// Why the company has no value in the answer; null if it has at least one value.
    null_reason: Option<&'a str>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FinancialComparisonPeriod")]
struct ComparedPeriod<'a> {
    /// The companies' own fiscal year. It is only a label; each value carries its dates.
    fiscal_year: i32,
    /// Fiscal period: `FY` or a quarter such as `Q2`.
    fiscal_period: &'a str,
    /// One value for each company, in the order of the request.
    values: Vec<ComparedValue<'a>>,
}

/// Without a value, the fields that describe its report are null.
#[derive(Serialize, JsonSchema)]
struct ComparedValue<'a> {
    #[serde(flatten)]
    company: CompanyName<'a>,
    #[serde(flatten)]
    figure: PeriodFigure<'a>,
    /// Provenance of the figure's record in `sec.financial_value`; null without a value.
    provenance: Option<Provenance<'a>>,
}

/// One registrant of a comparison.
struct Side<'a> {
    company: Company<'a>,
    bucket: Option<Bucket<'a, Owned<ValueTable>>>,
    series: Series,
    /// Figures by fiscal period. A quarter may have two figures: one for the quarter alone and one
    /// for the year to date.
    by_period: BTreeMap<Period, Vec<Figure>>,
}

/// Fiscal year and period: `FY`, or `Q1` to `Q3`.
type Period = (i32, String);

async fn answer(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let query = Parameters::read(call)?;
    let metric = query.metric;
    let (from, to) = fiscal_years(
        query.fiscal_year,
        (query.fiscal_year_from, query.fiscal_year_to),
    )?;
    let period = query.period.unwrap_or(ANNUAL);
    // Reads both spans, so that a figure with the other span does not count as missing.
    let filter = FigureFilter {
        period,
        fiscal_year_from: from,
        fiscal_year_to: to,
        known_at: query.known_at.map(since_epoch),
        span: None,
    };
    let span = Span::parse(query.span, period)?;
    let companies = companies(call, &query).await?;
    let sides = try_join_all(
        companies
            .into_iter()
            .map(|company| Side::read(call, company, metric, filter)),
    )
    .await?;
    let mut periods: Vec<&Period> = sides
        .iter()
        .flat_map(|side| side.by_period.keys())
        .collect();
    periods.sort();
    periods.dedup();
    let unit = unit_of(call.contracts(), metric);
    let sources: Vec<Option<Source<'_>>> = sides.iter().map(|side| side.source(call)).collect();
    let mut is_mixed = false;
    let mut starts: Vec<Option<i32>> = Vec::new();
    let mut shown = Vec::with_capacity(periods.len());
    for period in periods {
        let chosen = align_figures(&sides, period, span);
        starts.extend(
            sides
                .iter()
                .zip(&chosen)
                .filter_map(|(side, figure)| side.period_start((*figure)?)),
        );
        let spans: Vec<bool> = sides
            .iter()
            .zip(&chosen)
            .filter_map(|(side, figure)| Some(side.is_ytd((*figure)?)))
            .collect();
        is_mixed |= spans.windows(2).any(|pair| pair[0] != pair[1]);
        let (fiscal_year, fiscal_period) = (period.0, period.1.as_str());
        let mut values = Vec::with_capacity(sides.len());
        for ((side, source), figure) in sides.iter().zip(&sources).zip(chosen) {
            let (figure, provenance) = match source.as_ref().zip(figure) {
                Some((source, figure)) => (source.figure(figure), Some(source.provenance(figure))),
                None => (
                    PeriodFigure::absent(
                        (metric, unit),
                        (fiscal_year, fiscal_period),
                        side.reason(metric, filter, period),
                    ),
                    None,
                ),
            };
            values.push(ComparedValue {
                company: side.company.shown(),
                figure,
                provenance,
            });
        }
        shown.push(ComparedPeriod {
            fiscal_year,
            fiscal_period,
            values,
        });
    }
    json.value(&FinancialComparison {
        requested: RequestedMetric::new(call, metric, period, query.span),
        known_at: query.known_at,
        companies: sides.iter().map(Side::shown).collect(),
        periods: shown,
    });
    let mut meta = describe(call, period);
    add_instant_notice(&mut meta, starts.into_iter());
    if is_mixed {
        meta.notice(
            "SPANS_DIFFER",
            "In some periods one company reported the quarter alone and another only the year to date; is_ytd and period_start show which.",
        );
    }
    Ok(meta)
}

/// Returns the registrants of a request, in the order of the request.
async fn companies<'a>(call: &'a Call<'_>, query: &Parameters<'_>) -> Result<Vec<Company<'a>>> {
    let (field, ciks) = match (query.ciks.as_slice(), query.tickers.as_slice()) {
        ([], []) => {
            return Err(Problem::of_field(
                Code::MissingParameter,
                "ciks",
                "give `ciks` or `tickers`",
            ));
        }
        (texts, []) => (
            "ciks",
            texts
                .iter()
                .map(|text| cik_of(text, "ciks"))
                .collect::<Result<Vec<Cik>>>()?,
        ),
        ([], tickers) => ("tickers", of_tickers(call, tickers)?),
        _ => {
            return Err(Problem::of_field(
                Code::InvalidParameter,
                "tickers",
                "give `ciks` or `tickers`, not both",
            ));
        }
    };
    if let Some(twice) = ciks
        .iter()
        .enumerate()
        .find(|(index, cik)| ciks[..*index].contains(cik))
        .map(|(_, cik)| cik)
    {
        return Err(Problem::of_field(
            Code::InvalidParameter,
            field,
            format!("{twice} is listed twice"),
        ));
    }
    if !COMPANIES.contains(&ciks.len()) {
        return Err(Problem::of_field(
            Code::InvalidParameter,
            field,
            format!(
                "a comparison takes {} to {} companies, got {}",
                COMPANIES.start(),
                COMPANIES.end(),
                ciks.len()
            ),
        ));
    }
    try_join_all(ciks.into_iter().map(|cik| Company::find(call, cik, field))).await
}

fn of_tickers(call: &Call<'_>, tickers: &[&str]) -> Result<Vec<Cik>> {
    let registrants = SecTables::from_release(call.release)
        .registrants
        .as_ref()
        .ok_or_else(|| not_published(REGISTRANTS))?;
    let mut ciks = Vec::new();
    for ticker in tickers {
        let before = ciks.len();
        ciks.extend(
            registrants
                .with_ticker(ticker)
                .map(|row| registrants.cik(row)),
        );
        if ciks.len() == before {
            return Err(Problem::of_field(
                Code::NotFound,
                "tickers",
                format!("no registrant currently has the ticker `{ticker}`"),
            ));
        }
    }
    Ok(ciks)
}

impl<'a> Side<'a> {
    async fn read(
        call: &'a Call<'_>,
        company: Company<'a>,
        metric: &str,
        filter: FigureFilter<'_>,
    ) -> Result<Self> {
        let bucket = SecTables::from_release(call.release)
            .values
            .about(call.reader(), company.cik)
            .await?;
        let series = read(call, bucket.as_ref(), company.cik, &[metric], filter)
            .pop()
            .expect("one series for one metric");
        let mut by_period: BTreeMap<Period, Vec<Figure>> = BTreeMap::new();
        for figure in bucket.iter().flat_map(|_| &series.figures) {
            let Some(table) = bucket.as_ref().map(|bucket| &bucket.table) else {
                continue;
            };
            let row = figure.latest();
            if let Some((fiscal_year, fiscal_period)) =
                cell(&table.fiscal_year, row).zip(table.fiscal_period.get(row))
            {
                by_period
                    .entry((fiscal_year, fiscal_period.to_owned()))
                    .or_default()
                    .push(figure.clone());
            }
        }
        Ok(Self {
            company,
            bucket,
            series,
            by_period,
        })
    }

    fn is_ytd(&self, figure: &Figure) -> bool {
        self.bucket
            .as_ref()
            .is_some_and(|bucket| bucket.table.is_ytd.value(figure.latest()))
    }

    /// Returns the first day of a figure's period. The inner `None` denotes a balance.
    fn period_start(&self, figure: &Figure) -> Option<Option<i32>> {
        self.bucket
            .as_ref()
            .map(|bucket| figure.period_start(&bucket.table))
    }

    /// Returns the newest figure of a period with one span.
    fn figure(&self, period: &Period, span: Span) -> Option<&Figure> {
        let table = &self.bucket.as_ref()?.table;
        // Figures are sorted by the end of the period. After a change of the fiscal year, two
        // periods may have the same label.
        self.by_period
            .get(period)?
            .iter()
            .rfind(|figure| figure.has_span(table, span))
    }

    fn source<'b>(&'b self, call: &'b Call<'_>) -> Option<Source<'b>> {
        self.bucket
            .as_ref()
            .map(|bucket| Source::new(call, self.company.cik, bucket))
    }

    fn shown(&self) -> ComparedCompany<'_> {
        let null_reason = self
            .series
            .null_reason
            .as_deref()
            .filter(|_| self.by_period.is_empty());
        ComparedCompany {
            company: self.company.shown(),
            null_reason,
        }
    }

    /// Returns the reason why the registrant has no figure for a period.
    fn reason(&self, metric: &str, filter: FigureFilter<'_>, period: &Period) -> &str {
        let table = self.bucket.as_ref().map(|bucket| &bucket.table);
        let of_period = table.and_then(|table| {
            reason_of_period(
                table,
                self.company.cik,
                metric,
                filter,
                (period.0, &period.1),
            )
        });
        if self.by_period.contains_key(period) {
            return NOT_IN_SPAN;
        }
        let of_series = if self.by_period.is_empty() {
            self.series.null_reason.as_deref()
        } else {
            None
        };
        of_period.or(of_series).unwrap_or(NO_PERIOD)
    }
}

/// Selects each registrant's figure for a period: the figure with the requested span. Without a
/// requested span, prefers the figure for the quarter alone if all registrants that have the period
/// report it. Otherwise prefers the year to date if all registrants report it. The other span is
/// the fallback.
fn align_figures<'a>(
    sides: &'a [Side<'_>],
    period: &Period,
    span: Option<Span>,
) -> Vec<Option<&'a Figure>> {
    if let Some(span) = span {
        return sides.iter().map(|side| side.figure(period, span)).collect();
    }
    let all_have = |span: Span| {
        sides
            .iter()
            .filter(|side| side.by_period.contains_key(period))
            .all(|side| side.figure(period, span).is_some())
    };
    let is_ytd = !all_have(Span::Quarter) && all_have(Span::YearToDate);
    let (first, other) = if is_ytd {
        (Span::YearToDate, Span::Quarter)
    } else {
        (Span::Quarter, Span::YearToDate)
    };
    sides
        .iter()
        .map(|side| {
            side.figure(period, first)
                .or_else(|| side.figure(period, other))
        })
        .collect()
}
