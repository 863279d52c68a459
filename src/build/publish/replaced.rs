//! Replaces some subjects' records in a part of the last release, so that the part equals the one
//! produced by a build of all rows.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray, DynComparator, RecordBatch, make_comparator};
use arrow::compute::{SortOptions, concat_batches};
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pubdata_store::{Part, PartReport, parquet_error};

use super::columns::{BATCH_ROWS, column_of, record_ids};
use super::part_claims::RowCounts;
use super::reused::with_schema;
use pubdata_core::contract::Contract;
use pubdata_core::error::Result;

/// Some subjects' records in one dataset partition, as produced by two builds.
pub struct Replacement {
    /// The records in the last release, if its part was built from the same sources.
    pub before: RecordBatch,
    pub before_report: PartReport,
    pub now: RecordBatch,
    pub now_report: PartReport,
}

/// A part after some of its records have been replaced.
pub struct ReplacedPart {
    pub rows: RecordBatch,
    pub report: PartReport,
    /// Number of records that were not replaced.
    pub kept: usize,
}

/// Reads all rows of a part, with a schema's columns.
///
/// # Errors
/// `Store` if the bytes are not a Parquet part with these columns.
pub fn rows_of_part(bytes: Bytes, schema: &SchemaRef) -> Result<RecordBatch> {
    let batches = ParquetRecordBatchReaderBuilder::try_new(bytes)
        .map_err(parquet_error)?
        .with_batch_size(BATCH_ROWS)
        .build()
        .map_err(parquet_error)?
        .map(|batch| with_schema(&batch?, schema))
        .collect::<Result<Vec<_>>>()?;
    Ok(concat_batches(schema, &batches)?)
}

/// Replaces records in a part. `rows` contains all rows of the part, in the contract's order, or
/// none if the last release does not have the part. Returns a reason instead if the part cannot be
/// replaced. This happens if its records for the subjects differ from `before`, or if the counts
/// for the entire part do not follow from those of its pieces.
///
/// # Errors
/// `Store` if a column is missing.
pub fn replace(
    contract: &Contract,
    part: Option<(&Part, &RecordBatch)>,
    replacement: &Replacement,
) -> Result<std::result::Result<ReplacedPart, String>> {
    let Replacement {
        before,
        before_report,
        now,
        now_report,
    } = replacement;
    let schema = now.schema();
    let none = RecordBatch::new_empty(schema.clone());
    let no_report = PartReport::default();
    let (report, rows) = part.map_or((&no_report, &none), |(part, rows)| (&part.report, rows));
    let before_ids: HashSet<&str> = record_ids(before)?.iter().flatten().collect();
    let now_ids: HashSet<&str> = record_ids(now)?.iter().flatten().collect();
    let mut kept_runs: Vec<Range<usize>> = Vec::new();
    let mut replaced_runs: Vec<Range<usize>> = Vec::new();
    for (row, id) in record_ids(rows)?.iter().enumerate() {
        let id = id.unwrap_or_default();
        let is_replaced = before_ids.contains(id);
        if !is_replaced && now_ids.contains(id) {
            return Ok(Err(format!("{id} is a record of another subject")));
        }
        let runs = if is_replaced {
            &mut replaced_runs
        } else {
            &mut kept_runs
        };
        match runs.last_mut().filter(|run| run.end == row) {
            Some(run) => run.end = row + 1,
            None => runs.push(row..row + 1),
        }
    }
    let slices = |runs: &[Range<usize>]| -> Vec<RecordBatch> {
        runs.iter()
            .map(|run| rows.slice(run.start, run.len()))
            .collect()
    };
    let replaced = concat_batches(&schema, &slices(&replaced_runs))?;
    if replaced != *before {
        return Ok(Err(
            "the records of the subjects are not those of the last release".to_owned(),
        ));
    }
    let kept = kept_runs.iter().map(ExactSizeIterator::len).sum();
    let merged = match merged(contract, rows, &kept_runs, now)? {
        Ok(pieces) => concat_batches(&schema, &pieces)?,
        Err(reason) => return Ok(Err(reason)),
    };
    let counts = RowCounts::from_batch(contract, &merged)?;
    let report = report_of(report, [before_report, now_report], counts, &merged);
    Ok(report.map(|report| ReplacedPart {
        rows: merged,
        report,
        kept,
    }))
}

