//! Defines the statement line columns that answers show. A line has one row for each period and
//! report.

use std::ops::Range;

use arrow::array::{BooleanArray, Date32Array, Decimal128Array, Int32Array};

use crate::release::dictionary::DictionaryColumn;
use crate::release::key_columns::{AddedFlags, cell, key_columns};
use crate::release::table::{TextLists, Texts};
use crate::sec::owners::{Owned, owned_columns};
use crate::sec::value_table::runs;
use pubdata_core::ids::Cik;

key_columns! {
    /// Columns of `sec.statement_line`: lines of statements, sorted by registrant.
    #[derive(Debug)]
    pub struct LineTable {
        pub record_id: Texts,
        pub statement: DictionaryColumn,
        pub line: DictionaryColumn,
        pub series: DictionaryColumn,
        pub fiscal_year: Int32Array,
        pub fiscal_period: DictionaryColumn,
        pub period_start: Date32Array,
        pub period_end: Date32Array,
        pub is_ytd: BooleanArray,
        pub value: Decimal128Array,
        pub unit: DictionaryColumn,
        pub concept: DictionaryColumn,
        pub form: DictionaryColumn,
        pub filed_date: Date32Array,
        pub accession_number: Texts,
        pub change: DictionaryColumn,
        pub supersedes "?": AddedFlags,
        pub is_restated: BooleanArray,
        pub validation_status: DictionaryColumn,
        pub warnings: TextLists,
    }
}

impl LineTable {
    /// Returns the first day of a row's period; `None` for a balance.
    pub fn period_start(&self, row: usize) -> Option<i32> {
        cell(&self.period_start, row)
    }
}

impl Owned<LineTable> {
    /// Groups a registrant's rows by line and period.
    pub fn periods(&self, cik: Cik) -> impl Iterator<Item = Range<usize>> {
        let is_like = |row: usize, other: usize| {
            let words = [&self.statement, &self.line, &self.series];
            let period = |row: usize| (self.period_end.value(row), self.period_start(row));
            period(row) == period(other) && words.iter().all(|words| words.is_same(row, other))
        };
        runs(self.rows(cik), is_like)
    }
}

owned_columns! { LineTable of "sec.statement_line"; }
