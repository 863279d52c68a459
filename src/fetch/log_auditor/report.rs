//! Builds the report about a server. Text from the server is truncated and escaped here.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_core::printable::printable;

/// Maximum number of characters to show from a server's text.
const MAX_LETTERS: usize = 600;

/// Report of an audit of an untrusted server: `pubdata verify --url`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "WitnessReport")]
pub struct AuditReport {
    /// URL of the server.
    pub server: String,
    /// Result of the audit. `mismatch`: at least one violation was found and is listed in
    /// `problems`. `not_possible`: no violation was found, but the server did not send everything
    /// that the proof needs, or no publisher's file could be compared. `notes` explains which
    /// applies.
    pub outcome: Outcome,
    /// The release that the server serves; null if only the log was checked.
    #[schemars(with = "Option<ReleaseId>")]
    pub release_id: Option<String>,
    /// The server's log; null if the log does not exist, is not signed, or is not consistent.
    pub log: Option<LogReport>,
    /// Random seed. With the same seed (`--seed`), the same records are drawn from the same
    /// release.
    pub seed: u32,
    /// Number of ids, similar to the drawn ids, that were proven not to be in the release.
    pub absent: usize,
    /// The records that were drawn.
    pub records: Vec<RecordReport>,
    /// The publishers' files for the drawn records, according to the server; empty if no files are
    /// compared.
    pub files: Vec<FileReport>,
    /// Violations; empty if none were found.
    pub problems: Vec<String>,
    /// Remarks for the reader.
    pub notes: Vec<String>,
    /// Files in the home with evidence that a log contradicts a log seen before.
    pub evidence: Vec<PathBuf>,
}

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Match,
    Mismatch,
    /// The proof could not be obtained.
    NotPossible,
}

/// A log that was read completely.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LogReport {
    /// Name of the log.
    pub name: String,
    /// Number of entries, one for each signed release.
    pub size: u64,
    /// Root over the entries.
    #[schemars(with = "Digest")]
    pub root: String,
    /// The key that verified the log.
    pub key: String,
    /// Why that key is trusted.
    pub key_from: KeyFrom,
    /// Number of entries when the log was last seen; null if the log was never seen.
    pub seen_size: Option<u64>,
    /// When the log was last seen; null if the log was never seen.
    pub seen_at: Option<String>,
}

/// Why a key is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyFrom {
    /// The operator specified the key.
    Given,
    /// The key was seen before.
    Seen,
    /// The server presents the key, and no other key is known.
    FirstUse,
}

/// A record that was drawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordReport {
    /// Id of the record.
    pub record_id: String,
    /// Result of the check. `match`: the receipt is valid, and the server's response equals what
    /// was sealed.
    pub outcome: Outcome,
}

/// A publisher's file that drawn records come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileReport {
    /// Id of the source.
    pub source_id: String,
    /// The file's URL.
    pub url: String,
    /// Digest of the file, according to the server.
    #[schemars(with = "Digest")]
    pub sha256: String,
    /// Result of the comparison with the publisher's current file.
    pub outcome: FileOutcome,
    /// Details; null if `outcome` needs no explanation.
    pub detail: Option<String>,
}

/// Result of comparing the server's file with the publisher's current file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileOutcome {
    Match,
    /// The publisher has since replaced the file.
    Replaced,
    /// The bytes differ, although the publisher's date is before the server's fetch.
    Mismatch,
    /// The publisher no longer has a file at that URL.
    Gone,
    /// The file exceeds the remaining `--publisher-mb` budget.
    TooLarge,
    /// No request was sent: the URL does not belong to a known publisher, an operator downloaded
    /// the file, or a secret is needed. `detail` states the reason.
    #[serde(rename = "not_asked")]
    NotRequested,
    /// The publisher did not send the file. `detail` states the reason.
    Unreachable,
}

impl AuditReport {
    pub(super) fn new(server: &str, seed: u32) -> Self {
        Self {
            server: shown(server),
            outcome: Outcome::Match,
            release_id: None,
            log: None,
            seed,
            absent: 0,
            records: Vec::new(),
            files: Vec::new(),
            problems: Vec::new(),
            notes: Vec::new(),
            evidence: Vec::new(),
        }
    }

    /// Adds a violation.
    pub(super) fn problem(&mut self, text: &str) {
        self.outcome = Outcome::Mismatch;
        self.problems.push(shown(text));
    }

    /// Adds a note about a check that could not be made and without which nothing is proven.
    pub(super) fn not_proven(&mut self, text: &str) {
        self.downgrade_outcome();
        self.note(text);
    }

    fn downgrade_outcome(&mut self) {
        if self.outcome == Outcome::Match {
            self.outcome = Outcome::NotPossible;
        }
    }

    pub(super) fn note(&mut self, text: &str) {
        self.notes.push(shown(text));
    }

    pub(super) fn record(&mut self, record_id: &str, outcome: Outcome) {
        if outcome == Outcome::NotPossible {
            self.downgrade_outcome();
        }
        self.records.push(RecordReport {
            record_id: shown(record_id),
            outcome,
        });
    }
}

/// Escapes text for terminals and truncates it.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(MAX_LETTERS) {
        Some((end, _)) => format!("{}…", printable(&text[..end])),
        None => printable(text).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        assert_eq!(
            shown("a\u{1b}[2Jb\u{202e}c\r\né"),
            "a\\u{1b}[2Jb\\u{202e}c\\r\\né"
        );
        assert_eq!(shown(&"x".repeat(10_000)).chars().count(), MAX_LETTERS + 1);
    }

    #[test]
    fn mismatch_outcome_is_kept_after_an_unproven_check() {
        let mut report = AuditReport::new("https://data.example.org", 1);
        report.not_proven("no receipt");
        assert_eq!(report.outcome, Outcome::NotPossible);
        report.problem("another root");
        report.not_proven("no receipt");
        assert_eq!(
            (report.outcome, report.problems.len(), report.notes.len()),
            (Outcome::Mismatch, 1, 2)
        );
    }
}
