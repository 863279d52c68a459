//! Parses a search text into interpretations that several kinds of results share.

use pubdata_core::canonical::name::comparable;
use pubdata_core::canonical::state::usps;

/// A search text and its interpretations.
pub struct SearchQuery<'a> {
    /// The text without surrounding blanks.
    pub text: &'a str,
    /// The text in the format used to compare names.
    pub compared: String,
    /// A state at the start or end, and the text without it.
    pub with_state: Option<(&'static str, &'a str)>,
}

/// Maximum number of words in a state's name.
const MAX_STATE_WORDS: usize = 4;

impl<'a> SearchQuery<'a> {
    pub fn read(text: &'a str) -> Self {
        let text = text.trim();
        Self {
            text,
            compared: comparable(text),
            with_state: split_state(text),
        }
    }

    /// Reports whether the text consists of digits only.
    pub fn is_number(&self) -> bool {
        !self.text.is_empty() && self.text.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// Reports whether the text may be a registry number: short, with at least one digit.
    pub fn may_be_a_number(&self) -> bool {
        self.text.len() <= 40
            && self.text.bytes().any(|byte| byte.is_ascii_digit())
            && self.text.split_whitespace().count() <= 4
    }

    /// Returns the first five digits of a five-digit or nine-digit ZIP code.
    pub fn five_digits(&self) -> Option<&'a str> {
        let (five, rest) = self.text.split_at_checked(5)?;
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_whole = rest.is_empty()
            || rest
                .strip_prefix('-')
                .is_some_and(|four| four.len() == 4 && is_digits(four));
        (is_digits(five) && is_whole).then_some(five)
    }
}

/// Finds a state's code or name at the start or end of a text: `Orange County, CA`, `21907 Texas`,
/// `TX 21907`.
fn split_state(text: &str) -> Option<(&'static str, &str)> {
    let cut = |character: char| character.is_whitespace() || character == ',';
    let borders: Vec<usize> = text
        .char_indices()
        .filter(|(_, character)| cut(*character))
        .map(|(at, _)| at)
        .collect();
    let behind = borders.iter().rev().take(MAX_STATE_WORDS).filter_map(|at| {
        Some((
            usps(text[*at..].trim_matches(cut))?,
            text[..*at].trim_matches(cut),
        ))
    });
    let before = borders.iter().take(MAX_STATE_WORDS).filter_map(|at| {
        Some((
            usps(text[..*at].trim_matches(cut))?,
            text[*at..].trim_matches(cut),
        ))
    });
    // Prefers the longest name: `West Virginia` over `Virginia`.
    behind
        .filter(|(_, rest)| !rest.is_empty())
        .min_by_key(|(_, rest)| rest.len())
        .or_else(|| before.min_by_key(|(_, rest)| rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_on_either_side() {
        for (text, expected) in [
            ("Orange County, CA", Some(("CA", "Orange County"))),
            ("orange county california", Some(("CA", "orange county"))),
            ("Wood County West Virginia", Some(("WV", "Wood County"))),
            ("21907 TX", Some(("TX", "21907"))),
            ("TX 21907", Some(("TX", "21907"))),
            ("New York, NY", Some(("NY", "New York"))),
            ("California", None),
            ("Orange County", None),
            ("Doña Ana, New Mexico", Some(("NM", "Doña Ana"))),
        ] {
            assert_eq!(SearchQuery::read(text).with_state, expected, "{text}");
        }
    }

    #[test]
    fn five_digits_are_a_code_alone_or_with_four_more() {
        for (text, expected) in [
            ("90210", Some("90210")),
            (" 90210-1234 ", Some("90210")),
            ("902101234", None),
            ("9021", None),
            ("90210-12", None),
            ("ééé", None),
        ] {
            assert_eq!(SearchQuery::read(text).five_digits(), expected, "{text}");
        }
    }
}
