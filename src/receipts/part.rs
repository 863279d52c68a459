//! The leaves of a part: one for each record, in the order of their ids.

use arrow::array::{Array, AsArray};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use rayon::prelude::*;

use super::record::CanonicalRecords;
use super::tree::leaf_hash_of;
use crate::error::{Error, Result};
use crate::ids::Digest;

/// Rows that are decoded at once.
const BATCH_ROWS: usize = 8_192;

/// What a tree knows of a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leaf {
    pub record_id: String,
    /// Of the record's canonical form.
    pub record_sha256: Digest,
}

impl Leaf {
    /// The hash of the leaf: of the number of bytes of the record's id (four bytes, most significant first), the id, and the record's digest.
    pub fn hash(&self) -> Digest {
        let length = u32::try_from(self.record_id.len()).unwrap_or(u32::MAX);
        leaf_hash_of(&[&length.to_be_bytes(), self.record_id.as_bytes(), self.record_sha256.as_bytes()])
    }
}

/// The leaves of a part, sorted by the bytes of the records' ids.
///
/// # Errors
/// `Store`, when the bytes are not a readable part.
pub fn leaves_of_part(part: Bytes) -> Result<Vec<Leaf>> {
    let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(part, ArrowReaderOptions::new())?.with_batch_size(BATCH_ROWS).build()?;
    let mut leaves = Vec::new();
    for batch in reader {
        let batch = batch?;
        let ids = batch.column_by_name("record_id").and_then(|ids| ids.as_string_opt::<i32>());
        let ids = ids.ok_or_else(|| Error::store("the part has no column record_id"))?;
        let records = CanonicalRecords::of(&batch)?;
        let leaf = |canonical: &mut Vec<u8>, row: usize| {
            canonical.clear();
            records.write(row, canonical)?;
            Ok(Leaf { record_id: ids.value(row).to_owned(), record_sha256: Digest::of(canonical) })
        };
        leaves.extend((0..ids.len()).into_par_iter().map_init(Vec::new, leaf).collect::<Result<Vec<Leaf>>>()?);
    }
    if !leaves.is_sorted() {
        leaves.sort_unstable();
    }
    Ok(leaves)
}
