//! Turns states' rate and boundary files into jurisdictions with rates, and into records of where
//! the rates apply. Publishes codes, and the places where they apply, as stated by the state. Rates
//! are added up only at query time. A table of rules adds each state's taxation of classes of
//! goods. Does not cover caps or holidays.

mod boundary;
pub(super) mod california;
mod local;
mod names;
mod rate;
mod sst;
pub(super) mod sst_boundaries;
pub(super) mod sst_rates;
pub(super) mod states;
mod taxability;
pub(super) mod texas;
pub(super) mod washington;

use std::collections::BTreeMap;

use polars::prelude::DataFrame;

use self::boundary::Boundary;
use self::rate::Rate;
use super::context::finding;
use super::{Context, Table};
use crate::normalise::{Day, unscaled};
use pubdata_core::canonical::state;
use pubdata_core::error::Result;
use pubdata_core::issue::{Issue, Severity};

const RATE: &str = "tax.rate";
const BOUNDARY: &str = "tax.boundary";
const STATE: &str = "tax.state";
const TAXABILITY: &str = "tax.taxability";

/// Number of decimal places in a rate.
const RATE_SCALE: usize = 6;

/// One state's rows, collected while reading.
#[derive(Default)]
struct StateRows {
    rates: Vec<Rate>,
    boundaries: Vec<Boundary>,
    rate_issues: Vec<Issue>,
    boundary_issues: Vec<Issue>,
}

impl StateRows {
    /// Builds the state's tables. Omits tables that have neither rows nor issues.
    fn tables(&self, usps: &str, context: &Context<'_>) -> Result<Vec<Table>> {
        let mut tables = Vec::new();
        let in_state = BTreeMap::from([("state".to_owned(), usps.to_owned())]);
        if !self.rates.is_empty() || !self.rate_issues.is_empty() {
            tables.push(Table {
                dataset_id: RATE.to_owned(),
                partition: in_state,
                frame: rate::frame(&self.rates)?,
                issues: self.rate_issues.clone(),
            });
        }
        let boundaries = boundary::frame(&self.boundaries, context.bucket())?;
        tables.extend(boundary_table(
            usps,
            context,
            boundaries,
            self.boundary_issues.clone(),
        ));
        Ok(tables)
    }
}

/// Builds a state's boundary table, or returns `None` if there are no rows and no issues.
fn boundary_table(
    usps: &str,
    context: &Context<'_>,
    frame: DataFrame,
    issues: Vec<Issue>,
) -> Option<Table> {
    let partition = BTreeMap::from([
        ("state".to_owned(), usps.to_owned()),
        ("bucket".to_owned(), context.bucket().to_owned()),
    ]);
    (frame.height() > 0 || !issues.is_empty()).then(|| Table {
        dataset_id: BOUNDARY.to_owned(),
        partition,
        frame,
        issues,
    })
}

/// Returns a state's name in title case, for the state's own tax.
fn state_name(usps: &str) -> String {
    let word = |word: &str| match word {
        "OF" => "of".to_owned(),
        _ => word
            .chars()
            .take(1)
            .chain(word.chars().skip(1).flat_map(char::to_lowercase))
            .collect(),
    };
    state::name(usps)
        .unwrap_or(usps)
        .split(' ')
        .map(word)
        .collect::<Vec<String>>()
        .join(" ")
}

/// Reason for quarantining a record: code and detail.
type Refusal = (&'static str, String);

/// Returns a required cell.
fn required<'c>(cell: Option<&'c str>, name: &str) -> std::result::Result<&'c str, Refusal> {
    cell.ok_or_else(|| ("missing_value", format!("{name} is empty")))
}

/// Parses a rate in millionths. An empty cell does not count as zero.
fn rate(cell: Option<&str>, name: &str) -> std::result::Result<Option<i64>, Refusal> {
    let Some(text) = cell else { return Ok(None) };
    let value = unscaled(text, RATE_SCALE).filter(|value| (0..=1_000_000).contains(value));
    value.map(Some).ok_or_else(|| {
        (
            "bad_value",
            format!("{name} is `{text}`, not a fraction with up to {RATE_SCALE} decimals"),
        )
    })
}

/// Converts `YYYYMMDD` to an ISO date.
fn compact_date(text: &str) -> Option<String> {
    let [year, month, day] = [text.get(..4)?, text.get(4..6)?, text.get(6..)?];
    Day::from_iso(format!("{year}-{month}-{day}").as_bytes()).map(|day| day.to_string())
}

fn begin_date(cell: Option<&str>) -> std::result::Result<String, Refusal> {
    let text = required(cell, "begin date")?;
    compact_date(text).ok_or_else(|| ("bad_value", format!("begin date is `{text}`, not YYYYMMDD")))
}

/// Parses the last day, or returns `None` for an open-ended period.
fn end_date(cell: Option<&str>, open: &[String]) -> std::result::Result<Option<String>, Refusal> {
    match cell {
        None => Ok(None),
        Some(text) if open.iter().any(|sentinel| sentinel == text) => Ok(None),
        Some(text) => compact_date(text)
            .map(Some)
            .ok_or_else(|| ("bad_value", format!("end date is `{text}`, not YYYYMMDD"))),
    }
}

/// Returns the first and last day of a quarter.
fn quarter_days(year: i32, quarter: u32) -> Option<(String, String)> {
    let (first, next) = match quarter {
        1 => ("01", (year, "04")),
        2 => ("04", (year, "07")),
        3 => ("07", (year, "10")),
        4 => ("10", (year.checked_add(1)?, "01")),
        _ => return None,
    };
    let begin = Day::from_iso(format!("{year:04}-{first}-01").as_bytes())?;
    let end = Day::from_iso(format!("{:04}-{}-01", next.0, next.1).as_bytes())?.plus(-1);
    Some((begin.to_string(), end.to_string()))
}

fn quarantined(
    context: &Context<'_>,
    dataset_id: &str,
    (code, detail): Refusal,
    pointers: &[u64],
) -> Issue {
    let pointer = context.resolve(pointers).into_iter().next();
    let record = pointer
        .as_ref()
        .map(|pointer| format!("{}@{}", pointer.source_id, pointer.offset))
        .unwrap_or_default();
    Issue {
        pointer,
        ..finding(code, Severity::Quarantine, dataset_id, &record, detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_rates_and_quarters() {
        let open = ["29991231".to_owned(), "99991231".to_owned()];
        assert_eq!(end_date(Some("29991231"), &open), Ok(None));
        assert_eq!(end_date(Some("99991231"), &open), Ok(None));
        assert_eq!(
            end_date(Some("20190331"), &open),
            Ok(Some("2019-03-31".to_owned()))
        );
        assert!(
            end_date(Some("20190332"), &open).is_err()
                && begin_date(Some("2019-03-31")).is_err()
                && begin_date(None).is_err()
        );
        assert_eq!(rate(Some("0.06875"), "rate"), Ok(Some(68_750)));
        assert_eq!(rate(None, "rate"), Ok(None));
        assert!(
            rate(Some("6.875"), "rate").is_err()
                && rate(Some("0.0687501"), "rate").is_err()
                && rate(Some("-0.01"), "rate").is_err()
        );
        assert_eq!(
            quarter_days(2026, 4),
            Some(("2026-10-01".to_owned(), "2026-12-31".to_owned()))
        );
        assert_eq!(
            quarter_days(2026, 1),
            Some(("2026-01-01".to_owned(), "2026-03-31".to_owned()))
        );
        assert_eq!(quarter_days(2026, 5), None);
    }
}
