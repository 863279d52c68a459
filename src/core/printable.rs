//! Escapes untrusted text so that a terminal displays the text instead of interpreting it.

use std::borrow::Cow;

/// Returns whether a terminal would interpret a character, or would move or hide other characters
/// because of it. This applies to control characters and Unicode format characters.
pub fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Escapes the characters that a terminal would interpret, including line breaks and tabs: `\n`,
/// `\u{1b}`.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut printable = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_unprintable(character) {
            printable.extend(character.escape_default());
        } else {
            printable.push(character);
        }
    }
    Cow::Owned(printable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        assert_eq!(
            printable("Peñasco 日本 👍 \\ \"a\""),
            "Peñasco 日本 👍 \\ \"a\""
        );
        assert_eq!(
            printable("\u{1b}]0;title\u{7}\u{9b}2J\u{7f}"),
            "\\u{1b}]0;title\\u{7}\\u{9b}2J\\u{7f}"
        );
        assert_eq!(printable("a\tb\r\nc"), "a\\tb\\r\\nc");
        for hidden in [
            "\u{200e}",
            "\u{202a}",
            "\u{202e}",
            "\u{2066}",
            "\u{2069}",
            "\u{61c}",
            "\u{feff}",
            "\u{e0041}",
        ] {
            assert!(printable(hidden).is_ascii(), "{hidden:?}");
        }
    }
}
