//! Determines a registrant's fiscal calendar, and a figure's position in it: series, fiscal year
//! and period. Both are derived from dates. The SEC's stamps only show whether a registrant's year
//! names are one lower.

use crate::datasets::sec::fact::{Fact, Form};
use crate::datasets::sec::financials::observation::CandidateFact;
use crate::datasets::sec::financials::period::{FiscalPeriod, NO_START, Placement, Series};
use crate::datasets::sec::financials::report::{Family, Report};
use crate::datasets::sec::financials::settings::{Bands, CalendarDays, LabelOffset, Rules};
use crate::normalise::Day;

/// Class of a duration, based on its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Band {
    Quarter,
    Half,
    NineMonths,
    Year,
}

/// Returns the band for a length in days, or `None` for a length between the bands.
pub fn band(bands: &Bands, days: i32) -> Option<Band> {
    let named = [
        (bands.quarter, Band::Quarter),
        (bands.half, Band::Half),
        (bands.nine_months, Band::NineMonths),
        (bands.year, Band::Year),
    ];
    named
        .into_iter()
        .find(|([from, to], _)| (*from..=*to).contains(&days))
        .map(|(_, band)| band)
}

/// A registrant's fiscal calendar, derived only from the dates of its own figures.
#[derive(Debug, Default)]
pub struct Calendar {
    /// Ends of fiscal years without gaps. Includes reported ends, and projected ends between and
    /// beyond them.
    boundaries: Vec<Day>,
    /// Ends of all fiscal years that an annual report shows, including comparatives.
    annual_ends: Vec<Day>,
    /// Ends of all quarters that a quarterly report shows.
    quarter_ends: Vec<Day>,
    /// Ends of the quarterly reports' own periods.
    own_quarter_ends: Vec<Day>,
    /// Sorted by family, end and start.
    variants: Vec<StartVariant>,
    /// Transition periods and short first years in annual reports, as (end, start).
    transitions: Vec<(Day, Day)>,
    /// Transition periods and short first years in quarterly reports, as (end, start).
    stubs: Vec<(Day, Day)>,
    /// Ends of durations in annual reports that fill the gap between two fiscal years, including
    /// comparatives.
    gap_ends: Vec<Day>,
    /// Offset of the year label: 0, or -1 for companies that name a fiscal year after the calendar
    /// year in which it begins.
    label_offset: i32,
}

/// Start of a period that differs by a few days from the start stated in most reports.
#[derive(Debug, Clone, Copy)]
struct StartVariant {
    family: Family,
    end: Day,
    start: Day,
    /// Start stated in most reports.
    usual: Day,
}

const YEAR: i32 = 365;

impl Calendar {
    /// Builds the calendar from the figures of the calendar measures.
    pub fn new(
        rules: &Rules,
        reports: &[Report],
        candidates: &[Vec<CandidateFact>],
        facts: &[Fact],
    ) -> Self {
        let mut evidence = Evidence::default();
        for measure in &rules.calendar {
            candidates[*measure].iter().for_each(|candidate| {
                evidence.add(&rules.bands, &reports[candidate.report as usize], candidate);
            });
        }
        let state_same_figure = |a: &ReportedStart, b: &ReportedStart| {
            rules.calendar.iter().any(|measure| {
                let of_measure = &candidates[*measure];
                let from = of_measure.partition_point(|candidate| candidate.end < a.end);
                let of_end = || {
                    of_measure[from..]
                        .iter()
                        .take_while(|candidate| candidate.end == a.end)
                };
                let of_start = |stated: &ReportedStart| {
                    let (family, start) = (stated.family, stated.start);
                    of_end().filter(move |candidate| {
                        candidate.start == start
                            && reports[candidate.report as usize].family == family
                    })
                };
                let value = |candidate: &CandidateFact| facts[candidate.fact as usize].value;
                of_start(a).any(|one| {
                    value(one).0 != 0
                        && of_start(b)
                            .any(|other| one.rank == other.rank && value(one) == value(other))
                })
            })
        };
        evidence.finish(rules, reports, state_same_figure)
    }

