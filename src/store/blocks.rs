//! Hashes a file as a whole and block by block. The digest detects damage, and the block checksums
//! locate it.

use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::files::open_file;
use pubdata_core::error::{IoExt, Result};
use pubdata_core::ids::{Digest, Hasher};

/// Block size: small enough to locate damage, and large enough that the checksums of a 10 GB file
/// take only a few megabytes.
const BLOCK_BYTES: usize = 64 * 1024;

/// Computes the digest of a file and a checksum of each of its blocks.
#[derive(Clone, Default)]
pub(super) struct BlockHasher {
    digest: Hasher,
    block: crc32fast::Hasher,
    filled: usize,
    sums: Vec<u32>,
}

/// CRC-32 of each block of a snapshot, stored next to the snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BlockSums {
    block_bytes: usize,
    crc32: Vec<u32>,
}

impl BlockHasher {
    /// Adds the next bytes of the file.
    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        self.digest.update(bytes);
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.filled));
            self.block.update(now);
            self.filled += now.len();
            if self.filled == BLOCK_BYTES {
                self.close_block();
            }
            bytes = later;
        }
    }

    fn close_block(&mut self) {
        self.sums.push(std::mem::take(&mut self.block).finalize());
        self.filled = 0;
    }

    /// Returns the digest of all bytes so far.
    pub(super) fn digest(&self) -> Digest {
        self.digest.clone().finish()
    }

    /// Returns the checksums of all blocks. The last block may be shorter.
    pub(super) fn sums(&self) -> BlockSums {
        let mut whole = self.clone();
        if whole.filled > 0 {
            whole.close_block();
        }
        BlockSums {
            block_bytes: BLOCK_BYTES,
            crc32: whole.sums,
        }
    }
}

impl BlockSums {
    /// Returns the byte ranges in which two files differ. Adjacent blocks form one range.
    pub(super) fn differences(&self, other: &Self) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        // The checksums are from a damaged file or from another version of the program.
        if self.block_bytes != other.block_bytes {
            return ranges;
        }
        for index in 0..self.crc32.len().max(other.crc32.len()) {
            if self.crc32.get(index) == other.crc32.get(index) {
                continue;
            }
            let start = (index * self.block_bytes) as u64;
            let end = start + self.block_bytes as u64;
            match ranges.last_mut() {
                Some(last) if last.1 == start => last.1 = end,
                _ => ranges.push((start, end)),
            }
        }
        ranges
    }
}

/// Hashes a file from beginning to end.
pub(super) fn hash_file(path: &Path) -> Result<BlockHasher> {
    let mut file = open_file(path).at("open", path)?;
    let mut hasher = BlockHasher::default();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer).at("read", path)? {
            0 => return Ok(hasher),
            length => hasher.update(&buffer[..length]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashed(bytes: &[u8], piece: usize) -> BlockHasher {
        let mut hasher = BlockHasher::default();
        bytes.chunks(piece).for_each(|piece| hasher.update(piece));
        hasher
    }

    #[test]
    fn flipped_byte_is_found_in_its_block() {
        let good: Vec<u8> = (0..200_000_u32)
            .map(|number| (number % 251) as u8)
            .collect();
        let mut bad = good.clone();
        bad[70_000] ^= 1;
        assert_eq!(
            hashed(&good, 1_000).sums(),
            hashed(&good, 65_536).sums(),
            "pieces do not matter"
        );
        assert_eq!(hashed(&good, 1_000).digest(), Digest::sha256(&good));
        assert_eq!(
            hashed(&good, 999)
                .sums()
                .differences(&hashed(&bad, 999).sums()),
            [(65_536, 131_072)]
        );
        assert_eq!(
            hashed(&good, 999)
                .sums()
                .differences(&hashed(&good[..150_000], 999).sums()),
            [(131_072, 262_144)]
        );
        assert_eq!(
            hashed(&good, 999)
                .sums()
                .differences(&hashed(&good, 7).sums()),
            []
        );
    }

    #[test]
    fn sums_of_blocks_of_another_size_say_no_place() {
        let good = hashed(&[1; 200_000], 999).sums();
        for block_bytes in [0, 1, usize::MAX] {
            assert_eq!(
                BlockSums {
                    block_bytes,
                    crc32: vec![1, 2, 3]
                }
                .differences(&good),
                []
            );
        }
    }
}
