//! What reports say of a period: facts that may be its figure, the observations taken from them,
//! and what cannot be published.

use std::ops::Range;

use crate::datasets::sec::fact::Amount;
use crate::datasets::sec::financials::warnings::Warnings;
use crate::normalise::Day;

/// A fact seen as a candidate for a measure: in its unit, from a periodic report. Sorted by period,
/// then by when it became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CandidateFact {
    pub end: Day,
    /// [`super::period::NO_START`] for an instant.
    pub start: Day,
    pub report: u32,
    /// Place of the concept in the measure's list.
    pub rank: u16,
    /// Whether the fact gives the period with a start or an end a few days off.
    pub is_variant: bool,
    pub fact: u32,
}

/// Whether two figures are about the same period.
pub fn same_period(a: &CandidateFact, b: &CandidateFact) -> bool {
    (a.end, a.start) == (b.end, b.start)
}

/// What one report says of one period.
#[derive(Debug, Clone, Copy)]
pub struct Observation {
    pub concept: u16,
    /// Place of the concept in the measure's list.
    pub rank: u16,
    pub value: Amount,
    pub report: u32,
    /// The period as the report states it; [`super::period::NO_START`] for an instant.
    pub start: Day,
    pub end: Day,
    /// Place of the fact in the member.
    pub offset: u32,
    pub length: u32,
    /// Date of a cover page count.
    pub as_of: Option<Day>,
    pub change: Change,
    /// Whether it takes the place of the observations before it. A rounded repetition does not, and
    /// no figure of a wider scope.
    pub supersedes: bool,
    /// Whether it differs from the first observation of the same scope by more than rounding.
    pub is_restated: bool,
    /// Where its conflicts begin and end.
    pub conflict_bounds: (u32, u32),
    pub warnings: Warnings,
}

impl Observation {
    /// Its conflicts among the registrant's.
    pub fn conflicts(&self) -> Range<usize> {
        self.conflict_bounds.0 as usize..self.conflict_bounds.1 as usize
    }
}

/// A figure of a metric that cannot be published, with the last report that gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    pub code: &'static str,
    pub measure: usize,
    pub start: Day,
    pub end: Day,
    pub report: u32,
    /// Place of the fact in the member.
    pub offset: u32,
    pub length: u32,
}

/// What an observation is to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    First,
    Equal,
    /// Differs by less than the coarser filing's scale.
    Rounding,
    Value,
    Split,
    ScaleError,
    /// Differs, and is another concept.
    ConceptChanged,
    /// A count as of another cover date: not comparable.
    OtherDate,
    /// Stated under a concept of another scope than before: with noncontrolling interest, or
    /// without.
    OtherScope,
    /// A zero where a figure was stated before.
    Zero,
}

impl Change {
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Equal => "equal",
            Self::Rounding => "rounding",
            Self::Value => "value",
            Self::Split => "split",
            Self::ScaleError => "scale_error",
            Self::ConceptChanged => "concept_changed",
            Self::OtherDate => "other_date",
            Self::OtherScope => "other_scope",
            Self::Zero => "zero",
        }
    }
}
