//! Collects one registrant's facts that can serve as figures for a measure.

use crate::datasets::sec::fact::Fact;
use crate::datasets::sec::financials::calendar::Calendar;
use crate::datasets::sec::financials::ends::Ends;
use crate::datasets::sec::financials::observation::CandidateFact;
use crate::datasets::sec::financials::period::NO_START;
use crate::datasets::sec::financials::report::{Family, NO_REPORT, Report, Reports};
use crate::datasets::sec::financials::settings::{Kind, Rules};

/// Facts that can serve as figures for a measure.
pub struct Candidates {
    /// Sorted candidates by measure.
    pub by_measure: Vec<Vec<CandidateFact>>,
    /// By measure: whether annual and quarterly reports state the measure in another unit.
    pub other_unit: Vec<[bool; 2]>,
    /// True if a periodic report tags the cover page.
    pub has_cover: bool,
}

impl Candidates {
    /// Collects facts from periodic reports in the unit of each measure that uses their concept.
    pub fn new(facts: &[Fact], reports: &Reports, rules: &Rules) -> Self {
        let mut by_measure: Vec<Vec<CandidateFact>> = vec![Vec::new(); rules.measures.len()];
        let mut other_unit = vec![[false; 2]; rules.measures.len()];
        let mut has_cover = false;
        for ((fact, report), number) in facts.iter().zip(&reports.of_fact).zip(0_u32..) {
            if *report == NO_REPORT {
                continue;
            }
            has_cover |= fact.concept == rules.cover_evidence;
            for (measure, rank) in &rules.uses[usize::from(fact.concept)] {
                let measure_rules = &rules.measures[*measure];
                if (measure_rules.kind == Kind::Duration) != fact.start.is_some() {
                    continue;
                }
                if fact.unit == measure_rules.unit {
                    by_measure[*measure].push(CandidateFact {
                        end: fact.end,
                        start: fact.start.unwrap_or(NO_START),
                        report: *report,
                        rank: *rank,
                        is_variant: false,
                        fact: number,
                    });
                } else {
                    other_unit[*measure]
                        [usize::from(reports.list[*report as usize].family == Family::Quarterly)] =
                        true;
                }
            }
        }
        // A concept's facts are nearly sorted, which this sort exploits.
        by_measure
            .iter_mut()
            .for_each(|candidates| candidates.sort());
        Self {
            by_measure,
            other_unit,
            has_cover,
        }
    }

    /// Replaces the ends of figures and reports with a single end per period, if reports state the
    /// end differently. Cover page dates are not ends.
    pub fn unify_ends(&mut self, rules: &Rules, reports: &mut [Report]) {
        let ends = Ends::new(rules, reports, &self.by_measure);
        if ends.are_unique() {
            return;
        }
        for (measure, candidates) in rules.measures.iter().zip(&mut self.by_measure) {
            let mut is_changed = false;
            let is_end = |candidate: &CandidateFact| {
                measure.kind != Kind::Cover || candidate.rank >= measure.first_last_resort
            };
            for candidate in candidates.iter_mut().filter(|candidate| is_end(candidate)) {
                is_changed |= ends.unify(reports[candidate.report as usize].family, candidate);
            }
            if is_changed {
                candidates.sort();
            }
        }
        for report in reports {
            report.primary_end = report
                .primary_end
                .map(|end| ends.period_end(report.family, end));
        }
    }

    /// Replaces starts that are a few days off with the start stated in most reports, so that each
    /// period has a single history.
    pub fn unify_starts(&mut self, calendar: &Calendar, reports: &[Report]) {
        if !calendar.has_variants() {
            return;
        }
        for candidates in &mut self.by_measure {
            let mut is_changed = false;
            for candidate in candidates
                .iter_mut()
                .filter(|candidate| candidate.start != NO_START)
            {
                if let Some(start) = calendar.usual_start(
                    reports[candidate.report as usize].family,
                    candidate.end,
                    candidate.start,
                ) {
                    (candidate.start, candidate.is_variant, is_changed) = (start, true, true);
                }
            }
            if is_changed {
                candidates.sort();
            }
        }
    }
}
