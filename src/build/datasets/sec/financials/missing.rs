//! Why figures are not there: what became of a member of the archive, and why its registrant never reported a metric in a series.

use crate::datasets::sec::fact::CompanyFacts;
use crate::datasets::sec::filing::Filing;
use crate::datasets::sec::financials::candidates::Candidates;
use crate::datasets::sec::financials::period::{Period, Series};
use crate::datasets::sec::financials::report::{Family, Report, family_of};
use crate::datasets::sec::financials::settings::{Kind, Rules};

/// A metric that a registrant never reported in a series, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing {
    pub measure: usize,
    pub series: Series,
    pub reason: &'static str,
}

/// What became of a member of the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Published,
    NoUsGaapFacts,
    ForeignFiler,
    NoPeriodicReport,
    NoWantedConcept,
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::NoUsGaapFacts => "no_us_gaap_facts",
            Self::ForeignFiler => "foreign_filer",
            Self::NoPeriodicReport => "no_periodic_report",
            Self::NoWantedConcept => "no_wanted_concept",
        }
    }
}

fn has_taxonomy(company: &CompanyFacts, taxonomy: &str) -> bool {
    company.taxonomies.iter().any(|known| known == taxonomy)
}

/// Whether a member was published, or why it was not.
pub fn outcome(rules: &Rules, company: &CompanyFacts, reports: &[Report], filings: &[Filing], periods: &[Period]) -> Outcome {
    let has_us_gaap = has_taxonomy(company, "us-gaap");
    match () {
        () if periods.iter().any(|period| rules.measures[period.measure].is_metric) => Outcome::Published,
        () if !has_us_gaap && has_taxonomy(company, "ifrs-full") => Outcome::ForeignFiler,
        () if !has_us_gaap => Outcome::NoUsGaapFacts,
        () if company.facts.is_empty() => Outcome::NoWantedConcept,
        () if reports.is_empty() && filings.iter().all(|filing| family_of(filing.form).is_none()) => Outcome::NoPeriodicReport,
        () => Outcome::NoWantedConcept,
    }
}

/// The metrics that were never reported in the annual or the quarterly series.
///
/// A missing share count is `multi_class` when periodic reports tag their cover page and none of them ever gave a count without
/// dimensions: the count is a required element of the cover page, so that it must be there by class of stock, which the archive leaves
/// out. When no tagged cover page was seen it is `not_tagged`: it may have been tagged by class or not at all.
///
/// A report that tags none of the wanted concepts is known from the registrant's submissions alone.
pub fn missing(rules: &Rules, company: &CompanyFacts, reports: &[Report], filings: &[Filing], candidates: &Candidates, periods: &[Period]) -> Vec<Missing> {
    let has_report =
        |family: Family| reports.iter().any(|report| report.family == family) || filings.iter().any(|filing| family_of(filing.form) == Some(family));
    let mut missing = Vec::new();
    for measure in rules.metrics() {
        for (series, family) in [(Series::Annual, Family::Annual), (Series::Quarterly, Family::Quarterly)] {
            if periods.iter().any(|period| period.measure == measure && period.series == series) {
                continue;
            }
            let is_of_family = |report: u32| reports[report as usize].family == family;
            let of_measure = &candidates.by_measure[measure];
            let reason = match () {
                () if reports.is_empty() && !has_taxonomy(company, "us-gaap") && has_taxonomy(company, "ifrs-full") => "not_a_10k_filer",
                () if !has_report(family) => "no_periodic_report",
                () if rules.measures[measure].is_in_parts(of_measure, |candidate| is_of_family(candidate.report)) => "stated_in_parts",
                () if of_measure.iter().any(|candidate| is_of_family(candidate.report)) => "unclassified_period",
                () if candidates.other_unit[measure][usize::from(family == Family::Quarterly)] => "other_unit",
                () if rules.measures[measure].kind == Kind::Cover && candidates.has_cover && of_measure.is_empty() => "multi_class",
                () => "not_tagged",
            };
            missing.push(Missing { measure, series, reason });
        }
    }
    missing
}
