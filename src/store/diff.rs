//! Compares two releases: how each record changed, and why each build differs. Parts with identical
//! bytes are not read.

use crate::parquet_error;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchReader, StringArray};
use arrow::compute::{CastOptions, cast_with_options, concat_batches};
use arrow::datatypes::{Field, Schema};
use arrow::row::{RowConverter, Rows, SortField};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use schemars::JsonSchema;
use serde::Serialize;

use super::changes::{Cause, causes, paired_parts};
use super::{Manifest, Part, Releases, pointers_at};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::ids::ReleaseId;
use pubdata_core::provenance::{POINTERS, SourcePointer};

/// Differences between two releases, and their causes: `pubdata releases diff`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReleaseDiff {
    /// The earlier release.
    pub from: ReleaseId,
    /// The later release.
    pub to: ReleaseId,
    /// Causes by task; unchanged tasks are omitted.
    pub causes: BTreeMap<String, Vec<Cause>>,
    /// Changes by dataset, for all datasets of both releases or for the requested ones.
    pub datasets: BTreeMap<String, DatasetDiff>,
    /// By task, why the causes cannot be assigned to individual records; absent without `--why`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BTreeMap<String, String>")]
    #[serde(rename = "not_told_apart")]
    pub not_distinguished: Option<BTreeMap<String, String>>,
}

/// How the records of a dataset changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct DatasetDiff {
    /// Records that are only in the later release.
    pub added: u64,
    /// Records that are only in the earlier release.
    pub removed: u64,
    /// Records that have a different value in a column present in both releases.
    pub changed: u64,
    /// Records with the same values, taken from different bytes.
    pub provenance_only: u64,
    /// Records without a difference.
    pub unchanged: u64,
    /// Columns that are only in the later release, or have a different type in that release.
    pub columns_added: BTreeSet<String>,
    /// Columns that are only in the earlier release, or have a different type in that release.
    pub columns_removed: BTreeSet<String>,
    /// Tasks whose parts have different bytes.
    pub tasks: BTreeSet<String>,
    /// A few records of each kind: changed ones first, then added, then removed.
    pub examples: Vec<RecordDiff>,
    /// Number of changed records by combination of causes, counting each record once; absent
    /// without `--why`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<CausedChanges>")]
    pub why: Option<Vec<CausedChanges>>,
}

/// A build input whose change affected a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordCause {
    /// The build is only in the later release.
    TaskAdded,
    /// The build is only in the earlier release.
    TaskRemoved,
    /// The publisher's files, including their dates.
    SourceBytes,
    Declaration,
    Contract,
    Code,
}

/// Why a record changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Causes {
    /// The causes of the change.
    pub causes: Vec<RecordCause>,
    /// False if at least one of the causes changed the record, but it is not known which.
    #[serde(rename = "is_told_apart")]
    pub is_distinguished: bool,
}

/// Records that changed for the same causes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CausedChanges {
    #[serde(flatten)]
    pub causes: Causes,
    /// Records that are only in the later release.
    pub added: u64,
    /// Records that are only in the earlier release.
    pub removed: u64,
    /// Records that have a different value in a column present in both releases.
    pub changed: u64,
    /// Records with the same values, taken from different bytes.
    pub provenance_only: u64,
}

/// Why an example record changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordWhy {
    #[serde(flatten)]
    pub causes: Causes,
    /// URLs of the changed files from which the record was taken in either release; empty if source
    /// bytes are not a cause.
    pub urls: BTreeSet<String>,
}

/// One record that differs between the releases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordDiff {
    /// Id of the record.
    pub record_id: String,
    /// How the record changed.
    pub change: RecordChange,
    /// The columns that differ; for an added or removed record, all columns that have a value.
    pub columns: Vec<ColumnChange>,
    /// Why the record changed; absent without `--why`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RecordWhy")]
    pub why: Option<RecordWhy>,
}

/// Kind of change to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordChange {
    Changed,
    Added,
    Removed,
}

/// A column's values as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ColumnChange {
    /// Name of the column.
    pub column: String,
    /// Value in the earlier release; null if the record has no value.
    pub from: Option<String>,
    /// Value in the later release; null if the record has no value.
    pub to: Option<String>,
}

