//! Turns a file into a frame of text columns with a source pointer per record, or into one file of
//! records per bucket. Each kept record becomes one row. This module knows formats, not agencies:
//! the caller decides which columns exist and what they mean. It never infers types, so every cell
//! is text.

mod archive;
mod cells;
mod delimited;
mod encoding;
mod excerpt;
mod feed;
mod fixed_width;
mod hash_partitioner;
mod header;
mod json_records;
mod json_rows;
mod lines;
mod members;
mod packed;
mod records;
mod text_frames;
mod xlsx;
mod xml;

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use polars::prelude::DataFrame;
use serde::{Deserialize, Serialize};

use archive::ReadAhead;
pub use archive::{member_date, member_name, member_names};
pub use cells::{RecordCell, RecordText, SurroundingText, json_cells, record_cells, surroundings};
pub use delimited::HeaderRow;
pub use excerpt::{columns, excerpt};
pub use feed::{FeedElement, FeedShape, feed_entries};
pub use hash_partitioner::{HashPartitioner, KeptRows, Partitioned, read_partition};
use hash_partitioner::{KeyCollector, Partition};
pub use header::{ColumnPlan, ColumnReport};
pub use members::{Archive, Member, ReadAt};
pub use packed::{
    ArchiveParts, PackedMember, TAIL_BYTES, is_member_of, leading_member, pack, unpack_start,
};
use records::{RecordConsumer, Sink};
use text_frames::TextFrames;
pub use xml::{XmlContent, XmlDocument, XmlElement, XmlPiece, XmlReader};

use pubdata_core::error::{Error, IoExt, Result, ResultExt};
use pubdata_core::ids::Digest;
use pubdata_core::issue::Severity;
use pubdata_core::pipeline::Format;
use pubdata_core::provenance::SourcePointer;

/// Buffer size that is large enough for most headers and records.
const RECORD_BYTES: usize = 16 << 10;

/// A file to decode.
pub struct Task<'a> {
    pub path: &'a Path,
    pub format: &'a Format,
    /// The archive member, resolved by [`member_name`]; none if the file is not an archive.
    pub member: Option<&'a str>,
    pub plan: &'a ColumnPlan,
    /// Numbers that identify the snapshot and the member in source pointers.
    pub input: u64,
    pub member_number: u64,
    /// Maximum size after decompression.
    pub max_bytes: u64,
    /// Reads only these records, given by offset and length. Used to replay a record from its own
    /// bytes.
    pub only: Option<&'a [(u64, u64)]>,
}

/// The records of a file.
#[derive(Debug)]
pub struct Decoded {
    /// The wanted columns as text, and [`pubdata_core::provenance::POINTERS`]. An empty cell is
    /// null.
    pub frame: DataFrame,
    /// Records that could not be read.
    pub malformed: Vec<Malformed>,
    pub columns: ColumnReport,
}

/// A record that is not in the declared layout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Malformed {
    pub severity: Severity,
    pub detail: String,
    /// The record's text, cut to 2,000 characters.
    pub source_text: String,
    pub offset: u64,
    pub length: u64,
}

/// Decodes a file.
///
/// # Shape
/// One row for each record that the plan keeps, with the plan's columns in order, followed by the
/// pointers.
///
/// # Errors
/// `Format` if the file is not as declared: a column is missing, a closed plan finds a new column,
/// or an archive is damaged. `Store` if it cannot be read.
///
/// # Issues
/// A record whose number of cells differs from the header's, or whose bytes are not in the declared
/// encoding.
pub fn decode(task: &Task<'_>) -> Result<Decoded> {
    let mut whole = None;
    let (malformed, columns) = decode_chunks(task, usize::MAX, &mut |frame| {
        whole = Some(frame);
        Ok(())
    })?;
    Ok(Decoded {
        frame: whole.expect("every file gives a frame"),
        malformed,
        columns,
    })
}

/// Decodes a file in frames of `rows` rows. Passes each frame to `take` before building the next.
/// At least one frame is passed, which may be empty. Returns the malformed records and facts about
/// the columns.
///
/// # Errors
/// As [`decode`], possibly after some frames were passed to `take`, and any error from `take`.
pub fn decode_chunks(
    task: &Task<'_>,
    rows: usize,
    take: &mut dyn FnMut(DataFrame) -> Result<()>,
) -> Result<(Vec<Malformed>, ColumnReport)> {
    decode_into(
        task,
        &mut TextFrames::new(rows, [task.input, task.member_number], take),
    )
}

