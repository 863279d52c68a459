//! What is true of a state's sales tax as a whole: coverage, method, sourcing, and what is exempt.

use arrow::array::{Array, BooleanArray, Date32Array, Decimal128Array};
use bytes::Bytes;

use crate::error::Result;
use crate::serve::release::dictionary::DictionaryColumn;
use crate::serve::release::part_provenance::PartProvenance;
use crate::serve::release::table::{Table, Texts};
use crate::store::Part;

/// How each state taxes sales, sorted by state.
#[derive(Debug)]
pub struct Rules {
    pub states: Texts,
    pub names: Texts,
    pub coverages: DictionaryColumn,
    pub methods: DictionaryColumn,
    pub sourcings: DictionaryColumn,
    rates: Decimal128Array,
    freight: BooleanArray,
    food_exempt: BooleanArray,
    food_bases: Texts,
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
            "state", "state_name", "coverage", "method", "state_rate", "sourcing", "freight_taxable", "food_drug_exempt", "food_drug_basis", "effective_date", "local_note",
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
            rates: crate::serve::tax::table::rates::millionths(&table, "state_rate")?,
            freight: table.flags("freight_taxable")?,
            food_exempt: table.flags("food_drug_exempt")?,
            food_bases: table.texts("food_drug_basis")?,
            effective: table.dates("effective_date")?,
            local_notes: table.texts("local_note")?,
            provenance: PartProvenance::read("tax.state", part, bytes, &table)?,
        })
    }

    /// The state's own rate in millionths, where no file of jurisdictions has it.
    pub fn rate(&self, row: usize) -> Option<i64> {
        crate::serve::tax::table::rates::rate_at(&self.rates, row)
    }

    /// Whether delivery charges are taxed; none where that is not known.
    pub fn freight_taxable(&self, row: usize) -> Option<bool> {
        (!self.freight.is_null(row)).then(|| self.freight.value(row))
    }

    /// The statute by which food bears no tax, whatever the rate files repeat for it.
    pub fn food_exemption(&self, row: usize) -> Option<&str> {
        let is_exempt = !self.food_exempt.is_null(row) && self.food_exempt.value(row);
        self.food_bases.get(row).filter(|_| is_exempt)
    }

    /// From when the rule is known to hold, in days since 1970-01-01.
    pub fn effective_day(&self, row: usize) -> Option<i32> {
        (!self.effective.is_null(row)).then(|| self.effective.value(row))
    }
}
