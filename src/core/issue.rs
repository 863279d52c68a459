//! Defines issues of data. A single issue never stops the program; exceeding the declared share of
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
    /// The dataset is not published; the last good one stays.
    Block,
}

/// Code of a mapped source column that is empty in all rows.
pub const EMPTY_COLUMN: &str = "empty_column";

/// An issue of a source as a whole, such as a new column. It stays with the build until an operator
/// has handled it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SourceFinding {
    /// The source.
    pub source_id: String,
    /// Machine-readable name in snake case, such as `new_column` or `file_missing`;
    /// docs/OPERATIONS.md lists them.
    pub code: String,
    /// The observation and the next step; complete in itself.
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

    /// Returns whether an operator must handle it. Some sources have columns that are always empty:
    /// these are worth one review, but no alert in each nightly run.
    pub fn needs_attention(&self) -> bool {
        self.code != EMPTY_COLUMN
    }
}

/// One issue: the rule, the record, and the location in the source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Issue {
    /// Machine-readable rule name in snake case, part of the contract.
    pub code: String,
    pub severity: Severity,
    /// The dataset the record belongs to, such as `geo.school`.
    pub dataset_id: String,
    /// The record, or the source's own key if no record could be built.
    pub record: Option<String>,
    /// The observation and the expectation; complete in itself.
    pub detail: String,
    /// The source text of the record, cut to 2,000 characters.
    pub source_text: Option<String>,
    /// Location of the text in the snapshot.
    pub pointer: Option<SourcePointer>,
}
