//! Decodes delimited text. A record is one line, or several lines if a quoted cell spans them. An
//! unclosed quotation mark corrupts only its own line.

use super::encoding::text_of;
use super::header::Resolved;
use super::lines::{Lines, MAX_LINE, trim_line_end};
use super::records::{Records, Sink};
use super::{Malformed, Task};
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::{Encoding, Format, normalized_name};

/// Layout of a delimited text file.
pub(super) struct Layout<'a> {
    pub(super) delimiters: &'a [char],
    pub(super) is_quoting: bool,
    /// Character that escapes quotation marks inside a quoted cell.
    pub(super) escape: Option<u8>,
    pub(super) header: &'a [String],
    /// Minimum number of cells in a record, if some records are shorter than the header.
    pub(super) fewest_cells: Option<usize>,
    pub(super) label_lines: u32,
    /// Text with which the header line starts, in a file with a preamble.
    pub(super) header_start: Option<&'a str>,
    /// Character that fills the ruler line below the header.
    pub(super) ruler: Option<char>,
    /// True if the header's names are compared in normalised form.
    pub(super) is_name_normalized: bool,
    pub(super) encoding: Encoding,
}

impl<'a> Layout<'a> {
    /// Returns the layout of a delimited format, or none for other formats.
    pub(super) fn from_format(format: &'a Format) -> Option<Self> {
        let Format::Delimited {
            delimiters,
            quoting,
            escape,
            header,
            fewest_cells,
            label_lines,
            header_start,
            ruler,
            normalized_header,
            encoding,
        } = format
        else {
            return None;
        };
        Some(Self {
            delimiters,
            is_quoting: *quoting,
            escape: escape.and_then(|escape| u8::try_from(escape).ok()),
            header,
            fewest_cells: *fewest_cells,
            label_lines: *label_lines,
            header_start: header_start.as_deref(),
            ruler: *ruler,
            is_name_normalized: *normalized_header,
            encoding: *encoding,
        })
    }
}

/// The line that contains a file's column names, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderRow {
    pub text: String,
    pub offset: u64,
    pub length: u64,
}

pub(super) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Maximum number of preamble lines. If more precede the header line, it counts as missing.
const MAX_PREAMBLE_LINES: usize = 100;

pub(super) fn decode(
    task: &Task<'_>,
    layout: &Layout<'_>,
    sink: &mut Sink<'_>,
) -> Result<Vec<Malformed>> {
    let mut lines = Lines::open(task)?;
    let (resolved, delimiter) = read_header(&mut lines, task, layout)?;
    let mut records = Records::new(&resolved, layout.encoding, sink)?;
    match task.only {
        Some(ranges) => {
            let mut reader = lines.into_reader(task)?;
            for (offset, length) in ranges {
                reader.skip_to(*offset)?;
                let record = reader.take_exactly(*length)?;
                push_record(&mut records, &resolved, delimiter, layout, &record, *offset)?;
            }
        }
        None if layout.is_quoting => {
            read_quoted(&mut lines, &mut records, &resolved, delimiter, layout)?;
        }
        None => {
            while let Some((offset, line)) = lines.next_line()? {
                push_plain(&mut records, &resolved, delimiter, layout, line, offset)?;
            }
        }
    }
    records.finish()
}

/// Counts the records in a file without checking their content.
pub(super) fn count(task: &Task<'_>, layout: &Layout<'_>) -> Result<u64> {
    let mut lines = Lines::open(task)?;
    if layout.header.is_empty() {
        header_line(&mut lines, layout)?;
    }
    for _ in 0..layout.label_lines + u32::from(layout.ruler.is_some()) {
        lines.next_line()?;
    }
    let mut count = 0;
    let mut is_open = false;
    while let Some((_, line)) = lines.next_line()? {
        let is_inside = is_open;
        if layout.is_quoting {
            is_open ^= leaves_open(line, layout);
        }
        count += u64::from(!is_inside && !line.is_empty());
    }
    Ok(count)
}