    /// Returns the name of the fiscal year that ends on a given day.
    fn label(&self, days: &CalendarDays, end: Day) -> i32 {
        end.plus(-days.label).civil().0 + self.label_offset
    }

    /// Returns the fiscal year and quarter that a given day belongs to.
    fn quarter(&self, days: &CalendarDays, end: Day) -> Option<(i32, FiscalPeriod)> {
        let after = self
            .boundaries
            .partition_point(|boundary| end.since(*boundary) > days.after_year_end);
        let (last, next) = (
            self.boundaries.get(after.checked_sub(1)?)?,
            self.boundaries.get(after)?,
        );
        Some((
            self.label(days, *next),
            quarter_after(days, end.since(*last)),
        ))
    }

    /// Returns the fiscal year and quarter of a year-to-date figure, based on the year end before
    /// its start. The year end comes from the company's calendar. For years before a change of
    /// calendar, it comes from annual reports.
    fn quarter_to_date(
        &self,
        days: &CalendarDays,
        start: Day,
        end: Day,
    ) -> Option<(i32, FiscalPeriod)> {
        let year_of = |ends: &[Day]| {
            let last = nearest(ends, start.plus(-1))
                .filter(|last| start.since(last.plus(1)).abs() <= days.ytd_start)?;
            let next = ends
                .iter()
                .find(|next| next.since(last) > YEAR - 2 * days.off_calendar)
                .copied();
            let next = next
                .filter(|next| next.since(last) < YEAR + 2 * days.off_calendar)
                .unwrap_or(last.plus(YEAR));
            Some((self.label(days, next), quarter_after(days, end.since(last))))
        };
        year_of(&self.boundaries).or_else(|| year_of(&self.annual_ends))
    }

    /// Returns true if any report states a start that is a few days off the usual start.
    pub fn has_variants(&self) -> bool {
        !self.variants.is_empty()
    }

    /// Returns the start stated in most reports, for a period whose start is a few days off in one
    /// report. Returns `None` if the given start is the usual one.
    pub fn usual_start(&self, family: Family, end: Day, start: Day) -> Option<Day> {
        let found = self
            .variants
            .binary_search_by_key(&(family, end, start), |variant| {
                (variant.family, variant.end, variant.start)
            })
            .ok()?;
        Some(self.variants[found].usual)
    }

    /// Returns true if a duration fills the gap between two fiscal years.
    fn is_between_years(&self, days: &CalendarDays, start: Day, end: Day) -> bool {
        is_between(&self.annual_ends, days, start, end)
    }

    /// Returns true if a transition period ends on a day that is not a year end. The next year
    /// begins on the following day, so the day looks like a year end. It is not a year end if
    /// another fiscal year has the same name.
    fn ends_transition(&self, days: &CalendarDays, day: Day) -> bool {
        let is_same_year =
            |end: &Day| *end != day && self.label(days, *end) == self.label(days, day);
        let is_year_end = || {
            self.annual_ends.binary_search(&day).is_ok()
                && !self.annual_ends.iter().any(is_same_year)
        };
        // The next year's comparative balance may be dated on the last day of the month.
        let mut ends = self
            .transitions
            .iter()
            .map(|(end, _)| end)
            .chain(&self.gap_ends);
        ends.any(|end| end.since(day).abs() <= days.same_end) && !is_year_end()
    }

    /// Places a fiscal year or a transition period whose end matches the calendar.
    fn assign(&self, rules: &Rules, series: Series, end: Day) -> Placement {
        let fiscal_period = if series == Series::Transition {
            FiscalPeriod::Tp
        } else {
            FiscalPeriod::Fy
        };
        Placement::Assigned {
            series,
            fiscal_year: self.label(&rules.days, end),
            fiscal_period,
            is_ytd: false,
            is_off: false,
        }
    }

    /// Places a year whose end does not match the calendar.
    fn assign_off(&self, rules: &Rules, end: Day) -> Placement {
        let fiscal_year = self.label(&rules.days, end);
        Placement::Assigned {
            series: Series::Annual,
            fiscal_year,
            fiscal_period: FiscalPeriod::Fy,
            is_ytd: false,
            is_off: true,
        }
    }

