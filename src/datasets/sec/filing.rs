use super::fact::Form;
use crate::ids::AccessionNumber;
use crate::normalise::Day;

/// What selection needs to know of one filing of a registrant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filing {
    pub accession: AccessionNumber,
    pub form: Form,
    pub filed: Day,
    /// `acceptanceDateTime` as published; breaks ties of the filing date only.
    pub accepted_at: Option<String>,
    /// Period of report: the end of the filing's own period. Blank for some forms.
    pub report_date: Option<Day>,
}
