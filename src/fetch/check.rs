//! Checks that the received bytes are the requested file, and not a web page, an error report, a
//! truncated archive, or a file of the wrong size. Does not read archive members.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::Value;

use super::Request;
use pubdata_core::error::{Error, IoExt, Result};

/// Number of bytes at the start of a file that are examined to detect a web page.
const HEAD_BYTES: u64 = 4096;

/// The end record of an archive is 22 bytes long, followed by a comment of at most 65,535 bytes.
const TAIL_BYTES: u64 = 65_535 + 22;

/// Hint for bytes that are not the requested file.
pub(super) const NOT_THE_FILE_HINT: &str = "open the URL in a browser: the publisher may have moved the file or be down; the last good snapshot stays in use";

/// Hint for a manual import that is not the publisher's file.
const MANUAL_IMPORT_HINT: &str = "nothing was imported: open the file in an editor; if it is not the right one, download it again and save the file itself, not the page that links to it";

/// Rejects a content type that no bulk file has. Servers label files carelessly, so only types that
/// cannot be right are rejected.
///
/// # Errors
/// `Fetch`, naming the type.
pub(super) fn content_type(content_type: &str) -> Result<()> {
    let essence = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    if ["text/html", "application/xhtml+xml"].contains(&essence.as_str()) {
        return Err(Error::fetch(format!(
            "the server sent a web page (content type {essence}) in place of the file"
        ))
        .hint(NOT_THE_FILE_HINT));
    }
    if ["image/", "video/", "audio/", "font/"]
        .iter()
        .any(|kind| essence.starts_with(kind))
    {
        return Err(Error::fetch(format!(
            "the server sent content type {essence} in place of the file"
        ))
        .hint(NOT_THE_FILE_HINT));
    }
    Ok(())
}

/// Checks that a complete file matches the request. Does not read archive members.
///
/// # Errors
/// `Fetch`, stating what the bytes are and what was expected.
pub(super) fn file(path: &Path, request: &Request, is_sample: bool) -> Result<()> {
    kind(path, request)?;
    match std::fs::metadata(path).at("read", path)?.len() {
        size_bytes if size_bytes < request.min_bytes && !is_sample => Err(Error::fetch(format!(
            "the file has {size_bytes} bytes, fewer than the {} declared as `min_bytes`",
            request.min_bytes
        ))
        .hint(NOT_THE_FILE_HINT)),
        _ => Ok(()),
    }
}

/// Returns whether a file's end proves that it is complete. Archives need an end record, JSON its
/// last bracket, and text a final line ending.
///
/// # Errors
/// `Store`, when the local file cannot be read.
pub(super) fn proves_its_end(path: &Path, request: &Request) -> Result<bool> {
    if request.is_archive || request.is_json {
        // An archive or JSON document without such an end has already been rejected.
        return Ok(true);
    }
    let mut file = File::open(path).at("open", path)?;
    let size_bytes = file.metadata().at("read", path)?.len();
    file.seek(SeekFrom::Start(size_bytes.saturating_sub(16)))
        .at("read", path)?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail).at("read", path)?;
    Ok(tail.ends_with(b"\n")
        || tail.ends_with(b"\r")
        || tail.trim_ascii_end().ends_with(b"</html>"))
}

/// Checks a manual import like a download. Samples are rejected because an import applies to every
/// run.
///
/// # Errors
/// Same as for [`file`], with a hint for the operator.
pub(super) fn manual_import(path: &Path, request: &Request, url: &str) -> Result<()> {
    kind(path, request).map_err(|error| error.hint(MANUAL_IMPORT_HINT))?;
    match std::fs::metadata(path).at("read", path)?.len() {
        size_bytes if size_bytes < request.min_bytes => {
            Err(import_too_small(size_bytes, request, url))
        }
        _ => Ok(()),
    }
}

