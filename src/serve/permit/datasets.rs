//! The columns that answers about permits are written from, by dataset.

use crate::release::rows::Dataset;

pub const PERMITS: &str = Permit::ID;
pub const CONTACTS: &str = Contact::ID;
pub const LINKS: &str = Link::ID;

/// Permits.
#[derive(Debug)]
pub struct Permit;

impl Dataset for Permit {
    const ID: &'static str = "permit.permit";
    const KEY: &'static str = "permit_id";
    #[rustfmt::skip]
    const COLUMNS: &'static [&'static str] = &[
        "record_id", "jurisdiction", "jurisdiction_name", "permit_id", "state", "permit_number", "type", "type_raw", "sub_type_raw", "type_basis?", "work_class", "work_class_raw", "property_class", "property_class_raw",
        "description", "status", "status_detail", "status_raw", "status_basis?", "status_date", "applied_date", "issued_date", "completed_date", "expires_date", "job_value", "fees", "square_feet",
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
        "record_id", "permit_id", "seq", "role", "role_raw", "name", "name_normalized", "license_number", "license_number_normalized", "license_type_raw", "license_state", "license_scheme?",
        "other_license_number?", "other_license_number_normalized?", "other_license_scheme?", "phone", "validation_status",
    ];
}

/// The columns of a party that a link may rest on.
pub const EVIDENCE: [&str; 3] = ["license_number_normalized", "other_license_number_normalized", "name_normalized"];

/// Links of parties to licenses.
#[derive(Debug)]
pub struct Link;

impl Dataset for Link {
    const ID: &'static str = "permit.license_link";
    const KEY: &'static str = "permit_id";
    const COLUMNS: &'static [&'static str] = &["record_id", "permit_id", "seq", "license_id", "method", "license_scheme", "evidence", "validation_status"];
}
