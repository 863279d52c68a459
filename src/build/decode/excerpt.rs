//! Extracts the parts of a file that a probe needs: the column names, and the first records as a
//! separate file.

use super::delimited::{self, header_names};
use super::header::ColumnPlan;
use super::lines::{Lines, trim_line_end};
use super::{Task, json_records, json_rows, xlsx};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::pipeline::Format;

/// Returns the names of a file's columns, as declarations write them. For a file without a header
/// line, these are the declared names. For records of attributes, the result contains every
/// attribute that occurs.
///
/// # Errors
/// `Format` if the file is not in the declared format; `Store` if it cannot be read.
pub fn columns(task: &Task<'_>) -> Result<Vec<String>> {
    let named = match task.format {
        Format::FixedWidth { fields, .. } => Ok(fields.keys().cloned().collect()),
        Format::JsonRecords {
            records,
            normalized_header,
        } => json_records::attributes(
            task,
            &json_records::Layout {
                records: records.as_deref(),
                is_name_normalized: *normalized_header,
            },
        ),
        Format::JsonRows => json_rows::header(task),
        Format::Xlsx => xlsx::header(task),
        Format::Delimited { header, .. } if !header.is_empty() => Ok(header.clone()),
        Format::Delimited { .. } => match delimited::Layout::from_format(task.format) {
            Some(layout) => Lines::open(task)
                .and_then(|mut lines| header_names(&mut lines, &layout))
                .map(|(names, _)| names),
            None => Ok(Vec::new()),
        },
        Format::Document { .. } => Err(Error::config("a document has no columns")),
    };
    named.context(|| task.place())
}

impl ColumnPlan {
    /// Returns the columns in a file that are neither mapped nor ignored.
    pub fn unknown(&self, columns: &[String]) -> Vec<String> {
        let mut unknown: Vec<String> = columns
            .iter()
            .filter(|column| !self.knows(column))
            .cloned()
            .collect();
        // A trailing delimiter produces a last column without a name.
        if unknown.last().is_some_and(String::is_empty) {
            unknown.pop();
        }
        unknown
    }
}

/// Returns the beginning of a file as a separate file, and the number of records in it. The excerpt
/// contains everything before the records, and at most `records` complete records. Returns none if
/// no record is complete, or if the format cannot be cut.
pub fn excerpt(
    format: &Format,
    bytes: &[u8],
    is_whole: bool,
    records: usize,
) -> Option<(Vec<u8>, u64)> {
    match format {
        Format::FixedWidth { .. } => lines(bytes, is_whole, 0, records, &|_| false),
        Format::Delimited { .. } => {
            let layout = delimited::Layout::from_format(format)?;
            let turns = |line: &[u8]| layout.is_quoting && delimited::leaves_open(line, &layout);
            lines(
                bytes,
                is_whole,
                before_records(&layout, bytes),
                records,
                &turns,
            )
        }
        Format::JsonRecords { records: path, .. } => elements(bytes, path.as_deref(), records),
        Format::JsonRows => elements(bytes, None, records.saturating_add(1))
            .map(|(bytes, count)| (bytes, count.saturating_sub(1))),
        Format::Xlsx | Format::Document { .. } => None,
    }
}

/// Counts the lines before the first record.
fn before_records(layout: &delimited::Layout<'_>, bytes: &[u8]) -> usize {
    if !layout.header.is_empty() {
        return 0;
    }
    let starts = |line: &[u8]| {
        layout
            .header_start
            .is_none_or(|start| trim_line_end(line).starts_with(start.as_bytes()))
    };
    let header = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .position(starts)
        .unwrap_or(0);
    header + 1 + layout.label_lines as usize + usize::from(layout.ruler.is_some())
}

/// Cuts a file after complete lines. `turns` reports whether a line opens or closes a cell that
/// spans several lines.
fn lines(
    bytes: &[u8],
    is_whole: bool,
    before: usize,
    records: usize,
    turns: &dyn Fn(&[u8]) -> bool,
) -> Option<(Vec<u8>, u64)> {
    let (mut end, mut position) = (0, 0);
    let (mut is_open, mut count) = (false, 0);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if count == before.saturating_add(records) {
            break;
        }
        position += line.len();
        // The header is not a record, but a quotation mark that it opens must still be closed.
        is_open ^= turns(line);
        if !is_open && (is_whole || line.ends_with(b"\n")) {
            end = position;
            count += 1;
        }
    }
    (count > before || (is_whole && count == before))
        .then(|| (bytes[..end].to_vec(), (count - before) as u64))
}

