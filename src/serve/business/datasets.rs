//! The columns that answers about businesses are written from, by dataset.

use crate::release::rows::Dataset;

pub const ENTITIES: &str = Entity::ID;
pub const OFFICERS: &str = Officer::ID;

/// Businesses.
#[derive(Debug)]
pub struct Entity;

impl Dataset for Entity {
    const ID: &'static str = "business.entity";
    const KEY: &'static str = "entity_id";
    #[rustfmt::skip]
    const COLUMNS: &'static [&'static str] = &[
        "record_id", "state", "entity_id", "entity_number", "name", "name_normalized", "designator", "former_names", "assumed_names", "jurisdiction_of_formation", "is_foreign",
        "entity_type", "entity_type_raw", "entity_type_basis?", "status", "status_raw", "status_basis", "formation_date",
        "principal_line1", "principal_line2", "principal_city", "principal_state", "principal_zip", "principal_zip4", "principal_country",
        "mailing_role", "mailing_line1", "mailing_line2", "mailing_city", "mailing_state", "mailing_zip", "mailing_zip4", "mailing_country",
        "agent_name", "agent_type", "agent_line1", "agent_line2", "agent_city", "agent_state", "agent_zip", "agent_zip4",
        "county", "officers_complete", "last_report_year", "last_report_date", "last_transaction_date", "identifiers", "registry_url", "validation_status", "warnings",
    ];
}

/// Officers of businesses.
#[derive(Debug)]
pub struct Officer;

impl Dataset for Officer {
    const ID: &'static str = "business.officer";
    const KEY: &'static str = "entity_id";
    #[rustfmt::skip]
    const COLUMNS: &'static [&'static str] = &[
        "record_id", "entity_id", "seq", "name", "type", "title", "title_raw", "line1", "city", "officer_state", "zip", "validation_status",
    ];
}
