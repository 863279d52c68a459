//! Collects the periodic reports that facts come from, in the order in which they became known.
//! Determines where each report's own period ends, and how finely the report states figures. A fact
//! with any other form does not belong to a report.

use polars::prelude::{InitHashMaps, PlHashMap};

use crate::datasets::sec::fact::{Amount, Fact, FilingPeriod, Form, Unit};
use crate::datasets::sec::filing::Filing;
use crate::datasets::sec::financials::settings::Restatement;
use crate::normalise::Day;
use pubdata_core::ids::AccessionNumber;

/// Marks a fact whose filing is not a periodic report.
pub const NO_REPORT: u32 = u32::MAX;

/// The series to which a filing contributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    Annual,
    Quarterly,
}

/// Returns the family for a form, or `None` for forms that repeat figures but are not periodic
/// reports (8-K recasts, proxies, prospectuses).
pub fn family_of(form: Form) -> Option<Family> {
    match form {
        form if form.is_annual() => Some(Family::Annual),
        form if form.is_quarterly() => Some(Family::Quarterly),
        _ => None,
    }
}

/// A periodic report that facts come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    pub accession: AccessionNumber,
    pub form: Form,
    pub family: Family,
    pub filed: Day,
    /// End of the report's own period.
    pub primary_end: Option<Day>,
    /// Fiscal year and period as stamped by the SEC.
    pub fiscal_year: Option<i16>,
    pub fiscal_period: Option<FilingPeriod>,
}

/// A registrant's periodic reports with wanted facts, in the order in which they became known, and
/// the report for each fact.
pub struct Reports {
    pub list: Vec<Report>,
    /// Index in `list` by fact, or [`NO_REPORT`] for facts with other forms.
    pub of_fact: Vec<u32>,
}

impl Reports {
    /// Joins facts with filings by accession number. A report without a filing is also used, and
    /// its period end is read from the facts.
    pub fn new(facts: &[Fact], filings: &[Filing]) -> Self {
        let mut numbers: PlHashMap<AccessionNumber, u32> = PlHashMap::with_capacity(256);
        let mut list: Vec<Report> = Vec::new();
        let mut of_fact = Vec::with_capacity(facts.len());
        for fact in facts {
            let Some(family) = family_of(fact.form) else {
                of_fact.push(NO_REPORT);
                continue;
            };
            let number = *numbers.entry(fact.accession).or_insert_with(|| {
                let (form, filed) = (fact.form, fact.filed);
                let report = Report {
                    accession: fact.accession,
                    form,
                    family,
                    filed,
                    primary_end: None,
                    fiscal_year: fact.fy,
                    fiscal_period: fact.fp,
                };
                list.push(report);
                index(list.len() - 1)
            });
            of_fact.push(number);
        }
        let mut accepted: Vec<Option<&str>> = vec![None; list.len()];
        for filing in filings {
            if let Some(number) = numbers.get(&filing.accession) {
                list[*number as usize].primary_end = filing.report_date;
                accepted[*number as usize] = filing.accepted_at.as_deref();
            }
        }
        place_primary_ends(&mut list, facts, &of_fact);
        let mut order: Vec<u32> = (0..index(list.len())).collect();
        let key = |number: &u32| {
            (
                list[*number as usize].filed,
                accepted[*number as usize],
                list[*number as usize].accession,
            )
        };
        order.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
        let mut rank = vec![0; list.len()];
        order
            .iter()
            .zip(0_u32..)
            .for_each(|(number, place)| rank[*number as usize] = place);
        for number in of_fact.iter_mut().filter(|number| **number != NO_REPORT) {
            *number = rank[*number as usize];
        }
        Self {
            list: order.iter().map(|number| list[*number as usize]).collect(),
            of_fact,
        }
    }
}

/// Maximum number of days between a report date and the contexts in the filing. Some filers state
/// the month end for a 52-week year.
const REPORT_DATE_SLACK: i32 = 10;

