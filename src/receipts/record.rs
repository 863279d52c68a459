//! The canonical form of a published record: RFC 8785 JSON of all its columns, in which every number is the shortest text of its decimal digits, so
//! that no reader's floating point can change it.

use std::io::Write;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, ListArray, PrimitiveArray, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};

use crate::contract::Day;
use crate::error::{Error, Result};
use crate::provenance::POINTERS;

/// Writes the records of a batch, its columns in the order of their names. A release has millions of records: what is known of a column is found out
/// once for a batch.
pub struct CanonicalRecords<'a> {
    /// What stands before the value, with the comma or brace, and the values.
    columns: Vec<(String, Cells<'a>)>,
}

/// The values of a column.
enum Cells<'a> {
    Text(Texts<'a>),
    Boolean(&'a BooleanArray),
    Int32(&'a PrimitiveArray<Int32Type>),
    Int64(&'a PrimitiveArray<Int64Type>),
    Float64(&'a PrimitiveArray<Float64Type>),
    Date(&'a PrimitiveArray<Date32Type>),
    /// With the number of digits behind the point.
    Decimal(&'a PrimitiveArray<Decimal128Type>, u32),
    Lists(&'a ListArray, Texts<'a>),
    Pointers(&'a ListArray, Box<Pointers<'a>>),
}

/// Places in the publishers' files, of all rows one behind the other.
struct Pointers<'a> {
    lengths: Numbers<'a>,
    members: Texts<'a>,
    offsets: Numbers<'a>,
    snapshots: Texts<'a>,
    source_ids: Texts<'a>,
}

/// Texts, as a part has them, or as places in a dictionary of their canonical forms.
enum Texts<'a> {
    Plain(&'a StringArray),
    Coded(&'a PrimitiveArray<UInt32Type>, Vec<Vec<u8>>),
}

/// Programs of before wrote them without a sign.
enum Numbers<'a> {
    Signed(&'a PrimitiveArray<Int64Type>),
    Unsigned(&'a PrimitiveArray<UInt64Type>),
}

impl<'a> CanonicalRecords<'a> {
    /// Of all columns of a batch. Their names are plain ASCII words, whose order is that of their UTF-16 units.
    ///
    /// # Errors
    /// `Store`, when a column is of a type that parts do not have.
    pub fn of(batch: &'a RecordBatch) -> Result<Self> {
        let schema = batch.schema();
        let mut columns: Vec<(String, &ArrayRef)> = schema.fields().iter().map(|field| field.name().clone()).zip(batch.columns()).collect();
        columns.sort_by(|a, b| a.0.cmp(&b.0));
        let prepared = columns.into_iter().enumerate().map(|(number, (name, column))| {
            let cells = if name == POINTERS { Cells::of_pointers(column)? } else { Cells::of(column)? };
            let mut before = Vec::from(if number == 0 { b"{" } else { b"," });
            text(&mut before, &name);
            Ok((format!("{}:", String::from_utf8_lossy(&before)), cells))
        });
        Ok(Self { columns: prepared.collect::<Result<_>>()? })
    }

    /// Appends the canonical form of a row.
    ///
    /// # Errors
    /// `Store`, when a value is none that a record can have.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        for (before, cells) in &self.columns {
            out.extend_from_slice(before.as_bytes());
            cells.write(row, out)?;
        }
        out.push(b'}');
        Ok(())
    }
}

/// Escapes as RFC 8785 §3.2.2.2 asks: what JSON demands, in its short form where there is one, and nothing else.
fn text(out: &mut Vec<u8>, text: &str) {
    // Looked at to the end, so that many bytes are looked at at once.
    let is_plain = text.bytes().fold(true, |is_plain, byte| is_plain & (byte >= b' ') & (byte != b'"') & (byte != b'\\'));
    if !is_plain {
        serde_json::to_writer(out, text).expect("a text has a JSON form, and memory takes it");
        return;
    }
    quoted(out, text.as_bytes());
}

fn quoted(out: &mut Vec<u8>, plain: &[u8]) {
    out.push(b'"');
    out.extend_from_slice(plain);
    out.push(b'"');
}

fn integer(out: &mut Vec<u8>, number: impl itoa::Integer) {
    quoted(out, itoa::Buffer::new().format(number).as_bytes());
}

fn displayed(out: &mut Vec<u8>, value: impl std::fmt::Display) {
    write!(out, "\"{value}\"").expect("memory takes it");
}

/// A number that has so many digits behind its point, without zeros at their end.
fn decimal(out: &mut Vec<u8>, number: i128, scale: u32) {
    let one = 10_u128.pow(scale);
    let (whole, rest) = (number.unsigned_abs() / one, number.unsigned_abs() % one);
    out.push(b'"');
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(itoa::Buffer::new().format(whole).as_bytes());
    if rest > 0 {
        let mut buffer = itoa::Buffer::new();
        let digits = buffer.format(rest);
        out.push(b'.');
        out.extend(std::iter::repeat_n(b'0', scale as usize - digits.len()));
        out.extend_from_slice(digits.trim_end_matches('0').as_bytes());
    }
    out.push(b'"');
}

impl<'a> Cells<'a> {
    fn of(column: &'a ArrayRef) -> Result<Self> {
        Ok(match column.data_type() {
            DataType::Utf8 | DataType::Dictionary(..) => Self::Text(Texts::of(column).ok_or_else(|| not_of_parts(column))?),
            DataType::Boolean => Self::Boolean(column.as_boolean()),
            DataType::Int32 => Self::Int32(column.as_primitive()),
            DataType::Int64 => Self::Int64(column.as_primitive()),
            DataType::Float64 => Self::Float64(column.as_primitive()),
            DataType::Date32 => Self::Date(column.as_primitive()),
            DataType::Decimal128(_, scale) => {
                let digits = u32::try_from(*scale).map_err(|_| not_of_parts(column))?;
                Self::Decimal(column.as_primitive(), digits)
            }
            DataType::List(_) => {
                let lists = column.as_list();
                Self::Lists(lists, Texts::of(lists.values()).ok_or_else(|| not_of_parts(column))?)
            }
            _ => return Err(not_of_parts(column)),
        })
    }

    fn of_pointers(column: &'a ArrayRef) -> Result<Self> {
        let not_pointers = || Error::store(format!("column {POINTERS} does not hold pointers"));
        let lists = column.as_list_opt::<i32>().ok_or_else(not_pointers)?;
        let fields = lists.values().as_struct_opt().ok_or_else(not_pointers)?;
        let field = |name: &str| fields.column_by_name(name).ok_or_else(not_pointers);
        let texts = |name: &str| Texts::of(field(name)?).ok_or_else(not_pointers);
        let numbers = |name: &str| {
            let column = field(name)?;
            let signed = column.as_primitive_opt().map(Numbers::Signed);
            signed.or_else(|| column.as_primitive_opt().map(Numbers::Unsigned)).ok_or_else(not_pointers)
        };
        let (lengths, offsets) = (numbers("length")?, numbers("offset")?);
        let (members, snapshots, source_ids) = (texts("member")?, texts("snapshot")?, texts("source_id")?);
        Ok(Self::Pointers(lists, Box::new(Pointers { lengths, members, offsets, snapshots, source_ids })))
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Text(cells) => cells.write(row, out),
            Self::Boolean(cells) if cells.is_valid(row) => out.extend_from_slice(if cells.value(row) { b"true" } else { b"false" }),
            Self::Int32(cells) if cells.is_valid(row) => integer(out, cells.value(row)),
            Self::Int64(cells) if cells.is_valid(row) => integer(out, cells.value(row)),
            Self::Float64(cells) if cells.is_valid(row) => match cells.value(row) {
                finite if finite.is_finite() => displayed(out, finite),
                other => return Err(Error::store(format!("{other} is no number"))),
            },
            Self::Date(cells) if cells.is_valid(row) => match (Day::from_number(cells.value(row)).iso(), cells.value_as_date(row)) {
                (Some(iso), _) => quoted(out, &iso),
                (None, Some(beyond)) => displayed(out, beyond),
                (None, None) => return Err(Error::store("a date is outside the calendar")),
            },
            Self::Decimal(cells, scale) if cells.is_valid(row) => decimal(out, cells.value(row), *scale),
            Self::Lists(lists, items) if lists.is_valid(row) => each(lists, row, out, |item, out| items.write(item, out)),
            Self::Pointers(lists, pointers) => each(lists, row, out, |item, out| pointers.write(item, out)),
            _ => out.extend_from_slice(b"null"),
        }
        Ok(())
    }
}

/// Writes the items of a row's list.
fn each(lists: &ListArray, row: usize, out: &mut Vec<u8>, write: impl Fn(usize, &mut Vec<u8>)) {
    let border = |row: usize| usize::try_from(lists.value_offsets()[row]).unwrap_or_default();
    out.push(b'[');
    for (number, item) in (border(row)..border(row + 1)).enumerate() {
        if number > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(b']');
}

fn not_of_parts(column: &ArrayRef) -> Error {
    Error::store(format!("column type {} is not one that parts have", column.data_type()))
}

impl<'a> Texts<'a> {
    fn of(column: &'a ArrayRef) -> Option<Self> {
        if let Some(texts) = column.as_string_opt::<i32>() {
            return Some(Self::Plain(texts));
        }
        let dictionary = column.as_dictionary_opt::<UInt32Type>()?;
        let canonical = |value: Option<&str>| {
            let mut out = Vec::new();
            text(&mut out, value.unwrap_or_default());
            out
        };
        Some(Self::Coded(dictionary.keys(), dictionary.values().as_string_opt::<i32>()?.iter().map(canonical).collect()))
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Plain(texts) if texts.is_valid(row) => text(out, texts.value(row)),
            Self::Coded(places, texts) if places.is_valid(row) => out.extend_from_slice(&texts[places.value(row) as usize]),
            _ => out.extend_from_slice(b"null"),
        }
    }
}

impl Pointers<'_> {
    fn write(&self, item: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"length\":");
        self.lengths.write(item, out);
        out.extend_from_slice(b",\"member\":");
        self.members.write(item, out);
        out.extend_from_slice(b",\"offset\":");
        self.offsets.write(item, out);
        out.extend_from_slice(b",\"snapshot\":");
        self.snapshots.write(item, out);
        out.extend_from_slice(b",\"source_id\":");
        self.source_ids.write(item, out);
        out.push(b'}');
    }
}

impl Numbers<'_> {
    fn write(&self, item: usize, out: &mut Vec<u8>) {
        match self {
            Self::Signed(numbers) => integer(out, numbers.value(item)),
            Self::Unsigned(numbers) => integer(out, numbers.value(item)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Date32Array, Decimal128Array, DictionaryArray, RecordBatch, StringArray};
    use arrow::datatypes::UInt32Type;

    use super::CanonicalRecords;

    fn written(column: ArrayRef) -> Vec<String> {
        let rows = RecordBatch::try_from_iter([("a", column)]).unwrap();
        let records = CanonicalRecords::of(&rows).unwrap();
        let record = |row| {
            let mut out = Vec::new();
            records.write(row, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        (0..rows.num_rows()).map(record).collect()
    }

    #[test]
    fn decimals_are_written_as_arrow_writes_them_without_zeros_at_the_end() {
        let most = 10_i128.pow(28) - 1;
        let numbers = [0, 1, 9, 10, 100, 99_999_999_999, 10_000_000_000, 12_500_000_000, 120_000_000_001, 1_230_000_000_000, most, most - 9];
        let numbers: Vec<i128> = numbers.into_iter().flat_map(|number| [number, -number]).collect();
        for scale in [0, 2, 10, 28] {
            let column = Decimal128Array::from(numbers.clone()).with_precision_and_scale(28, scale).unwrap();
            let expected = |row: usize| {
                let digits = column.value_as_string(row);
                let digits = if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { &digits };
                format!("{{\"a\":\"{digits}\"}}")
            };
            let expected: Vec<String> = (0..numbers.len()).map(expected).collect();
            assert_eq!(written(Arc::new(column)), expected, "{scale}");
        }
        assert_eq!(written(Arc::new(Decimal128Array::from(vec![-120_500]).with_precision_and_scale(10, 3).unwrap())), [r#"{"a":"-120.5"}"#]);
    }

    #[test]
    fn texts_of_a_dictionary_are_written_as_those_of_a_column() {
        let texts = [Some("plain"), None, Some("with \"quotes\" and \\"), Some("plain"), Some(""), Some("\u{1}é\n"), None];
        let coded: DictionaryArray<UInt32Type> = texts.into_iter().collect();
        let plain = written(Arc::new(StringArray::from(texts.to_vec())));
        assert_eq!(written(Arc::new(coded)), plain);
        assert_eq!((plain[1].as_str(), plain[2].as_str()), (r#"{"a":null}"#, r#"{"a":"with \"quotes\" and \\"}"#));
    }

    #[test]
    fn days_are_written_as_arrow_writes_them() {
        let column = Date32Array::from(vec![0, 19_782, -719_528, -719_529, 2_932_896, 2_932_897, -25_567]);
        let expected: Vec<String> = (0..column.values().len()).map(|row| format!("{{\"a\":\"{}\"}}", column.value_as_date(row).unwrap())).collect();
        assert_eq!(written(Arc::new(column)), expected);
    }
}
