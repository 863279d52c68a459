//! Defines the columns of reported figures, and groups their rows by registrant, series and period.
//! A period has one row for each report.

use std::ops::Range;

use arrow::array::{BooleanArray, Date32Array, Decimal128Array, Int32Array};

use crate::release::dictionary::DictionaryColumn;
use crate::release::key_columns::{AddedFlags, cell, key_columns};
use crate::release::table::{TextLists, Texts};
use crate::sec::owners::{Owned, owned_columns};
use pubdata_core::ids::Cik;

key_columns! {
    /// Columns of `sec.financial_value`, sorted by registrant, metric, series, period and report
    /// time.
    #[derive(Debug)]
    pub struct ValueTable {
        pub record_id: Texts,
        pub metric: DictionaryColumn,
        pub unit: DictionaryColumn,
        pub series: DictionaryColumn,
        pub fiscal_year: Int32Array,
        pub fiscal_period: DictionaryColumn,
        pub period_start: Date32Array,
        pub period_end: Date32Array,
        pub as_of_date: Date32Array,
        /// Start of the period as stated in the report, if it differs from the period of the row.
        pub reported_start: Date32Array,
        pub reported_end: Date32Array,
        pub is_ytd: BooleanArray,
        pub value: Decimal128Array,
        pub null_reason: DictionaryColumn,
        pub concept: DictionaryColumn,
        pub form: DictionaryColumn,
        pub filed_date: Date32Array,
        pub accession_number: Texts,
        pub change: DictionaryColumn,
        pub supersedes "?": AddedFlags,
        pub is_restated: BooleanArray,
        pub conflicts: TextLists,
        pub validation_status: DictionaryColumn,
        pub warnings: TextLists,
    }
}

impl Owned<ValueTable> {
    /// Groups a registrant's rows by metric and series.
    pub fn runs(&self, cik: Cik) -> impl Iterator<Item = Range<usize>> {
        let is_like = |row: usize, other: usize| {
            self.metric.is_same(row, other) && self.series.is_same(row, other)
        };
        runs(self.rows(cik), is_like)
    }
}

impl ValueTable {
    /// Groups the rows of one series by period.
    pub fn periods(&self, run: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let period = |row: usize| (self.period_end.value(row), cell(&self.period_start, row));
        runs(run, move |row, other| period(row) == period(other))
    }
}

/// Splits a range wherever a row differs from the first row of its run.
pub fn runs(
    rows: Range<usize>,
    is_like: impl Fn(usize, usize) -> bool,
) -> impl Iterator<Item = Range<usize>> {
    let mut next = rows.start;
    std::iter::from_fn(move || {
        let start = next;
        if start >= rows.end {
            return None;
        }
        next = (start + 1..rows.end)
            .find(|&row| !is_like(start, row))
            .unwrap_or(rows.end);
        Some(start..next)
    })
}

owned_columns! { ValueTable of "sec.financial_value"; }
