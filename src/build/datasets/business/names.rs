//! Reads a party's name as people write it, and decides whether the party is a person or an
//! organisation. The type stays null if neither the registry nor the name shows it.

use std::borrow::Cow;

use polars::prelude::StringChunked;

use super::settings::Settings;
use super::texts::Texts;
use crate::datasets::placeholders::{Holds, is_placeholder};
use pubdata_core::canonical;

pub(super) const PERSON: &str = "person";
pub(super) const ORGANIZATION: &str = "organization";

/// Designators that are not surnames. A name that ends in one of these is not a person's name.
const CERTAIN_DESIGNATORS: &[&str] = &[
    "INC", "CORP", "LLC", "PLLC", "PC", "LTD", "LP", "LLP", "LLLP",
];

const WORDS_OF_ORGANIZATIONS: &[&str] = &[
    "AGENTS",
    "ASSOCIATION",
    "CHURCH",
    "COMPANY",
    "CORP",
    "CORPORATE",
    "CORPORATION",
    "ENTERPRISES",
    "FOUNDATION",
    "HOLDINGS",
    "INC",
    "INCORPORATED",
    "LLC",
    "PARTNERSHIP",
    "SERVICES",
    "UNIVERSITY",
];

/// Suffixes that registries append to a person's given names, in a column shared with the middle
/// initial.
const SUFFIXES: &[&str] = &[
    "JR", "SR", "II", "III", "IV", "ESQ", "ESQUIRE", "MD", "DR", "MR", "MRS", "MS", "PHD", "CPA",
    "SRA", "ING",
];

/// A person or organisation named in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Party<'f> {
    /// The name, with letters as published. Persons' names have the order given names, last name,
    /// suffix.
    pub name: Cow<'f, str>,
    /// Null if neither the registry nor the name shows it.
    pub kind: Option<&'static str>,
}

impl Party<'_> {
    /// Returns true if the name is a placeholder such as `VACANT`.
    pub fn is_placeholder(&self) -> bool {
        is_placeholder(Holds::Name, &self.name)
    }
}

/// Columns that name a party, resolved once for all rows.
pub(super) struct PartyColumns<'f> {
    kind: Option<&'f StringChunked>,
    name: Option<&'f StringChunked>,
    organizations: [Option<&'f StringChunked>; 2],
    /// First, middle, last name and suffix.
    parts: [Option<&'f StringChunked>; 4],
    /// Middle initial and suffix together.
    rest: Option<&'f StringChunked>,
}

impl<'f> PartyColumns<'f> {
    /// Finds the columns whose names begin with `prefix`.
    pub fn new(texts: &Texts<'f>, prefix: &str) -> Self {
        let column = |part: &str| texts.column(&format!("{prefix}_{part}"));
        Self {
            kind: column("type"),
            name: column("name"),
            organizations: ["organization", "organization_of_record"].map(column),
            parts: ["first", "middle", "last", "suffix"].map(column),
            rest: column("rest"),
        }
    }

    /// Returns the name of a row's party if the party is certainly an organisation.
    pub fn organization(&self, row: usize) -> Option<&'f str> {
        let name = self.name?.get(row)?;
        is_certain_organization(name).then_some(name)
    }

    /// Returns a row's party, or `None` if the row does not name one. `default` is the type of a
    /// party whose row does not state a type.
    pub fn party(
        &self,
        settings: &Settings,
        row: usize,
        default: Option<&str>,
    ) -> Option<Party<'f>> {
        let cell = |column: Option<&'f StringChunked>| column.and_then(|column| column.get(row));
        let declared = cell(self.kind)
            .and_then(|code| settings.party_types.get(code))
            .map(String::as_str);
        let organization = || {
            self.organizations
                .iter()
                .find_map(|column| cell(*column))
                .map(Cow::Borrowed)
        };
        let name = || cell(self.name).map(Cow::Borrowed);
        if declared == Some(ORGANIZATION) {
            return Some(Party {
                name: organization().or_else(name)?,
                kind: Some(ORGANIZATION),
            });
        }
        // If other rows state the type, a party without a stated type may be a person or an
        // organisation.
        let is_unsaid = self.kind.is_some() && declared.is_none();
        if let Some(name) = full_name(self.parts.map(cell), cell(self.rest)).filter(|_| !is_unsaid)
        {
            return Some(Party {
                name: Cow::Owned(name),
                kind: Some(PERSON),
            });
        }
        if let Some(name) = organization() {
            return Some(Party {
                name,
                kind: Some(ORGANIZATION),
            });
        }
        let name = Cow::Owned(
            cell(self.name)?
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" "),
        );
        let kind = match declared.or(default) {
            Some(PERSON) => Some(PERSON),
            _ => is_certain_organization(&name).then_some(ORGANIZATION),
        };
        Some(Party { name, kind })
    }
}

/// Returns true if a name ends in an organisation's designator, or contains a word that only
/// organisations use (`C T CORPORATION SYSTEM`).
pub(super) fn has_designator(name: &str) -> bool {
    let name = canonical::name::organization(name);
    name.designator.is_some()
        || name
            .core
            .split(' ')
            .any(|word| WORDS_OF_ORGANIZATIONS.contains(&word))
}

fn is_certain_organization(name: &str) -> bool {
    canonical::name::organization(name)
        .designator
        .is_some_and(|designator| CERTAIN_DESIGNATORS.contains(&designator))
}

/// Joins given names, last name and suffix. Returns `None` if all are empty. `rest` is a column
/// that combines middle initial and suffix.
fn full_name(
    [first, middle, last, suffix]: [Option<&str>; 4],
    rest: Option<&str>,
) -> Option<String> {
    let (initial, title) = rest.map_or(("", ""), split_rest);
    let given = [
        first.unwrap_or_default(),
        middle.unwrap_or_default(),
        initial,
    ];
    let parts = given.into_iter().chain([
        last.unwrap_or_default(),
        suffix.unwrap_or_default(),
        title.trim_end_matches(','),
    ]);
    let words: Vec<&str> = parts.flat_map(str::split_whitespace).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Splits `NJR.` into `N` and `JR.`; `JR` is a suffix without an initial.
fn split_rest(rest: &str) -> (&str, &str) {
    let letters: String = rest
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect::<String>()
        .to_ascii_uppercase();
    if SUFFIXES.contains(&letters.as_str()) {
        return ("", rest);
    }
    rest.char_indices()
        .nth(1)
        .map_or((rest, ""), |(second, _)| rest.split_at(second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_and_suffix_in_one_column_are_split() {
        for (rest, expected) in [
            ("A", ("A", "")),
            ("NJR.", ("N", "JR.")),
            ("JR", ("", "JR")),
            ("III", ("", "III")),
            ("JIII", ("J", "III")),
            ("MS.", ("", "MS.")),
        ] {
            assert_eq!(split_rest(rest), expected, "{rest}");
        }
    }

    #[test]
    fn persons_are_named_as_people_write_them() {
        let name = |parts, rest| full_name(parts, rest);
        assert_eq!(
            name([Some("ULLAND"), None, Some("FICTO"), None], None).as_deref(),
            Some("ULLAND FICTO")
        );
        assert_eq!(
            name([Some("HUGO"), None, Some("MOCKY"), None], Some("LSR.,")).as_deref(),
            Some("HUGO L MOCKY SR.")
        );
        assert_eq!(
            name([None, None, Some("MCINTOSH"), None], None).as_deref(),
            Some("MCINTOSH")
        );
        assert_eq!(name([None, None, None, None], None), None);
    }
}
