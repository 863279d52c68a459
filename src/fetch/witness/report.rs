//! What is said of a server. What the server said itself is cut and escaped here, for whoever reads the report.

use std::path::PathBuf;

use serde::Serialize;

use pubdata_core::printable::printable;

/// Letters of a text of the server's that are shown.
const MOST_LETTERS: usize = 600;

/// What came of looking at a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WitnessReport {
    pub server: String,
    pub outcome: Outcome,
    /// None where it could not be asked for.
    pub release_id: Option<String>,
    /// None where the log could not be read.
    pub log: Option<LogReport>,
    pub seed: u32,
    /// Ids beside the drawn ones of which it was proven that the release has them not.
    pub absent: usize,
    pub records: Vec<RecordReport>,
    pub files: Vec<FileReport>,
    /// What does not hold.
    pub problems: Vec<String>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Where the evidence against a log is kept.
    pub evidence: Vec<PathBuf>,
}

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Match,
    Mismatch,
    /// The server did not give what proves it.
    NotPossible,
}

/// A log that was read whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogReport {
    pub name: String,
    /// Releases in it.
    pub size: u64,
    pub root: String,
    pub key: String,
    pub key_from: KeyFrom,
    /// Releases in it when it was last seen, and when that was.
    pub seen_size: Option<u64>,
    pub seen_at: Option<String>,
}

/// Why a key is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordReport {
    pub record_id: String,
    pub outcome: Outcome,
}

/// A publisher's file that drawn records come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileReport {
    pub source_id: String,
    pub url: String,
    /// As the server says.
    pub sha256: String,
    pub outcome: FileOutcome,
    /// None where the outcome says it all.
    pub detail: Option<String>,
}

/// What the publisher has where the server's file was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileOutcome {
    Match,
    /// Other bytes, which the publisher has put there since.
    Replaced,
    /// Other bytes, which the publisher dates before the server fetched its own.
    Mismatch,
    Gone,
    TooLarge,
    NotAsked,
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
        self.records.push(RecordReport { record_id: shown(record_id), outcome });
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
        assert_eq!(shown("a\u{1b}[2Jb\u{202e}c\r\né"), "a\\u{1b}[2Jb\\u{202e}c\\r\\né");
        assert_eq!(shown(&"x".repeat(10_000)).chars().count(), MOST_LETTERS + 1);
    }

    #[test]
    fn a_problem_is_never_made_less_of() {
        let mut report = WitnessReport::new("https://data.example.org", 1);
        report.not_proven("no receipt");
        assert_eq!(report.outcome, Outcome::NotPossible);
        report.problem("another root");
        report.not_proven("no receipt");
        assert_eq!((report.outcome, report.problems.len(), report.notes.len()), (Outcome::Mismatch, 1, 2));
    }
}
