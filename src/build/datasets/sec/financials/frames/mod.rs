//! Builds the rows of the two figure tables, including the columns they have in common.

mod lines;
mod text;
mod values;

use std::iter::repeat_n;

use polars::prelude::*;

use crate::datasets::sec::fact::Unit;
use crate::datasets::sec::financials::cover::CONTRADICTED;
use crate::datasets::sec::financials::missing::Missing;
use crate::datasets::sec::financials::observation::{Finding, Observation};
use crate::datasets::sec::financials::period::{NO_START, Period};
use crate::datasets::sec::financials::select::Selected;
use crate::datasets::sec::financials::selection::STATED_IN_PARTS;
use crate::datasets::sec::financials::settings::Rules;
use crate::datasets::sec::financials::warnings::Warnings;
use crate::normalise::{DictionaryColumnBuilder, list_column, pointer_column};
use pubdata_core::error::Result;
use pubdata_core::ids::Cik;
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::provenance::SourcePointer;
use text::{push_amount, push_period};

pub use lines::lines_frame;
pub use values::values_frame;

pub const VALUES: &str = "sec.financial_value";
pub const LINES: &str = "sec.statement_line";

/// A registrant's figures and the member from which they come.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub selected: &'a Selected,
    /// Numbers that identify the snapshot and the member, for pointers.
    pub input: u64,
    pub member: u64,
    /// Size of the member, for pointers to missing figures.
    pub size_bytes: u64,
}
impl Finding {
    /// Converts the finding to an issue about the unpublished record.
    pub fn issue(&self, rules: &Rules, selected: &Selected, pointer: SourcePointer) -> Issue {
        let metric = &rules.measures[self.measure].key;
        let report = &selected.reports[self.report as usize];
        let mut period = String::new();
        push_period(&mut period, self.start, self.end);
        let what = match self.code {
            STATED_IN_PARTS => "is a part of the figure, and the report states no total",
            CONTRADICTED => "is not the number of shares that the report's other figures imply",
            _ => "has no place in a series",
        };
        let detail = format!(
            "{metric} of {period} in {} {} {what}",
            report.form.name(),
            report.accession
        );
        Issue {
            code: self.code.to_owned(),
            severity: Severity::Quarantine,
            dataset_id: VALUES.to_owned(),
            record: Some(format!(
                "{VALUES}:{}:{metric}:{period}:{}",
                selected.cik, report.accession
            )),
            detail,
            source_text: None,
            pointer: Some(SourcePointer {
                offset: u64::from(self.offset),
                length: u64::from(self.length),
                ..pointer
            }),
        }
    }
}

/// Texts shared by many of a registrant's rows.
struct Texts {
    cik: String,
    accessions: Vec<String>,
}

impl Texts {
    fn new(selected: &Selected) -> Self {
        Self {
            cik: cik_text(selected.cik),
            accessions: selected
                .reports
                .iter()
                .map(|report| report.accession.to_string())
                .collect(),
        }
    }
}

fn cik_text(cik: Cik) -> String {
    cik.to_string()
}

/// Columns that both tables contain.
struct Common {
    record_id: StringChunkedBuilder,
    cik: DictionaryColumnBuilder,
    /// Dictionary indexes for the current registrant: its CIK, its first report's accession number,
    /// and each report's form.
    cik_place: usize,
    first_accession: usize,
    forms: Vec<usize>,
    unit: DictionaryColumnBuilder,
    series: DictionaryColumnBuilder,
    fiscal_year: Vec<Option<i32>>,
    fiscal_period: DictionaryColumnBuilder,
    period_start: Vec<Option<i32>>,
    period_end: Vec<Option<i32>>,
    is_ytd: Vec<bool>,
    value: StringChunkedBuilder,
    /// Dictionary whose values are the concepts in the rules, in the same order.
    concept: DictionaryColumnBuilder,
    form: DictionaryColumnBuilder,
    filed_date: Vec<Option<i32>>,
    accession_number: DictionaryColumnBuilder,
    warnings: Vec<Warnings>,
    observation: Vec<Option<i32>>,
    is_latest: Vec<bool>,
    change: DictionaryColumnBuilder,
    supersedes: Vec<bool>,
    is_restated: Vec<bool>,
    /// The period as stated in the report, if it differs.
    reported_start: Vec<Option<i32>>,
    reported_end: Vec<Option<i32>>,
    pointers: Vec<[u64; 4]>,
    /// Buffer for the current record id.
    id: String,
    /// Buffer for other text.
    text: String,
}

