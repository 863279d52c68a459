//! What form types are, as far as the contract says it.

use super::tables::FILINGS;
use pubdata_core::contract::Contracts;

/// What a form type is, amendments included; none for one that is rarely asked for.
pub fn description_of<'a>(contracts: &'a Contracts, form: &str) -> Option<&'a str> {
    contracts.get(FILINGS)?.value("form", form.trim_end_matches("/A"))?.note("label")
}

/// The form types that the contract describes.
pub fn declared(contracts: &Contracts) -> impl Iterator<Item = &str> {
    contracts.get(FILINGS).into_iter().flat_map(|contract| contract.values_of("form")).map(|known| known.value.as_str())
}

/// Whether the contract describes a form type.
pub fn is_declared(contracts: &Contracts, form: &str) -> bool {
    declared(contracts).any(|known| known == form)
}
