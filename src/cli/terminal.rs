//! Writes to standard output and standard error; no other file does. Any line may quote foreign
//! text, such as a publisher's cells and file names, a server's response, or the name of a key.
//! Control sequences are escaped here, except for our own styles, so that no command needs to
//! escape them.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::borrow::Cow;
use std::fmt::{self, Arguments, Debug};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::sync::LazyLock;

use anstyle::{AnsiColor, Reset, Style};
use tracing::field::Field;
use tracing_subscriber::fmt::format::Writer;

use pubdata_core::printable::{is_unprintable, printable};

/// Marks the start and end of styled text within a line. The mark is different in each process, so
/// that foreign text cannot contain it.
static MARK: LazyLock<String> =
    LazyLock::new(|| format!("\u{1}{:016x}", getrandom::u64().unwrap_or_default()));

/// Style of a text. The letter after the mark identifies the style.
#[derive(Debug, Clone, Copy)]
pub(super) enum Look {
    Red,
    Green,
    Yellow,
    Bold,
    Dim,
}

impl Look {
    const ALL: [(char, Style); 5] = [
        ('r', AnsiColor::Red.on_default().bold()),
        ('g', AnsiColor::Green.on_default()),
        ('y', AnsiColor::Yellow.on_default()),
        ('b', Style::new().bold()),
        ('d', Style::new().dimmed()),
    ];

    /// Returns the text with marks for this style.
    pub(super) fn apply(self, text: &str) -> String {
        let (mark, (letter, _)) = (MARK.as_str(), Self::ALL[self as usize]);
        format!("{mark}{letter}{text}{mark}-")
    }
}

/// Renders a line: replaces marks with styles, and escapes all other control sequences.
pub(super) fn rendered(line: &str) -> String {
    let mut pieces = line.split(MARK.as_str());
    let mut rendered = pieces
        .next()
        .map(printable)
        .unwrap_or_default()
        .into_owned();
    for piece in pieces {
        let mut rest = piece.chars();
        let letter = rest.next();
        let style = Look::ALL
            .iter()
            .find(|(of, _)| Some(*of) == letter)
            .map_or_else(
                || Reset.render().to_string(),
                |(_, style)| style.to_string(),
            );
        rendered.push_str(&style);
        rendered.push_str(&printable(rest.as_str()));
    }
    rendered
}

/// Returns the number of columns that a rendered line occupies.
pub(super) fn width(rendered: &str) -> usize {
    anstream::adapter::strip_str(rendered)
        .to_string()
        .chars()
        .count()
}

/// Escapes terminal control characters in JSON without changing its meaning. In valid JSON, all
/// ASCII control characters except DEL are already escaped.
fn escaped_json(json: &str) -> Cow<'_, str> {
    let is_escaped = |character: char| character >= '\u{7f}' && is_unprintable(character);
    if !json.contains(is_escaped) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 8);
    for character in json.chars() {
        if is_escaped(character) {
            escaped.extend(
                character
                    .encode_utf16(&mut [0; 2])
                    .iter()
                    .map(|unit| format!("\\u{unit:04x}")),
            );
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// Prints a line.
macro_rules! print_line {
    () => { $crate::cli::terminal::line(format_args!("")) };
    ($($line:tt)*) => { $crate::cli::terminal::line(format_args!($($line)*)) };
}

/// Prints an empty line and a line.
macro_rules! print_paragraph {
    ($($line:tt)*) => {{
        $crate::cli::terminal::line(format_args!(""));
        $crate::cli::terminal::line(format_args!($($line)*));
    }};
}

/// Prints a line to standard error, in addition to the result.
macro_rules! print_note {
    ($($line:tt)*) => { $crate::cli::terminal::note(format_args!($($line)*)) };
}

pub(super) use {print_line, print_note, print_paragraph};

/// Implements `print_line!`.
pub(super) fn line(line: Arguments<'_>) {
    rendered_line(&rendered(&line.to_string()));
}

/// Line width on a terminal; also used for help texts.
const COLUMNS: usize = 100;

/// Prints text after a label. On a terminal, wraps the text between words and aligns the lines.
pub(super) fn wrapped(label: &str, indent: &str, text: &str) {
    let room = if io::stdout().is_terminal() {
        COLUMNS - indent.chars().count()
    } else {
        usize::MAX
    };
    for (number, line) in broken(text, room).into_iter().enumerate() {
        self::line(format_args!(
            "{}{line}",
            if number == 0 { label } else { indent }
        ));
    }
}

/// Breaks text between words into lines of at most this many characters. A longer word gets its own
/// line.
fn broken(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is a first line");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > room {
            lines.push(word.to_owned());
        } else {
            last.push_str(if last.is_empty() { "" } else { " " });
            last.push_str(word);
        }
    }
    lines
}

/// Prints a rendered line.
pub(super) fn rendered_line(line: &str) {
    write(&format!("{line}\n"));
}

