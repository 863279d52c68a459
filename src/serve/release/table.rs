//! Reads selected columns of a Parquet part into memory, and finds rows by a sorted key.

use pubdata_store::parquet_error;
use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array,
    Int64Array, ListArray, RecordBatch, RecordBatchReader, StringArray, new_null_array,
};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReaderBuilder, RowSelection, RowSelector};

use crate::release::dictionary::DictionaryColumn;
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::provenance::{POINTERS, SourcePointer};
use pubdata_store::pointers_at;

/// Number of rows in a batch, chosen so that the batch's columns fit into the processor's caches.
const PIECE: usize = 16_384;

/// Opens the named columns of a part. `column?` denotes a column that older releases lack. If it is
/// missing, a text column is null in all rows, and a Boolean column is read by
/// [`Table::added_flags`].
fn open(
    bytes: Bytes,
    columns: &[&str],
    path: &str,
) -> Result<ParquetRecordBatchReaderBuilder<Bytes>> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(parquet_error)?;
    let present = builder.schema().clone();
    if let Some(missing) = columns
        .iter()
        .find(|name| !name.ends_with('?') && present.column_with_name(name).is_none())
    {
        return Err(
            Error::store(format!("{path}: there is no column `{missing}`"))
                .hint("the release was made under another contract; publish again"),
        );
    }
    let mask = ProjectionMask::columns(
        builder.parquet_schema(),
        columns.iter().map(|name| name.trim_end_matches('?')),
    );
    Ok(builder.with_projection(mask))
}

/// Adds the columns that an older release lacks.
fn completed(batch: RecordBatch, columns: &[&str]) -> Result<RecordBatch> {
    let lacking: Vec<&str> = columns
        .iter()
        .filter_map(|name| name.strip_suffix('?'))
        .filter(|name| batch.column_by_name(name).is_none())
        .collect();
    if lacking.is_empty() {
        return Ok(batch);
    }
    let (mut fields, mut arrays) = (batch.schema().fields().to_vec(), batch.columns().to_vec());
    for name in lacking {
        fields.push(Arc::new(Field::new(name, DataType::Utf8, true)));
        arrays.push(new_null_array(&DataType::Utf8, batch.num_rows()));
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
}

/// Columns of one part, with all rows in the part's order.
#[derive(Debug, Clone)]
pub struct Table {
    batch: RecordBatch,
    /// Path of the part, for messages.
    path: String,
}

impl Table {
    /// Reads the named columns of a part.
    pub fn read(bytes: Bytes, columns: &[&str], path: &str) -> Result<Self> {
        let builder = open(bytes, columns, path)?;
        let rows = usize::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
        let reader = builder
            .with_batch_size(rows.max(1))
            .build()
            .map_err(parquet_error)?;
        let schema = RecordBatchReader::schema(&reader);
        let batches = reader.collect::<std::result::Result<Vec<_>, _>>()?;
        Ok(Self {
            batch: completed(concat_batches(&schema, &batches)?, columns)?,
            path: path.to_owned(),
        })
    }

    /// Reads the named columns of a part in batches, so that only one batch is in memory.
    pub fn each(
        bytes: Bytes,
        columns: &[&str],
        path: &str,
        mut take: impl FnMut(&Self) -> Result<()>,
    ) -> Result<()> {
        for batch in open(bytes, columns, path)?
            .with_batch_size(PIECE)
            .build()
            .map_err(parquet_error)?
        {
            take(&Self {
                batch: completed(batch?, columns)?,
                path: path.to_owned(),
            })?;
        }
        Ok(())
    }

    /// Returns the columns.
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// Returns the memory size of the columns.
    pub fn size_bytes(&self) -> usize {
        self.batch.get_array_memory_size()
    }

    fn array<A: Array + Clone + 'static>(&self, name: &str) -> Result<A> {
        let column: &ArrayRef = self
            .batch
            .column_by_name(name)
            .ok_or_else(|| Error::store(format!("{}: column `{name}` was not read", self.path)))?;
        let typed = column.as_any().downcast_ref::<A>();
        typed.cloned().ok_or_else(|| {
            Error::store(format!(
                "{}: column `{name}` has the type {}",
                self.path,
                column.data_type()
            ))
        })
    }

    /// Returns a text column.
    pub fn texts(&self, name: &str) -> Result<Texts> {
        Ok(Texts(self.array(name)?))
    }

    /// Returns a 32-bit integer column.
    pub fn int32s(&self, name: &str) -> Result<Int32Array> {
        self.array(name)
    }

    /// Returns a 64-bit integer column.
    pub fn int64s(&self, name: &str) -> Result<Int64Array> {
        self.array(name)
    }

    /// Returns a float column.
    pub fn floats(&self, name: &str) -> Result<Float64Array> {
        self.array(name)
    }

    /// Returns a Boolean column.
    pub fn flags(&self, name: &str) -> Result<BooleanArray> {
        self.array(name)
    }

    /// Returns a Boolean column that older releases lack: all rows of those releases are true. The
    /// column must be read as `column?`.
    pub fn added_flags(&self, name: &str) -> Result<BooleanArray> {
        let is_lacking = self
            .batch
            .column_by_name(name)
            .is_some_and(|column| *column.data_type() == DataType::Utf8);
        if is_lacking {
            Ok(BooleanArray::from(vec![true; self.rows()]))
        } else {
            self.flags(name)
        }
    }

    /// Returns a date column.
    pub fn dates(&self, name: &str) -> Result<Date32Array> {
        self.array(name)
    }

    /// Returns a decimal column.
    pub fn decimals(&self, name: &str) -> Result<Decimal128Array> {
        self.array(name)
    }

    /// Returns a dictionary-encoded text column.
    pub fn words(&self, name: &str) -> Result<DictionaryColumn> {
        let texts = self.texts(name)?;
        let mut words = DictionaryColumn::default();
        (0..texts.len()).try_for_each(|row| words.push(texts.get(row)))?;
        Ok(words)
    }

    /// Returns a column whose cells are lists of strings.
    pub fn text_lists(&self, name: &str) -> Result<TextLists> {
        let lists: ListArray = self.array(name)?;
        let values = lists
            .values()
            .as_any()
            .downcast_ref::<StringArray>()
            .cloned();
        let values = values.ok_or_else(|| {
            Error::store(format!(
                "{}: column `{name}` is not a list of texts",
                self.path
            ))
        })?;
        Ok(TextLists { lists, values })
    }
}

