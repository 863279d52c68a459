//! The columns that answers about licenses are written from, by dataset.

use crate::release::rows::Dataset;

pub const LICENSES: &str = License::ID;
pub const ACTIONS: &str = Action::ID;

/// Licenses.
#[derive(Debug)]
pub struct License;

impl Dataset for License {
    const ID: &'static str = "license.license";
    const KEY: &'static str = "license_id";
    #[rustfmt::skip]
    const COLUMNS: &'static [&'static str] = &[
        "record_id", "state", "source", "license_id", "source_id", "number", "number_raw", "number_normalized", "board", "profession", "profession_raw", "profession_basis?", "license_class", "classifications",
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
