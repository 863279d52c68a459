//! Chooses among several concepts under which a report states figures for the same period. The
//! result is the first concept in the measure's list that is tagged nearly as often as the most
//! frequently used concept.

use crate::datasets::sec::fact::Fact;
use crate::datasets::sec::financials::observation::{CandidateFact, same_period};
use crate::datasets::sec::financials::period::NO_START;
use crate::datasets::sec::financials::report::{Family, Report};
use crate::datasets::sec::financials::settings::{Measure, Part, Persistence, Rules};
use crate::normalise::Day;

/// Days in a year, for the comparative period.
const YEAR: i32 = 365;

/// Counts how often each of a measure's concepts is tagged with a nonzero value at the end of the
/// reports' own periods. Totals from the face of the statements occur in every report, but stray
/// subtotals do not.
pub struct Usage<'a> {
    /// The measure's candidates, sorted by period and report.
    candidates: &'a [CandidateFact],
    facts: &'a [Fact],
    /// Tags, sorted; empty if only one concept is tagged.
    tagged: Vec<Tag>,
    /// Reports that tag both a total and a concept that may name a part of it, by filing date.
    totals: Vec<ReportedTotal>,
}

/// A concept that a report tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Tag {
    rank: u16,
    filed: Day,
    report: u32,
    family: Family,
}

/// A report that tags a total and a possible part of it, with a flag that is true if the total is
/// larger.
#[derive(Debug, Clone, Copy)]
struct ReportedTotal {
    filed: Day,
    is_larger: bool,
}

impl<'a> Usage<'a> {
    /// Counts across all reports in both families. Counts nothing if only one concept is tagged,
    /// because no choice is necessary in that case.
    pub fn new(
        measure: &Measure,
        candidates: &'a [CandidateFact],
        reports: &[Report],
        facts: &'a [Fact],
    ) -> Self {
        let mut usage = Self {
            candidates,
            facts,
            tagged: Vec::new(),
            totals: Vec::new(),
        };
        let Some(first) = candidates.first() else {
            return usage;
        };
        if candidates
            .iter()
            .all(|candidate| candidate.rank == first.rank)
        {
            return usage;
        }
        let is_own = |candidate: &&CandidateFact| {
            reports[candidate.report as usize].primary_end == Some(candidate.end)
                && usage.value(candidate) != 0
        };
        let own = || candidates.iter().filter(is_own);
        let tag = |candidate: &CandidateFact| {
            let Report { filed, family, .. } = reports[candidate.report as usize];
            Tag {
                rank: candidate.rank,
                filed,
                report: candidate.report,
                family,
            }
        };
        let mut tagged: Vec<Tag> = own().map(tag).collect();
        tagged.sort_unstable();
        tagged.dedup();
        if let Some(part) = &measure.part {
            let own: Vec<CandidateFact> = own().copied().collect();
            usage.totals = usage.reported_totals(part, &own, reports);
        }
        usage.tagged = tagged;
        usage
    }

    fn value(&self, candidate: &CandidateFact) -> i128 {
        self.facts[candidate.fact as usize].value.0
    }

    /// Returns true if any report tags a concept for the report's own period.
    pub fn is_tagged(&self, rank: u16) -> bool {
        self.tagged.iter().any(|tag| tag.rank == rank)
    }

    /// Returns the reports that tag both a total and a part of it, once each. `own` contains the
    /// figures for the reports' own periods.
    fn reported_totals(
        &self,
        part: &Part,
        own: &[CandidateFact],
        reports: &[Report],
    ) -> Vec<ReportedTotal> {
        let mut own = own.to_vec();
        own.sort_by_key(|candidate| (candidate.report, candidate.end, candidate.start));
        let of_reports = own.chunk_by(|a, b| a.report == b.report);
        let totals = of_reports.filter_map(|of_report| {
            let mut compared = of_report.chunk_by(same_period).filter_map(|of_period| {
                let of = |ranks: &[u16]| {
                    of_period
                        .iter()
                        .find(|candidate| ranks.contains(&candidate.rank))
                        .map(|candidate| self.value(candidate))
                };
                let (part_value, total) = (of(&part.concepts)?, of(&part.totals)?);
                Some(total * 100 > part_value * (100 + part.larger_percent))
            });
            let is_larger = compared.next()? || compared.any(|is_larger| is_larger);
            Some(ReportedTotal {
                filed: reports[of_report[0].report as usize].filed,
                is_larger,
            })
        });
        totals.collect()
    }

