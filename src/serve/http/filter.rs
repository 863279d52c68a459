//! Defines filter parameters that several families share: states, cities, ZIP codes and date
//! ranges.

use jiff::civil::Date;

use super::meta::Meta;
use super::parameters::{Kind, Parameter};
use super::problem::{Code, Problem, Result, not_covered};
use crate::days;
use pubdata_core::canonical::name::{Forms, is_legal_form, searched};

pub const STATES: Parameter =
    Kind::State.described("Comma list of states, by postal code or name; all that are covered when absent. A text that names no state is rejected.");
pub const CITY: Parameter = Kind::Text { min: 1, max: 80 }
    .described("Only in this city, as the source names it; case and punctuation do not matter.");
pub const ZIP: Parameter = Kind::Zip.described("Only in this ZIP code, five digits.");

/// Checks that the requested states are covered.
///
/// # Errors
/// `coverage_unavailable` if a state is not covered.
pub fn check_states(states: &[&str], covered: &[&str], what: &str) -> Result<()> {
    match states.iter().find(|state| !covered.contains(state)) {
        Some(state) => Err(not_covered(
            "state",
            format!("{what} of {state} are not covered"),
            covered,
        )),
        None => Ok(()),
    }
}

/// Adds a notice to an answer without records if the name has no searchable word. Such a name
/// contains, for example, only an article or a legal form.
pub fn add_no_words_notice(meta: &mut Meta, name: &str) {
    let searched = searched(name, Forms::OfStates);
    let is_general =
        |word: &str| is_legal_form(word) || ["A", "AN", "AND", "OF", "THE"].contains(&word);
    if searched
        .core
        .split(' ')
        .all(|word| word.is_empty() || is_general(word))
    {
        meta.notice(
            "NAME_WITHOUT_WORDS",
            format!(
                "`{name}` has no word to search for: an article or a legal form alone is not a name."
            ),
        );
    }
}

/// Inclusive date range, in days since 1970-01-01. The range is open on a side without a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DayRange {
    pub from: Option<i32>,
    pub to: Option<i32>,
}

impl DayRange {
    /// Builds the range from two parameters, each given with its name.
    ///
    /// # Errors
    /// `invalid_parameter` if the first day is after the last.
    pub fn from_bounds(
        (from, first): (&str, Option<Date>),
        (to, last): (&str, Option<Date>),
    ) -> Result<Self> {
        if first.zip(last).is_some_and(|(first, last)| first > last) {
            return Err(Problem::of_field(
                Code::InvalidParameter,
                from,
                format!("`{from}` is after `{to}`"),
            ));
        }
        Ok(Self {
            from: first.map(days::since_epoch),
            to: last.map(days::since_epoch),
        })
    }

    pub fn is_open(self) -> bool {
        self == Self::default()
    }

    /// Reports whether any day from `first` to `last` lies in the range.
    pub fn overlaps(self, first: i32, last: i32) -> bool {
        self.from.is_none_or(|from| from <= last) && self.to.is_none_or(|to| first <= to)
    }

    /// Reports whether a day lies in the range. `None` lies only in a range that is open on both
    /// sides.
    pub fn has(self, day: Option<i32>) -> bool {
        self.from
            .is_none_or(|from| day.is_some_and(|day| from <= day))
            && self.to.is_none_or(|to| day.is_some_and(|day| day <= to))
    }
}
