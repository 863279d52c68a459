//! Checks archives: three readers find, read and check members, and all that succeed must return
//! the same bytes.

use pubdata_build::decode::{Archive, ArchiveParts, PackedMember, leading_member, member_date, member_name, member_names, pack, read_range, unpack_start};
use pubdata_core::pipeline::{Encoding, Format};

use crate::{place, tables};

const MAX_BYTES: u64 = 1 << 20;

/// Returns an archive of stored members.
pub fn stored(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let start = archive.len() as u32;
        let mut common = Vec::new();
        common.extend([20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0]);
        common.extend(crc32fast::hash(content).to_le_bytes());
        common.extend((content.len() as u32).to_le_bytes());
        common.extend((content.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        archive.extend(b"PK\x03\x04".iter().chain(&common));
        archive.extend(name.as_bytes().iter().chain(*content));
        directory.extend(b"PK\x01\x02\x14\x00".iter().chain(&common));
        directory.extend([0; 10]);
        directory.extend(start.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let start = archive.len() as u32;
    archive.extend(&directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([(members.len() as u16).to_le_bytes(), (members.len() as u16).to_le_bytes()].concat());
    archive.extend((directory.len() as u32).to_le_bytes());
    archive.extend(start.to_le_bytes());
    archive.extend([0, 0]);
    archive
}

/// Reads any bytes as an archive.
pub fn zip(bytes: &[u8]) {
    let path = place::file("archive", bytes);
    let _ = member_name(&path, "*.txt");
    let _ = member_names(&path, "a##*.csv");
    let names = member_names(&path, "*").unwrap_or_default();
    for name in names.iter().take(4) {
        let _ = member_date(&path, name);
        let _ = read_range(&path, Some(name), 1, 3, MAX_BYTES);
    }
    let Ok(archive) = Archive::open(&path, "*", MAX_BYTES) else { return };
    let (mut content, mut again) = (Vec::new(), vec![1; 10]);
    for member in archive.members().iter().take(4) {
        assert_eq!(archive.member(&member.name), Some(member));
        if archive.read(member, &mut content).is_err() {
            continue;
        }
        archive.read(member, &mut again).expect("what was read is read again");
        assert_eq!(content, again);
        assert_eq!(content.len() as u64, member.size_bytes);
        if names.contains(&member.name) {
            let other = read_range(&path, Some(&member.name), 0, member.size_bytes, MAX_BYTES);
            assert_eq!(other.expect("the other reader reads it"), content, "two readers of `{}`", member.name);
            tables::check(&path, &content, &table(), Some(&member.name), None);
        }
    }
}

fn table() -> Format {
    Format::Delimited {
        delimiters: vec![',', '|'],
        quoting: true,
        escape: None,
        header: Vec::new(),
        fewest_cells: None,
        label_lines: 0,
        header_start: None,
        ruler: None,
        normalized_header: false,
        encoding: Encoding::Utf8OrWindows1252,
    }
}

/// Reads an archive of which only parts are present: two bytes choose the parts, then the archive
/// follows.
pub fn parts(data: &[u8]) {
    let (head, data) = place::choice(data);
    let (tail, bytes) = place::choice(data);
    let part = |share: u8| bytes.len() * usize::from(share) / 255;
    let total = bytes.len() as u64;
    let tail_start = bytes.len() - part(tail);
    let mut parts = ArchiveParts::new(total, vec![(tail_start as u64, bytes[tail_start..].to_vec())]);
    let _ = parts.directory();
    let _ = parts.first_member("*");
    parts.add(0, bytes[..part(head)].to_vec());
    let _ = parts.directory();
    if let Ok(member) = parts.first_member("*") {
        let start = usize::try_from(member.start).ok().and_then(|start| bytes.get(start..));
        through_a_small_archive(&member, start.unwrap_or_default());
    }
    if let Some(member) = leading_member(bytes) {
        through_a_small_archive(&member, bytes);
    }
}

fn through_a_small_archive(member: &PackedMember, bytes: &[u8]) {
    let Ok((content, _)) = unpack_start(bytes, 1 << 16) else { return };
    assert!(content.len() <= 1 << 16);
    let Ok(packed) = pack(member, &content) else { return };
    let (unpacked, is_whole) = unpack_start(&packed, 1 << 17).expect("our own archive is read");
    assert!(is_whole && unpacked == content, "what was packed is unpacked");
}
