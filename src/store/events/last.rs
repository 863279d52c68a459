//! When the log last had an event, read from its end.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::{Line, segments};
use crate::Home;
use crate::files::open_file;
use pubdata_core::error::{IoExt, Result};

/// How much of a segment's end is read: many events, which have some hundred bytes each.
const TAIL_BYTES: u64 = 1 << 18;

/// Segments that are looked into: a new one begins empty.
const SEGMENTS: usize = 3;

/// When the newest event of the log was noticed, RFC 3339 UTC; none where there is no log, or no
/// event at its end.
///
/// # Errors
/// `Store`, when the log cannot be read.
pub fn last_event_at(home: &Home) -> Result<Option<String>> {
    let found = segments(&home.stream_dir().join("log"))?;
    for (_, path) in found.iter().rev().take(SEGMENTS) {
        if let Some(at) = last_of(&tail(path)?) {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

fn tail(path: &Path) -> Result<Vec<u8>> {
    let mut file = match open_file(path) {
        // The follower drops old segments.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        file => file.at("open", path)?,
    };
    let size = file.metadata().at("look at", path)?.len();
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(size.saturating_sub(TAIL_BYTES)))
        .and_then(|_| file.take(TAIL_BYTES).read_to_end(&mut text))
        .at("read", path)?;
    Ok(text)
}

/// The last event; what is torn at either end is passed over.
fn last_of(text: &[u8]) -> Option<String> {
    text.rsplit(|byte| *byte == b'\n')
        .find_map(|line| match serde_json::from_slice(line) {
            Ok(Line::Event(event)) => Some(event.seen_at),
            _ => None,
        })
}
