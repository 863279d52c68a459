//! Checks figures against each other: balances, earnings per share, quarters and years to date,
//! scales, share counts and dates. Contradictory figures are published with a warning, never
//! changed.

use std::ops::Range;

use crate::datasets::sec::fact::Amount;
use crate::datasets::sec::financials::observation::{Change, Observation};
use crate::datasets::sec::financials::period::{FiscalPeriod, Period, Series};
use crate::datasets::sec::financials::report::Report;
use crate::datasets::sec::financials::report_facts::ReportFacts;
use crate::datasets::sec::financials::settings::{Kind, Rules};
use crate::datasets::sec::financials::warnings::Warning;

/// Runs the checks between records, and the checks between dates. Contradictory figures are
/// published with a warning, never changed.
///
/// # Source
/// The identities of the statements: assets equal liabilities plus equity; earnings per share are
/// earnings divided by shares.
pub fn run(
    rules: &Rules,
    reports: &[Report],
    report_facts: &ReportFacts,
    periods: &[Period],
    observations: &mut [Observation],
) {
    let mut ranges = vec![0..0; rules.measures.len()];
    let mut from = 0;
    for of_measure in periods.chunk_by(|a, b| a.measure == b.measure) {
        ranges[of_measure[0].measure] = from..from + of_measure.len();
        from += of_measure.len();
    }
    let mut view = View {
        rules,
        reports,
        report_facts,
        periods,
        ranges,
        observations,
    };
    view.dates();
    view.balances();
    view.liabilities();
    view.earnings();
    view.scales();
    view.quarters();
    view.share_counts();
}

struct View<'a> {
    rules: &'a Rules,
    reports: &'a [Report],
    report_facts: &'a ReportFacts,
    periods: &'a [Period],
    /// Index ranges of the periods, by measure.
    ranges: Vec<Range<usize>>,
    observations: &'a mut [Observation],
}

