//! Reads one period of a series as known on a given day: the report that counts, the value first
//! reported, and restatements by later filings.

use std::ops::Range;

use arrow::array::{Array, Date32Array};
use arrow::datatypes::{Decimal128Type, DecimalType};

use crate::days;
use crate::release::key_columns::cell;
use crate::sec::owners::Owned;
use crate::sec::periods::{Span, StatedPeriod};
use crate::sec::value_table::ValueTable;
use crate::sec::versions::{RestatementKind, Versions};
use pubdata_core::ids::Cik;

/// Reason for a period or a series that has figures only for the other span.
pub const NOT_IN_SPAN: &str = "not_in_span";

/// One period of a series, as rows of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Versions of the value, one for each report.
    pub versions: Versions,
    /// How the value came to differ from the value first reported; `None` if it does not differ.
    pub restatement_kind: Option<RestatementKind>,
    pub is_concept_changed: bool,
}

impl Figure {
    /// Reads the rows of one period. With `known_at`, only reports filed on or before that day
    /// count; returns `None` if there were no such reports.
    pub fn read(table: &ValueTable, rows: Range<usize>, known_at: Option<i32>) -> Option<Self> {
        let is_known = |row: usize| {
            !table.value.is_null(row)
                && known_at.is_none_or(|day| table.filed_date.value(row) <= day)
        };
        // Reports are sorted by filing time.
        let known = rows.clone().take_while(|row| is_known(*row)).count();
        let change = |row: usize| table.change.get(row);
        let versions = Versions::new(rows.start..rows.start + known, change, |row| {
            table.supersedes.value(row)
        })?;
        Some(Self {
            restatement_kind: table
                .is_restated
                .value(versions.latest())
                .then(|| versions.restatement_kind(change)),
            is_concept_changed: versions.is_concept_changed(change),
            versions,
        })
    }

    /// Returns the row whose value counts.
    pub fn latest(&self) -> usize {
        self.versions.latest()
    }

    /// Returns the first day of the period, in days since 1970-01-01; `None` for a balance.
    pub fn period_start(&self, table: &ValueTable) -> Option<i32> {
        cell(&table.period_start, self.latest())
    }

    /// Returns true if the figure has a span.
    pub fn has_span(&self, table: &ValueTable, span: Span) -> bool {
        let row = self.latest();
        span.matches(
            table.is_ytd.value(row),
            table.fiscal_period.get(row),
            self.period_start(table),
        )
    }

    /// Returns the distinct first and last days that reports state for the period, each pair with
    /// the first report that stated it. Empty if all reports agree on the end.
    pub fn stated_periods(&self, table: &ValueTable) -> Vec<StatedPeriod> {
        let mut stated: Vec<StatedPeriod> = Vec::new();
        for &row in self.versions.rows() {
            let (start, end) = stated_period(table, row);
            if stated
                .iter()
                .all(|seen| (seen.start, seen.end) != (start, end))
            {
                stated.push(StatedPeriod {
                    start,
                    end,
                    accession_number: table
                        .accession_number
                        .get(row)
                        .unwrap_or_default()
                        .to_owned(),
                });
            }
        }
        let has_other_end = stated.iter().any(|other| other.end != stated[0].end);
        if has_other_end { stated } else { Vec::new() }
    }

    /// Returns other figures for the same period: figures that the report states under other
    /// concepts of the metric, and figures with another scope in other reports.
    pub fn conflicts(&self, table: &ValueTable) -> Vec<String> {
        let mut conflicts: Vec<String> = table
            .conflicts
            .at(self.latest())
            .map(str::to_owned)
            .collect();
        for &row in self.versions.beside() {
            let scale = table.value.scale();
            let value = Decimal128Type::format_decimal(
                table.value.value(row),
                table.value.precision(),
                scale,
            );
            let value = if scale > 0 {
                value.trim_end_matches('0').trim_end_matches('.')
            } else {
                &value
            };
            let conflict = format!("{}={value}", table.concept.get(row).unwrap_or_default());
            let is_other = table.value.value(row) != table.value.value(self.latest());
            if is_other && !conflicts.contains(&conflict) {
                conflicts.push(conflict);
            }
        }
        conflicts
    }
}

/// Returns true if a form amends an earlier form.
pub fn is_amendment(form: &str) -> bool {
    form.ends_with("/A")
}

/// Returns the first and last day of a row's period as its report states them.
pub fn stated_period(table: &ValueTable, row: usize) -> (Option<i32>, Option<i32>) {
    let stated = |reported: &Date32Array, period: &Date32Array| {
        cell(reported, row).or_else(|| cell(period, row))
    };
    (
        stated(&table.reported_start, &table.period_start),
        stated(&table.reported_end, &table.period_end),
    )
}