    /// Places a duration.
    pub fn place_duration(&self, rules: &Rules, family: Family, start: Day, end: Day) -> Placement {
        let length = end.since(start) + 1;
        let band = band(&rules.bands, length);
        let is_transition = [&self.transitions, &self.stubs]
            .iter()
            .any(|known| known.binary_search(&(end, start)).is_ok());
        if is_transition && band != Some(Band::Year) {
            return self.assign(rules, Series::Transition, end);
        }
        if length < 1 {
            return Placement::Unassigned("start_after_end");
        }
        match (family, band) {
            (Family::Annual, Some(Band::Year)) => {
                let is_off = nearest(&self.boundaries, end)
                    .is_none_or(|boundary| end.since(boundary).abs() > rules.days.off_calendar);
                if is_off {
                    self.assign_off(rules, end)
                } else {
                    self.assign(rules, Series::Annual, end)
                }
            }
            // Quarters in an annual report are not figures from quarterly reports, and twelve
            // months in a quarterly report are not a fiscal year.
            (Family::Annual, Some(_)) | (Family::Quarterly, Some(Band::Year)) => Placement::Passed,
            (Family::Quarterly, Some(band)) => self.place_quarter(rules, start, end, band),
            (_, None) if length > rules.bands.since_inception => Placement::Passed,
            (_, None)
                if length < rules.bands.year[0]
                    && self.is_between_years(&rules.days, start, end) =>
            {
                self.assign(rules, Series::Transition, end)
            }
            (_, None) => Placement::Unassigned("unclassified_length"),
        }
    }

    fn place_quarter(&self, rules: &Rules, start: Day, end: Day, band: Band) -> Placement {
        let (is_ytd, quarter) = match band {
            Band::Quarter | Band::Year => (false, self.quarter(&rules.days, end)),
            Band::Half => (
                true,
                self.quarter_to_date(&rules.days, start, end)
                    .filter(|(_, quarter)| *quarter == FiscalPeriod::Q2),
            ),
            Band::NineMonths => (
                true,
                self.quarter_to_date(&rules.days, start, end)
                    .filter(|(_, quarter)| *quarter == FiscalPeriod::Q3),
            ),
        };
        match quarter {
            Some((fiscal_year, fiscal_period)) => {
                assigned_duration(fiscal_year, fiscal_period, is_ytd)
            }
            None if self.boundaries.is_empty() => Placement::Unassigned("no_fiscal_calendar"),
            None => Placement::Unassigned("band_and_quarter_disagree"),
        }
    }

    /// Places an instant. `has_other` returns true if the measure has a figure on another day.
    pub fn place_instant(
        &self,
        rules: &Rules,
        family: Family,
        day: Day,
        has_other: impl Fn(Day) -> bool,
    ) -> Placement {
        let near = |ends: &[Day]| {
            nearest(ends, day).filter(|end| end.since(day).abs() <= rules.days.instant)
        };
        let is_transition = self.ends_transition(&rules.days, day);
        match family {
            Family::Annual if is_transition => self.assign(rules, Series::Transition, day),
            Family::Annual => match near(&self.annual_ends) {
                Some(end) if end == day || !has_other(end) => {
                    self.assign(rules, Series::Annual, end)
                }
                Some(_) => Placement::Passed,
                None if near(&self.boundaries).is_some() => self.assign(rules, Series::Annual, day),
                None if near(&self.quarter_ends).is_some() => Placement::Passed,
                None => Placement::Unassigned("off_period_end"),
            },
            // Every quarterly report repeats the balance at the end of the previous year.
            Family::Quarterly
                if self.annual_ends.binary_search(&day).is_ok()
                    && self.own_quarter_ends.binary_search(&day).is_err() =>
            {
                Placement::Passed
            }
            Family::Quarterly => match near(&self.quarter_ends) {
                Some(end) if end == day || !has_other(end) => {
                    match self.quarter(&rules.days, end) {
                        Some((fiscal_year, fiscal_period)) => {
                            assigned_quarter(fiscal_year, fiscal_period)
                        }
                        None => Placement::Unassigned("no_fiscal_calendar"),
                    }
                }
                Some(_) => Placement::Passed,
                None if is_transition
                    || near(&self.annual_ends).is_some()
                    || near(&self.boundaries).is_some() =>
                {
                    Placement::Passed
                }
                None => Placement::Unassigned("off_period_end"),
            },
        }
    }

