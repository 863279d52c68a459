//! What a registrant's own filings say of a predecessor: an issuer that succeeds another reports it on form 8-K12B, 8-K12G3 or 8-K15D5 (rules 12g-3 and
//! 15d-5 of the Exchange Act). The SEC's lists have the form; who the predecessor is stands in the document alone.

use super::filing_table::FilingTable;
use super::links::FilingKey;
use super::tables::SecTables;
use crate::days;
use crate::http::endpoint::Call;
use crate::http::meta::Meta;
use crate::http::problem::Result;
use crate::json::Json;
use crate::release::bucketed::Bucket;
use pubdata_core::ids::Cik;

/// Forms on which an issuer says that it succeeds another.
const FORMS: [&str; 3] = ["8-K12B", "8-K12G3", "8-K15D5"];

/// The filings in which a registrant says that it succeeds another.
pub struct Successions<'a> {
    cik: Cik,
    bucket: Option<Bucket<'a, FilingTable>>,
    rows: Vec<usize>,
}

impl<'a> Successions<'a> {
    /// Finds them.
    ///
    /// # Errors
    /// Of the store.
    pub async fn of(call: &Call<'a>, cik: Cik) -> Result<Self> {
        let bucket = SecTables::of(call.release).filings.about(call.reader(), cik).await?;
        let is_one = |table: &FilingTable, row: &usize| FORMS.contains(&table.forms.at(*row).trim_end_matches("/A"));
        let rows = bucket.as_ref().map(|bucket| bucket.table.rows(cik).filter(|row| is_one(&bucket.table, row)).collect()).unwrap_or_default();
        Ok(Self { cik, bucket, rows })
    }

    /// Writes form, accession number, day and document of each, oldest first.
    pub fn write(&self, json: &mut Json, call: &Call<'_>) {
        let links = &SecTables::of(call.release).links;
        json.array(|json| {
            for (table, row) in self.filings() {
                let key = FilingKey { cik: self.cik, accession_number: table.accession_numbers.at(row), primary_document: table.primary_documents.get(row) };
                json.object(|json| {
                    json.key("form").text(table.forms.at(row));
                    json.key("accession_number").text(table.accession_numbers.at(row));
                    json.key("filed_date").text(&days::date(table.filed_dates.value(row)).to_string());
                    json.key("primary_document_url").optional_text(links.primary_document(key).as_deref());
                });
            }
        });
    }

    /// Says that figures of earlier periods may stand under another registrant.
    pub fn add_notice(&self, meta: &mut Meta) {
        let told = |(table, row): (&FilingTable, usize)| {
            format!("{} of {} ({})", table.forms.at(row), days::date(table.filed_dates.value(row)), table.accession_numbers.at(row))
        };
        let told: Vec<String> = self.filings().map(told).collect();
        if !told.is_empty() {
            let message = format!(
                "The registrant says that it succeeds another: {}. Figures and filings of the time before are its predecessor's, under another CIK, which the document names.",
                told.join(", ")
            );
            meta.notice("SUCCESSOR_ISSUER", message);
        }
    }

    fn filings(&self) -> impl Iterator<Item = (&FilingTable, usize)> {
        self.bucket.iter().flat_map(|bucket| self.rows.iter().map(|row| (&*bucket.table, *row)))
    }
}
