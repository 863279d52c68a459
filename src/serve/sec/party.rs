//! Writes a party of a filing.

use super::registrants::Registrants;
use crate::json::Json;

/// What a source says of a party itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct PartyFields<'a> {
    pub name: Option<&'a str>,
    pub role: Option<&'a str>,
    pub sic: Option<&'a str>,
}

/// Writes a party of a filing: what is said of it, else what the release knows of the registrant.
pub fn write_entity(json: &mut Json, known: Option<(&Registrants, usize)>, cik: &str, said: PartyFields<'_>) {
    json.object(|json| {
        json.key("cik").text(cik);
        json.key("name").optional_text(said.name.or_else(|| known.and_then(|(registrants, row)| registrants.name(row))));
        json.key("role").optional_text(said.role);
        json.key("ticker").optional_text(known.and_then(|(registrants, row)| registrants.tickers(row).next()));
        json.key("sic").optional_text(said.sic.or_else(|| known.and_then(|(registrants, row)| registrants.sic(row))));
        json.key("state").optional_text(known.and_then(|(registrants, row)| registrants.state(row)));
    });
}