fn read_header(
    lines: &mut Lines<'_>,
    task: &Task<'_>,
    layout: &Layout<'_>,
) -> Result<(Resolved, u8)> {
    if !layout.header.is_empty() {
        let names: Vec<&str> = layout.header.iter().map(String::as_str).collect();
        return Ok((task.plan.resolve(&names)?, narrow(layout.delimiters[0])));
    }
    let (names, delimiter) = header_names(lines, layout)?;
    let resolved = task
        .plan
        .resolve(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
    for _ in 0..layout.label_lines {
        lines.next_line()?;
    }
    if let Some(ruler) = layout.ruler {
        let line = lines.next_line()?.map_or(&[][..], |(_, line)| line);
        let is_ruler = std::str::from_utf8(line)
            .is_ok_and(|line| !line.is_empty() && line.chars().all(|character| character == ruler));
        if !is_ruler {
            return Err(Error::format(format!(
                "the line after the header is not a line of `{ruler}`"
            )));
        }
    }
    Ok((resolved, delimiter))
}

/// Reads the header line and returns the column names and the delimiter.
pub(super) fn header_names(
    lines: &mut Lines<'_>,
    layout: &Layout<'_>,
) -> Result<(Vec<String>, u8)> {
    let header = header_line(lines, layout)?;
    Ok(names_of(&header.text, layout))
}

/// Splits a header line into column names, and also returns the delimiter.
pub(super) fn names_of(text: &str, layout: &Layout<'_>) -> (Vec<String>, u8) {
    let occurrences = |delimiter: &char| text.matches(*delimiter).count();
    let delimiter = layout
        .delimiters
        .iter()
        .copied()
        .max_by_key(occurrences)
        .expect("declarations are checked to have one");
    let cells = cells_of(text.as_bytes(), narrow(delimiter), layout).unwrap_or_default();
    let name_of = |cell: &Vec<u8>| {
        let name = std::str::from_utf8(cell).unwrap_or_default().trim();
        if layout.is_name_normalized {
            normalized_name(name)
        } else {
            name.to_owned()
        }
    };
    (cells.iter().map(name_of).collect(), narrow(delimiter))
}

pub(super) fn narrow(delimiter: char) -> u8 {
    u8::try_from(delimiter).unwrap_or(b',')
}

/// Reads up to the header line: either the first line, or the first line with the declared start.
pub(super) fn header_line(lines: &mut Lines<'_>, layout: &Layout<'_>) -> Result<HeaderRow> {
    let header_start = layout.header_start;
    for number in 0..MAX_PREAMBLE_LINES {
        let Some((offset, whole)) = lines.next_line()? else {
            break;
        };
        let line = whole
            .strip_prefix(BOM)
            .filter(|_| number == 0)
            .unwrap_or(whole);
        let (offset, length) = (
            offset + (whole.len() - line.len()) as u64,
            line.len() as u64,
        );
        if number == 0 && line.trim_ascii_start().starts_with(b"<") {
            return Err(Error::format(
                "begins with `<`: an HTML or XML page, not the declared table",
            ));
        }
        if header_start.is_none_or(|start| line.starts_with(start.as_bytes())) {
            let text = text_of(layout.encoding, line)
                .ok_or_else(|| Error::format("the header line is not UTF-8"))?;
            return Ok(HeaderRow {
                text: text.into_owned(),
                offset,
                length,
            });
        }
    }
    Err(Error::format(header_start.map_or_else(
        || "is empty".to_owned(),
        |start| format!("none of the first {MAX_PREAMBLE_LINES} lines begins with `{start}`"),
    )))
}

/// Adds a line from a file without quoting. Does not split rows that are filtered out.
fn push_plain(
    records: &mut Records<'_, '_>,
    resolved: &Resolved,
    delimiter: u8,
    layout: &Layout<'_>,
    line: &[u8],
    offset: u64,
) -> Result<()> {
    let is_kept = match resolved.keep_position() {
        Some(0) => resolved.is_kept(|_| line),
        Some(index) => resolved.is_kept(|_| {
            line.split(|byte| *byte == delimiter)
                .nth(index)
                .unwrap_or_default()
        }),
        None => true,
    };
    if is_kept && !line.is_empty() {
        return push_record(records, resolved, delimiter, layout, line, offset);
    }
    Ok(())
}

fn push_record(
    records: &mut Records<'_, '_>,
    resolved: &Resolved,
    delimiter: u8,
    layout: &Layout<'_>,
    record: &[u8],
    offset: u64,
) -> Result<()> {
    let (whole, length) = (record, record.len() as u64);
    // The first line is a record only if the file has no header line.
    let record = record
        .strip_prefix(BOM)
        .filter(|_| offset == 0)
        .unwrap_or(record);
    if offset == 0 && is_declared_header(layout, delimiter, record) {
        return Ok(());
    }
    if layout.encoding == Encoding::Utf8 && std::str::from_utf8(record).is_err() {
        return records.malformed("the record is not UTF-8".into(), whole, offset);
    }
    // Most records in a file with quoting contain no quotation mark, so a search for delimiters is
    // enough.
    if layout.is_quoting && memchr::memchr2(b'"', b'\r', record).is_some() {
        if let Some(cells) = plainly_quoted(record, delimiter, layout, resolved.width)
            && has_width(
                resolved,
                layout,
                cells.len(),
                cells.last().is_some_and(|cell| cell.is_empty()),
            )
        {
            return records.push(resolved, offset, length, |index| cells.get(index).copied());
        }
        return match cells_of(record, delimiter, layout) {
            Some(cells)
                if has_width(
                    resolved,
                    layout,
                    cells.len(),
                    cells.last().is_some_and(Vec::is_empty),
                ) =>
            {
                records.push(resolved, offset, length, |index| {
                    cells.get(index).map(Vec::as_slice)
                })
            }
            cells => records.malformed(
                wrong_width(resolved, cells.map_or(0, |cells| cells.len())),
                whole,
                offset,
            ),
        };
    }
    let mut ends: Vec<usize> = Vec::with_capacity(resolved.width);
    ends.extend(memchr::memchr_iter(delimiter, record));
    ends.push(record.len());
    if !has_width(
        resolved,
        layout,
        ends.len(),
        record.last() == Some(&delimiter),
    ) {
        return records.malformed(wrong_width(resolved, ends.len()), whole, offset);
    }
    let cell = |index: usize| {
        let end = *ends.get(index)?;
        let start = if index == 0 { 0 } else { ends[index - 1] + 1 };
        Some(&record[start..end])
    };
    records.push(resolved, offset, length, cell)
}

/// Reports whether a line repeats the header that was declared for a file without a header line.
/// Some copies of such files contain one.
fn is_declared_header(layout: &Layout<'_>, delimiter: u8, line: &[u8]) -> bool {
    let same = |cell: &[u8], name: &String| {
        text_of(layout.encoding, cell)
            .is_some_and(|text| normalized_name(&text) == normalized_name(name))
    };
    let cells = cells_of(line, delimiter, layout).unwrap_or_default();
    !layout.header.is_empty()
        && cells.len() == layout.header.len()
        && cells
            .iter()
            .zip(layout.header)
            .all(|(cell, name)| same(cell, name))
}

/// Checks the number of cells against the header. Accepts one extra empty cell, which comes from a
/// trailing delimiter.
fn has_width(resolved: &Resolved, layout: &Layout<'_>, cells: usize, is_last_empty: bool) -> bool {
    (layout.fewest_cells.unwrap_or(resolved.width)..=resolved.width).contains(&cells)
        || (cells == resolved.width + 1 && is_last_empty)
}

fn wrong_width(resolved: &Resolved, cells: usize) -> String {
    format!(
        "the record has {cells} cells, the header has {}",
        resolved.width
    )
}

/// Splits a record without copying if its quotation marks only enclose entire cells, which is true
/// of most records. Returns none for any other record, which may still be valid.
fn plainly_quoted<'r>(
    record: &'r [u8],
    delimiter: u8,
    layout: &Layout<'_>,
    width: usize,
) -> Option<Vec<&'r [u8]>> {
    if layout
        .escape
        .is_some_and(|escape| memchr::memchr(escape, record).is_some())
    {
        return None;
    }
    let mut cells = Vec::with_capacity(width);
    let mut rest = record;
    loop {
        let end = match rest.strip_prefix(b"\"") {
            Some(quoted) => {
                let closing = memchr::memchr(b'"', quoted)?;
                cells.push(&quoted[..closing]);
                closing + 2
            }
            None => {
                let end = memchr::memchr3(delimiter, b'"', b'\r', rest).unwrap_or(rest.len());
                cells.push(&rest[..end]);
                end
            }
        };
        match rest.get(end) {
            None => return Some(cells),
            Some(byte) if *byte == delimiter => rest = &rest[end + 1..],
            Some(_) => return None,
        }
    }
}

