//! The columns that answers are written from, by dataset.

use super::rows::Dataset;

/// Businesses.
#[derive(Debug)]
pub struct Entity;

impl Dataset for Entity {
    const ID: &'static str = "business.entity";
    const KEY: &'static str = "entity_id";
    #[rustfmt::skip]
    const COLUMNS: &'static [&'static str] = &[
        "record_id", "state", "entity_id", "entity_number", "name", "name_normalized", "designator", "former_names", "assumed_names", "jurisdiction_of_formation", "is_foreign",
        "entity_type", "entity_type_raw", "status", "status_raw", "status_basis", "formation_date",
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

/// Licenses.
#[derive(Debug)]
pub struct License;

impl Dataset for License {
    const ID: &'static str = "license.license";
    const KEY: &'static str = "license_id";
    #[rustfmt::skip]
    const COLUMNS: &'static [&'static str] = &[
        "record_id", "state", "source", "license_id", "source_id", "number", "number_raw", "number_normalized", "board", "profession", "profession_raw", "license_class", "classifications",
        "holder_name", "holder_name_normalized", "holder_type", "holder_first", "holder_middle", "holder_last", "holder_suffix", "business_name", "dba", "principals",
        "status", "status_raw", "status_basis", "secondary_status_raw", "evidence", "issue_date", "effective_date", "expiration_date", "last_renewed_date", "suspended_date",
        "city", "address_state", "zip", "county", "phone", "bond_surety", "bond_amount", "bond_effective_date", "bond_expiration_date", "bond_cancelled_date",
        "insurance_insurer", "insurance_amount", "insurance_effective_date", "insurance_expiration_date", "insurance_cancelled_date",
        "workers_comp_coverage", "workers_comp_insurer", "workers_comp_expiration_date", "verify_url", "validation_status", "warnings",
    ];
}

/// Disciplinary actions.
#[derive(Debug)]
pub struct Action;

impl Dataset for Action {
    const ID: &'static str = "license.action";
    const KEY: &'static str = "license_id";
    const COLUMNS: &'static [&'static str] = &["record_id", "license_id", "seq", "case_number", "action", "effective_date", "end_date", "validation_status"];
}

/// Permits.
#[derive(Debug)]
pub struct Permit;

impl Dataset for Permit {
    const ID: &'static str = "permit.permit";
    const KEY: &'static str = "permit_id";
    #[rustfmt::skip]
    const COLUMNS: &'static [&'static str] = &[
        "record_id", "jurisdiction", "jurisdiction_name", "permit_id", "state", "permit_number", "type", "type_raw", "sub_type_raw", "work_class", "work_class_raw", "property_class", "property_class_raw",
        "description", "status", "status_detail", "status_raw", "status_date", "applied_date", "issued_date", "completed_date", "expires_date", "job_value", "fees", "square_feet",
        "housing_units", "renewals", "line1", "line2", "city", "address_state", "zip", "address_normalized", "address_key", "lat", "lon", "parcel_scheme", "parcel", "property_id", "tags",
        "source_url", "validation_status", "warnings",
    ];
}

/// Parties of permits.
#[derive(Debug)]
pub struct Contact;

impl Dataset for Contact {
    const ID: &'static str = "permit.contact";
    const KEY: &'static str = "permit_id";
    #[rustfmt::skip]
    const COLUMNS: &'static [&'static str] = &[
        "record_id", "permit_id", "seq", "role", "role_raw", "name", "name_normalized", "license_number", "license_number_normalized", "license_type_raw", "license_state", "phone",
        "validation_status",
    ];
}
