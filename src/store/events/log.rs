//! Writes the event log: numbers events, makes each batch durable before readers see it, and
//! deletes old segments. One writer at a time.

use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use super::{EVENT_FORMAT_VERSION, Event, EventKind, Feed, Line, StreamFiling, segments};
use crate::files::{open_with, read_file};
use crate::{Home, durable};
use pubdata_core::error::{Error, ErrorKind, IoExt, Result};
use pubdata_core::ids::AccessionNumber;

/// Segment size at which a new segment is started.
const SEGMENT_BYTES: u64 = 8 << 20;

/// Segment age at which a new segment is started, so that old events can be deleted.
const SEGMENT_AGE: SignedDuration = SignedDuration::from_hours(1);

/// Largest sequence number. Every JSON reader represents integers up to this value exactly.
const LAST_SEQ: u64 = 1 << 53;

/// Retention period of events. It is longer than [`REPLAY`](super::REPLAY), because an entry in a
/// late index is compared with what earlier events stated about the filing.
pub const KEPT: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The event log, which one process at a time can open for writing.
pub struct EventLog {
    folder: PathBuf,
    accessions_file: PathBuf,
    _lock: File,
    /// Complete segments, oldest first: path, last sequence number, and time of the last event.
    closed: Vec<(PathBuf, u64, Timestamp)>,
    current: Current,
    next_seq: u64,
    /// Time of the last event. The next event is not earlier, even if the clock is set back.
    last_seen_at: Timestamp,
    forgotten: HashSet<AccessionNumber>,
}

struct Current {
    path: PathBuf,
    file: File,
    size_bytes: u64,
    /// Time of the segment's first event.
    first_event_at: Option<Timestamp>,
}

/// An event that has no sequence number yet.
pub struct NewEvent {
    pub event: EventKind,
    pub accession_number: AccessionNumber,
    pub source: Feed,
    pub source_url: String,
    pub filing: StreamFiling,
}

impl EventLog {
    /// Opens the log of a home, creating it if necessary, and passes every retained event to
    /// `take`, oldest first. Truncates a line that a killed follower left incomplete.
    ///
    /// # Errors
    /// `Busy`, when another follower has the log open; `Store`, when the log cannot be read or is
    /// damaged before its last commit.
    pub fn open(home: &Home, mut take: impl FnMut(Event)) -> Result<Self> {
        let root = home.stream_dir();
        let folder = root.join("log");
        durable::create_folder(&folder)?;
        let lock = lock(&root.join("lock"))?;
        let accessions_file = root.join("accessions.txt");
        let forgotten = read_accessions(&accessions_file)?;
        if segments(&folder)?.is_empty() {
            create_segment(&folder, 1)?;
        }
        let found = segments(&folder)?;
        let (mut closed, mut current) = (Vec::new(), None);
        let (mut next_seq, mut last_seen_at) = (found[0].0, Timestamp::UNIX_EPOCH);
        for (number, (first_seq, path)) in found.iter().enumerate() {
            if !(1..=LAST_SEQ).contains(first_seq) {
                return Err(damaged(
                    path,
                    1,
                    &format!("begins with event {first_seq}, a number that no log has"),
                ));
            }
            let read = Segment::read(path, *first_seq, number + 1 == found.len())?;
            if *first_seq != next_seq {
                return Err(damaged(
                    path,
                    1,
                    &format!(
                        "begins with event {first_seq}, but the one before ends with {}",
                        next_seq - 1
                    ),
                ));
            }
            next_seq = read.next_seq;
            let first_event_at = read.events.first().map(time_of).transpose()?;
            if let Some(last) = read.events.last() {
                last_seen_at = last_seen_at.max(time_of(last)?);
            }
            if number + 1 == found.len() {
                current = Some((
                    path.clone(),
                    read.whole_bytes,
                    read.is_committed,
                    first_event_at,
                ));
            } else {
                if !read.is_committed {
                    // A segment with a successor is durable. Only its commit line may have been
                    // lost in a power failure.
                    append_commit(path, next_seq - 1)?;
                }
                closed.push((path.clone(), next_seq - 1, last_seen_at));
            }
            read.events.into_iter().for_each(&mut take);
        }
        let (path, whole_bytes, is_committed, first_event_at) =
            current.expect("there is a segment");
        let mut file =
            open_with(OpenOptions::new().read(true).write(true), &path).at("open", &path)?;
        file.set_len(whole_bytes)
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .at("cut", &path)?;
        file.sync_all().at("make durable", &path)?;
        let current = Current {
            path,
            file,
            size_bytes: whole_bytes,
            first_event_at,
        };
        let mut log = Self {
            folder,
            accessions_file,
            _lock: lock,
            closed,
            current,
            next_seq,
            last_seen_at,
            forgotten,
        };
        if !is_committed {
            log.commit()?;
        }
        Ok(log)
    }

