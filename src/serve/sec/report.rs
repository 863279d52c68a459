//! Defines the filing that reported a figure, as answers show it.

use arrow::array::{Date32Array, Decimal128Array};
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{Date, Decimal};
use crate::release::dictionary::DictionaryColumn;
use crate::release::key_columns::cell;
use crate::release::table::Texts;
use crate::sec::links::{FilingKey, Links};
use pubdata_core::ids::Cik;

#[derive(Default, Serialize, JsonSchema)]
pub struct Report<'a> {
    /// Form type of the report, such as `10-K`.
    form: Option<&'a str>,
    /// Date on which the report was filed.
    filed_date: Option<Date>,
    /// SEC accession number of the report.
    #[schemars(extend("pattern" = "^[0-9]{10}-[0-9]{2}-[0-9]{6}$"))]
    accession_number: Option<&'a str>,
    /// URL of the filing's index page at the SEC.
    evidence_url: Option<String>,
}

/// The value as first reported; null unless the figure was restated.
#[derive(Serialize, JsonSchema)]
pub struct ReportedValue<'a> {
    /// Figure as the filing states it, in the unit of the series.
    #[schemars(with = "Decimal")]
    value: Option<Decimal>,
    /// Taxonomy concept of the figure; null if it is not published.
    concept: Option<&'a str>,
    #[serde(flatten)]
    report: Report<'a>,
    /// Id of the record with the value as first reported.
    record_id: &'a str,
}

/// Columns of a registrant's reports.
pub struct Reports<'a> {
    pub links: &'a Links,
    pub cik: Cik,
    pub record_id: &'a Texts,
    pub value: &'a Decimal128Array,
    pub concept: &'a DictionaryColumn,
    pub form: &'a DictionaryColumn,
    pub filed_date: &'a Date32Array,
    pub accession_number: &'a Texts,
}

impl<'a> Reports<'a> {
    pub fn report(&self, row: usize) -> Report<'a> {
        let accession_number = self.accession_number.get(row);
        let key = accession_number.map(|accession_number| FilingKey {
            cik: self.cik,
            accession_number,
            primary_document: None,
        });
        Report {
            form: self.form.get(row),
            filed_date: cell(self.filed_date, row).map(Date),
            accession_number,
            evidence_url: key.and_then(|key| self.links.evidence(key)),
        }
    }

    /// Returns the exact figure.
    pub fn value(&self, row: usize) -> Option<Decimal> {
        // The contract's scale is ten digits and is never negative.
        let scale = u8::try_from(self.value.scale()).unwrap_or_default();
        cell(self.value, row).map(|units| Decimal { units, scale })
    }

    pub fn first_reported(&self, row: usize) -> ReportedValue<'a> {
        ReportedValue {
            value: self.value(row),
            concept: self.concept.get(row),
            report: self.report(row),
            record_id: self.record_id.at(row),
        }
    }
}