    /// Places a report, along with its cover page, by the end of the report's own period.
    pub fn place_report(&self, rules: &Rules, report: &Report) -> Placement {
        let Some(end) = report.primary_end else {
            return Placement::Unassigned("no_period_end");
        };
        match report.family {
            Family::Annual if self.ends_transition(&rules.days, end) => {
                self.assign(rules, Series::Transition, end)
            }
            Family::Annual => self.assign(rules, Series::Annual, end),
            Family::Quarterly => match self.quarter(&rules.days, end) {
                Some((fiscal_year, fiscal_period)) => assigned_quarter(fiscal_year, fiscal_period),
                None => Placement::Unassigned("no_fiscal_calendar"),
            },
        }
    }
}

/// Returns true if a duration begins on the day after a fiscal year end and ends with another
/// fiscal year end.
fn is_between(annual_ends: &[Day], days: &CalendarDays, start: Day, end: Day) -> bool {
    let adjoins = |day: Day| {
        nearest(annual_ends, day).is_some_and(|year_end| year_end.since(day).abs() <= days.instant)
    };
    adjoins(start.plus(-1)) && adjoins(end)
}

/// Returns the quarter, based on the days elapsed since the end of a fiscal year.
fn quarter_after(days: &CalendarDays, elapsed: i32) -> FiscalPeriod {
    match elapsed {
        _ if elapsed <= days.q1 => FiscalPeriod::Q1,
        _ if elapsed <= days.q2 => FiscalPeriod::Q2,
        _ if elapsed <= days.q3 => FiscalPeriod::Q3,
        _ => FiscalPeriod::Q4,
    }
}

/// Returns the nearest day in a sorted list.
fn nearest(days: &[Day], day: Day) -> Option<Day> {
    let after = days.partition_point(|known| *known < day);
    let around = days[after.saturating_sub(1)..].iter().take(2);
    around.copied().min_by_key(|known| known.since(day).abs())
}

/// A year end with its weight.
type Weighed = (Day, u32);

/// Weights for the evidence of a year end. Any number of weak indications weighs less than one
/// annual report that states a year.
const OWN_YEAR: u32 = 1_000_000;
const OWN_SHORT_YEAR: u32 = 1_000;

/// Start of a duration as stated in one report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ReportedStart {
    family: Family,
    end: Day,
    start: Day,
    report: u32,
    /// True if the report states a different end.
    has_other_end: bool,
}

#[derive(Default)]
struct Evidence {
    year_ends: Vec<Weighed>,
    annual_ends: Vec<Day>,
    quarter_ends: Vec<Day>,
    /// Report, end and start of each duration that ends with a report's own period and is too
    /// short. In annual reports, this means shorter than a year; in quarterly reports, not in any
    /// band.
    short: Vec<(u32, Day, Day)>,
    /// Annual reports with a full year that ends with the report's own period.
    with_year: Vec<u32>,
    /// Quarterly reports with a duration in some band that ends with the report's own period.
    with_quarter: Vec<u32>,
    /// Day before the start of a quarterly report's year-to-date figure, with the report.
    ytd_starts: Vec<(Day, u32)>,
    /// Day before the start of a quarterly report's quarter, with the report.
    quarter_starts: Vec<(Day, u32)>,
    starts: Vec<ReportedStart>,
    range: Option<(Day, Day)>,
}

