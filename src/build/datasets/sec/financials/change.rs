//! Compares an observation with earlier observations. The result is equal, rounded, restated,
//! recast by a split, of a different scope, or off by a factor such as a thousand. Also decides
//! whether the observation supersedes earlier ones. Accepts a split only if most share figures in
//! the same report changed by its ratio.

use std::cell::OnceCell;

use crate::datasets::sec::fact::{Amount, Fact, Unit};
use crate::datasets::sec::financials::observation::{
    CandidateFact, Change, Observation, same_period,
};
use crate::datasets::sec::financials::report::{
    MAX_ZEROS, Reports, Scales, power_of_ten, trailing_zeros,
};
use crate::datasets::sec::financials::settings::{Kind, Measure, Restatement, Rules};

/// Compares one registrant's observations.
pub struct Comparer<'a> {
    rules: &'a Rules,
    facts: &'a [Fact],
    reports: &'a Reports,
    candidates: &'a [Vec<CandidateFact>],
    scales: OnceCell<Scales>,
}

impl<'a> Comparer<'a> {
    pub fn new(
        rules: &'a Rules,
        facts: &'a [Fact],
        reports: &'a Reports,
        candidates: &'a [Vec<CandidateFact>],
    ) -> Self {
        Self {
            rules,
            facts,
            reports,
            candidates,
            scales: OnceCell::new(),
        }
    }

    /// Compares `new` with the earlier observations for the same period. `conflicts` contains the
    /// registrant's conflicts, including those of `new`.
    pub fn compare(
        &self,
        measure: &Measure,
        earlier: &[Observation],
        new: &Observation,
        conflicts: &[(u16, Amount)],
    ) -> Comparison {
        let Some(in_effect) = earlier.iter().rfind(|seen| seen.supersedes) else {
            return Comparison::superseding(Change::First);
        };
        let scope = earlier
            .iter()
            .rposition(|seen| seen.supersedes && seen.change == Change::OtherScope)
            .unwrap_or(0);
        let of_scope = &earlier[scope..];
        let first = &of_scope[0];
        if measure.is_scoped {
            if new.rank > in_effect.rank || states_wider_scope(measure, first, new, conflicts) {
                return Comparison::not_superseding(Change::OtherScope);
            }
            if new.rank < in_effect.rank {
                return Comparison::superseding(Change::OtherScope);
            }
        }
        if measure.is_never_zero && new.value.0 == 0 && in_effect.value.0 != 0 {
            return Comparison::not_superseding(Change::Zero);
        }
        if measure.kind != Kind::Cover && self.is_coarse_repetition(measure.unit, in_effect, new) {
            return Comparison::not_superseding(Change::Rounding);
        }
        let differs = first.value != new.value && !self.is_rounding(measure.unit, first, new);
        let is_restated = differs && !is_other_name(first, new, conflicts);
        Comparison {
            change: self.change(measure, of_scope, in_effect, new),
            supersedes: true,
            is_restated,
        }
    }

    /// Compares with the last superseding observation for the same concept. If there is none,
    /// compares with the last superseding observation for any concept.
    fn change(
        &self,
        measure: &Measure,
        earlier: &[Observation],
        last: &Observation,
        new: &Observation,
    ) -> Change {
        let same = earlier
            .iter()
            .rfind(|seen| seen.supersedes && seen.concept == new.concept);
        let old = same.unwrap_or(last);
        if old.value == new.value {
            return Change::Equal;
        }
        let rules = &self.rules.restatement;
        if self.is_rounding(measure.unit, old, new) {
            return Change::Rounding;
        }
        if is_scale_factor(rules, old.value, new.value) {
            return Change::ScaleError;
        }
        match split_of(rules, measure.unit, old.value, new.value) {
            Some(split) if self.is_corroborated(new.report, split) => Change::Split,
            _ if same.is_none() => Change::ConceptChanged,
            _ => Change::Value,
        }
    }

