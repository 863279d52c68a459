//! Turns the facts of one registrant into observations of eight metrics and of statement lines:
//! what each periodic report said of each period. Source: SEC, "EDGAR Application Programming
//! Interfaces", companyfacts. Periods come from the dates of the facts only; figures are as filed:
//! nothing is converted, adjusted or added up.

mod build;
mod calendar;
mod candidates;
mod change;
mod checks;
mod choose;
mod cover;
mod ends;
mod frames;
mod missing;
mod observation;
mod period;
mod report;
mod report_facts;
mod select;
mod selection;
mod settings;
#[cfg(test)]
mod tests;
mod warnings;

use crate::datasets::Fault;
use crate::datasets::{Build, Builder, settings as read_settings};
use pubdata_core::pipeline::Declaration;

use build::prepare;
use settings::Rules;

pub(in crate::datasets) const BUILDER: Builder = Builder {
    code_version: 5,
    build: Build::Sharded(prepare),
    check,
    vocabulary: None,
};

/// Reads and checks the declaration's settings.
///
/// # Errors
/// The setting that does not hold.
pub fn rules(declaration: &Declaration) -> Result<Rules, Fault> {
    Rules::new(&read_settings(declaration)?)
}

/// Checks the declaration's settings without data.
///
/// # Errors
/// As [`rules`].
fn check(declaration: &Declaration) -> Result<(), Fault> {
    rules(declaration).map(drop)
}
