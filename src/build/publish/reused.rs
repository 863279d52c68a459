//! Reuses rows from the last release's part. Copies entire row groups as bytes and re-encodes the
//! remaining rows.

use pubdata_store::parquet_error;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::bloom_filter::Sbbf;
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::{ColumnChunkMetaData, PageIndexPolicy};
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedRowGroupWriter;

use super::columns::{BATCH_ROWS, column_of, record_ids, subject_of};
use super::subjects::{PartSubject, SUBJECTS};
use pubdata_core::error::{Error, Result};
use pubdata_core::provenance::{Inputs, POINTERS};

/// A published part from a sharded build. The next build may reuse its rows.
#[derive(Debug)]
pub struct PreviousPart {
    bytes: Bytes,
    metadata: ArrowReaderMetadata,
    /// Subjects in the order of their rows.
    subjects: Vec<PartSubject>,
    /// First row of each row group, followed by the total number of rows.
    borders: Vec<usize>,
}

/// Rows to reuse from an earlier part.
pub struct ReusedRows {
    part: PreviousPart,
    /// Rows of each reused subject.
    pub(super) runs: Vec<(String, Range<usize>)>,
    /// Decoded row groups that also contain rows that are not reused. Those rows are compared with
    /// the new rows; the reused rows are encoded again.
    mixed: BTreeMap<usize, Vec<RecordBatch>>,
    /// Ids of the first and last reused record.
    ends: Option<(String, String)>,
    /// Number of reused records by warning code.
    warnings: BTreeMap<String, u64>,
}

impl PreviousPart {
    /// Reads a part's footer without reading any rows.
    ///
    /// # Errors
    /// `Store` if the bytes are not a part from a sharded build.
    pub fn open(bytes: Bytes) -> Result<Self> {
        // The copy needs these options. An index or statistic that is not read would be missing
        // from the copied row group.
        let options = ArrowReaderOptions::new()
            .with_page_index_policy(PageIndexPolicy::Required)
            .with_encoding_stats_as_mask(false);
        let metadata = ArrowReaderMetadata::load(&bytes, options).map_err(parquet_error)?;
        let mut borders = vec![0];
        for group in metadata.metadata().row_groups() {
            borders.push(
                borders[borders.len() - 1] + usize::try_from(group.num_rows()).unwrap_or_default(),
            );
        }
        let entries = metadata.metadata().file_metadata().key_value_metadata();
        let lines = entries
            .into_iter()
            .flatten()
            .find(|entry| entry.key == SUBJECTS)
            .and_then(|entry| entry.value.as_deref());
        let subjects = PartSubject::all(lines.unwrap_or_default())?;
        let (rows, of_subjects) = (
            borders[borders.len() - 1],
            subjects.last().map_or(0, |subject| subject.rows.end),
        );
        if rows != of_subjects {
            return Err(Error::store(format!(
                "the footer lists subjects with {of_subjects} rows, but the part has {rows}"
            )));
        }
        Ok(Self {
            bytes,
            metadata,
            subjects,
            borders,
        })
    }

    /// Returns the subjects from which the part was built.
    pub fn subjects(&self) -> &[PartSubject] {
        &self.subjects
    }

    /// Selects the subjects whose rows are reused.
    pub fn keep(self, is_kept: impl Fn(&str) -> bool) -> Result<ReusedRows> {
        let kept = self
            .subjects
            .iter()
            .filter(|subject| !subject.rows.is_empty() && is_kept(&subject.key));
        let runs = kept
            .map(|subject| (subject.key.clone(), subject.rows.clone()))
            .collect();
        let mut reused = ReusedRows {
            part: self,
            runs,
            mixed: BTreeMap::new(),
            ends: None,
            warnings: BTreeMap::new(),
        };
        for group in reused.groups() {
            let rows: usize = reused.in_group(group).iter().map(Range::len).sum();
            if rows > 0 && rows < reused.part.border(group).len() {
                let batches = reused.part.read(group, |_| true)?;
                reused.mixed.insert(group, batches);
            }
        }
        reused.count_warnings()?;
        if let (Some((_, first)), Some((_, last))) = (reused.runs.first(), reused.runs.last()) {
            reused.ends = Some((
                reused.record_id(first.start)?,
                reused.record_id(last.end - 1)?,
            ));
        }
        Ok(reused)
    }

