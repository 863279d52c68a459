//! The rows of the two tables of figures, and what they have in common.

mod lines;
mod values;

use polars::prelude::*;

use crate::contract::LIST_SEPARATOR;
use crate::datasets::sec::fact::{Amount, Unit};
use crate::datasets::sec::financials::observation::{Finding, Observation};
use crate::datasets::sec::financials::period::{NO_START, Period, Series as History};
use crate::datasets::sec::financials::select::Selected;
use crate::datasets::sec::financials::settings::Rules;
use crate::datasets::sec::financials::warnings::Warnings;
use crate::error::Result;
use crate::ids::Cik;
use crate::issue::{Issue, Severity};
use crate::normalise::{Day, pointer_column};
use crate::provenance::SourcePointer;

pub use lines::lines_frame;
pub use values::values_frame;

pub const VALUES: &str = "sec.financial_value";
pub const LINES: &str = "sec.statement_line";

/// The figures of one registrant and the member they come from.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub selected: &'a Selected,
    /// Numbers of the snapshot and of the member, for pointers.
    pub input: u64,
    pub member: u64,
    /// Size of the member, for the pointers of what it does not say.
    pub size_bytes: u64,
}
impl Finding {
    /// The finding as an issue about the record that is not published.
    pub fn issue(&self, rules: &Rules, selected: &Selected, pointer: SourcePointer) -> Issue {
        let metric = &rules.measures[self.measure].key;
        let report = &selected.reports[self.report as usize];
        let mut period = String::new();
        push_period(&mut period, self.start, self.end);
        let detail = format!("{metric} of {period} in {} {} has no place in a series", report.form.name(), report.accession);
        Issue {
            code: self.code.to_owned(),
            severity: Severity::Quarantine,
            dataset_id: VALUES.to_owned(),
            record: Some(format!("{VALUES}:{}:{metric}:{period}:{}", selected.cik, report.accession)),
            detail,
            source_text: None,
            pointer: Some(SourcePointer { offset: u64::from(self.offset), length: u64::from(self.length), ..pointer }),
        }
    }
}

/// Texts that many rows of a registrant share.
struct Texts {
    cik: String,
    accessions: Vec<String>,
}

impl Texts {
    fn new(selected: &Selected) -> Self {
        Self { cik: cik_text(selected.cik), accessions: selected.reports.iter().map(|report| report.accession.to_string()).collect() }
    }
}

fn cik_text(cik: Cik) -> String {
    cik.to_string()
}

/// Columns that both tables have.
struct Common {
    record_id: StringChunkedBuilder,
    cik: StringChunkedBuilder,
    unit: StringChunkedBuilder,
    series: StringChunkedBuilder,
    fiscal_year: Vec<Option<i32>>,
    fiscal_period: StringChunkedBuilder,
    period_start: Vec<Option<i32>>,
    period_end: Vec<Option<i32>>,
    is_ytd: Vec<bool>,
    value: StringChunkedBuilder,
    concept: StringChunkedBuilder,
    form: StringChunkedBuilder,
    filed_date: Vec<Option<i32>>,
    accession_number: StringChunkedBuilder,
    warnings: StringChunkedBuilder,
    pointers: Vec<[u64; 4]>,
    /// Rows without a pointer hold none: a figure that was never reported is nowhere.
    text: String,
}

fn texts(name: &str, rows: usize) -> StringChunkedBuilder {
    StringChunkedBuilder::new(name.into(), rows)
}

impl Common {
    fn new(rows: usize) -> Self {
        Self {
            record_id: texts("record_id", rows),
            cik: texts("cik", rows),
            unit: texts("unit", rows),
            series: texts("series", rows),
            fiscal_year: Vec::with_capacity(rows),
            fiscal_period: texts("fiscal_period", rows),
            period_start: Vec::with_capacity(rows),
            period_end: Vec::with_capacity(rows),
            is_ytd: Vec::with_capacity(rows),
            value: texts("value", rows),
            concept: texts("concept", rows),
            form: texts("form", rows),
            filed_date: Vec::with_capacity(rows),
            accession_number: texts("accession_number", rows),
            warnings: texts("warnings", rows),
            pointers: Vec::with_capacity(rows),
            text: String::with_capacity(128),
        }
    }

    /// Begins a record id with dataset and registrant; `finish_id` adds it.
    fn begin_id(&mut self, dataset_id: &str, cik: &str) -> &mut String {
        self.text.clear();
        self.text.push_str(dataset_id);
        self.text.push(':');
        self.text.push_str(cik);
        self.text.push(':');
        &mut self.text
    }

    fn finish_id(&mut self) {
        self.record_id.append_value(&self.text);
    }

    fn add_period(&mut self, unit: Unit, period: &Period) {
        self.unit.append_value(unit_name(unit));
        self.series.append_value(period.series.name());
        self.fiscal_year.push(Some(period.fiscal_year));
        self.fiscal_period.append_value(period.fiscal_period.name());
        self.period_start.push((period.start != NO_START).then(|| period.start.number()));
        self.period_end.push(Some(period.end.number()));
        self.is_ytd.push(period.is_ytd);
    }