fn texts(name: &str, rows: usize) -> StringChunkedBuilder {
    StringChunkedBuilder::new(name.into(), rows)
}

impl Common {
    fn new(rows: usize, rules: &Rules) -> Self {
        let mut concept = DictionaryColumnBuilder::with_capacity(rows);
        for name in &rules.concepts {
            concept.add_value(name);
        }
        Self {
            record_id: texts("record_id", rows),
            cik: DictionaryColumnBuilder::with_capacity(rows),
            cik_place: 0,
            first_accession: 0,
            forms: Vec::new(),
            unit: DictionaryColumnBuilder::with_capacity(rows),
            series: DictionaryColumnBuilder::with_capacity(rows),
            fiscal_year: Vec::with_capacity(rows),
            fiscal_period: DictionaryColumnBuilder::with_capacity(rows),
            period_start: Vec::with_capacity(rows),
            period_end: Vec::with_capacity(rows),
            is_ytd: Vec::with_capacity(rows),
            value: texts("value", rows),
            concept,
            form: DictionaryColumnBuilder::with_capacity(rows),
            filed_date: Vec::with_capacity(rows),
            accession_number: DictionaryColumnBuilder::with_capacity(rows),
            warnings: Vec::with_capacity(rows),
            observation: Vec::with_capacity(rows),
            is_latest: Vec::with_capacity(rows),
            change: DictionaryColumnBuilder::with_capacity(rows),
            supersedes: Vec::with_capacity(rows),
            is_restated: Vec::with_capacity(rows),
            reported_start: Vec::with_capacity(rows),
            reported_end: Vec::with_capacity(rows),
            pointers: Vec::with_capacity(rows),
            id: String::with_capacity(128),
            text: String::with_capacity(128),
        }
    }

    /// Begins a registrant's rows.
    fn begin_source(&mut self, source: &Source<'_>, texts: &Texts) {
        self.cik_place = self.cik.add_value(texts.cik.as_str());
        self.first_accession = texts
            .accessions
            .iter()
            .map(|accession| self.accession_number.add_value(accession.as_str()))
            .min()
            .unwrap_or_default();
        self.forms.clear();
        self.forms.extend(
            source
                .selected
                .reports
                .iter()
                .map(|report| self.form.place_of(report.form.name())),
        );
    }

    /// Begins record ids with the dataset and registrant; `finish_id` adds a complete id.
    fn begin_id(&mut self, dataset_id: &str, cik: &str) -> &mut String {
        self.id.clear();
        for part in [dataset_id, ":", cik, ":"] {
            self.id.push_str(part);
        }
        &mut self.id
    }

    fn finish_id(&mut self) {
        self.record_id.append_value(&self.id);
        self.cik.push_index(self.cik_place);
    }

    /// Adds the values shared by all rows for a period.
    fn add_period(&mut self, unit: Unit, period: &Period) {
        let rows = period.observations().len();
        self.cik.push_indices(self.cik_place, rows);
        self.unit.push_times(unit_name(unit), rows);
        self.series.push_times(period.series.name(), rows);
        self.fiscal_year
            .extend(repeat_n(Some(period.fiscal_year), rows));
        self.fiscal_period
            .push_times(period.fiscal_period.name(), rows);
        self.period_start.extend(repeat_n(
            (period.start != NO_START).then(|| period.start.number()),
            rows,
        ));
        self.period_end
            .extend(repeat_n(Some(period.end.number()), rows));
        self.is_ytd.extend(repeat_n(period.is_ytd, rows));
    }

