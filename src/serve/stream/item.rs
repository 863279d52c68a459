//! Converts an event of the log into JSON, once for all sockets, and adds data from the current
//! release.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

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

/// Dataset id of the stream's filings in issues and provenance.
pub const DATASET: &str = "stream.filing";

/// Maximum size of `data`. It bounds the number of bytes that wait for a socket; a typical filing
/// has about 1.5 KB.
pub const DATA_BYTES: usize = 256 << 10;

/// Event as it is sent, with the values that filters match.
#[derive(Debug)]
pub struct Item {
    pub seq: u64,
    pub event: EventKind,
    pub seen_at: Timestamp,
    /// Value of `data`, or `None` if it is too long for a message.
    pub data: Option<String>,
    pub forms: Vec<String>,
    pub ciks: Vec<u64>,
    pub items: Vec<String>,
    pub roles: Vec<String>,
}

impl Item {
    /// Completes an event with data from a release.
    pub fn from_event(
        event: Event,
        release: Option<&Release>,
        contracts: &Contracts,
        links: &Links,
    ) -> Self {
        let registrants = release.and_then(SecTables::registrants_of);
        let mut json = Json::new();
        json.value(&FilingData::from_event(
            &event,
            registrants,
            contracts,
            links,
        ));
        let filing = event.filing;
        let ciks = filing
            .entities
            .iter()
            .filter_map(|entity| entity.cik.parse::<Cik>().ok())
            .map(Cik::number)
            .collect();
        let mut data = String::from_utf8(json.into_bytes()).unwrap_or_default();
        data.shrink_to_fit();
        let is_sent = data.len() <= DATA_BYTES;
        if !is_sent {
            tracing::warn!(
                "event {} has {} bytes and is not sent: the limit is {DATA_BYTES} bytes; clients receive a gap message",
                event.seq,
                data.len()
            );
        }
        Self {
            seq: event.seq,
            event: event.event,
            seen_at: event.seen_at.parse().unwrap_or(Timestamp::UNIX_EPOCH),
            data: is_sent.then_some(data),
            forms: filing.forms,
            ciks,
            items: filing.items,
            roles: filing
                .entities
                .into_iter()
                .filter_map(|entity| entity.role)
                .collect(),
        }
    }

    pub fn size_bytes(&self) -> usize {
        let texts = [&self.forms, &self.items, &self.roles]
            .into_iter()
            .flatten()
            .map(|text| 24 + text.len())
            .sum::<usize>();
        size_of::<Self>() + self.data.as_ref().map_or(0, String::len) + texts + 8 * self.ciks.len()
    }
}

/// Fields of a filing as in `/v1/filings/search`, and further facts from the feed. Facts that no
/// feed has contained yet are null.
#[derive(Serialize, JsonSchema)]
pub struct FilingData<'a> {
    #[schemars(extend("$field" = "sec.filing/accession_number"))]
    accession_number: &'a str,
    #[schemars(extend("$field" = "sec.filing/form"))]
    form: &'a str,
    /// All form types; one filing can have two form types.
    forms: &'a [String],
    /// Description of the form, for the most common forms.
    form_description: Option<&'a str>,
    is_amendment: bool,
    #[schemars(extend("format" = "date"))]
    filed_date: Option<&'a str>,
    /// Time of acceptance, UTC.
    #[schemars(extend("format" = "date-time"))]
    accepted_at: Option<&'a str>,
    /// Time at which this server first saw the filing in a feed.
    #[schemars(extend("format" = "date-time"))]
    first_seen_at: &'a str,
    period_of_report: Option<&'a str>,
    entities: Vec<FilingParty<'a>>,
    /// CIK of the first registrant with a ticker, otherwise of the first registrant.
    #[schemars(regex(pattern = CIK))]
    primary_cik: Option<String>,
    /// Items of a current report.
    items: &'a [String],
    /// Always null, because no feed contains it.
    act: (),
    file_number: Option<&'a str>,
    /// Always null, because no feed contains it.
    film_number: (),
    primary_document_url: Option<String>,
    /// Always null, because no feed contains it.
    primary_document_description: (),
    /// Index page of the filing at the regulator.
    index_url: Option<String>,
    /// Complete submission as text.
    text_url: Option<String>,
    /// Always null, because no feed contains it.
    size_bytes: (),
    has_xbrl: Option<bool>,
    has_inline_xbrl: Option<bool>,
    provenance: FeedProvenance<'a>,
}