impl Evidence {
    fn add(&mut self, bands: &Bands, report: &Report, candidate: &CandidateFact) {
        let (start, end) = (candidate.start, candidate.end);
        if start == NO_START || start > end {
            return;
        }
        let (first, last) = self.range.get_or_insert((end, end));
        (*first, *last) = ((*first).min(end), (*last).max(end));
        self.starts.push(ReportedStart {
            family: report.family,
            end,
            start,
            report: candidate.report,
            has_other_end: candidate.is_variant,
        });
        let band = band(bands, end.since(start) + 1);
        let is_primary = report.primary_end == Some(end);
        match (report.family, band) {
            (Family::Annual, Some(Band::Year)) => {
                self.annual_ends.push(end);
                self.annual_ends.push(start.plus(-1));
                if is_primary {
                    self.year_ends.push((end, OWN_YEAR));
                    self.with_year.push(candidate.report);
                }
            }
            (Family::Annual, _) if is_primary && end.since(start) + 1 < bands.year[0] => {
                self.short.push((candidate.report, end, start));
            }
            (Family::Quarterly, Some(Band::Quarter)) => {
                self.quarter_ends.push(end);
                if is_primary {
                    self.with_quarter.push(candidate.report);
                    self.quarter_starts.push((start.plus(-1), candidate.report));
                }
            }
            (Family::Quarterly, Some(Band::Half | Band::NineMonths)) => {
                self.quarter_ends.push(end);
                if is_primary {
                    self.with_quarter.push(candidate.report);
                    self.ytd_starts.push((start.plus(-1), candidate.report));
                }
            }
            (Family::Quarterly, None) if is_primary && end.since(start) + 1 < bands.year[0] => {
                self.short.push((candidate.report, end, start));
            }
            _ => {}
        }
    }

    fn finish(
        mut self,
        rules: &Rules,
        reports: &[Report],
        state_same_figure: impl Fn(&ReportedStart, &ReportedStart) -> bool,
    ) -> Calendar {
        for complete in [&mut self.with_year, &mut self.with_quarter] {
            complete.sort_unstable();
            complete.dedup();
        }
        self.short.sort_unstable();
        let transitions = longest(&self.short, |report| {
            reports[report as usize].family == Family::Annual
                && self.with_year.binary_search(&report).is_err()
        });
        let mut stubs = longest(&self.short, |report| {
            reports[report as usize].family == Family::Quarterly
                && self.with_quarter.binary_search(&report).is_err()
        });
        stubs.extend(predecessors(&self.starts, reports, &rules.bands));
        stubs.sort_unstable();
        stubs.dedup();
        self.year_ends
            .extend(transitions.iter().map(|(end, _)| (*end, OWN_SHORT_YEAR)));
        let mut annual_ends = std::mem::take(&mut self.annual_ends);
        let mut quarter_ends = std::mem::take(&mut self.quarter_ends);
        let mut own_quarter_ends = Vec::new();
        for report in reports {
            match (report.primary_end, report.family, report.form) {
                (Some(end), Family::Annual, Form::TenK | Form::TenKA)
                    if transitions.iter().all(|(transition, _)| *transition != end) =>
                {
                    annual_ends.push(end);
                }
                (Some(end), Family::Quarterly, _) => own_quarter_ends.push(end),
                _ => {}
            }
        }
        quarter_ends.extend(&own_quarter_ends);
        for days in [&mut annual_ends, &mut quarter_ends, &mut own_quarter_ends] {
            days.sort_unstable();
            days.dedup();
        }
        let is_gap = |stated: &&ReportedStart| {
            let length = stated.end.since(stated.start) + 1;
            let is_short =
                band(&rules.bands, length).is_none() && (1..rules.bands.year[0]).contains(&length);
            stated.family == Family::Annual
                && is_short
                && is_between(&annual_ends, &rules.days, stated.start, stated.end)
        };
        let mut gap_ends: Vec<Day> = self
            .starts
            .iter()
            .filter(is_gap)
            .map(|stated| stated.end)
            .collect();
        gap_ends.sort_unstable();
        gap_ends.dedup();
        let label_offset = label_offset(&rules.label_offset, &rules.days, reports, &self.with_year);
        let variants = variants(
            std::mem::take(&mut self.starts),
            &rules.days,
            state_same_figure,
        );
        let boundaries = self.boundaries(&rules.days);
        Calendar {
            boundaries,
            annual_ends,
            quarter_ends,
            own_quarter_ends,
            variants,
            transitions,
            stubs,
            gap_ends,
            label_offset,
        }
    }

