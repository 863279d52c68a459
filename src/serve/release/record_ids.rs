//! Indexes the record ids of a part, to skip parts that do not contain a record. The index takes
//! four bytes per record, and is cached in memory like other parts.

use bytes::Bytes;

use super::part_cache::CachedPart;
use super::table::Table;
use pubdata_core::error::Result;
use pubdata_core::ids::Digest;

/// Hashes of the record ids in a part, in ascending order.
pub struct RecordIds(Vec<u32>);

impl RecordIds {
    /// Reports whether the part may contain the record. For a part with n records, the probability
    /// of a false positive is n in 2^32.
    pub fn may_contain(&self, record_id: &str) -> bool {
        self.0.binary_search(&hash(record_id)).is_ok()
    }
}

impl CachedPart for RecordIds {
    // Shared by all datasets: the part's digest identifies the entry.
    const DATASET_ID: &'static str = "record ids";

    fn read(bytes: Bytes, path: &str) -> Result<Self> {
        let mut hashes = Vec::new();
        Table::each(bytes, &["record_id"], path, |table| {
            let ids = table.texts("record_id")?;
            hashes.extend((0..table.rows()).map(|row| hash(ids.at(row))));
            Ok(())
        })?;
        hashes.sort_unstable();
        hashes.dedup();
        hashes.shrink_to_fit();
        Ok(Self(hashes))
    }

    fn size_bytes(&self) -> usize {
        size_of::<u32>() * self.0.capacity()
    }
}

fn hash(record_id: &str) -> u32 {
    let digest = Digest::sha256(record_id.as_bytes());
    u32::from_be_bytes(
        digest.as_bytes()[..4]
            .try_into()
            .expect("a digest has 32 bytes"),
    )
}
