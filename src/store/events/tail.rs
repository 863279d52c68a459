//! Reads the event log while another process writes to it. Returns only committed events, and
//! detects when the log has been replaced.

use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use super::{EVENT_FORMAT_VERSION, Event, Line, segments};
use crate::Home;
use crate::files::open_file;
use pubdata_core::error::{Error, IoExt, Result};

/// Reads a home's event log from the oldest event, and then follows newly appended events. Never
/// writes.
#[derive(Debug, Clone)]
pub struct EventTail {
    folder: PathBuf,
    /// The current segment: its first sequence number and the number of bytes consumed.
    position: Option<(u64, u64)>,
    /// Events that are not committed yet.
    held: Vec<Event>,
    next_seq: u64,
}

impl EventTail {
    /// Creates a reader that starts at the log's oldest event, without reading anything yet. The
    /// log need not exist.
    pub fn new(home: &Home) -> Self {
        Self {
            folder: home.stream_dir().join("log"),
            position: None,
            held: Vec::new(),
            next_seq: 0,
        }
    }

    /// Returns the sequence number of the last event returned; `None` while the log does not exist.
    pub fn last_seq(&self) -> Option<u64> {
        self.next_seq.checked_sub(1)
    }

    /// Returns the events committed since the last call. If the log was replaced, for example by
    /// restoring a backup, reads it from the beginning.
    ///
    /// # Errors
    /// `Store`, when the log cannot be read or has a newer format.
    pub fn read(&mut self) -> Result<Vec<Event>> {
        // If a line is unreadable, everything is read again the next time, so the state must not
        // change.
        let mut next = self.clone();
        let taken = next.advance()?;
        *self = next;
        Ok(taken)
    }

    /// Returns the sequence number after the last event returned or held.
    fn following(&self) -> u64 {
        self.next_seq.saturating_add(self.held.len() as u64)
    }

    fn advance(&mut self) -> Result<Vec<Event>> {
        let mut taken = Vec::new();
        // A listed segment that has a successor is complete, because the segments are listed before
        // they are read.
        let segments = segments(&self.folder)?;
        let is_here = |position: &(u64, u64)| {
            segments
                .iter()
                .any(|(first_seq, _)| *first_seq == position.0)
        };
        if self
            .position
            .as_ref()
            .is_some_and(|position| !is_here(position))
        {
            self.position = None;
        }
        for (first_seq, path) in &segments {
            let start = match self.position {
                Some((reading, _)) if *first_seq < reading => continue,
                Some((reading, offset)) if *first_seq == reading => offset,
                _ => {
                    self.held.clear();
                    self.next_seq = *first_seq;
                    0
                }
            };
            let mut file = match open_file(path) {
                // The segment was old and has been deleted since it was listed.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                file => file.at("open", path)?,
            };
            if file.metadata().at("read", path)?.len() < start {
                *self = Self {
                    folder: self.folder.clone(),
                    position: None,
                    held: Vec::new(),
                    next_seq: 0,
                };
                return Ok(Vec::new());
            }
            let mut text = Vec::new();
            file.seek(SeekFrom::Start(start))
                .and_then(|_| file.read_to_end(&mut text))
                .at("read", path)?;
            let whole = memchr::memrchr(b'\n', &text).map_or(0, |end| end + 1);
            for line in text[..whole].split_inclusive(|byte| *byte == b'\n') {
                match serde_json::from_slice(line) {
                    Ok(Line::Event(event)) if event.seq == self.following() => {
                        self.held.push(*event);
                    }
                    Ok(Line::Committed { committed })
                        if committed.checked_add(1) == Some(self.following()) =>
                    {
                        self.next_seq = self.following();
                        taken.append(&mut self.held);
                    }
                    Ok(Line::Event(_) | Line::Committed { .. }) => {
                        return Err(Error::store(format!(
                            "{}: a line is not the one that comes before event {}",
                            path.display(),
                            self.following()
                        )));
                    }
                    Ok(Line::Segment { format_version, .. })
                        if format_version > EVENT_FORMAT_VERSION =>
                    {
                        return Err(Error::store(format!(
                            "{}: format {format_version} is not one this program reads",
                            path.display()
                        )));
                    }
                    Ok(Line::Segment { .. }) => {}
                    Err(error) => return Err(Error::store(format!("{}: {error}", path.display()))),
                }
            }
            self.position = Some((*first_seq, start + whole as u64));
        }
        Ok(taken)
    }
}