    /// Returns true if two figures differ by less than one unit in the scale of the coarser filing,
    /// or of a much coarser figure. Text sections state figures in billions that the statements
    /// state in millions.
    fn is_rounding(&self, unit: Unit, old: &Observation, new: &Observation) -> bool {
        let rules = &self.rules.restatement;
        let difference = Amount((old.value.0 - new.value.0).abs());
        if !matches!(unit, Unit::Usd | Unit::Shares) {
            return difference < rules.per_share_unit;
        }
        // No figure is coarser than this, so most comparisons do not need to look at the filings.
        if is_far(old.value, new.value) && difference >= power_of_ten(rules.max_scale) {
            return false;
        }
        let scale = self.scales().coarser(unit, [old.report, new.report]);
        if difference < scale {
            return true;
        }
        // A zero is not a multiple of a last digit.
        if old.value.0 == 0 || new.value.0 == 0 {
            return false;
        }
        let figures = power_of_ten(
            trailing_zeros(old.value, MAX_ZEROS).max(trailing_zeros(new.value, MAX_ZEROS)),
        );
        (difference < figures && figures.0 >= scale.0 * rules.coarse_figure_factor)
            || (is_nearest_multiple(old.value, new.value)
                && difference.0 * 1_000_000 < old.value.0.abs() * rules.rounded_ppm)
    }

    /// Returns true if `new` repeats an earlier figure, rounded to the nearest multiple of its last
    /// digit. The figure must also be much coarser than most figures in the report, which shows
    /// that it comes from a note rather than the statement.
    fn is_coarse_repetition(&self, unit: Unit, old: &Observation, new: &Observation) -> bool {
        let is_repeated = new.value.0 != 0
            && old.value != new.value
            && is_nearest_multiple(old.value, new.value)
            && !is_far(old.value, new.value);
        if !matches!(unit, Unit::Usd | Unit::Shares) || !is_repeated {
            return false;
        }
        let digit = power_of_ten(trailing_zeros(new.value, MAX_ZEROS));
        let scales = self.scales();
        digit.0 >= scales.scale(unit, new.report).0 * self.rules.restatement.coarse_figure_factor
            && !scales.is_mostly_coarse(unit, new.report)
    }

    fn scales(&self) -> &Scales {
        self.scales
            .get_or_init(|| Scales::new(self.reports, self.facts, &self.rules.restatement))
    }

    /// Returns true if the same split changed most of the report's per-share figures and share
    /// counts that earlier reports also state.
    fn is_corroborated(&self, report: u32, split: Split) -> bool {
        let rules = &self.rules.restatement;
        let family = |report: u32| self.reports.list[report as usize].family;
        let (mut moved, mut compared) = (0, 0);
        for (measure, candidates) in self.rules.measures.iter().zip(self.candidates) {
            if measure.kind != Kind::Duration
                || !matches!(measure.unit, Unit::UsdPerShare | Unit::Shares)
            {
                continue;
            }
            for group in candidates.chunk_by(same_period) {
                for (place, candidate) in group
                    .iter()
                    .enumerate()
                    .filter(|(_, candidate)| candidate.report == report)
                {
                    let is_before = |before: &&CandidateFact| {
                        before.rank == candidate.rank && family(before.report) == family(report)
                    };
                    let Some(before) = group[..place].iter().rev().find(is_before) else {
                        continue;
                    };
                    let (old, new) = (
                        self.facts[before.fact as usize].value,
                        self.facts[candidate.fact as usize].value,
                    );
                    compared += 1;
                    moved +=
                        u32::from(old != new && moves_by(rules, measure.unit, old, new, split));
                }
            }
        }
        // The figure itself is included in the count, so at least one other figure must have
        // changed too.
        moved > 1 && moved * 2 > compared
    }
}

/// Returns true if two figures differ by at least 1 % of the larger figure. Rounding does not
/// explain such a difference.
fn is_far(old: Amount, new: Amount) -> bool {
    (old.0 - new.0).abs() >= old.0.abs().max(new.0.abs()) / 100
}

/// Result of comparing an observation with earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    pub change: Change,
    pub supersedes: bool,
    pub is_restated: bool,
}

impl Comparison {
    /// Creates a result for a figure that supersedes earlier ones without restating them.
    fn superseding(change: Change) -> Self {
        Self {
            change,
            supersedes: true,
            is_restated: false,
        }
    }

