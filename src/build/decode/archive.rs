//! Finds members of a ZIP archive by name or pattern and opens one as a stream. Rejects members
//! that are encrypted, larger than declared or compressed beyond a maximum ratio.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use zip::ZipArchive;
use zip::read::Config;
use zip::result::ZipError;
use zip::unstable::read::ZipIterable;

use super::unreadable;
use pubdata_core::error::{Error, IoExt, Result};

/// Maximum compression ratio of a member. Text compresses to about a tenth of its size; a higher
/// ratio suggests an attempt to exhaust memory or disk space.
pub(super) const MAX_RATIO: u64 = 500;

/// Maximum compression ratio of an entire archive, which is lower than the maximum for one member.
/// Archives that unpack to at most [`EXEMPT_TOTAL_BYTES`] bytes are exempt.
const MAX_TOTAL_RATIO: u64 = 100;
const EXEMPT_TOTAL_BYTES: u64 = 1 << 30;

/// Minimum size of a directory entry in bytes. Source: PKWARE, "APPNOTE.TXT – .ZIP File Format
/// Specification", 4.3.12.
const ENTRY_BYTES: u64 = 46;

/// Number of bytes at the end of an archive that cover its end record with the longest comment, the
/// ZIP64 end record and its locator.
pub(super) const TAIL_BYTES: u64 = 65_535 + 22 + 20 + 56;

/// Size of the ZIP64 end record locator in bytes, 4.3.15.
const LOCATOR_BYTES: usize = 20;

/// Rejects archives whose members together unpack to more than any archive of text does.
pub(super) fn reject_excessive_total(
    sizes: impl Iterator<Item = u64>,
    file_bytes: u64,
) -> Result<()> {
    let total = sizes.fold(0, u64::saturating_add);
    if total > EXEMPT_TOTAL_BYTES && total / file_bytes.max(1) > MAX_TOTAL_RATIO {
        return Err(Error::format(format!(
            "its members declare {total} bytes together, {} times the archive, more than {MAX_TOTAL_RATIO}",
            total / file_bytes.max(1)
        )));
    }
    Ok(())
}

/// Rejects an archive whose ZIP64 end record declares more members than the file's size allows,
/// because the ZIP reader allocates memory for that number.
///
/// Source: PKWARE, "APPNOTE.TXT – .ZIP File Format Specification", 4.3.14 and 4.3.15.
fn reject_impossible_directory(file: &File, file_bytes: u64) -> Result<()> {
    let start = file_bytes.saturating_sub(TAIL_BYTES);
    let mut tail = Vec::new();
    let mut reader = file;
    reader
        .seek(SeekFrom::Start(start))
        .and_then(|_| reader.take(TAIL_BYTES).read_to_end(&mut tail))
        .map_err(unreadable)?;
    let number = |record: &[u8], at: usize| {
        record.get(at..at + 8).map(|bytes| {
            bytes
                .iter()
                .rev()
                .fold(0_u64, |number, byte| (number << 8) | u64::from(*byte))
        })
    };
    // In a ZIP64 archive, the locator of the ZIP64 end record directly precedes the end record. In
    // other archives the bytes there are arbitrary.
    let locators: Vec<usize> = memchr::memmem::find_iter(&tail, b"PK\x05\x06")
        .filter_map(|end| end.checked_sub(LOCATOR_BYTES))
        .collect();
    let locators: Vec<usize> = locators
        .into_iter()
        .filter(|at| tail[*at..].starts_with(b"PK\x06\x07"))
        .collect();
    if locators.is_empty() {
        return reader
            .seek(SeekFrom::Start(0))
            .map(drop)
            .map_err(unreadable);
    }
    let mut records: Vec<Vec<u8>> = memchr::memmem::find_iter(&tail, b"PK\x06\x06")
        .map(|at| tail[at..tail.len().min(at + 56)].to_vec())
        .collect();
    for at in locators {
        let mut record = vec![0; 56];
        let place = number(&tail[at..], 8).filter(|place| *place < file_bytes);
        if place.is_some_and(|place| file.read_exact_at(&mut record, place).is_ok())
            && record.starts_with(b"PK\x06\x06")
        {
            records.push(record);
        }
    }
    for record in records {
        let (Some(members), Some(directory_bytes)) = (number(&record, 32), number(&record, 40))
        else {
            continue;
        };
        if directory_bytes > file_bytes || members > directory_bytes / ENTRY_BYTES {
            return Err(Error::format(format!(
                "its end record declares {members} members in a directory of {directory_bytes} bytes, but the file has {file_bytes} bytes"
            )));
        }
    }
    reader
        .seek(SeekFrom::Start(0))
        .map(drop)
        .map_err(unreadable)
}

