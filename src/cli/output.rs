//! Formats all output: tables, JSON, colours, sizes and failures. Colours only emphasise words, so
//! the output contains the same information without them.

use schemars::JsonSchema;
use serde::Serialize;

use super::terminal::{self, Look};
pub(super) use super::terminal::{print_line, print_note, print_paragraph, text, wrapped};
use pubdata_core::error::{Error, ErrorKind};
use pubdata_core::provenance::SourceRows;

/// Reason why a command failed. Printed to standard error on one line, instead of the command's
/// document.
#[derive(Serialize, JsonSchema)]
pub(super) struct ErrorReport<'a> {
    /// The failure, which can be understood alone.
    error: String,
    /// The next step for the user; null if the message is sufficient.
    hint: Option<&'a str>,
    /// Kind of failure. Exit codes: `config` 40, `fetch` and `unfinished` 30, `format` and
    /// `contract` 20, `busy` 50, `store` 60.
    kind: ErrorKind,
}

/// Prints a failure, with what happened, where, and a hint. If printing fails, only the exit code
/// reports the failure.
pub(super) fn error(error: &Error, is_json: bool) {
    if is_json {
        let report = ErrorReport {
            error: error.to_string(),
            hint: error.hint_text(),
            kind: error.kind(),
        };
        return terminal::json_note(
            &serde_json::to_string(&Headed::new::<ErrorReport<'_>>(&report)).expect(PLAIN),
        );
    }
    labelled(&Look::Red.apply("error"), &error.to_string());
    if let Some(hint) = error.hint_text() {
        labelled(&dim("hint"), hint);
    }
}

/// Prints lines after a label. All lines except the first are indented, so that a line break in
/// foreign text cannot imitate our own labels.
fn labelled(label: &str, lines: &str) {
    for (number, line) in lines.split('\n').enumerate() {
        match number {
            0 => print_note!("{label}: {line}"),
            _ => print_note!("  {line}"),
        }
    }
}

/// Prints a usage error.
pub(super) fn usage(text: &str) {
    match text.strip_prefix("error: ") {
        Some(rest) => terminal::notes(&format!("{}: {rest}", Look::Red.apply("error"))),
        None => terminal::notes(text),
    }
}

/// Version of the JSON documents that commands print. The version is raised if a field is removed
/// or its meaning changes.
pub(super) const DOCUMENT_VERSION: u32 = 1;

/// A document that a command prints with `--json`, after its format and version. `schema.rs` lists
/// all document types.
pub(super) trait Document: Serialize + JsonSchema {
    const FORMAT: &'static str;
}

/// A document preceded by its format and version.
#[derive(Serialize)]
struct Headed<'a, T> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    fields: &'a T,
}

impl<'a, T> Headed<'a, T> {
    fn new<D: Document>(fields: &'a T) -> Self {
        Self {
            format: D::FORMAT,
            version: DOCUMENT_VERSION,
            fields,
        }
    }
}

const PLAIN: &str = "a report is plain data, and an object";

/// Prints a document as JSON.
pub(super) fn document<D: Document>(document: &D) {
    json(&Headed::new::<D>(document));
}

/// Prints a document as JSON, with the fields of all objects sorted by name.
pub(super) fn sorted_document<D: Document>(document: &D) {
    json(&Headed::new::<D>(
        &serde_json::to_value(document).expect(PLAIN),
    ));
}

/// Prints a value as JSON.
pub(super) fn json(value: &impl Serialize) {
    terminal::json(&serde_json::to_string_pretty(value).expect(PLAIN));
}

