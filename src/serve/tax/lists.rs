//! What is known of each state's sales tax as a whole, for coverage.

use crate::json::Json;
use crate::place::reach::Population;
use crate::tax::table::TaxTables;
use pubdata_core::canonical::state;

impl TaxTables {
    /// Writes the states, each with its people.
    pub fn write_lists(&self, json: &mut Json, population: &Population) {
        for (rules, row) in self.rules.iter().flat_map(|rules| (0..rules.columns.state.len()).map(move |row| (rules, row))) {
            let code = rules.columns.state.at(row);
            json.object(|json| {
                json.key("list").text(code);
                json.key("name").text(rules.columns.state_name.at(row));
                json.key("state").text(code);
                json.key("records").count(self.state(code).rates.iter().map(|rates| rates.codes.len()).sum::<usize>() as u64);
                json.key("first_date").optional_day(rules.effective_day(row));
                json.key("last_date").null();
                json.key("kinds").texts([rules.columns.coverage.at(row), rules.columns.method.at(row)]);
                json.key("gaps").texts(rules.columns.local_note.get(row));
                json.key("freshness").null();
                population.write(json.key("reach"), &state::fips(code).into_iter().collect());
            });
        }
    }

    /// FIPS codes of the states whose rates are all known and found by boundaries or counties, or are one: not by names of places alone.
    pub fn whole_states(&self) -> impl Iterator<Item = &'static str> {
        let rows = self.rules.iter().flat_map(|rules| (0..rules.columns.state.len()).map(move |row| (rules, row)));
        rows.filter(|(rules, row)| rules.columns.coverage.at(*row) == "full" && rules.columns.method.at(*row) != "places")
            .filter_map(|(rules, row)| state::fips(rules.columns.state.at(row)))
    }
}