/// A text column.
#[derive(Debug, Clone)]
pub struct Texts(StringArray);

impl Texts {
    pub fn get(&self, row: usize) -> Option<&str> {
        (!self.0.is_null(row)).then(|| self.0.value(row))
    }

    /// Returns the text of a row; the column must not contain nulls.
    pub fn at(&self, row: usize) -> &str {
        self.0.value(row)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Finds the row of a key in a sorted column by binary search.
    pub fn find(&self, key: &str) -> Option<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.at(middle).cmp(key) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    /// Checks that the keys are strictly ascending, which [`Texts::find`] requires.
    pub fn check_sorted(&self, path: &str) -> Result<()> {
        match (1..self.len()).find(|&row| self.at(row - 1) >= self.at(row)) {
            Some(row) => Err(Error::store(format!(
                "{path}: key `{}` in row {row} is out of order or occurs twice",
                self.at(row)
            ))),
            None => Ok(()),
        }
    }
}

/// A column whose cells are lists of strings.
#[derive(Debug, Clone)]
pub struct TextLists {
    lists: ListArray,
    values: StringArray,
}

impl TextLists {
    /// Returns the texts of a row; empty if the list is null.
    pub fn at(&self, row: usize) -> impl ExactSizeIterator<Item = &str> {
        let offsets = self.lists.value_offsets();
        let range = if self.lists.is_null(row) {
            0..0
        } else {
            offsets[row] as usize..offsets[row + 1] as usize
        };
        range.map(|index| self.values.value(index))
    }

    /// Reports whether a row's list equals another list.
    pub fn is_equal(&self, row: usize, other: &[String]) -> bool {
        self.at(row).len() == other.len() && self.at(row).zip(other).all(|(a, b)| a == b)
    }
}

/// Reads the source pointers of selected rows of a part, given in ascending order, without decoding
/// the other rows.
pub fn read_pointers(bytes: Bytes, rows: &[usize], path: &str) -> Result<Vec<Vec<SourcePointer>>> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(parquet_error)?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), [POINTERS]);
    let mut selectors = Vec::new();
    let mut next = 0;
    for &row in rows {
        selectors.push(RowSelector::skip(row - next));
        selectors.push(RowSelector::select(1));
        next = row + 1;
    }
    let reader = builder
        .with_projection(mask)
        .with_row_selection(RowSelection::from(selectors))
        .with_batch_size(rows.len().max(1))
        .build()
        .map_err(parquet_error)?;
    let mut pointers = Vec::with_capacity(rows.len());
    for batch in reader {
        let batch = batch?;
        let column = batch
            .column_by_name(POINTERS)
            .ok_or_else(|| Error::store(format!("{path}: there is no column `{POINTERS}`")))?;
        for row in 0..batch.num_rows() {
            pointers.push(pointers_at(column, row).context(|| path.to_owned())?);
        }
    }
    Ok(pointers)
}
