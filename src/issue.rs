//! Findings about data. A finding never stops the program by itself: the declared share of findings does.

use serde::{Deserialize, Serialize};

use crate::provenance::SourcePointer;

/// How loud a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The record is published with this warning.
    Warning,
    /// The record is set aside in quarantine.
    Quarantine,
    /// The dataset is not published; the last good one stays.
    Block,
}

/// One finding: which rule, on which record, and where in the source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Issue {
    /// Machine-readable rule name in snake case, part of the contract.
    pub code: String,
    pub severity: Severity,
    /// The dataset the record belongs to, such as `geo.school`.
    pub dataset_id: String,
    /// The record, or the source's own key when no record could be made.
    pub record: Option<String>,
    /// What was seen and what was expected, readable alone.
    pub detail: String,
    /// The source text of the record, cut to 2,000 characters.
    pub source_text: Option<String>,
    /// Where the text stands in the snapshot.
    pub pointer: Option<SourcePointer>,
}
