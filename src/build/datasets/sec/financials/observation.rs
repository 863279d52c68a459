//! Defines what reports state about a period: facts that may be its figure, the observations taken
//! from them, and figures that cannot be published.

use std::ops::Range;

use crate::datasets::sec::fact::Amount;
use crate::datasets::sec::financials::warnings::Warnings;
use crate::normalise::Day;

/// Fact that is a candidate for a measure: in its unit, from a periodic report. Sorted by period,
/// then by the order in which reports became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CandidateFact {
    pub end: Day,
    /// [`super::period::NO_START`] for an instant.
    pub start: Day,
    pub report: u32,
    /// Rank of the concept in the measure's list.
    pub rank: u16,
    /// True if the fact states a start or an end a few days off the period's.
    pub is_variant: bool,
    pub fact: u32,
}

/// Returns true if two figures have the same period.
pub fn same_period(a: &CandidateFact, b: &CandidateFact) -> bool {
    (a.end, a.start) == (b.end, b.start)
}

/// Value that one report states for one period.
#[derive(Debug, Clone, Copy)]
pub struct Observation {
    pub concept: u16,
    /// Rank of the concept in the measure's list.
    pub rank: u16,
    pub value: Amount,
    pub report: u32,
    /// Period as the report states it; [`super::period::NO_START`] for an instant.
    pub start: Day,
    pub end: Day,
    /// Byte range of the fact in the member.
    pub offset: u32,
    pub length: u32,
    /// Date of a cover page count.
    pub as_of: Option<Day>,
    pub change: Change,
    /// True if it supersedes the earlier observations. A rounded repetition and a figure of a wider
    /// scope do not.
    pub supersedes: bool,
    /// True if it differs from the first observation of the same scope by more than rounding.
    pub is_restated: bool,
    /// Index range of its conflicts.
    pub conflict_bounds: (u32, u32),
    pub warnings: Warnings,
}

impl Observation {
    /// Returns the index range of its conflicts among the registrant's.
    pub fn conflicts(&self) -> Range<usize> {
        self.conflict_bounds.0 as usize..self.conflict_bounds.1 as usize
    }
}

/// Figure of a metric that cannot be published, with the last report that states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    pub code: &'static str,
    pub measure: usize,
    pub start: Day,
    pub end: Day,
    pub report: u32,
    /// Byte range of the fact in the member.
    pub offset: u32,
    pub length: u32,
}

/// Relation of an observation to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    First,
    Equal,
    /// Differs by less than the coarser filing's scale.
    Rounding,
    Value,
    Split,
    ScaleError,
    /// Differs, and has another concept.
    ConceptChanged,
    /// Count as of another cover date, which is not comparable.
    OtherDate,
    /// Stated under a concept of another scope than before: with or without noncontrolling
    /// interest.
    OtherScope,
    /// Zero after a figure other than zero.
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
