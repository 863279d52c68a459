//! Selects one registrant's figures, measure by measure.

use crate::datasets::sec::fact::{Amount, Fact};
use crate::datasets::sec::financials::calendar::Calendar;
use crate::datasets::sec::financials::change::{Comparer, Comparison};
use crate::datasets::sec::financials::choose::Usage;
use crate::datasets::sec::financials::observation::{
    CandidateFact, Change, Finding, Observation, same_period,
};
use crate::datasets::sec::financials::period::{
    FiscalPeriod, NO_START, Period, PeriodKey, Placement,
};
use crate::datasets::sec::financials::report::{Family, Report, index};
use crate::datasets::sec::financials::report_facts::ReportFacts;
use crate::datasets::sec::financials::settings::{Kind, Measure, Rules};
use crate::datasets::sec::financials::warnings::{Warning, Warnings};
use crate::normalise::Day;

/// Issue code for figures of which a report states the parts but no total.
pub const STATED_IN_PARTS: &str = "stated_in_parts";

/// Output of the selection.
#[derive(Default)]
pub struct SelectionOutput {
    pub periods: Vec<Period>,
    pub observations: Vec<Observation>,
    pub conflicts: Vec<(u16, Amount)>,
    pub findings: Vec<Finding>,
}

/// State during the selection of one registrant's figures.
pub struct Selection<'a> {
    pub facts: &'a [Fact],
    pub reports: &'a [Report],
    pub rules: &'a Rules,
    /// Candidates for every measure.
    pub candidates: &'a [Vec<CandidateFact>],
    /// True if a periodic report tags the cover page.
    pub has_cover: bool,
    pub calendar: &'a Calendar,
    pub comparer: &'a Comparer<'a>,
    pub report_facts: &'a ReportFacts,
    pub output: SelectionOutput,
}

