//! Defines the periods of a registrant's figures and the periods' position in its histories.

use std::ops::Range;

use crate::datasets::sec::fact::FilingPeriod;
use crate::normalise::Day;

/// Start value for an instant. It sorts before every day.
pub const NO_START: Day = Day::from_number(i32::MIN);

/// The history to which a figure belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Series {
    Annual,
    Quarterly,
    /// Periods between two fiscal calendars, and short first years.
    Transition,
}

impl Series {
    pub fn name(self) -> &'static str {
        match self {
            Self::Annual => "annual",
            Self::Quarterly => "quarterly",
            Self::Transition => "transition",
        }
    }
}

/// A period's position in the fiscal year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FiscalPeriod {
    Fy,
    Q1,
    Q2,
    Q3,
    Q4,
    Tp,
}

impl FiscalPeriod {
    pub fn name(self) -> &'static str {
        match self {
            Self::Fy => "FY",
            Self::Q1 => "Q1",
            Self::Q2 => "Q2",
            Self::Q3 => "Q3",
            Self::Q4 => "Q4",
            Self::Tp => "TP",
        }
    }

    /// Returns true if the SEC's stamp is consistent with the period.
    pub fn agrees_with(self, stamp: FilingPeriod) -> bool {
        matches!(
            (self, stamp),
            (Self::Fy, FilingPeriod::Fy)
                | (Self::Q1, FilingPeriod::Q1)
                | (Self::Q2, FilingPeriod::Q2)
                | (Self::Q3, FilingPeriod::Q3)
                | (Self::Q4, FilingPeriod::Q4)
                | (Self::Tp, _)
        )
    }
}

/// A figure's placement, based on its dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    Assigned {
        series: Series,
        fiscal_year: i32,
        fiscal_period: FiscalPeriod,
        is_ytd: bool,
        /// True if the period does not match the company's calendar.
        is_off: bool,
    },
    /// Excluded from every series by rule, such as a comparative from the other family or a total
    /// since inception.
    Passed,
    /// Belongs to a series but has no position in it. Contains the issue code.
    Unassigned(&'static str),
}

/// The period to which a group of observations belongs.
#[derive(Debug, Clone, Copy)]
pub struct PeriodKey {
    pub series: Series,
    pub fiscal_year: i32,
    pub fiscal_period: FiscalPeriod,
    pub start: Day,
    pub end: Day,
    pub is_ytd: bool,
}

/// A period for one measure, with all observations reported for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    pub measure: usize,
    pub series: Series,
    pub fiscal_year: i32,
    pub fiscal_period: FiscalPeriod,
    /// Start of the period, or [`NO_START`] for an instant.
    pub start: Day,
    pub end: Day,
    pub is_ytd: bool,
    /// Indexes of the observations: from `first` up to, but not including, `after`.
    pub first: u32,
    pub after: u32,
    /// Index of the observation whose figure counts, which is the last to supersede earlier ones.
    pub latest: u32,
}

impl Period {
    /// Returns the index range of the period's observations among the registrant's observations, in
    /// the order in which they were reported.
    pub fn observations(&self) -> Range<usize> {
        self.first as usize..self.after as usize
    }

    /// Returns the index of the observation whose figure counts.
    pub fn latest(&self) -> usize {
        self.latest as usize
    }
}
