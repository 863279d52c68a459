//! What is true of a state's sales tax as a whole: coverage, method and sourcing.

use arrow::array::{Array, Date32Array, Decimal128Array};
use bytes::Bytes;

use crate::release::dictionary::DictionaryColumn;
use crate::release::part_provenance::PartProvenance;
use crate::release::table::{Table, Texts};
use pubdata_core::error::Result;
use pubdata_store::Part;

/// How each state taxes sales, sorted by state.
#[derive(Debug)]
pub struct Rules {
    pub states: Texts,
    pub names: Texts,
    pub coverages: DictionaryColumn,
    pub methods: DictionaryColumn,
    pub sourcings: DictionaryColumn,
    rates: Decimal128Array,
    pub sourcing_rules: Texts,
    pub sourcing_citations: Texts,
    pub sourcing_pages: Texts,
    effective: Date32Array,
    pub local_notes: Texts,
    pub provenance: PartProvenance,
}

impl Rules {
    /// Reads the part of `tax.state`.
    ///
    /// # Errors
    /// `Store`, when the part lacks a column or is out of order.
    pub fn read(part: &Part, bytes: Bytes) -> Result<Self> {
        #[rustfmt::skip]
        let columns = [
            "state", "state_name", "coverage", "method", "state_rate", "sourcing", "sourcing_rule", "sourcing_citation", "sourcing_page", "effective_date", "local_note",
        ];
        let table = Table::read(bytes.clone(), &[&columns[..], &PartProvenance::COLUMNS].concat(), &part.path)?;
        let states = table.texts("state")?;
        states.check_sorted(&part.path)?;
        Ok(Self {
            states,
            names: table.texts("state_name")?,
            coverages: table.words("coverage")?,
            methods: table.words("method")?,
            sourcings: table.words("sourcing")?,
            rates: crate::tax::table::rates::millionths(&table, "state_rate")?,
            sourcing_rules: table.texts("sourcing_rule")?,
            sourcing_citations: table.texts("sourcing_citation")?,
            sourcing_pages: table.texts("sourcing_page")?,
            effective: table.dates("effective_date")?,
            local_notes: table.texts("local_note")?,
            provenance: PartProvenance::read("tax.state", part, bytes, &table)?,
        })
    }

    /// The state's own rate in millionths, where no file of jurisdictions has it.
    pub fn rate(&self, row: usize) -> Option<i64> {
        crate::tax::table::rates::rate_at(&self.rates, row)
    }

    /// From when the rule is known to hold, in days since 1970-01-01.
    pub fn effective_day(&self, row: usize) -> Option<i32> {
        (!self.effective.is_null(row)).then(|| self.effective.value(row))
    }
}
