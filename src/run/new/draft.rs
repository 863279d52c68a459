//! Holds the input of a new declaration and the text that is written line by line, with comments
//! where the operator must decide.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Serialize;

use super::guess::Guesses;
use super::place::Place;
use super::sample::Sample;
use super::vocabulary::GuessedWord;
use crate::toml_text::quoted;
use pubdata_core::pipeline::EvidenceKind;

/// A decision that only the operator can make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Decision {
    /// The declaration's key, such as `source.columns.issued_date` or `settings.status`.
    pub key: String,
    /// The question for the operator.
    pub text: String,
}

/// All inputs of a new declaration.
pub(super) struct Draft<'d> {
    pub(super) place: &'d Place,
    pub(super) sample: &'d Sample,
    pub(super) guesses: &'d Guesses,
    pub(super) words: &'d [GuessedWord],
    pub(super) dates: &'d [&'static str],
    pub(super) evidence: EvidenceKind,
    /// The current month, such as `2026-11`.
    pub(super) month: &'d str,
    pub(super) url: &'d str,
    /// Number of records per page, if the list has pages.
    pub(super) page: Option<u64>,
    pub(super) publisher: Option<&'d str>,
    pub(super) licence: Option<&'d str>,
    pub(super) homepage: Option<&'d str>,
    /// Other lists of the same jurisdiction.
    pub(super) others: &'d [String],
}

/// A declaration being written, with its open decisions.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) text: String,
    pub(super) decisions: Vec<Decision>,
}

impl Writer {
    pub(super) fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    pub(super) fn value(&mut self, key: &str, value: &str) {
        let _ = writeln!(self.text, "{key} = {}", quoted(value));
    }

    /// Writes a comment where the operator must decide.
    pub(super) fn decide(&mut self, indent: &str, key: &str, text: &str) {
        let text = one_line(text);
        let _ = writeln!(self.text, "{indent}# decide: {text}");
        self.decisions.push(Decision {
            key: key.to_owned(),
            text,
        });
    }
}

impl Draft<'_> {
    /// Returns true if the list contains contractors whose names are read.
    pub(super) fn has_contractor(&self) -> bool {
        ["contractor_name", "contractor_business_name"]
            .iter()
            .any(|ours| self.guesses.position(ours).is_some())
    }
}

/// Returns the number of rows in the complete file. If not all rows were seen, the number is
/// estimated from the file's size.
pub(super) fn rows(sample: &Sample) -> u64 {
    match sample.total_bytes {
        Some(total) if !sample.is_whole => u64::try_from(
            u128::from(sample.records) * u128::from(total)
                / u128::from(sample.bytes.len().max(1) as u64),
        )
        .unwrap_or(u64::MAX),
        _ => sample.records,
    }
}

/// Rounds a number down to one significant digit.
pub(super) fn rounded_down(number: u64) -> u64 {
    let unit = 10_u64.pow(number.checked_ilog10().unwrap_or(0));
    number / unit * unit
}

pub(super) fn rounded_up(number: u64) -> u64 {
    let unit = 10_u64.pow(number.checked_ilog10().unwrap_or(0));
    number.div_ceil(unit) * unit
}

/// Replaces characters that a comment cannot contain.
pub(super) fn one_line(text: &str) -> String {
    text.chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .collect()
}
