//! Describes form types from the contract.

use super::tables::FILINGS;
use pubdata_core::contract::Contracts;

/// Returns the description of a form type and its amendments; `None` for a less common form type.
pub fn description_of<'a>(contracts: &'a Contracts, form: &str) -> Option<&'a str> {
    contracts
        .get(FILINGS)?
        .value("form", form.trim_end_matches("/A"))?
        .note("label")
}

/// Returns the form types that the contract describes.
pub fn declared(contracts: &Contracts) -> impl Iterator<Item = &str> {
    contracts
        .get(FILINGS)
        .into_iter()
        .flat_map(|contract| contract.values_of("form"))
        .map(|known| known.value.as_str())
}

/// Returns a message for a described form type without its hyphen or blank, because no EDGAR form
/// type is spelled that way.
pub fn misspelled(contracts: &Contracts, form: &str) -> Option<String> {
    let (base, amendment) = form
        .strip_suffix("/A")
        .map_or((form, ""), |base| (base, "/A"));
    let letters = |form: &str| {
        form.chars()
            .filter(char::is_ascii_alphanumeric)
            .collect::<String>()
    };
    let meant = declared(contracts)
        .find(|known| !is_declared(contracts, base) && letters(known) == letters(base))?;
    Some(format!(
        "there is no form type `{form}`; did you mean `{meant}{amendment}`?"
    ))
}

/// Returns true if the contract describes a form type.
pub fn is_declared(contracts: &Contracts, form: &str) -> bool {
    declared(contracts).any(|known| known == form)
}
