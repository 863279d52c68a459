//! Describes the contents and gaps of each state's registry.

use crate::answer::Date;
use crate::business::table::{Businesses, Registry};
use crate::days;
use crate::place::reach::{CoveredList, Reaches};

/// Days without a new entity after which a registry counts as stale.
const QUIET_DAYS: i64 = 180;

impl Businesses {
    /// Returns the registries by state.
    pub fn covered_lists<'a>(&'a self, reaches: &Reaches<'a>) -> Vec<CoveredList<'a>> {
        let covered = |(state, registry): &'a (String, Registry)| {
            let mut parts = (0..self.rows.parts().len())
                .filter(|part| self.rows.partition_of(*part, "state") == state);
            let has_officers = parts.any(|part| {
                self.officers
                    .beside(&self.rows.parts()[part])
                    .is_some_and(|part| part.rows > 0)
            });
            let gaps = [
                (registry.oldest.is_none(), "no dates of formation"),
                (!has_officers, "no officers"),
            ];
            let partition = [("state", state.as_str())];
            CoveredList {
                list: state.into(),
                name: &registry.source_id,
                state,
                records: registry.entities,
                first_date: registry.oldest.map(Date),
                last_date: registry.newest.map(Date),
                kinds: registry.types.iter().map(String::as_str).collect(),
                gaps: gaps
                    .into_iter()
                    .filter(|(is_so, _)| *is_so)
                    .map(|(_, gap)| gap.into())
                    .collect(),
                freshness: Some(reaches.freshness(
                    &partition,
                    registry.newest.map(days::date),
                    QUIET_DAYS,
                )),
                reach: reaches.reach(&partition),
            }
        };
        self.index.registries.iter().map(covered).collect()
    }
}
