//! Reads and appends to append-only files of JSON lines. Each line states its format version.

use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{durable, files};
use pubdata_core::error::{Error, IoExt, Result};

/// Appends a line durably. First truncates a line that a killed process left incomplete.
pub(super) fn append_line(path: &Path, value: &impl Serialize) -> Result<()> {
    let is_new = !path.exists();
    let mut line = serde_json::to_vec(value).expect("a line is plain data");
    line.push(b'\n');
    let mut file = files::open_with(
        OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true),
        path,
    )
    .at("open", path)?;
    // The lock serialises concurrent commands.
    file.lock().at("lock", path)?;
    let mut text = Vec::new();
    file.read_to_end(&mut text).at("read", path)?;
    let whole_lines = whole_lines(&text);
    let written = file.set_len(whole_lines).and_then(|()| {
        file.seek(SeekFrom::Start(whole_lines))?;
        file.write_all(&line)?;
        file.sync_all()
    });
    written.at("append to", path)?;
    match path.parent().filter(|_| is_new) {
        Some(folder) => durable::sync_folder(folder),
        None => Ok(()),
    }
}

/// Reads all lines, oldest first; empty if the file does not exist. Ignores a last line that a
/// killed process left incomplete.
///
/// # Errors
/// `Store`, when a complete line is malformed or has a newer format.
pub(super) fn read_lines<T: DeserializeOwned>(path: &Path, newest_format: u32) -> Result<Vec<T>> {
    let text = match files::read_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.at("read", path)?,
    };
    let mut values = Vec::new();
    for (index, line) in text[..whole_lines(&text) as usize]
        .split_inclusive(|byte| *byte == b'\n')
        .enumerate()
    {
        let damaged = |reason: String| {
            Error::store(format!("{}: line {}: {reason}", path.display(), index + 1)).hint(
                "restore the file from a backup, or remove that line: all others remain readable",
            )
        };
        let value: serde_json::Value =
            serde_json::from_slice(line).map_err(|error| damaged(error.to_string()))?;
        if value["format_version"]
            .as_u64()
            .is_none_or(|version| version > u64::from(newest_format))
        {
            let newer = format!(
                "format {} is not one this program reads (1 to {newest_format})",
                value["format_version"]
            );
            return Err(
                damaged(newer).hint("use the version of pubdata that wrote it, or a later one")
            );
        }
        values.push(serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?);
    }
    Ok(values)
}

/// Returns the length of the text up to and including the last line ending.
fn whole_lines(text: &[u8]) -> u64 {
    memchr::memrchr(b'\n', text).map_or(0, |end| end as u64 + 1)
}