    /// Returns year ends without gaps, covering all dates of the figures.
    fn boundaries(mut self, days: &CalendarDays) -> Vec<Day> {
        let Some((first, last)) = self.range else {
            return Vec::new();
        };
        // Quarterly reports show a change of calendar before the first annual report does. Two
        // quarterly reports are sufficient evidence.
        self.ytd_starts.sort_unstable();
        self.ytd_starts.dedup();
        let shown = self
            .ytd_starts
            .chunk_by(|a, b| a.0 == b.0)
            .filter(|same| same.len() > 1 || self.year_ends.is_empty());
        let mut weighed: Vec<Weighed> = shown.map(|same| (same[0].0, 1)).collect();
        weighed.append(&mut self.year_ends);
        if weighed.is_empty() {
            weighed.extend(self.quarter_starts.iter().min().map(|(day, _)| (*day, 1)));
        }
        let known = cluster(weighed, days.same_end);
        let Some((earliest, latest)) = known.first().copied().zip(known.last().copied()) else {
            return Vec::new();
        };
        let mut boundaries: Vec<Day> = Vec::new();
        let mut before = earliest;
        while before.since(first) > -2 * YEAR {
            before = before.plus(-YEAR);
            boundaries.push(before);
        }
        boundaries.reverse();
        for pair in known.windows(2) {
            boundaries.push(pair[0]);
            fill(pair[0], pair[1], &mut boundaries);
        }
        boundaries.push(latest);
        let mut after = latest;
        while after.since(last) < 2 * YEAR {
            after = after.plus(YEAR);
            boundaries.push(after);
        }
        boundaries
    }
}

/// Returns the longest duration in each report that qualifies, as (end, start), in order. `short`
/// is sorted by report, end and start.
fn longest(short: &[(u32, Day, Day)], qualifies: impl Fn(u32) -> bool) -> Vec<(Day, Day)> {
    let of_reports = short
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|of_report| qualifies(of_report[0].0));
    let mut longest: Vec<(Day, Day)> = of_reports
        .map(|of_report| (of_report[0].1, of_report[0].2))
        .collect();
    longest.sort_unstable();
    longest.dedup();
    longest
}

/// Finds a predecessor's durations, as (end, start). A duration is a predecessor's if the same
/// report states another duration that is shorter than a quarter, begins on the next day and ends
/// with the report's own period.
fn predecessors(starts: &[ReportedStart], reports: &[Report], bands: &Bands) -> Vec<(Day, Day)> {
    let is_successor = |stated: &&ReportedStart| {
        reports[stated.report as usize].primary_end == Some(stated.end)
            && (1..bands.quarter[0]).contains(&(stated.end.since(stated.start) + 1))
    };
    let of = |successor: &ReportedStart| {
        let (report, last) = (successor.report, successor.start.plus(-1));
        starts
            .iter()
            .filter(move |stated| stated.report == report && stated.end == last)
            .map(|stated| (stated.end, stated.start))
    };
    starts.iter().filter(is_successor).flat_map(of).collect()
}

/// Finds starts that are a few days off the usual start for the same end. Includes starts that are
/// further off if another report states the same figure from that start.
fn variants(
    mut starts: Vec<ReportedStart>,
    days: &CalendarDays,
    state_same_figure: impl Fn(&ReportedStart, &ReportedStart) -> bool,
) -> Vec<StartVariant> {
    starts.sort_unstable();
    let is_near = |a: &ReportedStart, b: &ReportedStart| {
        let apart = b.start.since(a.start);
        apart <= days.same_start || (apart <= days.same_figure_start && state_same_figure(a, b))
    };
    let mut variants = Vec::new();
    for of_end in starts.chunk_by(|a, b| (a.family, a.end) == (b.family, b.end)) {
        for near in of_end.chunk_by(is_near) {
            if near[0].start == near[near.len() - 1].start {
                continue;
            }
            let is_far = near
                .windows(2)
                .any(|pair| pair[1].start.since(pair[0].start) > days.same_start);
            let Some(usual) = usual_start(near, is_far) else {
                continue;
            };
            let unusual = near
                .chunk_by(|a, b| a.start == b.start)
                .map(|same| same[0])
                .filter(|same| same.start != usual);
            variants.extend(unusual.map(
                |ReportedStart {
                     family, end, start, ..
                 }| StartVariant {
                    family,
                    end,
                    start,
                    usual,
                },
            ));
        }
    }
    variants
}