    fn groups(&self) -> usize {
        self.borders.len() - 1
    }

    /// Returns the row range of a row group.
    fn border(&self, group: usize) -> Range<usize> {
        self.borders[group]..self.borders[group + 1]
    }

    /// Reads those leaf columns of a row group whose dotted path is selected.
    fn read(&self, group: usize, is_selected: impl Fn(&str) -> bool) -> Result<Vec<RecordBatch>> {
        let leaves = self.metadata.parquet_schema().columns().iter().enumerate();
        let selected = leaves
            .filter(|(_, leaf)| is_selected(&leaf.path().string()))
            .map(|(place, _)| place);
        let mask = ProjectionMask::leaves(self.metadata.parquet_schema(), selected);
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(
            self.bytes.clone(),
            self.metadata.clone(),
        )
        .with_batch_size(BATCH_ROWS);
        reader
            .with_row_groups(vec![group])
            .with_projection(mask)
            .build()
            .map_err(parquet_error)?
            .map(|batch| Ok(batch?))
            .collect()
    }

    fn chunk(&self, group: usize, path: &str) -> Option<&ColumnChunkMetaData> {
        self.metadata
            .metadata()
            .row_group(group)
            .columns()
            .iter()
            .find(|chunk| chunk.column_path().string() == path)
    }
}

impl ReusedRows {
    /// Returns the reused rows in a group.
    fn in_group(&self, group: usize) -> Vec<Range<usize>> {
        let border = self.part.border(group);
        let first = self
            .runs
            .partition_point(|(_, rows)| rows.end <= border.start);
        let in_group = self.runs[first..]
            .iter()
            .take_while(|(_, rows)| rows.start < border.end);
        in_group
            .map(|(_, rows)| rows.start.max(border.start)..rows.end.min(border.end))
            .collect()
    }

    /// Returns rows from a row group with at least the selected leaves.
    fn some_of(
        &self,
        group: usize,
        rows: &[Range<usize>],
        is_selected: impl Fn(&str) -> bool,
    ) -> Result<Vec<RecordBatch>> {
        let read;
        let batches = match self.mixed.get(&group) {
            Some(batches) => batches,
            None => {
                read = self.part.read(group, is_selected)?;
                &read
            }
        };
        let first = self.part.border(group).start;
        Ok(rows
            .iter()
            .flat_map(|rows| slices(batches, rows.start - first..rows.end - first))
            .collect())
    }

    fn count_warnings(&mut self) -> Result<()> {
        for group in self.groups() {
            let rows = self.in_group(group);
            let chunk = self.part.chunk(group, "warnings.list.item");
            let is_none = chunk.is_some_and(|chunk| {
                let nulls = chunk.statistics().and_then(Statistics::null_count_opt);
                nulls.is_some_and(|nulls| {
                    u64::try_from(chunk.num_values()).is_ok_and(|values| nulls == values)
                })
            });
            if rows.is_empty() || is_none {
                continue;
            }
            for batch in self.some_of(group, &rows, |leaf| leaf.starts_with("warnings."))? {
                let not_texts = || Error::store("column `warnings` is not a list of texts");
                let lists = column_of(&batch, "warnings")?
                    .as_list_opt::<i32>()
                    .ok_or_else(not_texts)?;
                let codes = lists
                    .values()
                    .as_string_opt::<i32>()
                    .ok_or_else(not_texts)?;
                for item in lists.value_offsets()[0]..lists.value_offsets()[lists.len()] {
                    *self
                        .warnings
                        .entry(codes.value(item as usize).to_owned())
                        .or_insert(0) += 1;
                }
            }
        }
        Ok(())
    }

