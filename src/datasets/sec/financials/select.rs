//! Selects the figures of one registrant: for every measure and period what each report said, in the order it became known, and what has no
//! place in a series. Figures are as filed; nothing is computed.

use std::ops::Range;

use crate::datasets::sec::fact::{Amount, CompanyFacts, Fact};
use crate::datasets::sec::filing::Filing;
use crate::datasets::sec::financials::calendar::{Calendar, FiscalPeriod, Placement, Series};
use crate::datasets::sec::financials::change::{Change, Comparer};
use crate::datasets::sec::financials::choose::Usage;
use crate::datasets::sec::financials::missing::{self, Missing, Outcome};
use crate::datasets::sec::financials::report::{Family, NO_REPORT, Report, Reports, index};
use crate::datasets::sec::financials::settings::{Kind, Rules};
use crate::datasets::sec::financials::warnings::{Warning, Warnings};
use crate::datasets::sec::financials::{checks, cover};
use crate::ids::Cik;
use crate::normalise::Day;

/// Stands for the start of an instant; sorts before every day.
pub const NO_START: Day = Day::from_number(i32::MIN);

/// A fact seen as a candidate for a measure: in its unit, from a periodic report. Sorted by period, then by when it became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    pub end: Day,
    /// [`NO_START`] for an instant.
    pub start: Day,
    pub report: u32,
    /// Place of the concept in the measure's list.
    pub rank: u16,
    /// Whether the fact gives the period with a start a few days off.
    pub is_variant: bool,
    pub fact: u32,
}

/// Whether two figures are about the same period.
pub fn same_period(a: &Cell, b: &Cell) -> bool {
    (a.end, a.start) == (b.end, b.start)
}

/// What is known of one registrant's figures: every observation of every measure, in its place.
#[derive(Debug)]
pub struct Selected {
    pub cik: Cik,
    /// The periodic reports, in the order they became known.
    pub reports: Vec<Report>,
    /// By measure, series, end and start.
    pub periods: Vec<Period>,
    pub observations: Vec<Observation>,
    /// Candidates that were not taken and differ from the one that was.
    pub conflicts: Vec<(u16, Amount)>,
    /// Metrics that were never reported in a series.
    pub missing: Vec<Missing>,
    pub findings: Vec<Finding>,
    pub outcome: Outcome,
}

/// One period of one measure, with all that was reported for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    pub measure: usize,
    pub series: Series,
    pub fiscal_year: i32,
    pub fiscal_period: FiscalPeriod,
    /// [`NO_START`] for an instant.
    pub start: Day,
    pub end: Day,
    pub is_ytd: bool,
    first: u32,
    after: u32,
}

impl Period {
    /// The period's observations among the registrant's, first reported first.
    pub fn observations(&self) -> Range<usize> {
        self.first as usize..self.after as usize
    }

    /// The last observation. A period has at least one.
    pub fn latest(&self) -> usize {
        self.after as usize - 1
    }
}

/// What one report says of one period.
#[derive(Debug, Clone, Copy)]
pub struct Observation {
    pub concept: u16,
    pub value: Amount,
    pub report: u32,
    /// Place of the fact in the member.
    pub offset: u32,
    pub length: u32,
    /// Date of a cover page count.
    pub as_of: Option<Day>,
    pub change: Change,
    conflicts: (u32, u32),
    pub warnings: Warnings,
}

