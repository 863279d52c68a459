//! Converts record cells to text, for all formats. Trims blanks and zero bytes; an empty cell
//! becomes null.

use std::collections::HashSet;

use super::Malformed;
use super::encoding::text_of;
use super::header::{ColumnReport, Resolved};
use pubdata_core::error::{Error, Result};
use pubdata_core::issue::Severity;
use pubdata_core::pipeline::Encoding;

/// Maximum number of malformed records. A larger number means that the file is not the declared
/// one. The limit also bounds the memory for the records' text.
const MAX_MALFORMED: usize = 10_000;

/// Fixed-width files are padded with zero bytes as well as with blanks.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\0'
}

/// Trims ASCII blanks in 16-byte steps, because fixed-width cells consist mostly of blanks.
fn without_blanks(mut cell: &[u8]) -> &[u8] {
    while let Some(rest) = cell.strip_suffix(&[b' '; 16]) {
        cell = rest;
    }
    cell.trim_ascii()
}

/// Receiver of a file's records.
pub(super) trait RecordConsumer {
    /// Receives the column names, before the first record.
    fn begin(&mut self, names: &[String]) -> Result<()>;
    /// Receives a record's next cell. Each record has one cell per column, in order; an empty cell
    /// is null.
    fn cell(&mut self, column: usize, text: &str);
    /// Receives the end of a record, with the record's offset and length in the file.
    fn end(&mut self, offset: u64, length: u64) -> Result<()>;
    /// Receives the end of the file.
    fn finish(&mut self) -> Result<()>;
    /// Returns the filter that records must pass, if any.
    fn filter(&self) -> Option<KeyFilter<'_>> {
        None
    }
    /// Counts a record that does not pass the filter.
    fn skip(&mut self) {}
}

/// Drops records based on their keys, before their other cells are read.
#[derive(Clone, Copy)]
pub(super) struct KeyFilter<'a> {
    /// Key columns. The first non-empty text is the record's key.
    pub(super) columns: &'a [usize],
    pub(super) keys: &'a HashSet<String>,
}

/// Destination of a file's records, and facts about its columns.
pub(super) struct Sink<'s> {
    pub(super) records: &'s mut dyn RecordConsumer,
    /// Filled once the file has been read.
    pub(super) columns: ColumnReport,
}

/// Passes kept records on cell by cell, and collects malformed records.
pub(super) struct Records<'f, 's> {
    sink: &'f mut Sink<'s>,
    names: Vec<String>,
    /// For each column, whether any record has a value in it; none if the file does not have the
    /// column.
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

    /// Adds a record whose cells are valid in the encoding. `cell` returns the bytes at an index in
    /// the file. Trims blanks and zero bytes; an empty cell becomes null.
    pub(super) fn push<'c>(
        &mut self,
        resolved: &Resolved,
        offset: u64,
        length: u64,
        mut cell: impl FnMut(usize) -> Option<&'c [u8]>,
    ) -> Result<()> {
        let mut bytes_of = |column: usize| {
            resolved.positions[column]
                .and_then(&mut cell)
                .map(without_blanks)
                .unwrap_or_default()
        };
        let text =
            |bytes| text_of(self.encoding, bytes).expect("the caller has checked the record");
        if let Some(filter) = self.sink.records.filter() {
            let texts = filter.columns.iter().map(|column| text(bytes_of(*column)));
            let mut keys = texts.map(|text| text.trim_matches(is_blank).to_owned());
            let key = keys.find(|key| !key.is_empty());
            if key.is_some_and(|key| !filter.keys.contains(&key)) {
                for (column, has_value) in self.has_value.iter_mut().enumerate() {
                    if *has_value == Some(false) {
                        let text = text(bytes_of(column));
                        *has_value = Some(!text.trim_matches(is_blank).is_empty());
                    }
                }
                self.sink.records.skip();
                return Ok(());
            }
        }
        for (column, has_value) in self.has_value.iter_mut().enumerate() {
            let bytes = bytes_of(column);
            if bytes.is_empty() {
                self.sink.records.cell(column, "");
                continue;
            }
            let text = text(bytes);
            let text = text.trim_matches(is_blank);
            if !text.is_empty() {
                *has_value = Some(true);
            }
            self.sink.records.cell(column, text);
        }
        self.sink.records.end(offset, length)
    }

    /// Adds a malformed record.
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

    /// Ends the file and returns its malformed records.
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