impl View<'_> {
    fn periods(&self, measure: usize) -> &[Period] {
        &self.periods[self.ranges[measure].clone()]
    }

    /// Returns the latest observation of another measure for the same period, if the same report
    /// states it.
    fn beside(&self, measure: usize, period: &Period) -> Option<usize> {
        let key = |period: &Period| (period.series, period.end, period.start);
        let found = self
            .periods(measure)
            .binary_search_by_key(&key(period), key)
            .ok()?;
        let latest = self.periods(measure)[found].latest();
        (self.observations[latest].report == self.observations[period.latest()].report)
            .then_some(latest)
    }

    fn warn(&mut self, observation: usize, warning: Warning, is_found: bool) {
        self.observations[observation]
            .warnings
            .set(warning, is_found);
    }

    fn dates(&mut self) {
        for period in self.periods {
            let of_metric = self.rules.measures[period.measure].is_metric;
            for observation in &mut self.observations[period.observations()] {
                let report = &self.reports[observation.report as usize];
                let is_own = report.primary_end == Some(period.end);
                let days = report.filed.since(observation.as_of.unwrap_or(period.end));
                observation.warnings.set(Warning::EndAfterFiled, days < 0);
                observation.warnings.set(
                    Warning::FiledLate,
                    is_own && days > self.rules.checks.max_days_to_file,
                );
                if is_own && of_metric && !period.is_ytd {
                    let disagrees = report
                        .fiscal_period
                        .is_some_and(|stamp| !period.fiscal_period.agrees_with(stamp));
                    observation.warnings.set(Warning::StampDisagrees, disagrees);
                }
                let is_odd = observation
                    .as_of
                    .is_some_and(|as_of| as_of < period.end || as_of > report.filed);
                observation.warnings.set(Warning::CoverDateOdd, is_odd);
            }
        }
    }

    fn balances(&mut self) {
        let checks = &self.rules.checks;
        for position in self.ranges[checks.assets].clone() {
            let period = &self.periods[position];
            let latest = period.latest();
            let assets = self.observations[latest].value;
            let total = self
                .beside(checks.liabilities_and_equity, period)
                .map(|other| self.observations[other].value);
            // One report states both figures on the same scale, so they must be equal to the last
            // digit.
            self.warn(
                latest,
                Warning::BalanceDisagrees,
                total.is_some_and(|total| total != assets),
            );
            let equity = self
                .beside(checks.equity, period)
                .map(|other| self.observations[other].value);
            self.warn(
                latest,
                Warning::AssetsBelowEquity,
                equity.is_some_and(|equity| equity > assets),
            );
        }
    }

    /// Warns about liabilities if their sum with equity, noncontrolling interest and temporary
    /// equity does not equal the total. Does not warn if an untagged line can explain the
    /// difference.
    fn liabilities(&mut self) {
        let checks = &self.rules.checks;
        for position in self.ranges[checks.liabilities].clone() {
            let period = &self.periods[position];
            let latest = period.latest();
            let Observation {
                value: liabilities,
                report,
                end,
                ..
            } = self.observations[latest];
            let value = |measure: usize| {
                self.beside(measure, period)
                    .map(|other| self.observations[other].value.0)
            };
            let (Some(total), Some(equity)) = (
                value(checks.assets).or_else(|| value(checks.liabilities_and_equity)),
                value(checks.equity),
            ) else {
                continue;
            };
            let has_others = self
                .beside(checks.equity, period)
                .is_some_and(|other| self.observations[other].rank > 0);
            let stated = |concepts: &[u16]| {
                concepts
                    .iter()
                    .filter_map(|concept| self.report_facts.value(report, *concept, None, end))
                    .map(|value| value.0)
                    .max()
            };
            let of_others = if has_others {
                0
            } else {
                stated(&checks.noncontrolling_equity).unwrap_or(0)
            };
            let missing = total
                - liabilities.0
                - equity
                - of_others
                - stated(&checks.temporary_equity).unwrap_or(0);
            let is_part_of_total =
                |amount: i128| amount.abs() * 100 <= total.abs() * checks.balance_percent;
            let current = value(checks.current_liabilities);
            let is_explained = missing > 0
                && liabilities.0 >= missing
                && !current.is_some_and(|current| is_part_of_total(missing - current));
            self.warn(
                latest,
                Warning::BalanceDisagrees,
                !is_part_of_total(missing) && !is_explained,
            );
        }
    }

    fn earnings(&mut self) {
        let checks = &self.rules.checks;
        for position in self.ranges[checks.eps].clone() {
            let period = &self.periods[position];
            let latest = period.latest();
            let eps = self.observations[latest].value;
            let Some(income) = self.beside(checks.net_income, period) else {
                continue;
            };
            let net_income = self.observations[income].value;
            let is_opposite = eps.0.signum() * net_income.0.signum() < 0;
            self.warn(latest, Warning::SignDisagrees, is_opposite);
            self.warn(income, Warning::SignDisagrees, is_opposite);
            let Some(shares) = self.beside(checks.shares_diluted, period) else {
                continue;
            };
            let shares = self.observations[shares].value;
            if eps.0.abs() < checks.min_eps.0 || is_opposite {
                continue;
            }
            let implied = eps.0.abs().checked_mul(shares.0 / ONE);
            let disagrees = implied.is_some_and(|implied| {
                (implied - net_income.0.abs()).abs() * 100
                    > implied.max(net_income.0.abs()) * checks.implied_shares_percent
            });
            self.warn(latest, Warning::ImpliedSharesDisagree, disagrees);
        }
    }

    /// Warns about a figure that is a thousand or a million times smaller or larger than the
    /// figures for the same period in other years.
    fn scales(&mut self) {
        for measure in self
            .rules
            .metrics()
            .filter(|measure| self.rules.measures[*measure].kind != Kind::Cover)
        {
            let range = self.ranges[measure].clone();
            let mut classes: Vec<(Series, FiscalPeriod, bool, usize)> = range
                .map(|position| {
                    (
                        self.periods[position].series,
                        self.periods[position].fiscal_period,
                        self.periods[position].is_ytd,
                        position,
                    )
                })
                .collect();
            classes.sort_unstable();
            for alike in classes.chunk_by(|a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2)) {
                let values: Vec<i128> = alike
                    .iter()
                    .map(|(.., position)| {
                        self.observations[self.periods[*position].latest()]
                            .value
                            .0
                            .abs()
                    })
                    .collect();
                for (index, (.., position)) in alike.iter().enumerate() {
                    let period = &self.periods[*position];
                    let of_period = &self.observations[period.observations()];
                    let has_scale_error = of_period
                        .iter()
                        .any(|observation| observation.change == Change::ScaleError);
                    if !has_scale_error && is_near_neighbour(&values, index) {
                        continue;
                    }
                    let Some(median) = median_around(&values, index) else {
                        continue;
                    };
                    for observation in period.observations() {
                        let is_suspect =
                            self.is_off_scale(self.observations[observation].value, median);
                        self.warn(observation, Warning::ScaleSuspect, is_suspect);
                    }
                }
            }
        }
    }

    fn is_off_scale(&self, value: Amount, median: i128) -> bool {
        // A small figure in whole thousands did not lose a factor of a thousand, because earnings
        // may be near zero.
        if value.0.abs() < median && value.0 % (ONE * 1_000) == 0 {
            return false;
        }
        let (small, large) = (value.0.abs().min(median), value.0.abs().max(median));
        let factor = self.rules.checks.neighbour_factor;
        small > 0
            && self
                .rules
                .restatement
                .scale_factors
                .iter()
                .filter_map(|scale| small.checked_mul(*scale))
                .any(|scaled| scaled <= large * factor && scaled * factor >= large)
    }

    /// Warns about quarters that do not add up to the year to date, both as first and as last
    /// reported. Quarters and totals from different vintages differ because of restatements between
    /// them.
    fn quarters(&mut self) {
        for measure in self.rules.calendar.clone() {
            let range = self.ranges[measure].clone();
            for position in range
                .clone()
                .filter(|position| self.periods[*position].is_ytd)
            {
                let period = &self.periods[position];
                let disagrees = self
                    .disagrees(range.start, position, |period| period.observations().start)
                    && self.disagrees(range.start, position, Period::latest);
                self.warn(period.latest(), Warning::QuartersDisagree, disagrees);
            }
        }
    }

    /// Returns true if a year-to-date figure is not the sum of its quarters. Returns false if a
    /// quarter is missing or has a different concept. `start` is the index of the measure's first
    /// period.
    fn disagrees(
        &self,
        start: usize,
        position: usize,
        of_period: impl Fn(&Period) -> usize,
    ) -> bool {
        let period = &self.periods[position];
        let total = &self.observations[of_period(period)];
        let (mut sum, mut days) = (0, 0);
        let earlier = self.periods[start..position]
            .iter()
            .rev()
            .take_while(|part| part.series == period.series && part.end > period.start);
        let later = self.periods[position..].iter().take_while(|part| {
            part.end == period.end && part.measure == period.measure && part.series == period.series
        });
        for part in earlier
            .chain(later)
            .filter(|part| !part.is_ytd && part.start >= period.start)
        {
            let observation = &self.observations[of_period(part)];
            if observation.concept == total.concept {
                sum += observation.value.0;
                days += part.end.since(part.start) + 1;
            }
        }
        let larger = sum.abs().max(total.value.0.abs());
        days == period.end.since(period.start) + 1
            && (sum - total.value.0).abs() * 100 > larger * self.rules.checks.quarter_sum_percent
    }

    /// Warns about share counts a hundred times smaller or larger than the last accepted count. A
    /// count is accepted if the next count agrees with it.
    fn share_counts(&mut self) {
        let factor = self.rules.checks.share_jump_factor;
        let is_jump = |a: i128, b: i128| a.min(b).saturating_mul(factor) < a.max(b);
        let of_latest = self
            .periods(self.rules.checks.shares_outstanding)
            .iter()
            .map(Period::latest);
        // A count that its own report contradicts is not evidence for the next count.
        let mut counts: Vec<usize> = of_latest
            .filter(|observation| {
                !self.observations[*observation]
                    .warnings
                    .has(Warning::ScaleSuspect)
            })
            .collect();
        counts.sort_by_key(|observation| {
            (
                self.observations[*observation].as_of,
                self.observations[*observation].report,
            )
        });
        let values: Vec<i128> = counts
            .iter()
            .map(|observation| self.observations[*observation].value.0)
            .collect();
        let Some(mut accepted) = values.first().copied() else {
            return;
        };
        for (index, value) in values.iter().enumerate() {
            let jumps = is_jump(accepted, *value);
            self.warn(counts[index], Warning::ShareCountJump, jumps);
            if !jumps
                || values
                    .get(index + 1)
                    .is_some_and(|next| !is_jump(*value, *next))
            {
                accepted = *value;
            }
        }
    }
}

