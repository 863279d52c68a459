//! Selects share counts from cover pages: one per report, placed at the end of the report's own
//! period although the shares were counted later. Never compares counts as of different dates.

use crate::datasets::sec::fact::Amount;
use crate::datasets::sec::financials::observation::{CandidateFact, Change};
use crate::datasets::sec::financials::period::{FiscalPeriod, NO_START, PeriodKey, Placement};
use crate::datasets::sec::financials::report::index;
use crate::datasets::sec::financials::selection::Selection;
use crate::datasets::sec::financials::settings::Rules;
use crate::datasets::sec::financials::warnings::{Warning, Warnings};
use crate::normalise::Day;

/// Issue code for a count that contradicts the report's own figures.
pub const CONTRADICTED: &str = "share_count_contradicted";

/// Selects share counts from cover pages. Each report gets one count, as of the cover page's date,
/// placed at the end of the report's own period. If a report does not have such a count, the
/// balance-sheet count at that end is used instead. Counts as of different dates are never
/// compared.
pub fn select(selection: &mut Selection<'_>, measure: usize, of_measure: &[CandidateFact]) {
    let mut by_report = of_measure.to_vec();
    by_report.sort_by_key(|candidate| candidate.report);
    let mut assigned: Vec<(PeriodKey, usize, Vec<CandidateFact>)> = Vec::new();
    for of_report in by_report.chunk_by(|a, b| a.report == b.report) {
        let report = &selection.reports[of_report[0].report as usize];
        let first_last_resort = selection.rules.measures[measure].first_last_resort;
        let covers: Vec<CandidateFact> = of_report
            .iter()
            .filter(|candidate| candidate.rank < first_last_resort)
            .copied()
            .collect();
        let balances = || {
            of_report
                .iter()
                .filter(|candidate| {
                    candidate.rank >= first_last_resort && Some(candidate.end) == report.primary_end
                })
                .copied()
                .collect()
        };
        let candidates: Vec<CandidateFact> = if covers.is_empty() {
            balances()
        } else {
            covers
        };
        let Some(chosen) = newest(&candidates, report.filed) else {
            continue;
        };
        match selection.calendar.place_report(selection.rules, report) {
            Placement::Assigned {
                series,
                fiscal_year,
                fiscal_period,
                ..
            } => {
                let end = report.primary_end.unwrap_or(report.filed);
                assigned.push((
                    PeriodKey {
                        series,
                        fiscal_year,
                        fiscal_period,
                        start: NO_START,
                        end,
                        is_ytd: false,
                    },
                    chosen,
                    candidates,
                ));
            }
            Placement::Passed => {}
            Placement::Unassigned(code) => selection.reject(code, measure, &candidates[chosen]),
        }
    }
    let has_counts = of_measure
        .iter()
        .any(|candidate| candidate.rank < selection.rules.measures[measure].first_last_resort);
    let by_classes = selection.has_cover && !has_counts;
    let counts: Vec<Amount> = assigned
        .iter()
        .map(|(_, chosen, candidates)| selection.facts[candidates[*chosen].fact as usize].value)
        .collect();
    let mut off = Vec::with_capacity(assigned.len());
    for (position, (_, chosen, candidates)) in assigned.iter().enumerate() {
        let candidate = &candidates[*chosen];
        let implied_counts = ImpliedShareCounts::new(
            selection,
            candidate.report,
            counts.get(position + 1).copied(),
        );
        let is_off = implied_counts.imply_scale_error(selection.rules, counts[position]);
        let is_refused = candidate.rank >= selection.rules.measures[measure].first_last_resort
            && (is_off
                || by_classes && implied_counts.contradict(selection.rules, counts[position]));
        off.push(match () {
            () if is_refused => Doubt::Refused,
            () if is_off => Doubt::Warned,
            () => Doubt::None,
        });
    }
    for (_, (_, chosen, candidates)) in off
        .iter()
        .zip(&assigned)
        .filter(|(doubt, _)| **doubt == Doubt::Refused)
    {
        selection.reject(CONTRADICTED, measure, &candidates[*chosen]);
    }
    let mut assigned: Vec<(PeriodKey, CandidateFact, Vec<CandidateFact>, bool)> = assigned
        .into_iter()
        .zip(off)
        .filter(|(_, doubt)| *doubt != Doubt::Refused)
        .map(|((place, chosen, candidates), doubt)| {
            (
                place,
                candidates[chosen],
                candidates,
                doubt == Doubt::Warned,
            )
        })
        .collect();
    // The stable sort keeps reports within a period in the order in which they became known.
    assigned.sort_by_key(|(place, ..)| (place.series, place.end));
    for of_period in assigned.chunk_by(|a, b| (a.0.series, a.0.end) == (b.0.series, b.0.end)) {
        let first = index(selection.output.observations.len());
        for (place, candidate, candidates, is_off) in of_period {
            let mut warnings = Warnings::default();
            warnings.set(
                Warning::FourthQuarter,
                place.fiscal_period == FiscalPeriod::Q4,
            );
            warnings.set(Warning::ScaleSuspect, *is_off);
            let seen = &selection.output.observations[first as usize..];
            let (first_day, earlier) = (
                seen.first().and_then(|first| first.as_of),
                seen.last().map(|earlier| earlier.as_of),
            );
            let observation =
                selection.add_observation(measure, candidate, candidates, first, warnings);
            observation.as_of = Some(observation.end);
            if earlier.is_some_and(|as_of| as_of != observation.as_of) {
                observation.change = Change::OtherDate;
            }
            observation.is_restated &= first_day == observation.as_of;
        }
        selection.add_period(measure, of_period[0].0, first);
    }
}