fn kind(path: &Path, request: &Request) -> Result<()> {
    let mut file = File::open(path).at("open", path)?;
    let size_bytes = file.metadata().at("read", path)?.len();
    let refuse = |message: String| Err(Error::fetch(message).hint(NOT_THE_FILE_HINT));
    if size_bytes == 0 {
        return refuse("the file is empty".to_owned());
    }
    if size_bytes > request.max_bytes {
        return Err(too_large(size_bytes, request.max_bytes));
    }
    let mut head = Vec::new();
    (&mut file)
        .take(HEAD_BYTES)
        .read_to_end(&mut head)
        .at("read", path)?;
    file.seek(SeekFrom::Start(size_bytes.saturating_sub(TAIL_BYTES)))
        .at("read", path)?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail).at("read", path)?;
    if is_html(&head) && !request.is_page {
        return refuse("the file is a web page (it begins as HTML)".to_owned());
    }
    if request.is_archive && !head.starts_with(b"PK\x03\x04") {
        return refuse(format!(
            "the file is not a ZIP archive: it begins with {}",
            shown(&head)
        ));
    }
    if request.is_archive && !has_end_record(&tail, size_bytes) {
        return refuse("the ZIP archive has no end record: it is cut short or damaged".to_owned());
    }
    let first = start_of_text(&head).first();
    if request.is_json && !matches!(first, Some(b'[' | b'{')) {
        return refuse(format!(
            "the file is not JSON: it begins with {}",
            shown(&head)
        ));
    }
    let last = tail.trim_ascii_end().last();
    if request.is_json
        && !matches!(
            (first, last),
            (Some(b'['), Some(b']')) | (Some(b'{'), Some(b'}'))
        )
    {
        return refuse("the JSON text is cut short: its last bracket is missing".to_owned());
    }
    if let Some(reported) = reported_error(path, request)? {
        return refuse(reported.message);
    }
    Ok(())
}

/// Size of the largest document that is read as a service's error report.
const MAX_REPORT_BYTES: u64 = 64 << 10;

/// A service's error report in place of the file.
pub(super) struct ReportedError {
    pub(super) message: String,
    /// True if another attempt may help, for example if a server is busy.
    pub(super) is_passing: bool,
}

/// Parses an error report that a service sent with status 200, as ArcGIS (`{"error": {"code": 400,
/// "message": …}}`) and CKAN (`{"success": false, "error": {…}}`) do.
///
/// # Errors
/// `Store`, when the local file cannot be read.
pub(super) fn reported_error(path: &Path, request: &Request) -> Result<Option<ReportedError>> {
    if !request.is_json || std::fs::metadata(path).at("read", path)?.len() > MAX_REPORT_BYTES {
        return Ok(None);
    }
    let document = serde_json::from_slice::<Value>(&std::fs::read(path).at("read", path)?);
    Ok(document.ok().as_ref().and_then(report_in))
}

fn report_in(document: &Value) -> Option<ReportedError> {
    let document = document.as_object()?;
    let error = document.get("error").unwrap_or(&Value::Null);
    let is_failure = document.get("success") == Some(&Value::Bool(false));
    let details = match error {
        Value::Object(details) => details,
        Value::Bool(true) => document,
        Value::String(text) if !text.is_empty() => document,
        _ if is_failure => document,
        _ => return None,
    };
    let text = |name: &str| match details.get(name)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(values) => Some(
            values
                .iter()
                .filter_map(Value::as_str)
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join(" "),
        ),
        _ => None,
    };
    let code = text("code");
    let is_passing = code
        .as_deref()
        .is_some_and(|code| ["408", "429", "500", "502", "503", "504"].contains(&code));
    let words: Vec<String> = [
        code,
        text("__type"),
        text("message"),
        text("error"),
        text("details"),
    ]
    .into_iter()
    .flatten()
    .filter(|word| !word.is_empty())
    .collect();
    Some(ReportedError {
        message: format!(
            "the server answered 200 OK and reports an error: {}",
            words.join(" ")
        ),
        is_passing,
    })
}

/// Builds the error for a file above the declared maximum size.
pub(super) fn too_large(size_bytes: u64, max_bytes: u64) -> Error {
    Error::fetch(format!("the file is too large: {size_bytes} bytes or more, above the {max_bytes} declared as `max_bytes`"))
        .hint("if the publisher's file has grown, raise `max_bytes` in the declaration")
}

/// Builds the error for a manual import below the source's minimum size.
fn import_too_small(size_bytes: u64, request: &Request, url: &str) -> Error {
    let floor = request.min_bytes;
    let place =
        super::mirror_path(url).map_or_else(|_| String::new(), |path| format!(" as DIR/{path}"));
    Error::fetch(format!("the file has {size_bytes} bytes, fewer than the {floor} declared as `min_bytes` of `{}`", request.source_id)).hint(format!(
        "if the download broke off, download it again; do not import a sample: put it on a mirror of samples{place}, for `pubdata run --mirror DIR`; if the complete file is that small, lower `min_bytes` in the declaration"
    ))
}

fn start_of_text(bytes: &[u8]) -> &[u8] {
    bytes
        .strip_prefix(b"\xEF\xBB\xBF")
        .unwrap_or(bytes)
        .trim_ascii_start()
}

