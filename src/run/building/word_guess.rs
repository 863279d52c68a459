//! Guesses the meaning of an undeclared term, which may be another spelling of a known term, or a
//! longer text that contains a known term. A guess is only a suggestion for review; it never
//! affects published data.

use pubdata_core::contract::{Contracts, normalized_word};
use pubdata_core::pipeline::{Declaration, nearest};

/// Words that negate or suspend the meaning of the text around them.
const NEGATIONS: &[&str] = &[
    "no", "non", "not", "never", "un", "without", "pending", "await", "awaiting", "until", "if",
];

/// How a term resembles a known term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Likeness {
    /// Differs only in case, blanks and punctuation, or in one letter out of eight.
    Spelling,
    /// Begins or ends with the known term.
    Part,
}

/// Likely meaning of a term.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Guess<'w> {
    pub(crate) value: &'w toml::Value,
    /// The known term.
    pub(crate) like: &'w str,
    pub(crate) likeness: Likeness,
}

/// The known terms of a kind, from the list's own table and the shared vocabulary.
pub(crate) struct KnownWords {
    /// Name of the list's table in its settings.
    pub(crate) table: String,
    words: Vec<(String, toml::Value)>,
}

impl KnownWords {
    /// Loads the known terms of a kind such as `status`. Returns `None` if the kind may refer to
    /// several tables.
    pub(crate) fn load(
        contracts: &Contracts,
        declaration: &Declaration,
        kind: &str,
    ) -> Option<Self> {
        let tables = pipeline_tables(declaration, kind);
        let table = match tables[..] {
            [] => kind.to_owned(),
            [(name, _)] => name.to_owned(),
            _ => return None,
        };
        let own = tables
            .into_iter()
            .flat_map(|(_, table)| table)
            .map(|(word, value)| (word.clone(), value.clone()));
        let columns = declaration
            .produces
            .iter()
            .filter_map(|dataset_id| contracts.get(dataset_id))
            .flat_map(|contract| &contract.columns);
        let of_kind = columns.filter(|column| {
            column.name == kind
                || column
                    .name
                    .strip_suffix(kind)
                    .is_some_and(|start| start.ends_with('_'))
        });
        let shared = of_kind
            .flat_map(|column| column.column_type.words.iter())
            .map(|(word, value)| (word.to_owned(), toml::Value::String(value.to_owned())));
        Some(Self {
            table,
            words: own.chain(shared).collect(),
        })
    }

    /// Returns the likely meaning of a term. Returns `None` if no known term is similar, or if the
    /// similar terms have different meanings.
    pub(crate) fn guess(&self, word: &str) -> Option<Guess<'_>> {
        let text = normalized_word(word);
        let by = |likeness: Likeness, is_near: &dyn Fn(&str) -> bool| {
            let mut near: Vec<&(String, toml::Value)> = self
                .words
                .iter()
                .filter(|(known, _)| is_near(&normalized_word(known)))
                .collect();
            if likeness == Likeness::Part {
                // If only a part of the text matches, and the matching term maps to nothing, the
                // match says nothing about the entire text.
                near.retain(|(_, value)| value.as_str() != Some(""));
                let longest = near.iter().map(|(known, _)| known.len()).max()?;
                near.retain(|(known, _)| known.len() == longest);
            }
            let (like, value) = near.first()?;
            near.iter()
                .all(|(_, other)| other == value)
                .then_some(Guess {
                    value,
                    like,
                    likeness,
                })
        };
        by(Likeness::Spelling, &|known| is_spelling_of(known, &text))
            .or_else(|| by(Likeness::Part, &|known| is_part_of(known, &text)))
    }
}

/// Returns the tables of the settings for terms of a kind. For `status`, these are
/// `[settings.status]` or `[settings.statuses]`; for `type`, `[settings.entity_types]` is also
/// included.
pub(crate) fn pipeline_tables<'d>(
    declaration: &'d Declaration,
    kind: &str,
) -> Vec<(&'d str, &'d toml::Table)> {
    let plurals = [kind.to_owned(), format!("{kind}s"), format!("{kind}es")];
    let is_it = |name: &str| plurals.iter().any(|plural| name == plural);
    let ends = |name: &str| {
        plurals.iter().any(|plural| {
            name.strip_suffix(plural.as_str())
                .is_some_and(|start| start.ends_with('_'))
        })
    };
    let tables = || {
        declaration
            .settings
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.as_table()?)))
    };
    let exact: Vec<_> = tables().filter(|(name, _)| is_it(name)).collect();
    if exact.is_empty() {
        tables().filter(|(name, _)| ends(name)).collect()
    } else {
        exact
    }
}

fn is_spelling_of(word: &str, text: &str) -> bool {
    let is_long = word.chars().count().min(text.chars().count()) >= 8;
    !word.is_empty()
        && (word == text || (is_long && nearest(word, &[text]).is_some() && one_slip(word, text)))
}

/// Returns true if the words differ by a single inserted, omitted or replaced letter.
fn one_slip(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let begin = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let end = one[begin..]
        .iter()
        .rev()
        .zip(other[begin..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    one.len().max(other.len()) - begin - end <= 1
}

/// Returns true if a text begins or ends with the words of the other text, and no additional word
/// negates them.
fn is_part_of(word: &str, text: &str) -> bool {
    let (words, texts): (Vec<&str>, Vec<&str>) =
        (word.split(' ').collect(), text.split(' ').collect());
    let is_part = word.len() > 3
        && texts.len() > words.len()
        && (texts.starts_with(&words) || texts.ends_with(&words));
    is_part
        && !texts
            .iter()
            .any(|text| NEGATIONS.contains(text) && !words.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_is_recognised_in_another_spelling() {
        let is_same =
            |word: &str, text: &str| is_spelling_of(&normalized_word(word), &normalized_word(text));
        for (word, text) in [
            ("ISSUED ", "Issued"),
            ("Approved to Occupy", "APPROVED-TO-OCCUPY"),
            ("Tenant Improvment", "Tenant Improvement"),
            ("Withdrawn", "Withdrawn."),
        ] {
            assert!(is_same(word, text), "{word} {text}");
        }
        for (word, text) in [
            ("Active", "Inactive"),
            ("Closed", "Reopened"),
            ("Class A1", "Class A2"),
            ("", ""),
        ] {
            assert!(!is_same(word, text), "{word} {text}");
        }
    }

    #[test]
    fn longer_text_is_guessed_by_its_longest_known_word() {
        let known = [
            ("Closed", "final"),
            ("Permit Closed", "inactive"),
            ("Issued", "active"),
            ("Approved", "active"),
            ("Inspection Approved", "final"),
        ];
        let words = known
            .map(|(word, value)| (word.to_owned(), toml::Value::String(value.to_owned())))
            .to_vec();
        let known = KnownWords {
            table: "status".to_owned(),
            words,
        };
        let value = |word: &str| {
            known
                .guess(word)
                .map(|guess| (guess.value.as_str().unwrap(), guess.likeness))
        };
        assert_eq!(
            value("Permit Closed/Compliant"),
            Some(("inactive", Likeness::Part))
        );
        assert_eq!(
            value("Final Inspection Approved"),
            Some(("final", Likeness::Part))
        );
        assert_eq!(value("ISSUED."), Some(("active", Likeness::Spelling)));
        for word in [
            "Not Issued",
            "Closed - Pending Seed",
            "Permit Closed/Non-Compliant",
            "Hold",
            "",
        ] {
            assert_eq!(value(word), None, "{word}");
        }
    }
}
