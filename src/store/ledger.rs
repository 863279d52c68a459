//! Keeps the append-only history of runs, manual imports and withdrawals, with one line per entry.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::{DiskUse, Home, KnownUrl, lines};
use pubdata_core::error::Result;
use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_core::issue::SourceFinding;
use pubdata_core::provenance::Snapshot;

/// Format of the ledger's lines; readers reject newer formats.
pub const LEDGER_FORMAT_VERSION: u32 = 1;

/// Outcome of an entry for a manual import.
pub const IMPORTED: &str = "imported";

/// Outcome of an entry for the withdrawal of an import.
pub const WITHDRAWN: &str = "withdrawn";

/// One line of the ledger: a run, an import or a withdrawal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    pub format_version: u32,
    pub run_id: String,
    /// Start time, RFC 3339 UTC.
    pub started_at: String,
    /// End time, RFC 3339 UTC.
    pub ended_at: String,
    pub exit_code: u8,
    pub channel: String,
    /// The channel's release after the run.
    pub release_id: Option<ReleaseId>,
    /// `published`, `unchanged` or `failed`; [`IMPORTED`] or [`WITHDRAWN`] for entries other than
    /// runs.
    pub outcome: String,
    /// Why the run failed.
    pub error: Option<String>,
    /// Additional remarks, such as who imported a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Acceptances that the run applied, as `TASK:RULE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
    /// The file that was imported or withdrawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<ImportedFile>,
    /// Total size of newly fetched files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched_bytes: Option<u64>,
    /// Disk use of the home at the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskUse>,
    /// Result of each task, by task id.
    pub tasks: BTreeMap<String, LedgerTask>,
}

/// A manually imported file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportedFile {
    pub source_id: String,
    pub url: String,
    pub sha256: Digest,
    /// Name of the user who imported the file.
    pub by: String,
    /// State of the URL before the import. It is restored when the file is withdrawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<KnownUrl>,
}

/// Result of a task in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerTask {
    /// `built`, `resumed`, `fresh`, `blocked`, `missing` or `not_published`.
    pub outcome: String,
    /// Why the task ran, or why it failed.
    pub reason: Option<String>,
    pub rows: u64,
    pub quarantined_rows: u64,
    /// Issues with the task's sources that needed attention.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<SourceFinding>,
    /// Next step for the operator. Entries written by earlier versions contain it in the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
    /// The first day on which an edition of the task's sources was late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_since: Option<Date>,
    /// True if more records were quarantined than the declared warning level.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_above_warning_level: bool,
    /// True if the operator marked the task as optional.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_optional: bool,
    /// Input hash of the build that was attempted or completed. A build with an equal hash would
    /// have the same outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_hash: Option<Digest>,
    pub duration_ms: u64,
}

/// Appends an entry durably. First truncates a line that a killed run left incomplete.
pub fn append_ledger(home: &Home, entry: &LedgerEntry) -> Result<()> {
    lines::append_line(&home.ledger_file(), entry)
}

/// Reads all entries, oldest first. Ignores a last line that a killed run left incomplete.
///
/// # Errors
/// `Store`, when a complete line is not an entry or has a newer format.
pub fn read_ledger(home: &Home) -> Result<Vec<LedgerEntry>> {
    lines::read_lines(&home.ledger_file(), LEDGER_FORMAT_VERSION)
}

/// Returns the last entry about an imported snapshot; `None` if the ledger has no such entry.
///
/// # Errors
/// Same as for [`read_ledger`].
pub fn last_import_entry(home: &Home, snapshot: &Snapshot) -> Result<Option<LedgerEntry>> {
    let is_of = |import: &ImportedFile| {
        import.source_id == snapshot.source_id
            && import.url == snapshot.url
            && import.sha256 == snapshot.sha256
    };
    Ok(read_ledger(home)?
        .into_iter()
        .rfind(|entry| entry.import.as_ref().is_some_and(is_of)))
}
