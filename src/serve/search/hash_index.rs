//! Finds rows by an exact key of one or more texts. Only a hash of the key is kept, so the key itself cannot be read back.

#[expect(clippy::disallowed_types, reason = "these hashes never leave the process")]
use std::hash::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Rows by key: hashes of the keys, sorted, and beside each its row. Twelve bytes for each entry; two keys with the same 64 bits are less likely
/// than a wrong bit in memory.
#[derive(Debug, Default)]
pub struct HashIndex {
    hashes: Vec<u64>,
    rows: Vec<u32>,
}

/// Entries on their way into an index.
#[derive(Debug, Default)]
pub struct HashIndexBuilder(Vec<(u64, u32)>);

/// Hash of a key that is made of texts.
#[expect(clippy::disallowed_types, reason = "these hashes never leave the process")]
pub fn hash(texts: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    hasher.finish()
}

impl HashIndexBuilder {
    pub fn add(&mut self, texts: &[&str], row: u32) {
        self.add_hash(hash(texts), row);
    }

    /// Adds a key by what [`hash`] makes of it.
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
        HashIndex { hashes, rows }
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
        8 * self.hashes.capacity() + 4 * self.rows.capacity()
    }
}
