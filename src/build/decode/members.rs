//! Reads whole members of ZIP archives of very many documents, from several threads at once. Size
//! and CRC-32 are checked on every read.

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

use super::archive::{MAX_RATIO, refuse_endless_total};
use pubdata_core::error::{Error, IoExt, Result};

/// Bytes of a member's own header before its name.
const HEADER_BYTES: u64 = 30;

/// Bytes of the name and the extra field of a member's own header at most: each has a length of 16
/// bits.
const HEADER_TEXT_BYTES: u64 = 2 * 0xffff;

/// The bytes of a file, on this machine or elsewhere. Several threads may read at the same time.
pub trait ReadAt: Debug + Send + Sync {
    /// Size of the file.
    ///
    /// # Errors
    /// When it cannot be asked for.
    fn size(&self) -> std::io::Result<u64>;

    /// Reads bytes from an offset on, until the buffer is full or the file ends; returns how many.
    ///
    /// # Errors
    /// When they cannot be read.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize>;

    /// Says what is read next, sorted by place: what is elsewhere comes at once.
    ///
    /// # Errors
    /// When it does not come.
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

/// A ZIP archive of very many documents, each read whole. Several threads may read members at the
/// same time; the directory is read once and only what is needed of it is kept.
#[derive(Debug)]
pub struct Archive {
    file: Arc<dyn ReadAt>,
    members: Vec<Member>,
}

/// A member of an archive as its directory describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    /// CRC-32 of the content.
    pub crc32: u32,
    /// Size of the content.
    pub size_bytes: u64,
    compressed_bytes: u64,
    header_start: u64,
    /// Where its bytes end at the latest: the next member begins, or the file ends.
    end: u64,
    is_deflated: bool,
}

impl Member {
    /// Where its header and its packed content are in the archive; some bytes behind them may be
    /// another's.
    pub fn range(&self) -> Range<u64> {
        self.header_start..self.end
    }
}

impl Archive {
    /// Reads the directory of an archive. `pattern` is a name with at most one `*`; other members
    /// are left out.
    ///
    /// # Shape
    /// Members sorted by name.
    ///
    /// # Errors
    /// `Format`, when the file is no ZIP archive, a name is there twice, or a member is encrypted,
    /// too large, or not deflated or stored.
    pub fn open(path: &Path, pattern: &str, max_member_bytes: u64) -> Result<Self> {
        Self::of(
            Arc::new(File::open(path).at("open", path)?),
            pattern,
            max_member_bytes,
        )
    }

    /// Reads the directory of an archive that may be elsewhere, as [`Archive::open`] does.
    ///
    /// # Errors
    /// As [`Archive::open`]; `Store`, when its bytes do not come.
    pub fn of(file: Arc<dyn ReadAt>, pattern: &str, max_member_bytes: u64) -> Result<Self> {
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
                "{} members are there twice, and which one counts cannot be told: {shown}",
                repeated.len()
            )));
        }
        refuse_impossible_places(&mut members, file_bytes)?;
        refuse_endless_total(members.iter().map(|member| member.size_bytes), file_bytes)?;
        members.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(Self { file, members })
    }

    /// The members that match, sorted by name.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The member of that name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        let place = self
            .members
            .binary_search_by(|member| member.name.as_str().cmp(name))
            .ok()?;
        Some(&self.members[place])
    }

    /// Where what is behind every member begins: the directory, by which the members are found.
    pub fn directory_start(&self) -> u64 {
        self.members
            .iter()
            .map(|member| member.header_start + HEADER_BYTES + member.compressed_bytes)
            .max()
            .unwrap_or(0)
    }

    /// Says which members are read next: those of an archive that is elsewhere come at once, in
    /// place of one by one.
    ///
    /// # Errors
    /// `Store`, when they do not come.
    pub fn expect<'m>(&self, members: impl Iterator<Item = &'m Member>) -> Result<()> {
        let mut ranges: Vec<Range<u64>> = members.map(Member::range).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        self.file
            .expect(&ranges)
            .map_err(|error| Error::store(format!("members of the archive do not come: {error}")))
    }

    /// Reads a member into a buffer, whose content is replaced. Never writes more than the size the
    /// directory declares.
    ///
    /// # Errors
    /// `Format`, naming the member, when its bytes are cut short, cannot be decompressed, or have
    /// another size or CRC-32 than declared.
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
            // A larger buffer is a new one: growing copies. What was there is written over: only
            // what is new is set to zero.
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
                "has {} bytes, and declares {size}",
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

    /// First byte of the packed content: behind the member's own header, whose variable parts
    /// differ from the directory's.
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

/// Refuses members that go beyond the file, whose sizes must not decide how much memory is asked
/// for, and members that share bytes, by which a small archive unpacks without end. Leaves the
/// members in the order of their places.
fn refuse_impossible_places(members: &mut [Member], file_bytes: u64) -> Result<()> {
    let end = |member: &Member| {
        member
            .header_start
            .saturating_add(HEADER_BYTES)
            .saturating_add(member.compressed_bytes)
    };
    members.sort_unstable_by_key(|member| member.header_start);
    if let Some(beyond) = members.iter().find(|member| end(member) > file_bytes) {
        let detail = format!(
            "member `{}` declares {} packed bytes, and the file ends before",
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

/// A file that ends too early is not what it was declared to be; anything else is this machine's,
/// or the way to the file.
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

/// Reads a file through a buffer that outlives seeks: a directory is read by many small steps, each
/// behind a seek.
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