    fn record_id(&self, row: usize) -> Result<String> {
        let row_only = row..row + 1;
        let group = self.groups_with(&row_only).start;
        let batches = self.some_of(group, std::slice::from_ref(&row_only), |leaf| {
            leaf == "record_id"
        })?;
        let batch = batches.first().ok_or_else(|| {
            Error::store(format!("row {row} of the last release's part is missing"))
        })?;
        Ok(record_ids(batch)?.value(0).to_owned())
    }

    /// Checks that reused rows point to this build's inputs: its snapshots, or archive members,
    /// which have separate digests. Skips row groups whose statistics already prove this.
    ///
    /// # Errors
    /// `Store` if a row has no pointers, or points to a file that is not among `inputs`.
    pub(super) fn check_pointers(&self, inputs: &Inputs) -> Result<()> {
        let leaves = ["source_id", "snapshot", "member"].map(pointer_leaf);
        for group in self.groups() {
            let rows = self.in_group(group);
            if rows.is_empty() || self.all_point_to_members(group, inputs) {
                continue;
            }
            let batches = self.some_of(group, &rows, |leaf| {
                leaves.iter().any(|selected| selected == leaf)
            })?;
            batches
                .iter()
                .try_for_each(|pointers| check_pointers(pointers, inputs))?;
        }
        Ok(())
    }

    /// Reports whether statistics prove that every pointer in a row group refers to a member of a
    /// single source that is among the inputs.
    fn all_point_to_members(&self, group: usize, inputs: &Inputs) -> bool {
        let statistics = |name: &str| {
            self.part
                .chunk(group, &pointer_leaf(name))
                .and_then(ColumnChunkMetaData::statistics)
        };
        let (Some(Statistics::ByteArray(sources)), Some(members)) =
            (statistics("source_id"), statistics("member"))
        else {
            return false;
        };
        // Rows without pointers count as null in both columns.
        let has_each_member = sources.null_count_opt().is_some()
            && sources.null_count_opt() == members.null_count_opt();
        let is_one = sources.min_is_exact()
            && sources.max_is_exact()
            && sources.min_opt() == sources.max_opt();
        let source_id = sources
            .min_opt()
            .and_then(|source_id| source_id.as_utf8().ok());
        has_each_member
            && is_one
            && source_id.is_some_and(|source_id| inputs.of_source(source_id).next().is_some())
    }

    /// Returns the row groups that contain any of the rows.
    pub(super) fn groups_with(&self, rows: &Range<usize>) -> Range<usize> {
        let borders = &self.part.borders;
        borders.partition_point(|border| *border <= rows.start) - 1
            ..borders.partition_point(|border| *border < rows.end)
    }

    /// Returns the row groups that contain exactly these rows, if group borders match the range.
    pub(super) fn groups_of(&self, rows: &Range<usize>) -> Option<Range<usize>> {
        let border = |row: &usize| self.part.borders.binary_search(row).ok();
        Some(border(&rows.start)?..border(&rows.end)?)
    }

    /// Returns the first row of each of these row groups, and the end of the last group.
    pub(super) fn borders(&self, groups: Range<usize>) -> &[usize] {
        &self.part.borders[groups.start..=groups.end]
    }

    /// Reads the row groups that have not been decoded yet.
    pub(super) fn read_groups(
        &self,
        groups: impl IntoIterator<Item = usize>,
    ) -> Result<BTreeMap<usize, Vec<RecordBatch>>> {
        let unread: BTreeSet<usize> = groups
            .into_iter()
            .filter(|group| !self.mixed.contains_key(group))
            .collect();
        unread
            .into_iter()
            .map(|group| Ok((group, self.part.read(group, |_| true)?)))
            .collect()
    }

