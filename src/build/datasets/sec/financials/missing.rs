//! Determines reasons for absent figures: the outcome for a member of the archive, metrics that the
//! registrant never reported in a series, and periods whose reports are missing from the archive.

use std::collections::BTreeMap;

use crate::datasets::sec::fact::{Amount, CompanyFacts, Fact};
use crate::datasets::sec::filing::Filing;
use crate::datasets::sec::financials::calendar::Calendar;
use crate::datasets::sec::financials::candidates::Candidates;
use crate::datasets::sec::financials::cover::CONTRADICTED;
use crate::datasets::sec::financials::observation::Finding;
use crate::datasets::sec::financials::period::{FiscalPeriod, Period, Placement, Series};
use crate::datasets::sec::financials::report::{Family, NO_REPORT, Report, Reports, family_of};
use crate::datasets::sec::financials::selection::STATED_IN_PARTS;
use crate::datasets::sec::financials::settings::{Kind, Rules};
use crate::normalise::Day;
use pubdata_core::ids::AccessionNumber;

/// A metric without a figure in an entire series or in one of its periods, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    pub measure: usize,
    pub series: Series,
    /// Report whose period has no figure; `None` if the entire series has none.
    pub filing: Option<MissingFiling>,
    pub reason: &'static str,
    /// Other concepts for the line that the company tags, each with its value for the newest
    /// period.
    pub others: Vec<(u16, Amount)>,
}

/// A report that was filed but whose figures are missing from the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingFiling {
    pub fiscal_year: i32,
    pub fiscal_period: FiscalPeriod,
    pub end: Day,
    pub accession: AccessionNumber,
    pub form: &'static str,
    pub filed: Day,
}

/// Outcome for a member of the archive.
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

/// Returns true if a registrant reports as a foreign private issuer, either under IFRS or on Form
/// 20-F or 40-F.
fn is_foreign(company: &CompanyFacts, filings: &[Filing]) -> bool {
    let is_ifrs = !has_taxonomy(company, "us-gaap") && has_taxonomy(company, "ifrs-full");
    let files_periodic = filings
        .iter()
        .any(|filing| family_of(filing.form).is_some());
    is_ifrs || !files_periodic && is_on_foreign_forms(company, filings)
}

fn is_on_foreign_forms(company: &CompanyFacts, filings: &[Filing]) -> bool {
    company.facts.iter().any(|fact| fact.form.is_foreign())
        || filings.iter().any(|filing| filing.form.is_foreign())
}

/// Returns the outcome for a member: published, or the reason why it is not published.
pub fn outcome(
    rules: &Rules,
    company: &CompanyFacts,
    reports: &[Report],
    filings: &[Filing],
    periods: &[Period],
) -> Outcome {
    let has_us_gaap = has_taxonomy(company, "us-gaap");
    match () {
        () if periods
            .iter()
            .any(|period| rules.measures[period.measure].is_metric) =>
        {
            Outcome::Published
        }
        () if reports.is_empty() && is_foreign(company, filings) => Outcome::ForeignFiler,
        () if !has_us_gaap => Outcome::NoUsGaapFacts,
        () if company.facts.is_empty() => Outcome::NoWantedConcept,
        () if reports.is_empty()
            && filings
                .iter()
                .all(|filing| family_of(filing.form).is_none()) =>
        {
            Outcome::NoPeriodicReport
        }
        () => Outcome::NoWantedConcept,
    }
}

/// A registrant whose figures have been selected.
pub struct Registrant<'a> {
    pub rules: &'a Rules,
    pub company: &'a CompanyFacts,
    pub reports: &'a Reports,
    pub filings: &'a [Filing],
    pub candidates: &'a Candidates,
    pub calendar: &'a Calendar,
    pub periods: &'a [Period],
    pub findings: &'a [Finding],
}

