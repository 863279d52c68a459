//! Defines data issues. A single issue never stops the program, but exceeding the declared share of
//! issues does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::provenance::SourcePointer;

/// Severity of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The record is published with this warning.
    Warning,
    /// The record is quarantined.
    Quarantine,
    /// The dataset is not published; its last good version stays in place.
    Block,
}

/// Code of a mapped source column that is empty in all rows.
pub const EMPTY_COLUMN: &str = "empty_column";

/// An issue that concerns an entire source, such as a new column. The issue stays with the build
/// until an operator has handled it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SourceFinding {
    /// Id of the source.
    pub source_id: String,
    /// Machine-readable code in snake case, such as `new_column` or `file_missing`;
    /// docs/OPERATIONS.md lists them.
    pub code: String,
    /// The observation and the next step. The text is self-contained.
    pub detail: String,
}

impl SourceFinding {
    pub fn new(source_id: &str, code: &str, detail: String) -> Self {
        Self {
            source_id: source_id.to_owned(),
            code: code.to_owned(),
            detail,
        }
    }

    /// Returns whether an operator must handle the issue. Some sources have columns that are always
    /// empty. They are worth one review, but not an alert in every nightly run.
    pub fn needs_attention(&self) -> bool {
        self.code != EMPTY_COLUMN
    }
}

/// One data issue: the rule, the record, and the location in the source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Issue {
    /// Machine-readable rule name in snake case, part of the contract.
    pub code: String,
    pub severity: Severity,
    /// Id of the dataset that the record belongs to, such as `geo.school`.
    pub dataset_id: String,
    /// The record id, or the source's own key if no record could be built.
    pub record: Option<String>,
    /// The observation and the expectation. The text is self-contained.
    pub detail: String,
    /// The source text of the record, truncated to 2,000 characters.
    pub source_text: Option<String>,
    /// Location of the source text in the snapshot.
    pub pointer: Option<SourcePointer>,
}
