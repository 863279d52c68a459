//! Which periods a question is about: annual or quarterly, which fiscal years, as known on which day.

use crate::days;
use crate::http::endpoint::Call;
use crate::http::meta::Meta;
use crate::http::parameters::{Kind, Parameter};
use crate::http::problem::{Code, Problem, Result};
use crate::sec::figure::StatedPeriod;

pub const ANNUAL: &str = "annual";
pub const QUARTERLY: &str = "quarterly";

pub const PERIOD: Parameter = Parameter {
    name: "period",
    kind: Kind::Word(&[ANNUAL, QUARTERLY]),
    description: "`annual` (default): from annual reports; `quarterly`: from quarterly reports, which exist for the first three quarters.",
};
pub const FISCAL_YEAR_FROM: Parameter = Parameter { name: "fiscal_year_from", kind: YEAR, description: "First fiscal year, inclusive." };
pub const FISCAL_YEAR_TO: Parameter = Parameter { name: "fiscal_year_to", kind: YEAR, description: "Last fiscal year, inclusive." };
pub const YEAR: Kind = Kind::Integer { min: 1900, max: 2200, default: None };
pub const KNOWN_AT: Parameter = Parameter {
    name: "known_at",
    kind: Kind::Date,
    description: "Answer with what had been filed by the end of this day: values, restatements and first reports as they were then known.",
};

/// The day as of which a question is asked, in days since 1970-01-01; none when it is asked as of now.
pub fn known_at(call: &Call<'_>) -> Option<i32> {
    call.query.parsed("known_at").map(days::since_epoch)
}

/// The fiscal years asked for, both inclusive.
///
/// # Errors
/// `invalid_parameter`, when they are the wrong way round.
pub fn fiscal_years(call: &Call<'_>) -> Result<(Option<i32>, Option<i32>)> {
    let (from, to): (Option<i32>, Option<i32>) = (call.query.parsed("fiscal_year_from"), call.query.parsed("fiscal_year_to"));
    match (from, to) {
        (Some(from), Some(to)) if from > to => {
            let message = format!("`fiscal_year_from` {from} is after `fiscal_year_to` {to}");
            Err(Problem::of_field(Code::InvalidParameter, "fiscal_year_from", message))
        }
        years => Ok(years),
    }
}

/// Adds what every answer with figures says of them.
pub fn add_as_filed_notice(meta: &mut Meta) {
    meta.notice(
        "VALUES_AS_FILED",
        "Values are as filed: nothing is estimated, added up or adjusted, also not for stock splits. The last report of a period counts, except rounded figures of notes and figures with noncontrolling interest; a company's financials say with first_reported and is_restated when it changed, and with validation_status and warnings what is odd about it.",
    );
}

/// Adds which days the reports state of the periods whose end they state differently.
pub fn add_stated_periods_notice(meta: &mut Meta, figures: &[Vec<StatedPeriod>]) {
    let day = |day: Option<i32>| day.map(|day| days::date(day).to_string());
    let statement = |stated: &StatedPeriod| {
        let period: Vec<String> = [day(stated.start), day(stated.end)].into_iter().flatten().collect();
        format!("{} ({})", period.join(".."), stated.accession_number)
    };
    let mut periods: Vec<String> = figures.iter().map(|stated| stated.iter().map(statement).collect::<Vec<_>>().join(", then ")).collect();
    periods.sort();
    periods.dedup();
    if !periods.is_empty() {
        let message = format!(
            "Reports state the days of one period up to a week apart; what the latest states holds. First stated, with the report: {}.",
            periods.join("; ")
        );
        meta.notice("PERIOD_END_DIFFERS", message);
    }
}

/// Adds what every answer with fiscal years says of them.
pub fn add_fiscal_periods_notice(meta: &mut Meta, period: &str) {
    meta.notice("FISCAL_PERIODS", "fiscal_year and fiscal_period are the company's own; period_start and period_end are what identifies a period.");
    if period == QUARTERLY {
        meta.notice(
            "NO_FOURTH_QUARTER",
            "No quarterly report is filed for a fourth quarter, and none is computed here. Where is_ytd is true the figure runs from the fiscal year's first day.",
        );
    }
}
