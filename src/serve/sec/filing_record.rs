//! Builds filings for answers: as a periodic report of one registrant, and as an item in search
//! results.

use arrow::array::{Array, BooleanArray};
use schemars::JsonSchema;
use serde::Serialize;

use super::filing_table::FilingTable;
use super::filings::Rows;
use super::forms::description_of;
use super::links::FilingKey;
use super::owners::Owned;
use super::party::Party;
use super::registrants::Registrants;
use super::tables::{FILINGS, SecTables};
use crate::answer::Date;
use crate::http::endpoint::Call;
use crate::release::key_columns::cell;
use crate::release::provenance::{Provenance, ProvenanceWriter};
use pubdata_core::ids::Cik;

/// A periodic report of a registrant.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReportsFiling")]
pub struct PeriodicReport<'a> {
    #[schemars(extend("$field" = "sec.filing/accession_number"))]
    accession_number: &'a str,
    #[schemars(extend("$field" = "sec.filing/form"))]
    form: &'a str,
    #[serde(flatten)]
    days: Days<'a>,
    #[schemars(extend("$field" = "sec.filing/file_number"))]
    file_number: Option<&'a str>,
    #[schemars(extend("$field" = "sec.filing/film_number"))]
    film_number: Option<&'a str>,
    /// URL of the filing's main document at the SEC; null if it is not known.
    primary_document_url: Option<String>,
    /// URL of the filing's index page at the SEC.
    evidence_url: Option<String>,
    #[serde(flatten)]
    submission: Submission<'a>,
}

/// A filing found by a search.
#[derive(Serialize, JsonSchema)]
pub struct Filing<'a> {
    #[schemars(extend("$field" = "sec.filing/accession_number"))]
    accession_number: &'a str,
    #[schemars(extend("$field" = "sec.filing/form"))]
    form: &'a str,
    /// Description of the form; null for less common forms.
    form_description: Option<&'a str>,
    #[serde(flatten)]
    days: Days<'a>,
    /// Registrants of the filing: all registrants, or only the requested ones if the search names
    /// some.
    entities: Vec<Party<'a>>,
    /// CIK of the first registrant that has a ticker, or else the lowest CIK.
    #[schemars(extend("$field" = "sec.filing/cik"))]
    primary_cik: String,
    #[schemars(extend("$field" = "sec.filing/items"))]
    items: Vec<&'a str>,
    #[schemars(extend("$field" = "sec.filing/act"))]
    act: Option<&'a str>,
    #[schemars(extend("$field" = "sec.filing/file_number"))]
    file_number: Option<&'a str>,
    #[schemars(extend("$field" = "sec.filing/film_number"))]
    film_number: Option<&'a str>,
    /// URL of the filing's main document at the SEC; null if it is not known.
    primary_document_url: Option<String>,
    #[schemars(extend("$field" = "sec.filing/primary_document_description"))]
    primary_document_description: Option<&'a str>,
    /// URL of the filing's index page at the SEC.
    index_url: Option<String>,
    /// URL of the complete submission as text.
    text_url: Option<String>,
    #[serde(flatten)]
    submission: Submission<'a>,
}

#[derive(Serialize, JsonSchema)]
struct Days<'a> {
    #[schemars(extend("$field" = "sec.filing/is_amendment"))]
    is_amendment: bool,
    #[schemars(extend("$field" = "sec.filing/filed_date"))]
    filed_date: Date,
    #[schemars(extend("$field" = "sec.filing/accepted_at"))]
    accepted_at: Option<&'a str>,
    #[schemars(extend("$field" = "sec.filing/period_of_report"))]
    period_of_report: Option<Date>,
}

#[derive(Serialize, JsonSchema)]
struct Submission<'a> {
    #[schemars(extend("$field" = "sec.filing/size_bytes"))]
    size_bytes: Option<i64>,
    #[schemars(extend("$field" = "sec.filing/has_xbrl"))]
    has_xbrl: Option<bool>,
    #[schemars(extend("$field" = "sec.filing/has_inline_xbrl"))]
    has_inline_xbrl: Option<bool>,
    /// Provenance of the filing's record in `sec.filing`.
    provenance: Provenance<'a>,
}

