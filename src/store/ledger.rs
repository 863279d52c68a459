use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Home, lines};
use crate::error::Result;
use crate::ids::ReleaseId;
use crate::issue::SourceFinding;

/// Format of the ledger's lines; readers refuse a newer one.
pub const LEDGER_FORMAT_VERSION: u32 = 1;

/// Outcome of an entry that says that a person gave the program a file.
pub const IMPORTED: &str = "imported";

/// One run, as the ledger keeps it: one line of JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    pub format_version: u32,
    pub run_id: String,
    /// RFC 3339 UTC.
    pub started_at: String,
    /// RFC 3339 UTC.
    pub ended_at: String,
    pub exit_code: u8,
    pub channel: String,
    /// What the channel points at after the run.
    pub release_id: Option<ReleaseId>,
    /// `published`, `unchanged` or `failed`; [`IMPORTED`] where it was no run.
    pub outcome: String,
    /// Why it failed.
    pub error: Option<String>,
    /// What else there is to be known, such as who did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What became of each task, by task id.
    pub tasks: BTreeMap<String, LedgerTask>,
}

/// What became of one task in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerTask {
    /// `built`, `resumed`, `fresh`, `carried`, `blocked`, `absent` or `failed`.
    pub outcome: String,
    /// Why it was done, or why it failed.
    pub reason: Option<String>,
    pub rows: u64,
    pub quarantined_rows: u64,
    /// What was to be seen to about its sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<SourceFinding>,
    pub duration_ms: u64,
}

/// Appends a run, durably. The line that a killed run left half written is cut off first.
///
/// # Errors
/// `Store`, when the file cannot be written.
pub fn append_ledger(home: &Home, entry: &LedgerEntry) -> Result<()> {
    lines::append_line(&home.ledger_file(), entry)
}

/// Reads all runs, oldest first. A last line that a killed run left half written is passed over.
///
/// # Errors
/// `Store`, when a whole line is not an entry or is of a newer format.
pub fn read_ledger(home: &Home) -> Result<Vec<LedgerEntry>> {
    lines::read_lines(&home.ledger_file(), LEDGER_FORMAT_VERSION)
}
