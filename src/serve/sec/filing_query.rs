//! Reads the filters of filing queries: form types, dates, items and accession numbers.

use jiff::civil::Date;

use super::filing_table::FilingTable;
use crate::http::filter::DayRange;
use crate::http::parameters::{Kind, Parameter, TextForm};
use crate::http::problem::Result;

pub const FORM: Parameter = Kind::Form(TextForm {
    pattern: "^[A-Za-z0-9 ./-]{1,20}$",
    description: "a form type such as `10-K` or `8-K`",
})
.described("Comma list of form types, such as `10-K,8-K`.");
pub const FILED_FROM: Parameter = Kind::Date.described("First filing date, inclusive.");
pub const FILED_TO: Parameter = Kind::Date.described("Last filing date, inclusive.");
pub const PERIOD_FROM: Parameter = Kind::Date.described("First period of report, inclusive.");
pub const PERIOD_TO: Parameter = Kind::Date.described("Last period of report, inclusive.");

/// Filters of a query for filings.
pub struct Filter<'a> {
    /// Form types to select; empty selects all form types.
    pub forms: Vec<String>,
    pub filed: DayRange,
    pub period: DayRange,
    pub items: &'a [&'a str],
    pub accession_number: Option<&'a str>,
    pub limit: usize,
    pub cursor: Option<&'a str>,
}

impl Filter<'_> {
    /// Returns the ranges of `filed_from` and `filed_to`, and of the two parameters for periods.
    pub fn days(
        filed: (Option<Date>, Option<Date>),
        period: (Option<Date>, Option<Date>),
    ) -> Result<(DayRange, DayRange)> {
        let filed = DayRange::from_bounds(("filed_from", filed.0), ("filed_to", filed.1))?;
        Ok((
            filed,
            DayRange::from_bounds(("period_from", period.0), ("period_to", period.1))?,
        ))
    }

    pub fn matches(&self, table: &FilingTable, row: usize) -> bool {
        self.filed.has(Some(table.filed_date.value(row)))
            && (self.forms.is_empty() || self.forms.iter().any(|form| form == table.form.at(row)))
            && self.period.has(table.period_of_report(row))
            && (self.items.is_empty() || table.items.at(row).any(|item| self.items.contains(&item)))
            && self
                .accession_number
                .is_none_or(|accession_number| accession_number == table.accession_number.at(row))
    }

    /// Returns the name of a filter that needs a registrant, if one is set.
    pub fn needs_registrant(&self) -> Option<&'static str> {
        match self {
            Self {
                accession_number: Some(_),
                ..
            } => Some("accession_number"),
            Self { items, .. } if !items.is_empty() => Some("items"),
            Self { period, .. } if !period.is_open() => Some("period_from"),
            _ => None,
        }
    }
}
