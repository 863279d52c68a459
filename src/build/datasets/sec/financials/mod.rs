//! Turns one registrant's facts into observations of eight metrics and of statement lines. An
//! observation is the value that a periodic report states for a period. Source: SEC, "EDGAR
//! Application Programming Interfaces", companyfacts. Periods come only from the dates of the
//! facts. Figures are as filed: never converted, adjusted or added up.

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
/// Returns a fault that names the invalid setting.
pub fn rules(declaration: &Declaration) -> Result<Rules, Fault> {
    Rules::new(&read_settings(declaration)?)
}

/// Checks the declaration's settings without data.
fn check(declaration: &Declaration) -> Result<(), Fault> {
    rules(declaration).map(drop)
}
