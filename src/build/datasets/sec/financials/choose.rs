//! Chooses among the concepts under which one report gives figures for the same period: the first of the measure's list that is tagged
//! nearly as often as the most used one.

use crate::datasets::sec::fact::Fact;
use crate::datasets::sec::financials::observation::CandidateFact;
use crate::datasets::sec::financials::report::Report;
use crate::datasets::sec::financials::settings::{Measure, Persistence};
use crate::normalise::Day;

/// How often each concept of a measure is tagged, not zero, at the end of the reports' own periods: face-statement totals are in every
/// report, stray sub-totals are not.
pub struct Usage {
    /// Rank, filing date and report, sorted.
    tagged: Vec<(u16, Day, u32)>,
}

impl Usage {
    /// Counts over all reports of both families. Empty when only one concept is tagged, because then nothing has to be chosen.
    pub fn new(candidates: &[CandidateFact], reports: &[Report], facts: &[Fact]) -> Self {
        let Some(first) = candidates.first() else { return Self { tagged: Vec::new() } };
        if candidates.iter().all(|candidate| candidate.rank == first.rank) {
            return Self { tagged: Vec::new() };
        }
        let is_own =
            |candidate: &&CandidateFact| reports[candidate.report as usize].primary_end == Some(candidate.end) && facts[candidate.fact as usize].value.0 != 0;
        let own = candidates.iter().filter(is_own).map(|candidate| (candidate.rank, reports[candidate.report as usize].filed, candidate.report));
        let mut tagged: Vec<(u16, Day, u32)> = own.collect();
        tagged.sort_unstable();
        tagged.dedup();
        Self { tagged }
    }

    /// Reports filed around a day in which the concept is tagged.
    fn around(&self, rank: u16, filed: Day, days: i32) -> usize {
        let from = self.tagged.partition_point(|tag| (tag.0, tag.1) < (rank, filed.plus(-days)));
        let to = self.tagged.partition_point(|tag| (tag.0, tag.1) <= (rank, filed.plus(days)));
        to - from
    }

    /// Which of the concepts that one report gives for one period is taken. `candidates` is in the order of the measure's list, not empty.
    ///
    /// A zero beside another figure is dropped, a last resort beside another concept too; then the first in the list wins that is tagged
    /// nearly as often as the most used one (all of them, when the measure goes by order).
    pub fn choose(&self, rule: Persistence, measure: &Measure, candidates: &[CandidateFact], filed: Day, facts: &[Fact]) -> usize {
        if candidates.len() == 1 {
            return 0;
        }
        let has_value = |candidate: &CandidateFact| facts[candidate.fact as usize].value.0 != 0;
        let some_value = candidates.iter().any(has_value);
        let is_ordinary = |candidate: &CandidateFact| candidate.rank < measure.first_last_resort;
        let some_ordinary = candidates.iter().any(|candidate| is_ordinary(candidate) && (has_value(candidate) || !some_value));
        let is_left = |candidate: &CandidateFact| (has_value(candidate) || !some_value) && (is_ordinary(candidate) || !some_ordinary);
        let left = || candidates.iter().enumerate().filter(|(_, candidate)| is_left(candidate));
        if measure.by_order || left().count() == 1 {
            return left().next().map_or(0, |(position, _)| position);
        }
        let score = |candidate: &CandidateFact| self.around(candidate.rank, filed, rule.days);
        let most = left().map(|(_, candidate)| score(candidate)).max().unwrap_or(0);
        left().find(|(_, candidate)| score(candidate) * 100 >= rule.percent * most).map_or(0, |(position, _)| position)
    }
}
