//! Writes text from publishers as TOML on one line. TOML allows keys only on a single line, and a
//! comment ends with its line.

use std::fmt::Write;

/// Returns a text as a TOML basic string.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            character if character.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(character));
            }
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(fuzzing)]
pub mod fuzzing {
    /// Returns a text as a TOML basic string.
    pub fn quoted(text: &str) -> String {
        crate::toml_text::quoted(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_a_key_and_a_value_on_one_line() {
        for text in [
            "",
            "plain",
            "\"\" Building\" = …\"",
            "a\nb\r\nc\td",
            "back\\slash'",
            "\0\u{7f}\u{85}\u{9b}",
            "é 建 \u{2028}",
            "'''",
            "\"\"\"",
        ] {
            let line = format!("{0} = {0}", quoted(text));
            assert_eq!(line.lines().count(), 1, "{line}");
            let table: toml::Table = line
                .parse()
                .unwrap_or_else(|error| panic!("{line}: {error}"));
            assert_eq!(
                table.into_iter().collect::<Vec<_>>(),
                [(text.to_owned(), toml::Value::from(text))],
                "{line}"
            );
        }
    }
}