/// Compares two releases record by record, showing at most `max_examples` records per kind of
/// change. An empty `only` selects all datasets. Parts with identical bytes are not read.
///
/// # Errors
/// `Store`, when a manifest or a part cannot be read; `Config`, when neither release has a dataset
/// that `only` names.
pub async fn diff(
    releases: &Releases,
    (old, new): (&Manifest, &Manifest),
    max_examples: usize,
    only: &[String],
) -> Result<ReleaseDiff> {
    let all: BTreeSet<&String> = old.datasets.keys().chain(new.datasets.keys()).collect();
    if let Some(unknown) = only.iter().find(|dataset_id| !all.contains(dataset_id)) {
        let ids: Vec<&str> = all.iter().map(|dataset_id| dataset_id.as_str()).collect();
        return Err(
            Error::config(format!("neither release has a dataset `{unknown}`"))
                .hint(format!("they have {}", ids.join(", "))),
        );
    }
    let mut datasets = BTreeMap::new();
    for dataset_id in all
        .into_iter()
        .filter(|dataset_id| only.is_empty() || only.contains(dataset_id))
    {
        let compared = compare_dataset(releases, (old, new), dataset_id, max_examples)
            .await
            .context(|| dataset_id.clone())?;
        datasets.insert(dataset_id.clone(), compared);
    }
    let (from, to) = (old.release_id.clone(), new.release_id.clone());
    Ok(ReleaseDiff {
        from,
        to,
        causes: causes(old, new),
        datasets,
        not_distinguished: None,
    })
}

async fn compare_dataset(
    releases: &Releases,
    (old, new): (&Manifest, &Manifest),
    dataset_id: &str,
    max_examples: usize,
) -> Result<DatasetDiff> {
    let mut comparison = Comparison {
        max_examples,
        ..Comparison::default()
    };
    for sides in paired_parts(old, new, dataset_id) {
        if let (Some(a), Some(b)) = sides
            && a.sha256 == b.sha256
        {
            comparison.total.unchanged += a.rows;
            continue;
        }
        comparison.total.tasks.extend(
            [sides.0, sides.1]
                .into_iter()
                .flatten()
                .map(|part| part.task_id.clone()),
        );
        let a = read(releases, &old.release_id, sides.0).await?;
        let b = read(releases, &new.release_id, sides.1).await?;
        let compared = match (&a, &b) {
            (Some(a), Some(b)) => comparison.compare(a, b),
            (Some(a), None) => comparison.add_all(RecordChange::Removed, &a.0),
            (None, b) => b
                .as_ref()
                .map_or(Ok(()), |b| comparison.add_all(RecordChange::Added, &b.0)),
        };
        compared.context(|| {
            sides
                .1
                .or(sides.0)
                .map_or_else(String::new, |part| part.path.clone())
        })?;
    }
    let mut total = comparison.total;
    total.examples = comparison.examples.into_values().flatten().collect();
    Ok(total)
}

async fn read(
    releases: &Releases,
    id: &ReleaseId,
    part: Option<&Part>,
) -> Result<Option<PartRows>> {
    let Some(part) = part else { return Ok(None) };
    PartRows::read(releases.part(id, part).await?)
        .context(|| format!("part {} of release {id}", part.path))
        .map(Some)
}

/// The rows of a part.
#[derive(Debug, Clone)]
pub struct PartRows(RecordBatch);

impl PartRows {
    /// Reads the rows from the bytes of a part.
    pub fn read(part: Bytes) -> Result<Self> {
        let reader = ParquetRecordBatchReaderBuilder::try_new(part)
            .and_then(ParquetRecordBatchReaderBuilder::build)
            .map_err(parquet_error)?;
        let schema = reader.schema();
        let batches = reader.collect::<std::result::Result<Vec<RecordBatch>, _>>()?;
        Ok(Self(concat_batches(&schema, &batches)?))
    }

    /// Returns the value columns that this version and a later version share with the same type.
    pub fn columns_shared_with(&self, later: &Self) -> Vec<String> {
        let (old, new) = (self.0.schema(), later.0.schema());
        let shared = new
            .fields()
            .iter()
            .filter(|field| is_value(field.name()) && has(&old, field));
        shared.map(|field| field.name().clone()).collect()
    }

    /// Returns the source pointers of a record; empty if the part does not contain the record.
    ///
    /// # Errors
    /// `Store`, when the part has no record ids or no pointers.
    pub fn pointers_of(&self, record_id: &str) -> Result<Vec<SourcePointer>> {
        let row = record_ids(&self.0)?
            .iter()
            .position(|id| id == Some(record_id));
        row.zip(self.0.column_by_name(POINTERS)).map_or_else(
            || Ok(Vec::new()),
            |(row, pointers)| pointers_at(pointers, row),
        )
    }
}

