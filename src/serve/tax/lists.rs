//! Summarises the coverage of each state's sales tax.

use std::borrow::Cow;

use crate::answer::Date;
use crate::place::reach::{CoveredList, Population};
use crate::tax::table::{Rules, TaxTables};
use pubdata_core::canonical::state;

impl TaxTables {
    /// Returns the states, each with its population.
    pub fn covered_lists<'a>(&'a self, population: &'a Population) -> Vec<CoveredList<'a>> {
        let rows = self
            .rules
            .iter()
            .flat_map(|rules| (0..rules.columns.state.len()).map(move |row| (rules, row)));
        let covered = |(rules, row): (&'a Rules, usize)| {
            let code = rules.columns.state.at(row);
            CoveredList {
                list: code.into(),
                name: rules.columns.state_name.at(row),
                state: code,
                records: self
                    .state(code)
                    .rates
                    .iter()
                    .map(|rates| rates.codes.len())
                    .sum::<usize>() as u64,
                first_date: rules.effective_day(row).map(Date),
                last_date: None,
                kinds: vec![rules.columns.coverage.at(row), rules.columns.method.at(row)],
                gaps: rules
                    .columns
                    .local_note
                    .get(row)
                    .map(Cow::Borrowed)
                    .into_iter()
                    .collect(),
                freshness: None,
                reach: population.reach(&state::fips(code).into_iter().collect()),
            }
        };
        rows.map(covered).collect()
    }

    /// Returns the FIPS codes of the states with complete rates that are located by boundaries or
    /// counties, or that have a single rate. Excludes states whose rates are only located by place
    /// names.
    pub fn whole_states(&self) -> impl Iterator<Item = &'static str> {
        let rows = self
            .rules
            .iter()
            .flat_map(|rules| (0..rules.columns.state.len()).map(move |row| (rules, row)));
        rows.filter(|(rules, row)| {
            rules.columns.coverage.at(*row) == "full" && rules.columns.method.at(*row) != "places"
        })
        .filter_map(|(rules, row)| state::fips(rules.columns.state.at(row)))
    }
}
