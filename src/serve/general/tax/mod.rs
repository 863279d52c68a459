//! Sales tax: the rate of a place on a day, and the tax of a sale.

pub mod batch;
pub mod calculate;
mod calculation;
mod candidate;
mod fields;
mod invoice;
mod location;
mod lookup;
mod range;
pub mod rate;
mod search;
mod write;

use jiff::civil::Date;

pub use location::{wrong_zip, zip_of};
pub use range::{Range, range_of_zip};
pub use write::write_rate;

use crate::serve::problem::{Code, Problem, Result};

const STATES: &str = "tax.state";
const RATES: &str = "tax.rate";
const BOUNDARIES: &str = "tax.boundary";

/// Reads a date; the present day when none is given.
///
/// # Errors
/// `invalid_parameter`, when it is no date.
fn date_of(text: Option<&str>, today: Date, field: &str) -> Result<Date> {
    let Some(text) = text else { return Ok(today) };
    let date = text.parse().ok().filter(|_| text.len() == 10);
    date.ok_or_else(|| Problem::of_field(Code::InvalidParameter, field, format!("`{field}`: expected a date such as 2026-01-31")))
}
