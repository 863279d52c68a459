//! Detects the layout of a file from its first bytes: delimited text or JSON records, the
//! delimiter, the encoding, and the location of the records.

use crate::toml_text::quoted;
use pubdata_build::decode;
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::{Encoding, Format};
use pubdata_fetch as fetch;

const DELIMITERS: [u8; 4] = *b",;\t|";

/// Paths at which services place the records of a document.
const PATHS: [&str; 7] = [
    "features",
    "result.records",
    "records",
    "data",
    "results",
    "items",
    "value",
];

/// Detects the format of a file. The format keeps names as the publisher writes them.
///
/// # Errors
/// Returns `Format` if the file is not a table, or if its format must be declared manually.
pub(super) fn layout(bytes: &[u8], is_whole: bool) -> Result<Format> {
    let not_a_table =
        |what: &str, hint: &str| Err(Error::format(format!("the file is {what}")).hint(hint));
    let by_hand = "docs/DECLARATIONS.md describes how to declare such a file manually";
    let text = bytes
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(bytes)
        .trim_ascii_start();
    match text {
        [] => not_a_table("empty", "look at the address in a browser"),
        [b'P', b'K', 3, 4, ..] => not_a_table(
            "a ZIP archive or a workbook",
            "unpack it and give the member as --file to have its columns guessed; then add `member`: docs/DECLARATIONS.md",
        ),
        [0x1f, 0x8b, ..] => not_a_table(
            "packed with gzip",
            "unpack it and give it as --file; runs read unpacked files only",
        ),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => not_a_table(
            "UTF-16 text",
            "this encoding is not supported: the publisher may have the list in another form",
        ),
        _ if fetch::is_html(text) => not_a_table(
            "a web page",
            "take the address of the file itself, such as the link of the page's download button",
        ),
        [b'<', ..] => not_a_table("XML", by_hand),
        [b'[' | b'{', ..] => json(text, is_whole),
        _ => delimited(text, is_whole),
    }
}

fn json(text: &[u8], is_whole: bool) -> Result<Format> {
    let of = |records: Option<&str>| Format::JsonRecords {
        records: records.map(str::to_owned),
        normalized_header: false,
    };
    let has_objects = |format: &Format| {
        let first = decode::excerpt(format, text, is_whole, 1).filter(|(_, records)| *records > 0);
        // An array of arrays begins with the same characters.
        first.is_some_and(|(bytes, _)| {
            let inner = bytes
                .iter()
                .position(|byte| *byte == b'[')
                .map_or(&bytes[..], |start| &bytes[start + 1..]);
            text[0] == b'{' || inner.trim_ascii_start().starts_with(b"{")
        })
    };
    let candidates = if text[0] == b'[' {
        vec![of(None)]
    } else {
        PATHS.iter().map(|path| of(Some(path))).collect()
    };
    candidates.into_iter().find(has_objects).ok_or_else(|| {
        Error::format("the file is JSON without a list of records in a known place").hint(format!(
            "a list of objects is read at the top or under `{}`; declare a list elsewhere manually (`records` in docs/DECLARATIONS.md)",
            PATHS.join("`, `")
        ))
    })
}

fn delimited(text: &[u8], is_whole: bool) -> Result<Format> {
    let header = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let counts = DELIMITERS.map(|delimiter| (outside_quotes(header, delimiter), delimiter));
    let (count, delimiter) = counts
        .into_iter()
        .rev()
        .max_by_key(|(count, _)| *count)
        .unwrap_or((0, b','));
    if count == 0 {
        return Err(Error::format("the first line of the file has one column, or names columns in a way that is not known")
            .hint("declare a file with a preamble or of fixed width manually: `header_start` and `fixed_width` in docs/DECLARATIONS.md"));
    }
    let cells = header
        .split(|byte| *byte == delimiter)
        .map(|cell| cell.trim_ascii().trim_ascii_start());
    let is_datum = |cell: &&[u8]| {
        cell.iter().any(u8::is_ascii_digit) && !cell.iter().any(u8::is_ascii_alphabetic)
    };
    if cells.filter(is_datum).count() * 4 > count + 1 {
        return Err(Error::format("the first line of the file looks like a record and not like names of columns")
            .hint("if the file has no header line, declare the column names manually: `header` in docs/DECLARATIONS.md"));
    }
    Ok(Format::Delimited {
        delimiters: vec![char::from(delimiter)],
        quoting: true,
        escape: None,
        header: Vec::new(),
        fewest_cells: None,
        label_lines: 0,
        header_start: None,
        ruler: None,
        normalized_header: false,
        encoding: encoding(text, is_whole),
    })
}

fn outside_quotes(line: &[u8], delimiter: u8) -> usize {
    let mut is_quoted = false;
    let mut count = 0;
    for byte in line {
        is_quoted ^= *byte == b'"';
        count += usize::from(*byte == delimiter && !is_quoted);
    }
    count
}

