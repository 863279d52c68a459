//! Reads individual records from a part as JSON values with their source pointers. Reads only row
//! groups that may contain the record id.

use crate::parquet_error;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, PrimitiveArray, RecordBatch};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type, UInt64Type,
};
use arrow::error::ArrowError;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowFilter, RowSelection,
    RowSelector,
};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, RowGroupMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::reader::ChunkReader;
use serde_json::{Map, Value};

use super::{Manifest, Part};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::RecordId;
use pubdata_core::provenance::{POINTERS, SourcePointer};

/// A record's columns, without the pointer column, and the record's pointers.
pub type Record = (Map<String, Value>, Vec<SourcePointer>);

/// A record, with the release and part in which it was found.
#[derive(Debug, Clone, Copy)]
pub struct FoundRecord<'a> {
    pub manifest: &'a Manifest,
    pub part: &'a Part,
    pub record_id: &'a RecordId,
    pub columns: &'a Map<String, Value>,
    pub pointers: &'a [SourcePointer],
}

const RECORD_ID: &str = "record_id";

/// Finds a record in a part, which is given as bytes or as a file that is read as needed. Skips row
/// groups whose id range does not include the record.
///
/// # Errors
/// `Store`, when the bytes are not a readable part.
pub fn find_record(
    part: impl ChunkReader + 'static,
    record_id: &RecordId,
) -> Result<Option<Record>> {
    row_of_record(part, record_id)?
        .map(|row| record_at(&row, 0))
        .transpose()
}

/// Finds a record in a part as [`find_record`] does, and returns a batch that contains only the
/// record's row.
///
/// # Errors
/// Same as for [`find_record`].
pub fn row_of_record(
    part: impl ChunkReader + 'static,
    record_id: &RecordId,
) -> Result<Option<RecordBatch>> {
    let with_pages = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(part, with_pages)
        .map_err(parquet_error)?;
    let metadata = builder.metadata().clone();
    let schema = builder.parquet_schema().clone();
    let column = (0..schema.num_columns()).find(|index| schema.column(*index).name() == RECORD_ID);
    let column = column.ok_or_else(|| Error::store("the part has no column record_id"))?;
    let groups: Vec<usize> = (0..metadata.num_row_groups())
        .filter(|group| may_hold(metadata.row_group(*group), column, record_id))
        .collect();
    let target = record_id.as_str().to_owned();
    let is_selected = move |batch: RecordBatch| -> std::result::Result<BooleanArray, ArrowError> {
        let ids = batch.column(0).as_string::<i32>();
        Ok(ids
            .iter()
            .map(|id| Some(id == Some(target.as_str())))
            .collect())
    };
    let filter = RowFilter::new(vec![Box::new(ArrowPredicateFn::new(
        ProjectionMask::leaves(&schema, [column]),
        is_selected,
    ))]);
    let pages = pages_that_may_hold(&metadata, &groups, column, record_id);
    for batch in builder
        .with_row_groups(groups)
        .with_row_selection(pages)
        .with_row_filter(filter)
        .build()
        .map_err(parquet_error)?
    {
        let batch = batch?;
        if batch.num_rows() > 0 {
            return Ok(Some(batch.slice(0, 1)));
        }
    }
    Ok(None)
}

/// Returns the ids of a part's records in which a text column equals the given value, in the part's
/// order. Reads only the id column and that text column.
///
/// # Errors
/// `Store`, when the bytes are not a readable part, or when the part has no such text column.
pub fn record_ids_where(part: Bytes, column: &str, value: &str) -> Result<Vec<String>> {
    let builder =
        ParquetRecordBatchReaderBuilder::try_new_with_options(part, ArrowReaderOptions::new())
            .map_err(parquet_error)?;
    let schema = builder.parquet_schema().clone();
    let target = value.to_owned();
    let is_selected = move |batch: RecordBatch| -> std::result::Result<BooleanArray, ArrowError> {
        let cells = batch
            .column(0)
            .as_string_opt::<i32>()
            .ok_or_else(|| ArrowError::SchemaError("the column does not hold text".to_owned()))?;
        Ok(cells
            .iter()
            .map(|cell| Some(cell == Some(target.as_str())))
            .collect())
    };
    let filter = RowFilter::new(vec![Box::new(ArrowPredicateFn::new(
        ProjectionMask::columns(&schema, [column]),
        is_selected,
    ))]);
    let mut ids = Vec::new();
    for batch in builder
        .with_projection(ProjectionMask::columns(&schema, [RECORD_ID]))
        .with_row_filter(filter)
        .build()
        .map_err(parquet_error)?
    {
        let batch = batch?;
        let texts = batch
            .column(0)
            .as_string_opt::<i32>()
            .ok_or_else(|| Error::store("the part has no column record_id"))?;
        ids.extend(texts.iter().flatten().map(str::to_owned));
    }
    Ok(ids)
}