/// Cuts a document after the first elements of the array at a path, and closes all enclosing
/// values.
fn elements(bytes: &[u8], path: Option<&str>, most: usize) -> Option<(Vec<u8>, u64)> {
    let expected: Vec<&str> = path.into_iter().flat_map(|path| path.split('.')).collect();
    let mut keys: Vec<String> = Vec::new();
    let mut open: Vec<u8> = Vec::new();
    let (mut array_depth, mut count, mut end) = (None, 0, None);
    let mut text_start = None;
    let mut last_text = String::new();
    let mut offset = 0;
    while let Some(byte) = bytes.get(offset) {
        if let Some(start) = text_start {
            match byte {
                b'\\' => offset += 1,
                b'"' => {
                    last_text = String::from_utf8_lossy(&bytes[start..offset]).into_owned();
                    text_start = None;
                }
                _ => {}
            }
            offset += 1;
            continue;
        }
        match byte {
            b'"' => text_start = Some(offset + 1),
            b'{' | b'[' => {
                let is_array = *byte == b'['
                    && array_depth.is_none()
                    && keys.len() == open.len()
                    && keys == expected;
                open.push(*byte);
                if is_array {
                    array_depth = Some(open.len());
                    end = Some(offset + 1);
                    if most == 0 {
                        break;
                    }
                }
            }
            b':' if array_depth.is_none() => {
                keys.truncate(open.len().saturating_sub(1));
                keys.push(last_text.clone());
            }
            b',' if array_depth == Some(open.len()) => {
                count += 1;
                end = Some(offset);
                if count == most {
                    break;
                }
            }
            b'}' | b']' => {
                if array_depth == Some(open.len()) {
                    // An element precedes the array's end, unless the array is empty.
                    count += usize::from(!bytes[end?..offset].trim_ascii().is_empty());
                    end = Some(offset);
                    break;
                }
                open.pop();
                keys.truncate(open.len());
            }
            _ => {}
        }
        offset += 1;
    }
    let mut text = bytes[..end?].to_vec();
    open.truncate(array_depth?);
    text.extend(
        open.iter()
            .rev()
            .map(|opening| if *opening == b'{' { b'}' } else { b']' }),
    );
    Some((text, count as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delimited(header_start: Option<&str>) -> Format {
        Format::Delimited {
            delimiters: vec![','],
            quoting: true,
            escape: None,
            header: Vec::new(),
            fewest_cells: None,
            label_lines: 0,
            header_start: header_start.map(str::to_owned),
            ruler: None,
            normalized_header: false,
            encoding: pubdata_core::pipeline::Encoding::Utf8,
        }
    }

    fn cut(format: &Format, text: &str, is_whole: bool, records: usize) -> Option<String> {
        excerpt(format, text.as_bytes(), is_whole, records)
            .map(|(bytes, _)| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn text_is_cut_behind_the_last_whole_record() {
        let format = delimited(None);
        assert_eq!(
            cut(&format, "a,b\n1,\"x\ny\"\n2,z\n3,", false, 9).as_deref(),
            Some("a,b\n1,\"x\ny\"\n2,z\n")
        );
        assert_eq!(
            cut(&format, "a,b\n1,\"x\ny\"\n2,z\n3,", false, 1).as_deref(),
            Some("a,b\n1,\"x\ny\"\n")
        );
        assert_eq!(
            cut(&format, "a,b\n1,\"x\ny", false, 9),
            None,
            "no record is whole"
        );
        assert_eq!(
            cut(&format, "a,b\n1,x", true, 9).as_deref(),
            Some("a,b\n1,x")
        );
        assert_eq!(
            cut(&format, "a,b\n", true, 9).as_deref(),
            Some("a,b\n"),
            "a list may be empty"
        );
        assert_eq!(
            cut(
                &delimited(Some("a,")),
                "About\nthis\na,b\n1,x\n2,y\n",
                false,
                1
            )
            .as_deref(),
            Some("About\nthis\na,b\n1,x\n")
        );
    }

    #[test]
    fn records_are_counted() {
        let count =
            |format: &Format, text: &str| excerpt(format, text.as_bytes(), true, 9).unwrap().1;
        assert_eq!(count(&delimited(None), "a,b\n1,x\n2,y"), 2);
        let objects = Format::JsonRecords {
            records: None,
            normalized_header: false,
        };
        assert_eq!(
            (
                count(&objects, "[]"),
                count(&objects, "[{}]"),
                count(&objects, "[{}, {} ]")
            ),
            (0, 1, 2)
        );
        assert_eq!(count(&Format::JsonRows, r#"[["a"],["1"]]"#), 1);
        assert_eq!(
            excerpt(&objects, b"[{}, {}]", true, 0),
            Some((b"[]".to_vec(), 0))
        );
    }

    #[test]
    fn lists_of_objects_are_cut_and_closed() {
        let at = |records: Option<&str>| Format::JsonRecords {
            records: records.map(str::to_owned),
            normalized_header: false,
        };
        let text = r#"[{"a": "x]\"", "b": [1, 2]}, {"a": "y"}, {"a": "#;
        assert_eq!(
            cut(&at(None), text, false, 9).as_deref(),
            Some(r#"[{"a": "x]\"", "b": [1, 2]}, {"a": "y"}]"#)
        );
        assert_eq!(
            cut(&at(None), text, false, 1).as_deref(),
            Some(r#"[{"a": "x]\"", "b": [1, 2]}]"#)
        );
        assert_eq!(cut(&at(None), "[]", true, 9).as_deref(), Some("[]"));
        let nested = r#"{"help": "x", "fields": [{"id": 1}], "result": {"fields": [1, 2], "records": [{"a": 1}, {"a": 2}, {"#;
        assert_eq!(
            cut(&at(Some("result.records")), nested, false, 9).as_deref(),
            Some(
                r#"{"help": "x", "fields": [{"id": 1}], "result": {"fields": [1, 2], "records": [{"a": 1}, {"a": 2}]}}"#
            )
        );
        assert_eq!(
            cut(&at(Some("records")), nested, false, 9),
            None,
            "the list stands elsewhere"
        );
        assert_eq!(cut(&at(None), "<html>", true, 9), None);
        assert_eq!(
            cut(
                &Format::JsonRows,
                r#"[["a","b"],["1","2"],["3","4"],["5"#,
                false,
                1
            )
            .as_deref(),
            Some(r#"[["a","b"],["1","2"]]"#)
        );
    }
}
