//! The canonical form of a published record: RFC 8785 JSON of all its columns, in which every number is the shortest text of its decimal digits, so
//! that no reader's floating point can change it.

use std::io::Write;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type};

use crate::error::{Error, Result};
use crate::provenance::POINTERS;
use crate::store::pointers_at;

/// Writes the records of a batch, its columns in the order of their names.
pub struct CanonicalRecords<'a> {
    /// What stands before the value, and the values.
    columns: Vec<(String, &'a ArrayRef)>,
}

impl<'a> CanonicalRecords<'a> {
    /// Of all columns of a batch. Their names are plain ASCII words, whose order is that of their UTF-16 units.
    pub fn of(batch: &'a RecordBatch) -> Self {
        let schema = batch.schema();
        let mut columns: Vec<(String, &ArrayRef)> = schema.fields().iter().map(|field| field.name().clone()).zip(batch.columns()).collect();
        columns.sort_by(|a, b| a.0.cmp(&b.0));
        Self { columns }
    }

    /// Appends the canonical form of a row.
    ///
    /// # Errors
    /// `Store`, when a column is of a type that parts do not have.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        for (number, (name, column)) in self.columns.iter().enumerate() {
            out.push(if number == 0 { b'{' } else { b',' });
            text(out, name);
            out.push(b':');
            if name == POINTERS {
                write_pointers(column, row, out)?;
            } else {
                write_cell(column, row, out)?;
            }
        }
        out.push(b'}');
        Ok(())
    }
}

/// Escapes as RFC 8785 §3.2.2.2 asks: what JSON demands, in its short form where there is one, and nothing else.
fn text(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("a text has a JSON form, and memory takes it");
}

fn number(out: &mut Vec<u8>, number: impl std::fmt::Display) {
    write!(out, "\"{number}\"").expect("memory takes it");
}

fn write_cell(column: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Result<()> {
    if column.is_null(row) {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    match column.data_type() {
        DataType::Utf8 => text(out, column.as_string::<i32>().value(row)),
        DataType::Boolean => out.extend_from_slice(if column.as_boolean().value(row) { b"true" } else { b"false" }),
        DataType::Int32 => number(out, column.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => number(out, column.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => match column.as_primitive::<Float64Type>().value(row) {
            finite if finite.is_finite() => number(out, finite),
            other => return Err(Error::store(format!("{other} is no number"))),
        },
        DataType::Date32 => match column.as_primitive::<Date32Type>().value_as_date(row) {
            Some(date) => number(out, date),
            None => return Err(Error::store("a date is outside the calendar")),
        },
        DataType::Decimal128(..) => {
            let digits = column.as_primitive::<Decimal128Type>().value_as_string(row);
            number(out, if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { &digits });
        }
        DataType::List(_) => {
            let items = column.as_list::<i32>().value(row);
            let items = items.as_string_opt::<i32>().ok_or_else(|| Error::store("a list column does not hold text"))?;
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                match item {
                    Some(item) => text(out, item),
                    None => out.extend_from_slice(b"null"),
                }
            }
            out.push(b']');
        }
        other => return Err(Error::store(format!("column type {other} is not one that parts have"))),
    }
    Ok(())
}

fn write_pointers(column: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Result<()> {
    out.push(b'[');
    for (index, pointer) in pointers_at(column, row)?.into_iter().enumerate() {
        out.extend_from_slice(if index == 0 { b"{\"length\":" } else { b",{\"length\":" });
        number(out, pointer.length);
        out.extend_from_slice(b",\"member\":");
        match &pointer.member {
            Some(member) => text(out, member),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"offset\":");
        number(out, pointer.offset);
        out.extend_from_slice(b",\"snapshot\":");
        number(out, pointer.snapshot);
        out.extend_from_slice(b",\"source_id\":");
        text(out, &pointer.source_id);
        out.push(b'}');
    }
    out.push(b']');
    Ok(())
}