/// Doubt about a share count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubt {
    None,
    /// The count is published with a warning.
    Warned,
    /// The count is not published.
    Refused,
}

/// Figures from which a number of shares can be derived.
struct ImpliedShareCounts {
    /// Weighted shares for the report's own period.
    weighted: Option<i128>,
    /// Net income divided by earnings per share, for the report's own period.
    earnings: Option<i128>,
    /// Count in the next report.
    next: Option<i128>,
}

impl ImpliedShareCounts {
    fn new(selection: &Selection<'_>, report: u32, next: Option<Amount>) -> Self {
        let checks = &selection.rules.checks;
        let end = selection.reports[report as usize].primary_end;
        let value = |candidate: &CandidateFact| selection.facts[candidate.fact as usize].value.0;
        // The shortest duration is nearest to the date of the count.
        let of_report = |measure: usize| {
            let of_measure = &selection.candidates[measure];
            let from = of_measure.partition_point(|candidate| Some(candidate.end) < end);
            let of_end = of_measure[from..]
                .iter()
                .take_while(move |candidate| Some(candidate.end) == end);
            of_end
                .filter(move |candidate| candidate.report == report)
                .max_by_key(|candidate| (candidate.start, std::cmp::Reverse(candidate.rank)))
        };
        let weighted = of_report(checks.shares_diluted)
            .or_else(|| of_report(checks.shares_basic))
            .map(value);
        let earnings = || {
            let (income, eps) = (of_report(checks.net_income)?, of_report(checks.eps)?);
            let is_comparable = income.start == eps.start && value(eps).abs() >= checks.min_eps.0;
            value(income)
                .checked_mul(Amount::ONE)?
                .checked_div(value(eps))
                .filter(|implied| is_comparable && *implied > 0)
        };
        Self {
            weighted: weighted.filter(|weighted| *weighted > 0),
            earnings: earnings(),
            next: next.map(|next| next.0).filter(|next| *next > 0),
        }
    }

    /// Returns true if two of the figures show that a count is off by the same power of ten.
    fn imply_scale_error(&self, rules: &Rules, count: Amount) -> bool {
        let factor = rules.checks.share_scale_factor;
        let is_near =
            |a: i128, b: i128| a <= b.saturating_mul(factor) && b <= a.saturating_mul(factor);
        let all = || {
            [self.weighted, self.earnings, self.next]
                .into_iter()
                .flatten()
        };
        count.0 > 0
            && rules.checks.share_scales.iter().any(|scale| {
                let small = all()
                    .filter(|implied| is_near(count.0.saturating_mul(*scale), *implied))
                    .count();
                let large = all()
                    .filter(|implied| is_near(implied.saturating_mul(*scale), count.0))
                    .count();
                small > 1 || large > 1
            })
    }

    /// Returns true if both figures from the report itself contradict a count. This happens, for
    /// example, if the count covers only one class of stock.
    fn contradict(&self, rules: &Rules, count: Amount) -> bool {
        let differs = |implied: i128| {
            count.0.max(implied) * 100
                > count.0.min(implied) * (100 + rules.checks.share_contradiction_percent)
        };
        self.weighted
            .zip(self.earnings)
            .is_some_and(|(weighted, earnings)| differs(weighted) && differs(earnings))
    }
}

/// Returns the newest count dated on or before the filing date. If there is none, returns the
/// newest count overall.
fn newest(candidates: &[CandidateFact], filed: Day) -> Option<usize> {
    let positions = 0..candidates.len();
    // `max_by_key` returns the last of several equal elements. The order is reversed so that the
    // first concept in the list wins.
    positions.rev().max_by_key(|position| {
        (
            candidates[*position].end <= filed,
            candidates[*position].end,
        )
    })
}
