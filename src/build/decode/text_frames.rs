//! Builds frames of text columns and source pointers from a file's records.

use polars::prelude::*;

use super::records::RecordConsumer;
use pubdata_core::error::Result;
use pubdata_core::provenance::POINTERS;

/// Collects a file's records into frames of `rows` rows. Produces at least one frame, which may be
/// empty.
pub(super) struct TextFrames<'t> {
    rows: usize,
    take: &'t mut dyn FnMut(DataFrame) -> Result<()>,
    /// Numbers that identify the snapshot and the member in source pointers.
    numbers: [u64; 2],
    frame: TextFrame,
    names: Vec<String>,
}

impl<'t> TextFrames<'t> {
    pub(super) fn new(
        rows: usize,
        numbers: [u64; 2],
        take: &'t mut dyn FnMut(DataFrame) -> Result<()>,
    ) -> Self {
        Self {
            rows,
            take,
            numbers,
            frame: TextFrame::new(&[]),
            names: Vec::new(),
        }
    }
}

impl RecordConsumer for TextFrames<'_> {
    fn begin(&mut self, names: &[String]) -> Result<()> {
        self.names = names.to_vec();
        self.frame = TextFrame::new(names);
        Ok(())
    }

    fn cell(&mut self, column: usize, text: &str) {
        self.frame.cell(column, text);
    }

    fn end(&mut self, offset: u64, length: u64) -> Result<()> {
        self.frame.end(offset, length);
        if self.frame.height() < self.rows {
            Ok(())
        } else {
            self.finish()
        }
    }

    fn finish(&mut self) -> Result<()> {
        let frame = std::mem::replace(&mut self.frame, TextFrame::new(&self.names));
        (self.take)(frame.finish(self.numbers)?)
    }
}

/// Text columns, with the offset and length of each record in one snapshot and member.
pub(super) struct TextFrame {
    columns: Vec<StringChunkedBuilder>,
    places: Vec<(u64, u64)>,
}

impl TextFrame {
    pub(super) fn new(names: &[String]) -> Self {
        Self {
            columns: names
                .iter()
                .map(|name| StringChunkedBuilder::new(name.as_str().into(), 1024))
                .collect(),
            places: Vec::new(),
        }
    }

    /// Adds a cell to a column; an empty cell becomes null.
    pub(super) fn cell(&mut self, column: usize, text: &str) {
        self.columns[column].append_option((!text.is_empty()).then_some(text));
    }

    /// Ends a record, after all its cells have been added.
    pub(super) fn end(&mut self, offset: u64, length: u64) {
        self.places.push((offset, length));
    }

    pub(super) fn height(&self) -> usize {
        self.places.len()
    }

    /// Returns the frame: its columns, then the source pointers.
    pub(super) fn finish(self, [input, member_number]: [u64; 2]) -> Result<DataFrame> {
        let height = self.places.len();
        let mut pointers = ListPrimitiveChunkedBuilder::<UInt64Type>::new(
            POINTERS.into(),
            height,
            height * 4,
            DataType::UInt64,
        );
        for (offset, length) in self.places {
            pointers.append_slice(&[input, member_number, offset, length]);
        }
        let mut columns: Vec<Column> = self
            .columns
            .into_iter()
            .map(|builder| builder.finish().into_column())
            .collect();
        columns.push(pointers.finish().into_column());
        Ok(DataFrame::new(height, columns)?)
    }
}
