//! Reads entire members of ZIP archives that hold large numbers of documents. Several threads may
//! read in parallel. Checks each member's size and CRC-32 on every read.

use std::collections::HashSet;
use std::fmt::Debug;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use libdeflater::{DecompressionError, Decompressor};
use zip::CompressionMethod;
use zip::read::Config;
use zip::unstable::read::ZipIterable;

use super::archive::{MAX_RATIO, reject_excessive_total};
use pubdata_core::error::{Error, IoExt, Result};

/// Size of a member's local header without the name and extra field.
const HEADER_BYTES: u64 = 30;

/// Maximum total size of the name and extra field in a member's local header. Each has a 16-bit
/// length.
const HEADER_TEXT_BYTES: u64 = 2 * 0xffff;

/// Random access to the bytes of a local or remote file, possibly from several threads at the same
/// time.
pub trait ReadAt: Debug + Send + Sync {
    /// Returns the size of the file.
    fn size(&self) -> std::io::Result<u64>;

    /// Reads bytes starting at an offset, until the buffer is full or the file ends. Returns the
    /// number of bytes read.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize>;

    /// Announces the ranges to be read next, sorted by offset, so that a remote file can fetch them
    /// at once.
    fn expect(&self, ranges: &[Range<u64>]) -> std::io::Result<()>;
}

impl ReadAt for File {
    fn size(&self) -> std::io::Result<u64> {
        self.metadata().map(|metadata| metadata.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }

    fn expect(&self, _ranges: &[Range<u64>]) -> std::io::Result<()> {
        Ok(())
    }
}

/// A ZIP archive with large numbers of documents, each read in full. Several threads may read
/// members at the same time. The directory is read once, and only the matching members are kept.
#[derive(Debug)]
pub struct Archive {
    file: Arc<dyn ReadAt>,
    members: Vec<Member>,
}

/// An archive member, as described in the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    /// CRC-32 of the content.
    pub crc32: u32,
    /// Size of the content.
    pub size_bytes: u64,
    compressed_bytes: u64,
    header_start: u64,
    /// Upper bound for the end of the member's bytes: the start of the next member, or the end of
    /// the file.
    end: u64,
    is_deflated: bool,
}

impl Member {
    /// Returns the range of the member's header and compressed content in the archive. Some bytes
    /// at the end of the range may belong to another member.
    pub fn range(&self) -> Range<u64> {
        self.header_start..self.end
    }
}

impl Archive {
    /// Reads an archive's directory. `pattern` is a name with at most one `*`. Members that do not
    /// match are ignored.
    ///
    /// # Shape
    /// Members are sorted by name.
    ///
    /// # Errors
    /// `Format` if the file is not a ZIP archive, a name occurs twice, or a member is encrypted,
    /// too large, or neither deflated nor stored.
    pub fn open(path: &Path, pattern: &str, max_member_bytes: u64) -> Result<Self> {
        Self::from_reader(
            Arc::new(File::open(path).at("open", path)?),
            pattern,
            max_member_bytes,
        )
    }

