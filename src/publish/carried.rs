//! Rows of the last release's part that are taken over: whole row groups as bytes, the rest as rows.

use std::collections::BTreeMap;
use std::ops::Range;

use arrow::array::{Array, AsArray, RecordBatch, RecordBatchReader};
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::bloom_filter::Sbbf;
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::{ColumnChunkMetaData, PageIndexPolicy};
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedRowGroupWriter;

use super::columns::{ROW_GROUP_ROWS, SUBJECTS, column_of, record_ids, runs_by_subject, subject_of};
use crate::error::{Error, Result};
use crate::provenance::{Inputs, POINTERS};

/// Rows of a published part that are taken over into another.
pub struct CarriedRows {
    bytes: Bytes,
    metadata: ArrowReaderMetadata,
    /// Of all rows the columns that are looked at when they are taken over: ids and warnings.
    pub(super) looked_at: RecordBatch,
    /// The rows of each subject that is taken over.
    pub(super) runs: Vec<Range<usize>>,
    /// The first row of each row group, and the number of rows.
    pub(super) borders: Vec<usize>,
}

/// The lines that a part's footer holds about its subjects; none for a part of a build without shards.
///
/// # Errors
/// `Store`, when the bytes are not Parquet.
pub fn subjects_of(bytes: &Bytes) -> Result<Option<String>> {
    let metadata = ArrowReaderMetadata::load(bytes, ArrowReaderOptions::new())?;
    let entries = metadata.metadata().file_metadata().key_value_metadata();
    Ok(entries.into_iter().flatten().find(|entry| entry.key == SUBJECTS).and_then(|entry| entry.value.clone()))
}

/// Reads all that a footer says: what is left out on reading would be missing where a row group is copied to.
fn reader_options() -> ArrowReaderOptions {
    ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required).with_encoding_stats_as_mask(false)
}

/// The rows of a part whose subject is wanted.
///
/// # Errors
/// `Store`, when the bytes are not a readable part.
pub fn rows_of_subjects(bytes: Bytes, is_wanted: impl Fn(&str) -> bool) -> Result<CarriedRows> {
    let metadata = ArrowReaderMetadata::load(&bytes, reader_options())?;
    let mask = ProjectionMask::columns(metadata.parquet_schema(), ["record_id", "warnings"]);
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes.clone(), metadata.clone());
    let looked_at = read(builder.with_projection(mask))?;
    let runs = runs_by_subject(&looked_at)?.into_iter().filter(|(subject, _)| is_wanted(subject)).map(|(_, rows)| rows).collect();
    let mut borders = vec![0];
    for group in metadata.metadata().row_groups() {
        borders.push(borders[borders.len() - 1] + usize::try_from(group.num_rows()).unwrap_or_default());
    }
    Ok(CarriedRows { bytes, metadata, looked_at, runs, borders })
}

fn read(builder: ParquetRecordBatchReaderBuilder<Bytes>) -> Result<RecordBatch> {
    // In one piece: pieces would be copied into one.
    let rows = builder.metadata().file_metadata().num_rows();
    let reader = builder.with_batch_size(usize::try_from(rows).unwrap_or(ROW_GROUP_ROWS).max(1)).build()?;
    let schema = reader.schema();
    let mut batches = reader.collect::<std::result::Result<Vec<_>, _>>()?;
    Ok(if batches.len() == 1 { batches.remove(0) } else { concat_batches(&schema, &batches)? })
}

