//! Reads the state-wide sales tax facts: coverage, method and sourcing.

use bytes::Bytes;

use crate::release::dictionary::DictionaryColumn;
use crate::release::key_columns::{Days, key_columns, known_day};
use crate::release::part_provenance::PartProvenance;
use crate::release::table::{Table, Texts};
use crate::tax::table::rates::Millionths;
use pubdata_core::error::Result;
use pubdata_store::Part;

key_columns! {
    #[derive(Debug)]
    pub struct Columns {
        pub state: Texts,
        pub state_name: Texts,
        pub coverage: DictionaryColumn,
        pub method: DictionaryColumn,
        state_rate: Millionths,
        pub sourcing: DictionaryColumn,
        pub sourcing_rule: Texts,
        pub sourcing_citation: Texts,
        pub sourcing_page: Texts,
        effective_date: Days,
        pub local_note: Texts,
    }
}

/// Sales tax rules of the states, sorted by state.
#[derive(Debug)]
pub struct Rules {
    pub columns: Columns,
    pub provenance: PartProvenance,
}

impl Rules {
    /// Reads the part of `tax.state`.
    ///
    /// # Errors
    /// `Store` if the part lacks a column or is not sorted.
    pub fn read(part: &Part, bytes: Bytes) -> Result<Self> {
        let table = Table::read(
            bytes.clone(),
            &[Columns::COLUMNS, &PartProvenance::COLUMNS].concat(),
            &part.path,
        )?;
        let columns = Columns::open(&table)?;
        columns.state.check_sorted(&part.path)?;
        Ok(Self {
            columns,
            provenance: PartProvenance::read("tax.state", part, bytes, &table)?,
        })
    }

    /// Returns the state's own rate in millionths, if no jurisdiction file contains it.
    pub fn rate(&self, row: usize) -> Option<i64> {
        self.columns.state_rate.get(row)
    }

    /// Returns the first day on which the rule is known to apply, in days since 1970-01-01.
    pub fn effective_day(&self, row: usize) -> Option<i32> {
        known_day(self.columns.effective_date.at(row))
    }
}
