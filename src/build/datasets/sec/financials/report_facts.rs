//! Looks up facts that complement a measure's figure: a report's noncontrolling interest,
//! discontinued operations or other revenue.

use crate::datasets::sec::fact::{Amount, Fact, Unit};
use crate::datasets::sec::financials::report::{NO_REPORT, Reports};
use crate::datasets::sec::financials::settings::Rules;
use crate::normalise::Day;

/// Facts in dollars, for the concepts that are looked up to complement figures.
#[derive(Debug, Default)]
pub struct ReportFacts {
    /// Facts in sorted order.
    stated: Vec<Stated>,
}

/// A fact in a report: report, concept, end, start and value.
type Stated = (u32, u16, Day, Option<Day>, Amount);

impl ReportFacts {
    pub fn new(facts: &[Fact], reports: &Reports, rules: &Rules) -> Self {
        let is_selected = |fact: &Fact, report: u32| {
            rules.is_beside[usize::from(fact.concept)]
                && report != NO_REPORT
                && fact.unit == Unit::Usd
        };
        let selected = facts
            .iter()
            .zip(&reports.of_fact)
            .filter(|(fact, report)| is_selected(fact, **report));
        let mut stated: Vec<Stated> = selected
            .map(|(fact, report)| (*report, fact.concept, fact.end, fact.start, fact.value))
            .collect();
        stated.sort_unstable();
        Self { stated }
    }

    /// Returns the value that a report states under a concept for a period. The period is given by
    /// the dates as filed.
    pub fn value(&self, report: u32, concept: u16, start: Option<Day>, end: Day) -> Option<Amount> {
        let key = (report, concept, end, start);
        let found = self
            .stated
            .partition_point(|stated| (stated.0, stated.1, stated.2, stated.3) < key);
        self.stated
            .get(found)
            .filter(|stated| (stated.0, stated.1, stated.2, stated.3) == key)
            .map(|stated| stated.4)
    }

    /// Returns the first value that a report states for a period under any of several concepts.
    pub fn first_value(
        &self,
        report: u32,
        concepts: &[u16],
        start: Option<Day>,
        end: Day,
    ) -> Option<Amount> {
        concepts
            .iter()
            .find_map(|concept| self.value(report, *concept, start, end))
    }
}