/// Colours a word according to its meaning for a task, a source or a check.
pub(super) fn coloured(word: &str) -> String {
    let look = match word {
        "built" | "resumed" | "new" | "published" | "mended" | "match" | "fresh" | "unchanged"
        | "ok" | "publish" => Look::Green,
        "new_column"
        | "empty_column"
        | "column_turned_empty"
        | "optional_file_missing"
        | "unconfirmed_layout"
        | "to_build"
        | "late"
        | "import_due"
        | "set_aside"
        | "never_run"
        | "stale"
        | "carried"
        | "absent"
        | "not_published"
        | "not configured"
        | "not possible"
        | "expired"
        | "page_not_read"
        | "withdrawn"
        | "not_asked"
        | "publish_with_findings"
        | "keep_last" => Look::Yellow,
        "blocked" | "missing" | "file_missing" | "failed" | "mismatch" | "changed" | "refused"
        | "moved" | "unreachable" | "unreadable" | "block" => Look::Red,
        _ => return word.to_owned(),
    };
    look.apply(word)
}

/// Colours text that needs the reader's attention.
pub(super) fn warning(text: &str) -> String {
    Look::Yellow.apply(text)
}

pub(super) fn bold(text: &str) -> String {
    Look::Bold.apply(text)
}

pub(super) fn dim(text: &str) -> String {
    Look::Dim.apply(text)
}

/// Formats an instant without fractions of a second.
pub(super) fn to_seconds(instant: &str) -> String {
    instant
        .split_once('.')
        .map_or_else(|| instant.to_owned(), |(seconds, _)| format!("{seconds}Z"))
}

/// Formats a number with thousands separators.
pub(super) fn grouped(number: u64) -> String {
    pubdata_build::normalise::grouped(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Formats a count with its noun: `1 entry`, `2,000 entries`.
pub(super) fn counted(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let nouns = match noun.strip_suffix("ry") {
        _ if number == 1 => noun.to_owned(),
        Some(stem) => format!("{stem}ries"),
        None => format!("{noun}s"),
    };
    format!("{} {nouns}", grouped(number))
}

/// Formats a size in the largest unit in which its value is at least 1.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// Formats how a source's rows were used: `3,079 rows read: 2,714 records, 365 merged into them`.
pub(super) fn source_rows(rows: &SourceRows) -> String {
    let mut text = format!(
        "{} read: {}",
        counted(rows.read, "row"),
        counted(rows.records, "record")
    );
    let others = [
        ("merged into them", rows.merged),
        ("quarantined", rows.quarantined),
    ];
    let left_out = rows
        .left_out
        .iter()
        .map(|(reason, count)| (reason.as_str(), *count));
    for (word, count) in others
        .into_iter()
        .chain(left_out)
        .filter(|(_, count)| *count > 0)
    {
        text.push_str(&format!(", {} {word}", grouped(count)));
    }
    text
}

/// Prints rows in columns, with the first row in bold. Widths are counted in displayed characters,
/// without colour codes.
pub(super) fn table(rows: &[Vec<String>]) {
    let render = |(number, row): (usize, &Vec<String>)| -> Vec<String> {
        row.iter()
            .map(|cell| {
                terminal::rendered(&if number == 0 {
                    bold(cell)
                } else {
                    cell.clone()
                })
            })
            .collect()
    };
    let rows: Vec<Vec<String>> = rows.iter().enumerate().map(render).collect();
    let width = |cell: &String| terminal::width(cell);
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter()
                .filter_map(|row| row.get(column))
                .map(width)
                .max()
                .unwrap_or(0)
        })
        .collect();
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let padding = if column + 1 == row.len() {
                0
            } else {
                widths[column] - width(cell) + 2
            };
            line.push_str(cell);
            line.push_str(&" ".repeat(padding));
        }
        terminal::rendered_line(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_thing_is_named_in_the_singular() {
        assert_eq!(
            ["row", "entry", "day"].map(|noun| counted(1_u64, noun)),
            ["1 row", "1 entry", "1 day"]
        );
        assert_eq!(
            ["row", "entry", "day"].map(|noun| counted(2_000_usize, noun)),
            ["2,000 rows", "2,000 entries", "2,000 days"]
        );
    }
}
