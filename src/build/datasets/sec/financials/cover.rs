//! Share counts of cover pages: one per report, placed at the end of the report's own period although it was counted later. Counts as of
//! different dates are never compared.

use crate::datasets::sec::financials::observation::{CandidateFact, Change};
use crate::datasets::sec::financials::period::{FiscalPeriod, NO_START, PeriodKey, Placement};
use crate::datasets::sec::financials::report::index;
use crate::datasets::sec::financials::selection::Selection;
use crate::datasets::sec::financials::warnings::{Warning, Warnings};
use crate::normalise::Day;

/// Selects counts of the cover page: one for each report, as of the cover's date, at the end of the report's own period. Reports without
/// one give the balance-sheet count at that end. Counts as of different dates are never compared.
pub fn select(selection: &mut Selection<'_>, measure: usize, of_measure: &[CandidateFact]) {
    let mut by_report = of_measure.to_vec();
    by_report.sort_by_key(|candidate| candidate.report);
    let mut placed: Vec<(PeriodKey, usize, Vec<CandidateFact>)> = Vec::new();
    for of_report in by_report.chunk_by(|a, b| a.report == b.report) {
        let report = &selection.reports[of_report[0].report as usize];
        let first_last_resort = selection.rules.measures[measure].first_last_resort;
        let covers: Vec<CandidateFact> = of_report.iter().filter(|candidate| candidate.rank < first_last_resort).copied().collect();
        let balances =
            || of_report.iter().filter(|candidate| candidate.rank >= first_last_resort && Some(candidate.end) == report.primary_end).copied().collect();
        let candidates: Vec<CandidateFact> = if covers.is_empty() { balances() } else { covers };
        let Some(chosen) = newest(&candidates, report.filed) else { continue };
        match selection.calendar.place_report(selection.rules, report) {
            Placement::Placed { series, fiscal_year, fiscal_period, .. } => {
                let end = report.primary_end.unwrap_or(report.filed);
                placed.push((PeriodKey { series, fiscal_year, fiscal_period, start: NO_START, end, is_ytd: false }, chosen, candidates));
            }
            Placement::Passed => {}
            Placement::Unplaced(code) => selection.reject(code, measure, &candidates[chosen]),
        }
    }
    // Stable: within a period the reports stay in the order they became known.
    placed.sort_by_key(|(place, _, _)| (place.series, place.end));
    for of_period in placed.chunk_by(|a, b| (a.0.series, a.0.end) == (b.0.series, b.0.end)) {
        let first = index(selection.output.observations.len());
        for (place, chosen, candidates) in of_period {
            let candidate = &candidates[*chosen];
            let mut warnings = Warnings::default();
            warnings.set(Warning::FourthQuarter, place.fiscal_period == FiscalPeriod::Q4);
            let seen = &selection.output.observations[first as usize..];
            let (first_day, earlier) = (seen.first().and_then(|first| first.as_of), seen.last().map(|earlier| earlier.as_of));
            let observation = selection.add_observation(measure, candidate, candidates, first, warnings);
            observation.as_of = Some(observation.end);
            if earlier.is_some_and(|as_of| as_of != observation.as_of) {
                observation.change = Change::OtherDate;
            }
            observation.is_restated &= first_day == observation.as_of;
        }
        selection.add_period(measure, of_period[0].0, first);
    }
}

/// The count of the newest date that is not after the filing date; of the newest, when all are.
fn newest(candidates: &[CandidateFact], filed: Day) -> Option<usize> {
    let positions = 0..candidates.len();
    // The last of equals is the largest: reversed, so that the first concept in the list wins.
    positions.rev().max_by_key(|position| (candidates[*position].end <= filed, candidates[*position].end))
}
