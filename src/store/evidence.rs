//! What is told of a record's source bytes and of making it again: made where the snapshots are,
//! sent by the server. Members are declared in the order of their names, in which answers have
//! them.

use schemars::JsonSchema;
use serde::Serialize;

use pubdata_core::ids::Digest;

/// `whole`: all of them. `published`: of a list that may tell of persons, the cells whose content
/// is a value of the record, in this form or another. `withheld`: none, because they have no cells
/// that could be told apart, or are too many. `unavailable`: none, because this server cannot read
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
    /// The cells of the record in their order; empty of a document. Of a record with more than 500
    /// those that were used.
    pub cells: Vec<ShownCell>,
    /// The bytes as text; of a document also what stands around them. `start` and `end` are the
    /// characters (Unicode code points) of the text that are the bytes themselves; `offset` and
    /// `length` say where the text stands in the file or member.
    pub excerpt: Option<Excerpt>,
    /// The line of the file that names its columns; null if it has none or it is not shown.
    pub header: Option<ShownHeader>,
    /// Why not all bytes are shown; null if they are.
    pub reason: Option<String>,
    /// Digest of the bytes; null where any of them is withheld, because what is short is found by
    /// trying.
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
    /// Whether the declaration reads it, or the record names it.
    pub is_used: bool,
    /// True if the cell has a text that is not shown.
    pub is_withheld: bool,
    /// Number of bytes of the cell.
    pub length: u64,
    /// First byte, in the member or file after decompression.
    pub offset: u64,
    /// The name under which it is read, where the declaration maps it.
    pub read_as: Option<String>,
    /// Its characters in the excerpt; null without one.
    pub start: Option<usize>,
    /// Its text; null where it is empty or withheld.
    pub text: Option<String>,
}

impl ShownBytes {
    /// No bytes, and why.
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

/// What came of making a record or a release again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Replay {
    /// It is as it was published.
    Match,
    /// It is not, or what it was made from is damaged.
    Mismatch,
    /// It is not, and need not be: this program is not the one that made it. Or it could not be
    /// tried, because a snapshot is neither in the home nor in the store.
    NotPossible,
}

impl Replay {
    /// By what is other, and why that would say nothing.
    pub fn of(is_equal: bool, not_possible: Option<&String>) -> Self {
        match (is_equal, not_possible) {
            (true, None) => Self::Match,
            (_, Some(_)) => Self::NotPossible,
            (false, None) => Self::Mismatch,
        }
    }
}

/// With `include=replay`: what came of making the record again from its bytes, with the
/// declarations and contracts that its release carries.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Replay")]
pub struct ToldReplay {
    /// Differences between the rebuilt record and the published one; empty if there are none.
    pub differences: Vec<ToldDifference>,
    /// What the reader should know, such as other code.
    pub notes: Vec<String>,
    /// Why the rebuild is not possible or could not be tried; null if it was done.
    pub reason: Option<String>,
    /// `match`: every column came out as published, and the files are those that were fetched.
    /// `mismatch`: not so. `not_possible`: other code made it. Null where it could not be tried
    /// here.
    #[schemars(with = "Option<String>", extend("enum" = [Replay::Match, Replay::Mismatch, Replay::NotPossible]))]
    pub verdict: Option<Replay>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ToldDifference {
    /// The column that came out otherwise; null where the record did not come out, or a file is
    /// damaged.
    pub column: Option<String>,
    /// Null where it could tell what is not published.
    pub detail: Option<String>,
}

impl ToldReplay {
    /// What could not be tried, and why.
    pub fn untried(reason: &str) -> Self {
        Self {
            verdict: None,
            reason: Some(reason.to_owned()),
            differences: Vec::new(),
            notes: Vec::new(),
        }
    }
}
