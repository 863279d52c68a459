//! Computes the leaves of a part: one per record, ordered by record id.

use crate::parquet_error;
use arrow::array::{Array, AsArray, RecordBatch};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use rayon::prelude::*;

use super::record::CanonicalRecords;
use super::tree::{leaf, root};
use crate::{BUCKET, Part};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::Digest;

/// Number of rows to decode at a time.
const BATCH_ROWS: usize = 8_192;
/// Number of rows that a thread processes at a time.
const ROWS_AT_ONCE: usize = 512;

/// The hashed content of a record in the part's tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leaf<Id = String> {
    pub record_id: Id,
    /// Digest of the record's canonical form.
    pub record_sha256: Digest,
}

impl<Id: AsRef<str>> Leaf<Id> {
    /// Returns the hash of the leaf. The hash covers the length of the record id (four bytes,
    /// big-endian), the id, and the record's digest.
    pub fn hash(&self) -> Digest {
        Digest::sha256(&self.hashed())
    }

    fn hashed(&self) -> Vec<u8> {
        let id = self.record_id.as_ref().as_bytes();
        let length = u32::try_from(id.len()).unwrap_or(u32::MAX).to_be_bytes();
        leaf(&[&length, id, self.record_sha256.as_bytes()])
    }
}

/// Returns the hashes of leaves. Hashes are computed in pairs, because two hashes take little
/// longer than one.
pub fn hashes<Id: AsRef<str> + Sync>(leaves: &[Leaf<Id>]) -> Vec<Digest> {
    let of_some = |leaves: &[Leaf<Id>]| {
        let (pairs, odd) = leaves.as_chunks::<2>();
        let of_pairs = pairs
            .iter()
            .flat_map(|pair| Digest::of_two([&pair[0].hashed(), &pair[1].hashed()]));
        of_pairs
            .chain(odd.iter().map(Leaf::hash))
            .collect::<Vec<_>>()
    };
    leaves
        .par_chunks(ROWS_AT_ONCE)
        .flat_map_iter(of_some)
        .collect()
}

/// Returns the leaves of a part, sorted by the bytes of the record ids.
///
/// # Errors
/// `Store`, when the bytes are not a readable part.
pub fn leaves_of_part(part: Bytes) -> Result<Vec<Leaf>> {
    let reader =
        ParquetRecordBatchReaderBuilder::try_new_with_options(part, ArrowReaderOptions::new())
            .map_err(parquet_error)?
            .with_batch_size(BATCH_ROWS)
            .build()
            .map_err(parquet_error)?;
    let mut leaves = Vec::new();
    for batch in reader {
        let batch = batch?;
        leaves.extend(leaves_of_rows(&batch)?.into_iter().map(|leaf| Leaf {
            record_id: leaf.record_id.to_owned(),
            record_sha256: leaf.record_sha256,
        }));
    }
    Ok(sorted(leaves))
}

/// Returns the leaves of the rows, in row order.
fn leaves_of_rows(rows: &RecordBatch) -> Result<Vec<Leaf<&str>>> {
    let ids = rows
        .column_by_name("record_id")
        .and_then(|ids| ids.as_string_opt::<i32>());
    let ids = ids.ok_or_else(|| Error::store("the part has no column record_id"))?;
    let records = CanonicalRecords::new(rows)?;
    let of_some = |number: usize| {
        let rows = number * ROWS_AT_ONCE..ids.len().min((number + 1) * ROWS_AT_ONCE);
        let mut canonical = [Vec::new(), Vec::new()];
        let mut leaves = Vec::with_capacity(rows.len());
        for first in rows.clone().step_by(2) {
            let pair = first..rows.end.min(first + 2);
            for (row, canonical) in pair.clone().zip(&mut canonical) {
                canonical.clear();
                records.write(row, canonical)?;
            }
            let digests = Digest::of_two([&canonical[0], &canonical[1]]);
            leaves.extend(pair.zip(digests).map(|(row, record_sha256)| Leaf {
                record_id: ids.value(row),
                record_sha256,
            }));
        }
        Ok(leaves)
    };
    let leaves: Result<Vec<_>> = (0..ids.len().div_ceil(ROWS_AT_ONCE))
        .into_par_iter()
        .map(of_some)
        .collect();
    Ok(leaves?.concat())
}

fn sorted<Id: Ord>(mut leaves: Vec<Leaf<Id>>) -> Vec<Leaf<Id>> {
    if !leaves.is_sorted() {
        leaves.sort_unstable();
    }
    leaves
}

/// Computes the root over a part's records from the bytes of the part.
///
/// # Errors
/// `Store`, when the bytes do not match the part's digest, when the number of records differs, or
/// when a record occurs twice or belongs to another part.
pub fn root_of_part(part: &Part, bytes: Bytes) -> Result<Digest> {
    if Digest::sha256(&bytes) != part.sha256 {
        return Err(Error::store("it is damaged")
            .hint("`pubdata verify` lists all damage; `pubdata run --force` builds it again"));
    }
    root_of(part, &leaves_of_part(bytes)?)
}

/// Computes the root over a part's records from rows in memory.
///
/// # Errors
/// Same as for [`root_of_part`].
pub fn root_of_rows(part: &Part, rows: &RecordBatch) -> Result<Digest> {
    root_of(part, &sorted(leaves_of_rows(rows)?))
}

fn root_of<Id: AsRef<str> + Eq + Sync>(part: &Part, leaves: &[Leaf<Id>]) -> Result<Digest> {
    if leaves.len() as u64 != part.rows {
        return Err(Error::store(format!(
            "it has {} records, and the manifest says {}",
            leaves.len(),
            part.rows
        )));
    }
    // Proofs of absence require that no record occurs twice, and that every record belongs to this
    // part.
    if let Some(pair) = leaves
        .windows(2)
        .find(|pair| pair[0].record_id == pair[1].record_id)
    {
        return Err(Error::store(format!(
            "it has the record {} twice",
            pair[0].record_id.as_ref()
        )));
    }
    let subjects_end = subjects_end(part);
    let is_elsewhere = |id: &&str| {
        id.split(':')
            .nth(1)
            .is_some_and(|subject| subjects_end.is_some_and(|end| !subject.ends_with(end)))
    };
    if let Some(id) = leaves
        .iter()
        .map(|leaf| leaf.record_id.as_ref())
        .find(is_elsewhere)
    {
        return Err(Error::store(format!(
            "it has the record {id}, which belongs in another part"
        )));
    }
    Ok(root(&hashes(leaves)))
}

/// Returns the suffix shared by the subjects' keys in a part that is built by subject.
pub fn subjects_end(part: &Part) -> Option<&str> {
    // Ids of quarantined records begin with the dataset that they were meant for.
    part.fingerprint
        .filter(|_| part.quarantined_from().is_none())
        .and(part.partition.get(BUCKET))
        .map(String::as_str)
}