impl Observation {
    /// Its conflicts among the registrant's.
    pub fn conflicts(&self) -> Range<usize> {
        self.conflicts.0 as usize..self.conflicts.1 as usize
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

/// Selects what a registrant reported: for every measure and period the concept each periodic report gives it under, the history of the
/// figure, and what is wrong with it. Figures keep their own periods, whatever report they come from; nothing is computed.
pub fn select(cik: Cik, company: &CompanyFacts, filings: &[Filing], rules: &Rules) -> Selected {
    let facts = company.facts.as_slice();
    let reports = Reports::new(facts, filings);
    let mut candidates = Candidates::new(facts, &reports, rules);
    let calendar = Calendar::new(rules, &reports.list, &candidates.cells);
    candidates.unify_starts(&calendar, &reports.list);
    let comparer = Comparer::new(rules, facts, &reports, &candidates.cells);
    let mut selection = Selection { facts, reports: &reports.list, rules, calendar: &calendar, comparer: &comparer, made: Made::default() };
    for (number, measure) in rules.measures.iter().enumerate() {
        let cells = &candidates.cells[number];
        let first = selection.made.periods.len();
        match measure.kind {
            Kind::Cover => cover::select(&mut selection, number, cells),
            Kind::Duration | Kind::Instant => selection.measure(number, cells),
        }
        selection.made.periods[first..].sort_by_key(|period| (period.series, period.end, period.start));
    }
    let Made { periods, mut observations, conflicts, findings } = selection.made;
    checks::run(rules, &reports.list, &periods, &mut observations);
    let missing = missing::missing(rules, company, &reports.list, filings, &candidates, &periods);
    let outcome = missing::outcome(rules, company, &reports.list, filings, &periods);
    Selected { cik, reports: reports.list, periods, observations, conflicts, missing, findings, outcome }
}

/// The facts that measures can be taken from.
pub struct Candidates {
    /// By measure, sorted.
    pub cells: Vec<Vec<Cell>>,
    /// By measure: whether annual and quarterly reports give it in another unit.
    pub other_unit: Vec<[bool; 2]>,
    /// Whether a periodic report tags the cover page.
    pub has_cover: bool,
}

impl Candidates {
    fn new(facts: &[Fact], reports: &Reports, rules: &Rules) -> Self {
        let mut cells: Vec<Vec<Cell>> = vec![Vec::new(); rules.measures.len()];
        let mut other_unit = vec![[false; 2]; rules.measures.len()];
        let mut has_cover = false;
        for ((fact, report), number) in facts.iter().zip(&reports.of_fact).zip(0_u32..) {
            if *report == NO_REPORT {
                continue;
            }
            has_cover |= fact.concept == rules.cover_evidence;
            for (measure, rank) in &rules.uses[usize::from(fact.concept)] {
                let wanted = &rules.measures[*measure];
                if (wanted.kind == Kind::Duration) != fact.start.is_some() {
                    continue;
                }
                if fact.unit == wanted.unit {
                    cells[*measure].push(Cell {
                        end: fact.end,
                        start: fact.start.unwrap_or(NO_START),
                        report: *report,
                        rank: *rank,
                        is_variant: false,
                        fact: number,
                    });
                } else {
                    other_unit[*measure][usize::from(reports.list[*report as usize].family == Family::Quarterly)] = true;
                }
            }
        }
        // Facts of a concept come nearly in this order: a sort that finds runs is fast.
        cells.iter_mut().for_each(|cells| cells.sort());
        Self { cells, other_unit, has_cover }
    }

    /// Gives figures whose start is a few days off the start that most reports give, so that one period has one history.
    fn unify_starts(&mut self, calendar: &Calendar, reports: &[Report]) {
        if !calendar.has_variants() {
            return;
        }
        for cells in &mut self.cells {
            let mut is_changed = false;
            for cell in cells.iter_mut().filter(|cell| cell.start != NO_START) {
                if let Some(start) = calendar.usual_start(reports[cell.report as usize].family, cell.end, cell.start) {
                    (cell.start, cell.is_variant, is_changed) = (start, true, true);
                }
            }
            if is_changed {
                cells.sort();
            }
        }
    }
}

/// What selecting makes.
#[derive(Default)]
pub struct Made {
    pub periods: Vec<Period>,
    pub observations: Vec<Observation>,
    pub conflicts: Vec<(u16, Amount)>,
    pub findings: Vec<Finding>,
}

/// Where a group of observations belongs.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub series: Series,
    pub fiscal_year: i32,
    pub fiscal_period: FiscalPeriod,
    pub start: Day,
    pub end: Day,
    pub is_ytd: bool,
}

/// The state of selecting one registrant.
pub struct Selection<'a> {
    pub facts: &'a [Fact],
    pub reports: &'a [Report],
    pub rules: &'a Rules,
    pub calendar: &'a Calendar,
    pub comparer: &'a Comparer<'a>,
    pub made: Made,
}

