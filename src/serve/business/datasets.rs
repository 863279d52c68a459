//! Defines the business and officer rows that answers show.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::answer::{Date, Members};
use crate::release::row::{Columns, row};
use crate::release::row_cells::Texts;
use crate::release::rows::{Dataset, Record};

pub const ENTITIES: &str = Entity::ID;
pub const OFFICERS: &str = Officer::ID;

/// Dataset of businesses.
#[derive(Debug)]
pub struct Entity;

impl Entity {
    const ALL: &'static Columns = &BusinessDetails::COLUMNS
        .and(&PRINCIPAL)
        .and(&MAILING)
        .and(&AGENT)
        .and(&[
            "record_id",
            "former_names",
            "assumed_names",
            "mailing_role",
            "agent_type",
            "last_report_year",
            "last_report_date",
            "identifiers",
            "validation_status",
        ]);
}

impl Dataset for Entity {
    const ID: &'static str = "business.entity";
    const KEY: &'static str = "entity_id";
    const COLUMNS: &'static [&'static str] = Self::ALL.names();
}

/// Dataset of business officers.
#[derive(Debug)]
pub struct Officer;

impl Officer {
    const ALL: &'static Columns = &BusinessOfficer::COLUMNS.and(&["entity_id"]);
}

impl Dataset for Officer {
    const ID: &'static str = "business.officer";
    const KEY: &'static str = "entity_id";
    const COLUMNS: &'static [&'static str] = Self::ALL.names();
}

/// Address columns, in the order of the fields of [`AddressParts`].
type AddressColumns = [&'static str; 7];

pub const PRINCIPAL: AddressColumns = [
    "principal_line1",
    "principal_line2",
    "principal_city",
    "principal_state",
    "principal_zip",
    "principal_zip4",
    "principal_country",
];
pub const MAILING: AddressColumns = [
    "mailing_line1",
    "mailing_line2",
    "mailing_city",
    "mailing_state",
    "mailing_zip",
    "mailing_zip4",
    "mailing_country",
];
/// Columns of an agent's address. The registries publish no country for agents.
pub const AGENT: [&str; 6] = [
    "agent_line1",
    "agent_line2",
    "agent_city",
    "agent_state",
    "agent_zip",
    "agent_zip4",
];

row! {
    pub struct BusinessFields<'a> of Entity {
        entity_id: &'a str,
        name: &'a str,
        name_normalized: &'a str,
        entity_number: &'a str,
        state: &'a str,
        jurisdiction_of_formation: Option<&'a str>,
        is_foreign: Option<bool>,
        entity_type: &'a str,
        entity_type_raw: Option<&'a str>,
        entity_type_basis "?": Option<&'a str>,
        status: &'a str,
        status_raw: Option<&'a str>,
        status_basis: &'a str,
        formation_date: Option<Date>,
        principal_city: Option<&'a str>,
        principal_state: Option<&'a str>,
        principal_zip: Option<&'a str>,
        #[serde(rename = "registered_agent_name")]
        agent_name: Option<&'a str>,
    }
}

row! {
    pub struct BusinessDetails<'a> of Entity {
        #[serde(flatten)]
        fields: BusinessFields<'a>,
        /// Entity addresses that the registry publishes.
        addresses: Vec<BusinessAddress<'a>> = Vec::new(),
        /// Agent that receives legal papers for the entity; null if the registry publishes none.
        registered_agent: Option<BusinessRegisteredAgent<'a>> = None,
        /// Officers of the entity as published, in the registry's order.
        officers: Vec<BusinessOfficer<'a>> = Vec::new(),
        officers_complete: Option<bool>,
        /// Names of the entity: its current legal name, and the former and assumed names that the
        /// registry publishes.
        names: Vec<BusinessName<'a>> = Vec::new(),
        /// Public identification numbers of the entity.
        identifiers: Vec<BusinessIdentifier<'a>> = Vec::new(),
        /// Last annual report that the registry names; null if it names none.
        last_report: Option<BusinessLastReport> = None,
        /// Date of the last transaction that the registry recorded for the entity; null if the
        /// registry does not state one.
        last_transaction_date: Option<Date>,
        registry_url: Option<&'a str>,
        county: Option<&'a str>,
        warnings: Texts<'a>,
        /// The entity's cells as published, by the registry's column names; present only with
        /// `include=raw`. Omits cells about agents, officers and other parties, and numbers that
        /// may be tax identification numbers.
        // Renamed, because the column with this name contains text.
        #[serde(rename = "source_fields", skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Members<&str, &str>")]
        published_fields: Option<&'a RawValue> = None,
    }
}

row! {
    pub struct BusinessOfficer<'a> of Officer {
        name: &'a str,
        title: &'a str,
        title_raw: Option<&'a str>,
        r#type: Option<&'a str>,
        /// Address of the officer; null if the registry publishes none.
        address: Option<BusinessOfficerAddress<'a>>,
        /// Id of the officer's record in `business.officer`, for `/v1/provenance/{record_id}`.
        record_id: &'a str,
    }
}

