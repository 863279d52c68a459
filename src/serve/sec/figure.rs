//! What a series says of one period, by the time a caller asks about: which report counts, what was reported first, and whether a later
//! filing restated it.

use std::ops::Range;

use arrow::array::{Array, Date32Array};
use arrow::datatypes::{Decimal128Type, DecimalType};

use crate::days;
use crate::json::Json;
use crate::release::provenance::ProvenanceWriter;
use crate::sec::links::{FilingKey, Links};
use crate::sec::periods::{Span, StatedPeriod};
use crate::sec::value_table::ValueTable;
use crate::sec::versions::Versions;
use pubdata_core::ids::Cik;

/// Members of a value object between its unit and its reason that a period without a figure has no values of, in the order of [`Figure::write`].
const OF_REPORT: [&str; 11] = [
    "is_ytd",
    "concept",
    "form",
    "filed_date",
    "accession_number",
    "evidence_url",
    "is_amendment",
    "is_restated",
    "restatement_kind",
    "concept_changed",
    "first_reported",
];

/// Reason of a period or a series whose figures have the other span.
pub const NOT_IN_SPAN: &str = "not_in_span";

/// One period of a series: rows of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// What had been reported.
    versions: Versions,
    /// How the value came to differ from the one first reported; none when it does not.
    restatement_kind: Option<&'static str>,
    is_concept_changed: bool,
}

/// Where figures are written from.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub cik: Cik,
    pub table: &'a ValueTable,
    pub provenance: &'a ProvenanceWriter<'a>,
    pub links: &'a Links,
}

impl Figure {
    /// Reads the rows of one period. With `known_at` only what had been filed by that day counts; none when nothing had.
    pub fn read(table: &ValueTable, rows: Range<usize>, known_at: Option<i32>) -> Option<Self> {
        let is_known = |row: usize| !table.values.is_null(row) && known_at.is_none_or(|day| table.filed_dates.value(row) <= day);
        // Reports are sorted by the time they were filed.
        let known = rows.clone().take_while(|row| is_known(*row)).count();
        let change = |row: usize| table.changes.get(row);
        let versions = Versions::new(rows.start..rows.start + known, change, |row| table.supersedes.value(row))?;
        Some(Self {
            restatement_kind: table.restated.value(versions.latest()).then(|| versions.restatement_kind(change)),
            is_concept_changed: versions.is_concept_changed(change),
            versions,
        })
    }

    /// The row whose value counts.
    pub fn latest(&self) -> usize {
        self.versions.latest()
    }

    /// First day of the period, in days since 1970-01-01; none for a balance.
    pub fn period_start(&self, table: &ValueTable) -> Option<i32> {
        day_at(&table.period_starts, self.latest())
    }

    /// Whether the figure has a span.
    pub fn has_span(&self, table: &ValueTable, span: Span) -> bool {
        let row = self.latest();
        span.matches(table.ytd.value(row), table.fiscal_periods.get(row), self.period_start(table))
    }

    /// What reports state of the period's days, where they state its end differently: each statement once, with the report that made it first.
    pub fn stated_periods(&self, table: &ValueTable) -> Vec<StatedPeriod> {
        let mut stated: Vec<StatedPeriod> = Vec::new();
        for &row in self.versions.rows() {
            let (start, end) = stated_period(table, row);
            if stated.iter().all(|seen| (seen.start, seen.end) != (start, end)) {
                stated.push(StatedPeriod { start, end, accession_number: table.accession_numbers.get(row).unwrap_or_default().to_owned() });
            }
        }
        let has_other_end = stated.iter().any(|other| other.end != stated[0].end);
        if has_other_end { stated } else { Vec::new() }
    }

    /// Other figures of the same period: those that the report itself states under other concepts of the metric, and those of another scope that
    /// other reports state.
    fn conflicts(&self, table: &ValueTable) -> Vec<String> {
        let mut conflicts: Vec<String> = table.conflicts.at(self.latest()).map(str::to_owned).collect();
        for &row in self.versions.beside() {
            let scale = table.values.scale();
            let value = Decimal128Type::format_decimal(table.values.value(row), table.values.precision(), scale);
            let value = if scale > 0 { value.trim_end_matches('0').trim_end_matches('.') } else { &value };
            let conflict = format!("{}={value}", table.concepts.get(row).unwrap_or_default());
            let is_other = table.values.value(row) != table.values.value(self.latest());
            if is_other && !conflicts.contains(&conflict) {
                conflicts.push(conflict);
            }
        }
        conflicts
    }