/// Selects the rows of pages whose id range includes the record id. If a row group has no page
/// index, all of its rows are selected.
fn pages_that_may_hold(
    metadata: &ParquetMetaData,
    groups: &[usize],
    column: usize,
    record_id: &RecordId,
) -> RowSelection {
    let target = record_id.as_str().as_bytes();
    let mut selectors = Vec::new();
    for group in groups {
        let rows = usize::try_from(metadata.row_group(*group).num_rows()).unwrap_or_default();
        let index = metadata.page_index_for_row_group(*group);
        let (Some(ColumnIndexMetaData::BYTE_ARRAY(ids)), Some(offsets)) =
            (index.column_index(column), index.offset_index(column))
        else {
            selectors.push(RowSelector::select(rows));
            continue;
        };
        if ids.num_pages() != offsets.page_locations().len() as u64 {
            selectors.push(RowSelector::select(rows));
            continue;
        }
        let starts: Vec<usize> = offsets
            .page_locations()
            .iter()
            .map(|page| usize::try_from(page.first_row_index).unwrap_or_default())
            .collect();
        for (page, start) in starts.iter().enumerate() {
            let in_page = starts
                .get(page + 1)
                .copied()
                .unwrap_or(rows)
                .saturating_sub(*start);
            let may_hold = ids.min_value(page).is_none_or(|min| min <= target)
                && ids.max_value(page).is_none_or(|max| target <= max);
            selectors.push(if may_hold {
                RowSelector::select(in_page)
            } else {
                RowSelector::skip(in_page)
            });
        }
    }
    RowSelection::from(selectors)
}

fn may_hold(group: &RowGroupMetaData, column: usize, record_id: &RecordId) -> bool {
    let Some(statistics) = group.column(column).statistics() else {
        return true;
    };
    let target = record_id.as_str().as_bytes();
    statistics.min_bytes_opt().is_none_or(|min| min <= target)
        && statistics.max_bytes_opt().is_none_or(|max| target <= max)
}

/// Finds a record in a batch.
pub fn find_in_batch(batch: &RecordBatch, record_id: &RecordId) -> Result<Option<Record>> {
    let ids = batch
        .column_by_name(RECORD_ID)
        .and_then(|ids| ids.as_string_opt::<i32>())
        .ok_or_else(|| Error::store("the part has no column record_id"))?;
    let Some(row) = ids.iter().position(|id| id == Some(record_id.as_str())) else {
        return Ok(None);
    };
    record_at(batch, row).map(Some)
}

/// Returns the record in a row of a batch.
///
/// # Errors
/// `Store`, when a column has a type that parts do not use.
pub fn record_at(batch: &RecordBatch, row: usize) -> Result<Record> {
    let mut record = Map::new();
    let mut pointers = Vec::new();
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if field.name() == POINTERS {
            pointers = pointers_at(column, row)?;
        } else {
            record.insert(field.name().clone(), cell(column, row)?);
        }
    }
    Ok((record, pointers))
}

fn cell(column: &ArrayRef, row: usize) -> Result<Value> {
    if column.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(row).into(),
        DataType::Boolean => column.as_boolean().value(row).into(),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).into(),
        DataType::Float64 => number(&column.as_primitive::<Float64Type>().value(row).to_string()),
        DataType::Date32 => column
            .as_primitive::<Date32Type>()
            .value_as_date(row)
            .map(|date| date.to_string())
            .into(),
        DataType::Decimal128(..) => {
            let text = column.as_primitive::<Decimal128Type>().value_as_string(row);
            number(if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.')
            } else {
                &text
            })
        }
        DataType::List(_) => {
            let items = column.as_list::<i32>().value(row);
            let texts = items
                .as_string_opt::<i32>()
                .ok_or_else(|| Error::store("a list column does not hold text"))?;
            texts.iter().map(Value::from).collect::<Vec<_>>().into()
        }
        other => {
            return Err(Error::store(format!(
                "column type {other} is not one that parts have"
            )));
        }
    })
}

