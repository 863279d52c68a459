//! Reads the date of a sales tax query.

use jiff::civil::Date;

use crate::http::problem::{Code, Problem, Result};

/// Parses a date. Returns the current day if no date is given.
pub fn date_of(text: Option<&str>, today: Date, field: &str) -> Result<Date> {
    let Some(text) = text else { return Ok(today) };
    let date = text.parse().ok().filter(|_| text.len() == 10);
    date.ok_or_else(|| {
        Problem::of_field(
            Code::InvalidParameter,
            field,
            format!("`{field}`: expected a date such as 2026-01-31"),
        )
    })
}
