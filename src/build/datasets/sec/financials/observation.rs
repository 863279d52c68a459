//! Defines what reports state about a period: facts that may be its figure, the observations taken
//! from these facts, and figures that cannot be published.

use std::ops::Range;

use crate::datasets::sec::fact::Amount;
use crate::datasets::sec::financials::warnings::Warnings;
use crate::normalise::Day;

/// A fact that is a candidate for a measure: it has the measure's unit and comes from a periodic
/// report. Sorted by period, then by the order in which reports became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CandidateFact {
    pub end: Day,
    /// Start of the period, or [`super::period::NO_START`] for an instant.
    pub start: Day,
    pub report: u32,
    /// The concept's rank in the measure's list.
    pub rank: u16,
    /// True if the fact states a start or an end that is a few days off the period's start or end.
    pub is_variant: bool,
    pub fact: u32,
}

/// Returns true if two figures have the same period.
pub fn same_period(a: &CandidateFact, b: &CandidateFact) -> bool {
    (a.end, a.start) == (b.end, b.start)
}

/// The value that one report states for one period.
#[derive(Debug, Clone, Copy)]
pub struct Observation {
    pub concept: u16,
    /// The concept's rank in the measure's list.
    pub rank: u16,
    pub value: Amount,
    pub report: u32,
    /// Start of the period as stated in the report, or [`super::period::NO_START`] for an instant.
    pub start: Day,
    pub end: Day,
    /// Byte range of the fact in the member.
    pub offset: u32,
    pub length: u32,
    /// Date of a cover page count.
    pub as_of: Option<Day>,
    pub change: Change,
    /// True if the observation supersedes earlier ones. A rounded repetition and a figure with a
    /// wider scope do not supersede.
    pub supersedes: bool,
    /// True if the observation differs from the first observation with the same scope by more than
    /// rounding.
    pub is_restated: bool,
    /// Index range of the observation's conflicts.
    pub conflict_bounds: (u32, u32),
    pub warnings: Warnings,
}

impl Observation {
    /// Returns the index range of the observation's conflicts among the registrant's conflicts.
    pub fn conflicts(&self) -> Range<usize> {
        self.conflict_bounds.0 as usize..self.conflict_bounds.1 as usize
    }
}

/// A metric figure that cannot be published, with the last report that states it.
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

/// Relation of an observation to the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    First,
    Equal,
    /// The value differs by less than the coarser filing's scale.
    Rounding,
    Value,
    Split,
    ScaleError,
    /// The value differs and has a different concept.
    ConceptChanged,
    /// The count is as of another cover date, so it is not comparable.
    OtherDate,
    /// The value is stated under a concept with a different scope than before: with or without
    /// noncontrolling interest.
    OtherScope,
    /// A zero follows a nonzero figure.
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
