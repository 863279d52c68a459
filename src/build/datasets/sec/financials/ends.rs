//! Unifies end dates that reports state a few days apart for the same period. One report dates the
//! fiscal year end on the last day of the month, and the next report on a nearby Sunday. The latest
//! report decides.

use crate::datasets::sec::financials::calendar::{Band, band};
use crate::datasets::sec::financials::observation::CandidateFact;
use crate::datasets::sec::financials::period::NO_START;
use crate::datasets::sec::financials::report::{Family, Report};
use crate::datasets::sec::financials::settings::{Kind, Rules};
use crate::normalise::Day;

/// Period ends as stated in the reports of each family.
#[derive(Debug, Default)]
pub struct Ends {
    annual: Vec<StatedEnd>,
    quarterly: Vec<StatedEnd>,
}

/// A day that a report states as the end of a period, with the period's unified end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct StatedEnd {
    day: Day,
    end: Day,
}

impl Ends {
    /// Reads the ends from durations that are as long as a period in their report's series.
    /// Balances follow these ends.
    pub fn new(rules: &Rules, reports: &[Report], by_measure: &[Vec<CandidateFact>]) -> Self {
        let (mut annual, mut quarterly) = (Vec::new(), Vec::new());
        let durations = rules
            .measures
            .iter()
            .zip(by_measure)
            .filter(|(measure, _)| measure.kind == Kind::Duration);
        for candidate in durations.flat_map(|(_, candidates)| candidates) {
            let stated = match (
                reports[candidate.report as usize].family,
                band(&rules.bands, candidate.end.since(candidate.start) + 1),
            ) {
                (Family::Annual, Some(Band::Year)) => &mut annual,
                (Family::Quarterly, Some(Band::Quarter | Band::Half | Band::NineMonths)) => {
                    &mut quarterly
                }
                _ => continue,
            };
            let seen = (candidate.end, candidate.report);
            if stated.last() != Some(&seen) {
                stated.push(seen);
            }
        }
        Self {
            annual: unified(annual, rules.days.same_period),
            quarterly: unified(quarterly, rules.days.same_period),
        }
    }

    /// Returns true if every period has only one stated end.
    pub fn are_unique(&self) -> bool {
        self.annual
            .iter()
            .chain(&self.quarterly)
            .all(|stated| stated.day == stated.end)
    }

    /// Returns the end of the period for which a report in the family states a day. Returns the day
    /// itself if no other day is stated for the period.
    pub fn period_end(&self, family: Family, day: Day) -> Day {
        let find = |stated: &[StatedEnd]| {
            stated
                .binary_search_by_key(&day, |stated| stated.day)
                .ok()
                .map(|found| stated[found].end)
        };
        let (own, other) = if family == Family::Annual {
            (&self.annual, &self.quarterly)
        } else {
            (&self.quarterly, &self.annual)
        };
        find(own).or_else(|| find(other)).unwrap_or(day)
    }

    /// Replaces a candidate's end with the end of its period. Returns true if this changes the end.
    pub fn unify(&self, family: Family, candidate: &mut CandidateFact) -> bool {
        let end = self.period_end(family, candidate.end);
        let is_other =
            end != candidate.end && (candidate.start == NO_START || candidate.start <= end);
        if is_other {
            (candidate.end, candidate.is_variant) = (end, true);
        }
        is_other
    }
}

/// Maps each day to the nearby day that a later report states. `stated` contains days with the
/// reports that state them.
fn unified(mut stated: Vec<(Day, u32)>, same_period: i32) -> Vec<StatedEnd> {
    stated.sort_unstable();
    stated.dedup();
    let last_of_day = stated
        .chunk_by(|a, b| a.0 == b.0)
        .map(|same| same[same.len() - 1]);
    let mut left: Vec<(u32, Day)> = last_of_day.map(|(day, report)| (report, day)).collect();
    left.sort_unstable();
    let mut ends = Vec::with_capacity(left.len());
    while let Some((_, end)) = left.pop() {
        ends.push(StatedEnd { day: end, end });
        left.retain(|(_, day)| {
            let is_same = day.since(end).abs() <= same_period;
            if is_same {
                ends.push(StatedEnd { day: *day, end });
            }
            !is_same
        });
    }
    ends.sort_unstable();
    ends
}

#[cfg(test)]
mod tests {
    use super::{Day, StatedEnd, unified};

    #[test]
    fn period_ends_within_a_week_become_that_of_the_latest_report() {
        let day = |text: &str| Day::from_iso(text.as_bytes()).unwrap();
        let stated = |days: &[(&str, u32)]| {
            unified(
                days.iter()
                    .map(|(text, report)| (day(text), *report))
                    .collect(),
                7,
            )
        };
        let same = |text: &str, end: &str| StatedEnd {
            day: day(text),
            end: day(end),
        };
        assert_eq!(
            stated(&[("2015-10-31", 4), ("2015-11-01", 9), ("2015-10-31", 5)]),
            [
                same("2015-10-31", "2015-11-01"),
                same("2015-11-01", "2015-11-01")
            ]
        );
        assert_eq!(
            stated(&[("2015-10-31", 9), ("2015-11-08", 4)]),
            [
                same("2015-10-31", "2015-10-31"),
                same("2015-11-08", "2015-11-08")
            ]
        );
        // The remaining ends are more than a week apart.
        let chain = stated(&[
            ("2015-10-25", 1),
            ("2015-10-31", 3),
            ("2015-11-06", 2),
            ("2015-11-09", 1),
        ]);
        assert_eq!(
            chain.iter().map(|stated| stated.end).collect::<Vec<_>>(),
            ["2015-10-31", "2015-10-31", "2015-10-31", "2015-11-09"].map(day)
        );
    }
}