    /// Returns a range of rows with a schema's columns. The row groups must already be decoded:
    /// they are either partly reused or contained in `read`.
    pub(super) fn rows_of(
        &self,
        rows: &Range<usize>,
        read: &BTreeMap<usize, Vec<RecordBatch>>,
        schema: &SchemaRef,
    ) -> Result<Vec<RecordBatch>> {
        let mut found = Vec::new();
        for group in self.groups_with(rows) {
            let border = self.part.border(group);
            let batches = self
                .mixed
                .get(&group)
                .or_else(|| read.get(&group))
                .ok_or_else(|| Error::store("a row group was not read"))?;
            let in_group = rows.start.max(border.start) - border.start
                ..rows.end.min(border.end) - border.start;
            found.extend(slices(batches, in_group).map(|batch| with_schema(&batch, schema)));
        }
        found.into_iter().collect()
    }

    /// Copies a row group into another file.
    pub(super) fn copy_group(
        &self,
        group: usize,
        writer: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    ) -> Result<()> {
        let metadata = self.part.metadata.metadata();
        let (row_group, pages) = (
            metadata.row_group(group),
            metadata.page_index_for_row_group(group),
        );
        for (number, chunk) in row_group.columns().iter().enumerate() {
            let close = ColumnCloseResult {
                bytes_written: u64::try_from(chunk.compressed_size()).unwrap_or_default(),
                rows_written: u64::try_from(row_group.num_rows()).unwrap_or_default(),
                metadata: as_written(chunk)?,
                bloom_filter: Sbbf::read_from_column_chunk(chunk, &self.part.bytes)
                    .map_err(parquet_error)?,
                column_index: pages.column_index(number).cloned(),
                offset_index: pages.offset_index(number).cloned(),
            };
            writer
                .append_column(&self.part.bytes, close)
                .map_err(parquet_error)?;
        }
        Ok(())
    }

    /// Returns the number of reused records by warning code.
    pub fn warnings(&self) -> &BTreeMap<String, u64> {
        &self.warnings
    }

    /// Returns the number of reused records.
    pub fn rows(&self) -> usize {
        self.runs.iter().map(|(_, rows)| rows.len()).sum()
    }

    /// Returns the row groups of the part.
    pub(super) fn groups(&self) -> Range<usize> {
        0..self.part.groups()
    }

    /// Returns the rows in a row group that are not reused. Their pointers may be missing.
    pub(super) fn others(&self, group: usize) -> Result<Vec<RecordBatch>> {
        let (reused, border) = (self.in_group(group), self.part.border(group));
        let starts = std::iter::once(border.start).chain(reused.iter().map(|rows| rows.end));
        let ends = reused
            .iter()
            .map(|rows| rows.start)
            .chain(std::iter::once(border.end));
        let others: Vec<Range<usize>> = starts
            .zip(ends)
            .map(|(start, end)| start..end)
            .filter(|rows| !rows.is_empty())
            .collect();
        match others.is_empty() {
            true => Ok(Vec::new()),
            false => self.some_of(group, &others, |leaf| {
                leaf.split('.').next() != Some(POINTERS)
            }),
        }
    }

    /// Returns the ids of the first and last record among the reused and the other records.
    pub fn key_range(&self, other: Option<(String, String)>) -> Option<(String, String)> {
        let Some((first, last)) = self.ends.clone() else {
            return other;
        };
        let Some(other) = other else {
            return Some((first, last));
        };
        // A subject's rows are either all reused or all new.
        let first = if subject_of(&other.0) < subject_of(&first) {
            other.0
        } else {
            first
        };
        let last = if subject_of(&other.1) > subject_of(&last) {
            other.1
        } else {
            last
        };
        Some((first, last))
    }
}

