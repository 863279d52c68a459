//! The securities family: registrants, their filings, figures as filed with the filing that reported each, and figures of several
//! registrants side by side.

mod company;
pub mod compare;
pub mod figure;
pub mod filings;
pub mod financials;
mod links;
mod profile;
pub mod search;
pub mod statements;

pub use links::{FilingKey, Links};
pub use profile::profile;

use super::call::{Call, Meta};
use super::parameters::{Kind, Parameter};

const VALUES: &str = "sec.financial_value";
const LINES: &str = "sec.statement_line";
const FILINGS: &str = "sec.filing";
const REGISTRANTS: &str = "sec.registrant";

/// Metrics with their units, for a registrant of which nothing is known.
const UNITS: [(&str, &str); 8] = [
    ("revenue", "USD"),
    ("net_income", "USD"),
    ("total_assets", "USD"),
    ("total_liabilities", "USD"),
    ("stockholders_equity", "USD"),
    ("operating_cash_flow", "USD"),
    ("eps_diluted", "USD/shares"),
    ("shares_outstanding", "shares"),
];

const ANNUAL: &str = "annual";
const QUARTERLY: &str = "quarterly";

const PERIOD: Parameter = Parameter {
    name: "period",
    kind: Kind::Word(&[ANNUAL, QUARTERLY]),
    description: "`annual` (default): from annual reports; `quarterly`: from quarterly reports, which exist for the first three quarters.",
};
const FISCAL_YEAR_FROM: Parameter = Parameter { name: "fiscal_year_from", kind: YEAR, description: "First fiscal year, inclusive." };
const FISCAL_YEAR_TO: Parameter = Parameter { name: "fiscal_year_to", kind: YEAR, description: "Last fiscal year, inclusive." };
const YEAR: Kind = Kind::Integer { min: 1900, max: 2200, default: None };
const KNOWN_AT: Parameter = Parameter {
    name: "known_at",
    kind: Kind::Date,
    description: "Answer with what had been filed by the end of this day: values, restatements and first reports as they were then known.",
};

fn unit_of(metric: &str) -> &'static str {
    UNITS.iter().find(|(known, _)| *known == metric).map_or("", |(_, unit)| unit)
}

/// Days since 1970-01-01 of a parameter that is a date.
fn day_of(call: &Call<'_>, name: &str) -> Option<i32> {
    let date: jiff::civil::Date = call.query.parsed(name)?;
    date.since(jiff::civil::date(1970, 1, 1)).ok().map(|span| span.get_days())
}

/// The fiscal years asked for, both inclusive.
///
/// # Errors
/// `invalid_parameter`, when they are the wrong way round.
fn fiscal_years(call: &Call<'_>) -> super::problem::Result<(Option<i32>, Option<i32>)> {
    let (from, to): (Option<i32>, Option<i32>) = (call.query.parsed("fiscal_year_from"), call.query.parsed("fiscal_year_to"));
    match (from, to) {
        (Some(from), Some(to)) if from > to => {
            let message = format!("`fiscal_year_from` {from} is after `fiscal_year_to` {to}");
            Err(super::problem::Problem::of_field(super::problem::Code::InvalidParameter, "fiscal_year_from", message))
        }
        years => Ok(years),
    }
}

/// Adds what every answer with figures says of them.
fn note_as_filed(meta: &mut Meta) {
    meta.notice(
        "VALUES_AS_FILED",
        "Values are as filed: nothing is estimated, added up or adjusted, also not for stock splits. The last report of a period counts; first_reported and \
         is_restated say when it changed.",
    );
}

/// Adds what every answer with fiscal years says of them.
fn note_fiscal_periods(meta: &mut Meta, period: &str) {
    meta.notice("FISCAL_PERIODS", "fiscal_year and fiscal_period are the company's own; period_start and period_end are what identifies a period.");
    if period == QUARTERLY {
        meta.notice(
            "NO_FOURTH_QUARTER",
            "No quarterly report is filed for a fourth quarter, and none is computed here. Where is_ytd is true the figure runs from the fiscal year's first day.",
        );
    }
}

/// Checks a name that is looked for.
///
/// # Errors
/// `invalid_parameter`, when it is blank, longer than 120 characters or more than one line.
fn check_name(field: &'static str, text: &str) -> super::problem::Result<()> {
    let is_line_end = |c: char| matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}');
    if text.trim().is_empty() || text.chars().count() > 120 || text.contains(is_line_end) {
        let message = format!("`{field}`: expected one line of 1 to 120 characters");
        return Err(super::problem::Problem::of_field(super::problem::Code::InvalidParameter, field, message));
    }
    Ok(())
}
