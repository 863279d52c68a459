//! Collects the records of all formats into frames of text columns and pointers. Blanks and zero bytes at a cell's ends are no part of it,
//! and an empty cell is null.

use polars::prelude::*;

use super::encoding::text_of;
use super::header::{ColumnFindings, Resolved};
use super::{Malformed, Task};
use crate::error::{Error, Result};
use crate::issue::Severity;
use crate::pipeline::Encoding;
use crate::provenance::POINTERS;

/// More records that cannot be read mean that the file is not the declared one; their texts are not collected without bound.
const MAX_MALFORMED: usize = 10_000;

/// Fixed-width files are padded with zero bytes as well as with blanks.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\0'
}

/// Takes the records of a file in frames of a number of rows.
pub(super) struct Sink<'s> {
    pub(super) rows: usize,
    pub(super) take: &'s mut dyn FnMut(DataFrame) -> Result<()>,
    /// Filled when the file has been read.
    pub(super) columns: ColumnFindings,
}

/// Collects kept records into text columns and pointers.
pub(super) struct TextFrame<'f, 's> {
    sink: &'f mut Sink<'s>,
    names: Vec<String>,
    columns: Vec<StringChunkedBuilder>,
    /// Whether any record has a value in a column; none where the file lacks it.
    has_value: Vec<Option<bool>>,
    pointers: Vec<(u64, u64)>,
    malformed: Vec<Malformed>,
    encoding: Encoding,
    input: u64,
    member_number: u64,
}

impl<'f, 's> TextFrame<'f, 's> {
    pub(super) fn new(resolved: &Resolved, encoding: Encoding, task: &Task<'_>, sink: &'f mut Sink<'s>) -> Self {
        sink.columns.new.clone_from(&resolved.new);
        Self {
            sink,
            has_value: resolved.positions.iter().map(|position| position.map(|_| false)).collect(),
            columns: builders(&resolved.names),
            names: resolved.names.clone(),
            pointers: Vec::new(),
            malformed: Vec::new(),
            encoding,
            input: task.input,
            member_number: task.member_number,
        }
    }

    /// Adds a record whose cells are in the encoding; `cell` gives the bytes at a place in the file. Blanks and zero bytes at a cell's ends
    /// are no part of it; an empty cell is null.
    pub(super) fn push<'c>(&mut self, resolved: &Resolved, offset: u64, length: u64, mut cell: impl FnMut(usize) -> Option<&'c [u8]>) -> Result<()> {
        for ((column, position), has_value) in self.columns.iter_mut().zip(&resolved.positions).zip(&mut self.has_value) {
            let bytes = position.and_then(&mut cell).map(<[u8]>::trim_ascii).unwrap_or_default();
            let text = text_of(self.encoding, bytes).expect("the caller has checked the record");
            let text = text.trim_matches(is_blank);
            if !text.is_empty() {
                *has_value = Some(true);
            }
            column.append_option((!text.is_empty()).then_some(text));
        }
        self.pointers.push((offset, length));
        if self.pointers.len() < self.sink.rows { Ok(()) } else { self.flush() }
    }

    /// Adds a finding about a record that cannot be read.
    pub(super) fn malformed(&mut self, detail: String, record: &[u8], offset: u64) -> Result<()> {
        if self.malformed.len() == MAX_MALFORMED {
            let first = &self.malformed[0];
            let message = format!("more than {MAX_MALFORMED} records are not in the declared layout, the first at byte {}: {}", first.offset, first.detail);
            return Err(Error::format(message).hint("look at the file: the publisher changed its layout, or it is another file"));
        }
        let source_text = String::from_utf8_lossy(record).chars().take(2_000).collect();
        self.malformed.push(Malformed { severity: Severity::Quarantine, detail, source_text, offset, length: record.len() as u64 });
        Ok(())
    }

    /// Hands the last records over, or an empty frame; gives the findings of the whole file.
    pub(super) fn finish(mut self) -> Result<Vec<Malformed>> {
        self.flush()?;
        let has_value = self.names.iter().zip(&self.has_value).filter_map(|(name, has_value)| Some((name.clone(), (*has_value)?)));
        self.sink.columns.has_value = has_value.collect();
        Ok(self.malformed)
    }

    fn flush(&mut self) -> Result<()> {
        let columns = std::mem::replace(&mut self.columns, builders(&self.names));
        let frame = frame_of(columns, &std::mem::take(&mut self.pointers), [self.input, self.member_number])?;
        (self.sink.take)(frame)
    }
}

/// Builders of text columns.
pub(super) fn builders(names: &[String]) -> Vec<StringChunkedBuilder> {
    names.iter().map(|name| StringChunkedBuilder::new(name.as_str().into(), 1024)).collect()
}

/// Text columns and pointers into one snapshot and member.
pub(super) fn frame_of(columns: Vec<StringChunkedBuilder>, spans: &[(u64, u64)], [input, member_number]: [u64; 2]) -> Result<DataFrame> {
    let mut list = ListPrimitiveChunkedBuilder::<UInt64Type>::new(POINTERS.into(), spans.len(), spans.len() * 4, DataType::UInt64);
    for (offset, length) in spans {
        list.append_slice(&[input, member_number, *offset, *length]);
    }
    let mut columns: Vec<Column> = columns.into_iter().map(|builder| builder.finish().into_column()).collect();
    columns.push(list.finish().into_column());
    Ok(DataFrame::new(spans.len(), columns)?)
}