    /// Returns the accession numbers of filings whose events were deleted.
    pub fn forgotten(&self) -> &HashSet<AccessionNumber> {
        &self.forgotten
    }

    /// Returns the sequence number of the last event, or 0 if the log has no events.
    pub fn last_seq(&self) -> u64 {
        self.next_seq - 1
    }

    /// Numbers events and appends them durably as one batch. Readers see either the entire batch or
    /// none of it. If the process is killed in between, the next opening keeps a prefix of the
    /// batch. Returns the numbered events.
    ///
    /// # Errors
    /// `Store`, when the file cannot be written. The log must then be reopened.
    pub fn append(&mut self, events: Vec<NewEvent>, now: Timestamp) -> Result<Vec<Event>> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let now = now.max(self.last_seen_at);
        if self.is_due_for_successor(now) {
            self.begin_segment()?;
        }
        let mut batch = Vec::new();
        let mut numbered = Vec::with_capacity(events.len());
        for (seq, new) in (self.next_seq..).zip(events) {
            let mut filing = new.filing;
            if new.event == EventKind::Filing {
                filing.first_seen_at = now.to_string();
            }
            let accession_number = new.accession_number.to_string();
            let event = Event {
                seq,
                event: new.event,
                accession_number,
                seen_at: now.to_string(),
                source: new.source,
                source_url: new.source_url,
                filing,
            };
            let line = Line::Event(Box::new(event));
            batch.extend_from_slice(&line.bytes());
            if let Line::Event(event) = line {
                numbered.push(*event);
            }
        }
        let written = self
            .current
            .file
            .write_all(&batch)
            .and_then(|()| self.current.file.sync_data());
        written.at("append to", &self.current.path)?;
        self.current.size_bytes += batch.len() as u64;
        self.current.first_event_at.get_or_insert(now);
        self.next_seq += numbered.len() as u64;
        self.last_seen_at = now;
        self.commit()?;
        Ok(numbered)
    }

    /// Appends events that another log has numbered. The write need not be durable, because the
    /// events can be copied again.
    ///
    /// # Errors
    /// `Store`, when the events do not follow the last event, or the file cannot be written. The
    /// log must then be reopened.
    pub fn replicate(&mut self, events: Vec<Event>) -> Result<()> {
        let Some(last) = events.last() else {
            return Ok(());
        };
        if events[0].seq != self.next_seq {
            return Err(Error::store(format!(
                "event {} does not follow event {}",
                events[0].seq,
                self.last_seq()
            )));
        }
        let (next_seq, now) = (last.seq + 1, time_of(last)?);
        if self.is_due_for_successor(now) {
            self.begin_segment()?;
        }
        let lines: Vec<u8> = events
            .into_iter()
            .flat_map(|event| Line::Event(Box::new(event)).bytes())
            .collect();
        self.current
            .file
            .write_all(&lines)
            .at("append to", &self.current.path)?;
        self.current.size_bytes += lines.len() as u64;
        self.current.first_event_at.get_or_insert(now);
        (self.next_seq, self.last_seen_at) = (next_seq, now);
        self.commit()
    }

    /// Deletes all events and continues with a sequence number from another log.
    pub fn begin_at(&mut self, seq: u64) -> Result<()> {
        for (_, path) in segments(&self.folder)? {
            std::fs::remove_file(&path).at("delete", &path)?;
        }
        let path = create_segment(&self.folder, seq)?;
        let mut file =
            open_with(OpenOptions::new().read(true).write(true), &path).at("open", &path)?;
        let size_bytes = file.seek(SeekFrom::End(0)).at("read", &path)?;
        self.current = Current {
            path,
            file,
            size_bytes,
            first_event_at: None,
        };
        self.closed.clear();
        (self.next_seq, self.last_seen_at) = (seq, Timestamp::UNIX_EPOCH);
        Ok(())
    }

    /// Deletes events that are past the retention period and keeps their accession numbers. Returns
    /// the last deleted sequence number.
    pub fn prune(&mut self, now: Timestamp) -> Result<Option<u64>> {
        if self.is_due_for_successor(now) {
            self.begin_segment()?;
        }
        let mut pruned = None;
        while let Some((path, last_seq, last_at)) = self.closed.first().cloned() {
            if now.duration_since(last_at) <= KEPT {
                break;
            }
            let first_seq = super::first_seq_of(&path).unwrap_or_default();
            let may_be_torn = false;
            let accessions: Vec<AccessionNumber> = Segment::read(&path, first_seq, may_be_torn)?
                .events
                .iter()
                .filter_map(|event| event.accession_number.parse().ok())
                .collect();
            self.remember(&accessions)?;
            std::fs::remove_file(&path).at("delete", &path)?;
            durable::sync_folder(&self.folder)?;
            self.closed.remove(0);
            pruned = Some(last_seq);
        }
        Ok(pruned)
    }

    /// Writes accession numbers before the events are deleted. If the process is killed in between,
    /// some numbers are written twice, which is harmless.
    fn remember(&mut self, accessions: &[AccessionNumber]) -> Result<()> {
        let new: Vec<AccessionNumber> = accessions
            .iter()
            .copied()
            .filter(|accession| self.forgotten.insert(*accession))
            .collect();
        let lines: String = new
            .iter()
            .map(|accession| format!("{accession}\n"))
            .collect();
        let mut file = open_with(
            OpenOptions::new().create(true).append(true),
            &self.accessions_file,
        )
        .at("open", &self.accessions_file)?;
        file.write_all(lines.as_bytes())
            .and_then(|()| file.sync_all())
            .at("append to", &self.accessions_file)?;
        self.accessions_file
            .parent()
            .map_or(Ok(()), durable::sync_folder)
    }

    fn is_due_for_successor(&self, now: Timestamp) -> bool {
        self.current.first_event_at.is_some_and(|first_event_at| {
            self.current.size_bytes >= SEGMENT_BYTES
                || now.duration_since(first_event_at) >= SEGMENT_AGE
        })
    }

    fn begin_segment(&mut self) -> Result<()> {
        // Readers move on to the next segment, so the last commit of this segment must be durable
        // first.
        self.current
            .file
            .sync_data()
            .at("make durable", &self.current.path)?;
        let path = create_segment(&self.folder, self.next_seq)?;
        let mut file =
            open_with(OpenOptions::new().read(true).write(true), &path).at("open", &path)?;
        let size_bytes = file.seek(SeekFrom::End(0)).at("read", &path)?;
        let before = std::mem::replace(
            &mut self.current,
            Current {
                path,
                file,
                size_bytes,
                first_event_at: None,
            },
        );
        self.closed
            .push((before.path, self.next_seq - 1, self.last_seen_at));
        Ok(())
    }

    /// Writes a commit line, which tells readers that all preceding events are durable. The commit
    /// line itself need not be durable, because opening the log writes it again.
    fn commit(&mut self) -> Result<()> {
        let line = Line::Committed {
            committed: self.next_seq - 1,
        }
        .bytes();
        self.current
            .file
            .write_all(&line)
            .at("append to", &self.current.path)?;
        self.current.size_bytes += line.len() as u64;
        Ok(())
    }
}