const CIK: &str = "^[0-9]{10}$";

/// Party to the filing.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Party")]
struct FilingParty<'a> {
    /// Ten-digit CIK with leading zeros.
    #[schemars(regex(pattern = CIK))]
    cik: String,
    name: Option<&'a str>,
    role: Option<&'a str>,
    ticker: Option<&'a str>,
    sic: Option<&'a str>,
    state: Option<&'a str>,
}

/// Feed in which the filing appeared. The filing can be traced to the publisher's bytes once a
/// release contains it.
#[derive(Serialize, JsonSchema)]
struct FeedProvenance<'a> {
    dataset_id: &'static str,
    source_id: &'a str,
    source_url: &'a str,
    source_version: &'static str,
    #[schemars(extend("format" = "date"))]
    source_date: &'a str,
    schema_version: &'static str,
    validation_status: &'static str,
    record_id: String,
}

impl<'a> FilingData<'a> {
    fn from_event(
        event: &'a Event,
        registrants: Option<&'a Registrants>,
        contracts: &'a Contracts,
        links: &Links,
    ) -> Self {
        let (filing, accession_number) = (&event.filing, event.accession_number.as_str());
        let form = filing.forms.first().map(String::as_str).unwrap_or_default();
        let ciks: Vec<Option<Cik>> = filing
            .entities
            .iter()
            .map(|entity| entity.cik.parse().ok())
            .collect();
        let row_of = |cik: Option<Cik>| {
            registrants.and_then(|registrants| Some((registrants, registrants.find(cik?)?)))
        };
        // Just as in the search, the primary party is the first party with a ticker.
        let has_ticker = |cik: &Option<Cik>| {
            row_of(*cik).is_some_and(|(registrants, row)| registrants.tickers(row).next().is_some())
        };
        let primary = ciks
            .iter()
            .copied()
            .find(has_ticker)
            .or_else(|| ciks.first().copied())
            .flatten();
        let key = primary.map(|cik| FilingKey {
            cik,
            accession_number,
            primary_document: filing.primary_document.as_deref(),
        });
        let entities = filing.entities.iter().zip(&ciks).map(|(entity, cik)| {
            let Party {
                cik,
                name,
                ticker,
                sic,
                state,
                ..
            } = Party::new(entity.cik.clone(), row_of(*cik));
            let (name, sic) = (
                entity.name.as_deref().or(name),
                entity.sic.as_deref().or(sic),
            );
            FilingParty {
                cik,
                name,
                role: entity.role.as_deref(),
                ticker,
                sic,
                state,
            }
        });
        Self {
            accession_number,
            form,
            forms: &filing.forms,
            form_description: description_of(contracts, form),
            is_amendment: form.ends_with("/A"),
            filed_date: filing.filed_date.as_deref(),
            accepted_at: filing.accepted_at.as_deref(),
            first_seen_at: &filing.first_seen_at,
            period_of_report: filing.period_of_report.as_deref(),
            entities: entities.collect(),
            primary_cik: primary.map(|cik| cik.to_string()),
            items: &filing.items,
            act: (),
            file_number: filing.file_number.as_deref(),
            film_number: (),
            primary_document_url: key.and_then(|key| links.primary_document(key)),
            primary_document_description: (),
            index_url: key.and_then(|key| links.evidence(key)),
            text_url: key.and_then(|key| links.text(key)),
            size_bytes: (),
            has_xbrl: filing.has_xbrl,
            has_inline_xbrl: filing.has_inline_xbrl,
            provenance: FeedProvenance {
                dataset_id: DATASET,
                source_id: event.source.name(),
                source_url: &event.source_url,
                source_version: "current",
                source_date: event.seen_at.get(..10).unwrap_or_default(),
                schema_version: "1.0.0",
                validation_status: "passed",
                record_id: format!("{DATASET}:{accession_number}"),
            },
        }
    }
}