/// Determines where each report's own period ends. Uses the report date if durations end on that
/// date. Otherwise, uses the nearest end shared by at least 5 % of the report's durations. Without
/// a report date, uses the latest such end that is not after the filing date.
fn place_primary_ends(list: &mut [Report], facts: &[Fact], of_fact: &[u32]) {
    let mut is_settled = vec![false; list.len()];
    let durations = || {
        facts
            .iter()
            .zip(of_fact)
            .filter(|(fact, number)| **number != NO_REPORT && fact.start.is_some())
    };
    for (fact, number) in durations() {
        is_settled[*number as usize] |= list[*number as usize].primary_end == Some(fact.end);
    }
    if is_settled.iter().all(|settled| *settled) {
        return;
    }
    let open = durations().filter(|(_, number)| !is_settled[**number as usize]);
    let mut ends: Vec<(u32, Day)> = open.map(|(fact, number)| (*number, fact.end)).collect();
    ends.sort_unstable();
    for of_report in ends.chunk_by(|a, b| a.0 == b.0) {
        let report = &mut list[of_report[0].0 as usize];
        let weighty = of_report
            .chunk_by(|a, b| a == b)
            .filter(|same| same.len() * 20 >= of_report.len() && same[0].1 <= report.filed)
            .map(|same| same[0].1);
        report.primary_end = match report.primary_end {
            Some(date) => weighty
                .filter(|end| end.since(date).abs() <= REPORT_DATE_SLACK)
                .min_by_key(|end| end.since(date).abs())
                .or(Some(date)),
            None => weighty.max(),
        };
    }
}

/// The scale on which each report states dollars and share counts.
pub struct Scales {
    dollars: Vec<ReportScale>,
    shares: Vec<ReportScale>,
}

/// The scale on which a report states the figures in one unit.
#[derive(Debug, Clone, Copy)]
struct ReportScale {
    /// Power of ten that divides nearly all figures.
    scale: Amount,
    /// True if half of the figures are much coarser.
    is_mostly_coarse: bool,
}

impl Scales {
    /// Counts trailing zeros across all facts in each report.
    pub fn new(reports: &Reports, facts: &[Fact], rules: &Restatement) -> Self {
        let empty = vec![[0_u32; MAX_ZEROS + 1]; reports.list.len()];
        let mut counts = [empty.clone(), empty];
        for (fact, number) in facts.iter().zip(&reports.of_fact) {
            let kind = match (fact.unit, fact.start) {
                (Unit::Usd, _) => 0,
                (Unit::Shares, Some(_)) => 1,
                _ => continue,
            };
            if *number != NO_REPORT && fact.value.0 != 0 {
                counts[kind][*number as usize][trailing_zeros(fact.value, MAX_ZEROS)] += 1;
            }
        }
        let scales = |counts: &[[u32; MAX_ZEROS + 1]]| {
            counts
                .iter()
                .map(|of_report| ReportScale::new(of_report, rules))
                .collect()
        };
        Self {
            dollars: scales(&counts[0]),
            shares: scales(&counts[1]),
        }
    }

    fn fineness(&self, unit: Unit, report: u32) -> ReportScale {
        let of_unit = if unit == Unit::Shares {
            &self.shares
        } else {
            &self.dollars
        };
        of_unit[report as usize]
    }

    /// Returns one unit in a report's scale.
    pub fn scale(&self, unit: Unit, report: u32) -> Amount {
        self.fineness(unit, report).scale
    }

    /// Returns one unit in the coarser scale of two reports.
    pub fn coarser(&self, unit: Unit, [one, other]: [u32; 2]) -> Amount {
        self.scale(unit, one).max(self.scale(unit, other))
    }

    /// Returns true if at least half of a report's figures are as coarse as a rounded figure. In
    /// that case, coarse figures are normal for the report.
    pub fn is_mostly_coarse(&self, unit: Unit, report: u32) -> bool {
        self.fineness(unit, report).is_mostly_coarse
    }
}

