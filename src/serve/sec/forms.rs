//! What form types are, as far as the contract says it.

use super::tables::FILINGS;
use pubdata_core::contract::Contracts;

/// What a form type is, amendments included; none for one that is rarely asked for.
pub fn description_of<'a>(contracts: &'a Contracts, form: &str) -> Option<&'a str> {
    contracts.get(FILINGS)?.value("form", form.trim_end_matches("/A"))?.note("label")
}
