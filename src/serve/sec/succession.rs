//! Finds filings that report a predecessor. An issuer that succeeds another issuer reports this on
//! form 8-K12B, 8-K12G3 or 8-K15D5 (rules 12g-3 and 15d-5 of the Exchange Act). The SEC's lists
//! contain the form; only the document names the predecessor.

use schemars::JsonSchema;
use serde::Serialize;

use super::filing_table::FilingTable;
use super::links::{FilingKey, Links};
use super::owners::Owned;
use super::tables::SecTables;
use crate::answer::Date;
use crate::days;
use crate::http::endpoint::Call;
use crate::http::meta::Meta;
use crate::http::problem::Result;
use crate::release::bucketed::Bucket;
use pubdata_core::ids::Cik;

/// Forms on which an issuer reports that it succeeds another issuer.
const FORMS: [&str; 3] = ["8-K12B", "8-K12G3", "8-K15D5"];

/// Filings in which a registrant reports that it succeeds another registrant.
pub struct Successions<'a> {
    cik: Cik,
    bucket: Option<Bucket<'a, Owned<FilingTable>>>,
    rows: Vec<usize>,
}

/// A filing in which a registrant reports that it succeeds another registrant.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CompanySuccession")]
pub struct Succession<'a> {
    /// Form type of the filing, such as `8-K12B`.
    form: &'a str,
    /// SEC accession number of the filing.
    accession_number: &'a str,
    /// Date on which the filing was made.
    filed_date: Date,
    /// URL of the filing's main document at the SEC; null if it is not known.
    primary_document_url: Option<String>,
}

impl<'a> Successions<'a> {
    /// Finds the filings for a registrant.
    pub async fn find(call: &Call<'a>, cik: Cik) -> Result<Self> {
        let bucket = SecTables::from_release(call.release)
            .filings
            .about(call.reader(), cik)
            .await?;
        let is_one = |table: &FilingTable, row: &usize| {
            FORMS.contains(&table.form.at(*row).trim_end_matches("/A"))
        };
        let rows = bucket
            .as_ref()
            .map(|bucket| {
                bucket
                    .table
                    .rows(cik)
                    .filter(|row| is_one(&bucket.table, row))
                    .collect()
            })
            .unwrap_or_default();
        Ok(Self { cik, bucket, rows })
    }

    /// Returns the filings as the profile shows them, oldest first.
    pub fn shown(&self, links: &Links) -> Vec<Succession<'_>> {
        let mut shown = Vec::new();
        for (table, row) in self.filings() {
            let key = FilingKey {
                cik: self.cik,
                accession_number: table.accession_number.at(row),
                primary_document: table.primary_document.get(row),
            };
            shown.push(Succession {
                form: table.form.at(row),
                accession_number: key.accession_number,
                filed_date: Date(table.filed_date.value(row)),
                primary_document_url: links.primary_document(key),
            });
        }
        shown
    }

    /// Adds a notice that figures for earlier periods may be filed under another registrant.
    pub fn add_notice(&self, meta: &mut Meta) {
        let describe = |(table, row): (&FilingTable, usize)| {
            format!(
                "{} of {} ({})",
                table.form.at(row),
                days::date(table.filed_date.value(row)),
                table.accession_number.at(row)
            )
        };
        let described: Vec<String> = self.filings().map(describe).collect();
        if !described.is_empty() {
            let message = format!(
                "The registrant reports that it succeeds another: {}. Earlier figures and filings belong to the predecessor, under another CIK, which the document names.",
                described.join(", ")
            );
            meta.notice("SUCCESSOR_ISSUER", message);
        }
    }

    fn filings(&self) -> impl Iterator<Item = (&FilingTable, usize)> {
        self.bucket
            .iter()
            .flat_map(|bucket| self.rows.iter().map(|row| (&**bucket.table, *row)))
    }
}