impl<'a> PeriodicReport<'a> {
    /// Builds the report from the first row of a filing; returns `None` if the filing has no rows.
    pub fn from_rows(call: &'a Call<'_>, rows: &'a Rows) -> Option<Self> {
        let (cik, table, row) = rows.first()?;
        let (row, links) = (*row, &SecTables::from_release(call.release).links);
        let key = key(*cik, table, row);
        Some(Self {
            accession_number: key.accession_number,
            form: table.form.at(row),
            days: Days::new(table, row),
            file_number: table.file_number.get(row),
            film_number: table.film_number.get(row),
            primary_document_url: links.primary_document(key),
            evidence_url: links.evidence(key),
            submission: Submission::new(call, table, row),
        })
    }
}

impl<'a> Filing<'a> {
    /// Builds the filing from its rows, one for each registrant; returns `None` if the filing has
    /// no rows.
    pub fn from_rows(
        call: &'a Call<'_>,
        registrants: &'a Registrants,
        rows: &'a Rows,
    ) -> Option<Self> {
        let (cik, table, row) = rows.first()?;
        let (row, links, form) = (
            *row,
            &SecTables::from_release(call.release).links,
            table.form.at(*row),
        );
        let key = key(*cik, table, row);
        // The filing lists by registrant do not state whether the registrant is the filer, the
        // subject or an owner.
        let party = |(cik, ..): &(Cik, _, _)| {
            Party::new(
                cik.to_string(),
                registrants.find(*cik).map(|row| (registrants, row)),
            )
        };
        Some(Self {
            accession_number: key.accession_number,
            form,
            form_description: description_of(call.contracts(), form),
            days: Days::new(table, row),
            entities: rows.iter().map(party).collect(),
            primary_cik: primary(registrants, rows).unwrap_or(*cik).to_string(),
            items: table.items.at(row).collect(),
            act: table.act.get(row),
            file_number: table.file_number.get(row),
            film_number: table.film_number.get(row),
            primary_document_url: links.primary_document(key),
            primary_document_description: table.primary_document_description.get(row),
            index_url: links.evidence(key),
            text_url: links.text(key),
            submission: Submission::new(call, table, row),
        })
    }
}

impl<'a> Days<'a> {
    fn new(table: &'a FilingTable, row: usize) -> Self {
        Self {
            is_amendment: table.is_amendment.value(row),
            filed_date: Date(table.filed_date.value(row)),
            accepted_at: table.accepted_at.get(row),
            period_of_report: table.period_of_report(row).map(Date),
        }
    }
}

impl<'a> Submission<'a> {
    fn new(call: &'a Call<'_>, table: &'a Owned<FilingTable>, row: usize) -> Self {
        let flag = |flags: &BooleanArray| flags.is_valid(row).then(|| flags.value(row));
        let FilingTable {
            size_bytes,
            has_xbrl,
            has_inline_xbrl,
            validation_status,
            record_id,
            ..
        } = &**table;
        let provenance = ProvenanceWriter::of_dataset(&call.release.manifest, FILINGS);
        Self {
            size_bytes: cell(size_bytes, row),
            has_xbrl: flag(has_xbrl),
            has_inline_xbrl: flag(has_inline_xbrl),
            provenance: provenance.for_row(
                &table.row_sources,
                row,
                validation_status.at(row),
                record_id.at(row),
            ),
        }
    }
}

fn key(cik: Cik, table: &FilingTable, row: usize) -> FilingKey<'_> {
    FilingKey {
        cik,
        accession_number: table.accession_number.at(row),
        primary_document: table.primary_document.get(row),
    }
}

/// Returns the first registrant that has a ticker.
fn primary(registrants: &Registrants, rows: &Rows) -> Option<Cik> {
    rows.iter().map(|(cik, ..)| *cik).find(|cik| {
        registrants
            .find(*cik)
            .is_some_and(|row| registrants.tickers(row).next().is_some())
    })
}
