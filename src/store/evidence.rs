//! Defines the JSON of a record's source bytes and of a replay. A worker with access to the
//! snapshots builds it, and the server sends it. Members are declared in alphabetical order, as in
//! answers.

use schemars::JsonSchema;
use serde::Serialize;

use pubdata_core::ids::Digest;

/// `whole`: all bytes. `published`: for a source that may hold facts about persons, only the cells
/// whose content is a value of the record, in this form or another. `withheld`: none, because the
/// bytes have no separable cells or too many. `unavailable`: none, because this server cannot read
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Shown {
    Whole,
    Published,
    Withheld,
    Unavailable,
}

/// With `include=bytes`: the publisher's bytes, as far as they may be shown.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SourceBytes")]
pub struct ShownBytes {
    /// The cells of the record in their order; empty for a document. For a record with more than
    /// 500 cells, only those that were used.
    pub cells: Vec<ShownCell>,
    /// The bytes as text; for a document also the surrounding text. `start` and `end` are the
    /// characters (Unicode code points) of the text that are the bytes themselves; `offset` and
    /// `length` locate the text in the file or member.
    pub excerpt: Option<Excerpt>,
    /// The line of the file that names its columns; null if it has none or it is not shown.
    pub header: Option<ShownHeader>,
    /// Why not all bytes are shown; null if they are.
    pub reason: Option<String>,
    /// Digest of the bytes; null if any of them is withheld, because short values can be found by
    /// trial.
    #[schemars(with = "Option<String>")]
    pub sha256: Option<Digest>,
    pub shown: Shown,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ShownHeader {
    /// Number of bytes of the line, without the line ending.
    pub length: u64,
    /// First byte of the line in the decompressed file or member, counted from 0.
    pub offset: u64,
    /// The header line as text.
    pub text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Excerpt {
    /// End of the record's own bytes in `text`, exclusive, counted in Unicode code points.
    pub end: usize,
    /// Number of bytes of the excerpt.
    pub length: u64,
    /// First byte of the excerpt in the decompressed file or member, counted from 0.
    pub offset: u64,
    /// First character of the record's own bytes in `text`, counted from 0 in Unicode code points.
    pub start: usize,
    /// The lines around the record, as text.
    pub text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ShownCell {
    /// The publisher's name of the column.
    pub column: Option<String>,
    /// End of the cell in the excerpt, exclusive, counted in Unicode code points; null without an
    /// excerpt.
    pub end: Option<usize>,
    /// True if the declaration or the record uses the cell.
    pub is_used: bool,
    /// True if the cell has text that is not shown.
    pub is_withheld: bool,
    /// Number of bytes of the cell.
    pub length: u64,
    /// First byte of the cell in the decompressed file or member, counted from 0.
    pub offset: u64,
    /// The name that the declaration maps the column to; null without one.
    pub read_as: Option<String>,
    /// First character of the cell in the excerpt; null without an excerpt.
    pub start: Option<usize>,
    /// Text of the cell; null if it is empty or withheld.
    pub text: Option<String>,
}

impl ShownBytes {
    /// Builds an answer without bytes, with the reason.
    pub fn nothing(shown: Shown, reason: impl Into<String>) -> Self {
        Self {
            shown,
            reason: Some(reason.into()),
            sha256: None,
            header: None,
            excerpt: None,
            cells: Vec::new(),
        }
    }
}

/// Result of a replay of a record or a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Replay {
    /// The result equals what was published.
    Match,
    /// The result differs, or a file that it is built from is damaged.
    Mismatch,
    /// The result differs, as it may with another version of the program. Or a snapshot is in
    /// neither the home nor the store.
    NotPossible,
}

impl Replay {
    /// Combines the comparison with the reason why a replay is not possible.
    pub fn new(is_equal: bool, not_possible: Option<&String>) -> Self {
        match (is_equal, not_possible) {
            (true, None) => Self::Match,
            (_, Some(_)) => Self::NotPossible,
            (false, None) => Self::Mismatch,
        }
    }
}

/// With `include=replay`: the result of building the record again from its bytes, with the
/// declarations and contracts of its release.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Replay")]
pub struct ReplayView {
    /// Differences between the rebuilt record and the published one; empty without any.
    pub differences: Vec<DifferenceView>,
    /// Remarks for the reader, such as a different version of the code.
    pub notes: Vec<String>,
    /// Why the rebuild is not possible or could not be tried; null if it was done.
    pub reason: Option<String>,
    /// `match`: every column equals the published one, and the files are those that were fetched.
    /// `mismatch`: they differ. `not_possible`: other code built the record. Null if this server
    /// could not try the replay.
    #[schemars(with = "Option<String>", extend("enum" = [Replay::Match, Replay::Mismatch, Replay::NotPossible]))]
    pub verdict: Option<Replay>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct DifferenceView {
    /// The column that differs; null if the record was not rebuilt, or a file is damaged.
    pub column: Option<String>,
    /// Details; null if they could reveal unpublished values.
    pub detail: Option<String>,
}

impl ReplayView {
    /// Builds an answer for a replay that could not be tried.
    pub fn untried(reason: &str) -> Self {
        Self {
            verdict: None,
            reason: Some(reason.to_owned()),
            differences: Vec::new(),
            notes: Vec::new(),
        }
    }
}