impl Selection<'_> {
    /// Selects the figures for a measure that is not a cover page count.
    pub fn measure(&mut self, measure: usize, of_measure: &[CandidateFact]) {
        let usage = Usage::new(
            &self.rules.measures[measure],
            of_measure,
            self.reports,
            self.facts,
        );
        for group in of_measure.chunk_by(same_period) {
            for family in [Family::Annual, Family::Quarterly] {
                let is_of_family = |candidate: &CandidateFact| {
                    self.reports[candidate.report as usize].family == family
                };
                let Some(last) = group.iter().rev().find(|candidate| is_of_family(candidate))
                else {
                    continue;
                };
                match self.place(family, group[0], of_measure) {
                    Placement::Passed => {}
                    Placement::Unassigned(code) => self.reject(code, measure, last),
                    Placement::Assigned {
                        series,
                        fiscal_year,
                        fiscal_period,
                        is_ytd,
                        is_off,
                    } => {
                        let place = PeriodKey {
                            series,
                            fiscal_year,
                            fiscal_period,
                            start: group[0].start,
                            end: group[0].end,
                            is_ytd,
                        };
                        let mut warnings = Warnings::default();
                        warnings.set(Warning::OffCalendar, is_off);
                        warnings.set(Warning::FourthQuarter, fiscal_period == FiscalPeriod::Q4);
                        let first = index(self.output.observations.len());
                        for candidates in group
                            .chunk_by(|a, b| a.report == b.report)
                            .filter(|candidates| is_of_family(&candidates[0]))
                        {
                            self.observe(measure, &usage, candidates, first, warnings);
                        }
                        if self.output.observations.len() > first as usize {
                            self.add_period(measure, place, first);
                        }
                    }
                }
            }
        }
    }

    fn place(
        &self,
        family: Family,
        candidate: CandidateFact,
        of_measure: &[CandidateFact],
    ) -> Placement {
        if candidate.start != NO_START {
            return self.calendar.place_duration(
                self.rules,
                family,
                candidate.start,
                candidate.end,
            );
        }
        let is_of_family =
            |candidate: &CandidateFact| self.reports[candidate.report as usize].family == family;
        let has_other = |day: Day| {
            let from = of_measure.partition_point(|candidate| candidate.end < day);
            of_measure[from..]
                .iter()
                .take_while(|candidate| candidate.end == day)
                .any(is_of_family)
        };
        self.calendar
            .place_instant(self.rules, family, candidate.end, has_other)
    }

    /// Records a metric figure that cannot be published. Silently omits figures for other statement
    /// lines.
    pub fn reject(&mut self, code: &'static str, measure: usize, candidate: &CandidateFact) {
        if self.rules.measures[measure].is_metric {
            let Fact { offset, length, .. } = self.facts[candidate.fact as usize];
            self.output.findings.push(Finding {
                code,
                measure,
                start: candidate.start,
                end: candidate.end,
                report: candidate.report,
                offset,
                length,
            });
        }
    }

    fn observe(
        &mut self,
        measure: usize,
        usage: &Usage<'_>,
        candidates: &[CandidateFact],
        first: u32,
        warnings: Warnings,
    ) {
        let rule = &self.rules.measures[measure];
        let report = &self.reports[candidates[0].report as usize];
        let mut chosen = usage.choose(self.rules, rule, candidates, report);
        if usage.is_part_of_a_total(
            self.rules.persistence,
            rule,
            candidates,
            &candidates[chosen],
            report,
        ) {
            return self.reject(STATED_IN_PARTS, measure, &candidates[chosen]);
        }
        if let Some(parts) = parts_of(rule, &candidates[chosen], candidates) {
            let amount = |candidate: &CandidateFact| self.facts[candidate.fact as usize].value.0;
            let sum: i128 = parts.iter().map(amount).sum();
            // A total cannot be less than its parts, even if the company rarely states it.
            match candidates
                .iter()
                .position(|candidate| !is_part(rule, candidate) && amount(candidate) >= sum)
            {
                Some(total) => chosen = total,
                // The figure does not exist as filed: neither part is the total, and parts are
                // never added up.
                None => {
                    return parts
                        .iter()
                        .for_each(|part| self.reject(STATED_IN_PARTS, measure, part));
                }
            }
        }
        // A last resort is not another name for the line.
        let is_other = |other: &CandidateFact| {
            self.facts[other.fact as usize].value
                != self.facts[candidates[chosen].fact as usize].value
        };
        let is_contradicted = candidates
            .iter()
            .any(|other| other.rank < rule.first_last_resort && is_other(other));
        let warned = self.warnings_of(measure, &candidates[chosen], candidates, usage);
        let observation =
            self.add_observation(measure, &candidates[chosen], candidates, first, warnings);
        let is_conflict = !rule.by_order && is_contradicted;
        observation
            .warnings
            .set(Warning::ConceptConflict, is_conflict);
        warned
            .into_iter()
            .for_each(|warning| observation.warnings.add(warning));
    }

    /// Returns a figure's warnings that follow from other figures for the same report and period.
    fn warnings_of(
        &self,
        measure: usize,
        chosen: &CandidateFact,
        candidates: &[CandidateFact],
        usage: &Usage<'_>,
    ) -> Vec<Warning> {
        let (rules, fact) = (self.rules, &self.facts[chosen.fact as usize]);
        let stated = |concepts: &[u16]| {
            self.report_facts
                .first_value(chosen.report, concepts, fact.start, fact.end)
                .filter(|value| value.0 != 0)
        };
        let of_concept = rules.measures[measure]
            .warnings
            .iter()
            .filter(|warning| warning.concepts.contains(&chosen.rank));
        let found = of_concept.filter(|warning| {
            let is_beside = |concept: &u16| {
                stated(std::slice::from_ref(concept))
                    .is_some_and(|value| !warning.exceeding || value > fact.value)
            };
            warning.beside.iter().any(is_beside)
                && !warning.without.iter().any(|rank| usage.is_tagged(*rank))
        });
        let mut warnings: Vec<Warning> = found.map(|warning| warning.warning).collect();
        if measure == rules.checks.net_income && chosen.rank == 0 {
            let profit = candidates
                .iter()
                .find(|candidate| candidate.rank == rules.checks.profit)
                .map(|profit| self.facts[profit.fact as usize].value);
            let disagrees = profit
                .zip(stated(&rules.checks.noncontrolling_income))
                .is_some_and(|(profit, of_others)| {
                    let own = profit.0 - of_others.0;
                    (own - fact.value.0).abs() * 100
                        > fact.value.0.abs() * rules.checks.net_income_percent
                });
            warnings.extend(disagrees.then_some(Warning::NetIncomeDisagrees));
        }
        warnings
    }

    /// Adds an observation after those that start at index `first`, which have the same period.
    pub fn add_observation(
        &mut self,
        measure: usize,
        chosen: &CandidateFact,
        candidates: &[CandidateFact],
        first: u32,
        warnings: Warnings,
    ) -> &mut Observation {
        let rule = &self.rules.measures[measure];
        let fact = &self.facts[chosen.fact as usize];
        let from = index(self.output.conflicts.len());
        for other in candidates
            .iter()
            .map(|other| &self.facts[other.fact as usize])
            .filter(|other| other.value != fact.value)
        {
            self.output.conflicts.push((other.concept, other.value));
        }
        let conflict_bounds = (from, index(self.output.conflicts.len()));
        let Fact {
            concept,
            value,
            end,
            offset,
            length,
            ..
        } = *fact;
        let (start, report, rank) = (fact.start.unwrap_or(NO_START), chosen.report, chosen.rank);
        let (change, supersedes, is_restated) = (Change::First, true, false);
        let mut observation = Observation {
            concept,
            rank,
            value,
            report,
            start,
            end,
            offset,
            length,
            as_of: None,
            change,
            supersedes,
            is_restated,
            conflict_bounds,
            warnings,
        };
        let earlier = &self.output.observations[first as usize..];
        let has_other_end = end != chosen.end || earlier.iter().any(|seen| seen.end != end);
        observation.warnings.set(
            Warning::PeriodEndDiffers,
            has_other_end && rule.kind != Kind::Cover,
        );
        observation
            .warnings
            .set(Warning::PeriodStartDiffers, start != chosen.start);
        observation.warnings.set(
            Warning::LastResortConcept,
            chosen.rank >= rule.first_last_resort,
        );
        let Comparison {
            change,
            supersedes,
            is_restated,
        } = self
            .comparer
            .compare(rule, earlier, &observation, &self.output.conflicts);
        (
            observation.change,
            observation.supersedes,
            observation.is_restated,
        ) = (change, supersedes, is_restated);
        self.output.observations.push(observation);
        let last = self.output.observations.len() - 1;
        &mut self.output.observations[last]
    }

    /// Adds a period with the observations that start at index `first`.
    pub fn add_period(&mut self, measure: usize, place: PeriodKey, first: u32) {
        let PeriodKey {
            series,
            fiscal_year,
            fiscal_period,
            start,
            end,
            is_ytd,
        } = place;
        let after = index(self.output.observations.len());
        let not_superseding = self
            .output
            .observations
            .iter()
            .rev()
            .take_while(|observation| !observation.supersedes)
            .count();
        let latest = after - 1 - index(not_superseding);
        self.output.periods.push(Period {
            measure,
            series,
            fiscal_year,
            fiscal_period,
            start,
            end,
            is_ytd,
            first,
            after,
            latest,
        });
    }
}

/// Returns true if a concept names part of the measure.
fn is_part(rule: &Measure, candidate: &CandidateFact) -> bool {
    rule.parts
        .is_some_and(|parts| parts.contains(&candidate.rank))
}

/// Returns the two parts that a report states for a period, if one of them would otherwise be
/// chosen as the total.
fn parts_of(
    rule: &Measure,
    chosen: &CandidateFact,
    candidates: &[CandidateFact],
) -> Option<[CandidateFact; 2]> {
    let [one, other] = rule.parts.filter(|_| is_part(rule, chosen))?;
    let of = |rank: u16| {
        candidates
            .iter()
            .find(|candidate| candidate.rank == rank)
            .copied()
    };
    Some([of(one)?, of(other)?])
}