/// Splits one record into cells. Returns none if the text contains more than one record.
pub(super) fn cells_of(record: &[u8], delimiter: u8, layout: &Layout<'_>) -> Option<Vec<Vec<u8>>> {
    let mut builder = csv::ReaderBuilder::new();
    builder
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .quoting(layout.is_quoting)
        .escape(layout.escape);
    let mut reader = builder.from_reader(record);
    let mut cells = csv::ByteRecord::new();
    reader.read_byte_record(&mut cells).ok()?;
    let mut rest = csv::ByteRecord::new();
    let has_more = reader.read_byte_record(&mut rest).unwrap_or(true);
    (!has_more).then(|| cells.iter().map(<[u8]>::to_vec).collect())
}

/// Reports whether a line opens a quoted cell without closing it, or closes a cell that it did not
/// open. Quotation marks inside a cell are doubled or escaped, so an odd number of other quotation
/// marks indicates either case.
pub(super) fn leaves_open(line: &[u8], layout: &Layout<'_>) -> bool {
    let marks = memchr::memchr_iter(b'"', line);
    let Some(escape) = layout.escape else {
        return marks.count() % 2 == 1;
    };
    let escaped = |offset: usize| {
        line[..offset]
            .iter()
            .rev()
            .take_while(|byte| **byte == escape)
            .count()
            % 2
            == 1
    };
    marks.filter(|offset| !escaped(*offset)).count() % 2 == 1
}