const ONE: i128 = 10_000_000_000;

/// Returns true if a figure is within a factor of a hundred of a neighbour in the list. This
/// excludes a factor of a thousand between the two.
fn is_near_neighbour(values: &[i128], index: usize) -> bool {
    let value = values[index];
    let is_near = |other: &i128| value.max(*other) <= value.min(*other) * 100;
    let before = index.checked_sub(1).and_then(|before| values.get(before));
    before.is_some_and(is_near) || values.get(index + 1).is_some_and(is_near)
}

/// Returns the median of up to three figures on each side, if at least three figures exist.
fn median_around(values: &[i128], index: usize) -> Option<i128> {
    let from = index.saturating_sub(3);
    let to = (index + 4).min(values.len());
    let mut around: Vec<i128> = (from..to)
        .filter(|other| *other != index)
        .map(|other| values[other])
        .filter(|value| *value != 0)
        .collect();
    around.sort_unstable();
    (around.len() >= 3).then(|| around[around.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::{is_near_neighbour, median_around};

    #[test]
    fn figure_in_millions_is_an_outlier_and_growth_is_not() {
        let values = [
            4_493_000_000,
            4_835_000_000,
            4_835,
            5_029_000_000,
            5_241_000_000,
        ];
        assert!(!is_near_neighbour(&values, 2) && is_near_neighbour(&values, 0));
        assert_eq!(median_around(&values, 2), Some(5_029_000_000));
        assert!(is_near_neighbour(&[1, 90, 8_000], 1));
        assert_eq!(median_around(&[1, 2, 3], 1), None);
    }
}
