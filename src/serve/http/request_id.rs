//! Identifies a request in its answer and in the log, and truncates strings from clients for
//! display there.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use axum::http::HeaderMap;

/// Maximum number of characters that are shown of a client's string.
const SHOWN: usize = 200;

/// Identifier of one request in the answer and in the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestId(pub Arc<str>);

impl RequestId {
    /// Returns the client's id if it is valid, otherwise a new id.
    pub fn from_headers(headers: &HeaderMap) -> Self {
        let is_usable = |text: &&str| {
            (1..=64).contains(&text.len())
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        };
        let sent = headers
            .get("x-request-id")
            .and_then(|value| value.to_str().ok())
            .filter(is_usable);
        Self(sent.map_or_else(|| new_request_id().into(), Arc::from))
    }
}

/// Truncates a client's string for display.
pub fn shown(text: &str) -> &str {
    text.char_indices()
        .nth(SHOWN)
        .map_or(text, |(end, _)| &text[..end])
}

/// Returns a new id: a random prefix for each process, followed by a counter.
fn new_request_id() -> String {
    static START: LazyLock<u64> = LazyLock::new(|| getrandom::u64().unwrap_or_default());
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!(
        "{:016x}{:08x}",
        *START,
        COUNT.fetch_add(1, Ordering::Relaxed)
    )
}
