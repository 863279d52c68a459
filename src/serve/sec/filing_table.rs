//! Defines the filing columns that answers show.

use arrow::array::{BooleanArray, Date32Array, Int64Array};

use crate::release::dictionary::DictionaryColumn;
use crate::release::key_columns::{cell, key_columns};
use crate::release::table::{TextLists, Texts};
use crate::sec::owners::{Owners, owned_columns};
use pubdata_core::error::{Error, Result};

key_columns! {
    /// Columns of `sec.filing`, sorted by registrant, filing date and accession number.
    #[derive(Debug)]
    pub struct FilingTable {
        pub record_id: Texts,
        pub accession_number: Texts,
        pub form: DictionaryColumn,
        pub is_amendment: BooleanArray,
        pub filed_date: Date32Array,
        pub accepted_at: Texts,
        pub period_of_report: Date32Array,
        pub act: DictionaryColumn,
        pub file_number: Texts,
        pub film_number: Texts,
        pub items: TextLists,
        pub size_bytes: Int64Array,
        pub has_xbrl: BooleanArray,
        pub has_inline_xbrl: BooleanArray,
        pub primary_document: Texts,
        pub primary_document_description: Texts,
        pub validation_status: DictionaryColumn,
    }
}

impl FilingTable {
    /// Last day of the period on which a filing reports.
    pub fn period_of_report(&self, row: usize) -> Option<i32> {
        cell(&self.period_of_report, row)
    }
}

owned_columns! {
    FilingTable of "sec.filing";

    fn check_order(&self, owners: &Owners, path: &str) -> Result<()> {
        match owners.iter().find(|(_, rows)| !self.filed_date.values()[rows.clone()].is_sorted()) {
            Some((cik, _)) => Err(Error::store(format!("{path}: filings of registrant {cik} are not sorted by date"))),
            None => Ok(()),
        }
    }
}