    fn add_observation(&mut self, rules: &Rules, source: &Source<'_>, texts: &Texts, observation: &Observation) {
        let report = &source.selected.reports[observation.report as usize];
        self.text.clear();
        push_amount(&mut self.text, observation.value);
        self.value.append_value(&self.text);
        self.concept.append_value(rules.concept(observation.concept));
        self.form.append_value(report.form.name());
        self.filed_date.push(Some(report.filed.number()));
        self.accession_number.append_value(&texts.accessions[observation.report as usize]);
        self.add_warnings(observation.warnings);
        self.pointers.push([source.input, source.member, u64::from(observation.offset), u64::from(observation.length)]);
    }

    /// Adds what is common to a row without a value: it points to the whole member, which does not say it.
    fn add_missing(&mut self, unit: Unit, series: History, pointer: [u64; 4]) {
        self.unit.append_value(unit_name(unit));
        self.series.append_value(series.name());
        self.is_ytd.push(false);
        for numbers in [&mut self.fiscal_year, &mut self.period_start, &mut self.period_end, &mut self.filed_date] {
            numbers.push(None);
        }
        for texts in [&mut self.fiscal_period, &mut self.value, &mut self.concept, &mut self.form, &mut self.accession_number] {
            texts.append_null();
        }
        self.add_warnings(Warnings::default());
        self.pointers.push(pointer);
    }

    fn add_warnings(&mut self, warnings: Warnings) {
        self.text.clear();
        for code in warnings.codes() {
            push_item(&mut self.text, code);
        }
        self.warnings.append_value(&self.text);
    }

    fn finish(self, bucket: &str) -> Result<Vec<Column>> {
        let height = self.is_ytd.len();
        let lists = self.pointers.iter().map(<[u64; 4]>::as_slice);
        Ok(vec![
            self.record_id.finish().into_column(),
            StringChunked::full("bucket".into(), bucket, height).into_column(),
            self.cik.finish().into_column(),
            self.unit.finish().into_column(),
            self.series.finish().into_column(),
            Column::new("fiscal_year".into(), self.fiscal_year),
            self.fiscal_period.finish().into_column(),
            dates("period_start", self.period_start)?,
            dates("period_end", self.period_end)?,
            Column::new("is_ytd".into(), self.is_ytd),
            self.value.finish().into_column(),
            self.concept.finish().into_column(),
            self.form.finish().into_column(),
            dates("filed_date", self.filed_date)?,
            self.accession_number.finish().into_column(),
            self.warnings.finish().into_column(),
            pointer_column(lists),
        ])
    }
}
fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Usd => "USD",
        Unit::UsdPerShare => "USD/shares",
        Unit::Shares => "shares",
        Unit::Other => "other",
    }
}

fn dates(name: &str, days: Vec<Option<i32>>) -> Result<Column> {
    Ok(Column::new(name.into(), days).cast(&DataType::Date)?)
}

/// Adds an item to a list.
fn push_item(text: &mut String, item: &str) {
    if !text.is_empty() {
        text.push_str(LIST_SEPARATOR);
    }
    text.push_str(item);
}

/// Adds a period as record ids have it: `2019-09-29..2020-09-26`, or the day of an instant.
fn push_period(text: &mut String, start: Day, end: Day) {
    if start != NO_START {
        push_day(text, start);
        text.push_str("..");
    }
    push_day(text, end);
}

/// Adds a day as `YYYY-MM-DD`. Written by hand: every row has several.
fn push_day(text: &mut String, day: Day) {
    let (year, month, day_of_month) = day.civil();
    let year = u32::try_from(year).unwrap_or(0);
    push_digits(text, year / 100);
    push_digits(text, year % 100);
    text.push('-');
    push_digits(text, u32::from(month));
    text.push('-');
    push_digits(text, u32::from(day_of_month));
}

fn push_digits(text: &mut String, number: u32) {
    for digit in [number / 10 % 10, number % 10] {
        text.push(char::from_digit(digit, 10).unwrap_or('0'));
    }
}

/// Adds a decimal number without exponent and without zeros at the end of its fraction.
fn push_amount(text: &mut String, amount: Amount) {
    use std::fmt::Write;
    const ONE: u128 = 10_000_000_000;
    if amount.0 < 0 {
        text.push('-');
    }
    let magnitude = amount.0.unsigned_abs();
    let (whole, fraction) = (magnitude / ONE, magnitude % ONE);
    // Writing to a string does not fail; a number of 64 bits is written faster.
    let _ = match u64::try_from(whole) {
        Ok(whole) => write!(text, "{whole}"),
        Err(_) => write!(text, "{whole}"),
    };
    if fraction > 0 {
        let _ = write!(text, ".{fraction:010}");
        text.truncate(text.trim_end_matches('0').len());
    }
}

#[cfg(test)]
mod tests {
    use super::{Amount, Day, NO_START, push_amount, push_period};

    #[test]
    fn numbers_and_periods_are_written_exactly() {
        let written = |amount: i128| {
            let mut text = String::new();
            push_amount(&mut text, Amount(amount));
            text
        };
        assert_eq!(written(2_745_150_000_000_000_000_000), "274515000000");
        assert_eq!(written(-151_500_000_000), "-15.15");
        assert_eq!(written(60_000), "0.000006");
        assert_eq!(written(0), "0");
        assert_eq!(written(100_000_000_000), "10");
        let mut text = String::new();
        let day = |iso: &str| Day::from_iso(iso.as_bytes()).unwrap();
        push_period(&mut text, day("2019-09-29"), day("2020-09-26"));
        text.push(' ');
        push_period(&mut text, NO_START, day("2009-01-03"));
        assert_eq!(text, "2019-09-29..2020-09-26 2009-01-03");
    }
}
