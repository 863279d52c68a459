//! Stores the rows of a table contiguously, with all cells of a row together. An answer that shows
//! a row from a mapped file touches one or two pages; with columns it would touch one page for each
//! cell.
//!
//! ```text
//! row   width of an end in bytes (2, or 4 in a long row), the end of each cell, the cells
//! end   offset from the first cell, little endian; the highest bit is set if the cell is null
//! cell  a text; of a list, each text after its length (4 bytes); a number, little endian;
//!       a flag as 0 or 1
//! ```

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, LargeBinaryArray, RecordBatch};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};

use crate::release::places::plain;
use pubdata_core::error::{Error, Result};

/// Bit in an end that denotes a null cell.
const NULL: u32 = 1 << 31;
const SHORT_NULL: u16 = 1 << 15;
/// Widths of an end in bytes.
const SHORT: u8 = 2;
const LONG: u8 = 4;

/// Cell type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Text,
    Texts,
    Day,
    /// Decimal number, with its number of decimal places.
    Decimal(u8),
    Flag,
    Float,
    Integer,
    LongInteger,
}

impl Kind {
    fn from_data_type(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Utf8 => Some(Self::Text),
            DataType::List(item) if *item.data_type() == DataType::Utf8 => Some(Self::Texts),
            DataType::Date32 => Some(Self::Day),
            DataType::Decimal128(_, scale) => Some(Self::Decimal(u8::try_from(*scale).ok()?)),
            DataType::Boolean => Some(Self::Flag),
            DataType::Float64 => Some(Self::Float),
            DataType::Int32 => Some(Self::Integer),
            DataType::Int64 => Some(Self::LongInteger),
            _ => None,
        }
    }

    /// Appends the cell of a row in a column of this kind.
    fn write(self, column: &ArrayRef, row: usize, to: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Text => to.extend_from_slice(column.as_string::<i32>().value(row).as_bytes()),
            Self::Texts => {
                let lists = column.as_list::<i32>();
                let (texts, offsets) = (lists.values().as_string::<i32>(), lists.value_offsets());
                for text in (offsets[row] as usize..offsets[row + 1] as usize)
                    .map(|index| texts.value(index))
                {
                    to.extend_from_slice(
                        &u32::try_from(text.len())
                            .map_err(|_| too_long())?
                            .to_le_bytes(),
                    );
                    to.extend_from_slice(text.as_bytes());
                }
            }
            Self::Day => {
                to.extend_from_slice(&column.as_primitive::<Date32Type>().value(row).to_le_bytes());
            }
            Self::Decimal(_) => to.extend_from_slice(
                &column
                    .as_primitive::<Decimal128Type>()
                    .value(row)
                    .to_le_bytes(),
            ),
            Self::Flag => to.push(u8::from(column.as_boolean().value(row))),
            Self::Float => to.extend_from_slice(
                &column
                    .as_primitive::<Float64Type>()
                    .value(row)
                    .to_le_bytes(),
            ),
            Self::Integer => {
                to.extend_from_slice(&column.as_primitive::<Int32Type>().value(row).to_le_bytes());
            }
            Self::LongInteger => {
                to.extend_from_slice(&column.as_primitive::<Int64Type>().value(row).to_le_bytes());
            }
        }
        Ok(())
    }

    fn read(self, cell: &[u8]) -> Cell<'_> {
        match self {
            Self::Text => Cell::Text(text(cell)),
            Self::Texts => Cell::Texts(Texts(cell)),
            Self::Day => Cell::Day(i32::from_le_bytes(number(cell))),
            Self::Decimal(scale) => Cell::Decimal(i128::from_le_bytes(number(cell)), scale),
            Self::Flag => Cell::Flag(u8::from_le_bytes(number(cell)) != 0),
            Self::Float => Cell::Float(f64::from_le_bytes(number(cell))),
            Self::Integer => Cell::Integer(i32::from_le_bytes(number(cell))),
            Self::LongInteger => Cell::LongInteger(i64::from_le_bytes(number(cell))),
        }
    }
}

fn too_long() -> Error {
    Error::store("a row is longer than 2 GiB")
}

fn text(cell: &[u8]) -> &str {
    std::str::from_utf8(cell).expect("written from a text")
}

fn number<const BYTES: usize>(cell: &[u8]) -> [u8; BYTES] {
    cell.try_into().expect("written from a number of this size")
}

/// A non-null cell, borrowed from its row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    Text(&'a str),
    Texts(Texts<'a>),
    /// Date as days since 1970-01-01.
    Day(i32),
    /// Decimal number: units, and number of decimal places.
    Decimal(i128, u8),
    Flag(bool),
    Float(f64),
    Integer(i32),
    LongInteger(i64),
}

/// Texts in a list cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Texts<'a>(&'a [u8]);

