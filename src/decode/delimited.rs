use std::io::Read;

use super::header::Resolved;
use super::text_frame::TextFrame;
use super::{ByteReader, Decoded, Task, open, unreadable};
use crate::error::{Error, Result};

/// Layout of a delimited text file.
pub(super) struct Layout<'a> {
    pub(super) delimiters: &'a [char],
    pub(super) is_quoting: bool,
    pub(super) header: &'a [String],
    pub(super) label_lines: u32,
    /// What the header line begins with, in a file with a preamble.
    pub(super) header_start: Option<&'a str>,
    /// The character that the line after the header consists of.
    pub(super) ruler: Option<char>,
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The longest line that is believed; a longer one means that the file is not text in lines.
const MAX_LINE: usize = 8 << 20;

/// A preamble of more lines than this is none: the header line is not there.
const MAX_PREAMBLE_LINES: usize = 100;

pub(super) fn decode(task: &Task<'_>, layout: &Layout<'_>) -> Result<Decoded> {
    let mut lines = Lines::new(open(task.path, task.member, task.max_bytes)?);
    let (resolved, delimiter) = read_header(&mut lines, task, layout)?;
    let mut frame = TextFrame::new(&resolved, task.input, task.member_number);
    match task.only {
        Some(ranges) => {
            let mut reader = lines.into_reader(task)?;
            for (offset, length) in ranges {
                reader.skip_to(*offset)?;
                let record = reader.take_exactly(*length)?;
                push_record(&mut frame, &resolved, delimiter, layout.is_quoting, &record, *offset);
            }
        }
        None if layout.is_quoting => read_quoted(&mut lines, &mut frame, &resolved, delimiter)?,
        None => {
            while let Some((offset, line)) = lines.next_line()? {
                push_plain(&mut frame, &resolved, delimiter, line, offset);
            }
        }
    }
    frame.finish()
}

fn read_header(lines: &mut Lines<'_>, task: &Task<'_>, layout: &Layout<'_>) -> Result<(Resolved, u8)> {
    let narrow = |delimiter: char| u8::try_from(delimiter).unwrap_or(b',');
    if !layout.header.is_empty() {
        let names: Vec<&str> = layout.header.iter().map(String::as_str).collect();
        return Ok((task.plan.resolve(&names)?, narrow(layout.delimiters[0])));
    }
    let header = header_line(lines, layout.header_start)?;
    let text = header.as_str();
    let occurrences = |delimiter: &char| text.matches(*delimiter).count();
    let delimiter = layout.delimiters.iter().copied().max_by_key(occurrences).expect("declarations are checked to have one");
    let cells = cells_of(text.as_bytes(), narrow(delimiter), layout.is_quoting).unwrap_or_default();
    let names: Vec<&str> = cells.iter().map(|cell| std::str::from_utf8(cell).unwrap_or_default().trim()).collect();
    let resolved = task.plan.resolve(&names)?;
    for _ in 0..layout.label_lines {
        lines.next_line()?;
    }
    if let Some(ruler) = layout.ruler {
        let line = lines.next_line()?.map_or(&[][..], |(_, line)| line);
        let is_ruler = std::str::from_utf8(line).is_ok_and(|line| !line.is_empty() && line.chars().all(|character| character == ruler));
        if !is_ruler {
            return Err(Error::format(format!("the line after the header is not a line of `{ruler}`")));
        }
    }
    Ok((resolved, narrow(delimiter)))
}

/// The header line: the first line, or the first that begins as declared.
fn header_line(lines: &mut Lines<'_>, header_start: Option<&str>) -> Result<String> {
    for number in 0..MAX_PREAMBLE_LINES {
        let Some((_, line)) = lines.next_line()? else { break };
        let line = line.strip_prefix(BOM).filter(|_| number == 0).unwrap_or(line);
        if number == 0 && line.trim_ascii_start().starts_with(b"<") {
            return Err(Error::format("begins with `<`: an HTML or XML page, not the declared table"));
        }
        if header_start.is_none_or(|start| line.starts_with(start.as_bytes())) {
            return String::from_utf8(line.to_vec()).map_err(|_| Error::format("the header line is not UTF-8"));
        }
    }
    Err(Error::format(
        header_start.map_or_else(|| "is empty".to_owned(), |start| format!("none of the first {MAX_PREAMBLE_LINES} lines begins with `{start}`")),
    ))
}

/// Adds a line of a file without quoting. A row that is not kept is never split into cells.
fn push_plain(frame: &mut TextFrame, resolved: &Resolved, delimiter: u8, line: &[u8], offset: u64) {
    let is_kept = match resolved.keep_position() {
        Some(0) => resolved.is_kept(|_| line),
        Some(place) => resolved.is_kept(|_| line.split(|byte| *byte == delimiter).nth(place).unwrap_or_default()),
        None => true,
    };
    if is_kept && !line.is_empty() {
        push_record(frame, resolved, delimiter, false, line, offset);
    }
}

