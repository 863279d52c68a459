//! Finds the time of the last event in the log by reading the log from its end.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::{Line, segments};
use crate::Home;
use crate::files::open_file;
use pubdata_core::error::{IoExt, Result};

/// Number of bytes to read from the end of a segment. They contain many events of a few hundred
/// bytes each.
const TAIL_BYTES: u64 = 1 << 18;

/// Number of segments to search. More than one is needed because a new segment starts empty.
const SEGMENTS: usize = 3;

/// Returns when the newest event in the log was seen, RFC 3339 UTC. Returns `None` if the log does
/// not exist or has no event at its end.
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
        // The follower may have deleted an old segment.
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

/// Returns the time of the last event. Skips truncated lines at both ends.
fn last_of(text: &[u8]) -> Option<String> {
    text.rsplit(|byte| *byte == b'\n')
        .find_map(|line| match serde_json::from_slice(line) {
            Ok(Line::Event(event)) => Some(event.seen_at),
            _ => None,
        })
}