row! {
    pub struct BusinessOfficerAddress<'a> of Officer {
        line1: Option<&'a str>,
        /// City as published; null if the registry publishes none.
        city: Option<&'a str>,
        /// Two-letter postal code of the state, or the text as published; null if the registry
        /// publishes none.
        #[serde(rename = "state")]
        officer_state: Option<&'a str>,
        /// ZIP code as published; null if the registry publishes none.
        zip: Option<&'a str>,
    }
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "BusinessRegisteredAgentAddress")]
pub struct AddressParts<'a> {
    /// Street line as published; null if the registry publishes none or if it may be a person's
    /// address.
    line1: Option<&'a str>,
    /// Second address line as published; null if the registry publishes none or the street is not
    /// published.
    line2: Option<&'a str>,
    /// City as published; null if the registry publishes none.
    city: Option<&'a str>,
    /// Two-letter postal code of the state, or the text as published; null if the registry
    /// publishes none.
    state: Option<&'a str>,
    /// Five-digit ZIP code, or the text as published; null if the registry publishes none.
    zip: Option<&'a str>,
    /// Four-digit ZIP+4 extension; null if the registry publishes none.
    zip4: Option<&'a str>,
    /// Country as published; null if the registry publishes none.
    country: Option<&'a str>,
}

impl<'a> AddressParts<'a> {
    /// Reads an address, or returns `None` if all its columns are null.
    pub fn read(record: &'a Record<'_, Entity>, columns: &[&str]) -> Option<Self> {
        let mut cells = columns.iter().map(|column| record.text(column));
        let [line1, line2, city, state, zip, zip4, country] =
            std::array::from_fn(|_| cells.next().flatten());
        let parts = Self {
            line1,
            line2,
            city,
            state,
            zip,
            zip4,
            country,
        };
        parts.published().next().is_some().then_some(parts)
    }

    fn published(self) -> impl Iterator<Item = &'a str> {
        [
            self.line1,
            self.line2,
            self.city,
            self.state,
            self.zip,
            self.zip4,
            self.country,
        ]
        .into_iter()
        .flatten()
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BusinessAddress<'a> {
    /// Purpose of the address as stated by the registry: principal office, mail, service of process
    /// or agent.
    #[schemars(extend("enum" = ["principal", "mailing", "service_of_process", "agent"]))]
    role: &'a str,
    #[serde(flatten)]
    parts: AddressParts<'a>,
    /// The published address parts on one line.
    raw: String,
}

impl<'a> BusinessAddress<'a> {
    pub fn new(role: &'a str, parts: AddressParts<'a>) -> Self {
        let raw = parts.published().collect::<Vec<_>>().join(", ");
        Self { role, parts, raw }
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BusinessRegisteredAgent<'a> {
    /// Name of the agent; a person's name is written as given names, last name, suffix.
    pub name: &'a str,
    #[serde(rename = "type")]
    #[schemars(extend("$field" = "business.entity/agent_type"))]
    pub agent_type: Option<&'a str>,
    /// Address of the agent's office; null if the registry publishes none.
    pub address: Option<AddressParts<'a>>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BusinessName<'a> {
    /// Name of the business, as the registry publishes it.
    name: &'a str,
    /// Kind of name: `legal`, `former`, `assumed` (doing business as) or `home_state` (name where
    /// it was formed).
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["legal", "former", "assumed", "home_state"]))]
    kind: &'static str,
    /// First day on which the name was used; always null, because no registry here publishes it.
    from: Option<&'static str>,
    /// Last day on which the name was used; always null, because no registry here publishes it.
    to: Option<&'static str>,
}

impl<'a> BusinessName<'a> {
    pub fn new(kind: &'static str, name: &'a str) -> Self {
        Self {
            name,
            kind,
            from: None,
            to: None,
        }
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BusinessIdentifier<'a> {
    /// Issuer of the number: the state's registry, the Texas Comptroller or the SEC.
    #[schemars(extend("enum" = ["state_entity_number", "tx_comptroller_number", "cik"]))]
    scheme: &'a str,
    /// Number of the business in that scheme, as the registry publishes it.
    value: &'a str,
}

impl<'a> BusinessIdentifier<'a> {
    /// Parses `scheme=value`.
    pub fn parse(text: &'a str) -> Option<Self> {
        text.split_once('=')
            .map(|(scheme, value)| Self { scheme, value })
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BusinessLastReport {
    /// Year of the report; null if the registry does not state it.
    pub year: Option<i32>,
    /// Date on which the report was filed, YYYY-MM-DD; null if the registry does not state it.
    pub filed_date: Option<Date>,
}
