//! Turns the facts of one registrant into observations of eight metrics and of statement lines: the
//! value that each periodic report states for each period. Source: SEC, "EDGAR Application
//! Programming Interfaces", companyfacts. Periods come from the dates of the facts only. Figures
//! are as filed: never converted, adjusted or added up.

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
/// A fault that names the invalid setting.
pub fn rules(declaration: &Declaration) -> Result<Rules, Fault> {
    Rules::new(&read_settings(declaration)?)
}

/// Checks the declaration's settings without data.
fn check(declaration: &Declaration) -> Result<(), Fault> {
    rules(declaration).map(drop)
}