    /// Writes the members of a value object.
    pub fn write(&self, json: &mut Json, source: &Source<'_>, has_history: bool) {
        let (table, row) = (source.table, self.latest());
        let integer = |row: usize| (!table.fiscal_years.is_null(row)).then(|| table.fiscal_years.value(row));
        let day = |days: &Date32Array| day_at(days, row);
        json.key("metric").text(table.metrics.at(row));
        json.key("fiscal_year").optional_integer(integer(row).map(i64::from));
        json.key("fiscal_period").optional_text(table.fiscal_periods.get(row));
        json.key("period_start").optional_day(day(&table.period_starts));
        json.key("period_end").optional_day(day(&table.period_ends));
        json.key("as_of_date").optional_day(day(&table.as_of_dates));
        write_value(json.key("value"), table, row);
        json.key("unit").text(table.units.at(row));
        json.key("is_ytd").flag(table.ytd.value(row));
        json.key("concept").optional_text(table.concepts.get(row));
        write_report(json, source, row);
        json.key("is_amendment").flag(table.forms.get(row).is_some_and(is_amendment));
        json.key("is_restated").flag(self.restatement_kind.is_some());
        json.key("restatement_kind").optional_text(self.restatement_kind);
        json.key("concept_changed").flag(self.is_concept_changed);
        json.key("first_reported");
        if self.restatement_kind.is_some() {
            let first = self.versions.first();
            json.object(|json| {
                write_value(json.key("value"), table, first);
                json.key("concept").optional_text(table.concepts.get(first));
                write_report(json, source, first);
                json.key("record_id").text(table.record_ids.at(first));
            });
        } else {
            json.null();
        }
        json.key("conflicts").array(|json| self.conflicts(table).iter().for_each(|conflict| json.text(conflict)));
        json.key("null_reason").null();
        json.key("warnings").texts(table.warnings.at(row));
        if has_history {
            json.key("history").array(|json| self.versions.rows().iter().for_each(|row| write_version(json, source, *row)));
        }
        source.provenance.write(json.key("provenance"), &table.row_sources, row, table.validation_statuses.at(row), table.record_ids.at(row));
    }
}

/// A period of a series that has no figure.
#[derive(Clone, Copy)]
pub struct AbsentFigure<'a> {
    pub metric: &'a str,
    pub unit: &'a str,
    pub fiscal_year: i32,
    pub fiscal_period: &'a str,
    pub null_reason: &'a str,
}

impl AbsentFigure<'_> {
    /// Writes the members of a value object, in the order of [`Figure::write`].
    pub fn write(&self, json: &mut Json) {
        json.key("metric").text(self.metric);
        json.key("fiscal_year").integer(i64::from(self.fiscal_year));
        json.key("fiscal_period").text(self.fiscal_period);
        ["period_start", "period_end", "as_of_date", "value"].into_iter().for_each(|member| json.key(member).null());
        json.key("unit").text(self.unit);
        OF_REPORT.into_iter().for_each(|member| json.key(member).null());
        json.key("conflicts").array(|_| {});
        json.key("null_reason").text(self.null_reason);
        json.key("warnings").array(|_| {});
        json.key("provenance").null();
    }
}

fn day_at(days: &Date32Array, row: usize) -> Option<i32> {
    (!days.is_null(row)).then(|| days.value(row))
}

/// First and last day of a row's period as its report states them.
fn stated_period(table: &ValueTable, row: usize) -> (Option<i32>, Option<i32>) {
    let stated = |reported: &Date32Array, period: &Date32Array| day_at(reported, row).or_else(|| day_at(period, row));
    (stated(&table.reported_starts, &table.period_starts), stated(&table.reported_ends, &table.period_ends))
}

/// Writes one report of the value, with the period as that report states it.
fn write_version(json: &mut Json, source: &Source<'_>, row: usize) {
    let table = source.table;
    json.object(|json| {
        let (start, end) = stated_period(table, row);
        json.key("period_start").optional_day(start);
        json.key("period_end").optional_day(end);
        write_value(json.key("value"), table, row);
        write_report(json, source, row);
        json.key("concept").optional_text(table.concepts.get(row));
        json.key("change").optional_text(table.changes.get(row));
        json.key("supersedes").flag(table.supersedes.value(row));
        json.key("conflicts").texts(table.conflicts.at(row));
        json.key("record_id").text(table.record_ids.at(row));
    });
}

/// Writes which filing reported a value.
fn write_report(json: &mut Json, source: &Source<'_>, row: usize) {
    let table = source.table;
    let accession_number = table.accession_numbers.get(row);
    let key = accession_number.map(|accession_number| FilingKey { cik: source.cik, accession_number, primary_document: None });
    json.key("form").optional_text(table.forms.get(row));
    json.key("filed_date").optional_day((!table.filed_dates.is_null(row)).then(|| table.filed_dates.value(row)));
    json.key("accession_number").optional_text(accession_number);
    json.key("evidence_url").optional_text(key.and_then(|key| source.links.evidence(key)).as_deref());
}