    /// Reads the directory of an archive that may be remote, as [`Archive::open`] does.
    ///
    /// # Errors
    /// As [`Archive::open`]; `Store` if the archive's bytes cannot be fetched.
    pub fn from_reader(
        file: Arc<dyn ReadAt>,
        pattern: &str,
        max_member_bytes: u64,
    ) -> Result<Self> {
        let unreadable = |error: zip::result::ZipError| {
            Error::format(format!("is not a readable ZIP archive: {error}"))
        };
        let file_bytes = file
            .size()
            .map_err(|error| Error::store(format!("cannot be read: {error}")))?;
        let mut directory =
            ZipIterable::try_new(Window::new(&*file, file_bytes), Config::default())
                .map_err(unreadable)?;
        let mut members = Vec::new();
        let mut names = HashSet::new();
        let mut repeated = Vec::new();
        for entry in directory.files().map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.name().map_err(unreadable)?.into_owned();
            if !is_match(pattern, &name) {
                continue;
            }
            if !names.insert(name.clone()) {
                repeated.push(name);
                continue;
            }
            let refuse = |problem: String| Err(Error::format(format!("member `{name}` {problem}")));
            let (size_bytes, compressed_bytes) = (entry.size(), entry.compressed_size());
            if entry.encrypted() {
                return refuse("is encrypted".to_owned());
            }
            if size_bytes > max_member_bytes {
                return refuse(format!(
                    "declares {size_bytes} bytes, more than the {max_member_bytes} declared as the maximum"
                ));
            }
            if size_bytes / compressed_bytes.max(1) > MAX_RATIO {
                return refuse(format!(
                    "grows {} times when decompressed, more than {MAX_RATIO}",
                    size_bytes / compressed_bytes.max(1)
                ));
            }
            let is_deflated = match entry.compression() {
                CompressionMethod::Deflated => true,
                CompressionMethod::Stored if size_bytes == compressed_bytes => false,
                other => {
                    return refuse(format!(
                        "is packed by a method this program does not read ({other})"
                    ));
                }
            };
            let header_start = entry.header_start();
            let end = header_start
                .saturating_add(HEADER_BYTES + HEADER_TEXT_BYTES)
                .saturating_add(compressed_bytes);
            members.push(Member {
                name,
                crc32: entry.crc32(),
                size_bytes,
                compressed_bytes,
                header_start,
                end,
                is_deflated,
            });
        }
        if !repeated.is_empty() {
            let shown = repeated
                .iter()
                .take(5)
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ");
            return Err(Error::format(format!(
                "{} members occur twice, so it is unclear which ones are valid: {shown}",
                repeated.len()
            )));
        }
        reject_impossible_offsets(&mut members, file_bytes)?;
        reject_excessive_total(members.iter().map(|member| member.size_bytes), file_bytes)?;
        members.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(Self { file, members })
    }

    /// Returns the members that match the pattern, sorted by name.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Returns the member with this name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        let place = self
            .members
            .binary_search_by(|member| member.name.as_str().cmp(name))
            .ok()?;
        Some(&self.members[place])
    }

    /// Returns the offset after the last member, where the directory begins.
    pub fn directory_start(&self) -> u64 {
        self.members
            .iter()
            .map(|member| member.header_start + HEADER_BYTES + member.compressed_bytes)
            .max()
            .unwrap_or(0)
    }

    /// Announces the members to be read next. A remote archive fetches them at once instead of one
    /// by one.
    ///
    /// # Errors
    /// `Store` if the members cannot be fetched.
    pub fn expect<'m>(&self, members: impl Iterator<Item = &'m Member>) -> Result<()> {
        let mut ranges: Vec<Range<u64>> = members.map(Member::range).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        self.file.expect(&ranges).map_err(|error| {
            Error::store(format!("members of the archive cannot be fetched: {error}"))
        })
    }

    /// Reads a member into a buffer, replacing the buffer's content. Never writes more bytes than
    /// the size declared in the directory.
    ///
    /// # Errors
    /// `Format`, naming the member, if its bytes are truncated, cannot be decompressed, or do not
    /// have the declared size and CRC-32.
    pub fn read(&self, member: &Member, content: &mut Vec<u8>) -> Result<()> {
        self.read_content(member, content)
            .map_err(|error| error.context(format!("member `{}`", member.name)))
    }

    fn read_content(&self, member: &Member, content: &mut Vec<u8>) -> Result<()> {
        let size = usize::try_from(member.size_bytes)
            .map_err(|_| Error::format("is too large for this machine"))?;
        let compressed_size = usize::try_from(member.compressed_bytes)
            .map_err(|_| Error::format("is too large for this machine"))?;
        let mut compressed = vec![0; compressed_size];
        self.read_exact(&mut compressed, self.data_start(member)?)
            .map_err(|error| unreadable("cannot be read", &error))?;
        if member.is_deflated {
            // A larger buffer is newly allocated, because growing the old one would copy its
            // content. Old content is overwritten, so only additional bytes are set to zero.
            if content.capacity() < size {
                *content = Vec::with_capacity(size);
            }
            content.resize(size, 0);
            let written = Decompressor::new()
                .deflate_decompress(&compressed, content)
                .map_err(|error| match error {
                    DecompressionError::InsufficientSpace => {
                        Error::format(format!("is larger than the {size} bytes it declares"))
                    }
                    DecompressionError::BadData => Error::format(
                        "cannot be decompressed: its packed bytes are damaged or cut short",
                    ),
                })?;
            content.truncate(written);
        } else {
            *content = compressed;
        }
        if content.len() != size {
            return Err(Error::format(format!(
                "has {} bytes, but declares {size}",
                content.len()
            )));
        }
        let crc32 = crc32fast::hash(content);
        if crc32 != member.crc32 {
            return Err(Error::format(format!(
                "is damaged: its CRC-32 is {crc32:08x}, the archive's directory says {:08x}",
                member.crc32
            )));
        }
        Ok(())
    }

    /// Returns the offset of the compressed content, after the local header. The header's
    /// variable-length fields may differ from those in the directory.
    ///
    /// Source: PKWARE, "APPNOTE.TXT – .ZIP File Format Specification", 4.3.7.
    fn data_start(&self, member: &Member) -> Result<u64> {
        let mut header = [0_u8; HEADER_BYTES as usize];
        self.read_exact(&mut header, member.header_start)
            .map_err(|error| unreadable("has no readable header", &error))?;
        if !header.starts_with(b"PK\x03\x04") {
            return Err(Error::format(
                "has no header where the archive's directory says it begins",
            ));
        }
        let length = |at: usize| u64::from(u16::from_le_bytes([header[at], header[at + 1]]));
        Ok(member.header_start + HEADER_BYTES + length(26) + length(28))
    }

    fn read_exact(&self, mut buffer: &mut [u8], mut offset: u64) -> std::io::Result<()> {
        while !buffer.is_empty() {
            match self.file.read_at(buffer, offset) {
                Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    buffer = &mut buffer[count..];
                    offset += count as u64;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => (),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Rejects members that extend beyond the file, because their sizes determine how much memory is
/// allocated. Also rejects members that share bytes, which would let a small archive unpack to an
/// unlimited size. Leaves the members sorted by offset.
fn reject_impossible_offsets(members: &mut [Member], file_bytes: u64) -> Result<()> {
    let end = |member: &Member| {
        member
            .header_start
            .saturating_add(HEADER_BYTES)
            .saturating_add(member.compressed_bytes)
    };
    members.sort_unstable_by_key(|member| member.header_start);
    if let Some(beyond) = members.iter().find(|member| end(member) > file_bytes) {
        let detail = format!(
            "member `{}` declares {} packed bytes, but the file ends before",
            beyond.name, beyond.compressed_bytes
        );
        return Err(Error::format(detail));
    }
    if let Some(pair) = members
        .windows(2)
        .find(|pair| end(&pair[0]) > pair[1].header_start)
    {
        return Err(Error::format(format!(
            "members `{}` and `{}` share bytes",
            pair[0].name, pair[1].name
        )));
    }
    let mut next = file_bytes;
    for member in members.iter_mut().rev() {
        member.end = member.end.min(next);
        next = member.header_start;
    }
    Ok(())
}

/// Converts a read error. A file that ends too early is not in its declared format. Other errors
/// come from this machine or the connection.
fn unreadable(what: &str, error: &std::io::Error) -> Error {
    let detail = format!("{what}: {error}");
    if error.kind() == std::io::ErrorKind::UnexpectedEof {
        Error::format(detail)
    } else {
        Error::store(detail)
    }
}

fn is_match(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
    }
}

/// Reads a file through a buffer that is kept across seeks. A directory is read in many small
/// steps, each after a seek.
struct Window<'a> {
    file: &'a dyn ReadAt,
    size: u64,
    position: u64,
    buffer: Vec<u8>,
    buffer_start: u64,
}

impl<'a> Window<'a> {
    const BYTES: usize = 1 << 18;

    fn new(file: &'a dyn ReadAt, size: u64) -> Self {
        Self {
            file,
            size,
            position: 0,
            buffer: Vec::new(),
            buffer_start: 0,
        }
    }
}

impl Read for Window<'_> {
    fn read(&mut self, target: &mut [u8]) -> std::io::Result<usize> {
        let is_inside = self.position >= self.buffer_start
            && self.position < self.buffer_start + self.buffer.len() as u64;
        if !is_inside {
            self.buffer.resize(Self::BYTES, 0);
            let count = self.file.read_at(&mut self.buffer, self.position)?;
            self.buffer.truncate(count);
            self.buffer_start = self.position;
        }
        let rest = usize::try_from(self.position - self.buffer_start)
            .map_or(&[][..], |from| self.buffer.get(from..).unwrap_or_default());
        let count = rest.len().min(target.len());
        target[..count].copy_from_slice(&rest[..count]);
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for Window<'_> {
    fn seek(&mut self, target: SeekFrom) -> std::io::Result<u64> {
        let position = match target {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(distance) => self.size.checked_add_signed(distance),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
        };
        self.position =
            position.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::InvalidInput))?;
        Ok(self.position)
    }
}