/// Returns whether the bytes start like a web page, ignoring a byte order mark, white space, an XML
/// declaration and comments.
pub fn is_html(head: &[u8]) -> bool {
    let mut rest = start_of_text(head);
    for (opening, closing) in [
        (&b"<?xml"[..], &b"?>"[..]),
        (b"<!--", b"-->"),
        (b"<!--", b"-->"),
    ] {
        if rest.starts_with(opening) {
            let end =
                memchr::memmem::find(rest, closing).map_or(rest.len(), |at| at + closing.len());
            rest = rest[end..].trim_ascii_start();
        }
    }
    [&b"<!doctype html"[..], b"<html"].iter().any(|opening| {
        rest.get(..opening.len())
            .is_some_and(|bytes| bytes.eq_ignore_ascii_case(opening))
    })
}

/// Returns whether the tail of an archive contains an end record whose directory precedes the
/// record.
fn has_end_record(tail: &[u8], size_bytes: u64) -> bool {
    memchr::memmem::rfind_iter(tail, b"PK\x05\x06").any(|at| {
        let Some(record) = tail.get(at..at + 22) else {
            return false;
        };
        let number = |from: usize| {
            u64::from(u32::from_le_bytes([
                record[from],
                record[from + 1],
                record[from + 2],
                record[from + 3],
            ]))
        };
        let position = size_bytes - (tail.len() - at) as u64;
        let comment = usize::from(u16::from_le_bytes([record[20], record[21]]));
        let (directory_bytes, directory_at) = (number(12), number(16));
        // Archives larger than 4 GiB store these numbers in another record.
        let is_64_bit =
            directory_at == u64::from(u32::MAX) || directory_bytes == u64::from(u32::MAX);
        at + 22 + comment <= tail.len() && (is_64_bit || directory_at + directory_bytes <= position)
    })
}

fn shown(head: &[u8]) -> String {
    format!("`{}`", head[..head.len().min(24)].escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn web_pages_are_told_from_files() {
        for page in [
            "<!DOCTYPE html><p>",
            "\u{feff}\r\n <HTML lang=en>",
            "<?xml version=\"1.0\"?>\n<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0//EN\">",
            "<!-- moved --><html>",
        ] {
            assert!(is_html(page.as_bytes()), "{page}");
        }
        for file in [
            "GEO_ID|B01003_E001\n",
            "<?xml version=\"1.0\"?><rss>",
            "[[\"NAME\"]]",
            "<",
            "",
        ] {
            assert!(!is_html(file.as_bytes()), "{file}");
        }
    }

    #[test]
    fn reports_of_errors_are_told_from_files() {
        for (document, expected) in [
            (
                r#"{"error":{"code":400,"message":"Cannot perform query. Invalid query parameters.","details":["'where' clause is invalid"]}}"#,
                Some((
                    "400 Cannot perform query. Invalid query parameters. 'where' clause is invalid",
                    false,
                )),
            ),
            (
                r#"{"error":{"code":504,"message":"Your request has timed out.","details":[]}}"#,
                Some(("504 Your request has timed out.", true)),
            ),
            (
                r#"{"help":"https://example.org/api","success":false,"error":{"__type":"Not Found Error","message":"Not found: Resource was not found."}}"#,
                Some(("Not Found Error Not found: Resource was not found.", false)),
            ),
            (
                r#"{"code":"permission_denied","error":true,"message":"You must be logged in"}"#,
                Some(("permission_denied You must be logged in", false)),
            ),
            (r#"{"success":false,"message":"no"}"#, Some(("no", false))),
            (
                r#"{"error":"quota exceeded"}"#,
                Some(("quota exceeded", false)),
            ),
            (
                r#"{"success":true,"result":{"total":1,"records":[{"error":"x"}]}}"#,
                None,
            ),
            (r#"{"features":[],"error":null}"#, None),
            (r#"[{"error":{"code":1}}]"#, None),
            ("{", None),
        ] {
            let reported = serde_json::from_str(document)
                .ok()
                .as_ref()
                .and_then(report_in);
            let reported = reported.as_ref().map(|reported| {
                (
                    reported.message.rsplit_once("error: ").unwrap().1,
                    reported.is_passing,
                )
            });
            assert_eq!(reported, expected, "{document}");
        }
    }

    #[test]
    fn end_record_before_the_end_of_its_directory_is_rejected() {
        let record = |directory_bytes: u32, directory_at: u32| {
            let mut bytes = b"PK\x05\x06\0\0\0\0\x01\0\x01\0".to_vec();
            bytes.extend(directory_bytes.to_le_bytes());
            bytes.extend(directory_at.to_le_bytes());
            bytes.extend([0, 0]);
            bytes
        };
        assert!(has_end_record(&record(40, 60), 122));
        assert!(!has_end_record(&record(40, 61), 122));
        assert!(has_end_record(&record(u32::MAX, u32::MAX), 122));
        assert!(!has_end_record(&record(40, 60)[..21], 121));
        assert!(!has_end_record(b"no record", 9));
    }
}
