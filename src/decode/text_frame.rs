use polars::prelude::*;

use super::encoding::text_of;
use super::header::Resolved;
use super::{Decoded, Malformed, Task};
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

/// Collects kept records into text columns and pointers.
pub(super) struct TextFrame {
    columns: Vec<StringChunkedBuilder>,
    pointers: Vec<(u64, u64)>,
    malformed: Vec<Malformed>,
    malformed_count: usize,
    encoding: Encoding,
    input: u64,
    member_number: u64,
}

impl TextFrame {
    pub(super) fn new(resolved: &Resolved, encoding: Encoding, task: &Task<'_>) -> Self {
        let columns = resolved.names.iter().map(|name| StringChunkedBuilder::new(name.as_str().into(), 1024)).collect();
        Self { columns, pointers: Vec::new(), malformed: Vec::new(), malformed_count: 0, encoding, input: task.input, member_number: task.member_number }
    }

    /// Adds a record whose cells are in the encoding; `cell` gives the bytes at a place in the file. Blanks and zero bytes at a cell's ends
    /// are no part of it; an empty cell is null.
    pub(super) fn push<'c>(&mut self, resolved: &Resolved, offset: u64, length: u64, mut cell: impl FnMut(usize) -> Option<&'c [u8]>) {
        for (column, position) in self.columns.iter_mut().zip(&resolved.positions) {
            let bytes = position.and_then(&mut cell).map(<[u8]>::trim_ascii).unwrap_or_default();
            let text = text_of(self.encoding, bytes).expect("the caller has checked the record");
            let text = text.trim_matches(is_blank);
            column.append_option((!text.is_empty()).then_some(text));
        }
        self.pointers.push((offset, length));
    }

    /// Adds a finding about a record that cannot be read.
    pub(super) fn malformed(&mut self, detail: String, record: &[u8], offset: u64) {
        self.malformed_count += 1;
        if self.malformed_count > MAX_MALFORMED {
            return;
        }
        let source_text = String::from_utf8_lossy(record).chars().take(2_000).collect();
        self.malformed.push(Malformed { severity: Severity::Quarantine, detail, source_text, offset, length: record.len() as u64 });
    }

    pub(super) fn finish(self) -> Result<Decoded> {
        if self.malformed_count > MAX_MALFORMED {
            let first = &self.malformed[0];
            let message = format!("{} records are not in the declared layout, the first at byte {}: {}", self.malformed_count, first.offset, first.detail);
            return Err(Error::format(message).hint("look at the file: the publisher changed its layout, or it is another file"));
        }
        let mut list = ListPrimitiveChunkedBuilder::<UInt64Type>::new(POINTERS.into(), self.pointers.len(), self.pointers.len() * 4, DataType::UInt64);
        for (offset, length) in &self.pointers {
            list.append_slice(&[self.input, self.member_number, *offset, *length]);
        }
        let mut columns: Vec<Column> = self.columns.into_iter().map(|builder| builder.finish().into_column()).collect();
        columns.push(list.finish().into_column());
        Ok(Decoded { frame: DataFrame::new(self.pointers.len(), columns)?, malformed: self.malformed })
    }
}