impl Selection<'_> {
    fn measure(&mut self, measure: usize, cells: &[Cell]) {
        let usage = Usage::new(cells, self.reports, self.facts);
        for group in cells.chunk_by(same_period) {
            for family in [Family::Annual, Family::Quarterly] {
                let is_of_family = |cell: &Cell| self.reports[cell.report as usize].family == family;
                let Some(last) = group.iter().rev().find(|cell| is_of_family(cell)) else { continue };
                match self.place(family, group[0], cells) {
                    Placement::Passed => {}
                    Placement::Unplaced(code) => self.reject(code, measure, last),
                    Placement::Placed { series, fiscal_year, fiscal_period, is_ytd, is_off } => {
                        let place = Place { series, fiscal_year, fiscal_period, start: group[0].start, end: group[0].end, is_ytd };
                        let mut warnings = Warnings::default();
                        warnings.set(Warning::OffCalendar, is_off);
                        warnings.set(Warning::FourthQuarter, fiscal_period == FiscalPeriod::Q4);
                        let first = index(self.made.observations.len());
                        for candidates in group.chunk_by(|a, b| a.report == b.report).filter(|candidates| is_of_family(&candidates[0])) {
                            self.observe(measure, &usage, candidates, first, warnings);
                        }
                        self.add_period(measure, place, first);
                    }
                }
            }
        }
    }

    fn place(&self, family: Family, cell: Cell, cells: &[Cell]) -> Placement {
        if cell.start != NO_START {
            return self.calendar.place_duration(self.rules, family, cell.start, cell.end);
        }
        let is_of_family = |cell: &Cell| self.reports[cell.report as usize].family == family;
        let has_other = |day: Day| {
            let from = cells.partition_point(|cell| cell.end < day);
            cells[from..].iter().take_while(|cell| cell.end == day).any(is_of_family)
        };
        self.calendar.place_instant(self.rules, family, cell.end, has_other)
    }

    /// Notes a metric's figure that has no place; lines beyond the metrics are left out without a word.
    pub fn reject(&mut self, code: &'static str, measure: usize, cell: &Cell) {
        if self.rules.measures[measure].is_metric {
            let Fact { offset, length, .. } = self.facts[cell.fact as usize];
            self.made.findings.push(Finding { code, measure, start: cell.start, end: cell.end, report: cell.report, offset, length });
        }
    }

    fn observe(&mut self, measure: usize, usage: &Usage, candidates: &[Cell], first: u32, warnings: Warnings) {
        let rule = &self.rules.measures[measure];
        let filed = self.reports[candidates[0].report as usize].filed;
        let chosen = usage.choose(self.rules.persistence, rule, candidates, filed, self.facts);
        let observation = self.add_observation(measure, &candidates[chosen], candidates, first, warnings);
        let conflicts = observation.conflicts;
        let is_conflict = !rule.by_order && conflicts.0 != conflicts.1;
        observation.warnings.set(Warning::ConceptConflict, is_conflict);
    }

    /// Adds an observation after those from `first` on, which are about the same period.
    pub fn add_observation(&mut self, measure: usize, chosen: &Cell, candidates: &[Cell], first: u32, warnings: Warnings) -> &mut Observation {
        let rule = &self.rules.measures[measure];
        let fact = &self.facts[chosen.fact as usize];
        let from = index(self.made.conflicts.len());
        for other in candidates.iter().map(|other| &self.facts[other.fact as usize]).filter(|other| other.value != fact.value) {
            self.made.conflicts.push((other.concept, other.value));
        }
        let conflicts = (from, index(self.made.conflicts.len()));
        let Fact { concept, value, offset, length, .. } = *fact;
        let mut made = Observation { concept, value, report: chosen.report, offset, length, as_of: None, change: Change::First, conflicts, warnings };
        made.warnings.set(Warning::PeriodStartDiffers, chosen.is_variant);
        made.warnings.set(Warning::LastResortConcept, chosen.rank >= rule.first_last_resort);
        made.change = self.comparer.change(rule, &self.made.observations[first as usize..], &made);
        self.made.observations.push(made);
        let last = self.made.observations.len() - 1;
        &mut self.made.observations[last]
    }

    /// Adds a period with the observations from `first` on.
    pub fn add_period(&mut self, measure: usize, place: Place, first: u32) {
        let Place { series, fiscal_year, fiscal_period, start, end, is_ytd } = place;
        let after = index(self.made.observations.len());
        self.made.periods.push(Period { measure, series, fiscal_year, fiscal_period, start, end, is_ytd, first, after });
    }
}
