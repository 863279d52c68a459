//! Names, addresses and numbers in the one form in which they are compared: what the pipelines
//! publish beside the source's text and what a question is turned into before it is looked up.
//! Standards only (USPS Publication 28, legal designators, states); what one agency writes
//! differently is declared with its source.

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

/// Compatibility forms composed, upper case: `ﬁ` is `FI`, a full-width letter is the letter.
fn upper(text: &str) -> String {
    // ASCII has no compatibility forms, and nearly all names are ASCII.
    if text.is_ascii() {
        text.to_ascii_uppercase()
    } else {
        text.nfkc().flat_map(char::to_uppercase).collect()
    }
}

/// Apostrophes of all kinds, which leave no gap: `LIGHTBOURNE'S` is one word.
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