fn has(schema: &Schema, field: &Field) -> bool {
    schema
        .field_with_name(field.name())
        .is_ok_and(|own| own.data_type() == field.data_type())
}

/// Returns the records that differ between two versions of a part. Compares only `columns`, which
/// must be in both versions. The value is `None` if only the record's pointers differ.
pub fn changes_of_records(
    before: Option<&PartRows>,
    after: Option<&PartRows>,
    columns: &[String],
) -> Result<HashMap<String, Option<RecordChange>>> {
    let mut changes = HashMap::new();
    let (before, after) = match (before, after) {
        (Some(before), Some(after)) => (before, after),
        (before, after) => {
            let change = if after.is_some() {
                RecordChange::Added
            } else {
                RecordChange::Removed
            };
            for rows in [before, after].into_iter().flatten() {
                changes.extend(
                    record_ids(&rows.0)?
                        .iter()
                        .flatten()
                        .map(|id| (id.to_owned(), Some(change))),
                );
            }
            return Ok(changes);
        }
    };
    walk(&before.0, &after.0, columns, |id, became| {
        let change = match became {
            RowChange::Added(_) => Some(RecordChange::Added),
            RowChange::Removed(_) => Some(RecordChange::Removed),
            RowChange::Changed(..) => Some(RecordChange::Changed),
            RowChange::ProvenanceOnly => None,
            RowChange::Unchanged => return Ok(()),
        };
        changes.insert(id.to_owned(), change);
        Ok(())
    })?;
    Ok(changes)
}

/// Kind of change to a record, with the row numbers before and after the change.
enum RowChange {
    Added(usize),
    Removed(usize),
    Changed(usize, usize),
    ProvenanceOnly,
    Unchanged,
}

/// Visits the records of two versions of a part: first the records of the later version, in order,
/// then the records that are only in the earlier version.
fn walk(
    before: &RecordBatch,
    after: &RecordBatch,
    columns: &[String],
    mut visit: impl FnMut(&str, RowChange) -> Result<()>,
) -> Result<()> {
    let (old_ids, new_ids) = (record_ids(before)?, record_ids(after)?);
    let (old_values, new_values) = rows_of(before, after, columns)?;
    let (old_pointers, new_pointers) = rows_of(before, after, &[POINTERS.to_owned()])?;
    let mut old_rows: HashMap<&str, usize> = old_ids
        .iter()
        .flatten()
        .enumerate()
        .map(|(row, id)| (id, row))
        .collect();
    for (row, id) in new_ids.iter().flatten().enumerate() {
        let became = match old_rows.remove(id) {
            None => RowChange::Added(row),
            Some(old_row) if old_values.row(old_row) != new_values.row(row) => {
                RowChange::Changed(old_row, row)
            }
            Some(old_row) if old_pointers.row(old_row) != new_pointers.row(row) => {
                RowChange::ProvenanceOnly
            }
            Some(_) => RowChange::Unchanged,
        };
        visit(id, became)?;
    }
    let mut removed: Vec<usize> = old_rows.into_values().collect();
    removed.sort_unstable();
    removed
        .into_iter()
        .try_for_each(|row| visit(old_ids.value(row), RowChange::Removed(row)))
}

#[derive(Default)]
struct Comparison {
    max_examples: usize,
    total: DatasetDiff,
    /// At most `max_examples` records of each kind, so that rare kinds are shown regardless of the
    /// order of the parts.
    examples: BTreeMap<RecordChange, Vec<RecordDiff>>,
}

impl Comparison {
    fn add_all(&mut self, change: RecordChange, batch: &RecordBatch) -> Result<()> {
        let ids = record_ids(batch)?;
        (0..batch.num_rows()).try_for_each(|row| self.count(change, ids.value(row), batch, row))
    }

    fn compare(&mut self, earlier: &PartRows, later: &PartRows) -> Result<()> {
        let shared = earlier.columns_shared_with(later);
        let (before, after) = (&earlier.0, &later.0);
        self.record_schema_changes(before, after);
        walk(before, after, &shared, |id, became| {
            match became {
                RowChange::Added(row) => self.count(RecordChange::Added, id, after, row)?,
                RowChange::Removed(row) => self.count(RecordChange::Removed, id, before, row)?,
                RowChange::Changed(old_row, row) => {
                    self.total.changed += 1;
                    if self.wants(RecordChange::Changed) {
                        let mut columns = Vec::new();
                        for name in &shared {
                            let (from, to) =
                                (text(before, name, old_row)?, text(after, name, row)?);
                            if from != to {
                                columns.push(ColumnChange {
                                    column: name.clone(),
                                    from,
                                    to,
                                });
                            }
                        }
                        self.keep(RecordDiff {
                            record_id: id.to_owned(),
                            change: RecordChange::Changed,
                            columns,
                            why: None,
                        });
                    }
                }
                RowChange::ProvenanceOnly => self.total.provenance_only += 1,
                RowChange::Unchanged => self.total.unchanged += 1,
            }
            Ok(())
        })
    }