/// Reads a file with quoting. A record is one line, or several lines if a quoted cell spans them.
fn read_quoted(
    lines: &mut Lines<'_>,
    records: &mut Records<'_, '_>,
    resolved: &Resolved,
    delimiter: u8,
    layout: &Layout<'_>,
) -> Result<()> {
    let mut open: Vec<u8> = Vec::new();
    let mut start = 0;
    let mut is_open = false;
    while let Some((offset, line)) = lines.next_line_with_end()? {
        let turns = leaves_open(line, layout);
        if open.is_empty() && !turns {
            let whole = trim_line_end(line);
            if !whole.is_empty() {
                push_record(records, resolved, delimiter, layout, whole, offset)?;
            }
            continue;
        }
        if open.is_empty() {
            start = offset;
        }
        open.extend_from_slice(line);
        is_open ^= turns;
        if is_open && open.len() < MAX_LINE {
            continue;
        }
        let read = push_open(
            records,
            resolved,
            delimiter,
            layout,
            &open,
            start,
            Ending::Continues,
        )?;
        open.drain(..read);
        start += read as u64;
        is_open = !open.is_empty();
    }
    push_open(
        records,
        resolved,
        delimiter,
        layout,
        &open,
        start,
        Ending::EndOfFile,
    )
    .map(drop)
}

/// State after a record's last line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Continues,
    EndOfFile,
}

/// Adds the records from a group of lines whose first line leaves a quotation mark open. Returns
/// the number of bytes consumed; the rest continues in later lines. If several lines do not form a
/// record, a quotation mark in the first line is stray: only that line is malformed, and the
/// following lines are read separately.
fn push_open(
    records: &mut Records<'_, '_>,
    resolved: &Resolved,
    delimiter: u8,
    layout: &Layout<'_>,
    lines: &[u8],
    start: u64,
    ending: Ending,
) -> Result<usize> {
    let line_end =
        |at: usize| memchr::memchr(b'\n', &lines[at..]).map_or(lines.len(), |found| at + found + 1);
    let mut at = 0;
    while at < lines.len() {
        let first_end = line_end(at);
        let mut end = first_end;
        let mut is_open = leaves_open(&lines[at..end], layout);
        while is_open && end < lines.len() {
            let next = line_end(end);
            is_open ^= leaves_open(&lines[end..next], layout);
            end = next;
        }
        if is_open && ending == Ending::Continues && end - at < MAX_LINE {
            break;
        }
        let whole = trim_line_end(&lines[at..end]);
        if is_open || (end > first_end && !is_record(resolved, delimiter, layout, whole)) {
            records.malformed(
                "a quotation mark is never closed".into(),
                trim_line_end(&lines[at..first_end]),
                start + at as u64,
            )?;
            at = first_end;
        } else {
            if !whole.is_empty() {
                push_record(
                    records,
                    resolved,
                    delimiter,
                    layout,
                    whole,
                    start + at as u64,
                )?;
            }
            at = end;
        }
    }
    Ok(at)
}

/// Reports whether the bytes of several lines form one record.
fn is_record(resolved: &Resolved, delimiter: u8, layout: &Layout<'_>, record: &[u8]) -> bool {
    cells_of(record, delimiter, layout).is_some_and(|cells| {
        has_width(
            resolved,
            layout,
            cells.len(),
            cells.last().is_some_and(Vec::is_empty),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests every record of up to seven of these bytes.
    #[test]
    fn cells_of_plainly_quoted_records_are_those_of_the_csv_reader() {
        let format = |escape: Option<char>| Format::Delimited {
            delimiters: vec![','],
            quoting: true,
            escape,
            header: Vec::new(),
            fewest_cells: None,
            label_lines: 0,
            header_start: None,
            ruler: None,
            normalized_header: false,
            encoding: Encoding::Utf8,
        };
        let (mut plain, mut others) = (0, 0);
        for format in [format(None), format(Some('\\'))] {
            let layout = Layout::from_format(&format).unwrap();
            for length in 1..=7_u32 {
                for number in 0..5_usize.pow(length) {
                    let record: Vec<u8> = (0..length)
                        .map(|place| b"a,\"\r\\"[number / 5_usize.pow(place) % 5])
                        .collect();
                    match plainly_quoted(&record, b',', &layout, 2) {
                        Some(cells) => {
                            plain += 1;
                            assert_eq!(
                                Some(cells.iter().map(|cell| cell.to_vec()).collect()),
                                cells_of(&record, b',', &layout),
                                "{}",
                                record.escape_ascii()
                            );
                        }
                        None => others += 1,
                    }
                }
            }
        }
        assert!(plain > 5_000 && others > 100_000, "{plain} {others}");
    }
}