/// A registrant's series for one metric: figures by period, or the reason why the series has no
/// figures.
#[derive(Default)]
pub struct Series {
    pub figures: Vec<Figure>,
    pub null_reason: Option<String>,
    /// Other concepts of the line that the company tags, each with the figure of the newest period,
    /// if these concepts are the reason.
    pub other_concepts: Vec<String>,
}

/// Returns the reason why a registrant has no figure for one fiscal period: the report was filed,
/// but the archive lacks its figures. Returns `None` if no report filed on or before the requested
/// day is known to lack figures.
pub fn reason_of_period<'a>(
    table: &'a Owned<ValueTable>,
    cik: Cik,
    metric: &str,
    filter: FigureFilter<'_>,
    period: (i32, &str),
) -> Option<&'a str> {
    let mut runs = table.runs(cik);
    let run = runs.find(|run| {
        table.metric.at(run.start) == metric && table.series.at(run.start) == filter.period
    })?;
    let is_period = |row: &usize| {
        table.value.is_null(*row)
            && (
                cell(&table.fiscal_year, *row),
                table.fiscal_period.get(*row),
            ) == (Some(period.0), Some(period.1))
            && filter
                .known_at
                .is_none_or(|day| table.filed_date.value(*row) <= day)
    };
    run.clone()
        .find(is_period)
        .and_then(|row| table.null_reason.get(row))
}

/// Lists the filed reports of a series whose figures the archive lacks, as `10-Q of 2025-07-31 for
/// 2025-06-30`.
pub fn reports_not_in_archive(
    table: &Owned<ValueTable>,
    cik: Cik,
    metrics: &[&str],
    filter: FigureFilter<'_>,
) -> Vec<String> {
    let runs = table.runs(cik).filter(|run| {
        metrics.contains(&table.metric.at(run.start)) && table.series.at(run.start) == filter.period
    });
    let is_missing = |row: &usize| {
        let year = || table.fiscal_year.value(*row);
        table.value.is_null(*row)
            && !table.filed_date.is_null(*row)
            && filter
                .known_at
                .is_none_or(|day| table.filed_date.value(*row) <= day)
            && filter.fiscal_year_from.is_none_or(|from| from <= year())
            && filter.fiscal_year_to.is_none_or(|to| year() <= to)
    };
    let text = |row: usize| {
        let [filed, end] =
            [&table.filed_date, &table.period_end].map(|dates| days::date(dates.value(row)));
        format!(
            "{} of {filed} for {end}",
            table.form.get(row).unwrap_or_default()
        )
    };
    runs.flatten().filter(is_missing).map(text).collect()
}

/// Selection of figures.
#[derive(Debug, Clone, Copy)]
pub struct FigureFilter<'a> {
    /// Period type: `annual` or `quarterly`.
    pub period: &'a str,
    pub fiscal_year_from: Option<i32>,
    pub fiscal_year_to: Option<i32>,
    /// Date until which reports count, in days since 1970-01-01.
    pub known_at: Option<i32>,
    pub span: Option<Span>,
}

/// Reads the series of the metrics by period, in the order of the metrics.
pub fn series(
    table: &Owned<ValueTable>,
    cik: Cik,
    metrics: &[&str],
    filter: FigureFilter<'_>,
) -> Vec<Series> {
    let mut found: Vec<Series> = metrics.iter().map(|_| Series::default()).collect();
    for run in table.runs(cik) {
        let Some(index) = metrics
            .iter()
            .position(|metric| *metric == table.metric.at(run.start))
        else {
            continue;
        };
        if table.series.at(run.start) != filter.period {
            continue;
        }
        let series = &mut found[index];
        let has_values = run.clone().any(|row| !table.value.is_null(row));
        if !has_values {
            series.null_reason = table.null_reason.get(run.start).map(str::to_owned);
            series.other_concepts = table.conflicts.at(run.start).map(str::to_owned).collect();
        }
        let in_range = |row: usize| {
            let year = cell(&table.fiscal_year, row);
            filter
                .fiscal_year_from
                .is_none_or(|from| year.is_some_and(|year| from <= year))
                && filter
                    .fiscal_year_to
                    .is_none_or(|to| year.is_some_and(|year| year <= to))
        };
        let known: Vec<Figure> = table
            .periods(run)
            .filter_map(|rows| Figure::read(table, rows, filter.known_at))
            .collect();
        let is_unknown = known.is_empty();
        let of_years: Vec<Figure> = known
            .into_iter()
            .filter(|figure| in_range(figure.latest()))
            .collect();
        let is_out_of_range = of_years.is_empty();
        series.figures = of_years
            .into_iter()
            .filter(|figure| filter.span.is_none_or(|span| figure.has_span(table, span)))
            .collect();
        if series.figures.is_empty() && has_values {
            let reason = if is_unknown {
                "not_known_yet"
            } else if is_out_of_range {
                "not_in_range"
            } else {
                NOT_IN_SPAN
            };
            series.null_reason = Some(reason.to_owned());
        }
    }
    found
}