    fn count(
        &mut self,
        change: RecordChange,
        record_id: &str,
        batch: &RecordBatch,
        row: usize,
    ) -> Result<()> {
        match change {
            RecordChange::Added => self.total.added += 1,
            RecordChange::Removed => self.total.removed += 1,
            RecordChange::Changed => self.total.changed += 1,
        }
        if !self.wants(change) {
            return Ok(());
        }
        let mut columns = Vec::new();
        for field in batch
            .schema()
            .fields()
            .iter()
            .filter(|field| is_value(field.name()))
        {
            if let Some(value) = text(batch, field.name(), row)? {
                let (from, to) = if change == RecordChange::Removed {
                    (Some(value), None)
                } else {
                    (None, Some(value))
                };
                columns.push(ColumnChange {
                    column: field.name().clone(),
                    from,
                    to,
                });
            }
        }
        self.keep(RecordDiff {
            record_id: record_id.to_owned(),
            change,
            columns,
            why: None,
        });
        Ok(())
    }

    fn wants(&self, change: RecordChange) -> bool {
        self.examples.get(&change).map_or(0, Vec::len) < self.max_examples
    }

    fn keep(&mut self, record: RecordDiff) {
        self.examples.entry(record.change).or_default().push(record);
    }

    /// Records the columns that only one side has, or that have different types on the two sides.
    fn record_schema_changes(&mut self, before: &RecordBatch, after: &RecordBatch) {
        let (old, new) = (before.schema(), after.schema());
        let only = |of: &Schema, other: &Schema| {
            of.fields()
                .iter()
                .filter(|field| !has(other, field))
                .map(|field| field.name().clone())
                .collect::<Vec<_>>()
        };
        self.total.columns_removed.extend(only(&old, &new));
        self.total.columns_added.extend(only(&new, &old));
    }
}

fn is_value(column: &str) -> bool {
    column != "record_id" && column != POINTERS
}

fn record_ids(batch: &RecordBatch) -> Result<&StringArray> {
    batch
        .column_by_name("record_id")
        .and_then(|ids| ids.as_any().downcast_ref())
        .ok_or_else(|| Error::store("the part has no record ids"))
}

/// Encodes the columns of both sides as bytes that are equal exactly when the values are. A column
/// whose stored type differs is cast to its type in the later release. For example, pointers were
/// once stored as unsigned integers.
fn rows_of(before: &RecordBatch, after: &RecordBatch, names: &[String]) -> Result<(Rows, Rows)> {
    let columns = |batch: &RecordBatch| -> Vec<ArrayRef> {
        names
            .iter()
            .filter_map(|name| batch.column_by_name(name).cloned())
            .collect()
    };
    let (old, new) = (columns(before), columns(after));
    let strict = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let old = old
        .iter()
        .zip(&new)
        .map(|(old, new)| Ok(cast_with_options(old, new.data_type(), &strict)?))
        .collect::<Result<Vec<_>>>()?;
    let converter = RowConverter::new(
        new.iter()
            .map(|column| SortField::new(column.data_type().clone()))
            .collect(),
    )?;
    Ok((
        converter.convert_columns(&old)?,
        converter.convert_columns(&new)?,
    ))
}

fn text(batch: &RecordBatch, column: &str, row: usize) -> Result<Option<String>> {
    let Some(cells) = batch
        .column_by_name(column)
        .filter(|cells| cells.is_valid(row))
    else {
        return Ok(None);
    };
    let text = ArrayFormatter::try_new(cells, &FormatOptions::default())?
        .value(row)
        .try_to_string()?;
    // Integers are written as in API responses: 19652, not 19652.0.
    let whole = Some(&text)
        .filter(|_| cells.data_type().is_floating() || cells.data_type().is_decimal())
        .and_then(|text| text.strip_suffix(".0"));
    Ok(Some(whole.map_or_else(|| text.clone(), str::to_owned)))
}
