//! What a part's footer and columns are called, and how its rows are told apart by subject.

use std::ops::Range;

use arrow::array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::DataType;

use crate::error::{Error, Result};

/// Rows of a row group: small enough to read one for a few records, large enough to compress well.
pub const ROW_GROUP_ROWS: usize = 65_536;
/// Rows of a part that are read at a time: the memory of some does for the next.
pub const BATCH_ROWS: usize = 16_384;

/// Returns the record ids of a batch.
///
/// # Errors
/// `Contract`, when there is no column `record_id`, or it is not text.
pub fn record_ids(batch: &RecordBatch) -> Result<&StringArray> {
    let ids = column_of(batch, "record_id")?.as_any().downcast_ref();
    ids.ok_or_else(|| Error::contract("column `record_id` is not text"))
}

/// Whether a column is a dictionary of texts.
pub fn is_coded(column: &ArrayRef) -> bool {
    matches!(column.data_type(), DataType::Dictionary(..))
}

/// Returns a column by its name.
///
/// # Errors
/// `Contract`, when there is none of that name.
pub fn column_of<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef> {
    batch.column_by_name(name).ok_or_else(|| Error::contract(format!("column `{name}` is missing")))
}

/// The second place of a record id.
pub fn subject_of(id: &str) -> &str {
    id.split(':').nth(1).unwrap_or_default()
}

/// The rows of each subject, which are together.
///
/// # Errors
/// As [`record_ids`].
pub fn runs_by_subject(batch: &RecordBatch) -> Result<Vec<(&str, Range<usize>)>> {
    let mut runs: Vec<(&str, Range<usize>)> = Vec::new();
    // Of most ids one comparison says that they are of the same subject as the one before.
    let mut beginning = "";
    for (row, id) in record_ids(batch)?.iter().enumerate() {
        let id = id.unwrap_or_default();
        let is_same = |subject: &str| (!beginning.is_empty() && id.starts_with(beginning)) || subject == subject_of(id);
        match runs.last_mut().filter(|(last, _)| is_same(last)) {
            Some((_, rows)) => rows.end = row + 1,
            None => {
                runs.push((subject_of(id), row..row + 1));
                beginning = &id[..id.match_indices(':').nth(1).map_or(0, |(colon, _)| colon + 1)];
            }
        }
    }
    Ok(runs)
}
