//! Folds names of columns so that those of a publisher's exports and of its API are equal.

/// Folds a column's name: lower case, every run of other characters than letters and digits one `_`, none at the ends.
pub fn fold(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    for character in name.chars() {
        if character.is_alphanumeric() {
            folded.extend(character.to_lowercase());
        } else if !folded.is_empty() && !folded.ends_with('_') {
            folded.push('_');
        }
    }
    folded.truncate(folded.trim_end_matches('_').len());
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_exports_and_of_apis_fold_alike() {
        for (name, folded) in [
            ("PERMIT#", "permit"),
            ("permit_", "permit"),
            ("Permittee's First Name", "permittee_s_first_name"),
            ("BUSINESS ADDRESS-LINE1", "business_address_line1"),
            ("job__", "job"),
            ("  PERMIT_TYPE", "permit_type"),
            ("MAILING ADDRESS CITY, STATE ZIP", "mailing_address_city_state_zip"),
            (":@computed_region", "computed_region"),
            ("", ""),
            ("#", ""),
        ] {
            assert_eq!(fold(name), folded);
        }
    }
}