/// Decodes a file into one file on disk per bucket. Returns the buckets that contain rows, the
/// malformed records and facts about the columns.
///
/// # Errors
/// As [`decode`]; `Store` if rows cannot be written; `Config` if the key column is missing from the
/// plan.
pub fn partition(
    task: &Task<'_>,
    partitioner: HashPartitioner<'_>,
) -> Result<(Partitioned, Vec<Malformed>, ColumnReport)> {
    let mut partition = Partition::new(partitioner);
    let (malformed, columns) = decode_into(task, &mut partition)?;
    Ok((partition.partitioned(), malformed, columns))
}

/// Adds the keys of a file's records to `keys`. A record's key is its text in the column `key`, or
/// in `fallback_key` if `key` is empty.
///
/// # Errors
/// As [`decode`]; `Format` as soon as the number of keys exceeds `limit`.
pub fn collect_keys(
    task: &Task<'_>,
    key: &str,
    fallback_key: Option<&str>,
    limit: usize,
    keys: &mut HashSet<String>,
) -> Result<()> {
    decode_into(task, &mut KeyCollector::new(key, fallback_key, limit, keys)).map(drop)
}

fn decode_into(
    task: &Task<'_>,
    records: &mut dyn RecordConsumer,
) -> Result<(Vec<Malformed>, ColumnReport)> {
    let sink = &mut Sink {
        records,
        columns: ColumnReport::default(),
    };
    let decoded = match task.format {
        Format::FixedWidth {
            record_bytes,
            encoding,
            fields,
        } => {
            let layout = fixed_width::Layout {
                record_bytes: *record_bytes as usize,
                encoding: *encoding,
                fields,
            };
            fixed_width::decode(task, &layout, sink)
        }
        Format::JsonRecords {
            records,
            normalized_header,
        } => json_records::decode(
            task,
            &json_records::Layout {
                records: records.as_deref(),
                is_name_normalized: *normalized_header,
            },
            sink,
        ),
        Format::JsonRows => json_rows::decode(task, sink),
        Format::Delimited { .. } | Format::Document { .. } => {
            match delimited::Layout::from_format(task.format) {
                Some(layout) => delimited::decode(task, &layout, sink),
                None => Err(Error::config(
                    "a document is read by the dataset's own code, not as rows",
                )),
            }
        }
        Format::Xlsx => xlsx::decode(task, sink),
    };
    Ok((
        decoded.context(|| task.place())?,
        std::mem::take(&mut sink.columns),
    ))
}

/// Counts the records in an uncompressed file without checking their content.
///
/// # Errors
/// `Format` if the file is not in the given format; `Config` if the format has no records to count;
/// `Store` if the file cannot be read.
pub fn count_records(path: &Path, format: &Format, max_bytes: u64) -> Result<u64> {
    let plan = ColumnPlan::default();
    let task = Task {
        path,
        format,
        member: None,
        plan: &plan,
        input: 0,
        member_number: 0,
        max_bytes,
        only: None,
    };
    let counted = match format {
        Format::JsonRecords {
            records,
            normalized_header,
        } => json_records::count(
            &task,
            &json_records::Layout {
                records: records.as_deref(),
                is_name_normalized: *normalized_header,
            },
        ),
        other => delimited::Layout::from_format(other).map_or_else(
            || Err(Error::config("its records are not counted")),
            |layout| delimited::count(&task, &layout),
        ),
    };
    counted.context(|| task.place())
}

impl Task<'_> {
    fn reading(&self) -> Reading {
        if self.only.is_some() {
            Reading::Records
        } else {
            Reading::Whole
        }
    }

    /// Returns the names of the file and the member, for messages.
    fn place(&self) -> String {
        self.member.map_or_else(
            || file_name(self.path),
            |member| format!("{} member {member}", file_name(self.path)),
        )
    }
}

/// Reads the bytes of one record.
///
/// # Errors
/// `Store` or `Format` if the file or member cannot be read or ends before the record does.
pub fn read_range(
    path: &Path,
    member: Option<&str>,
    offset: u64,
    length: u64,
    max_bytes: u64,
) -> Result<Vec<u8>> {
    let mut reader = open_for(Reading::Records, path, member, max_bytes)?;
    reader.skip_to(offset)?;
    reader.take_exactly(length)
}

/// Returns the publisher's name for a file. Stored files have a digest as a prefix.
fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let of_publisher = name.split_once('-').filter(|(digest, _)| {
        digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    of_publisher.map_or(&*name, |(_, rest)| rest).to_owned()
}

/// A file or an archive member that is read sequentially and knows its position. Plain files seek
/// in order to skip bytes.
struct ByteReader<'a> {
    source: Source<'a>,
    position: u64,
    max_bytes: u64,
}

enum Source<'a> {
    File(BufReader<File>),
    Member(Box<dyn Read + 'a>),
}

/// Reason for opening a file, which determines how much to read at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// The entire file.
    Whole,
    /// The header and a few records that are far apart in the file.
    Records,
}

