//! Reads the event log while another process writes it. Takes only events that a commit follows,
//! and detects when the log was replaced.

use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use super::{EVENT_FORMAT_VERSION, Event, Line, segments};
use crate::Home;
use crate::files::open_file;
use pubdata_core::error::{Error, IoExt, Result};

/// Reads the log of a home from its oldest event, and then follows what is appended. Never writes.
#[derive(Debug, Clone)]
pub struct EventTail {
    folder: PathBuf,
    /// The current segment: its first number and the bytes consumed.
    position: Option<(u64, u64)>,
    /// Events that no commit follows yet.
    held: Vec<Event>,
    next_seq: u64,
}

impl EventTail {
    /// Starts at the log's oldest event and reads nothing yet. The log need not exist.
    pub fn new(home: &Home) -> Self {
        Self {
            folder: home.stream_dir().join("log"),
            position: None,
            held: Vec::new(),
            next_seq: 0,
        }
    }

    /// Returns the number of the last event taken; `None` while the log does not exist.
    pub fn last_seq(&self) -> Option<u64> {
        self.next_seq.checked_sub(1)
    }

    /// Returns the events committed since the last call. If the log was replaced, as after
    /// restoring a backup, reads it from its beginning.
    ///
    /// # Errors
    /// `Store`, when it cannot be read, or is of a newer format.
    pub fn read(&mut self) -> Result<Vec<Event>> {
        // On an unreadable line, everything is read again the next time, so the state must not
        // change.
        let mut next = self.clone();
        let taken = next.advance()?;
        *self = next;
        Ok(taken)
    }

    /// Returns the number after the last event taken or held.
    fn following(&self) -> u64 {
        self.next_seq.saturating_add(self.held.len() as u64)
    }

    fn advance(&mut self) -> Result<Vec<Event>> {
        let mut taken = Vec::new();
        // A listed segment with a successor is complete, because the list is made before it is
        // read.
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
                // Deleted since it was listed: it was old.
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
                        self.held.push(*event)
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