const ONE: i128 = 10_000_000_000;

/// Maximum number of trailing zeros to count.
pub const MAX_ZEROS: usize = 15;

/// Returns the number of trailing decimal zeros in an integer, up to `most` and [`MAX_ZEROS`].
pub fn trailing_zeros(value: Amount, most: usize) -> usize {
    let Some(mut whole) = whole_number(value) else {
        return 0;
    };
    let mut zeros = 0;
    while zeros < most.min(MAX_ZEROS) && whole % 10 == 0 {
        whole /= 10;
        zeros += 1;
    }
    zeros
}

/// Returns the magnitude of an amount without a fraction, if it fits into 64 bits.
///
/// Optimised, because it runs for every fact. Ten billion equals 2^10 times 5^10, and after the
/// shift nearly all figures fit into a machine word.
fn whole_number(value: Amount) -> Option<u64> {
    const FIVES: u64 = 5_u64.pow(10);
    let magnitude = value.0.unsigned_abs();
    if !magnitude.is_multiple_of(1 << 10) {
        return None;
    }
    match u64::try_from(magnitude >> 10) {
        Ok(shifted) => shifted.is_multiple_of(FIVES).then_some(shifted / FIVES),
        Err(_) if value.0 % ONE == 0 => {
            u64::try_from(value.0.unsigned_abs() / ONE.unsigned_abs()).ok()
        }
        Err(_) => None,
    }
}

impl ReportScale {
    /// Computes the scale from the number of figures for each count of trailing zeros.
    fn new(zeros: &[u32; MAX_ZEROS + 1], rules: &Restatement) -> Self {
        let total: u32 = zeros.iter().sum();
        let having = |least: usize| zeros[least..].iter().sum::<u32>();
        let power = (0..=rules.max_scale.min(MAX_ZEROS))
            .rfind(|power| total > 0 && having(*power) * 100 >= total * rules.scale_percent)
            .unwrap_or(0);
        let scale = power_of_ten(power);
        let is_coarse =
            |power: &usize| power_of_ten(*power).0 >= scale.0 * rules.coarse_figure_factor;
        let coarse = (0..=MAX_ZEROS).find(is_coarse).map_or(0, having);
        Self {
            scale,
            is_mostly_coarse: coarse * 2 >= total,
        }
    }
}

/// Returns 10 to a power of at most [`MAX_ZEROS`].
pub fn power_of_ten(power: usize) -> Amount {
    Amount(ONE * std::iter::repeat_n(10_i128, power.min(MAX_ZEROS)).product::<i128>())
}

/// Converts an index to the type in which it is stored.
///
/// # Panics
/// Never panics: a member's length fits into 32 bits, and a member contains fewer items than bytes.
pub fn index(position: usize) -> u32 {
    u32::try_from(position).expect("a member holds fewer things than bytes")
}

#[cfg(test)]
mod tests {
    use super::{Amount, MAX_ZEROS, ONE, trailing_zeros};

    #[test]
    fn zeros_at_the_end_are_counted_exactly() {
        for (value, zeros) in [
            (274_515_000_000_i128, 6),
            (4_827_703_000, 3),
            (-1_000, 3),
            (4_493, 0),
            (7, 0),
            (2_000_000_000_000_000, 15),
            (3_875_393_000_000, 6),
        ] {
            assert_eq!(
                trailing_zeros(Amount(value * ONE), MAX_ZEROS),
                zeros,
                "{value}"
            );
        }
        assert_eq!(trailing_zeros(Amount(274_515_000_000 * ONE), 3), 3);
        assert_eq!(trailing_zeros(Amount(151_500_000_000), MAX_ZEROS), 0);
        assert_eq!(trailing_zeros(Amount(ONE / 1_024), MAX_ZEROS), 0);
    }
}
