//! Defines the warnings with which an observation can be published, and a set of warnings. The
//! order is alphabetical, so that lists of codes are sorted.

/// A warning about an observation that is published nevertheless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warning {
    AssetsBelowEquity,
    BalanceDisagrees,
    ConceptConflict,
    ContinuingOperationsOnly,
    CoverDateOdd,
    EndAfterFiled,
    FiledLate,
    FourthQuarter,
    ImpliedSharesDisagree,
    LastResortConcept,
    NetIncomeDisagrees,
    OffCalendar,
    PartOfRevenue,
    PeriodEndDiffers,
    PeriodStartDiffers,
    QuartersDisagree,
    ScaleSuspect,
    ShareCountJump,
    SignDisagrees,
    StampDisagrees,
    WithNoncontrollingInterest,
}

/// Warning codes, in the alphabetical order of [`Warning`].
const CODES: [&str; 21] = [
    "assets_below_equity",
    "balance_disagrees",
    "concept_conflict",
    "continuing_operations_only",
    "cover_date_odd",
    "end_after_filed",
    "filed_late",
    "fourth_quarter",
    "implied_shares_disagree",
    "last_resort_concept",
    "net_income_disagrees",
    "off_calendar",
    "part_of_revenue",
    "period_end_differs",
    "period_start_differs",
    "quarters_disagree",
    "scale_suspect",
    "share_count_jump",
    "sign_disagrees",
    "stamp_disagrees",
    "with_noncontrolling_interest",
];

/// All warnings, in the order of their codes.
const ALL: [Warning; CODES.len()] = [
    Warning::AssetsBelowEquity,
    Warning::BalanceDisagrees,
    Warning::ConceptConflict,
    Warning::ContinuingOperationsOnly,
    Warning::CoverDateOdd,
    Warning::EndAfterFiled,
    Warning::FiledLate,
    Warning::FourthQuarter,
    Warning::ImpliedSharesDisagree,
    Warning::LastResortConcept,
    Warning::NetIncomeDisagrees,
    Warning::OffCalendar,
    Warning::PartOfRevenue,
    Warning::PeriodEndDiffers,
    Warning::PeriodStartDiffers,
    Warning::QuartersDisagree,
    Warning::ScaleSuspect,
    Warning::ShareCountJump,
    Warning::SignDisagrees,
    Warning::StampDisagrees,
    Warning::WithNoncontrollingInterest,
];

impl Warning {
    /// Returns the warning with this code.
    pub fn from_code(code: &str) -> Option<Self> {
        CODES
            .iter()
            .position(|known| *known == code)
            .map(|position| ALL[position])
    }
}

/// A set of warnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Warnings(u32);

impl Warnings {
    /// Adds a warning.
    pub fn add(&mut self, warning: Warning) {
        self.0 |= 1 << warning as u32;
    }

    /// Adds a warning if its condition is met.
    pub fn set(&mut self, warning: Warning, is_found: bool) {
        self.0 |= u32::from(is_found) << warning as u32;
    }

    /// Returns true if the set contains a warning.
    pub fn has(self, warning: Warning) -> bool {
        self.0 >> warning as u32 & 1 == 1
    }

    /// Returns the codes, in their order.
    pub fn codes(self) -> impl Iterator<Item = &'static str> {
        CODES
            .iter()
            .enumerate()
            .filter(move |(bit, _)| self.0 >> bit & 1 == 1)
            .map(|(_, code)| *code)
    }
}

#[cfg(test)]
mod tests {
    use super::{CODES, Warning, Warnings};

    #[test]
    fn codes_come_in_order_and_name_their_warning() {
        let mut warnings = Warnings::default();
        warnings.set(Warning::StampDisagrees, true);
        warnings.set(Warning::AssetsBelowEquity, true);
        warnings.set(Warning::FiledLate, false);
        warnings.set(Warning::LastResortConcept, true);
        assert_eq!(
            warnings.codes().collect::<Vec<_>>(),
            [
                "assets_below_equity",
                "last_resort_concept",
                "stamp_disagrees"
            ]
        );
        for code in CODES {
            let mut one = Warnings::default();
            one.add(Warning::from_code(code).unwrap());
            assert_eq!(one.codes().collect::<Vec<_>>(), [code]);
        }
    }
}
