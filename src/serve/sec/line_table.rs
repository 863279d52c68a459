//! The columns of one bucket of statement lines that answers show, and the rows of each registrant in it. A period of a line has a row for
//! each report of it.

use std::ops::Range;

use arrow::array::{Array, BooleanArray, Date32Array, Decimal128Array, Int32Array};
use bytes::Bytes;

use crate::release::dictionary::DictionaryColumn;
use crate::release::part_cache::CachedPart;
use crate::release::row_sources::RowSources;
use crate::release::table::{Table, TextLists, Texts};
use crate::sec::owners::Owners;
use crate::sec::value_table::runs;
use pubdata_core::error::Result;
use pubdata_core::ids::Cik;

/// One bucket of `sec.statement_line`: lines of statements, sorted by registrant.
#[derive(Debug)]
pub struct LineTable {
    owners: Owners,
    pub record_ids: Texts,
    pub statements: DictionaryColumn,
    pub lines: DictionaryColumn,
    pub series: DictionaryColumn,
    pub fiscal_years: Int32Array,
    pub fiscal_periods: DictionaryColumn,
    pub period_starts: Date32Array,
    pub period_ends: Date32Array,
    pub ytd: BooleanArray,
    pub values: Decimal128Array,
    pub units: DictionaryColumn,
    pub concepts: DictionaryColumn,
    pub forms: DictionaryColumn,
    pub filed_dates: Date32Array,
    pub accession_numbers: Texts,
    pub changes: DictionaryColumn,
    pub supersedes: BooleanArray,
    pub restated: BooleanArray,
    pub validation_statuses: DictionaryColumn,
    pub warnings: TextLists,
    pub row_sources: RowSources,
    size_bytes: usize,
}

const COLUMNS: [&str; 22] = [
    "record_id",
    "cik",
    "statement",
    "line",
    "series",
    "fiscal_year",
    "fiscal_period",
    "period_start",
    "period_end",
    "is_ytd",
    "value",
    "unit",
    "concept",
    "form",
    "filed_date",
    "accession_number",
    "change",
    "supersedes?",
    "is_restated",
    "observation",
    "validation_status",
    "warnings",
];

impl LineTable {
    /// A registrant's rows, period by period of each line.
    pub fn periods(&self, cik: Cik) -> impl Iterator<Item = Range<usize>> {
        let is_like = |row: usize, other: usize| {
            let words = [&self.statements, &self.lines, &self.series];
            let period = |row: usize| (self.period_ends.value(row), self.period_start(row));
            period(row) == period(other) && words.iter().all(|words| words.is_same(row, other))
        };
        runs(self.owners.rows(cik), is_like)
    }

    /// First day of a row's period; none for a balance.
    pub fn period_start(&self, row: usize) -> Option<i32> {
        (!self.period_starts.is_null(row)).then(|| self.period_starts.value(row))
    }
}

impl CachedPart for LineTable {
    const DATASET_ID: &'static str = "sec.statement_line";

    fn read(bytes: Bytes, path: &str) -> Result<Self> {
        let row_sources = RowSources::read(bytes.clone(), path)?;
        let table = Table::read(bytes, &COLUMNS, path)?;
        let owners = Owners::of(&table.texts("cik")?, path)?;
        let size_bytes = table.size_bytes() + owners.size_bytes() + row_sources.size_bytes();
        Ok(Self {
            owners,
            record_ids: table.texts("record_id")?,
            statements: table.words("statement")?,
            lines: table.words("line")?,
            series: table.words("series")?,
            fiscal_years: table.int32s("fiscal_year")?,
            fiscal_periods: table.words("fiscal_period")?,
            period_starts: table.dates("period_start")?,
            period_ends: table.dates("period_end")?,
            ytd: table.flags("is_ytd")?,
            values: table.decimals("value")?,
            units: table.words("unit")?,
            concepts: table.words("concept")?,
            forms: table.words("form")?,
            filed_dates: table.dates("filed_date")?,
            accession_numbers: table.texts("accession_number")?,
            changes: table.words("change")?,
            supersedes: table.added_flags("supersedes")?,
            restated: table.flags("is_restated")?,
            validation_statuses: table.words("validation_status")?,
            warnings: table.text_lists("warnings")?,
            row_sources,
            size_bytes,
        })
    }

    fn size_bytes(&self) -> usize {
        self.size_bytes
    }
}