fn open<'a>(path: &Path, member: Option<&str>, max_bytes: u64) -> Result<ByteReader<'a>> {
    open_for(Reading::Whole, path, member, max_bytes)
}

fn open_for<'a>(
    reading: Reading,
    path: &Path,
    member: Option<&str>,
    max_bytes: u64,
) -> Result<ByteReader<'a>> {
    let is_whole = reading == Reading::Whole;
    let (buffer, of_member) = if is_whole {
        (1 << 20, 1 << 18)
    } else {
        (RECORD_BYTES, RECORD_BYTES)
    };
    // A caller that wants a single record stops after it, so decompressing more would be wasteful.
    let ahead = if is_whole {
        ReadAhead {
            piece: 1 << 18,
            pieces: 4,
        }
    } else {
        ReadAhead {
            piece: 1 << 16,
            pieces: 0,
        }
    };
    let source = match member {
        None => Source::File(BufReader::with_capacity(
            buffer,
            File::open(path).at("open", path)?,
        )),
        Some(member) => Source::Member(Box::new(BufReader::with_capacity(
            of_member,
            archive::open_member(path, member, max_bytes, ahead)?,
        ))),
    };
    Ok(ByteReader {
        source,
        position: 0,
        max_bytes,
    })
}

impl ByteReader<'_> {
    /// Skips to an offset at or after the current position.
    fn skip_to(&mut self, offset: u64) -> Result<()> {
        let distance = offset
            .checked_sub(self.position)
            .ok_or_else(|| Error::format("records are not in file order"))?;
        match &mut self.source {
            Source::File(file) => file
                .seek_relative(i64::try_from(distance).unwrap_or(i64::MAX))
                .map_err(unreadable)?,
            Source::Member(member) => {
                std::io::copy(&mut member.take(distance), &mut std::io::sink())
                    .map_err(unreadable)?;
            }
        }
        self.position = offset;
        Ok(())
    }

    fn take_exactly(&mut self, length: u64) -> Result<Vec<u8>> {
        if length > self.max_bytes {
            return Err(Error::format(format!(
                "a record of {length} bytes is larger than the whole file may be"
            )));
        }
        let mut bytes = Vec::new();
        Read::take(&mut *self, length)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        if (bytes.len() as u64) < length {
            return Err(Error::format(format!(
                "ends {} bytes before the record does",
                length - bytes.len() as u64
            )));
        }
        Ok(bytes)
    }

    /// Returns to the first byte of a plain file. Returns false for a member, which must be
    /// reopened.
    fn rewind(&mut self) -> Result<bool> {
        match &mut self.source {
            Source::File(file) => {
                file.seek(SeekFrom::Start(0)).map_err(unreadable)?;
                self.position = 0;
                Ok(true)
            }
            Source::Member(_) => Ok(false),
        }
    }
}

impl Read for ByteReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = match &mut self.source {
            Source::File(file) => file.read(buffer)?,
            Source::Member(member) => member.read(buffer)?,
        };
        self.position += count as u64;
        if self.position > self.max_bytes {
            return Err(std::io::Error::other(format!(
                "is larger than the {} bytes declared as its maximum",
                self.max_bytes
            )));
        }
        Ok(count)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the form `map_err` wants")]
fn unreadable(error: std::io::Error) -> Error {
    let text = error.to_string();
    let is_damage = error.kind() != std::io::ErrorKind::Other || text.contains("checksum");
    let error = Error::format(format!("cannot be read: {text}"));
    if is_damage {
        error.hint(
            "the file was damaged in transfer or at the publisher: the next run fetches all of it",
        )
    } else {
        error
    }
}

/// Reads an entire document.
///
/// # Errors
/// `Format` or `Store` if the file cannot be read or is larger than `max_bytes`.
pub fn read_document(path: &Path, max_bytes: u64) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    open(path, None, max_bytes)?
        .read_to_end(&mut content)
        .map_err(unreadable)
        .context(|| file_name(path))?;
    Ok(content)
}

/// Byte ranges by snapshot and member.
pub type Ranges = BTreeMap<(Digest, Option<String>), Vec<(u64, u64)>>;

/// Groups the source pointers from one build by snapshot and member, for [`Task::only`].
pub fn ranges_by_file<'a>(pointers: impl Iterator<Item = &'a SourcePointer>) -> Ranges {
    let mut ranges = Ranges::new();
    for pointer in pointers {
        ranges
            .entry((pointer.snapshot, pointer.member.clone()))
            .or_default()
            .push((pointer.offset, pointer.length));
    }
    for list in ranges.values_mut() {
        list.sort_unstable();
        list.dedup();
    }
    ranges
}
