//! The figures of one registrant as they are selected, measure by measure.

use crate::datasets::sec::fact::{Amount, Fact};
use crate::datasets::sec::financials::calendar::Calendar;
use crate::datasets::sec::financials::change::Comparer;
use crate::datasets::sec::financials::choose::Usage;
use crate::datasets::sec::financials::observation::{Cell, Change, Finding, Observation, same_period};
use crate::datasets::sec::financials::period::{FiscalPeriod, NO_START, Period, Place, Placement};
use crate::datasets::sec::financials::report::{Family, Report, index};
use crate::datasets::sec::financials::settings::Rules;
use crate::datasets::sec::financials::warnings::{Warning, Warnings};
use crate::normalise::Day;

/// What selecting makes.
#[derive(Default)]
pub struct Made {
    pub periods: Vec<Period>,
    pub observations: Vec<Observation>,
    pub conflicts: Vec<(u16, Amount)>,
    pub findings: Vec<Finding>,
}

/// The state of selecting one registrant.
pub struct Selection<'a> {
    pub facts: &'a [Fact],
    pub reports: &'a [Report],
    pub rules: &'a Rules,
    pub calendar: &'a Calendar,
    pub comparer: &'a Comparer<'a>,
    pub made: Made,
}

impl Selection<'_> {
    /// Selects the figures of a measure that are no counts of the cover page.
    pub fn measure(&mut self, measure: usize, cells: &[Cell]) {
        let usage = Usage::new(cells, self.reports, self.facts);
        for group in cells.chunk_by(same_period) {
            for family in [Family::Annual, Family::Quarterly] {
                let is_of_family = |cell: &Cell| self.reports[cell.report as usize].family == family;
                let Some(last) = group.iter().rev().find(|cell| is_of_family(cell)) else { continue };
                match self.place(family, group[0], cells) {
                    Placement::Passed => {}
                    Placement::Unplaced(code) => self.reject(code, measure, last),
                    Placement::Placed { series, fiscal_year, fiscal_period, is_ytd, is_off } => {
                        let place = Place { series, fiscal_year, fiscal_period, start: group[0].start, end: group[0].end, is_ytd };
                        let mut warnings = Warnings::default();
                        warnings.set(Warning::OffCalendar, is_off);
                        warnings.set(Warning::FourthQuarter, fiscal_period == FiscalPeriod::Q4);
                        let first = index(self.made.observations.len());
                        for candidates in group.chunk_by(|a, b| a.report == b.report).filter(|candidates| is_of_family(&candidates[0])) {
                            self.observe(measure, &usage, candidates, first, warnings);
                        }
                        self.add_period(measure, place, first);
                    }
                }
            }
        }
    }

    fn place(&self, family: Family, cell: Cell, cells: &[Cell]) -> Placement {
        if cell.start != NO_START {
            return self.calendar.place_duration(self.rules, family, cell.start, cell.end);
        }
        let is_of_family = |cell: &Cell| self.reports[cell.report as usize].family == family;
        let has_other = |day: Day| {
            let from = cells.partition_point(|cell| cell.end < day);
            cells[from..].iter().take_while(|cell| cell.end == day).any(is_of_family)
        };
        self.calendar.place_instant(self.rules, family, cell.end, has_other)
    }

    /// Notes a metric's figure that has no place; lines beyond the metrics are left out without a word.
    pub fn reject(&mut self, code: &'static str, measure: usize, cell: &Cell) {
        if self.rules.measures[measure].is_metric {
            let Fact { offset, length, .. } = self.facts[cell.fact as usize];
            self.made.findings.push(Finding { code, measure, start: cell.start, end: cell.end, report: cell.report, offset, length });
        }
    }

    fn observe(&mut self, measure: usize, usage: &Usage, candidates: &[Cell], first: u32, warnings: Warnings) {
        let rule = &self.rules.measures[measure];
        let filed = self.reports[candidates[0].report as usize].filed;
        let chosen = usage.choose(self.rules.persistence, rule, candidates, filed, self.facts);
        let observation = self.add_observation(measure, &candidates[chosen], candidates, first, warnings);
        let is_conflict = !rule.by_order && !observation.conflicts().is_empty();
        observation.warnings.set(Warning::ConceptConflict, is_conflict);
    }

    /// Adds an observation after those from `first` on, which are about the same period.
    pub fn add_observation(&mut self, measure: usize, chosen: &Cell, candidates: &[Cell], first: u32, warnings: Warnings) -> &mut Observation {
        let rule = &self.rules.measures[measure];
        let fact = &self.facts[chosen.fact as usize];
        let from = index(self.made.conflicts.len());
        for other in candidates.iter().map(|other| &self.facts[other.fact as usize]).filter(|other| other.value != fact.value) {
            self.made.conflicts.push((other.concept, other.value));
        }
        let conflict_bounds = (from, index(self.made.conflicts.len()));
        let Fact { concept, value, offset, length, .. } = *fact;
        let mut made = Observation { concept, value, report: chosen.report, offset, length, as_of: None, change: Change::First, conflict_bounds, warnings };
        made.warnings.set(Warning::PeriodStartDiffers, chosen.is_variant);
        made.warnings.set(Warning::LastResortConcept, chosen.rank >= rule.first_last_resort);
        made.change = self.comparer.change(rule, &self.made.observations[first as usize..], &made);
        self.made.observations.push(made);
        let last = self.made.observations.len() - 1;
        &mut self.made.observations[last]
    }

    /// Adds a period with the observations from `first` on.
    pub fn add_period(&mut self, measure: usize, place: Place, first: u32) {
        let Place { series, fiscal_year, fiscal_period, start, end, is_ytd } = place;
        let after = index(self.made.observations.len());
        self.made.periods.push(Period { measure, series, fiscal_year, fiscal_period, start, end, is_ytd, first, after });
    }
}