fn push_record(frame: &mut TextFrame, resolved: &Resolved, delimiter: u8, is_quoting: bool, record: &[u8], offset: u64) {
    if std::str::from_utf8(record).is_err() {
        return frame.malformed("the record is not UTF-8".into(), record, offset);
    }
    // Most records of a file with quoting hold no quotation mark and need no more than their delimiters.
    if is_quoting && memchr::memchr2(b'"', b'\r', record).is_some() {
        match cells_of(record, delimiter, true) {
            Some(cells) if has_width(resolved, cells.len(), cells.last().is_some_and(Vec::is_empty)) => {
                frame.push(resolved, offset, record.len() as u64, |place| cells.get(place).map(Vec::as_slice));
            }
            cells => frame.malformed(wrong_width(resolved, cells.map_or(0, |cells| cells.len())), record, offset),
        }
        return;
    }
    let mut ends: Vec<usize> = Vec::with_capacity(resolved.width);
    ends.extend(memchr::memchr_iter(delimiter, record));
    ends.push(record.len());
    if !has_width(resolved, ends.len(), record.last() == Some(&delimiter)) {
        return frame.malformed(wrong_width(resolved, ends.len()), record, offset);
    }
    let cell = |place: usize| {
        let start = if place == 0 { 0 } else { ends[place - 1] + 1 };
        Some(&record[start..ends[place]])
    };
    frame.push(resolved, offset, record.len() as u64, cell);
}

/// A record has as many cells as the header; one empty cell more is a trailing delimiter.
fn has_width(resolved: &Resolved, cells: usize, is_last_empty: bool) -> bool {
    cells == resolved.width || (cells == resolved.width + 1 && is_last_empty)
}

fn wrong_width(resolved: &Resolved, cells: usize) -> String {
    format!("the record has {cells} cells, the header has {}", resolved.width)
}

/// Splits one record into cells; none when it is more than one record.
fn cells_of(record: &[u8], delimiter: u8, is_quoting: bool) -> Option<Vec<Vec<u8>>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).quoting(is_quoting).from_reader(record);
    let mut cells = csv::ByteRecord::new();
    reader.read_byte_record(&mut cells).ok()?;
    let mut rest = csv::ByteRecord::new();
    let has_more = reader.read_byte_record(&mut rest).unwrap_or(true);
    (!has_more).then(|| cells.iter().map(<[u8]>::to_vec).collect())
}

/// Reads a file with quoting: a record is a line, or several while a quotation mark is open.
fn read_quoted(lines: &mut Lines<'_>, frame: &mut TextFrame, resolved: &Resolved, delimiter: u8) -> Result<()> {
    let mut record: Vec<u8> = Vec::new();
    let mut is_open = false;
    let mut start = 0;
    while let Some((offset, line)) = lines.next_line_with_end()? {
        if record.is_empty() {
            start = offset;
        }
        record.extend_from_slice(line);
        // Inside an open cell every quotation mark is doubled, so an odd number means that the cell goes on in the next line.
        is_open ^= memchr::memchr_iter(b'"', line).count() % 2 == 1;
        if is_open && record.len() < MAX_LINE {
            continue;
        }
        let whole = trim_line_end(&record);
        if !whole.is_empty() {
            push_record(frame, resolved, delimiter, true, whole, start);
        }
        record.clear();
        is_open = false;
    }
    if !record.is_empty() {
        frame.malformed("a quotation mark is never closed".into(), &record, start);
    }
    Ok(())
}

fn trim_line_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Splits a stream into lines, with the offset of each, in one buffer that grows to the longest line only.
struct Lines<'a> {
    reader: ByteReader<'a>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
}

impl<'a> Lines<'a> {
    fn new(reader: ByteReader<'a>) -> Self {
        Self { reader, buffer: vec![0; 1 << 18], start: 0, end: 0, offset: 0 }
    }

    /// The reader from the first byte on, for reading records by offset.
    fn into_reader(mut self, task: &Task<'_>) -> Result<ByteReader<'a>> {
        if self.reader.rewind()? { Ok(self.reader) } else { open(task.path, task.member, task.max_bytes) }
    }

    /// The next line without its ending, and the offset of its first byte.
    fn next_line(&mut self) -> Result<Option<(u64, &[u8])>> {
        Ok(self.next_line_with_end()?.map(|(offset, line)| (offset, trim_line_end(line))))
    }

    fn next_line_with_end(&mut self) -> Result<Option<(u64, &[u8])>> {
        let mut searched = self.start;
        let line_end = loop {
            if let Some(found) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                break searched + found + 1;
            }
            searched = self.end;
            if self.end - self.start > MAX_LINE {
                return Err(Error::format(format!("a line at byte {} is longer than {MAX_LINE} bytes", self.offset)));
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
            let count = self.reader.read(&mut self.buffer[self.end..]).map_err(unreadable)?;
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
