use std::io::Write;
use std::path::PathBuf;

use pubdata_build::decode::Archive;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const MAX_MEMBER: u64 = 1 << 20;

/// Builds an archive of members, each with its content and whether it is compressed.
fn zipped(members: &[(&str, &[u8], bool)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content, is_packed) in members {
        let method = if *is_packed {
            CompressionMethod::Deflated
        } else {
            CompressionMethod::Stored
        };
        writer
            .start_file(
                *name,
                SimpleFileOptions::default().compression_method(method),
            )
            .unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

struct Place {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn placed(bytes: &[u8]) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("members.zip");
    std::fs::write(&path, bytes).unwrap();
    Place {
        path,
        _folder: folder,
    }
}

fn open(bytes: &[u8]) -> pubdata_core::error::Result<Archive> {
    Archive::open(&placed(bytes).path, "CIK*.json", MAX_MEMBER)
}

fn refusal(bytes: &[u8]) -> String {
    open(bytes)
        .map(|archive| archive.members().len())
        .unwrap_err()
        .to_string()
}

/// Replaces every occurrence of some bytes: names occur in a member's own header and in the
/// directory.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    let places: Vec<usize> = memchr::memmem::find_iter(&bytes, from).collect();
    assert!(!places.is_empty());
    places
        .into_iter()
        .for_each(|place| bytes[place..place + to.len()].copy_from_slice(to));
    bytes
}

#[test]
fn members_are_read_whole_in_any_order_and_by_several_threads() {
    let long = b"{\"facts\":0}".repeat(5_000);
    let archive = open(&zipped(&[
        ("CIK2.json", &long, true),
        ("notes.txt", b"no", true),
        ("CIK1.json", b"{}", false),
        ("CIK3.json", b"", true),
    ]))
    .unwrap();
    let names: Vec<&str> = archive
        .members()
        .iter()
        .map(|member| member.name.as_str())
        .collect();
    assert_eq!(names, ["CIK1.json", "CIK2.json", "CIK3.json"]);
    assert_eq!(archive.members()[1].size_bytes, long.len() as u64);
    assert_eq!(archive.members()[1].crc32, crc32fast::hash(&long));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut content = b"left from before".to_vec();
                for (name, expected) in [
                    ("CIK3.json", &b""[..]),
                    ("CIK2.json", &long),
                    ("CIK1.json", b"{}"),
                    ("CIK2.json", &long),
                ] {
                    archive
                        .read(archive.member(name).unwrap(), &mut content)
                        .unwrap();
                    assert_eq!(content, expected, "{name}");
                }
            });
        }
    });
    assert!(archive.member("notes.txt").is_none());
}

#[test]
fn duplicate_member_name_is_refused() {
    let bytes = replaced(
        &zipped(&[
            ("CIK1.json", b"{\"a\":1}", true),
            ("CIK2.json", b"{\"a\":2}", true),
        ]),
        b"CIK2.json",
        b"CIK1.json",
    );
    assert_eq!(
        refusal(&bytes),
        "1 members occur twice, so it is unclear which ones are valid: CIK1.json"
    );
}

#[test]
fn non_archive_or_truncated_archive_is_refused() {
    let whole = zipped(&[("CIK1.json", b"{}", true)]);
    for bytes in [
        &b"<!DOCTYPE html>"[..],
        b"",
        &whole[..whole.len() - 10],
        &whole[..whole.len() / 2],
    ] {
        assert!(
            refusal(bytes).starts_with("is not a readable ZIP archive"),
            "{}",
            refusal(bytes)
        );
    }
}

#[test]
fn damaged_content_is_refused_and_named() {
    let text = b"{\"facts\":{\"us-gaap\":{}}}".repeat(100);
    let read = |bytes: &[u8]| {
        let place = placed(bytes);
        let archive = Archive::open(&place.path, "CIK*.json", MAX_MEMBER).unwrap();
        archive
            .read(&archive.members()[0], &mut Vec::new())
            .unwrap_err()
            .to_string()
    };
    let stored = replaced(
        &zipped(&[("CIK1.json", b"{\"value\":1}", false)]),
        b"\"value\":1",
        b"\"value\":2",
    );
    assert!(
        read(&stored).starts_with("member `CIK1.json`: is damaged: its CRC-32 is"),
        "{}",
        read(&stored)
    );
    let packed = zipped(&[("CIK1.json", &text, true)]);
    let start = memchr::memmem::find(&packed, b"CIK1.json").unwrap() + "CIK1.json".len();
    for at in start..start + 12 {
        let mut bytes = packed.clone();
        bytes[at] ^= 0x5a;
        assert!(
            read(&bytes).starts_with("member `CIK1.json`: "),
            "{}",
            read(&bytes)
        );
    }
}

/// Sizes have fixed positions in both headers; a false size must be detected.
#[test]
fn member_that_differs_from_its_declared_size_is_refused() {
    let text = b"0123456789".repeat(50);
    let honest = zipped(&[("CIK1.json", &text, true)]);
    for claimed in [499_u32, 501, 400, 600, 1] {
        let lying = replaced(&honest, &500_u32.to_le_bytes(), &claimed.to_le_bytes());
        let place = placed(&lying);
        let message = match Archive::open(&place.path, "CIK*.json", MAX_MEMBER) {
            Ok(archive) => archive
                .read(&archive.members()[0], &mut Vec::new())
                .unwrap_err()
                .to_string(),
            Err(error) => error.to_string(),
        };
        assert!(
            message.contains("CIK1.json") || message.contains("readable ZIP"),
            "{claimed}: {message}"
        );
    }
}