fn lock(path: &Path) -> Result<File> {
    let file = open_with(
        OpenOptions::new().create(true).truncate(false).write(true),
        path,
    )
    .at("open", path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::new(
            ErrorKind::Busy,
            format!("another follower holds the lock {}", path.display()),
        )
        .hint("one `pubdata follow` per home is enough; servers only read what it writes")),
        Err(TryLockError::Error(error)) => Err(Error::store(format!(
            "cannot lock {}: {error}",
            path.display()
        ))),
    }
}

fn append_commit(path: &Path, committed: u64) -> Result<()> {
    let appended = open_with(OpenOptions::new().append(true), path).and_then(|mut file| {
        file.write_all(&Line::Committed { committed }.bytes())?;
        file.sync_all()
    });
    appended.at("append to", path)
}

fn create_segment(folder: &Path, first_seq: u64) -> Result<PathBuf> {
    let path = folder.join(format!("{first_seq:020}.jsonl"));
    durable::write_file(
        &path,
        &Line::Segment {
            format_version: EVENT_FORMAT_VERSION,
            first_seq,
        }
        .bytes(),
    )?;
    Ok(path)
}

/// Reads the accession numbers of deleted events. Ignores a last line that a killed follower left
/// incomplete, because the event still exists in that case.
fn read_accessions(path: &Path) -> Result<HashSet<AccessionNumber>> {
    let text = match read_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(HashSet::new()),
        text => text.at("read", path)?,
    };
    let whole = memchr::memrchr(b'\n', &text).map_or(0, |end| end + 1);
    if whole < text.len() {
        let cut = open_with(OpenOptions::new().write(true), path)
            .and_then(|file| file.set_len(whole as u64));
        cut.at("cut", path)?;
    }
    Ok(text[..whole]
        .split(|byte| *byte == b'\n')
        .filter_map(AccessionNumber::from_bytes)
        .collect())
}

