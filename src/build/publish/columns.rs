//! Defines the row counts of row groups and batches, and finds the columns and subjects of a part's
//! rows.

use std::ops::Range;

use arrow::array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::DataType;

use pubdata_core::error::{Error, Result};

/// Rows per row group. The number is low enough to read a group for the sake of a few records, and
/// high enough for good compression.
pub const ROW_GROUP_ROWS: usize = 65_536;
/// Number of a part's rows to read at a time. Small batches let the allocator reuse their memory.
pub const BATCH_ROWS: usize = 16_384;

/// Returns a batch's record ids.
pub fn record_ids(batch: &RecordBatch) -> Result<&StringArray> {
    let ids = column_of(batch, "record_id")?.as_any().downcast_ref();
    ids.ok_or_else(|| Error::contract("column `record_id` is not text"))
}

/// Reports whether a column is dictionary-encoded text.
pub fn is_coded(column: &ArrayRef) -> bool {
    matches!(column.data_type(), DataType::Dictionary(..))
}

/// Returns a column by name.
pub fn column_of<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef> {
    batch
        .column_by_name(name)
        .ok_or_else(|| Error::contract(format!("column `{name}` is missing")))
}

/// Returns the subject, which is the second segment of a record id.
pub fn subject_of(id: &str) -> &str {
    id.split(':').nth(1).unwrap_or_default()
}

/// Returns the rows of each subject. A subject's rows are contiguous, because the sort order of a
/// sharded dataset begins with the subject. The end of each run is found with steps of doubling
/// length, followed by a binary search.
pub fn runs_by_subject(batch: &RecordBatch) -> Result<Vec<(&str, Range<usize>)>> {
    let ids = record_ids(batch)?;
    let mut runs = Vec::new();
    let mut start = 0;
    while start < ids.len() {
        let subject = subject_of(ids.value(start));
        let is_same = |row: usize| subject_of(ids.value(row)) == subject;
        let (mut last, mut step) = (start, 1);
        while last + step < ids.len() && is_same(last + step) {
            last += step;
            step *= 2;
        }
        let (mut end, mut other) = (last + 1, ids.len().min(last + step));
        while end < other {
            let middle = end.midpoint(other);
            if is_same(middle) {
                end = middle + 1;
            } else {
                other = middle;
            }
        }
        runs.push((subject, start..end));
        start = end;
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn rows_of_a_subject_are_found_however_many_it_has() {
        for lengths in [
            &[][..],
            &[1],
            &[2, 1, 1],
            &[1, 7, 8, 9, 1],
            &[100, 3, 64, 65, 63, 1, 1, 2],
            &[1_000],
        ] {
            let ids = lengths.iter().enumerate().flat_map(|(subject, rows)| {
                (0..*rows).map(move |row| format!("a.b:{subject:03}:{row}"))
            });
            let ids: ArrayRef = Arc::new(StringArray::from_iter_values(ids));
            let batch = RecordBatch::try_from_iter([("record_id", ids)]).unwrap();
            let found: Vec<(String, usize)> = runs_by_subject(&batch)
                .unwrap()
                .into_iter()
                .map(|(subject, rows)| (subject.to_owned(), rows.len()))
                .collect();
            let expected: Vec<(String, usize)> = lengths
                .iter()
                .enumerate()
                .map(|(subject, rows)| (format!("{subject:03}"), *rows))
                .collect();
            assert_eq!(found, expected);
        }
    }
}