/// Merges the kept rows of the part and the new rows in the contract's order, in slices.
fn merged(
    contract: &Contract,
    rows: &RecordBatch,
    kept: &[Range<usize>],
    now: &RecordBatch,
) -> Result<std::result::Result<Vec<RecordBatch>, String>> {
    let order: Vec<&str> = contract
        .sort_by
        .iter()
        .map(String::as_str)
        .chain(["record_id"])
        .collect();
    let comparators = order
        .iter()
        .map(|name| {
            Ok(make_comparator(
                column_of(rows, name)?,
                column_of(now, name)?,
                SortOptions::default(),
            )?)
        })
        .collect::<Result<Vec<DynComparator>>>()?;
    let compare = |row: usize, new: usize| {
        comparators.iter().fold(Ordering::Equal, |order, column| {
            order.then_with(|| column(row, new))
        })
    };
    let mut pieces = Vec::new();
    let mut next = 0;
    for run in kept {
        let mut start = run.start;
        while start < run.end && next < now.num_rows() {
            // The new rows up to `next` are in position. The next one goes before the first kept
            // row that sorts after it.
            let before = start
                + partition_point(run.end - start, |offset| {
                    compare(start + offset, next).is_lt()
                });
            if before == run.end {
                break;
            }
            if compare(before, next).is_eq() {
                return Ok(Err("two records have the same position".to_owned()));
            }
            if before > start {
                pieces.push(rows.slice(start, before - start));
            }
            let first = next;
            while next < now.num_rows() && compare(before, next).is_gt() {
                next += 1;
            }
            pieces.push(now.slice(first, next - first));
            start = before;
        }
        if start < run.end {
            pieces.push(rows.slice(start, run.end - start));
        }
    }
    if next < now.num_rows() {
        pieces.push(now.slice(next, now.num_rows() - next));
    }
    Ok(Ok(pieces))
}

/// Returns the number of leading positions below `length` that satisfy a predicate.
fn partition_point(length: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, length);
    while low < high {
        let middle = low.midpoint(high);
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Computes a part's report from the last release's report and the reports on the replaced records.
fn report_of(
    report: &PartReport,
    [before, now]: [&PartReport; 2],
    counts: RowCounts,
    rows: &RecordBatch,
) -> std::result::Result<PartReport, String> {
    if before.notes != now.notes {
        return Err("its notes name single findings".to_owned());
    }
    let notes = if report.notes.is_empty() {
        now.notes.clone()
    } else {
        report.notes.clone()
    };
    let mut quarantined = report.quarantined.clone();
    for (code, count) in &before.quarantined {
        let left = quarantined
            .get(code)
            .and_then(|known| known.checked_sub(*count));
        match left {
            Some(0) => drop(quarantined.remove(code)),
            Some(left) => drop(quarantined.insert(code.clone(), left)),
            None => return Err(format!("it has fewer records of the rule {code}")),
        }
    }
    for (code, count) in &now.quarantined {
        *quarantined.entry(code.clone()).or_default() += count;
    }
    Ok(PartReport {
        quarantined,
        warnings: counts.warnings,
        notes,
        empty_columns: now.empty_columns.as_ref().map(|_| empty_columns(rows)),
        words: counts.words,
    })
}

/// Returns the columns without a value; none if there are no rows. Columns of lists are never among
/// them, because a file does not distinguish an empty list from a missing one.
fn empty_columns(rows: &RecordBatch) -> Vec<String> {
    let fields = rows.schema();
    let is_empty = |column: &ArrayRef| {
        column.as_list_opt::<i32>().is_none()
            && rows.num_rows() > 0
            && column.null_count() == rows.num_rows()
    };
    fields
        .fields()
        .iter()
        .zip(rows.columns())
        .filter(|(_, column)| is_empty(column))
        .map(|(field, _)| field.name().clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partition_point_finds_the_first_position_that_fails() {
        for length in 0..20 {
            for border in 0..=length {
                assert_eq!(partition_point(length, |place| place < border), border);
            }
        }
    }
}