fn time_of(event: &Event) -> Result<Timestamp> {
    event.seen_at.parse().map_err(|error| {
        Error::store(format!(
            "event {}: `{}` is not a time: {error}",
            event.seq, event.seen_at
        ))
    })
}

fn damaged(path: &Path, line: usize, reason: &str) -> Error {
    Error::store(format!("{}: line {line}: {reason}", path.display()))
        .hint("the log is damaged: restore the segment from a backup, or move the folder `stream` away to start a new log")
}

/// A segment that was read completely.
struct Segment {
    events: Vec<Event>,
    /// The sequence number after the segment's last event.
    next_seq: u64,
    /// Length in bytes up to the end of the last readable line.
    whole_bytes: u64,
    /// True if a commit follows the last event.
    is_committed: bool,
}

impl Segment {
    /// Reads a segment. Only the last segment may be incomplete, and only after its last commit.
    fn read(path: &Path, first_seq: u64, may_be_torn: bool) -> Result<Self> {
        let text = read_file(path).at("read", path)?;
        let mut segment = Self {
            events: Vec::new(),
            next_seq: first_seq,
            whole_bytes: 0,
            is_committed: true,
        };
        let mut torn = None;
        for (number, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let whole = line
                .strip_suffix(b"\n")
                .and_then(|line| serde_json::from_slice::<Line>(line).ok());
            if let Some((line, reason)) = torn {
                // A commit is written only after the preceding lines are durable, so the file has
                // been damaged since. If no commit follows, the remaining lines belong to the same
                // batch, any part of which may be missing.
                if matches!(whole, Some(Line::Committed { .. })) {
                    return Err(damaged(path, line, reason));
                }
                continue;
            }
            let reason = match whole {
                Some(Line::Segment { format_version, .. })
                    if format_version > EVENT_FORMAT_VERSION =>
                {
                    return Err(damaged(
                        path,
                        1,
                        &format!("format {format_version} is not one this program reads"),
                    )
                    .hint("use the version of pubdata that wrote it, or a later one"));
                }
                Some(Line::Segment {
                    first_seq: said, ..
                }) if number == 0 && said == first_seq => None,
                Some(Line::Event(event)) if number > 0 && event.seq == segment.next_seq => {
                    segment.next_seq += 1;
                    segment.events.push(*event);
                    segment.is_committed = false;
                    None
                }
                Some(Line::Committed { committed })
                    if committed.checked_add(1) == Some(segment.next_seq) =>
                {
                    segment.is_committed = true;
                    None
                }
                Some(_) => Some("is not the line that follows"),
                None => Some("is not a whole line of the log"),
            };
            match reason {
                None => segment.whole_bytes += line.len() as u64,
                Some(reason) => torn = Some((number + 1, reason)),
            }
        }
        match torn {
            Some((line, reason)) if !may_be_torn || segment.whole_bytes == 0 => {
                Err(damaged(path, line, reason))
            }
            // An event written to this file would not be preceded by a header line.
            _ if segment.whole_bytes == 0 => Err(damaged(path, 1, "is missing: the file is empty")),
            _ => Ok(segment),
        }
    }
}
