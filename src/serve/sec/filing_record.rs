//! Writes a filing: as a periodic report of one registrant, and as an item of a search.

use arrow::array::{Array, BooleanArray};

use super::filing_table::FilingTable;
use super::filings::Rows;
use super::forms::description_of;
use super::links::FilingKey;
use super::party::{PartyFields, write_entity};
use super::registrants::Registrants;
use super::tables::SecTables;
use crate::http::endpoint::Call;
use crate::json::Json;
use crate::release::provenance::ProvenanceWriter;
use pubdata_core::ids::Cik;

pub struct Writer<'a> {
    pub call: &'a Call<'a>,
    pub provenance: ProvenanceWriter<'a>,
}

impl Writer<'_> {
    /// Writes the members of a periodic report.
    pub fn write_report(&self, json: &mut Json, rows: &Rows) {
        let Some((cik, table, row)) = rows.first().map(|(cik, table, row)| (*cik, table, *row)) else { return };
        json.key("accession_number").text(table.accession_numbers.at(row));
        json.key("form").text(table.forms.at(row));
        write_dates(json, table, row);
        json.key("file_number").optional_text(table.file_numbers.get(row));
        json.key("film_number").optional_text(table.film_numbers.get(row));
        let links = &SecTables::of(self.call.release).links;
        let key = FilingKey { cik, accession_number: table.accession_numbers.at(row), primary_document: table.primary_documents.get(row) };
        json.key("primary_document_url").optional_text(links.primary_document(key).as_deref());
        json.key("evidence_url").optional_text(links.evidence(key).as_deref());
        self.write_size(json, table, row);
    }

    /// Writes the members of a search item.
    pub fn write_item(&self, json: &mut Json, registrants: &Registrants, rows: &Rows) {
        let Some((cik, table, row)) = rows.first().map(|(cik, table, row)| (*cik, table, *row)) else { return };
        let form = table.forms.at(row);
        json.key("accession_number").text(table.accession_numbers.at(row));
        json.key("form").text(form);
        json.key("form_description").optional_text(description_of(self.call.contracts(), form));
        write_dates(json, table, row);
        json.key("entities").array(|json| {
            for (cik, ..) in rows {
                // The lists of filings by registrant do not say whether it is the filer, the subject or an owner.
                write_entity(json, registrants.find(*cik).map(|row| (registrants, row)), &cik.to_string(), PartyFields::default());
            }
        });
        json.key("primary_cik").text(&primary(registrants, rows).unwrap_or(cik).to_string());
        json.key("items").texts(table.items.at(row));
        json.key("act").optional_text(table.acts.get(row));
        json.key("file_number").optional_text(table.file_numbers.get(row));
        json.key("film_number").optional_text(table.film_numbers.get(row));
        let links = &SecTables::of(self.call.release).links;
        let key = FilingKey { cik, accession_number: table.accession_numbers.at(row), primary_document: table.primary_documents.get(row) };
        json.key("primary_document_url").optional_text(links.primary_document(key).as_deref());
        json.key("primary_document_description").optional_text(table.document_descriptions.get(row));
        json.key("index_url").optional_text(links.evidence(key).as_deref());
        json.key("text_url").optional_text(links.text(key).as_deref());
        self.write_size(json, table, row);
    }

    fn write_size(&self, json: &mut Json, table: &FilingTable, row: usize) {
        let flag = |flags: &BooleanArray| (!flags.is_null(row)).then(|| flags.value(row));
        json.key("size_bytes").optional_integer((!table.sizes.is_null(row)).then(|| table.sizes.value(row)));
        json.key("has_xbrl").optional_flag(flag(&table.xbrl));
        json.key("has_inline_xbrl").optional_flag(flag(&table.inline_xbrl));
        self.provenance.write(json.key("provenance"), &table.row_sources, row, table.validation_statuses.at(row), table.record_ids.at(row));
    }
}

fn write_dates(json: &mut Json, table: &FilingTable, row: usize) {
    json.key("is_amendment").flag(table.amendments.value(row));
    json.key("filed_date").day(table.filed_dates.value(row));
    json.key("accepted_at").optional_text(table.accepted_at.get(row));
    json.key("period_of_report").optional_day(table.period_of_report(row));
}

/// Of several registrants the first that has a ticker.
fn primary(registrants: &Registrants, rows: &Rows) -> Option<Cik> {
    rows.iter().map(|(cik, ..)| *cik).find(|cik| registrants.find(*cik).is_some_and(|row| registrants.tickers(row).next().is_some()))
}