    /// Creates a result for a figure that does not supersede the earlier one.
    fn not_superseding(change: Change) -> Self {
        Self {
            change,
            supersedes: false,
            is_restated: false,
        }
    }
}

/// Returns true if a later figure includes noncontrolling interest although its concept excludes
/// it. In that case, the first report states the same value under the wider concept.
fn states_wider_scope(
    measure: &Measure,
    first: &Observation,
    new: &Observation,
    conflicts: &[(u16, Amount)],
) -> bool {
    let is_wider = |concept: u16| {
        measure
            .concepts
            .iter()
            .position(|known| *known == concept)
            .is_some_and(|rank| rank > usize::from(new.rank))
    };
    first.rank == new.rank
        && first.value != new.value
        && conflicts[first.conflicts()]
            .iter()
            .any(|(concept, value)| *value == new.value && is_wider(*concept))
}

/// Returns true if one of the two reports states both figures, under different concepts. In that
/// case, the later figure belongs to a different concept and does not restate anything.
fn is_other_name(first: &Observation, new: &Observation, conflicts: &[(u16, Amount)]) -> bool {
    let states = |observation: &Observation, value: Amount| {
        conflicts[observation.conflicts()]
            .iter()
            .any(|(_, other)| *other == value)
    };
    first.concept != new.concept && (states(first, new.value) || states(new, first.value))
}

/// Returns true if a figure is another figure rounded to the nearest multiple of its own last
/// digit.
fn is_nearest_multiple(exact: Amount, rounded: Amount) -> bool {
    (exact.0 - rounded.0).abs() * 2 <= power_of_ten(trailing_zeros(rounded, MAX_ZEROS)).0
}

/// Split ratio in tenths (shares after the split per share before), and its direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    tenths: i128,
    is_reverse: bool,
}

/// Returns true if one figure equals the other multiplied by a factor such as a thousand.
fn is_scale_factor(rules: &Restatement, a: Amount, b: Amount) -> bool {
    if a.0.signum() != b.0.signum() {
        return false;
    }
    let (small, large) = (a.0.abs().min(b.0.abs()), a.0.abs().max(b.0.abs()));
    rules.scale_factors.iter().any(|factor| {
        small
            .checked_mul(*factor)
            .is_some_and(|scaled| (scaled - large).abs() * 1_000 <= large * rules.scale_permille)
    })
}

fn split_of(rules: &Restatement, unit: Unit, old: Amount, new: Amount) -> Option<Split> {
    if !matches!(unit, Unit::UsdPerShare | Unit::Shares) || old.0.signum() != new.0.signum() {
        return None;
    }
    // More shares, or less per share, means a forward split.
    let is_reverse = (new.0.abs() > old.0.abs()) == (unit == Unit::UsdPerShare);
    let splits = rules.split_tenths.iter().map(|tenths| Split {
        tenths: *tenths,
        is_reverse,
    });
    splits
        .min_by_key(|split| distance(unit, old, new, *split))
        .filter(|split| moves_by(rules, unit, old, new, *split))
}

/// Returns the larger figure, and the smaller figure multiplied by the ratio, both in tenths.
fn scaled(unit: Unit, old: Amount, new: Amount, split: Split) -> (i128, i128) {
    let grows = split.is_reverse == (unit == Unit::UsdPerShare);
    let (small, large) = if grows { (old, new) } else { (new, old) };
    (large.0.abs() * 10, small.0.abs() * split.tenths)
}

fn distance(unit: Unit, old: Amount, new: Amount, split: Split) -> i128 {
    let (large, small) = scaled(unit, old, new, split);
    (large - small).abs()
}

/// Returns true if the figures differ by the split's ratio. Per-share figures are rounded to cents
/// before and after the split, which matters for small figures.
fn moves_by(rules: &Restatement, unit: Unit, old: Amount, new: Amount, split: Split) -> bool {
    let (large, small) = scaled(unit, old, new, split);
    let off = (large - small).abs();
    let rounding = if unit == Unit::UsdPerShare {
        rules.per_share_unit.0 * (split.tenths + 10) / 2
    } else {
        0
    };
    old.0.signum() == new.0.signum()
        && (off * 1_000 <= large * rules.split_permille || off <= rounding)
}
