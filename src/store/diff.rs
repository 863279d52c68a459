//! Compares two releases: what became of each record, and why each build is another one. Parts with equal bytes are not read.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchReader, StringArray};
use arrow::compute::{CastOptions, cast_with_options, concat_batches};
use arrow::row::{RowConverter, Rows, SortField};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde::Serialize;

use super::changes::{Cause, causes, paired_parts};
use super::{Manifest, Part, Releases};
use crate::error::{Error, Result, ResultExt};
use crate::ids::ReleaseId;
use crate::provenance::POINTERS;

/// What is different between two releases, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReleaseDiff {
    pub from: ReleaseId,
    pub to: ReleaseId,
    /// Why, by task; a task that is the same in both is left out.
    pub causes: BTreeMap<String, Vec<Cause>>,
    /// What, by dataset; all datasets of both releases.
    pub datasets: BTreeMap<String, DatasetDiff>,
}

/// What happened to the records of a dataset.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DatasetDiff {
    pub added: u64,
    pub removed: u64,
    /// Records with another value in a column that both releases have.
    pub changed: u64,
    /// Records with the same values, taken from other bytes.
    pub provenance_only: u64,
    pub unchanged: u64,
    /// Columns that only the later release has, or has with another type.
    pub columns_added: BTreeSet<String>,
    /// Columns that only the earlier release has, or has with another type.
    pub columns_removed: BTreeSet<String>,
    /// Tasks whose parts are not the same bytes.
    pub tasks: BTreeSet<String>,
    /// A few records of each kind: changed ones first, then added, then removed.
    pub examples: Vec<RecordDiff>,
}

/// One record that is not the same in both releases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordDiff {
    pub record_id: String,
    pub change: RecordChange,
    /// The columns that differ; of an added or removed record all that have a value.
    pub columns: Vec<ColumnChange>,
}

/// What happened to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordChange {
    Changed,
    Added,
    Removed,
}

/// A column's values as text; none for null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnChange {
    pub column: String,
    pub from: Option<String>,
    pub to: Option<String>,
}

/// Compares two releases record by record, with so many examples of each kind of change. Parts with equal bytes are not read.
///
/// # Errors
/// `Store`, when a manifest or a part cannot be read.
pub async fn diff(releases: &Releases, from: &ReleaseId, to: &ReleaseId, max_examples: usize) -> Result<ReleaseDiff> {
    let (old, new) = (releases.manifest(from).await?, releases.manifest(to).await?);
    let mut datasets = BTreeMap::new();
    for dataset_id in old.datasets.keys().chain(new.datasets.keys()) {
        if !datasets.contains_key(dataset_id) {
            let compared = compare_dataset(releases, (&old, &new), dataset_id, max_examples).await.context(|| dataset_id.clone())?;
            datasets.insert(dataset_id.clone(), compared);
        }
    }
    Ok(ReleaseDiff { from: from.clone(), to: to.clone(), causes: causes(&old, &new), datasets })
}

async fn compare_dataset(releases: &Releases, (old, new): (&Manifest, &Manifest), dataset_id: &str, max_examples: usize) -> Result<DatasetDiff> {
    let mut comparison = Comparison { max_examples, ..Comparison::default() };
    for sides in paired_parts(old, new, dataset_id) {
        if let (Some(a), Some(b)) = sides
            && a.sha256 == b.sha256
        {
            comparison.total.unchanged += a.rows;
            continue;
        }
        comparison.total.tasks.extend([sides.0, sides.1].into_iter().flatten().map(|part| part.task_id.clone()));
        let a = read(releases, &old.release_id, sides.0).await?;
        let b = read(releases, &new.release_id, sides.1).await?;
        let compared = match (&a, &b) {
            (Some(a), Some(b)) => comparison.compare(a, b),
            (Some(a), None) => comparison.add_all(RecordChange::Removed, a),
            (None, b) => b.as_ref().map_or(Ok(()), |b| comparison.add_all(RecordChange::Added, b)),
        };
        compared.context(|| sides.1.or(sides.0).map_or_else(String::new, |part| part.path.clone()))?;
    }
    let mut total = comparison.total;
    total.examples = comparison.examples.into_values().flatten().collect();
    Ok(total)
}

async fn read(releases: &Releases, id: &ReleaseId, part: Option<&Part>) -> Result<Option<RecordBatch>> {
    let Some(part) = part else { return Ok(None) };
    let reader = ParquetRecordBatchReaderBuilder::try_new(releases.part(id, part).await?)
        .and_then(ParquetRecordBatchReaderBuilder::build)
        .map_err(|error| Error::from(error).context(format!("part {} of release {id}", part.path)))?;
    let schema = reader.schema();
    let batches = reader.collect::<std::result::Result<Vec<RecordBatch>, _>>()?;
    Ok(Some(concat_batches(&schema, &batches)?))
}

#[derive(Default)]
struct Comparison {
    max_examples: usize,
    total: DatasetDiff,
    /// At most `max_examples` of each kind, so that the rare kind is not crowded out by the order of the parts.
    examples: BTreeMap<RecordChange, Vec<RecordDiff>>,
}

impl Comparison {
    fn add_all(&mut self, change: RecordChange, batch: &RecordBatch) -> Result<()> {
        let ids = record_ids(batch)?;
        (0..batch.num_rows()).try_for_each(|row| self.count(change, ids.value(row), batch, row))
    }