#[test]
fn bombs_and_giants_are_refused_before_a_byte_is_decompressed() {
    let bomb = zipped(&[("CIK1.json", &vec![b' '; 900_000], true)]);
    assert!(
        refusal(&bomb).contains("times when decompressed, more than 500"),
        "{}",
        refusal(&bomb)
    );
    let mut giant = Vec::new();
    for number in 0..300_000_u32 {
        giant.extend(number.to_le_bytes());
    }
    assert!(
        refusal(&zipped(&[("CIK1.json", &giant, true)]))
            .contains("declares 1200000 bytes, more than the 1048576")
    );
}

/// The declared size is used before the bytes are read, so it decides how much memory is allocated.
#[test]
fn member_that_extends_beyond_the_file_or_into_another_is_refused() {
    let text = b"0123456789".repeat(50);
    let honest = zipped(&[("CIK1.json", &text, true), ("CIK2.json", &text, true)]);
    let packed: [u8; 4] = honest[18..22].try_into().unwrap();
    let beyond = replaced(&honest, &packed, &0x7fff_ff00_u32.to_le_bytes());
    assert!(
        refusal(&beyond)
            .contains("`CIK1.json` declares 2147483392 packed bytes, but the file ends before"),
        "{}",
        refusal(&beyond)
    );
    // Both entries of the directory lead to the first member.
    let mut shared = honest.clone();
    let second = memchr::memmem::rfind(&honest, b"PK\x01\x02").unwrap();
    shared[second + 42..second + 46].copy_from_slice(&0_u32.to_le_bytes());
    assert!(
        refusal(&shared).contains("`CIK1.json` and `CIK2.json` share bytes"),
        "{}",
        refusal(&shared)
    );
}

/// Each member stays below the growth limit of a member, but together they exceed that of a text
/// archive.
#[test]
fn members_that_together_exceed_the_growth_limit_are_refused() {
    // Eight random bytes in three thousand: each member grows about two hundred times.
    let piece = |number: u64| {
        format!(
            "{:016x}{}",
            number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            "x".repeat(3_000)
        )
    };
    let repeated: Vec<u8> = (1..)
        .flat_map(|number| piece(number).into_bytes())
        .take(1 << 20)
        .collect();
    let names: Vec<String> = (0..1_100)
        .map(|number| format!("CIK{number}.json"))
        .collect();
    let members: Vec<(&str, &[u8], bool)> = names
        .iter()
        .map(|name| (name.as_str(), repeated.as_slice(), true))
        .collect();
    let message = refusal(&zipped(&members));
    assert!(
        message.contains("its members declare 1153433600 bytes together")
            && message.contains("times the archive, more than 100"),
        "{message}"
    );
    assert_eq!(
        open(&zipped(&members[..500])).unwrap().members().len(),
        500,
        "small members may grow more than large ones"
    );
}

/// A 64-bit end record that declares more members than any file can list must not decide how much
/// memory is allocated.
#[test]
fn end_record_with_more_members_than_the_file_can_hold_is_refused() {
    let honest = zipped(&[("CIK1.json", b"{}", true)]);
    let end = memchr::memmem::rfind(&honest, b"PK\x05\x06").unwrap();
    let (directory, number) = (
        memchr::memmem::find(&honest, b"PK\x01\x02").unwrap() as u64,
        1_u64 << 36,
    );
    let mut lying = honest[..end].to_vec();
    let record = lying.len() as u64;
    lying.extend(b"PK\x06\x06");
    lying.extend(44_u64.to_le_bytes());
    lying.extend([45, 0, 45, 0]);
    lying.extend([0; 8]);
    for field in [number, number, number * 46, directory] {
        lying.extend(field.to_le_bytes());
    }
    lying.extend(b"PK\x06\x07\0\0\0\0");
    lying.extend(record.to_le_bytes());
    lying.extend(1_u32.to_le_bytes());
    lying.extend(b"PK\x05\x06\0\0\0\0");
    lying.extend([0xFF; 12]);
    lying.extend([0, 0]);
    let place = placed(&lying);
    let error = pubdata_build::decode::member_name(&place.path, "*.json")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("its end record declares 68719476736 members"),
        "{error}"
    );
}

/// In a table's archive, members with other names may be duplicated.
#[test]
fn duplicate_member_of_a_table_is_refused() {
    let zipped = zipped(&[
        ("rates.csv", b"a\n1\n", true),
        ("notes.csv", b"a\n2\n", true),
        ("Notes.csv", b"a\n3\n", true),
    ]);
    let twice = placed(&replaced(&zipped, b"notes.csv", b"rates.csv"));
    let error = pubdata_build::decode::member_name(&twice.path, "rates.csv")
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "member `rates.csv` occurs twice, so it is unclear which one is valid"
    );
    let others = placed(&replaced(&zipped, b"Notes.csv", b"notes.csv"));
    assert_eq!(
        pubdata_build::decode::member_name(&others.path, "rates.csv").unwrap(),
        "rates.csv"
    );
    assert!(
        pubdata_build::decode::member_names(&others.path, "notes*")
            .unwrap_err()
            .to_string()
            .contains("`notes.csv` occurs twice")
    );
}