/// Returns the start that most figures have, or the first reported of several equally frequent
/// starts. If reports state different ends, returns the start from the latest report that states
/// the period's end, so that both days come from the same report. The latest report also decides
/// between starts that are far apart.
fn usual_start(near: &[ReportedStart], is_far: bool) -> Option<Day> {
    if is_far || near.iter().any(|stated| stated.has_other_end) {
        return near
            .iter()
            .max_by_key(|stated| (!stated.has_other_end, stated.report))
            .map(|stated| stated.start);
    }
    let equal = near.chunk_by(|a, b| a.start == b.start);
    equal
        .max_by_key(|same| (same.len(), std::cmp::Reverse(same[0].report)))
        .map(|same| same[0].start)
}

/// Merges nearby days into the day with the greatest weight.
fn cluster(mut weighed: Vec<Weighed>, same_end: i32) -> Vec<Day> {
    weighed.sort_unstable();
    let mut known: Vec<Weighed> = Vec::new();
    for same in weighed.chunk_by(|a, b| a.0 == b.0) {
        let day = (
            same[0].0,
            same.iter()
                .map(|(_, weight)| weight)
                .fold(0, |sum: u32, weight| sum.saturating_add(*weight)),
        );
        match known.last_mut() {
            Some(last) if day.0.since(last.0) <= same_end => {
                if day.1 > last.1 {
                    *last = day;
                }
            }
            _ => known.push(day),
        }
    }
    known.into_iter().map(|(day, _)| day).collect()
}

/// Projects the year ends between two known year ends. Divides the gap evenly if it consists of
/// complete years. Otherwise projects back from the later year end, because a company that changed
/// its calendar restates the past according to the new one.
fn fill(from: Day, to: Day, boundaries: &mut Vec<Day>) {
    let gap = to.since(from);
    let years = (gap + YEAR / 2) / YEAR;
    if years >= 1 && (gap - years * YEAR).abs() <= 20 {
        boundaries.extend((1..years).map(|year| from.plus(gap * year / years)));
        return;
    }
    let whole = (gap - 20) / YEAR;
    boundaries.extend((1..=whole).rev().map(|year| to.plus(-YEAR * year)));
}

/// Returns -1 if almost all of the company's own annual reports are stamped with the year before
/// the one given by the date.
fn label_offset(
    rule: &LabelOffset,
    days: &CalendarDays,
    reports: &[Report],
    with_year: &[u32],
) -> i32 {
    let own = with_year
        .iter()
        .map(|number| &reports[*number as usize])
        .filter(|report| report.form == Form::TenK);
    let differences = own.filter_map(|report| {
        Some(i32::from(report.fiscal_year?) - report.primary_end?.plus(-days.label).civil().0)
    });
    let (below, all) = differences.fold((0, 0), |(below, all), difference| {
        (below + usize::from(difference == -1), all + 1)
    });
    if all >= rule.min_reports && below * 100 >= rule.min_percent * all {
        -1
    } else {
        0
    }
}

/// Places a quarter. A fourth quarter has no quarterly report. After a change of calendar, such a
/// quarter belongs to the transition period.
fn assigned_quarter(fiscal_year: i32, fiscal_period: FiscalPeriod) -> Placement {
    let is_ytd = false;
    assigned_duration(fiscal_year, fiscal_period, is_ytd)
}

fn assigned_duration(fiscal_year: i32, fiscal_period: FiscalPeriod, is_ytd: bool) -> Placement {
    let series = if fiscal_period == FiscalPeriod::Q4 {
        Series::Transition
    } else {
        Series::Quarterly
    };
    Placement::Assigned {
        series,
        fiscal_year,
        fiscal_period,
        is_ytd,
        is_off: false,
    }
}
