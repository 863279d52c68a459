//! Which records a part has, as far as it takes not to look for a record where it is not: four
//! bytes for each, kept with other parts in memory.

use bytes::Bytes;

use super::part_cache::CachedPart;
use super::table::Table;
use pubdata_core::error::Result;
use pubdata_core::ids::Digest;

/// Hashes of the ids of a part's records, ascending.
pub struct RecordIds(Vec<u32>);

impl RecordIds {
    /// Whether the part may have the record. Of four thousand million ids that it has not, one for
    /// each of its own is taken for one that it has.
    pub fn may_have(&self, record_id: &str) -> bool {
        self.0.binary_search(&hash(record_id)).is_ok()
    }
}

impl CachedPart for RecordIds {
    // Of whatever dataset: what is kept is found by the part's digest.
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
    let digest = Digest::of(record_id.as_bytes());
    u32::from_be_bytes(
        digest.as_bytes()[..4]
            .try_into()
            .expect("a digest has 32 bytes"),
    )
}
