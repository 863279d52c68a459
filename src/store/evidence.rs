//! Defines the JSON for a record's source bytes and for a replay. A worker with access to the
//! snapshots builds the JSON, and the server sends it. Fields are declared in alphabetical order,
//! as in API responses.

use schemars::JsonSchema;
use serde::Serialize;

use pubdata_core::ids::Digest;

/// `whole`: all bytes are shown. `published`: for a source that may contain personal details, only
/// cells whose content is a value of the record, possibly in another form, are shown. `withheld`:
/// no bytes are shown, because they have no separable cells or too many. `unavailable`: no bytes
/// are shown, because this server cannot read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Shown {
    Whole,
    Published,
    Withheld,
    Unavailable,
}

/// Sent with `include=bytes`: the publisher's bytes, as far as they may be shown.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SourceBytes")]
pub struct ShownBytes {
    /// The cells of the record, in order; empty for a document. A record with more than 500 cells
    /// lists only the cells that were used.
    pub cells: Vec<ShownCell>,
    /// The bytes as text, including the surrounding text for a document. `start` and `end` delimit
    /// the characters (Unicode code points) that belong to the bytes themselves. `offset` and
    /// `length` locate the text in the file or archive member.
    pub excerpt: Option<Excerpt>,
    /// The line that names the file's columns; null if the file has no such line or it is not
    /// shown.
    pub header: Option<ShownHeader>,
    /// Why some bytes are not shown; null if all bytes are shown.
    pub reason: Option<String>,
    /// Digest of the bytes; null if any bytes are withheld, because short values could be found by
    /// trial and error.
    #[schemars(with = "Option<String>")]
    pub sha256: Option<Digest>,
    pub shown: Shown,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ShownHeader {
    /// Length of the line in bytes, without the line ending.
    pub length: u64,
    /// Offset of the line's first byte in the decompressed file or archive member, counted from 0.
    pub offset: u64,
    /// The header line as text.
    pub text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Excerpt {
    /// End of the record's own bytes in `text`, exclusive, counted in Unicode code points.
    pub end: usize,
    /// Length of the excerpt in bytes.
    pub length: u64,
    /// Offset of the excerpt's first byte in the decompressed file or archive member, counted from
    /// 0.
    pub offset: u64,
    /// Start of the record's own bytes in `text`, counted from 0 in Unicode code points.
    pub start: usize,
    /// The lines around the record, as text.
    pub text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ShownCell {
    /// The publisher's name for the column.
    pub column: Option<String>,
    /// End of the cell in the excerpt, exclusive, counted in Unicode code points; null if no
    /// excerpt is shown.
    pub end: Option<usize>,
    /// True if the declaration or the record uses the cell.
    pub is_used: bool,
    /// True if the cell has text that is not shown.
    pub is_withheld: bool,
    /// Length of the cell in bytes.
    pub length: u64,
    /// Offset of the cell's first byte in the decompressed file or archive member, counted from 0.
    pub offset: u64,
    /// The name that the declaration maps the column to; null if the column is not mapped.
    pub read_as: Option<String>,
    /// Start of the cell in the excerpt, counted in Unicode code points; null if no excerpt is
    /// shown.
    pub start: Option<usize>,
    /// Text of the cell; null if it is empty or withheld.
    pub text: Option<String>,
}

impl ShownBytes {
    /// Builds a response that contains no bytes but states the reason.
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
    /// The result differs from what was published, or a file used for the build is damaged.
    Mismatch,
    /// The result differs, but another version of the program may be the cause; or a snapshot is in
    /// neither the home nor the store.
    NotPossible,
}

impl Replay {
    /// Derives the result from the comparison and from the reason, if any, why a replay is not
    /// possible.
    pub fn new(is_equal: bool, not_possible: Option<&String>) -> Self {
        match (is_equal, not_possible) {
            (true, None) => Self::Match,
            (_, Some(_)) => Self::NotPossible,
            (false, None) => Self::Mismatch,
        }
    }
}

/// Sent with `include=replay`: the result of rebuilding the record from its bytes, with the
/// declarations and contracts of its release.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Replay")]
pub struct ReplayView {
    /// Differences between the rebuilt record and the published record; empty if they are equal.
    pub differences: Vec<DifferenceView>,
    /// Remarks for the reader, such as a different version of the code.
    pub notes: Vec<String>,
    /// Why the record cannot be rebuilt, or why this could not be tried; null if it was rebuilt.
    pub reason: Option<String>,
    /// `match`: every column equals the published column, and the files are the fetched files.
    /// `mismatch`: a column or a file differs. `not_possible`: different code built the record.
    /// Null if this server could not try the replay.
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
    /// Builds the response for a replay that could not be tried.
    pub fn untried(reason: &str) -> Self {
        Self {
            verdict: None,
            reason: Some(reason.to_owned()),
            differences: Vec::new(),
            notes: Vec::new(),
        }
    }
}
