//! Normalises names, addresses and numbers for comparison. Pipelines publish the normalised form
//! next to the source's text, and queries are normalised before the lookup. This module contains
//! only standards (USPS Publication 28, legal designators, states). Agency-specific deviations are
//! declared with the source.

pub mod address;
pub mod email;
pub mod license_number;
pub mod line;
pub mod name;
pub mod phone;
pub mod state;
pub mod street;
mod suffix;

use unicode_normalization::UnicodeNormalization;

/// Returns the NFKC form in upper case: `ﬁ` becomes `FI`, and full-width letters become ordinary
/// letters.
fn upper(text: &str) -> String {
    // ASCII has no compatibility forms, and nearly all names are ASCII.
    if text.is_ascii() {
        text.to_ascii_uppercase()
    } else {
        text.nfkc().flat_map(char::to_uppercase).collect()
    }
}

/// Returns whether a character is an apostrophe of any kind. Removing an apostrophe leaves no gap:
/// `LIGHTBOURNE'S` is one word.
fn is_apostrophe(c: char) -> bool {
    matches!(
        c,
        '\'' | '\u{2018}' | '\u{2019}' | '\u{201B}' | '\u{02BC}' | '\u{00B4}' | '`'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    use super::upper;

    proptest! {
        #[test]
        fn ascii_is_its_own_compatibility_form(text in "[\\x00-\\x7F]{0,40}") {
            prop_assert_eq!(upper(&text), text.nfkc().flat_map(char::to_uppercase).collect::<String>());
            prop_assert_eq!(text.nfkd().collect::<String>(), text);
        }
    }
}
