//! The leaves of a part: one for each record, in the order of their ids.

use arrow::array::{Array, AsArray, RecordBatch};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use rayon::prelude::*;

use super::record::CanonicalRecords;
use super::tree::{leaf_hash_of, root};
use crate::error::{Error, Result};
use crate::ids::Digest;
use crate::store::{BUCKET, Part};

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
        leaves.extend(leaves_of_rows(&batch?)?);
    }
    Ok(sorted(leaves))
}

/// The leaves of rows, in their order.
fn leaves_of_rows(rows: &RecordBatch) -> Result<Vec<Leaf>> {
    let ids = rows.column_by_name("record_id").and_then(|ids| ids.as_string_opt::<i32>());
    let ids = ids.ok_or_else(|| Error::store("the part has no column record_id"))?;
    let records = CanonicalRecords::of(rows)?;
    // Two are hashed in little more time than one.
    let pair = |canonical: &mut [Vec<u8>; 2], first: usize| {
        let rows = first..ids.len().min(first + 2);
        for (row, canonical) in rows.clone().zip(canonical.iter_mut()) {
            canonical.clear();
            records.write(row, canonical)?;
        }
        let digests = Digest::of_two([&canonical[0], &canonical[1]]);
        let mut leaves = rows.zip(digests).map(|(row, record_sha256)| Leaf { record_id: ids.value(row).to_owned(), record_sha256 });
        Ok([leaves.next(), leaves.next()])
    };
    let pairs = (0..ids.len().div_ceil(2)).into_par_iter().map_init(<[Vec<u8>; 2]>::default, |canonical, number| pair(canonical, 2 * number));
    Ok(pairs.collect::<Result<Vec<_>>>()?.into_iter().flatten().flatten().collect())
}

fn sorted(mut leaves: Vec<Leaf>) -> Vec<Leaf> {
    if !leaves.is_sorted() {
        leaves.sort_unstable();
    }
    leaves
}

/// The root over the records of a part that is read.
///
/// # Errors
/// `Store`, when the bytes are not those of the part, or it has not as many records as it says, one of them twice, or one that belongs elsewhere.
pub fn root_of_part(part: &Part, bytes: Bytes) -> Result<Digest> {
    if Digest::of(&bytes) != part.sha256 {
        return Err(Error::store("it is damaged").hint("`pubdata verify` lists all that is; `pubdata run --force` builds it again"));
    }
    root_of(part, &leaves_of_part(bytes)?)
}

/// The root over the records of a part whose rows are in memory.
///
/// # Errors
/// As [`root_of_part`].
pub fn root_of_rows(part: &Part, rows: &RecordBatch) -> Result<Digest> {
    root_of(part, &sorted(leaves_of_rows(rows)?))
}

fn root_of(part: &Part, leaves: &[Leaf]) -> Result<Digest> {
    if leaves.len() as u64 != part.rows {
        return Err(Error::store(format!("it has {} records, and the manifest says {}", leaves.len(), part.rows)));
    }
    // What is shown of absent records rests on both.
    if let Some(pair) = leaves.windows(2).find(|pair| pair[0].record_id == pair[1].record_id) {
        return Err(Error::store(format!("it has the record {} twice", pair[0].record_id)));
    }
    let subjects_end = subjects_end(part);
    let is_elsewhere = |leaf: &&Leaf| leaf.record_id.split(':').nth(1).is_some_and(|subject| subjects_end.is_some_and(|end| !subject.ends_with(end)));
    if let Some(leaf) = leaves.iter().find(is_elsewhere) {
        return Err(Error::store(format!("it has the record {}, which belongs into another part", leaf.record_id)));
    }
    Ok(root(&leaves.iter().map(Leaf::hash).collect::<Vec<_>>()))
}

/// Where parts are built by subject, what the keys of a part's subjects end with.
pub fn subjects_end(part: &Part) -> Option<&str> {
    // Records that were set aside begin with the dataset that they are not in.
    part.fingerprint.filter(|_| part.set_aside_from().is_none()).and(part.partition.get(BUCKET)).map(String::as_str)
}
