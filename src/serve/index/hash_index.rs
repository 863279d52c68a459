//! Finds rows by an exact key of one or more texts. Only a hash of the key is kept, so the key itself cannot be read back.

use crate::serve::index::file::{Column, stored};
use crate::serve::index::key_hash::hash;

/// Rows by key: hashes of the keys, sorted, and beside each its row. Twelve bytes for each entry; two keys with the same 64 bits are less likely
/// than a wrong bit in memory.
#[derive(Debug, Default)]
pub struct HashIndex {
    hashes: Column<u64>,
    rows: Column<u32>,
}

stored!(HashIndex { hashes, rows });

/// Entries on their way into an index.
#[derive(Debug, Default)]
pub struct HashIndexBuilder(Vec<(u64, u32)>);

impl HashIndexBuilder {
    pub fn add(&mut self, texts: &[&str], row: u32) {
        self.add_hash(hash(texts), row);
    }

    /// Adds a key by what [`hash`](crate::serve::index::key_hash::hash) makes of it.
    pub fn add_hash(&mut self, hash: u64, row: u32) {
        self.0.push((hash, row));
    }

    /// Sorts the entries; one that is there twice stays once.
    pub fn finish(mut self) -> HashIndex {
        self.0.sort_unstable();
        self.0.dedup();
        let (mut hashes, mut rows) = (Vec::with_capacity(self.0.len()), Vec::with_capacity(self.0.len()));
        for (hash, row) in self.0 {
            hashes.push(hash);
            rows.push(row);
        }
        HashIndex { hashes: hashes.into(), rows: rows.into() }
    }
}

impl HashIndex {
    /// The rows of a key, ascending.
    pub fn find(&self, texts: &[&str]) -> &[u32] {
        let hash = hash(texts);
        let start = self.hashes.partition_point(|known| *known < hash);
        let count = self.hashes[start..].partition_point(|known| *known == hash);
        &self.rows[start..start + count]
    }

    pub fn size_bytes(&self) -> usize {
        self.hashes.size_bytes() + self.rows.size_bytes()
    }
}
