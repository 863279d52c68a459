use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};

use serde::{Deserialize, Serialize};

use super::{Home, durable};
use crate::error::{Error, IoExt, Result};
use crate::ids::ReleaseId;
use crate::issue::SourceFinding;

/// Format of the ledger's lines; readers refuse a newer one.
pub const LEDGER_FORMAT_VERSION: u32 = 1;

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
    /// `published`, `unchanged` or `failed`.
    pub outcome: String,
    /// Why it failed.
    pub error: Option<String>,
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
    let path = home.ledger_file();
    let is_new = !path.exists();
    let mut line = serde_json::to_vec(entry).expect("a ledger entry is plain data");
    line.push(b'\n');
    let mut file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path).at("open", &path)?;
    let mut text = Vec::new();
    file.read_to_end(&mut text).at("read", &path)?;
    let whole_lines = whole_lines(&text);
    let written = file.set_len(whole_lines).and_then(|()| {
        file.seek(SeekFrom::Start(whole_lines))?;
        file.write_all(&line)?;
        file.sync_all()
    });
    written.at("append to", &path)?;
    if is_new { durable::sync_folder(home.root()) } else { Ok(()) }
}

/// Reads all runs, oldest first. A last line that a killed run left half written is passed over.
///
/// # Errors
/// `Store`, when a whole line is not an entry or is of a newer format.
pub fn read_ledger(home: &Home) -> Result<Vec<LedgerEntry>> {
    let path = home.ledger_file();
    let text = match std::fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.at("read", &path)?,
    };
    let mut entries = Vec::new();
    for (index, line) in text[..whole_lines(&text) as usize].split_inclusive(|byte| *byte == b'\n').enumerate() {
        let damaged = |reason: String| Error::store(format!("{}: line {}: {reason}", path.display(), index + 1));
        let value: serde_json::Value = serde_json::from_slice(line).map_err(|error| damaged(error.to_string()))?;
        if value["format_version"].as_u64().is_none_or(|version| version > u64::from(LEDGER_FORMAT_VERSION)) {
            let newer = format!("format {} is not one this program reads (1 to {LEDGER_FORMAT_VERSION})", value["format_version"]);
            return Err(damaged(newer).hint("use the version of pubdata that wrote it, or a later one"));
        }
        entries.push(serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?);
    }
    Ok(entries)
}

/// Length of the text up to and including the last line ending.
fn whole_lines(text: &[u8]) -> u64 {
    memchr::memrchr(b'\n', text).map_or(0, |end| end as u64 + 1)
}