impl<'a> Iterator for Texts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let (length, rest) = self.0.split_first_chunk()?;
        let (first, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
        self.0 = rest;
        Some(text(first))
    }
}

impl Serialize for Texts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(*self)
    }
}

impl JsonSchema for Texts<'_> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Texts".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<String>::json_schema(generator)
    }
}

/// Rows with contiguous cells, in owned memory or in a mapped file.
#[derive(Debug)]
pub struct RowCells {
    kinds: Vec<Kind>,
    rows: LargeBinaryArray,
}

impl RowCells {
    /// Converts columns to rows; the cells of a row are in the order of `columns`.
    pub fn from_batch(batch: &RecordBatch, columns: &[&str]) -> Result<Self> {
        let mut arrays = Vec::with_capacity(columns.len());
        for name in columns.iter().map(|name| plain(name)) {
            let array = batch
                .column_by_name(name)
                .ok_or_else(|| Error::store(format!("column `{name}` was not read")))?;
            let kind = Kind::from_data_type(array.data_type());
            let kind = kind.ok_or_else(|| {
                Error::store(format!(
                    "column `{name}` has the type {}, which rows do not support",
                    array.data_type()
                ))
            })?;
            arrays.push((kind, array));
        }
        let mut rows = Vec::with_capacity(batch.get_array_memory_size());
        let mut offsets = vec![0];
        let (mut cells, mut ends) = (Vec::new(), Vec::new());
        for row in 0..batch.num_rows() {
            cells.clear();
            ends.clear();
            for (kind, array) in &arrays {
                let is_null = array.is_null(row);
                if !is_null {
                    kind.write(array, row, &mut cells)?;
                }
                let end = u32::try_from(cells.len())
                    .ok()
                    .filter(|end| end & NULL == 0)
                    .ok_or_else(too_long)?;
                ends.push((end, is_null));
            }
            push(&mut rows, &ends, &cells);
            offsets.push(i64::try_from(rows.len()).map_err(|_| too_long())?);
        }
        rows.shrink_to_fit();
        let rows = LargeBinaryArray::try_new(
            OffsetBuffer::new(ScalarBuffer::from(offsets)),
            Buffer::from_vec(rows),
            None,
        )?;
        Ok(Self {
            kinds: arrays.into_iter().map(|(kind, _)| kind).collect(),
            rows,
        })
    }

    /// Returns the rows, and the types of their cells as JSON.
    pub fn to_copy(&self, columns: &[&str]) -> (ArrayRef, String) {
        let cells: Vec<(&str, Kind)> = columns
            .iter()
            .map(|name| plain(name))
            .zip(self.kinds.iter().copied())
            .collect();
        (
            Arc::new(self.rows.clone()),
            serde_json::to_string(&cells).expect("names and kinds have a JSON form"),
        )
    }

    /// Opens a copy that [`RowCells::to_copy`] made for the same columns.
    pub fn from_copy(rows: &ArrayRef, cells: &str, columns: &[&str]) -> Result<Self> {
        let rows = rows
            .as_binary_opt::<i64>()
            .ok_or_else(|| Error::store(format!("rows have the type {}", rows.data_type())))?;
        let cells: Vec<(String, Kind)> = serde_json::from_str(cells).map_err(|error| {
            Error::store(format!("the types of the cells cannot be read: {error}"))
        })?;
        if !cells
            .iter()
            .map(|(name, _)| name.as_str())
            .eq(columns.iter().map(|name| plain(name)))
        {
            return Err(Error::store("its rows have other columns"));
        }
        Ok(Self {
            kinds: cells.into_iter().map(|(_, kind)| kind).collect(),
            rows: rows.clone(),
        })
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the memory size of the rows in bytes.
    pub fn size_bytes(&self) -> usize {
        self.rows.get_array_memory_size() + size_of::<Kind>() * self.kinds.capacity()
    }

    /// Returns the cell of a row and column, or `None` if it is null.
    pub fn cell(&self, row: usize, column: usize) -> Option<Cell<'_>> {
        let (width, rest) = self.rows.value(row).split_first()?;
        let (ends, cells) = rest.split_at(usize::from(*width) * self.kinds.len());
        let end = |column: usize| end(*width, ends, column);
        let (cell_end, is_null) = end(column);
        let start = column.checked_sub(1).map_or(0, |before| end(before).0);
        (!is_null).then(|| self.kinds[column].read(&cells[start..cell_end]))
    }
}