/// Returns the only member that matches a pattern of [`member_names`].
///
/// # Errors
/// `Format` if the file is not a ZIP archive, or if the number of matching members is not one.
pub fn member_name(path: &Path, pattern: &str) -> Result<String> {
    let mut matches = member_names(path, pattern)?;
    match matches.len() {
        1 => Ok(matches.remove(0)),
        several => Err(Error::format(format!(
            "{several} members match `{pattern}`: {}",
            matches.join(", ")
        ))),
    }
}

/// Returns the members that match a pattern, sorted by name. A pattern is a name with at most one
/// `*`, in which `#` stands for one digit. Matching ignores letter case.
///
/// # Errors
/// `Format` if the file is not a ZIP archive, no member matches, or a matching name occurs twice.
pub fn member_names(path: &Path, pattern: &str) -> Result<Vec<String>> {
    let mut archive = open_archive(path)?;
    let pattern = pattern.to_lowercase();
    let mut matches: Vec<String> = names(&archive)
        .filter(|name| is_match(&pattern, &name.to_lowercase()))
        .collect();
    let mut size = |name: &String| {
        archive
            .index_for_name(name)
            .and_then(|index| archive.by_index_raw(index).ok().map(|entry| entry.size()))
            .unwrap_or(0)
    };
    reject_excessive_total(
        matches.iter().map(&mut size),
        std::fs::metadata(path).at("read", path)?.len(),
    )?;
    matches.sort_unstable();
    if archive.has_duplicate_names() {
        refuse_repeated(path, &matches)?;
    }
    if matches.is_empty() {
        return Err(Error::format(format!(
            "no member matches `{pattern}`; members: {}",
            list_names(&archive)
        )));
    }
    Ok(matches)
}

/// Rejects the archive if any of these sorted names occurs twice in it. `ZipArchive` keeps only the
/// last member of each name, so this reads the directory again.
fn refuse_repeated(path: &Path, names: &[String]) -> Result<()> {
    let mut directory = ZipIterable::try_new(
        BufReader::new(File::open(path).at("open", path)?),
        Config::default(),
    )
    .map_err(unreadable_archive)?;
    let mut seen = BTreeSet::new();
    for entry in directory.files().map_err(unreadable_archive)? {
        let name = entry
            .map_err(unreadable_archive)?
            .name()
            .map_err(unreadable_archive)?
            .into_owned();
        if names.binary_search(&name).is_ok() && !seen.insert(name.clone()) {
            return Err(Error::format(format!(
                "member `{name}` occurs twice, so it is unclear which one is valid"
            )));
        }
    }
    Ok(())
}

fn unreadable_archive(error: ZipError) -> Error {
    Error::format(format!("is not a readable ZIP archive: {error}"))
}

pub(super) fn is_match(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => is_text(pattern, name),
        Some((start, end)) => {
            let places = name.get(..start.len()).zip(
                name.len()
                    .checked_sub(end.len())
                    .and_then(|at| name.get(at..)),
            );
            name.len() >= start.len() + end.len()
                && places.is_some_and(|(head, tail)| is_text(start, head) && is_text(end, tail))
        }
    }
}

/// Reports whether text equals the pattern, in which `#` stands for one digit.
pub(super) fn is_text(pattern: &str, text: &str) -> bool {
    pattern.len() == text.len()
        && pattern
            .bytes()
            .zip(text.bytes())
            .all(|(pattern_byte, byte)| {
                pattern_byte == byte || (pattern_byte == b'#' && byte.is_ascii_digit())
            })
}

/// Returns a member's date from the archive's directory as `YYYYMMDD`, or none if it has no date.
///
/// # Errors
/// `Format` if the file is not a ZIP archive or has no such member.
pub fn member_date(path: &Path, member: &str) -> Result<Option<String>> {
    let mut archive = open_archive(path)?;
    let index = archive.index_for_name(member).ok_or_else(|| {
        Error::format(format!(
            "no member `{member}`; members: {}",
            list_names(&archive)
        ))
    })?;
    let entry = archive
        .by_index_raw(index)
        .map_err(|error| Error::format(format!("member `{member}`: {error}")))?;
    Ok(entry
        .last_modified()
        .map(|day| format!("{:04}{:02}{:02}", day.year(), day.month(), day.day())))
}

