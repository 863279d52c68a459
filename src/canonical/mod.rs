//! Names, addresses and numbers in the one form in which they are compared: what the pipelines publish beside the source's text and what a question is turned into before
//! it is looked up. Standards only (USPS Publication 28, legal designators, states); what one agency writes differently is declared with its source.

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
    text.nfkc().flat_map(char::to_uppercase).collect()
}

/// Apostrophes of all kinds, which leave no gap: `LIGHTBOURNE'S` is one word.
fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2018}' | '\u{2019}' | '\u{201B}' | '\u{02BC}' | '\u{00B4}' | '`')
}