/// Appends a row: the ends of its cells with their null bits, then the cells.
fn push(rows: &mut Vec<u8>, ends: &[(u32, bool)], cells: &[u8]) {
    // Most rows are short, so their ends take half as many bytes.
    if cells.len() < usize::from(SHORT_NULL) {
        rows.push(SHORT);
        for (end, is_null) in ends {
            let end = u16::try_from(*end).expect("no cell ends after the last");
            rows.extend_from_slice(&(end | if *is_null { SHORT_NULL } else { 0 }).to_le_bytes());
        }
    } else {
        rows.push(LONG);
        ends.iter().for_each(|(end, is_null)| {
            rows.extend_from_slice(&(end | if *is_null { NULL } else { 0 }).to_le_bytes());
        });
    }
    rows.extend_from_slice(cells);
}

/// Returns the end of a cell, and whether it is null.
fn end(width: u8, ends: &[u8], column: usize) -> (usize, bool) {
    if width == SHORT {
        let end = u16::from_le_bytes(ends.as_chunks().0[column]);
        (usize::from(end & !SHORT_NULL), end & SHORT_NULL != 0)
    } else {
        let end = u32::from_le_bytes(ends.as_chunks().0[column]);
        ((end & !NULL) as usize, end & NULL != 0)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{StringArray, UInt32Array};

    use super::*;

    fn cells_of(columns: &[(&str, ArrayRef)]) -> Result<RowCells> {
        let batch = RecordBatch::try_from_iter(columns.iter().cloned()).unwrap();
        RowCells::from_batch(
            &batch,
            &columns.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        )
    }

    fn texts(texts: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringArray::from(texts.to_vec()))
    }

    #[test]
    fn cells_are_whole_however_long_a_row_is() {
        let last = usize::from(SHORT_NULL);
        for length in [
            0,
            1,
            255,
            256,
            last - 2,
            last - 1,
            last,
            last + 1,
            65_535,
            65_536,
            70_000,
            200_000,
        ] {
            let long = "ä".repeat(length / 2) + &"a".repeat(length % 2);
            let cells = cells_of(&[
                ("first", texts(&[Some("x"), None, Some("")])),
                ("long", texts(&[Some(&long), Some(&long), None])),
                ("null", texts(&[None, None, None])),
                ("last", texts(&[Some("y"), Some(""), Some(&long)])),
            ]);
            let cells = cells.unwrap();
            let read = |row: usize| -> Vec<Option<Cell<'_>>> {
                (0..4).map(|column| cells.cell(row, column)).collect()
            };
            let text = |text: &'static str| Some(Cell::Text(text));
            assert_eq!(
                read(0),
                [text("x"), Some(Cell::Text(&long)), None, text("y")],
                "{length} bytes"
            );
            assert_eq!(
                read(1),
                [None, Some(Cell::Text(&long)), None, text("")],
                "{length} bytes"
            );
            assert_eq!(
                read(2),
                [text(""), None, None, Some(Cell::Text(&long))],
                "{length} bytes"
            );
        }
    }

    #[test]
    fn rows_are_contiguous_with_little_overhead() {
        let cells = cells_of(&[
            ("name", texts(&[Some("acme"), None])),
            ("city", texts(&[Some("Tampa"), Some("Ocala")])),
        ])
        .unwrap();
        assert_eq!(cells.rows.value(0), b"\x02\x04\0\x09\0acmeTampa");
        assert_eq!(cells.rows.value(1), b"\x02\0\x80\x05\0Ocala");
    }

    #[test]
    fn unsupported_type_is_rejected_with_its_column() {
        let error = cells_of(&[("count", Arc::new(UInt32Array::from(vec![1])))])
            .unwrap_err()
            .to_string();
        assert!(error.contains("`count` has the type UInt32"), "{error}");
        let batch = RecordBatch::try_from_iter([("name", texts(&[None]))]).unwrap();
        let error = RowCells::from_batch(&batch, &["name", "city?"])
            .unwrap_err()
            .to_string();
        assert!(error.contains("`city` was not read"), "{error}");
    }

    #[test]
    fn copy_with_other_columns_is_rejected() {
        let cells =
            cells_of(&[("name", texts(&[Some("acme")])), ("city", texts(&[None]))]).unwrap();
        let (rows, kinds) = cells.to_copy(&["name", "city?"]);
        assert_eq!(kinds, r#"[["name","text"],["city","text"]]"#);
        let error = |rows: &ArrayRef, kinds: &str, columns: &[&str]| {
            RowCells::from_copy(rows, kinds, columns)
                .unwrap_err()
                .to_string()
        };
        assert!(RowCells::from_copy(&rows, &kinds, &["name", "city"]).is_ok());
        assert!(error(&rows, &kinds, &["city", "name"]).contains("other columns"));
        assert!(error(&rows, &kinds, &["name"]).contains("other columns"));
        assert!(error(&rows, r#"[["name","colour"]]"#, &["name"]).contains("cannot be read"));
        assert!(error(&texts(&[None]), &kinds, &["name", "city"]).contains("Utf8"));
    }
}
