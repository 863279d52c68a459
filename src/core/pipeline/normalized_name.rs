//! Normalises column names so that a publisher's exports and API yield equal names.

/// Normalises a column name: converts it to lower case, replaces each run of characters other than
/// letters and digits with one `_`, and removes `_` from both ends.
pub fn normalized_name(name: &str) -> String {
    let mut normalized = String::with_capacity(name.len());
    for character in name.chars() {
        if character.is_ascii_alphanumeric() {
            normalized.push(character.to_ascii_lowercase());
        } else if character.is_alphanumeric() {
            // The lower-case form of `İ` is a letter followed by a combining mark, which is not a
            // letter.
            normalized.extend(
                character
                    .to_lowercase()
                    .filter(|lower| lower.is_alphanumeric()),
            );
        } else if !normalized.is_empty() && !normalized.ends_with('_') {
            normalized.push('_');
        }
    }
    normalized.truncate(normalized.trim_end_matches('_').len());
    normalized
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_exports_and_of_apis_normalize_alike() {
        for (name, normalized) in [
            ("PERMIT#", "permit"),
            ("permit_", "permit"),
            ("Permittee's First Name", "permittee_s_first_name"),
            ("BUSINESS ADDRESS-LINE1", "business_address_line1"),
            ("job__", "job"),
            ("  PERMIT_TYPE", "permit_type"),
            (
                "MAILING ADDRESS CITY, STATE ZIP",
                "mailing_address_city_state_zip",
            ),
            (":@computed_region", "computed_region"),
            ("", ""),
            ("#", ""),
            ("İl Kodu", "il_kodu"),
        ] {
            assert_eq!(normalized_name(name), normalized);
            assert_eq!(normalized_name(normalized), normalized);
        }
    }
}
