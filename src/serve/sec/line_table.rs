//! The columns of one bucket of statement lines that answers show, and the rows of each registrant in it.

use std::ops::Range;

use arrow::array::{Array, BooleanArray, Date32Array, Decimal128Array, Int32Array};
use bytes::Bytes;

use crate::error::Result;
use crate::ids::Cik;
use crate::serve::release::dictionary::DictionaryColumn;
use crate::serve::release::part_cache::CachedPart;
use crate::serve::release::row_sources::RowSources;
use crate::serve::release::table::{Table, TextLists, Texts};
use crate::serve::sec::owners::Owners;

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
    pub restated: BooleanArray,
    pub first_values: Decimal128Array,
    pub first_concepts: DictionaryColumn,
    pub first_accession_numbers: Texts,
    pub first_forms: DictionaryColumn,
    pub first_filed_dates: Date32Array,
    pub validation_statuses: DictionaryColumn,
    pub warnings: TextLists,
    pub row_sources: RowSources,
    size_bytes: usize,
}

const COLUMNS: [&str; 24] = [
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
    "is_restated",
    "first_value",
    "first_concept",
    "first_accession_number",
    "first_form",
    "first_filed_date",
    "validation_status",
    "warnings",
];

impl LineTable {
    /// A registrant's rows.
    pub fn rows(&self, cik: Cik) -> Range<usize> {
        self.owners.rows(cik)
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
            restated: table.flags("is_restated")?,
            first_values: table.decimals("first_value")?,
            first_concepts: table.words("first_concept")?,
            first_accession_numbers: table.texts("first_accession_number")?,
            first_forms: table.words("first_form")?,
            first_filed_dates: table.dates("first_filed_date")?,
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
