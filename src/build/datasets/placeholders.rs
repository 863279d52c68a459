//! Recognises placeholders, which people and forms write in place of a missing value. The column
//! then becomes null, and the record has the warning [`PLACEHOLDER`] with the original text.

/// Warning code on a record in which a placeholder replaces a value.
pub const PLACEHOLDER: &str = "placeholder";

/// Kind of value in a column, which determines the placeholders to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// A person's or a firm's name.
    Name,
    /// A name under which a firm trades.
    TradeName,
    /// License number.
    Number,
    /// City, county or state.
    Place,
}

/// Length of the longest placeholder, in characters.
const MAX_PLACEHOLDER_LENGTH: usize = 40;

/// Placeholders that apply to any column. In all lists, words are lowercase and separated by single
/// blanks.
const OF_ALL: &[&str] = &[
    "n a",
    "na",
    "nil",
    "none",
    "null",
    "not applicable",
    "not available",
    "not provided",
    "not given",
    "no data",
    "unavailable",
    "unknown",
    "unk",
    "blank",
    "tbd",
    "tba",
    "to be determined",
    "to be announced",
    "pending",
    "see above",
    "see notes",
    "same",
    "same as above",
    "test",
];

const OF_NAMES: &[&str] = &[
    "no name",
    "name unknown",
    "no primary applicant available",
    "no applicant",
    "no contractor",
    "no contractor listed",
    "no contractor selected",
    "contractor unknown",
    "contractor tbd",
    "contractor to be determined",
    "qp exempt",
    "could not find qp name",
    "no qualifying party",
    "not listed",
    "none listed",
    "owne",
    "owner",
    "home owner",
    "homeowner",
    "property owner",
    "pr",
    "no agent",
    "no registered agent",
    "registered agent",
    "agent resigned",
    "registered agent resigned",
    "registered agent revoked",
    "resigned",
    "vacant",
    "no officer",
    "none given",
    "none on file",
    "no information available",
];

const OF_TRADE_NAMES: &[&str] = &[
    "individual",
    "no dba",
    "sole proprietor",
    "sole proprietorship",
    "self",
    "self employed",
];

const OF_NUMBERS: &[&str] = &[
    "x",
    "xx",
    "xxx",
    "xxxx",
    "exempt",
    "applied for",
    "none required",
    "not required",
    "no number",
    "on file",
];

const OF_PLACES: &[&str] = &[
    "out of state",
    "out of county",
    "out of country",
    "outside city",
    "multiple",
    "statewide",
    "citywide",
    "various",
    "various locations",
    "multiple addresses",
    "temp",
    "temp address",
    "temporary",
    "temporary address",
    "no address",
    "no address given",
    "no street address",
    "address pending",
    "address unknown",
    "address tbd",
    "unassigned",
    "unassigned address",
    "not assigned",
];

/// Returns true if the entire text is a placeholder for this kind of column, or consists only of
/// punctuation.
pub fn is_placeholder(holds: Holds, text: &str) -> bool {
    let mut buffer = [0; MAX_PLACEHOLDER_LENGTH];
    let Some(words) = plain_words(text, &mut buffer) else {
        return false;
    };
    let of_kind: &[&[&str]] = match holds {
        Holds::Name => &[OF_ALL, OF_NAMES],
        Holds::TradeName => &[OF_ALL, OF_NAMES, OF_TRADE_NAMES],
        Holds::Number => &[OF_ALL, OF_NUMBERS],
        Holds::Place => &[OF_ALL, OF_PLACES],
    };
    words.is_empty()
        || of_kind.iter().any(|list| {
            list.iter()
                .any(|placeholder| placeholder.as_bytes() == words)
        })
}

/// Returns a text's words in lowercase, separated by single blanks. Returns `None` for text that is
/// longer than any placeholder or contains other characters.
fn plain_words<'b>(text: &str, buffer: &'b mut [u8; MAX_PLACEHOLDER_LENGTH]) -> Option<&'b [u8]> {
    let mut length = 0;
    let mut is_in_word = false;
    for c in text.chars() {
        if !c.is_alphanumeric() {
            is_in_word = false;
            continue;
        }
        if !is_in_word && length > 0 {
            *buffer.get_mut(length)? = b' ';
            length += 1;
        }
        is_in_word = true;
        *buffer.get_mut(length)? = u8::try_from(c)
            .ok()
            .filter(u8::is_ascii)?
            .to_ascii_lowercase();
        length += 1;
    }
    Some(&buffer[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_told_from_values_by_what_the_column_holds() {
        for (holds, text) in [
            (Holds::Name, "N/A"),
            (Holds::Name, "No Primary Applicant Available"),
            (Holds::Name, "QP Exempt"),
            (Holds::TradeName, "INDIVIDUAL"),
            (Holds::Number, "========="),
            (Holds::Number, "PENDING"),
            (Holds::Place, "Out of State"),
            (Holds::Place, "NULL"),
        ] {
            assert!(is_placeholder(holds, text), "{holds:?} {text}");
        }
        for (holds, text) in [
            (Holds::Name, "INDIVIDUAL ROOFING LLC"),
            (Holds::Name, "Nona Test"),
            (Holds::Number, "X123"),
            (Holds::Place, "Nil Valley"),
        ] {
            assert!(!is_placeholder(holds, text), "{holds:?} {text}");
        }
        assert!(
            !is_placeholder(Holds::Name, "株式会社")
                && !is_placeholder(Holds::Name, &"no name ".repeat(9))
        );
    }

    #[test]
    fn placeholders_are_listed_as_they_are_compared() {
        for placeholder in [OF_ALL, OF_NAMES, OF_TRADE_NAMES, OF_NUMBERS, OF_PLACES].concat() {
            assert_eq!(
                plain_words(placeholder, &mut [0; MAX_PLACEHOLDER_LENGTH]),
                Some(placeholder.as_bytes()),
                "{placeholder}"
            );
        }
    }
}