/// Prints our own text with its line breaks.
pub(super) fn text(text: &str) {
    write(&rendered_lines(text));
}

/// Prints JSON.
pub(super) fn json(json: &str) {
    write(&format!("{}\n", escaped_json(json)));
}

/// Implements `print_note!`. If writing fails, only the exit code reports the failure.
pub(super) fn note(line: Arguments<'_>) {
    let _ = writeln!(anstream::stderr(), "{}", rendered(&line.to_string()));
}

/// Prints our own lines to standard error.
pub(super) fn notes(text: &str) {
    let _ = anstream::stderr().write_all(rendered_lines(text).as_bytes());
}

/// Prints JSON to standard error.
pub(super) fn json_note(json: &str) {
    let _ = writeln!(anstream::stderr(), "{}", escaped_json(json));
}

fn rendered_lines(text: &str) -> String {
    text.split('\n')
        .map(rendered)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Prefix of the panic message when printing fails. The panic hook recognises this prefix, because
/// no other way exists to detect the failure at hundreds of call sites.
pub(super) const FAILED: &str = "failed printing to stdout: ";

/// Writes to standard output. If the reader closes the pipe, as `| head` does, this is not a
/// failure.
fn write(text: &str) {
    let written = anstream::stdout().write_all(text.as_bytes());
    if let Err(reason) = written
        && reason.kind() != ErrorKind::BrokenPipe
    {
        panic!("{FAILED}{reason}");
    }
}

/// Returns true if a terminal displays the progress.
pub(super) fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// Writes a field of a log line.
pub(super) fn log_field(line: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> fmt::Result {
    let value = format!("{value:?}");
    match field.name() {
        "message" => line.write_str(&printable(&value)),
        name => write!(line, "{name}={}", printable(&value)),
    }
}

/// Writer to standard error for log lines. Field texts are escaped when the line is formatted,
/// except in JSON.
pub(super) struct LogLines;

impl Write for LogLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stderr()
            .write_all(escaped_json(&String::from_utf8_lossy(bytes)).as_bytes())
            .map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Prints the message of a panic, which may quote the content of a file.
pub(super) fn defect(panic: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let place = panic
        .location()
        .map(|place| format!(" at {place}"))
        .unwrap_or_default();
    note(format_args!(
        "thread '{}' panicked{place}:",
        thread.name().unwrap_or("<unnamed>")
    ));
    note(format_args!(
        "{}",
        panic.payload_as_str().unwrap_or("without a message")
    ));
    let backtrace = Backtrace::capture();
    match backtrace.status() {
        BacktraceStatus::Captured => notes(&format!("{backtrace}\n")),
        _ => note(format_args!(
            "note: run with `RUST_BACKTRACE=1` to see where it came from"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_styles_of_ours_reach_a_terminal() {
        let line = format!(
            "{} \u{1b}[32mof others\u{1b}[0m \u{1}0000000000000000g\u{9b}2J",
            Look::Green.apply("of ours, \u{1b}[31mnearly")
        );
        let expected = "\u{1b}[32mof ours, \\u{1b}[31mnearly\u{1b}[0m \\u{1b}[32mof others\\u{1b}[0m \\u{1}0000000000000000g\\u{9b}2J";
        assert_eq!(rendered(&line), expected);
        assert_eq!(rendered("a\nb"), "a\\nb", "a text of others begins no line");
        assert_eq!(rendered_lines("a\n\u{202e}b\n"), "a\n\\u{202e}b\n");
    }

    #[test]
    fn text_is_wrapped_between_words_without_loss() {
        let text = "look at `pubdata probe permit.sf --write declarations` first";
        assert_eq!(
            broken(text, 24),
            [
                "look at `pubdata probe",
                "permit.sf --write",
                "declarations` first"
            ]
        );
        assert_eq!(broken(text, 3).join(" "), text);
        assert_eq!(broken(text, usize::MAX), [text]);
    }

    #[test]
    fn truncated_styled_text_has_its_control_characters_escaped() {
        let whole = Look::Bold.apply("\u{1b}[2J");
        for end in 0..=whole.len() {
            let cut = rendered(&whole[..end])
                .replace("\u{1b}[1m", "")
                .replace("\u{1b}[0m", "");
            assert!(!cut.contains('\u{1b}'), "{end}: {cut:?}");
        }
    }

    #[test]
    fn escaped_json_means_the_same() {
        let value = serde_json::json!({ "a\u{202e}": "\u{1b}[2J\u{7f}\u{9b}é👍\u{e0041}\n" });
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        let escaped = escaped_json(&pretty);
        assert!(
            !escaped.contains(|character: char| character != '\n' && is_unprintable(character)),
            "{escaped}"
        );
        assert!(
            escaped.contains("\\u202e")
                && escaped.contains("\\u009b")
                && escaped.contains("\\udb40\\udc41")
                && escaped.contains("é👍"),
            "{escaped}"
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&escaped).unwrap(),
            value
        );
    }
}
