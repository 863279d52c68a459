//! Splits a stream into lines, each with its offset. Rejects any line that is longer than
//! publishers' lines ever are, because such a file is not line-based text.

use std::io::Read;

use super::{ByteReader, RECORD_BYTES, Reading, Task, open_for, unreadable};
use pubdata_core::error::{Error, Result};

/// Maximum length of a line. A longer line means that the file is not line-based text.
pub(super) const MAX_LINE: usize = 8 << 20;

pub(super) fn trim_line_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Splits a stream into lines, each with its offset. Uses one buffer that grows only to the length
/// of the longest line.
pub(super) struct Lines<'a> {
    reader: ByteReader<'a>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn open(task: &Task<'_>) -> Result<Self> {
        let reader = open_for(task.reading(), task.path, task.member, task.max_bytes)?;
        let at_first = if task.reading() == Reading::Whole {
            1 << 18
        } else {
            RECORD_BYTES
        };
        Ok(Self {
            reader,
            buffer: vec![0; at_first],
            start: 0,
            end: 0,
            offset: 0,
        })
    }

    /// Returns the reader, reset to the first byte, so that records can be read by offset.
    pub(super) fn into_reader(mut self, task: &Task<'_>) -> Result<ByteReader<'a>> {
        if self.reader.rewind()? {
            Ok(self.reader)
        } else {
            open_for(task.reading(), task.path, task.member, task.max_bytes)
        }
    }

    /// Returns the next line without its ending, and the offset of its first byte.
    pub(super) fn next_line(&mut self) -> Result<Option<(u64, &[u8])>> {
        Ok(self
            .next_line_with_end()?
            .map(|(offset, line)| (offset, trim_line_end(line))))
    }

    pub(super) fn next_line_with_end(&mut self) -> Result<Option<(u64, &[u8])>> {
        let mut searched = self.start;
        let line_end = loop {
            if let Some(found) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                break searched + found + 1;
            }
            searched = self.end;
            if self.end - self.start > MAX_LINE {
                return Err(Error::format(format!(
                    "a line at byte {} is longer than {MAX_LINE} bytes",
                    self.offset
                )));
            }
            if self.end == self.buffer.len() {
                self.buffer.copy_within(self.start..self.end, 0);
                searched -= self.start;
                self.end -= self.start;
                self.start = 0;
                if self.end == self.buffer.len() {
                    self.buffer.resize(self.buffer.len() * 2, 0);
                }
            }
            let count = self
                .reader
                .read(&mut self.buffer[self.end..])
                .map_err(unreadable)?;
            if count == 0 {
                if self.start == self.end {
                    return Ok(None);
                }
                break self.end;
            }
            self.end += count;
        };
        let line = &self.buffer[self.start..line_end];
        let offset = self.offset;
        self.offset += line.len() as u64;
        self.start = line_end;
        Ok(Some((offset, line)))
    }
}
