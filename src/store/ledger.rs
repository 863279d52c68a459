//! The history of runs, and of the files that people imported or withdrew: one line each, in a file
//! that only grows.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::{DiskUse, Home, KnownUrl, lines};
use pubdata_core::error::Result;
use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_core::issue::SourceFinding;
use pubdata_core::provenance::Snapshot;

/// Format of the ledger's lines; readers refuse a newer one.
pub const LEDGER_FORMAT_VERSION: u32 = 1;

/// Outcome of an entry that says that a person gave the program a file.
pub const IMPORTED: &str = "imported";

/// Outcome of an entry that says that a person took such a file back.
pub const WITHDRAWN: &str = "withdrawn";

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
    /// `published`, `unchanged` or `failed`; [`IMPORTED`] or [`WITHDRAWN`] where it was no run.
    pub outcome: String,
    /// Why it failed.
    pub error: Option<String>,
    /// What else there is to be known, such as who did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What people had accepted that the run took as it was: `TASK:RULE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
    /// The file that a person gave or took back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<ImportedFile>,
    /// Bytes of the files that were new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched_bytes: Option<u64>,
    /// What the home took of the disk when it had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskUse>,
    /// What became of each task, by task id.
    pub tasks: BTreeMap<String, LedgerTask>,
}

/// A file that a person gave the program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportedFile {
    pub source_id: String,
    pub url: String,
    pub sha256: Digest,
    /// The user's name.
    pub by: String,
    /// What was known of the URL before: it counts again when the file is withdrawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<KnownUrl>,
}

/// What became of one task in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerTask {
    /// `built`, `resumed`, `fresh`, `blocked`, `missing` or `not_published`.
    pub outcome: String,
    /// Why it was done, or why it failed.
    pub reason: Option<String>,
    pub rows: u64,
    pub quarantined_rows: u64,
    /// What needed attention about its sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<SourceFinding>,
    /// What a person can do about it; runs of earlier versions say it in the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
    /// The day since which an edition of its sources is late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_since: Option<Date>,
    /// Whether more records were set aside than the declared level.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_above_warning_level: bool,
    /// Whether the operator has said that the night can do without it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_optional: bool,
    /// Of the build that was tried or made: an equal one would end alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_hash: Option<Digest>,
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

/// The last word on a snapshot that a person imported; none where the ledger does not have it.
///
/// # Errors
/// As for [`read_ledger`].
pub fn last_word_on_import(home: &Home, snapshot: &Snapshot) -> Result<Option<LedgerEntry>> {
    let is_of = |import: &ImportedFile| {
        import.source_id == snapshot.source_id
            && import.url == snapshot.url
            && import.sha256 == snapshot.sha256
    };
    Ok(read_ledger(home)?
        .into_iter()
        .rfind(|entry| entry.import.as_ref().is_some_and(is_of)))
}
