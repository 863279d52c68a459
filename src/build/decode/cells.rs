//! Splits one record into cells for display: maps bytes of the record to cells, and shows the
//! header and the surrounding text. Splits records exactly as decoding does. A record that cannot
//! be split is shown without cells.

use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use serde_json::value::RawValue;

use super::delimited::{self, BOM, HeaderRow, header_line, names_of, narrow};
use super::encoding::text_of;
use super::header::ColumnPlan;
use super::lines::Lines;
use super::{Task, json_records, json_rows, open, unreadable};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::pipeline::{Encoding, Format};

/// A cell in a record, with its byte range in the record and its character range in the record's
/// text. Both ranges exclude quotation marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordCell {
    /// The publisher's column name, as in declarations.
    pub column: String,
    /// The value as decoding reads it, or none if the cell is empty.
    pub text: Option<String>,
    pub bytes: Range<usize>,
    pub characters: Range<usize>,
}

/// A record's text, and its cells in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordText {
    pub header: Option<HeaderRow>,
    pub text: String,
    pub cells: Vec<RecordCell>,
}

/// Bytes from a file, with the text before and after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurroundingText {
    pub text: String,
    /// Offset of the text's first byte in the file, and the text's length in bytes.
    pub offset: u64,
    pub length: u64,
    /// Character range of the requested bytes in the text.
    pub characters: Range<usize>,
}

/// A cell before conversion to text: its column, its bytes, and its value if that differs from the
/// bytes.
struct Span {
    column: String,
    bytes: Range<usize>,
    value: Option<String>,
}

/// Splits a record that begins at `offset`. Returns none if its format has no cells, or if its
/// bytes are not a complete record.
///
/// # Errors
/// `Format` if the file is not in the declared format; `Store` if it cannot be read.
pub fn record_cells(task: &Task<'_>, record: &[u8], offset: u64) -> Result<Option<RecordText>> {
    spans_of(task, record, offset)
        .context(|| task.place())
        .map(|found| {
            let (header, encoding, spans) = found?;
            let (text, cells) = written(record, encoding, spans)?;
            Some(RecordText {
                header,
                text,
                cells,
            })
        })
}

/// Splits a JSON value from a document. Returns an object's strings and numbers with their columns.
/// List items and single values have no column. Returns none if the bytes are not a JSON value.
pub fn json_cells(value: &[u8]) -> Option<RecordText> {
    let text = std::str::from_utf8(value).ok()?;
    let whole: &RawValue = serde_json::from_str(text).ok()?;
    let spans = match whole.get().as_bytes().first()? {
        b'{' => json_records::spans(
            text,
            &ColumnPlan::default(),
            &json_records::Layout {
                records: None,
                is_name_normalized: false,
            },
        )?,
        b'[' => serde_json::from_str::<Vec<&RawValue>>(text)
            .ok()?
            .into_iter()
            .map(|item| (String::new(), item))
            .collect(),
        _ => vec![(String::new(), whole)],
    };
    let (text, cells) = written(
        value,
        Encoding::Utf8,
        spans
            .into_iter()
            .map(|(column, value)| span_of(text, column, value))
            .collect(),
    )?;
    Some(RecordText {
        header: None,
        text,
        cells,
    })
}

type Found = Option<(Option<HeaderRow>, Encoding, Vec<Span>)>;

