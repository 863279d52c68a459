//! Finds rows by an exact key that consists of one or more strings. The index stores only a hash of
//! each key, so keys cannot be read back.

use crate::index::file::{Column, stored};
use crate::index::key_hash::hash;
use crate::index::search_near;

/// Sorted hashes of keys, each with its row; twelve bytes per entry. Two keys with the same 64-bit
/// hash are less likely than a flipped bit in memory.
#[derive(Debug, Default)]
pub struct HashIndex {
    hashes: Column<u64>,
    rows: Column<u32>,
}

stored!(HashIndex { hashes, rows });

/// Entries of an index under construction.
#[derive(Debug, Default)]
pub struct HashIndexBuilder(Vec<(u64, u32)>);

impl HashIndexBuilder {
    pub fn add(&mut self, texts: &[&str], row: u32) {
        self.add_hash(hash(texts), row);
    }

    /// Adds a key by its [`hash`](crate::index::key_hash::hash).
    pub fn add_hash(&mut self, hash: u64, row: u32) {
        self.0.push((hash, row));
    }

    /// Sorts the entries and removes duplicates.
    pub fn finish(mut self) -> HashIndex {
        self.0.sort_unstable();
        self.0.dedup();
        let (mut hashes, mut rows) = (
            Vec::with_capacity(self.0.len()),
            Vec::with_capacity(self.0.len()),
        );
        for (hash, row) in self.0 {
            hashes.push(hash);
            rows.push(row);
        }
        HashIndex {
            hashes: hashes.into(),
            rows: rows.into(),
        }
    }
}

impl HashIndex {
    /// Returns the rows of a key in ascending order.
    pub fn find(&self, texts: &[&str]) -> &[u32] {
        let hash = hash(texts);
        let start = self.place(hash);
        let count = self.hashes[start..]
            .iter()
            .take_while(|known| **known == hash)
            .count();
        &self.rows[start..start + count]
    }

    /// Returns the index of the first hash that is not below another. Hashes are evenly
    /// distributed, so the search starts near the expected index.
    fn place(&self, hash: u64) -> usize {
        let guess = ((u128::from(hash) * self.hashes.len() as u128) >> 64) as usize;
        search_near(&self.hashes, guess, |known| *known < hash)
    }

    pub fn size_bytes(&self) -> usize {
        self.hashes.size_bytes() + self.rows.size_bytes()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::HashIndexBuilder;

    proptest! {
        /// Uses evenly distributed hashes, and some clusters.
        #[test]
        fn search_finds_first_hash_not_below(hashes in prop::collection::vec(prop_oneof![any::<u64>(), 0_u64..9, u64::MAX - 9..=u64::MAX], 0..80), other in any::<u64>()) {
            let mut builder = HashIndexBuilder::default();
            (0..).zip(&hashes).for_each(|(row, hash)| builder.add_hash(*hash, row));
            let index = builder.finish();
            for hash in hashes.into_iter().chain([other, 0, 4, u64::MAX - 4, u64::MAX]) {
                prop_assert_eq!(index.place(hash), index.hashes.iter().filter(|known| **known < hash).count());
            }
        }
    }
}
