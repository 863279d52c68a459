//! Reads the periods in a query: annual or quarterly, the fiscal years, and the date as of which
//! figures are known.

use crate::days;
use crate::http::meta::Meta;
use crate::http::parameters::{Kind, Parameter};
use crate::http::problem::{Code, Problem, Result};

pub const ANNUAL: &str = "annual";
pub const QUARTERLY: &str = "quarterly";

pub const PERIOD: Parameter = Kind::Word(&[ANNUAL, QUARTERLY])
    .described("`annual` (default): from annual reports; `quarterly`: from quarterly reports, which exist for the first three quarters.");
pub const FISCAL_YEAR_FROM: Parameter = YEAR.described("First fiscal year, inclusive.");
pub const FISCAL_YEAR_TO: Parameter = YEAR.described("Last fiscal year, inclusive.");
/// Selects one fiscal year instead of a range.
pub const FISCAL_YEAR: Parameter =
    YEAR.described("One fiscal year: the same as `fiscal_year_from` and `fiscal_year_to` with this year; cannot be combined with them.");
pub const YEAR: Kind = Kind::Integer {
    min: 1900,
    max: 2200,
};
pub const KNOWN_AT: Parameter =
    Kind::Date.described("Answer with what had been filed by the end of this day: values, restatements and first reports as they were then known.");

const QUARTER: &str = "quarter";
const YTD: &str = "ytd";
/// Fiscal period in which the quarter and the year to date are identical.
const FIRST_QUARTER: &str = "Q1";

pub const SPAN: Parameter =
    Kind::Word(&[QUARTER, YTD]).described("With `period=quarterly`: `quarter` selects figures of the quarter alone, `ytd` those that run from the fiscal year's first day (a first quarter is both); both kinds when absent. Balances and share counts have no span and are always included.");

/// Part of the fiscal year that a quarterly figure covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    Quarter,
    YearToDate,
}

impl Span {
    /// Parses `span`; `None` selects both.
    ///
    /// # Errors
    /// `invalid_parameter` if the periods are annual.
    pub fn parse(span: Option<&str>, period: &str) -> Result<Option<Self>> {
        let Some(text) = span else { return Ok(None) };
        if period != QUARTERLY {
            return Err(Problem::of_field(
                Code::InvalidParameter,
                "span",
                "`span` needs `period=quarterly`",
            ));
        }
        Ok(Some(if text == YTD {
            Self::YearToDate
        } else {
            Self::Quarter
        }))
    }

    /// Returns true if a figure has this span. Balances and share counts, which have no first day,
    /// have both spans.
    pub fn matches(
        self,
        is_ytd: bool,
        fiscal_period: Option<&str>,
        period_start: Option<i32>,
    ) -> bool {
        match self {
            Self::Quarter => !is_ytd,
            Self::YearToDate => {
                is_ytd || fiscal_period == Some(FIRST_QUARTER) || period_start.is_none()
            }
        }
    }
}

/// A period as a report states it, in days since 1970-01-01.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatedPeriod {
    /// First day of the period; `None` for a balance.
    pub start: Option<i32>,
    pub end: Option<i32>,
    pub accession_number: String,
}

/// Returns the requested fiscal years, both inclusive: one year or a range.
///
/// # Errors
/// `invalid_parameter` if the range is reversed, or a year and a range are both given.
pub fn fiscal_years(
    one: Option<i32>,
    (from, to): (Option<i32>, Option<i32>),
) -> Result<(Option<i32>, Option<i32>)> {
    if let Some(year) = one {
        if from.or(to).is_some() {
            let message =
                "give `fiscal_year`, or `fiscal_year_from` and `fiscal_year_to`, not both";
            return Err(Problem::of_field(
                Code::InvalidParameter,
                "fiscal_year",
                message,
            ));
        }
        return Ok((Some(year), Some(year)));
    }
    match (from, to) {
        (Some(from), Some(to)) if from > to => {
            let message = format!("`fiscal_year_from` {from} is after `fiscal_year_to` {to}");
            Err(Problem::of_field(
                Code::InvalidParameter,
                "fiscal_year_from",
                message,
            ))
        }
        years => Ok(years),
    }
}

/// Adds the notice that every answer with figures carries.
pub fn add_as_filed_notice(meta: &mut Meta) {
    meta.notice(
        "VALUES_AS_FILED",
        "Values are as filed: nothing is estimated, summed or adjusted, not even for stock splits. The last report of a period counts, except rounded figures in notes and figures with noncontrolling interest. In a company's financials, first_reported and is_restated show changes, and validation_status and warnings show anomalies.",
    );
}

/// Adds a notice about periods for which reports state different ends.
pub fn add_stated_periods_notice(meta: &mut Meta, figures: &[Vec<StatedPeriod>]) {
    let day = |day: Option<i32>| day.map(|day| days::date(day).to_string());
    let statement = |stated: &StatedPeriod| {
        let period: Vec<String> = [day(stated.start), day(stated.end)]
            .into_iter()
            .flatten()
            .collect();
        format!("{} ({})", period.join(".."), stated.accession_number)
    };
    let mut periods: Vec<String> = figures
        .iter()
        .map(|stated| {
            stated
                .iter()
                .map(statement)
                .collect::<Vec<_>>()
                .join(", then ")
        })
        .collect();
    periods.sort();
    periods.dedup();
    if !periods.is_empty() {
        let message = format!(
            "Reports state the days of one period up to a week apart; the latest report counts. First statement of each, with its report: {}.",
            periods.join("; ")
        );
        meta.notice("PERIOD_END_DIFFERS", message);
    }
}

/// Adds the notice that every answer with fiscal years carries.
pub fn add_fiscal_periods_notice(meta: &mut Meta, period: &str) {
    meta.notice("FISCAL_PERIODS", "fiscal_year and fiscal_period are the company's own; period_start and period_end identify a period.");
    if period == QUARTERLY {
        meta.notice(
            "NO_FOURTH_QUARTER",
            "No quarterly report is filed for a fourth quarter, and none is computed here. If is_ytd is true, the figure covers more than one quarter from the fiscal year's first day; `span` selects one kind.",
        );
    }
}

/// Adds a notice if a figure in the answer has no first day.
pub fn add_instant_notice(meta: &mut Meta, mut period_starts: impl Iterator<Item = Option<i32>>) {
    if period_starts.any(|start| start.is_none()) {
        meta.notice(
            "INSTANT_HAS_NO_START",
            "A figure with a null period_start is a balance or a share count: it holds on one day, period_end, and has no first day.",
        );
    }
}
