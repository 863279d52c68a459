//! The columns of one bucket of filings that answers show, and the rows of each registrant in it.

use std::ops::Range;

use arrow::array::{Array, BooleanArray, Date32Array, Int64Array};
use bytes::Bytes;

use crate::release::dictionary::DictionaryColumn;
use crate::release::part_cache::CachedPart;
use crate::release::row_sources::RowSources;
use crate::release::table::{Table, TextLists, Texts};
use crate::sec::owners::Owners;
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Cik;

/// One bucket of `sec.filing`, sorted by registrant, filing date and accession number.
#[derive(Debug)]
pub struct FilingTable {
    pub owners: Owners,
    pub record_ids: Texts,
    pub accession_numbers: Texts,
    pub forms: DictionaryColumn,
    pub amendments: BooleanArray,
    pub filed_dates: Date32Array,
    pub accepted_at: Texts,
    pub periods_of_report: Date32Array,
    pub acts: DictionaryColumn,
    pub file_numbers: Texts,
    pub film_numbers: Texts,
    pub items: TextLists,
    pub sizes: Int64Array,
    pub xbrl: BooleanArray,
    pub inline_xbrl: BooleanArray,
    pub primary_documents: Texts,
    pub document_descriptions: Texts,
    pub validation_statuses: DictionaryColumn,
    pub row_sources: RowSources,
    size_bytes: usize,
}

const COLUMNS: [&str; 18] = [
    "record_id",
    "cik",
    "accession_number",
    "form",
    "is_amendment",
    "filed_date",
    "accepted_at",
    "period_of_report",
    "act",
    "file_number",
    "film_number",
    "items",
    "size_bytes",
    "has_xbrl",
    "has_inline_xbrl",
    "primary_document",
    "primary_document_description",
    "validation_status",
];

impl FilingTable {
    /// A registrant's rows, by filing date.
    pub fn rows(&self, cik: Cik) -> Range<usize> {
        self.owners.rows(cik)
    }

    /// Last day of the period a filing reports on.
    pub fn period_of_report(&self, row: usize) -> Option<i32> {
        (!self.periods_of_report.is_null(row)).then(|| self.periods_of_report.value(row))
    }
}

impl CachedPart for FilingTable {
    const DATASET_ID: &'static str = "sec.filing";

    fn read(bytes: Bytes, path: &str) -> Result<Self> {
        let row_sources = RowSources::read(bytes.clone(), path)?;
        let table = Table::read(bytes, &COLUMNS, path)?;
        let owners = Owners::of(&table.texts("cik")?, path)?;
        let filed_dates = table.dates("filed_date")?;
        for (cik, rows) in owners.iter() {
            if !filed_dates.values()[rows].is_sorted() {
                return Err(Error::store(format!("{path}: filings of registrant {cik} are not in the order of their dates")));
            }
        }
        let size_bytes = table.size_bytes() + owners.size_bytes() + row_sources.size_bytes();
        Ok(Self {
            owners,
            record_ids: table.texts("record_id")?,
            accession_numbers: table.texts("accession_number")?,
            forms: table.words("form")?,
            amendments: table.flags("is_amendment")?,
            filed_dates,
            accepted_at: table.texts("accepted_at")?,
            periods_of_report: table.dates("period_of_report")?,
            acts: table.words("act")?,
            file_numbers: table.texts("file_number")?,
            film_numbers: table.texts("film_number")?,
            items: table.text_lists("items")?,
            sizes: table.int64s("size_bytes")?,
            xbrl: table.flags("has_xbrl")?,
            inline_xbrl: table.flags("has_inline_xbrl")?,
            primary_documents: table.texts("primary_document")?,
            document_descriptions: table.texts("primary_document_description")?,
            validation_statuses: table.words("validation_status")?,
            row_sources,
            size_bytes,
        })
    }

    fn size_bytes(&self) -> usize {
        self.size_bytes
    }
}
