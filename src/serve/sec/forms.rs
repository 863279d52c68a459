//! What form types are, as far as the contract says it.

use super::tables::FILINGS;
use pubdata_core::contract::Contracts;

/// What a form type is, amendments included; none for one that is rarely asked for.
pub fn description_of<'a>(contracts: &'a Contracts, form: &str) -> Option<&'a str> {
    contracts
        .get(FILINGS)?
        .value("form", form.trim_end_matches("/A"))?
        .note("label")
}

/// The form types that the contract describes.
pub fn declared(contracts: &Contracts) -> impl Iterator<Item = &str> {
    contracts
        .get(FILINGS)
        .into_iter()
        .flat_map(|contract| contract.values_of("form"))
        .map(|known| known.value.as_str())
}

/// What is wrong with a form type that is a described one without its hyphen or blank: no form type
/// of EDGAR is spelled so.
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

/// Whether the contract describes a form type.
pub fn is_declared(contracts: &Contracts, form: &str) -> bool {
    declared(contracts).any(|known| known == form)
}