impl CarriedRows {
    /// Checks that the rows point to inputs of this build: to its snapshots, or to members that carry their own digest. Row groups of which the
    /// statistics say so are not read for it.
    ///
    /// # Errors
    /// `Store`, when one points to what is not among `inputs`, or holds no pointers.
    pub(super) fn check_pointers(&self, inputs: &Inputs) -> Result<()> {
        let leaf = |name: &str| format!("{POINTERS}.list.item.{name}");
        let leaves = ["source_id", "snapshot", "member"].map(leaf);
        for (group, border) in self.borders.windows(2).enumerate() {
            let in_group = |rows: &Range<usize>| rows.start.max(border[0])..rows.end.min(border[1]);
            let mut runs = self.runs.iter().map(in_group).filter(|rows| !rows.is_empty()).peekable();
            if runs.peek().is_none() || self.do_all_point_to_members(group, inputs) {
                continue;
            }
            let mask = ProjectionMask::columns(self.metadata.parquet_schema(), leaves.iter().map(String::as_str));
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), self.metadata.clone());
            let pointers = read(builder.with_projection(mask).with_row_groups(vec![group]))?;
            runs.try_for_each(|rows| check_pointers(&pointers.slice(rows.start - border[0], rows.len()), inputs))?;
        }
        Ok(())
    }

    /// Whether each pointer of a row group leads into a member of one source, which is among the inputs.
    fn do_all_point_to_members(&self, group: usize, inputs: &Inputs) -> bool {
        let statistics = |name: &str| {
            let path = [POINTERS, "list", "item", name];
            let chunks = self.metadata.metadata().row_group(group).columns();
            chunks.iter().find(|chunk| chunk.column_path().parts() == path).and_then(ColumnChunkMetaData::statistics)
        };
        let (Some(Statistics::ByteArray(sources)), Some(members)) = (statistics("source_id"), statistics("member")) else { return false };
        // Rows without pointers count as null in either column.
        let has_each_member = sources.null_count_opt().is_some() && sources.null_count_opt() == members.null_count_opt();
        let is_one = sources.min_is_exact() && sources.max_is_exact() && sources.min_opt() == sources.max_opt();
        let source_id = sources.min_opt().and_then(|source_id| source_id.as_utf8().ok());
        has_each_member && is_one && source_id.is_some_and(|source_id| inputs.of_source(source_id).next().is_some())
    }

    /// The row groups that some rows stand in.
    pub(super) fn groups_with(&self, rows: &Range<usize>) -> Range<usize> {
        self.borders.partition_point(|border| *border <= rows.start) - 1..self.borders.partition_point(|border| *border < rows.end)
    }

    /// Reads row groups, with the columns of a schema.
    pub(super) fn read_groups(&self, mut groups: Vec<usize>, schema: &SchemaRef) -> Result<OldRows> {
        groups.sort_unstable();
        groups.dedup();
        let mut first_rows = Vec::with_capacity(groups.len());
        let mut rows = 0;
        for group in &groups {
            first_rows.push((self.borders[*group], rows));
            rows += self.borders[group + 1] - self.borders[*group];
        }
        if groups.is_empty() {
            return Ok(OldRows { batch: RecordBatch::new_empty(schema.clone()), first_rows });
        }
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), self.metadata.clone());
        let batch = read(builder.with_row_groups(groups))?;
        let columns = schema.fields().iter().map(|field| column_of(&batch, field.name()).cloned()).collect::<Result<_>>()?;
        let batch =
            RecordBatch::try_new(schema.clone(), columns).map_err(|error| Error::store(format!("the last release's rows are of another form: {error}")))?;
        Ok(OldRows { batch, first_rows })
    }

    /// Copies a row group into another file.
    pub(super) fn copy_group(&self, group: usize, writer: &mut SerializedRowGroupWriter<'_, Vec<u8>>) -> Result<()> {
        let metadata = self.metadata.metadata();
        let (row_group, pages) = (metadata.row_group(group), metadata.page_index_for_row_group(group));
        for (number, chunk) in row_group.columns().iter().enumerate() {
            let close = ColumnCloseResult {
                bytes_written: u64::try_from(chunk.compressed_size()).unwrap_or_default(),
                rows_written: u64::try_from(row_group.num_rows()).unwrap_or_default(),
                metadata: as_written(chunk)?,
                bloom_filter: Sbbf::read_from_column_chunk(chunk, &self.bytes)?,
                column_index: pages.column_index(number).cloned(),
                offset_index: pages.offset_index(number).cloned(),
            };
            writer.append_column(&self.bytes, close)?;
        }
        Ok(())
    }

    /// Carried records by warning code.
    ///
    /// # Errors
    /// `Store`, when the part has no warnings.
    pub fn warnings(&self) -> Result<BTreeMap<String, u64>> {
        let not_texts = || Error::store("column `warnings` is no list of texts");
        let lists = column_of(&self.looked_at, "warnings")?.as_list_opt::<i32>().ok_or_else(not_texts)?;
        let codes = lists.values().as_string_opt::<i32>().ok_or_else(not_texts)?;
        let mut counts = BTreeMap::new();
        for rows in &self.runs {
            for item in lists.value_offsets()[rows.start]..lists.value_offsets()[rows.end] {
                *counts.entry(codes.value(item as usize).to_owned()).or_insert(0) += 1;
            }
        }
        Ok(counts)
    }

    /// Number of carried records.
    pub fn rows(&self) -> usize {
        self.runs.iter().map(Range::len).sum()
    }

    /// Ids of the first and last record, with those of other records.
    ///
    /// # Errors
    /// `Store`, when the part has no ids.
    pub fn key_range(&self, other: Option<(String, String)>) -> Result<Option<(String, String)>> {
        let ids = record_ids(&self.looked_at)?;
        let Some((first, last)) = self.runs.first().zip(self.runs.last()) else { return Ok(other) };
        let own = (ids.value(first.start), ids.value(last.end - 1));
        let Some((first, last)) = &other else { return Ok(Some((own.0.to_owned(), own.1.to_owned()))) };
        // A subject's rows are all on one side.
        let first = if subject_of(first) < subject_of(own.0) { first } else { own.0 };
        let last = if subject_of(last) > subject_of(own.1) { last } else { own.1 };
        Ok(Some((first.to_owned(), last.to_owned())))
    }
}

