//! Finds members of a ZIP archive by name or pattern and opens one as a stream. A member that is encrypted, larger than declared, or that
//! grows beyond all measure is refused.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use zip::ZipArchive;

use crate::error::{Error, IoExt, Result};

/// Text compresses to a tenth or so; a member that grows more than this is made to exhaust memory or disk.
pub(super) const MAX_RATIO: u64 = 500;

/// Returns the one member that matches a pattern, as [`member_names`] does.
///
/// # Errors
/// `Format`, when the file is no ZIP archive, or no member or more than one matches.
pub fn member_name(path: &Path, pattern: &str) -> Result<String> {
    let mut matches = member_names(path, pattern)?;
    match matches.len() {
        1 => Ok(matches.remove(0)),
        several => Err(Error::format(format!("{several} members match `{pattern}`: {}", matches.join(", ")))),
    }
}

/// Returns the members that match a pattern, in the order of their names: a name with at most one `*`, in which `#` stands for one digit.
/// Letter case does not count.
///
/// # Errors
/// `Format`, when the file is no ZIP archive, no member matches, or one is there twice.
pub fn member_names(path: &Path, pattern: &str) -> Result<Vec<String>> {
    let archive = open_archive(path)?;
    let pattern = pattern.to_lowercase();
    let mut matches: Vec<String> = names(&archive).filter(|name| is_match(&pattern, &name.to_lowercase())).collect();
    matches.sort_unstable();
    if let Some(pair) = matches.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::format(format!("member `{}` is there twice", pair[0])));
    }
    if matches.is_empty() {
        return Err(Error::format(format!("no member matches `{pattern}`; members: {}", list_names(&archive))));
    }
    Ok(matches)
}

pub(super) fn is_match(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => is_text(pattern, name),
        Some((start, end)) => {
            let places = name.get(..start.len()).zip(name.len().checked_sub(end.len()).and_then(|at| name.get(at..)));
            name.len() >= start.len() + end.len() && places.is_some_and(|(head, tail)| is_text(start, head) && is_text(end, tail))
        }
    }
}

/// Whether a text is the one given, in which `#` stands for one digit.
pub(super) fn is_text(pattern: &str, text: &str) -> bool {
    pattern.len() == text.len() && pattern.bytes().zip(text.bytes()).all(|(wanted, byte)| wanted == byte || (wanted == b'#' && byte.is_ascii_digit()))
}

/// The day that the archive's directory gives a member, `YYYYMMDD`; none when it gives none.
///
/// # Errors
/// `Format`, when the file is no ZIP archive or has no such member.
pub fn member_date(path: &Path, member: &str) -> Result<Option<String>> {
    let mut archive = open_archive(path)?;
    let index = archive.index_for_name(member).ok_or_else(|| Error::format(format!("no member `{member}`; members: {}", list_names(&archive))))?;
    let entry = archive.by_index_raw(index).map_err(|error| Error::format(format!("member `{member}`: {error}")))?;
    Ok(entry.last_modified().map(|day| format!("{:04}{:02}{:02}", day.year(), day.month(), day.day())))
}

/// Whether an archive has a member of exactly that name.
pub(super) fn has_member(path: &Path, member: &str) -> Result<bool> {
    Ok(open_archive(path)?.index_for_name(member).is_some())
}

/// Opens a member for reading from front to back. The reader fails at the end when the CRC does not match.
pub(super) fn open_member(path: &Path, member: &str, max_bytes: u64) -> Result<impl Read + use<>> {
    let mut archive = open_archive(path)?;
    let index = archive.index_for_name(member).ok_or_else(|| Error::format(format!("no member `{member}`; members: {}", list_names(&archive))))?;
    let (size, compressed, is_encrypted) = {
        let entry = archive.by_index_raw(index).map_err(|error| Error::format(format!("member `{member}`: {error}")))?;
        (entry.size(), entry.compressed_size(), entry.encrypted())
    };
    if is_encrypted {
        return Err(Error::format(format!("member `{member}` is encrypted")));
    }
    if size > max_bytes {
        return Err(Error::format(format!("member `{member}` declares {size} bytes, more than the {max_bytes} declared as the maximum")));
    }
    if size / compressed.max(1) > MAX_RATIO {
        return Err(Error::format(format!("member `{member}` grows {} times when decompressed, more than {MAX_RATIO}", size / compressed.max(1))));
    }
    Ok(MemberReader::new(archive, index))
}

fn open_archive(path: &Path) -> Result<ZipArchive<BufReader<File>>> {
    let file = File::open(path).at("open", path)?;
    ZipArchive::new(BufReader::with_capacity(1 << 16, file)).map_err(|error| Error::format(format!("is not a readable ZIP archive: {error}")))
}

/// The members' names; one that is not text cannot be asked for.
fn names(archive: &ZipArchive<BufReader<File>>) -> impl Iterator<Item = String> {
    archive.file_names().filter_map(|name| name.ok().map(std::borrow::Cow::into_owned))
}

fn list_names(archive: &ZipArchive<BufReader<File>>) -> String {
    let mut names: Vec<String> = names(archive).take(20).collect();
    names.sort_unstable();
    names.join(", ")
}

/// Owns the archive while one of its members is read, on a thread of its own.
struct MemberReader {
    pieces: std::sync::mpsc::Receiver<std::io::Result<Vec<u8>>>,
    current: Vec<u8>,
    position: usize,
    is_finished: bool,
}

impl MemberReader {
    fn new(mut archive: ZipArchive<BufReader<File>>, index: usize) -> Self {
        // The archive lends its members; a thread of its own is the owner, and decompression runs beside parsing. The channel holds
        // few pieces, so memory is bounded, and a reader that is dropped ends the thread.
        let (sender, pieces) = std::sync::mpsc::sync_channel(4);
        std::thread::spawn(move || {
            let mut member = match archive.by_index(index) {
                Ok(member) => member,
                Err(error) => {
                    let _ = sender.send(Err(std::io::Error::other(error)));
                    return;
                }
            };
            loop {
                let mut piece = vec![0; 1 << 18];
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
        Self { pieces, current: Vec::new(), position: 0, is_finished: false }
    }
}

impl Read for MemberReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.position == self.current.len() && !self.is_finished {
            self.position = 0;
            // The last piece is empty; a channel that closes before it means that decompression broke down.
            self.current = self.pieces.recv().map_err(|_| std::io::Error::other("decompression stopped before the end"))??;
            self.is_finished = self.current.is_empty();
        }
        let count = buffer.len().min(self.current.len() - self.position);
        buffer[..count].copy_from_slice(&self.current[self.position..self.position + count]);
        self.position += count;
        Ok(count)
    }
}
