//! Selects one registrant's figures: for every measure and period, the value in each report, in the
//! order in which the reports became known. Also lists figures without a position in a series.
//! Figures are as filed.

use crate::datasets::sec::fact::{Amount, CompanyFacts};
use crate::datasets::sec::filing::Filing;
use crate::datasets::sec::financials::calendar::Calendar;
use crate::datasets::sec::financials::candidates::Candidates;
use crate::datasets::sec::financials::change::Comparer;
use crate::datasets::sec::financials::missing::{self, Missing, Outcome, Registrant};
use crate::datasets::sec::financials::observation::{Finding, Observation};
use crate::datasets::sec::financials::period::Period;
use crate::datasets::sec::financials::report::{Report, Reports};
use crate::datasets::sec::financials::report_facts::ReportFacts;
use crate::datasets::sec::financials::selection::{Selection, SelectionOutput};
use crate::datasets::sec::financials::settings::{Kind, Rules};
use crate::datasets::sec::financials::{checks, cover};
use pubdata_core::ids::Cik;

/// One registrant's selected figures: every observation of every measure, with its period.
#[derive(Debug)]
pub struct Selected {
    pub cik: Cik,
    /// Periodic reports, in the order in which they became known.
    pub reports: Vec<Report>,
    /// Sorted by measure, series, end and start.
    pub periods: Vec<Period>,
    pub observations: Vec<Observation>,
    /// Candidates that were not chosen and differ from the chosen candidate.
    pub conflicts: Vec<(u16, Amount)>,
    /// Metrics that were never reported in a series, and periods whose reports are missing from the
    /// archive, sorted by measure, series and end.
    pub missing: Vec<Missing>,
    pub findings: Vec<Finding>,
    pub outcome: Outcome,
}

/// Selects a registrant's reported figures. For every measure and period, determines the concept in
/// each periodic report, the figure's history and its warnings. Figures keep their own periods,
/// regardless of the report they come from.
pub fn select(cik: Cik, company: &CompanyFacts, filings: &[Filing], rules: &Rules) -> Selected {
    let facts = company.facts.as_slice();
    let mut reports = Reports::new(facts, filings);
    let mut candidates = Candidates::new(facts, &reports, rules);
    candidates.unify_ends(rules, &mut reports.list);
    let calendar = Calendar::new(rules, &reports.list, &candidates.by_measure, facts);
    candidates.unify_starts(&calendar, &reports.list);
    let comparer = Comparer::new(rules, facts, &reports, &candidates.by_measure);
    let report_facts = ReportFacts::new(facts, &reports, rules);
    let output = SelectionOutput::default();
    let (list, candidates_of, has_cover) =
        (&reports.list, &candidates.by_measure, candidates.has_cover);
    let mut selection = Selection {
        facts,
        reports: list,
        rules,
        candidates: candidates_of,
        has_cover,
        calendar: &calendar,
        comparer: &comparer,
        report_facts: &report_facts,
        output,
    };
    for (number, measure) in rules.measures.iter().enumerate() {
        let of_measure = &candidates.by_measure[number];
        let first = selection.output.periods.len();
        match measure.kind {
            Kind::Cover => cover::select(&mut selection, number, of_measure),
            Kind::Duration | Kind::Instant => selection.measure(number, of_measure),
        }
        selection.output.periods[first..]
            .sort_by_key(|period| (period.series, period.end, period.start));
    }
    let SelectionOutput {
        periods,
        mut observations,
        conflicts,
        findings,
    } = selection.output;
    checks::run(
        rules,
        &reports.list,
        &report_facts,
        &periods,
        &mut observations,
    );
    let registrant = Registrant {
        rules,
        company,
        reports: &reports,
        filings,
        candidates: &candidates,
        calendar: &calendar,
        periods: &periods,
        findings: &findings,
    };
    let missing = registrant.missing();
    let outcome = missing::outcome(rules, company, &reports.list, filings, &periods);
    Selected {
        cik,
        reports: reports.list,
        periods,
        observations,
        conflicts,
        missing,
        findings,
        outcome,
    }
}