/// A chunk's metadata as the writer had it. The reader does not keep that signed columns have their least and greatest value twice, the second time for old readers.
fn as_written(chunk: &ColumnChunkMetaData) -> Result<ColumnChunkMetaData> {
    let Some(statistics) = chunk.statistics().filter(|_| chunk.column_descr().sort_order().is_signed()) else { return Ok(chunk.clone()) };
    let statistics = match statistics.clone() {
        Statistics::Boolean(values) => Statistics::Boolean(values.with_backwards_compatible_min_max(true)),
        Statistics::Int32(values) => Statistics::Int32(values.with_backwards_compatible_min_max(true)),
        Statistics::Int64(values) => Statistics::Int64(values.with_backwards_compatible_min_max(true)),
        Statistics::Int96(values) => Statistics::Int96(values.with_backwards_compatible_min_max(true)),
        Statistics::Float(values) => Statistics::Float(values.with_backwards_compatible_min_max(true)),
        Statistics::Double(values) => Statistics::Double(values.with_backwards_compatible_min_max(true)),
        Statistics::ByteArray(values) => Statistics::ByteArray(values.with_backwards_compatible_min_max(true)),
        Statistics::FixedLenByteArray(values) => Statistics::FixedLenByteArray(values.with_backwards_compatible_min_max(true)),
    };
    Ok(chunk.clone().into_builder().set_statistics(statistics).build()?)
}

/// Some row groups of the last release's part.
pub(super) struct OldRows {
    batch: RecordBatch,
    /// For each group its first row in the part and in the batch.
    first_rows: Vec<(usize, usize)>,
}

impl OldRows {
    pub(super) fn slice(&self, rows: &Range<usize>) -> RecordBatch {
        let (in_part, in_batch) = self.first_rows[self.first_rows.partition_point(|(first, _)| *first <= rows.start) - 1];
        self.batch.slice(rows.start - in_part + in_batch, rows.len())
    }
}

/// Checks that rows of an earlier build point to inputs of this one: to its snapshots, or to members that carry their own digest.
fn check_pointers(batch: &RecordBatch, inputs: &Inputs) -> Result<()> {
    let not_pointers = || Error::store("the last release's rows hold no pointers");
    let lists = column_of(batch, POINTERS)?.as_list_opt::<i32>().ok_or_else(not_pointers)?;
    let fields = lists.values().as_struct_opt().ok_or_else(not_pointers)?;
    let first = lists.value_offsets().first().copied().unwrap_or_default() as usize;
    let end = lists.value_offsets().last().copied().unwrap_or_default() as usize;
    let text = |name: &str| fields.column_by_name(name).and_then(|column| column.as_string_opt::<i32>()).ok_or_else(not_pointers);
    let (source_ids, snapshots, members) = (text("source_id")?, text("snapshot")?, text("member")?);
    let mut checked = None;
    for index in first..end {
        let place = (source_ids.value(index), snapshots.value(index), members.is_valid(index));
        if checked.replace(place) == Some(place) {
            continue;
        }
        let mut of_source = inputs.of_source(place.0).map(|(_, snapshot)| snapshot.sha256.to_string()).peekable();
        let is_input = of_source.peek().is_some() && (place.2 || of_source.any(|sha256| sha256 == place.1));
        if !is_input {
            return Err(Error::store(format!("a row of the last release points to {} {}, which is not an input of this build", place.0, place.1)));
        }
    }
    Ok(())
}