/// Returns UTF-8 if all non-ASCII lines are valid UTF-8, windows-1252 if no such line is valid, and
/// the mixed encoding otherwise.
fn encoding(text: &[u8], is_whole: bool) -> Encoding {
    let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    // The last line of an excerpt may end in the middle of a character.
    if !is_whole {
        lines.pop();
    }
    let (unicode, others): (Vec<&[u8]>, Vec<&[u8]>) = lines
        .into_iter()
        .filter(|line| !line.is_ascii())
        .partition(|line| std::str::from_utf8(line).is_ok());
    match (unicode.is_empty(), others.is_empty()) {
        (_, true) => Encoding::Utf8,
        (true, false) => Encoding::Windows1252,
        (false, false) => Encoding::Utf8OrWindows1252,
    }
}

/// Returns the format with normalised names, as declarations write them.
pub(super) fn with_normalized_names(format: &Format) -> Format {
    let mut format = format.clone();
    if let Format::Delimited {
        normalized_header, ..
    }
    | Format::JsonRecords {
        normalized_header, ..
    } = &mut format
    {
        *normalized_header = true;
    }
    format
}

/// Renders the format as TOML for a declaration.
pub(super) fn as_toml(format: &Format) -> String {
    let named = |is_normalized: &bool| {
        if *is_normalized {
            ", normalized_header = true"
        } else {
            ""
        }
    };
    match format {
        Format::Delimited {
            delimiters,
            normalized_header,
            encoding,
            ..
        } => {
            let delimiters: Vec<String> = delimiters
                .iter()
                .map(|delimiter| quoted(&delimiter.to_string()))
                .collect();
            let encoding = match encoding {
                Encoding::Utf8 => "",
                Encoding::Windows1252 => ", encoding = \"windows-1252\"",
                Encoding::Latin1 => ", encoding = \"latin-1\"",
                Encoding::Utf8OrWindows1252 => ", encoding = \"utf-8-or-windows-1252\"",
            };
            format!(
                "{{ kind = \"delimited\", delimiters = [{}], quoting = true{}{encoding} }}",
                delimiters.join(", "),
                named(normalized_header)
            )
        }
        Format::JsonRecords {
            records,
            normalized_header,
        } => {
            let records = records
                .iter()
                .map(|records| format!(", records = {}", quoted(records)))
                .collect::<String>();
            format!(
                "{{ kind = \"json_records\"{records}{} }}",
                named(normalized_header)
            )
        }
        _ => unreachable!("no other layout is found"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &[u8]) -> String {
        layout(text, true).map_or_else(
            |error| format!("{error}; {}", error.hint_text().unwrap_or_default()),
            |format| as_toml(&with_normalized_names(&format)),
        )
    }

    #[test]
    fn layout_is_detected_from_the_start_of_the_file() {
        for (text, expected) in [
            (
                &b"a,b\n1,\"x;y;z\"\n"[..],
                r#"{ kind = "delimited", delimiters = [","], quoting = true, normalized_header = true }"#,
            ),
            (
                b"\xef\xbb\xbfa\tb\n1\t2\n",
                r#"{ kind = "delimited", delimiters = ["\t"], quoting = true, normalized_header = true }"#,
            ),
            (
                b"a;b\n1;caf\xe9\n",
                r#"{ kind = "delimited", delimiters = [";"], quoting = true, normalized_header = true, encoding = "windows-1252" }"#,
            ),
            (
                b"a;b\n1;caf\xe9\n2;caf\xc3\xa9\n",
                r#"{ kind = "delimited", delimiters = [";"], quoting = true, normalized_header = true, encoding = "utf-8-or-windows-1252" }"#,
            ),
            (
                b" [{\"a\": 1}]",
                r#"{ kind = "json_records", normalized_header = true }"#,
            ),
            (
                b"{\"fields\": [{\"x\": 1}], \"features\": [{\"attributes\": {}}]}",
                r#"{ kind = "json_records", records = "features", normalized_header = true }"#,
            ),
            (
                b"{\"result\": {\"records\": [{\"a\": 1}]}}",
                r#"{ kind = "json_records", records = "result.records", normalized_header = true }"#,
            ),
        ] {
            assert_eq!(found(text), expected);
        }
    }

    #[test]
    fn what_is_no_table_is_said_with_a_way_out() {
        for (text, expected) in [
            (&b""[..], "the file is empty"),
            (b"PK\x03\x04zip", "--file"),
            (b"<!DOCTYPE html><html>", "download button"),
            (
                b"[[\"a\",\"b\"],[\"1\",\"2\"]]",
                "JSON without a list of records",
            ),
            (
                b"{\"error\": {\"code\": 400}}",
                "JSON without a list of records",
            ),
            (b"Permits of a city\n\na,b\n1,2\n", "header_start"),
            (
                b"2024001,03/04/2025,100.00,7\n2024002,03/05/2025,100.00,7\n",
                "looks like a record",
            ),
        ] {
            assert!(
                found(text).contains(expected),
                "{}: {expected}",
                found(text)
            );
        }
    }
}