/// Restores a chunk's metadata as originally written. For signed columns, the minimum and maximum
/// are stored a second time for old readers, but the reader does not retain the second copy.
fn as_written(chunk: &ColumnChunkMetaData) -> Result<ColumnChunkMetaData> {
    let Some(statistics) = chunk
        .statistics()
        .filter(|_| chunk.column_descr().sort_order().is_signed())
    else {
        return Ok(chunk.clone());
    };
    let statistics = match statistics.clone() {
        Statistics::Boolean(values) => {
            Statistics::Boolean(values.with_backwards_compatible_min_max(true))
        }
        Statistics::Int32(values) => {
            Statistics::Int32(values.with_backwards_compatible_min_max(true))
        }
        Statistics::Int64(values) => {
            Statistics::Int64(values.with_backwards_compatible_min_max(true))
        }
        Statistics::Int96(values) => {
            Statistics::Int96(values.with_backwards_compatible_min_max(true))
        }
        Statistics::Float(values) => {
            Statistics::Float(values.with_backwards_compatible_min_max(true))
        }
        Statistics::Double(values) => {
            Statistics::Double(values.with_backwards_compatible_min_max(true))
        }
        Statistics::ByteArray(values) => {
            Statistics::ByteArray(values.with_backwards_compatible_min_max(true))
        }
        Statistics::FixedLenByteArray(values) => {
            Statistics::FixedLenByteArray(values.with_backwards_compatible_min_max(true))
        }
    };
    chunk
        .clone()
        .into_builder()
        .set_statistics(statistics)
        .build()
        .map_err(parquet_error)
}

/// Returns a range of rows from consecutive batches, as slices of these batches.
fn slices(batches: &[RecordBatch], rows: Range<usize>) -> impl Iterator<Item = RecordBatch> {
    let mut before = 0;
    batches.iter().filter_map(move |batch| {
        let (start, end) = (
            rows.start.max(before),
            rows.end.min(before + batch.num_rows()),
        );
        let slice = (start < end).then(|| batch.slice(start - before, end - start));
        before += batch.num_rows();
        slice
    })
}

/// Converts rows from the last release to a schema's columns.
///
/// # Errors
/// `Store` if the rows have other columns.
pub(super) fn with_schema(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = schema
        .fields()
        .iter()
        .map(|field| column_of(batch, field.name()).cloned())
        .collect::<Result<_>>()?;
    RecordBatch::try_new(schema.clone(), columns).map_err(|error| {
        Error::store(format!(
            "the last release's rows have another schema: {error}"
        ))
    })
}

fn pointer_leaf(name: &str) -> String {
    format!("{POINTERS}.list.item.{name}")
}

/// Checks that rows from an earlier build point to this build's inputs: its snapshots, or archive
/// members, which have separate digests.
fn check_pointers(batch: &RecordBatch, inputs: &Inputs) -> Result<()> {
    let not_pointers = || Error::store("the last release's rows hold no pointers");
    let lists = column_of(batch, POINTERS)?
        .as_list_opt::<i32>()
        .ok_or_else(not_pointers)?;
    let fields = lists.values().as_struct_opt().ok_or_else(not_pointers)?;
    let first = lists.value_offsets().first().copied().unwrap_or_default() as usize;
    let end = lists.value_offsets().last().copied().unwrap_or_default() as usize;
    let text = |name: &str| {
        fields
            .column_by_name(name)
            .and_then(|column| column.as_string_opt::<i32>())
            .ok_or_else(not_pointers)
    };
    let (source_ids, snapshots, members) = (text("source_id")?, text("snapshot")?, text("member")?);
    let mut checked = None;
    for index in first..end {
        let place = (
            source_ids.value(index),
            snapshots.value(index),
            members.is_valid(index),
        );
        if checked.replace(place) == Some(place) {
            continue;
        }
        let mut of_source = inputs
            .of_source(place.0)
            .map(|(_, snapshot)| snapshot.sha256.to_string())
            .peekable();
        let is_input =
            of_source.peek().is_some() && (place.2 || of_source.any(|sha256| sha256 == place.1));
        if !is_input {
            return Err(Error::store(format!(
                "a row of the last release points to {} {}, which is not an input of this build",
                place.0, place.1
            )));
        }
    }
    Ok(())
}