/// Returns a JSON number with these digits, or a string if no JSON number would be read back with
/// the same digits.
fn number(text: &str) -> Value {
    match (text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(whole), _) => whole.into(),
        (_, Ok(fraction)) if fraction.to_string() == text => fraction.into(),
        _ => text.into(),
    }
}

/// Offsets or lengths. Earlier releases stored them as unsigned integers.
enum Numbers<'a> {
    Signed(&'a PrimitiveArray<Int64Type>),
    Unsigned(&'a PrimitiveArray<UInt64Type>),
}

impl<'a> Numbers<'a> {
    fn new(column: &'a ArrayRef) -> Option<Self> {
        column
            .as_primitive_opt()
            .map(Self::Signed)
            .or_else(|| column.as_primitive_opt().map(Self::Unsigned))
    }

    fn at(&self, index: usize) -> u64 {
        match self {
            // A negative offset is invalid. The result points at no byte.
            Self::Signed(numbers) => u64::try_from(numbers.value(index)).unwrap_or(u64::MAX),
            Self::Unsigned(numbers) => numbers.value(index),
        }
    }
}

/// Returns the source pointers in a row.
///
/// # Errors
/// `Store`, when the column is not a list of pointers.
pub fn pointers_at(column: &ArrayRef, row: usize) -> Result<Vec<SourcePointer>> {
    let not_pointers = || Error::store(format!("column {POINTERS} does not hold pointers"));
    let items = column
        .as_list_opt::<i32>()
        .ok_or_else(not_pointers)?
        .value(row);
    let fields = items.as_struct_opt().ok_or_else(not_pointers)?;
    let field = |name: &str| fields.column_by_name(name).ok_or_else(not_pointers);
    let text = |name: &str| field(name)?.as_string_opt::<i32>().ok_or_else(not_pointers);
    let number = |name: &str| Numbers::new(field(name)?).ok_or_else(not_pointers);
    let (source_ids, snapshots, members) = (text("source_id")?, text("snapshot")?, text("member")?);
    let (offsets, lengths) = (number("offset")?, number("length")?);
    let pointer = |index: usize| {
        let snapshot = snapshots
            .value(index)
            .parse()
            .map_err(|error| Error::store(format!("column {POINTERS}: {error}")))?;
        Ok(SourcePointer {
            source_id: source_ids.value(index).to_owned(),
            snapshot,
            member: members
                .is_valid(index)
                .then(|| members.value(index).to_owned()),
            offset: offsets.at(index),
            length: lengths.at(index),
        })
    };
    (0..fields.len()).map(pointer).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use arrow::array::{
        Decimal128Array, Float64Array, Int64Array, ListArray, StringArray, StructArray, UInt64Array,
    };
    use arrow::buffer::OffsetBuffer;
    use arrow::datatypes::{Field, Fields};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::{EnabledStatistics, WriterProperties};

    use super::*;
    use pubdata_core::ids::Digest;

    /// Builds a column that has a single row with one pointer.
    fn column(offset: ArrayRef, length: ArrayRef) -> ArrayRef {
        let text = |text: &str| Arc::new(StringArray::from(vec![text.to_owned()])) as ArrayRef;
        let columns = [
            ("source_id", text("test.source")),
            ("snapshot", text(&Digest::sha256(b"file").to_string())),
            (
                "member",
                Arc::new(StringArray::from(vec![None::<&str>])) as ArrayRef,
            ),
            ("offset", offset),
            ("length", length),
        ];
        let fields: Fields = columns
            .iter()
            .map(|(name, array)| Field::new(*name, array.data_type().clone(), *name == "member"))
            .collect();
        let items = StructArray::new(
            fields.clone(),
            columns.into_iter().map(|(_, array)| array).collect(),
            None,
        );
        let field = Arc::new(Field::new_list_field(DataType::Struct(fields), false));
        Arc::new(ListArray::new(
            field,
            OffsetBuffer::from_lengths([1]),
            Arc::new(items),
            None,
        ))
    }

    #[test]
    fn figures_are_numbers_with_the_digits_of_the_column() {
        let decimals: ArrayRef = Arc::new(
            Decimal128Array::from(vec![
                429_050_000_000_000_000_000,
                61_300_000_000,
                -5,
                123_456_789_012_345_678,
                12_345_678_901_234_567_890_000_000_000,
            ])
            .with_precision_and_scale(38, 10)
            .unwrap(),
        );
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![19_652.0, 71.6, -0.0]));
        let cells = |column: &ArrayRef| {
            (0..column.len())
                .map(|row| cell(column, row).unwrap().to_string())
                .collect::<Vec<_>>()
        };
        // A longer fraction would be read back with different digits.
        assert_eq!(
            cells(&decimals),
            [
                "42905000000",
                "6.13",
                "-5e-10",
                "\"12345678.9012345678\"",
                "1234567890123456789"
            ]
        );
        assert_eq!(cells(&floats), ["19652", "71.6", "0"]);
    }

    #[test]
    fn pointers_are_read_from_releases_of_both_layouts() {
        let signed = column(
            Arc::new(Int64Array::from(vec![2_616])),
            Arc::new(Int64Array::from(vec![25])),
        );
        let unsigned = column(
            Arc::new(UInt64Array::from(vec![2_616])),
            Arc::new(UInt64Array::from(vec![25])),
        );
        for column in [signed, unsigned] {
            let pointers = pointers_at(&column, 0).unwrap();
            assert_eq!(
                (pointers.len(), pointers[0].offset, pointers[0].length),
                (1, 2_616, 25)
            );
        }
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["2616"]));
        let other = column(texts, Arc::new(Int64Array::from(vec![25])));
        assert!(
            pointers_at(&other, 0)
                .unwrap_err()
                .to_string()
                .contains("does not hold pointers")
        );
    }

    /// Tests ids whose common prefixes are longer than an index stores, sorted and unsorted, across
    /// several row groups and pages.
    #[test]
    fn every_record_is_found_in_its_page_whatever_the_order_and_the_index() {
        let id = |number: usize| format!("test.place:{}:{number:05}", "x".repeat(number % 90));
        let sorted = {
            let mut ids: Vec<String> = (0..500).map(|number| id(2 * number)).collect();
            ids.sort();
            ids
        };
        let shuffled: Vec<String> = (0..500).map(|number| id(2 * (number * 7 % 500))).collect();
        for (ids, statistics) in [
            (&sorted, EnabledStatistics::Page),
            (&shuffled, EnabledStatistics::Page),
            (&sorted, EnabledStatistics::Chunk),
            (&sorted, EnabledStatistics::None),
        ] {
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..500));
            let texts: ArrayRef = Arc::new(StringArray::from(ids.clone()));
            let batch = RecordBatch::try_from_iter([(RECORD_ID, texts), ("row", numbers)]).unwrap();
            let properties = WriterProperties::builder()
                .set_max_row_group_row_count(Some(120))
                .set_data_page_row_count_limit(10)
                .set_write_batch_size(5)
                .set_statistics_enabled(statistics)
                .build();
            let mut bytes = Vec::new();
            let mut writer =
                ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
            writer.write(&batch).unwrap();
            writer.close().unwrap();
            let part = Bytes::from(bytes);
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&part).unwrap();
            for (row, record_id) in ids.iter().enumerate() {
                let found = find_record(part.clone(), &record_id.parse().unwrap())
                    .unwrap()
                    .unwrap_or_else(|| panic!("{record_id} is lost"));
                assert_eq!(
                    (&found.0[RECORD_ID], &found.0["row"]),
                    (&Value::from(record_id.as_str()), &Value::from(row))
                );
                assert_eq!(
                    find_record(file.try_clone().unwrap(), &record_id.parse().unwrap()).unwrap(),
                    Some(found),
                    "of the file no less is found"
                );
            }
            for number in (0..999).step_by(37) {
                let absent = id(2 * number + 1).parse().unwrap();
                assert_eq!(find_record(part.clone(), &absent).unwrap(), None);
                assert_eq!(
                    find_record(file.try_clone().unwrap(), &absent).unwrap(),
                    None
                );
            }
        }
    }
}