    /// Returns true if the chosen figure is part of a total that the company states in other
    /// reports but not in this one.
    pub fn is_part_of_a_total(
        &self,
        rule: Persistence,
        measure: &Measure,
        candidates: &[CandidateFact],
        chosen: &CandidateFact,
        report: &Report,
    ) -> bool {
        let Some(part) = measure
            .part
            .as_ref()
            .filter(|part| part.concepts.contains(&chosen.rank))
        else {
            return false;
        };
        if candidates
            .iter()
            .any(|candidate| part.totals.contains(&candidate.rank))
        {
            return false;
        }
        let near = self
            .totals
            .iter()
            .filter(|total| total.filed.since(report.filed).abs() <= rule.days);
        let (all, larger) = near.fold((0, 0), |(all, larger), total| {
            (all + 1, larger + usize::from(total.is_larger))
        });
        all >= part.min_reports && larger * 100 >= all * rule.percent
    }

    /// Counts the reports filed around a given day that tag the concept, either in all families or
    /// in one family.
    fn around(&self, rank: u16, filed: Day, days: i32, family: Option<Family>) -> usize {
        let from = self
            .tagged
            .partition_point(|tag| (tag.rank, tag.filed) < (rank, filed.plus(-days)));
        let to = self
            .tagged
            .partition_point(|tag| (tag.rank, tag.filed) <= (rank, filed.plus(days)));
        self.tagged[from..to]
            .iter()
            .filter(|tag| family.is_none_or(|family| tag.family == family))
            .count()
    }

    /// Returns true if the report also states the figure's concept for the period one year earlier.
    fn has_comparative(&self, candidate: &CandidateFact, same_end: i32) -> bool {
        if candidate.start == NO_START {
            return true;
        }
        let is_year_before = |before: &CandidateFact| {
            let shift = |day: Day, before: Day| (day.since(before) - YEAR).abs() <= same_end;
            before.start != NO_START
                && shift(candidate.end, before.end)
                && shift(candidate.start, before.start)
        };
        let from = self
            .candidates
            .partition_point(|before| candidate.end.since(before.end) > YEAR + same_end);
        let near = self.candidates[from..]
            .iter()
            .take_while(|before| candidate.end.since(before.end) >= YEAR - same_end);
        near.filter(|before| (before.report, before.rank) == (candidate.report, candidate.rank))
            .any(is_year_before)
    }

    /// Returns the index of the concept to use, among those that one report states for one period.
    /// `candidates` is in the order of the measure's list and not empty.
    ///
    /// Drops a zero if there is another figure, and a last resort if there is another concept.
    /// Unless the measure goes by list order, drops a concept without a comparative if another
    /// concept has one: a note about a new standard covers one year, whereas the statement covers
    /// two. Among the remaining concepts, the result is the first in the list that is tagged nearly
    /// as often as the most frequently used one. Either all reports count, or only those in the
    /// same family.
    pub fn choose(
        &self,
        rules: &Rules,
        measure: &Measure,
        candidates: &[CandidateFact],
        report: &Report,
    ) -> usize {
        if candidates.len() == 1 {
            return 0;
        }
        let has_value = |candidate: &CandidateFact| self.value(candidate) != 0;
        let some_value = candidates.iter().any(has_value);
        let is_ordinary = |candidate: &CandidateFact| candidate.rank < measure.first_last_resort;
        let some_ordinary = candidates
            .iter()
            .any(|candidate| is_ordinary(candidate) && (has_value(candidate) || !some_value));
        let is_left = |candidate: &CandidateFact| {
            (has_value(candidate) || !some_value) && (is_ordinary(candidate) || !some_ordinary)
        };
        let mut left: Vec<usize> = (0..candidates.len())
            .filter(|position| is_left(&candidates[*position]))
            .collect();
        if measure.by_order || left.len() == 1 {
            return left.first().copied().unwrap_or(0);
        }
        let compared: Vec<usize> = left
            .iter()
            .copied()
            .filter(|position| self.has_comparative(&candidates[*position], rules.days.same_end))
            .collect();
        if !compared.is_empty() {
            left = compared;
        }
        let passes = |position: usize, family: Option<Family>| {
            let score = |position: usize| {
                self.around(
                    candidates[position].rank,
                    report.filed,
                    rules.persistence.days,
                    family,
                )
            };
            let most = left.iter().map(|other| score(*other)).max().unwrap_or(0);
            score(position) * 100 >= rules.persistence.percent * most
        };
        let found = left
            .iter()
            .copied()
            .find(|position| passes(*position, None) || passes(*position, Some(report.family)));
        found.unwrap_or(0)
    }
}
