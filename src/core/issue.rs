//! Findings about data. A finding never stops the program by itself: the declared share of findings
//! does.

use schemars::JsonSchema;
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

/// Code of a mapped column of a source in which no row has a value.
pub const EMPTY_COLUMN: &str = "empty_column";

/// A finding about a source as a whole, such as a column that is new. It stays with the build until
/// a person has seen to it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SourceFinding {
    /// The source.
    pub source_id: String,
    /// Machine-readable name in snake case, such as `new_column` or `file_missing`;
    /// docs/OPERATIONS.md lists them.
    pub code: String,
    /// What was seen, and what to do about it; readable alone.
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

    /// Whether somebody has to see to it. Some lists have columns that nobody fills: worth a look
    /// once, no alarm each night.
    pub fn needs_attention(&self) -> bool {
        self.code != EMPTY_COLUMN
    }
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
