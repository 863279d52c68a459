//! Reads vocabularies: publisher terms in coded columns that have only one possible meaning.
//! `schemas/_vocabulary_*.toml` lists the terms by semantic type. A source's own table takes
//! precedence.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ColumnType;
use crate::declared::{Finding, TablePath};

/// Values of a type by normalised term. An empty value declares that the term means "no value".
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Words(BTreeMap<String, String>);

impl Words {
    /// An empty vocabulary.
    pub const NONE: Self = Self(BTreeMap::new());

    /// Returns the meaning of a term, ignoring case and punctuation. Compares the entire text,
    /// never a part of it.
    pub fn get(&self, word: &str) -> Option<&str> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&normalized_word(word)).map(String::as_str)
    }

    /// Iterates over the normalised terms with their meanings.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(word, value)| (word.as_str(), value.as_str()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A group of terms with the same meaning.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    value: String,
    words: Vec<String>,
    /// Why the terms cannot have another meaning in such a column.
    why: String,
}

/// Minimum length of a word that is treated as a possible plural.
const MIN_PLURAL_LENGTH: usize = 4;

/// Normalises a term for comparison: lower case, `and` for `&`, `with` for `w/`, blanks for other
/// punctuation, and each word in the singular.
pub fn normalized_word(word: &str) -> String {
    let lower = word.to_lowercase().replace('&', " and ");
    let spelled_out = lower.split_whitespace().map(|word| {
        word.strip_prefix("w/")
            .map_or_else(|| word.to_owned(), |rest| format!("with {rest}"))
    });
    let text = spelled_out.collect::<Vec<_>>().join(" ");
    let words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.map(singular).collect::<Vec<_>>().join(" ")
}

fn singular(word: &str) -> String {
    let is_long = word.chars().count() >= MIN_PLURAL_LENGTH;
    match word.strip_suffix('s') {
        Some(stem) if is_long && !stem.ends_with(['s', 'u', 'i']) => stem
            .strip_suffix("ie")
            .map_or_else(|| stem.to_owned(), |stem| format!("{stem}y")),
        _ => word.to_owned(),
    }
}

/// Adds the terms in a file to their semantic types, and any errors to the findings.
pub(super) fn add(
    types: &mut BTreeMap<String, ColumnType>,
    path: &str,
    text: &str,
    findings: &mut Vec<Finding>,
) {
    let entries: BTreeMap<String, Vec<Entry>> = match toml::from_str(text) {
        Ok(entries) => entries,
        Err(error) => return findings.push(Finding::of_toml(path, text, &error)),
    };
    for (type_name, entries) in entries {
        for (number, Entry { value, words, why }) in entries.into_iter().enumerate() {
            let mut report = |key: &str, message: String| {
                findings.push(Finding::at(
                    path,
                    text,
                    TablePath::Nth(&type_name, number),
                    key,
                    message,
                ));
            };
            let Some(column_type) = types
                .get_mut(&type_name)
                .filter(|column_type| !column_type.values.is_empty())
            else {
                report(
                    "value",
                    format!(
                        "`{type_name}` is not a type of schemas/_types.toml that lists its values"
                    ),
                );
                continue;
            };
            if !value.is_empty() && !column_type.values.contains(&value) {
                report(
                    "value",
                    format!(
                        "`{value}` is not a value of `{type_name}`; expected one of `{}`",
                        column_type.values.join("`, `")
                    ),
                );
            }
            if why.trim().is_empty() {
                report(
                    "why",
                    "state why these words have no other meaning".to_owned(),
                );
            }
            for word in words {
                let normalized = normalized_word(&word);
                if normalized.is_empty() {
                    report("words", format!("`{word}` has no letter or digit"));
                } else if column_type
                    .words
                    .0
                    .insert(normalized, value.clone())
                    .is_some()
                {
                    report(
                        "words",
                        format!(
                            "`{word}` occurs twice for `{type_name}`, ignoring case, punctuation and plural"
                        ),
                    );
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_compared_without_case_punctuation_and_number() {
        for (one, other) in [
            ("Finaled - C of O", "FINALED  C OF O"),
            ("Roof, Siding & Windows", "roofs siding and window"),
            ("New w/ Garage", "NEW WITH GARAGE"),
            ("Swimming Pools", "swimming pool"),
            ("Accessories", "accessory"),
        ] {
            assert_eq!(normalized_word(one), normalized_word(other));
        }
        for (one, other) in [
            ("Gas", "Ga"),
            ("In Process", "In Proces"),
            ("Status", "Statu"),
            ("New/Used", "Ne with Used"),
            ("Issued", "Not Issued"),
            ("C10", "C1"),
        ] {
            assert_ne!(normalized_word(one), normalized_word(other));
        }
        assert_eq!(normalized_word(" -/- "), "");
    }

    #[test]
    fn unknown_value_or_repeated_word_in_a_vocabulary_is_reported() {
        let mut types: BTreeMap<String, ColumnType> = toml::from_str(
            "[colour]\nphysical = \"string\"\nvalues = [\"red\", \"blue\"]\ndescription = \"\"\n",
        )
        .unwrap();
        let text = r#"
[[colour]]
value = "red"
words = ["Crimson", "Scarlet"]
why = "Shades of red."

[[colour]]
value = "green"
words = ["CRIMSONS", "Lime"]
why = ""

[[flavour]]
value = "sour"
words = ["Lemon"]
why = "Lemons are."
"#;
        let mut findings = Vec::new();
        add(
            &mut types,
            "schemas/_vocabulary_test.toml",
            text,
            &mut findings,
        );
        let messages: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(messages.len(), 4, "{messages:#?}");
        assert!(
            messages[0].contains("`green` is not a value of `colour`"),
            "{messages:#?}"
        );
        assert!(
            messages[2].contains("`CRIMSONS` occurs twice"),
            "{messages:#?}"
        );
        assert_eq!(types["colour"].words.get("scarlet!"), Some("red"));
        assert_eq!(types["colour"].words.get("scarlet red"), None);
    }
}