impl Registrant<'_> {
    /// Returns the metrics that were never reported in the annual or the quarterly series, and the
    /// periods whose reports are missing from the archive.
    pub fn missing(&self) -> Vec<Missing> {
        let lacking = self.filings_not_in_archive();
        let mut missing = Vec::new();
        for measure in self.rules.metrics() {
            for (series, family) in [
                (Series::Annual, Family::Annual),
                (Series::Quarterly, Family::Quarterly),
            ] {
                let of_series = || {
                    self.periods
                        .iter()
                        .filter(|period| period.measure == measure && period.series == series)
                };
                if of_series().next().is_none() {
                    let (reason, others) = self.reason(measure, family);
                    missing.push(Missing {
                        measure,
                        series,
                        filing: None,
                        reason,
                        others,
                    });
                    continue;
                }
                let is_known = |filing: &MissingFiling| {
                    of_series().any(|period| {
                        (period.fiscal_year, period.fiscal_period)
                            == (filing.fiscal_year, filing.fiscal_period)
                    })
                };
                let of_filings = lacking
                    .iter()
                    .filter(|(of, filing)| *of == series && !is_known(filing));
                missing.extend(of_filings.map(|(_, filing)| Missing {
                    measure,
                    series,
                    filing: Some(*filing),
                    reason: "filed_not_in_archive",
                    others: Vec::new(),
                }));
            }
        }
        missing
    }

    /// Returns the reason why a metric has no figure in any report of a family, and the other
    /// concepts for its line.
    ///
    /// A missing share count is `multi_class` if periodic reports tag their cover page and none of
    /// them ever states a count without dimensions. The count is a required element of the cover
    /// page, so it must be tagged by class of stock, which the archive omits. If no report has a
    /// tagged cover page, the reason is `not_tagged`: the count may be tagged by class or not at
    /// all.
    ///
    /// A report that tags none of the wanted concepts is known only from the registrant's
    /// submissions.
    fn reason(&self, measure: usize, family: Family) -> (&'static str, Vec<(u16, Amount)>) {
        let reports = &self.reports.list;
        let rule = &self.rules.measures[measure];
        let has_report = reports.iter().any(|report| report.family == family)
            || self
                .filings
                .iter()
                .any(|filing| family_of(filing.form) == Some(family));
        let of_measure = &self.candidates.by_measure[measure];
        let is_of_family = |report: u32| reports[report as usize].family == family;
        let has_finding = |code: &str| {
            self.findings.iter().any(|finding| {
                finding.code == code && finding.measure == measure && is_of_family(finding.report)
            })
        };
        let has_count = of_measure
            .iter()
            .any(|candidate| candidate.rank < rule.first_last_resort);
        let others = self.others(measure, family);
        let reason = match () {
            () if reports.is_empty() && is_foreign(self.company, self.filings) => "not_a_10k_filer",
            () if !has_report => "no_periodic_report",
            () if has_finding(STATED_IN_PARTS) => STATED_IN_PARTS,
            () if rule.kind == Kind::Cover && self.candidates.has_cover && !has_count => {
                "multi_class"
            }
            () if has_finding(CONTRADICTED) => CONTRADICTED,
            () if of_measure
                .iter()
                .any(|candidate| is_of_family(candidate.report)) =>
            {
                "unclassified_period"
            }
            () if self.candidates.other_unit[measure][usize::from(family == Family::Quarterly)] => {
                "other_unit"
            }
            () if !others.is_empty() => "other_concept",
            () => "not_tagged",
        };
        (
            reason,
            if reason == "other_concept" {
                others
            } else {
                Vec::new()
            },
        )
    }

    /// Returns the other concepts for a measure's line that reports in a family tag, each with its
    /// value for the newest period.
    fn others(&self, measure: usize, family: Family) -> Vec<(u16, Amount)> {
        let rule = &self.rules.measures[measure];
        let mut newest: BTreeMap<u16, &Fact> = BTreeMap::new();
        for (fact, report) in self.company.facts.iter().zip(&self.reports.of_fact) {
            let is_other = *report != NO_REPORT
                && rule.other_concepts.contains(&fact.concept)
                && self.reports.list[*report as usize].family == family
                && fact.unit == rule.unit
                && fact.start.is_some() == (rule.kind == Kind::Duration);
            if is_other {
                let known = newest.entry(fact.concept).or_insert(fact);
                if (fact.end, fact.start, fact.filed) > (known.end, known.start, known.filed) {
                    *known = fact;
                }
            }
        }
        newest
            .into_iter()
            .map(|(concept, fact)| (concept, fact.value))
            .collect()
    }

    /// Returns the annual and quarterly reports that were filed after the newest report in the
    /// archive, by period end. Older reports without facts predate XBRL or do not state any wanted
    /// figure.
    fn filings_not_in_archive(&self) -> Vec<(Series, MissingFiling)> {
        let Some(newest) = self.reports.list.last().map(|report| report.filed) else {
            return Vec::new();
        };
        let lacking = self
            .filings
            .iter()
            .filter(|filing| !filing.form.is_amendment() && filing.filed > newest);
        let assigned = lacking.filter_map(|filing| {
            let Filing {
                accession,
                form,
                filed,
                report_date,
                ..
            } = *filing;
            let (family, end) = (family_of(form)?, report_date?);
            let report = Report {
                accession,
                form,
                family,
                filed,
                primary_end: Some(end),
                fiscal_year: None,
                fiscal_period: None,
            };
            match self.calendar.place_report(self.rules, &report) {
                Placement::Assigned {
                    series,
                    fiscal_year,
                    fiscal_period,
                    ..
                } => Some((
                    series,
                    MissingFiling {
                        fiscal_year,
                        fiscal_period,
                        end,
                        accession,
                        form: form.name(),
                        filed,
                    },
                )),
                Placement::Passed | Placement::Unassigned(_) => None,
            }
        });
        let mut assigned: Vec<(Series, MissingFiling)> = assigned.collect();
        assigned.sort_by_key(|(series, filing)| (*series, filing.end, filing.accession));
        assigned
    }
}