    fn compare(&mut self, before: &RecordBatch, after: &RecordBatch) -> Result<()> {
        let (old_ids, new_ids) = (record_ids(before)?, record_ids(after)?);
        let shared = self.shared_columns(before, after);
        let (old_values, new_values) = rows_of(before, after, &shared)?;
        let (old_pointers, new_pointers) = rows_of(before, after, &[POINTERS.to_owned()])?;
        let mut old_rows: HashMap<&str, usize> = old_ids.iter().flatten().enumerate().map(|(row, id)| (id, row)).collect();
        for (row, id) in new_ids.iter().flatten().enumerate() {
            let Some(old_row) = old_rows.remove(id) else {
                self.count(RecordChange::Added, id, after, row)?;
                continue;
            };
            if old_values.row(old_row) != new_values.row(row) {
                self.total.changed += 1;
                if self.wants(RecordChange::Changed) {
                    let mut columns = Vec::new();
                    for name in &shared {
                        let (from, to) = (text(before, name, old_row)?, text(after, name, row)?);
                        if from != to {
                            columns.push(ColumnChange { column: name.clone(), from, to });
                        }
                    }
                    self.keep(RecordDiff { record_id: id.to_owned(), change: RecordChange::Changed, columns });
                }
            } else if old_pointers.row(old_row) != new_pointers.row(row) {
                self.total.provenance_only += 1;
            } else {
                self.total.unchanged += 1;
            }
        }
        let mut removed: Vec<usize> = old_rows.into_values().collect();
        removed.sort_unstable();
        removed.into_iter().try_for_each(|row| self.count(RecordChange::Removed, old_ids.value(row), before, row))
    }

    fn count(&mut self, change: RecordChange, record_id: &str, batch: &RecordBatch, row: usize) -> Result<()> {
        match change {
            RecordChange::Added => self.total.added += 1,
            RecordChange::Removed => self.total.removed += 1,
            RecordChange::Changed => self.total.changed += 1,
        }
        if !self.wants(change) {
            return Ok(());
        }
        let mut columns = Vec::new();
        for field in batch.schema().fields().iter().filter(|field| is_value(field.name())) {
            if let Some(value) = text(batch, field.name(), row)? {
                let (from, to) = if change == RecordChange::Removed { (Some(value), None) } else { (None, Some(value)) };
                columns.push(ColumnChange { column: field.name().clone(), from, to });
            }
        }
        self.keep(RecordDiff { record_id: record_id.to_owned(), change, columns });
        Ok(())
    }

    fn wants(&self, change: RecordChange) -> bool {
        self.examples.get(&change).map_or(0, Vec::len) < self.max_examples
    }

    fn keep(&mut self, record: RecordDiff) {
        self.examples.entry(record.change).or_default().push(record);
    }

    /// The columns that both have with the same type; notes the others.
    fn shared_columns(&mut self, before: &RecordBatch, after: &RecordBatch) -> Vec<String> {
        let has = |batch: &RecordBatch, name: &str, data_type: &_| batch.schema().field_with_name(name).is_ok_and(|field| field.data_type() == data_type);
        let (old, new) = (before.schema(), after.schema());
        let only = |fields: &arrow::datatypes::Fields, other: &RecordBatch| -> BTreeSet<String> {
            fields.iter().filter(|field| !has(other, field.name(), field.data_type())).map(|field| field.name().clone()).collect()
        };
        self.total.columns_removed.extend(only(old.fields(), after));
        self.total.columns_added.extend(only(new.fields(), before));
        let shared = new.fields().iter().filter(|field| is_value(field.name()) && has(before, field.name(), field.data_type()));
        shared.map(|field| field.name().clone()).collect()
    }
}

fn is_value(column: &str) -> bool {
    column != "record_id" && column != POINTERS
}

fn record_ids(batch: &RecordBatch) -> Result<&StringArray> {
    batch.column_by_name("record_id").and_then(|ids| ids.as_any().downcast_ref()).ok_or_else(|| Error::store("the part has no record ids"))
}

/// The columns of both sides as bytes that are equal exactly when the values are. A column that was stored otherwise, as pointers were
/// before their numbers were signed, is compared as the later release stores it.
fn rows_of(before: &RecordBatch, after: &RecordBatch, names: &[String]) -> Result<(Rows, Rows)> {
    let columns = |batch: &RecordBatch| -> Vec<ArrayRef> { names.iter().filter_map(|name| batch.column_by_name(name).cloned()).collect() };
    let (old, new) = (columns(before), columns(after));
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let old = old.iter().zip(&new).map(|(old, new)| Ok(cast_with_options(old, new.data_type(), &strict)?)).collect::<Result<Vec<_>>>()?;
    let converter = RowConverter::new(new.iter().map(|column| SortField::new(column.data_type().clone())).collect())?;
    Ok((converter.convert_columns(&old)?, converter.convert_columns(&new)?))
}

fn text(batch: &RecordBatch, column: &str, row: usize) -> Result<Option<String>> {
    let Some(cells) = batch.column_by_name(column).filter(|cells| cells.is_valid(row)) else { return Ok(None) };
    Ok(Some(ArrayFormatter::try_new(cells, &FormatOptions::default())?.value(row).try_to_string()?))
}
