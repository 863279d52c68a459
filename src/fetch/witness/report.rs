//! What is said of a server. What the server said itself is cut and escaped here, for whoever reads
//! the report.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_core::printable::printable;

/// Letters of a text of the server's that are shown.
const MOST_LETTERS: usize = 600;

/// Whether a server of others shows what was signed: `pubdata verify --url`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WitnessReport {
    /// Its address.
    pub server: String,
    /// What came of it. `mismatch`: something does not hold, as `problems` says. `not_possible`:
    /// nothing is wrong, and not all is proven: the server did not give all that proves it, or no
    /// publisher's file could be compared. `notes` says which.
    pub outcome: Outcome,
    /// The release that it answers from; null if only the log was looked at.
    #[schemars(with = "Option<ReleaseId>")]
    pub release_id: Option<String>,
    /// Its log; null if there is none, or it is not signed or not of one piece.
    pub log: Option<LogReport>,
    /// Random seed: with it (`--seed`) the same records are drawn from the same release.
    pub seed: u32,
    /// Ids beside the drawn ones that were proven not to be in the release.
    pub absent: usize,
    /// The records that were drawn.
    pub records: Vec<RecordReport>,
    /// The publishers' files that the drawn records come from, as the server says; empty if none
    /// are compared.
    pub files: Vec<FileReport>,
    /// What does not hold; empty when all is well.
    pub problems: Vec<String>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Files in the home with what shows that a log is not the one that was seen.
    pub evidence: Vec<PathBuf>,
}

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Match,
    Mismatch,
    /// What proves it was not to be had.
    NotPossible,
}

/// A log that was read whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LogReport {
    /// Name of the log.
    pub name: String,
    /// Entries in it, one for each signed release.
    pub size: u64,
    /// Root over them.
    #[schemars(with = "Digest")]
    pub root: String,
    /// What it was verified with.
    pub key: String,
    /// Why that key is believed.
    pub key_from: KeyFrom,
    /// Entries in it when it was last seen; null if it never was.
    pub seen_size: Option<u64>,
    /// When that was; null if it never was.
    pub seen_at: Option<String>,
}

/// Why a key is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyFrom {
    /// A person named it.
    Given,
    /// It was seen before.
    Seen,
    /// The server shows it, and nothing is known against it.
    FirstUse,
}

/// A record that was drawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordReport {
    /// The record.
    pub record_id: String,
    /// What came of it. `match`: its receipt holds, and the server's answer is as it was sealed.
    pub outcome: Outcome,
}

/// A publisher's file that drawn records come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileReport {
    /// The source.
    pub source_id: String,
    /// The file's address.
    pub url: String,
    /// Its digest, as the server says.
    #[schemars(with = "Digest")]
    pub sha256: String,
    /// What the publisher has there.
    pub outcome: FileOutcome,
    /// More about it; null if the outcome says it all.
    pub detail: Option<String>,
}

/// What the publisher has where the server's file was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileOutcome {
    Match,
    /// Other bytes, which the publisher has put there since.
    Replaced,
    /// Other bytes, which the publisher dates before the server fetched its own.
    Mismatch,
    /// The publisher has no file at that address any more.
    Gone,
    /// The file is larger than what is left of `--publisher-mb`.
    TooLarge,
    /// No request was sent, as `detail` says: the address is no publisher's that this program
    /// knows, a person downloaded the file, or a secret is needed.
    NotAsked,
    /// The publisher did not send the file, as `detail` says.
    Unreachable,
}

impl WitnessReport {
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

    /// Something does not hold.
    pub(super) fn problem(&mut self, text: &str) {
        self.outcome = Outcome::Mismatch;
        self.problems.push(shown(text));
    }

    /// Something could not be looked at without which nothing is proven.
    pub(super) fn not_proven(&mut self, text: &str) {
        self.lessen();
        self.note(text);
    }

    fn lessen(&mut self) {
        if self.outcome == Outcome::Match {
            self.outcome = Outcome::NotPossible;
        }
    }

    pub(super) fn note(&mut self, text: &str) {
        self.notes.push(shown(text));
    }

    pub(super) fn record(&mut self, record_id: &str, outcome: Outcome) {
        if outcome == Outcome::NotPossible {
            self.lessen();
        }
        self.records.push(RecordReport {
            record_id: shown(record_id),
            outcome,
        });
    }
}

/// A text that no terminal obeys, cut where it is long.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(MOST_LETTERS) {
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
        assert_eq!(shown(&"x".repeat(10_000)).chars().count(), MOST_LETTERS + 1);
    }

    #[test]
    fn a_problem_is_never_made_less_of() {
        let mut report = WitnessReport::new("https://data.example.org", 1);
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