/// Reports whether an archive has a member with exactly this name.
pub(super) fn has_member(path: &Path, member: &str) -> Result<bool> {
    Ok(open_archive(path)?.index_for_name(member).is_some())
}

/// How much of a member to decompress in advance.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadAhead {
    /// Number of bytes to decompress at a time.
    pub(super) piece: usize,
    /// Maximum number of decompressed pieces that wait in addition to the current one.
    pub(super) pieces: usize,
}

/// Opens a member for sequential reading. The reader fails at the end if the CRC does not match.
pub(super) fn open_member(
    path: &Path,
    member: &str,
    max_bytes: u64,
    ahead: ReadAhead,
) -> Result<impl Read + use<>> {
    let mut archive = open_archive(path)?;
    let index = archive.index_for_name(member).ok_or_else(|| {
        Error::format(format!(
            "no member `{member}`; members: {}",
            list_names(&archive)
        ))
    })?;
    let (size, compressed, is_encrypted) = {
        let entry = archive
            .by_index_raw(index)
            .map_err(|error| Error::format(format!("member `{member}`: {error}")))?;
        (entry.size(), entry.compressed_size(), entry.encrypted())
    };
    if is_encrypted {
        return Err(Error::format(format!("member `{member}` is encrypted")));
    }
    if size > max_bytes {
        return Err(Error::format(format!(
            "member `{member}` declares {size} bytes, more than the {max_bytes} declared as the maximum"
        )));
    }
    if size / compressed.max(1) > MAX_RATIO {
        return Err(Error::format(format!(
            "member `{member}` grows {} times when decompressed, more than {MAX_RATIO}",
            size / compressed.max(1)
        )));
    }
    Ok(MemberReader::new(archive, index, ahead))
}

fn open_archive(path: &Path) -> Result<ZipArchive<BufReader<File>>> {
    let file = File::open(path).at("open", path)?;
    let file_bytes = file.metadata().at("read", path)?.len();
    reject_impossible_directory(&file, file_bytes)?;
    ZipArchive::new(BufReader::with_capacity(1 << 16, file))
        .map_err(|error| Error::format(format!("is not a readable ZIP archive: {error}")))
}

/// Returns the members' names, except names that are not valid text.
fn names(archive: &ZipArchive<BufReader<File>>) -> impl Iterator<Item = String> {
    archive
        .file_names()
        .filter_map(|name| name.ok().map(std::borrow::Cow::into_owned))
}

fn list_names(archive: &ZipArchive<BufReader<File>>) -> String {
    let mut names: Vec<String> = names(archive).take(20).collect();
    names.sort_unstable();
    names.join(", ")
}

/// Owns the archive while a separate thread reads one of its members.
struct MemberReader {
    pieces: std::sync::mpsc::Receiver<std::io::Result<Vec<u8>>>,
    current: Vec<u8>,
    position: usize,
    is_finished: bool,
}

impl MemberReader {
    fn new(mut archive: ZipArchive<BufReader<File>>, index: usize, ahead: ReadAhead) -> Self {
        // A member borrows from its archive, so a separate thread owns the archive, and
        // decompression runs in parallel with parsing. The channel holds only a few pieces, which
        // bounds memory. Dropping the reader ends the thread.
        let (sender, pieces) = std::sync::mpsc::sync_channel(ahead.pieces);
        std::thread::spawn(move || {
            let mut member = match archive.by_index(index) {
                Ok(member) => member,
                Err(error) => {
                    let _ = sender.send(Err(std::io::Error::other(error)));
                    return;
                }
            };
            loop {
                let mut piece = vec![0; ahead.piece];
                let result = member.read(&mut piece).map(|count| {
                    piece.truncate(count);
                    piece
                });
                let is_last = result.as_ref().map_or(true, Vec::is_empty);
                if sender.send(result).is_err() || is_last {
                    return;
                }
            }
        });
        Self {
            pieces,
            current: Vec::new(),
            position: 0,
            is_finished: false,
        }
    }
}

impl Read for MemberReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.position == self.current.len() && !self.is_finished {
            self.position = 0;
            // The last piece is empty. If the channel closes before that piece arrives,
            // decompression failed.
            self.current = self
                .pieces
                .recv()
                .map_err(|_| std::io::Error::other("decompression stopped before the end"))??;
            self.is_finished = self.current.is_empty();
        }
        let count = buffer.len().min(self.current.len() - self.position);
        buffer[..count].copy_from_slice(&self.current[self.position..self.position + count]);
        self.position += count;
        Ok(count)
    }
}