    /// Adds the remaining values to a period's row, whose record id is complete up to the report.
    /// `position` is the observation's index among the registrant's observations.
    fn add_observation(
        &mut self,
        source: &Source<'_>,
        texts: &Texts,
        period: &Period,
        position: usize,
    ) {
        let observation = &source.selected.observations[position];
        let report = &source.selected.reports[observation.report as usize];
        let start_len = self.id.len();
        self.id
            .push_str(&texts.accessions[observation.report as usize]);
        self.record_id.append_value(&self.id);
        self.id.truncate(start_len);
        self.text.clear();
        push_amount(&mut self.text, observation.value);
        self.value.append_value(&self.text);
        self.add_concept(source, observation);
        self.form
            .push_index(self.forms[observation.report as usize]);
        self.filed_date.push(Some(report.filed.number()));
        self.accession_number
            .push_index(self.first_accession + observation.report as usize);
        self.warnings.push(observation.warnings);
        self.observation
            .push(i32::try_from(position - period.observations().start + 1).ok());
        self.is_latest.push(position == period.latest());
        self.change.push(observation.change.name());
        self.supersedes.push(observation.supersedes);
        self.is_restated.push(observation.is_restated);
        let is_of_period = observation.as_of.is_none();
        self.reported_start.push(
            (is_of_period && observation.start != period.start).then(|| observation.start.number()),
        );
        self.reported_end.push(
            (is_of_period && observation.end != period.end).then(|| observation.end.number()),
        );
    }

    /// Adds the figure's concept and its pointer.
    fn add_concept(&mut self, source: &Source<'_>, observation: &Observation) {
        self.concept.push_index(usize::from(observation.concept));
        self.pointers.push([
            source.input,
            source.member,
            u64::from(observation.offset),
            u64::from(observation.length),
        ]);
    }

    /// Adds the common values for a row without a figure. The pointer covers the entire member,
    /// because no part of it states the figure.
    fn add_missing(&mut self, unit: Unit, missing: &Missing, pointer: [u64; 4]) {
        self.unit.push(unit_name(unit));
        self.series.push(missing.series.name());
        self.is_ytd.push(false);
        self.period_start.push(None);
        self.concept.push_null();
        let filing = missing.filing;
        self.fiscal_year
            .push(filing.map(|filing| filing.fiscal_year));
        self.period_end
            .push(filing.map(|filing| filing.end.number()));
        self.filed_date
            .push(filing.map(|filing| filing.filed.number()));
        match filing {
            Some(filing) => {
                self.fiscal_period.push(filing.fiscal_period.name());
                self.form.push(filing.form);
                self.accession_number.push(&filing.accession.to_string());
            }
            None => [
                &mut self.fiscal_period,
                &mut self.form,
                &mut self.accession_number,
            ]
            .into_iter()
            .for_each(DictionaryColumnBuilder::push_null),
        }
        self.value.append_null();
        self.warnings.push(Warnings::default());
        self.observation.push(None);
        self.is_latest.push(true);
        self.change.push_null();
        self.supersedes.push(true);
        self.is_restated.push(false);
        self.reported_start.push(None);
        self.reported_end.push(None);
        self.pointers.push(pointer);
    }

    fn finish(self, bucket: &str) -> Result<Vec<Column>> {
        let height = self.is_ytd.len();
        Ok(vec![
            self.record_id.finish().into_column(),
            StringChunked::full("bucket".into(), bucket, height).into_column(),
            self.cik.finish("cik")?,
            self.unit.finish("unit")?,
            self.series.finish("series")?,
            numbers("fiscal_year", self.fiscal_year).into_column(),
            self.fiscal_period.finish("fiscal_period")?,
            dates("period_start", self.period_start)?,
            dates("period_end", self.period_end)?,
            Column::new("is_ytd".into(), self.is_ytd),
            self.value.finish().into_column(),
            self.concept.finish("concept")?,
            self.form.finish("form")?,
            dates("filed_date", self.filed_date)?,
            self.accession_number.finish("accession_number")?,
            list_column("warnings", self.warnings.iter().map(|set| set.codes())),
            numbers("observation", self.observation).into_column(),
            Column::new("is_latest".into(), self.is_latest),
            self.change.finish("change")?,
            Column::new("supersedes".into(), self.supersedes),
            Column::new("is_restated".into(), self.is_restated),
            dates("reported_start", self.reported_start)?,
            dates("reported_end", self.reported_end)?,
            pointer_column(self.pointers.iter().map(<[u64; 4]>::as_slice)),
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

fn numbers(name: &str, numbers: Vec<Option<i32>>) -> Int32Chunked {
    numbers
        .into_iter()
        .collect::<Int32Chunked>()
        .with_name(name.into())
}

fn dates(name: &str, days: Vec<Option<i32>>) -> Result<Column> {
    Ok(numbers(name, days).into_column().cast(&DataType::Date)?)
}
