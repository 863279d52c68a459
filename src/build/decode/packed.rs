//! Unpacks the beginning of a member from a partially fetched ZIP archive and packs it as a small
//! archive, for a probe.

use std::io::{Cursor, Read, Seek, SeekFrom, Write};

use flate2::{Decompress, FlushDecompress, Status};
use zip::read::Config;
use zip::unstable::read::ZipIterable;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::archive::{self, is_match};
use pubdata_core::error::{Error, Result};

/// Number of bytes at the end of an archive that cover its end records, including the ZIP64
/// records.
pub const TAIL_BYTES: u64 = archive::TAIL_BYTES;

/// Parts of a partially fetched ZIP archive.
pub struct ArchiveParts {
    total: u64,
    parts: Vec<(u64, Vec<u8>)>,
}

/// An archive member, as described in the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedMember {
    pub name: String,
    /// Offset of the member's local header.
    pub start: u64,
    modified: Option<DateTime>,
}

impl ArchiveParts {
    pub fn new(total: u64, parts: Vec<(u64, Vec<u8>)>) -> Self {
        Self { total, parts }
    }

    /// Adds bytes at an offset.
    pub fn add(&mut self, start: u64, bytes: Vec<u8>) {
        self.parts.push((start, bytes));
    }

    /// Returns the directory's offset and length from the archive's end record, or none if the end
    /// of the archive is missing.
    ///
    /// Source: PKWARE, "APPNOTE.TXT – .ZIP File Format Specification", 4.3.14 to 4.3.16.
    pub fn directory(&self) -> Option<(u64, u64)> {
        let (_, tail) = self
            .parts
            .iter()
            .find(|(start, bytes)| start + bytes.len() as u64 == self.total)?;
        let number = |record: &[u8], at: usize, length: usize| {
            record.get(at..at + length).map(|bytes| {
                bytes
                    .iter()
                    .rev()
                    .fold(0_u64, |number, byte| (number << 8) | u64::from(*byte))
            })
        };
        let end = &tail[memchr::memmem::rfind(tail, b"PK\x05\x06")?..];
        let (length, start) = (number(end, 12, 4)?, number(end, 16, 4)?);
        if length != u64::from(u32::MAX) && start != u64::from(u32::MAX) {
            return Some((start, length));
        }
        let end = &tail[memchr::memmem::rfind(tail, b"PK\x06\x06")?..];
        Some((number(end, 48, 8)?, number(end, 40, 8)?))
    }

    /// Returns the matching member with the lowest offset. The pattern is a name with at most one
    /// `*`, in which `#` stands for one digit.
    ///
    /// # Errors
    /// `Format` if the directory cannot be read, or no member matches.
    pub fn first_member(&self, pattern: &str) -> Result<PackedMember> {
        let unreadable = |error: zip::result::ZipError| {
            Error::format(format!("its directory cannot be read: {error}"))
        };
        let mut directory = ZipIterable::try_new(
            PartsReader {
                parts: self,
                position: 0,
            },
            Config::default(),
        )
        .map_err(unreadable)?;
        let pattern = pattern.to_lowercase();
        let (mut found, mut names): (Option<PackedMember>, Vec<String>) = (None, Vec::new());
        for entry in directory.files().map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.name().map_err(unreadable)?.into_owned();
            if is_match(&pattern, &name.to_lowercase())
                && found
                    .as_ref()
                    .is_none_or(|found| entry.header_start() < found.start)
            {
                found = Some(PackedMember {
                    name: name.clone(),
                    start: entry.header_start(),
                    modified: entry.last_modified(),
                });
            }
            if names.len() < 20 {
                names.push(name);
            }
        }
        found.ok_or_else(|| {
            Error::format(format!(
                "no member matches `{pattern}`; members: {}",
                names.join(", ")
            ))
        })
    }
}

/// Returns an archive's first member, parsed from the archive's first bytes.
pub fn leading_member(bytes: &[u8]) -> Option<PackedMember> {
    let length = usize::from(u16::from_le_bytes([*bytes.get(26)?, *bytes.get(27)?]));
    let name = bytes
        .strip_prefix(b"PK\x03\x04")
        .and_then(|_| bytes.get(30..30 + length))?;
    Some(PackedMember {
        name: String::from_utf8_lossy(name).into_owned(),
        start: 0,
        modified: None,
    })
}

/// Reports whether a member's name matches a pattern. The pattern is a name with at most one `*`,
/// in which `#` stands for one digit.
pub fn is_member_of(pattern: &str, name: &str) -> bool {
    is_match(&pattern.to_lowercase(), &name.to_lowercase())
}

