//! Orders the reported versions of one period's figure by filing. Selects the version that counts,
//! and separates figures with another scope.

use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;

/// Changes that restate a value, each with its kind of restatement. A rounded or equal value does
/// not restate it.
const KINDS: [(&str, RestatementKind); 4] = [
    ("value", RestatementKind::Value),
    ("split", RestatementKind::Split),
    ("scale_error", RestatementKind::ScaleError),
    (OTHER_CONCEPT, RestatementKind::Concept),
];
/// Change to another value under another concept.
const OTHER_CONCEPT: &str = "concept_changed";
/// Change between figures with and without noncontrolling interest.
const OTHER_SCOPE: &str = "other_scope";

/// How a figure came to differ from the figure first reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RestatementKind {
    Value,
    Concept,
    Split,
    ScaleError,
}

/// Rows of a table for one period, one for each report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    /// Rows with the same scope, first to last.
    rows: Vec<usize>,
    latest: usize,
    /// Rows with another scope, which are not versions of this figure.
    beside: Vec<usize>,
}

impl Versions {
    /// Reads the known rows in filing order; returns `None` if no row counts. `change` and
    /// `supersedes` read the columns with these names.
    pub fn new<'a>(
        known: Range<usize>,
        change: impl Fn(usize) -> Option<&'a str>,
        supersedes: impl Fn(usize) -> bool,
    ) -> Option<Self> {
        let latest = known.clone().rfind(|row| supersedes(*row))?;
        let is_other_scope = |row: usize| change(row) == Some(OTHER_SCOPE);
        let first = known
            .clone()
            .rfind(|row| supersedes(*row) && is_other_scope(*row))
            .unwrap_or(known.start);
        let (rows, beside) =
            known.partition(|row| *row >= first && (supersedes(*row) || !is_other_scope(*row)));
        Some(Self {
            rows,
            latest,
            beside,
        })
    }

    /// Returns the row whose value counts.
    pub fn latest(&self) -> usize {
        self.latest
    }

    /// Returns the row that was reported first.
    pub fn first(&self) -> usize {
        self.rows[0]
    }

    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    pub fn beside(&self) -> &[usize] {
        &self.beside
    }

    /// Returns how the current value came to differ from the value first reported: the kind of the
    /// last change up to the current value that restates it.
    pub fn restatement_kind<'a>(
        &self,
        change: impl Fn(usize) -> Option<&'a str>,
    ) -> RestatementKind {
        let kind = |change: &str| {
            KINDS
                .iter()
                .find(|(known, _)| *known == change)
                .map(|(_, kind)| *kind)
        };
        let changes = self
            .rows
            .iter()
            .rev()
            .filter(|row| **row <= self.latest)
            .filter_map(|row| change(*row));
        changes
            .into_iter()
            .find_map(kind)
            .unwrap_or(RestatementKind::Value)
    }

    /// Returns true if the figure was reported under several concepts with different values.
    pub fn is_concept_changed<'a>(&self, change: impl Fn(usize) -> Option<&'a str>) -> bool {
        self.rows
            .iter()
            .any(|row| change(*row) == Some(OTHER_CONCEPT))
    }
}

#[cfg(test)]
mod tests {
    use super::{RestatementKind, Versions};

    /// Reads rows of `change` and `supersedes`. Returns the versions, the version that counts, and
    /// figures with another scope.
    fn read(rows: &[(&'static str, bool)]) -> (Vec<usize>, usize, Vec<usize>) {
        let versions =
            Versions::new(0..rows.len(), |row| Some(rows[row].0), |row| rows[row].1).unwrap();
        (
            versions.rows().to_vec(),
            versions.latest(),
            versions.beside().to_vec(),
        )
    }

    #[test]
    fn rounded_repetition_is_a_version_but_not_the_current_one() {
        assert_eq!(
            read(&[("first", true), ("rounding", false)]),
            (vec![0, 1], 0, vec![])
        );
        assert_eq!(
            read(&[("first", true), ("rounding", false), ("value", true)]),
            (vec![0, 1, 2], 2, vec![])
        );
    }

    #[test]
    fn figure_of_another_scope_is_not_a_version() {
        assert_eq!(
            read(&[("first", true), ("equal", true), ("other_scope", false)]),
            (vec![0, 1], 1, vec![2])
        );
        assert_eq!(
            read(&[
                ("first", true),
                ("other_scope", true),
                ("equal", true),
                ("other_scope", false)
            ]),
            (vec![1, 2], 2, vec![0, 3])
        );
        assert_eq!(Versions::new(3..3, |_| None, |_| true), None);
    }

    #[test]
    fn restatement_kind_is_that_of_the_current_figure() {
        let rows = [("first", true), ("split", true), ("rounding", false)];
        let versions = Versions::new(0..3, |row| Some(rows[row].0), |row| rows[row].1).unwrap();
        assert_eq!(
            versions.restatement_kind(|row| Some(rows[row].0)),
            RestatementKind::Split
        );
        assert_eq!(
            versions.restatement_kind(|_| Some("equal")),
            RestatementKind::Value
        );
    }
}
