//! The columns of one bucket of reported figures, and their rows by registrant, series and period. A period has a row for each report of
//! it.

use std::ops::Range;

use arrow::array::{Array, BooleanArray, Date32Array, Decimal128Array, Int32Array};
use bytes::Bytes;

use crate::release::dictionary::DictionaryColumn;
use crate::release::part_cache::CachedPart;
use crate::release::row_sources::RowSources;
use crate::release::table::{Table, TextLists, Texts};
use crate::sec::owners::Owners;
use pubdata_core::error::Result;
use pubdata_core::ids::Cik;

/// One bucket of `sec.financial_value`: what filings reported, sorted by registrant, metric, series, period and time of report.
#[derive(Debug)]
pub struct ValueTable {
    owners: Owners,
    pub record_ids: Texts,
    pub metrics: DictionaryColumn,
    pub units: DictionaryColumn,
    pub series: DictionaryColumn,
    pub fiscal_years: Int32Array,
    pub fiscal_periods: DictionaryColumn,
    pub period_starts: Date32Array,
    pub period_ends: Date32Array,
    pub as_of_dates: Date32Array,
    /// The period as the report states it, where that is not the period's.
    pub reported_starts: Date32Array,
    pub reported_ends: Date32Array,
    pub ytd: BooleanArray,
    pub values: Decimal128Array,
    pub null_reasons: DictionaryColumn,
    pub concepts: DictionaryColumn,
    pub forms: DictionaryColumn,
    pub filed_dates: Date32Array,
    pub accession_numbers: Texts,
    pub changes: DictionaryColumn,
    pub supersedes: BooleanArray,
    pub restated: BooleanArray,
    pub conflicts: TextLists,
    pub validation_statuses: DictionaryColumn,
    pub warnings: TextLists,
    pub row_sources: RowSources,
    size_bytes: usize,
}

const COLUMNS: [&str; 26] = [
    "record_id",
    "cik",
    "metric",
    "unit",
    "series",
    "fiscal_year",
    "fiscal_period",
    "period_start",
    "period_end",
    "as_of_date",
    "is_ytd",
    "value",
    "null_reason",
    "concept",
    "form",
    "filed_date",
    "accession_number",
    "change",
    "supersedes?",
    "is_restated",
    "reported_start",
    "reported_end",
    "conflicts",
    "validation_status",
    "warnings",
    "observation",
];

impl ValueTable {
    /// A registrant's rows, metric by metric and series by series.
    pub fn runs(&self, cik: Cik) -> impl Iterator<Item = Range<usize>> {
        let is_like = |row: usize, other: usize| self.metrics.is_same(row, other) && self.series.is_same(row, other);
        runs(self.owners.rows(cik), is_like)
    }

    /// Rows about the same period, of rows about one series.
    pub fn periods(&self, run: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let start = |row: usize| (!self.period_starts.is_null(row)).then(|| self.period_starts.value(row));
        runs(run, move |row, other| self.period_ends.value(row) == self.period_ends.value(other) && start(row) == start(other))
    }
}

/// Splits rows where they differ from the row before.
pub fn runs(rows: Range<usize>, is_like: impl Fn(usize, usize) -> bool) -> impl Iterator<Item = Range<usize>> {
    let mut next = rows.start;
    std::iter::from_fn(move || {
        let start = next;
        if start >= rows.end {
            return None;
        }
        next = (start + 1..rows.end).find(|&row| !is_like(start, row)).unwrap_or(rows.end);
        Some(start..next)
    })
}

impl CachedPart for ValueTable {
    const DATASET_ID: &'static str = "sec.financial_value";

    fn read(bytes: Bytes, path: &str) -> Result<Self> {
        let row_sources = RowSources::read(bytes.clone(), path)?;
        let table = Table::read(bytes, &COLUMNS, path)?;
        let owners = Owners::of(&table.texts("cik")?, path)?;
        let words = |name: &str| table.words(name);
        let size_bytes = table.size_bytes() + owners.size_bytes() + row_sources.size_bytes();
        Ok(Self {
            owners,
            record_ids: table.texts("record_id")?,
            metrics: words("metric")?,
            units: words("unit")?,
            series: words("series")?,
            fiscal_years: table.int32s("fiscal_year")?,
            fiscal_periods: words("fiscal_period")?,
            period_starts: table.dates("period_start")?,
            period_ends: table.dates("period_end")?,
            as_of_dates: table.dates("as_of_date")?,
            ytd: table.flags("is_ytd")?,
            values: table.decimals("value")?,
            null_reasons: words("null_reason")?,
            concepts: words("concept")?,
            forms: words("form")?,
            filed_dates: table.dates("filed_date")?,
            accession_numbers: table.texts("accession_number")?,
            changes: words("change")?,
            supersedes: table.added_flags("supersedes")?,
            restated: table.flags("is_restated")?,
            reported_starts: table.dates("reported_start")?,
            reported_ends: table.dates("reported_end")?,
            conflicts: table.text_lists("conflicts")?,
            validation_statuses: words("validation_status")?,
            warnings: table.text_lists("warnings")?,
            row_sources,
            size_bytes,
        })
    }

    fn size_bytes(&self) -> usize {
        self.size_bytes
    }
}