/// Unpacks at most `most` bytes of a member from bytes that begin with the member's header. Also
/// returns true if the result is the entire member.
///
/// # Errors
/// `Format` if the header is missing, or the member has an unknown compression method.
pub fn unpack_start(bytes: &[u8], most: usize) -> Result<(Vec<u8>, bool)> {
    const FIXED_BYTES: usize = 30;
    let number = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    if bytes.len() < FIXED_BYTES || !bytes.starts_with(b"PK\x03\x04") {
        return Err(Error::format(
            "the member has no header where the archive's directory says it begins",
        ));
    }
    let data = bytes
        .get(FIXED_BYTES + number(26) + number(28)..)
        .unwrap_or_default();
    match number(8) {
        0 => {
            let size = u32::from_le_bytes([bytes[22], bytes[23], bytes[24], bytes[25]]) as usize;
            let content = &data[..data.len().min(size).min(most)];
            Ok((content.to_vec(), content.len() == size))
        }
        8 => {
            let mut content = Vec::with_capacity(most);
            let status =
                Decompress::new(false).decompress_vec(data, &mut content, FlushDecompress::Sync);
            // The input may end in the middle of a block, which is expected.
            Ok((content, matches!(status, Ok(Status::StreamEnd))))
        }
        method => Err(Error::format(format!(
            "the member is packed by a method this program does not read ({method})"
        ))),
    }
}

/// Packs one member into an archive, with the publisher's name and date.
///
/// # Errors
/// `Format` if the member's name cannot be written.
pub fn pack(member: &PackedMember, content: &[u8]) -> Result<Vec<u8>> {
    let unwritable = |error: String| {
        Error::format(format!(
            "member `{}` cannot be written: {error}",
            member.name
        ))
    };
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    let options = member
        .modified
        .map_or(options, |modified| options.last_modified_time(modified));
    writer
        .start_file(member.name.as_str(), options)
        .map_err(|error| unwritable(error.to_string()))?;
    writer
        .write_all(content)
        .map_err(|error| unwritable(error.to_string()))?;
    Ok(writer
        .finish()
        .map_err(|error| unwritable(error.to_string()))?
        .into_inner())
}

/// Reads the parts that are present, and zeros everywhere else. A search for the archive's end
/// skips zeros, and zeros are not a valid directory.
struct PartsReader<'a> {
    parts: &'a ArchiveParts,
    position: u64,
}

impl Read for PartsReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let here = self.parts.parts.iter().find_map(|(start, bytes)| {
            bytes
                .get(usize::try_from(self.position.checked_sub(*start)?).ok()?..)
                .filter(|rest| !rest.is_empty())
        });
        match here {
            Some(rest) => {
                let count = rest.len().min(buffer.len());
                buffer[..count].copy_from_slice(&rest[..count]);
                self.position += count as u64;
                Ok(count)
            }
            None if self.position >= self.parts.total => Ok(0),
            None => {
                let next = self
                    .parts
                    .parts
                    .iter()
                    .map(|(start, _)| *start)
                    .filter(|start| *start > self.position)
                    .min()
                    .unwrap_or(self.parts.total);
                let count = usize::try_from(next - self.position)
                    .unwrap_or(usize::MAX)
                    .min(buffer.len());
                buffer[..count].fill(0);
                self.position += count as u64;
                Ok(count)
            }
        }
    }
}

impl Seek for PartsReader<'_> {
    fn seek(&mut self, target: SeekFrom) -> std::io::Result<u64> {
        let position = match target {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(distance) => self.parts.total.checked_add_signed(distance),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
        };
        self.position =
            position.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::InvalidInput))?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str) -> PackedMember {
        PackedMember {
            name: name.to_owned(),
            start: 0,
            modified: None,
        }
    }

    #[test]
    fn member_is_found_and_unpacked_from_parts_of_its_archive() {
        let text: String = (0..20_000)
            .map(|line| format!("{line},{}\n", line * 7919 % 10_007))
            .collect();
        let archive = pack(&member("List_2026.csv"), text.as_bytes()).unwrap();
        let total = archive.len() as u64;
        assert!(total > 20_000);
        let mut parts = ArchiveParts::new(
            total,
            vec![(total - 200, archive[archive.len() - 200..].to_vec())],
        );
        let (start, length) = parts.directory().unwrap();
        assert!(start + length < total && start > total - 200);
        let found = parts.first_member("list_####.csv").unwrap();
        assert_eq!((found.name.as_str(), found.start), ("List_2026.csv", 0));
        let (content, is_whole) = unpack_start(&archive[..10_000], 1 << 20).unwrap();
        assert!(!is_whole && content.len() > 5_000 && text.as_bytes().starts_with(&content));
        let (content, is_whole) = unpack_start(&archive, 1 << 20).unwrap();
        assert_eq!((content.as_slice(), is_whole), (text.as_bytes(), true));
        let (content, is_whole) = unpack_start(&archive, 100).unwrap();
        assert_eq!(
            (content.as_slice(), is_whole),
            (&text.as_bytes()[..100], false)
        );
        parts.add(0, archive[..100].to_vec());
        assert!(
            parts
                .first_member("other.csv")
                .unwrap_err()
                .to_string()
                .contains("List_2026.csv")
        );
        assert_eq!(
            leading_member(&archive[..100]).unwrap().name,
            "List_2026.csv"
        );
    }

    #[test]
    fn what_is_no_archive_has_no_directory_and_no_member() {
        assert_eq!(
            ArchiveParts::new(5, vec![(0, b"hello".to_vec())]).directory(),
            None
        );
        assert!(
            ArchiveParts::new(5, vec![(0, b"hello".to_vec())])
                .first_member("*")
                .is_err()
        );
        assert_eq!(
            leading_member(b"hello, this is text and not an archive"),
            None
        );
        assert!(unpack_start(b"hello", 10).is_err());
    }
}
