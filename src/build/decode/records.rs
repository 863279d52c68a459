//! Reads the cells of the records of all formats as text. Blanks and zero bytes at a cell's ends
//! are no part of it, and an empty cell is null.

use super::Malformed;
use super::encoding::text_of;
use super::header::{ColumnFindings, Resolved};
use pubdata_core::error::{Error, Result};
use pubdata_core::issue::Severity;
use pubdata_core::pipeline::Encoding;

/// More records that cannot be read mean that the file is not the declared one; their texts are not
/// collected without bound.
const MAX_MALFORMED: usize = 10_000;

/// Fixed-width files are padded with zero bytes as well as with blanks.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\0'
}

/// A cell without the ASCII blanks at its ends. Cells of fixed width are little else.
fn without_blanks(mut cell: &[u8]) -> &[u8] {
    while let Some(rest) = cell.strip_suffix(&[b' '; 16]) {
        cell = rest;
    }
    cell.trim_ascii()
}

/// What the records of a file become.
pub(super) trait TakeRecords {
    /// Takes the names of the columns, before the first record.
    fn begin(&mut self, names: &[String]) -> Result<()>;
    /// Takes the next cell of a record: each has one for each column, in their order, which is
    /// empty where it is null.
    fn cell(&mut self, column: usize, text: &str);
    /// Takes the end of a record, and its place in the file.
    fn end(&mut self, offset: u64, length: u64) -> Result<()>;
    /// Takes the end of the file.
    fn finish(&mut self) -> Result<()>;
}

/// Where the records of a file go, and what its columns are like.
pub(super) struct Sink<'s> {
    pub(super) records: &'s mut dyn TakeRecords,
    /// Filled when the file has been read.
    pub(super) columns: ColumnFindings,
}

/// Hands over the records that are kept, cell by cell, and collects those that cannot be read.
pub(super) struct Records<'f, 's> {
    sink: &'f mut Sink<'s>,
    names: Vec<String>,
    /// Whether any record has a value in a column; none where the file lacks it.
    has_value: Vec<Option<bool>>,
    malformed: Vec<Malformed>,
    encoding: Encoding,
}

impl<'f, 's> Records<'f, 's> {
    pub(super) fn new(
        resolved: &Resolved,
        encoding: Encoding,
        sink: &'f mut Sink<'s>,
    ) -> Result<Self> {
        sink.columns.new.clone_from(&resolved.new);
        sink.records.begin(&resolved.names)?;
        let has_value = resolved
            .positions
            .iter()
            .map(|position| position.map(|_| false))
            .collect();
        Ok(Self {
            sink,
            has_value,
            names: resolved.names.clone(),
            malformed: Vec::new(),
            encoding,
        })
    }

    /// Adds a record whose cells are in the encoding; `cell` gives the bytes at a place in the
    /// file. Blanks and zero bytes at a cell's ends are no part of it; an empty cell is null.
    pub(super) fn push<'c>(
        &mut self,
        resolved: &Resolved,
        offset: u64,
        length: u64,
        mut cell: impl FnMut(usize) -> Option<&'c [u8]>,
    ) -> Result<()> {
        for (column, (position, has_value)) in resolved
            .positions
            .iter()
            .zip(&mut self.has_value)
            .enumerate()
        {
            let bytes = position
                .and_then(&mut cell)
                .map(without_blanks)
                .unwrap_or_default();
            if bytes.is_empty() {
                self.sink.records.cell(column, "");
                continue;
            }
            let text = text_of(self.encoding, bytes).expect("the caller has checked the record");
            let text = text.trim_matches(is_blank);
            if !text.is_empty() {
                *has_value = Some(true);
            }
            self.sink.records.cell(column, text);
        }
        self.sink.records.end(offset, length)
    }

    /// Adds a finding about a record that cannot be read.
    pub(super) fn malformed(&mut self, detail: String, record: &[u8], offset: u64) -> Result<()> {
        if self.malformed.len() == MAX_MALFORMED {
            let first = &self.malformed[0];
            let message = format!(
                "more than {MAX_MALFORMED} records are not in the declared layout, the first at byte {}: {}",
                first.offset, first.detail
            );
            return Err(Error::format(message).hint(
                "look at the file: the publisher changed its layout, or it is another file",
            ));
        }
        let source_text = String::from_utf8_lossy(record)
            .chars()
            .take(2_000)
            .collect();
        self.malformed.push(Malformed {
            severity: Severity::Quarantine,
            detail,
            source_text,
            offset,
            length: record.len() as u64,
        });
        Ok(())
    }

    /// Ends the file; gives the findings of all of it.
    pub(super) fn finish(self) -> Result<Vec<Malformed>> {
        self.sink.records.finish()?;
        let has_value = self
            .names
            .iter()
            .zip(&self.has_value)
            .filter_map(|(name, has_value)| Some((name.clone(), (*has_value)?)));
        self.sink.columns.has_value = has_value.collect();
        Ok(self.malformed)
    }
}
