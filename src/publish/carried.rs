//! Rows of the last release's part that are taken over: whole row groups as bytes, the rest as rows.

use std::collections::BTreeMap;
use std::ops::Range;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection};
use parquet::bloom_filter::Sbbf;
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::{ColumnChunkMetaData, PageIndexPolicy};
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedRowGroupWriter;

use super::columns::{BATCH_ROWS, SUBJECTS, column_of, record_ids, runs_by_subject, subject_of};
use crate::error::{Error, Result};
use crate::provenance::{Inputs, POINTERS};

/// Rows of a published part that are taken over into another.
pub struct CarriedRows {
    bytes: Bytes,
    metadata: ArrowReaderMetadata,
    /// The rows of each subject that is taken over.
    pub(super) runs: Vec<(String, Range<usize>)>,
    /// The first row of each row group, and the number of rows.
    pub(super) borders: Vec<usize>,
    /// Ids of the first and the last of the rows.
    ends: Option<(String, String)>,
    /// Records by warning code.
    warnings: BTreeMap<String, u64>,
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
    let mut borders = vec![0];
    for group in metadata.metadata().row_groups() {
        borders.push(borders[borders.len() - 1] + usize::try_from(group.num_rows()).unwrap_or_default());
    }
    let mut carried = CarriedRows { bytes, metadata, runs: Vec::new(), borders, ends: None, warnings: BTreeMap::new() };
    let mask = ProjectionMask::columns(carried.metadata.parquet_schema(), ["record_id", "warnings"]);
    let mut first = 0;
    for batch in carried.reader().with_projection(mask).build()? {
        let batch = batch?;
        for (subject, rows) in runs_by_subject(&batch)?.into_iter().filter(|(subject, _)| is_wanted(subject)) {
            carried.add(&batch, subject, rows, first)?;
        }
        first += batch.num_rows();
    }
    Ok(carried)
}

impl CarriedRows {
    fn reader(&self) -> ParquetRecordBatchReaderBuilder<Bytes> {
        ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), self.metadata.clone()).with_batch_size(BATCH_ROWS)
    }

    /// Adds rows of a batch, which begins with row `first` of the part.
    fn add(&mut self, batch: &RecordBatch, subject: &str, rows: Range<usize>, first: usize) -> Result<()> {
        let not_texts = || Error::store("column `warnings` is no list of texts");
        let lists = column_of(batch, "warnings")?.as_list_opt::<i32>().ok_or_else(not_texts)?;
        let codes = lists.values().as_string_opt::<i32>().ok_or_else(not_texts)?;
        for item in lists.value_offsets()[rows.start]..lists.value_offsets()[rows.end] {
            *self.warnings.entry(codes.value(item as usize).to_owned()).or_insert(0) += 1;
        }
        let ids = record_ids(batch)?;
        let last = ids.value(rows.end - 1).to_owned();
        match &mut self.ends {
            Some(ends) => ends.1 = last,
            None => self.ends = Some((ids.value(rows.start).to_owned(), last)),
        }
        let rows = first + rows.start..first + rows.end;
        match self.runs.last_mut().filter(|(before, of_before)| before == subject && of_before.end == rows.start) {
            Some((_, of_before)) => of_before.end = rows.end,
            None => self.runs.push((subject.to_owned(), rows)),
        }
        Ok(())
    }

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
            let runs: Vec<Range<usize>> = self.runs.iter().map(|(_, rows)| in_group(rows)).filter(|rows| !rows.is_empty()).collect();
            if runs.is_empty() || self.do_all_point_to_members(group, inputs) {
                continue;
            }
            let mask = ProjectionMask::columns(self.metadata.parquet_schema(), leaves.iter().map(String::as_str));
            let batches = OldRows::read(self.reader().with_projection(mask).with_row_groups(vec![group]), vec![(border[0], 0)])?;
            runs.iter().flat_map(|rows| batches.slices(rows)).try_for_each(|pointers| check_pointers(&pointers, inputs))?;
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
        let mut old = OldRows::read(self.reader().with_row_groups(groups), first_rows)?;
        for (_, batch) in &mut old.batches {
            let columns = schema.fields().iter().map(|field| column_of(batch, field.name()).cloned()).collect::<Result<_>>()?;
            let of_schema = RecordBatch::try_new(schema.clone(), columns);
            *batch = of_schema.map_err(|error| Error::store(format!("the last release's rows are of another form: {error}")))?;
        }
        Ok(old)
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
    pub fn warnings(&self) -> &BTreeMap<String, u64> {
        &self.warnings
    }

    /// Number of carried records.
    pub fn rows(&self) -> usize {
        self.ranges().map(Range::len).sum()
    }

    /// The rows in the part, in order.
    fn ranges(&self) -> impl Iterator<Item = &Range<usize>> {
        self.runs.iter().map(|(_, rows)| rows)
    }

    /// The rows of the part that are not carried: the row groups that have any, and which of theirs.
    pub(super) fn others(&self) -> (Vec<usize>, RowSelection) {
        let (mut groups, mut others, mut rows) = (Vec::new(), Vec::new(), 0);
        for (group, border) in self.borders.windows(2).enumerate() {
            let mut start = border[0];
            let carried = self.ranges().map(|rows| rows.start.max(border[0])..rows.end.min(border[1])).filter(|rows| !rows.is_empty());
            let mut of_group = Vec::new();
            for carried in carried.chain(std::iter::once(border[1]..border[1])) {
                if start < carried.start {
                    of_group.push(rows + start - border[0]..rows + carried.start - border[0]);
                }
                start = carried.end;
            }
            if !of_group.is_empty() {
                groups.push(group);
                others.extend(of_group);
                rows += border[1] - border[0];
            }
        }
        (groups, RowSelection::from_consecutive_ranges(others.into_iter(), rows))
    }

    /// Ids of the first and last record, with those of other records.
    pub fn key_range(&self, other: Option<(String, String)>) -> Option<(String, String)> {
        let Some((first, last)) = self.ends.clone() else { return other };
        let Some(other) = other else { return Some((first, last)) };
        // A subject's rows are all on one side.
        let first = if subject_of(&other.0) < subject_of(&first) { other.0 } else { first };
        let last = if subject_of(&other.1) > subject_of(&last) { other.1 } else { last };
        Some((first, last))
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
    /// Each with the number of rows before it.
    batches: Vec<(usize, RecordBatch)>,
    /// For each group its first row in the part and among the rows read.
    first_rows: Vec<(usize, usize)>,
}

impl OldRows {
    fn read(builder: ParquetRecordBatchReaderBuilder<Bytes>, first_rows: Vec<(usize, usize)>) -> Result<Self> {
        let (mut batches, mut rows) = (Vec::new(), 0);
        for batch in builder.build()? {
            let batch = batch?;
            rows += batch.num_rows();
            batches.push((rows - batch.num_rows(), batch));
        }
        Ok(Self { batches, first_rows })
    }

    /// Rows that stand together in groups that were read, in as many pieces as they were read in.
    pub(super) fn slices(&self, rows: &Range<usize>) -> impl Iterator<Item = RecordBatch> {
        let (in_part, read) = self.first_rows[self.first_rows.partition_point(|(first, _)| *first <= rows.start) - 1];
        let rows = rows.start - in_part + read..rows.end - in_part + read;
        let first = self.batches.partition_point(|(before, batch)| before + batch.num_rows() <= rows.start);
        self.batches[first..].iter().take_while(move |(before, _)| *before < rows.end).map(move |(before, batch)| {
            let start = rows.start.max(*before) - before;
            batch.slice(start, rows.end.min(before + batch.num_rows()) - before - start)
        })
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