fn write_value(json: &mut Json, table: &ValueTable, row: usize) {
    // The contract's scale is ten digits; a negative one has no meaning there.
    let scale = u8::try_from(table.values.scale()).unwrap_or_default();
    if table.values.is_null(row) { json.null() } else { json.wide_decimal(table.values.value(row), scale) }
}

/// Whether a form corrects an earlier one.
pub fn is_amendment(form: &str) -> bool {
    form.ends_with("/A")
}

/// A registrant's series of one metric: figures by period, or why there are none.
#[derive(Default)]
pub struct Series {
    pub figures: Vec<Figure>,
    pub null_reason: Option<String>,
    /// Other concepts of the line that the company tags, with the figure of the newest period; where that is the reason.
    pub other_concepts: Vec<String>,
}

/// Why a registrant has no figure of one fiscal period of a series: its report was filed and the archive lacks its figures. None where that is not
/// known of any report filed by the day asked about.
pub fn reason_of_period<'a>(table: &'a ValueTable, cik: Cik, metric: &str, wanted: Wanted<'_>, period: (i32, &str)) -> Option<&'a str> {
    let mut runs = table.runs(cik);
    let run = runs.find(|run| table.metrics.at(run.start) == metric && table.series.at(run.start) == wanted.period)?;
    let is_period = |row: &usize| {
        table.values.is_null(*row)
            && !table.fiscal_years.is_null(*row)
            && (table.fiscal_years.value(*row), table.fiscal_periods.get(*row)) == (period.0, Some(period.1))
            && wanted.known_at.is_none_or(|day| table.filed_dates.value(*row) <= day)
    };
    run.clone().find(is_period).and_then(|row| table.null_reasons.get(row))
}

/// The reports of a series that were filed and whose figures the archive lacks, as `10-Q of 2025-07-31 for 2025-06-30`.
pub fn reports_not_in_archive(table: &ValueTable, cik: Cik, metrics: &[&str], wanted: Wanted<'_>) -> Vec<String> {
    let runs = table.runs(cik).filter(|run| metrics.contains(&table.metrics.at(run.start)) && table.series.at(run.start) == wanted.period);
    let is_missing = |row: &usize| {
        let year = || table.fiscal_years.value(*row);
        table.values.is_null(*row)
            && !table.filed_dates.is_null(*row)
            && wanted.known_at.is_none_or(|day| table.filed_dates.value(*row) <= day)
            && wanted.fiscal_year_from.is_none_or(|from| from <= year())
            && wanted.fiscal_year_to.is_none_or(|to| year() <= to)
    };
    let text = |row: usize| {
        let [filed, end] = [&table.filed_dates, &table.period_ends].map(|dates| days::date(dates.value(row)));
        format!("{} of {filed} for {end}", table.forms.get(row).unwrap_or_default())
    };
    runs.flatten().filter(is_missing).map(text).collect()
}

/// Which figures are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// `annual` or `quarterly`.
    pub period: &'a str,
    pub fiscal_year_from: Option<i32>,
    pub fiscal_year_to: Option<i32>,
    /// Days since 1970-01-01.
    pub known_at: Option<i32>,
    pub span: Option<Span>,
}

/// Reads the series of the metrics, in their order, by period.
pub fn series(table: &ValueTable, cik: Cik, metrics: &[&str], wanted: Wanted<'_>) -> Vec<Series> {
    let mut found: Vec<Series> = metrics.iter().map(|_| Series::default()).collect();
    for run in table.runs(cik) {
        let Some(index) = metrics.iter().position(|metric| *metric == table.metrics.at(run.start)) else { continue };
        if table.series.at(run.start) != wanted.period {
            continue;
        }
        let series = &mut found[index];
        let has_values = run.clone().any(|row| !table.values.is_null(row));
        if !has_values {
            series.null_reason = table.null_reasons.get(run.start).map(str::to_owned);
            series.other_concepts = table.conflicts.at(run.start).map(str::to_owned).collect();
        }
        let in_range = |row: usize| {
            let year = (!table.fiscal_years.is_null(row)).then(|| table.fiscal_years.value(row));
            wanted.fiscal_year_from.is_none_or(|from| year.is_some_and(|year| from <= year))
                && wanted.fiscal_year_to.is_none_or(|to| year.is_some_and(|year| year <= to))
        };
        let known: Vec<Figure> = table.periods(run).filter_map(|rows| Figure::read(table, rows, wanted.known_at)).collect();
        let is_unknown = known.is_empty();
        let of_years: Vec<Figure> = known.into_iter().filter(|figure| in_range(figure.latest())).collect();
        let is_out_of_range = of_years.is_empty();
        series.figures = of_years.into_iter().filter(|figure| wanted.span.is_none_or(|span| figure.has_span(table, span))).collect();
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
