//! Checks what clients send: any request to a server with a release of the fixtures, messages of
//! the stream, and cursors.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::ids::ReleaseId;
use pubdata_core::pipeline::Declarations;
use pubdata_serve::fuzzing::{answer_to_message, cursor_round_trip, read_cursor};
use pubdata_serve::{Api, ServeSettings, Server};
use pubdata_store::{Home, Keys, NewKey, Plans, Scope};
use serde_json::Value;
use tokio::runtime::Runtime;
use tower::ServiceExt;

const MAX_BYTES: usize = 64 << 20;

/// Reads a text frame of a stream client.
pub fn stream(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for answer in answer_to_message(&text) {
        let value: Value = serde_json::from_str(&answer).expect("what is sent is JSON");
        assert!(value["type"].is_string());
        assert!(answer.len() <= 4_096 + 8 * text.len(), "an answer is not much longer than the message");
    }
}

/// Reads a cursor as sent, and writes a cursor for any sort key.
pub fn cursor(data: &[u8]) {
    let release: ReleaseId = "r0123456789abcdef0123".parse().expect("this is one");
    let text = String::from_utf8_lossy(data);
    let (written, read) = cursor_round_trip(&release, "0123456789abcdef", &text);
    assert_eq!(read.as_deref(), Some(text.as_ref()), "what is written is read");
    assert!(read_cursor(&written, &release, "other filters").1.is_none());
    let (_, sort_key) = read_cursor(&text, &release, "0123456789abcdef");
    if let Some(sort_key) = sort_key {
        assert_eq!(cursor_round_trip(&release, "0123456789abcdef", &sort_key).1, Some(sort_key));
    }
    let _ = read_cursor(&URL_SAFE_NO_PAD.encode(data), &release, "0123456789abcdef");
}

struct Running {
    runtime: Runtime,
    api: Api,
    key: String,
}

/// Returns a server with the release in the folder that `PUBDATA_FUZZ_HOME` names.
fn running() -> &'static Running {
    static RUNNING: OnceLock<Running> = OnceLock::new();
    RUNNING.get_or_init(|| {
        let folder = PathBuf::from(std::env::var_os("PUBDATA_FUZZ_HOME").unwrap_or_else(|| "fuzz/home".into()));
        assert!(folder.join("channels").is_dir(), "{} has no release: `make fuzz` makes one of the fixtures", folder.display());
        let files = DeclarationFiles::built_in();
        let plans = Plans::load(&files).expect("the program has plans");
        let contracts = Declarations::load(files).expect("the program's declarations are right").contracts;
        let new = NewKey { name: "fuzz".to_owned(), scopes: Scope::ALL.to_vec(), plan: "unlimited".to_owned(), expires_at: None };
        let home = Home::open(&folder).expect("the home can be opened");
        let key = Keys::open(&home).create(new, &plans, Timestamp::now()).expect("a key can be made").key;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
        let clock = Arc::new(|| -> Timestamp { "2026-11-20T12:00:00Z".parse().expect("this is a time") });
        let server = Server::new(ServeSettings::new(folder, plans), contracts, clock).expect("the server can be made");
        runtime.block_on(server.refresh()).expect("the release can be loaded");
        Running { api: server.api(), runtime, key }
    })
}

struct Answer {
    status: StatusCode,
    body: Value,
}

/// Sends a request: a line `METHOD PATH`, then the body. If the answer has a next page, the body
/// becomes the sort key of a forged cursor.
pub fn http(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (line, body) = (&data[..end], data.get(end + 1..).unwrap_or_default());
    let (method, path) = match line.strip_prefix(b"POST ") {
        Some(path) => ("POST", path),
        None => ("GET", line.strip_prefix(b"GET ").unwrap_or(line)),
    };
    let Some(path) = uri(path) else { return };
    let Some(answer) = ask(method, &path, body) else { return };
    let again = ask(method, &path, body).expect("it was asked before");
    // The usage of keys counts the first request.
    if !path.starts_with("/v1/admin/usage") {
        assert_eq!((answer.status, &answer.body["data"]), (again.status, &again.body["data"]), "asked twice");
    }
    if let Some(next) = next_cursor(&answer.body).filter(|_| method == "GET") {
        let page = ask("GET", &with_cursor(&path, next), &[]).expect("a cursor is part of an address");
        assert!(page.status == StatusCode::OK || path.contains("cursor="), "the next page is there: {}", page.body);
        let forged = forged(next, &String::from_utf8_lossy(body));
        let _ = ask("GET", &with_cursor(&path, &forged), &[]);
    }
}

/// Makes a URL from any bytes, and percent-encodes those that a URL cannot contain.
pub fn uri(bytes: &[u8]) -> Option<String> {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'!'..=b'~' if !b"\"<>\\^`{|}#".contains(byte) => text.push(char::from(*byte)),
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    (text.starts_with('/') && text.parse::<Uri>().is_ok()).then_some(text)
}

fn ask(method: &str, path: &str, body: &[u8]) -> Option<Answer> {
    let running = running();
    let request = Request::builder().method(method).uri(path).header("x-api-key", &running.key).header("content-type", "application/json");
    let request = request.body(Body::from(body.to_vec())).ok()?;
    let (status, is_json, bytes) = running.runtime.block_on(async {
        let response = running.api.clone().oneshot(request).await.expect("a router always answers");
        let content_type = response.headers().get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_json = content_type.starts_with("application/") && content_type.contains("json");
        let status = response.status();
        (status, is_json, to_bytes(response.into_body(), MAX_BYTES).await.expect("an answer has an end"))
    });
    assert!(status.as_u16() < 500 || status == StatusCode::SERVICE_UNAVAILABLE, "{method} {path}: {status} {}", String::from_utf8_lossy(&bytes));
    let body = if is_json { serde_json::from_slice(&bytes).expect("an answer is JSON") } else { Value::Null };
    Some(Answer { status, body })
}

fn next_cursor(value: &Value) -> Option<&str> {
    match value {
        Value::Object(members) => match members.get("next_cursor").and_then(Value::as_str) {
            Some(cursor) => Some(cursor),
            None => members.get("meta").and_then(next_cursor).or_else(|| members.get("page").and_then(next_cursor)),
        },
        _ => None,
    }
}

fn with_cursor(path: &str, cursor: &str) -> String {
    let separator = if path.contains('?') { '&' } else { '?' };
    format!("{path}{separator}cursor={cursor}")
}

/// Forges a cursor with the same release and filters that continues after another sort key.
fn forged(cursor: &str, sort_key: &str) -> String {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).expect("a cursor is of that form");
    let text = String::from_utf8(bytes).expect("a cursor is text");
    let mut fields: Vec<&str> = text.splitn(4, '|').collect();
    fields[3] = sort_key;
    URL_SAFE_NO_PAD.encode(fields.join("|"))
}