fn spans_of(task: &Task<'_>, record: &[u8], offset: u64) -> Result<Found> {
    Ok(match task.format {
        Format::Delimited { .. } => {
            let layout = delimited::Layout::from_format(task.format)
                .ok_or_else(|| Error::format("is not delimited text"))?;
            let (header, names, delimiter) = if layout.header.is_empty() {
                let header = header_line(&mut Lines::open(task)?, &layout)?;
                let (names, delimiter) = names_of(&header.text, &layout);
                (Some(header), names, delimiter)
            } else {
                (None, layout.header.to_vec(), narrow(layout.delimiters[0]))
            };
            // If the columns do not resolve, the line is a record rather than a header.
            task.plan
                .resolve(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
            delimited_spans(record, offset, delimiter, &layout, &names)
                .map(|spans| (header, layout.encoding, spans))
        }
        Format::FixedWidth {
            record_bytes,
            encoding,
            fields,
        } => {
            let mut spans: Vec<Span> = fields
                .iter()
                .map(|(name, [first, length])| Span {
                    column: name.clone(),
                    bytes: *first as usize - 1..(*first + *length) as usize - 1,
                    value: None,
                })
                .collect();
            spans.sort_by_key(|span| span.bytes.start);
            (record.len() == *record_bytes as usize).then_some((None, *encoding, spans))
        }
        Format::JsonRecords {
            records,
            normalized_header,
        } => {
            let layout = json_records::Layout {
                records: records.as_deref(),
                is_name_normalized: *normalized_header,
            };
            let spans = std::str::from_utf8(record)
                .ok()
                .and_then(|text| Some((text, json_records::spans(text, task.plan, &layout)?)));
            spans.map(|(text, spans)| {
                (
                    None,
                    Encoding::Utf8,
                    spans
                        .into_iter()
                        .map(|(column, value)| span_of(text, column, value))
                        .collect(),
                )
            })
        }
        Format::JsonRows => {
            let names = json_rows::header(task)?;
            task.plan
                .resolve(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
            let text = std::str::from_utf8(record).ok();
            let values: Option<Vec<&RawValue>> = text
                .and_then(|text| serde_json::from_str(text).ok())
                .filter(|values: &Vec<_>| values.len() == names.len());
            text.zip(values).map(|(text, values)| {
                (
                    None,
                    Encoding::Utf8,
                    names
                        .into_iter()
                        .zip(values)
                        .map(|(name, value)| span_of(text, name, value))
                        .collect(),
                )
            })
        }
        Format::Xlsx | Format::Document { .. } => None,
    })
}

fn delimited_spans(
    record: &[u8],
    offset: u64,
    delimiter: u8,
    layout: &delimited::Layout<'_>,
    names: &[String],
) -> Option<Vec<Span>> {
    let start = if offset == 0 && record.starts_with(BOM) {
        BOM.len()
    } else {
        0
    };
    let ranges = cell_ranges(&record[start..], delimiter, layout);
    let values = delimited::cells_of(&record[start..], delimiter, layout)
        .filter(|values| values.len() == ranges.len())?;
    let spans = ranges
        .into_iter()
        .zip(values)
        .enumerate()
        .map(|(number, (range, value))| {
            let bytes = range.start + start..range.end + start;
            let value = (record[bytes.clone()] != *value)
                .then(|| text_of(layout.encoding, &value).map(Cow::into_owned))
                .flatten();
            Span {
                column: names.get(number).cloned().unwrap_or_default(),
                bytes,
                value,
            }
        });
    Some(spans.collect())
}

/// Returns the byte ranges of a record's cells, without the quotation marks.
fn cell_ranges(record: &[u8], delimiter: u8, layout: &delimited::Layout<'_>) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut at = 0;
    loop {
        let start = at;
        let mut is_quoted = false;
        if layout.is_quoting && record.get(at) == Some(&b'"') {
            at += 1;
            while let Some(byte) = record.get(at) {
                at += 1;
                match byte {
                    byte if layout.escape == Some(*byte) => at += 1,
                    b'"' if record.get(at) == Some(&b'"') => at += 1,
                    b'"' => {
                        is_quoted = true;
                        break;
                    }
                    _ => {}
                }
            }
        }
        at = at.min(record.len());
        let closed = at;
        at += memchr::memchr(delimiter, &record[at..]).unwrap_or(record.len() - at);
        ranges.push(if is_quoted && closed == at {
            start + 1..at - 1
        } else {
            start..at
        });
        if at == record.len() {
            return ranges;
        }
        at += 1;
    }
}

/// Locates a JSON value in the text from which it was parsed. Excludes a string's quotation marks.
fn span_of(text: &str, column: String, value: &RawValue) -> Span {
    let written = value.get();
    let start = written.as_ptr() as usize - text.as_ptr() as usize;
    let bytes = start..start + written.len();
    match written {
        "null" => Span {
            column,
            bytes,
            value: Some(String::new()),
        },
        _ if written.starts_with('"') => Span {
            column,
            bytes: bytes.start + 1..bytes.end - 1,
            value: serde_json::from_str(written).ok(),
        },
        _ => Span {
            column,
            bytes,
            value: None,
        },
    }
}

/// Returns a record's text and its cells, or none if bytes are not in the encoding or cells
/// overlap.
fn written(
    record: &[u8],
    encoding: Encoding,
    mut spans: Vec<Span>,
) -> Option<(String, Vec<RecordCell>)> {
    spans.sort_by_key(|span| span.bytes.start);
    let (mut text, mut cells) = (String::new(), Vec::with_capacity(spans.len()));
    let (mut at, mut characters) = (0, 0);
    let mut write = |range: Range<usize>, characters: &mut usize| -> Option<String> {
        let piece = text_of(encoding, record.get(range)?)?.into_owned();
        *characters += piece.chars().count();
        text.push_str(&piece);
        Some(piece)
    };
    for Span {
        column,
        bytes,
        value,
    } in spans
    {
        write(at..bytes.start, &mut characters)?;
        let first = characters;
        let piece = write(bytes.clone(), &mut characters)?;
        let value = value.unwrap_or(piece);
        let value =
            value.trim_matches(|character: char| character.is_whitespace() || character == '\0');
        at = bytes.end;
        cells.push(RecordCell {
            column,
            text: (!value.is_empty()).then(|| value.to_owned()),
            bytes,
            characters: first..characters,
        });
    }
    write(at..record.len(), &mut characters)?;
    Some((text, cells))
}

/// Reads bytes with up to `around` bytes before and after them, cut at character boundaries.
///
/// # Errors
/// `Store` or `Format` if the file or member cannot be read or ends too early.
pub fn surroundings(
    path: &Path,
    member: Option<&str>,
    (offset, length): (u64, u64),
    around: u64,
    max_bytes: u64,
) -> Result<SurroundingText> {
    let mut reader = open(path, member, max_bytes)?;
    let first = offset.saturating_sub(around);
    reader.skip_to(first)?;
    let mut bytes = reader.take_exactly(offset - first + length)?;
    Read::take(&mut reader, around)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    let is_within = |byte: &u8| byte & 0xC0 == 0x80;
    let (before, behind) = (
        (offset - first) as usize,
        (offset - first + length) as usize,
    );
    let start = bytes[..before]
        .iter()
        .take(3)
        .take_while(|byte| first > 0 && is_within(byte))
        .count();
    let end = whole_characters(&bytes[..], behind);
    let text = |range: Range<usize>| {
        text_of(Encoding::Utf8OrWindows1252, &bytes[range]).unwrap_or_default()
    };
    let (above, value, below) = (text(start..before), text(before..behind), text(behind..end));
    let begin = above.chars().count();
    Ok(SurroundingText {
        characters: begin..begin + value.chars().count(),
        text: format!("{above}{value}{below}"),
        offset: first + start as u64,
        length: (end - start) as u64,
    })
}

/// Returns the end of the last complete character; the result is at least `least`.
fn whole_characters(bytes: &[u8], least: usize) -> usize {
    match std::str::from_utf8(&bytes[least..]) {
        Err(error) if error.error_len().is_none() => least + error.valid_up_to(),
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(escape: Option<char>) -> Format {
        Format::Delimited {
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
        }
    }

    /// Tests every record of up to six of these bytes that decoding accepts. The number of cells
    /// and the unquoted cells must match the CSV reader's.
    #[test]
    fn cells_stand_where_the_csv_reader_finds_them() {
        let mut compared = 0;
        for escape in [None, Some('\\')] {
            let format = format(escape);
            let layout = delimited::Layout::from_format(&format).unwrap();
            for length in 1..=6_u32 {
                for number in 0..4_usize.pow(length) {
                    let record: Vec<u8> = (0..length)
                        .map(|place| b"a,\"\\"[number / 4_usize.pow(place) % 4])
                        .collect();
                    let ranges = cell_ranges(&record, b',', &layout);
                    let cells = delimited::cells_of(&record, b',', &layout).unwrap();
                    assert_eq!(ranges.len(), cells.len(), "{}", record.escape_ascii());
                    for (range, cell) in ranges.into_iter().zip(cells) {
                        let is_plain = !record[range.clone()]
                            .iter()
                            .any(|byte| matches!(byte, b'"' | b'\\'));
                        assert!(
                            !is_plain || record[range.clone()] == *cell,
                            "{} {range:?}",
                            record.escape_ascii()
                        );
                        compared += usize::from(is_plain);
                    }
                }
            }
        }
        assert!(compared > 5_000, "{compared}");
    }

    #[test]
    fn cells_have_the_bytes_and_the_characters_of_their_values() {
        let format = format(None);
        let layout = delimited::Layout::from_format(&format).unwrap();
        let names = ["name".to_owned(), "city".to_owned(), "note".to_owned()];
        let record = "Ünï,\"New, \"\"York\"\"\",  ".as_bytes();
        let spans = delimited_spans(record, 7, b',', &layout, &names).unwrap();
        let (text, cells) = written(record, Encoding::Utf8, spans).unwrap();
        assert_eq!(text, "Ünï,\"New, \"\"York\"\"\",  ");
        let listed: Vec<_> = cells
            .iter()
            .map(|cell| {
                (
                    cell.column.as_str(),
                    cell.text.as_deref(),
                    cell.bytes.clone(),
                    cell.characters.clone(),
                )
            })
            .collect();
        assert_eq!(
            listed,
            [
                ("name", Some("Ünï"), 0..5, 0..3),
                ("city", Some("New, \"York\""), 7..20, 5..18),
                ("note", None, 22..24, 20..22)
            ]
        );
    }

    #[test]
    fn json_objects_are_taken_apart_to_their_last_values() {
        let found = json_cells(br#"{"a": "x\ny", "b": {"c": 7, "d": null}}"#).unwrap();
        let listed: Vec<_> = found
            .cells
            .iter()
            .map(|cell| {
                (
                    cell.column.as_str(),
                    cell.text.as_deref(),
                    cell.bytes.clone(),
                )
            })
            .collect();
        assert_eq!(
            listed,
            [
                ("a", Some("x\ny"), 7..11),
                ("b.c", Some("7"), 25..26),
                ("b.d", None, 33..37)
            ]
        );
        let alone = json_cells(br#""0000320193-20-000096""#).unwrap();
        assert_eq!(
            (
                alone.cells[0].column.as_str(),
                alone.cells[0].text.as_deref()
            ),
            ("", Some("0000320193-20-000096"))
        );
        assert_eq!(json_cells(br#"{"cik": "1", "filings":"#), None);
        let list = json_cells(br#"[320193, "AAPL"]"#).unwrap();
        assert_eq!(
            list.cells
                .iter()
                .map(|cell| cell.text.as_deref().unwrap())
                .collect::<Vec<_>>(),
            ["320193", "AAPL"]
        );
    }

    #[test]
    fn surroundings_end_where_characters_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "éé<value>éé").unwrap();
        let found = surroundings(&path, None, (4, 7), 3, 100).unwrap();
        assert_eq!(
            (
                found.text.as_str(),
                found.offset,
                found.length,
                found.characters
            ),
            ("é<value>é", 2, 11, 1..8)
        );
        let whole = surroundings(&path, None, (0, 4), 100, 100).unwrap();
        assert_eq!(
            (whole.text.as_str(), whole.offset, whole.characters),
            ("éé<value>éé", 0, 0..2)
        );
        assert!(surroundings(&path, None, (10, 20), 3, 100).is_err());
    }
}
