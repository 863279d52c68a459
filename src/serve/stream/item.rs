//! Turns an event of the log into the JSON that sockets are sent, once for all of them, completed from the current release.

use jiff::Timestamp;

use crate::json::Json;
use crate::release::loaded::Release;
use crate::sec::forms::description_of;
use crate::sec::links::{FilingKey, Links};
use crate::sec::party::Party;
use crate::sec::registrants::Registrants;
use crate::sec::tables::SecTables;
use pubdata_core::contract::Contracts;
use pubdata_core::ids::Cik;
use pubdata_store::{Event, EventKind};

/// What findings and provenance call the filings of the stream.
pub const DATASET: &str = "stream.filing";

/// The longest `data` that is sent. What waits behind a socket is bounded, and a filing is about 1.5 KB.
pub const DATA_BYTES: usize = 256 << 10;

/// An event as it is sent, and what subscriptions ask for.
#[derive(Debug)]
pub struct Item {
    pub seq: u64,
    pub event: EventKind,
    pub seen_at: Timestamp,
    /// The value of `data`; none when it is longer than a message may be.
    pub data: Option<String>,
    pub forms: Vec<String>,
    pub ciks: Vec<u64>,
    pub items: Vec<String>,
    pub roles: Vec<String>,
}

impl Item {
    /// Completes an event from a release.
    pub fn of(event: Event, release: Option<&Release>, contracts: &Contracts, links: &Links) -> Self {
        let registrants = release.and_then(SecTables::registrants_of);
        let mut json = Json::new();
        json.object(|json| write(json, &event, registrants, contracts, links));
        let filing = event.filing;
        let ciks = filing.entities.iter().filter_map(|entity| entity.cik.parse::<Cik>().ok()).map(Cik::number).collect();
        let mut data = String::from_utf8(json.into_bytes()).unwrap_or_default();
        data.shrink_to_fit();
        let is_sent = data.len() <= DATA_BYTES;
        if !is_sent {
            tracing::warn!("event {} has {} bytes and is not sent: a message has {DATA_BYTES} at most; clients are told of the gap", event.seq, data.len());
        }
        Self {
            seq: event.seq,
            event: event.event,
            seen_at: event.seen_at.parse().unwrap_or(Timestamp::UNIX_EPOCH),
            data: is_sent.then_some(data),
            forms: filing.forms,
            ciks,
            items: filing.items,
            roles: filing.entities.into_iter().filter_map(|entity| entity.role).collect(),
        }
    }

    pub fn size_bytes(&self) -> usize {
        let texts = [&self.forms, &self.items, &self.roles].into_iter().flatten().map(|text| 24 + text.len()).sum::<usize>();
        size_of::<Self>() + self.data.as_ref().map_or(0, String::len) + texts + 8 * self.ciks.len()
    }
}

/// Writes the members of a filing, in the order of the search's.
fn write(json: &mut Json, event: &Event, registrants: Option<&Registrants>, contracts: &Contracts, links: &Links) {
    let filing = &event.filing;
    let form = filing.forms.first().map(String::as_str).unwrap_or_default();
    let ciks: Vec<Option<Cik>> = filing.entities.iter().map(|entity| entity.cik.parse().ok()).collect();
    let row_of = |cik: Option<Cik>| registrants.and_then(|registrants| Some((registrants, registrants.find(cik?)?)));
    // As the search has it: of several parties the first that has a ticker.
    let has_ticker = |cik: &Option<Cik>| row_of(*cik).is_some_and(|(registrants, row)| registrants.tickers(row).next().is_some());
    let primary = ciks.iter().copied().find(has_ticker).or_else(|| ciks.first().copied()).flatten();
    json.key("accession_number").text(&event.accession_number);
    json.key("form").text(form);
    json.key("forms").texts(filing.forms.iter().map(String::as_str));
    json.key("form_description").optional_text(description_of(contracts, form));
    json.key("is_amendment").flag(form.ends_with("/A"));
    json.key("filed_date").optional_text(filing.filed_date.as_deref());
    json.key("accepted_at").optional_text(filing.accepted_at.as_deref());
    json.key("first_seen_at").text(&filing.first_seen_at);
    json.key("period_of_report").optional_text(filing.period_of_report.as_deref());
    json.key("entities").array(|json| {
        for (entity, cik) in filing.entities.iter().zip(&ciks) {
            let mut party = Party::of(entity.cik.clone(), row_of(*cik));
            party.name = entity.name.as_deref().or(party.name);
            party.role = entity.role.as_deref();
            party.sic = entity.sic.as_deref().or(party.sic);
            json.value(&party);
        }
    });
    json.key("primary_cik").optional_text(primary.map(|cik| cik.to_string()).as_deref());
    json.key("items").texts(filing.items.iter().map(String::as_str));
    json.key("act").null();
    json.key("file_number").optional_text(filing.file_number.as_deref());
    json.key("film_number").null();
    let key = primary.map(|cik| FilingKey { cik, accession_number: &event.accession_number, primary_document: filing.primary_document.as_deref() });
    json.key("primary_document_url").optional_text(key.and_then(|key| links.primary_document(key)).as_deref());
    json.key("primary_document_description").null();
    json.key("index_url").optional_text(key.and_then(|key| links.evidence(key)).as_deref());
    json.key("text_url").optional_text(key.and_then(|key| links.text(key)).as_deref());
    json.key("size_bytes").null();
    json.key("has_xbrl").optional_flag(filing.has_xbrl);
    json.key("has_inline_xbrl").optional_flag(filing.has_inline_xbrl);
    json.key("provenance").object(|json| {
        json.key("dataset_id").text(DATASET);
        json.key("source_id").text(event.source.name());
        json.key("source_url").text(&event.source_url);
        json.key("source_version").text("current");
        json.key("source_date").text(event.seen_at.get(..10).unwrap_or_default());
        json.key("schema_version").text("1.0.0");
        json.key("validation_status").text("passed");
        json.key("record_id").joined(&[DATASET, ":", &event.accession_number]);
    });
}
