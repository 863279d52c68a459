//! Builds valid and damaged archives.

/// A ZIP archive of the given members.
pub fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    use std::io::Write;
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer
            .start_file(
                *name,
                zip::write::SimpleFileOptions::default()
                    .compression_method(zip::CompressionMethod::Deflated),
            )
            .unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// An archive with flipped bytes in its first member's data: intact as a file, with a wrong
/// checksum.
pub fn corrupt_archive(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut archive = archive(&[(name, bytes)]);
    let data_at = 30 + name.len();
    let middle = data_at + (memchr::memmem::rfind(&archive, b"PK\x01\x02").unwrap() - data_at) / 2;
    archive[middle] ^= 0xFF;
    archive
}

/// An archive of a few kilobytes that inflates to this number of bytes, all the same letter.
pub fn bomb(name: &str, inflated_bytes: usize) -> Vec<u8> {
    archive(&[(name, &vec![b'A'; inflated_bytes])])
}
