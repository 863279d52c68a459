//! How everything is printed: tables, JSON, colours, sizes and failures. Colours never change a word, so that text without them says the
//! same.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use pubdata_core::error::Error;
use pubdata_core::provenance::SourceRows;

const RED: Style = AnsiColor::Red.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Prints a failure: what, where, and the way out. Where nothing can be printed the exit code says it alone.
pub(super) fn error(error: &Error, is_json: bool) {
    if is_json {
        let fields = serde_json::json!({ "error": error.to_string(), "kind": format!("{:?}", error.kind()).to_lowercase(), "hint": error.way_out() });
        let _ = writeln!(anstream::stderr(), "{}", serde_json::to_string(&Document::new("error", &fields)).expect(PLAIN));
        return;
    }
    let _ = writeln!(anstream::stderr(), "{RED}error{RED:#}: {error}");
    if let Some(hint) = error.way_out() {
        let _ = writeln!(anstream::stderr(), "{DIM}hint{DIM:#}: {hint}");
    }
}

/// Version of the JSON documents that commands print; a field that goes or changes its meaning raises it.
const DOCUMENT_VERSION: u32 = 1;

/// What a command says, for machines: an object that names its format first. The schemas are in `docs/json`.
#[derive(Serialize)]
struct Document<'a, T> {
    format: String,
    version: u32,
    #[serde(flatten)]
    fields: &'a T,
}

impl<'a, T> Document<'a, T> {
    fn new(kind: &str, fields: &'a T) -> Self {
        Self { format: format!("pubdata.{kind}"), version: DOCUMENT_VERSION, fields }
    }
}

const PLAIN: &str = "a report is plain data, and an object";

/// Prints what a command says as a document of its kind.
pub(super) fn document(kind: &str, fields: &impl Serialize) {
    json(&Document::new(kind, fields));
}

/// Prints a value as JSON.
pub(super) fn json(value: &impl Serialize) {
    anstream::println!("{}", serde_json::to_string_pretty(value).expect(PLAIN));
}

/// Colours a word by what it says of a task, a source or a check.
pub(super) fn coloured(word: &str) -> String {
    let style = match word {
        "built" | "resumed" | "new" | "published" | "mended" | "match" | "fresh" | "unchanged" | "ok" | "publish" => GREEN,
        "new_column"
        | "empty_column"
        | "column_turned_empty"
        | "optional_file_missing"
        | "unconfirmed_layout"
        | "to_build"
        | "late"
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
        | "keep_last" => YELLOW,
        "blocked" | "missing" | "file_missing" | "failed" | "mismatch" | "changed" | "refused" | "moved" | "unreachable" | "block" => RED,
        _ => Style::new(),
    };
    format!("{style}{word}{style:#}")
}

/// Colours what a person should look at.
pub(super) fn warning(text: &str) -> String {
    format!("{YELLOW}{text}{YELLOW:#}")
}

pub(super) fn bold(text: &str) -> String {
    format!("{BOLD}{text}{BOLD:#}")
}

pub(super) fn dim(text: &str) -> String {
    format!("{DIM}{text}{DIM:#}")
}

/// An instant without fractions of its second.
pub(super) fn to_seconds(instant: &str) -> String {
    instant.split_once('.').map_or_else(|| instant.to_owned(), |(seconds, _)| format!("{seconds}Z"))
}

/// A number with thousands separators.
pub(super) fn grouped(number: u64) -> String {
    pubdata_build::normalise::grouped(i64::try_from(number).unwrap_or(i64::MAX))
}

/// A number of things, of which one is called `noun`.
pub(super) fn counted(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", grouped(number as u64))
}

/// A size in the largest unit that leaves a number above 1.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// What became of the rows of a source: `3,079 rows read: 2,714 records, 365 merged into them`.
pub(super) fn source_rows(rows: &SourceRows) -> String {
    let mut text = format!("{} rows read: {} records", grouped(rows.read), grouped(rows.records));
    let others = [("merged into them", rows.merged), ("quarantined", rows.quarantined)];
    let left_out = rows.left_out.iter().map(|(reason, count)| (reason.as_str(), *count));
    for (word, count) in others.into_iter().chain(left_out).filter(|(_, count)| *count > 0) {
        text.push_str(&format!(", {} {word}", grouped(count)));
    }
    text
}

/// Prints rows in columns, the first row bold. Widths count characters without colour codes.
pub(super) fn table(rows: &[Vec<String>]) {
    let width = |cell: &str| anstream::adapter::strip_str(cell).to_string().chars().count();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(|column| rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0)).collect();
    for (index, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let padding = if column + 1 == row.len() { 0 } else { widths[column] - width(cell) + 2 };
            line.push_str(&if index == 0 { bold(cell) } else { cell.clone() });
            line.push_str(&" ".repeat(padding));
        }
        anstream::println!("{line}");
    }
}
