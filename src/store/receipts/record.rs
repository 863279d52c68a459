//! Writes the canonical form of a published record: RFC 8785 JSON of all columns. Every number is
//! written as a string with the fewest decimal digits, so that a reader's floating-point arithmetic
//! cannot change it.

use std::io::Write;

use arrow::array::{
    Array, ArrayAccessor, ArrayIter, ArrayRef, AsArray, ListArray, PrimitiveArray, RecordBatch,
    StringArray, UInt32Array,
};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type,
};
use schemars::JsonSchema;

use pubdata_core::contract::Day;
use pubdata_core::error::{Error, Result};
use pubdata_core::provenance::POINTERS;

/// Pattern that matches numbers in the canonical form.
pub(super) const DIGITS: &str = "^[0-9]+$";

/// Maximum number of value pairs for which two dictionary-encoded columns are written as one.
const MAX_PAIRS: usize = 4_096;

/// Fields that the canonical form of every record has in addition to the record's columns.
#[derive(JsonSchema)]
#[schemars(inline, extend("additionalProperties" = {"type": ["string", "boolean", "array", "null"], "items": {"type": "string"}}))]
#[expect(
    dead_code,
    reason = "the canonical form is written from columns and read as a map; this is its schema"
)]
pub(super) struct CanonicalRecord {
    /// Identifier of the record.
    record_id: String,
    /// Byte ranges of the publishers' files from which the record was built.
    source_pointers: Vec<CanonicalPointer>,
}

#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "as above")]
struct CanonicalPointer {
    /// Number of bytes, without the line ending, as a decimal string.
    #[schemars(regex(pattern = DIGITS))]
    length: String,
    /// Name of the file in the archive; null if the source file is not an archive.
    member: Option<String>,
    /// Offset of the first byte in the decompressed file or archive member, counted from 0, as a
    /// decimal string.
    #[schemars(regex(pattern = DIGITS))]
    offset: String,
    /// Digest of the file, or of the archive member: SHA-256, or BLAKE3 with the prefix `blake3:`.
    #[schemars(regex(pattern = "^(blake3:)?[0-9a-f]{64}$"))]
    snapshot: String,
    /// Identifier of the source.
    source_id: String,
}

/// Writes the canonical records of a batch, with columns in alphabetical order. A release has
/// millions of records, so whatever depends only on a column is computed once per batch.
pub struct CanonicalRecords<'a>(Object<'a>);

/// Writer for JSON objects. Holds the values that vary by row, and the constant text between them.
struct Object<'a> {
    /// Pairs of the text before a value and the values themselves.
    members: Vec<(Vec<u8>, Cells<'a>)>,
    end: Vec<u8>,
}

/// The values of a column.
enum Cells<'a> {
    Text(Texts<'a>),
    Int32(&'a PrimitiveArray<Int32Type>),
    Int64(&'a PrimitiveArray<Int64Type>),
    /// Earlier programs wrote pointer offsets as unsigned numbers.
    UInt64(&'a PrimitiveArray<UInt64Type>),
    Float64(&'a PrimitiveArray<Float64Type>),
    Date(&'a PrimitiveArray<Date32Type>),
    /// Decimal values, with the number of decimal places.
    Decimal(&'a PrimitiveArray<Decimal128Type>, u32),
    Lists(&'a ListArray, Texts<'a>),
    /// Source pointers of all rows, contiguous.
    Pointers(&'a ListArray, Object<'a>),
}

/// A text column, either plain or as codes into a dictionary of canonical forms.
enum Texts<'a> {
    Plain(&'a StringArray),
    Coded(Coded),
}

struct Coded {
    places: UInt32Array,
    /// The canonical form of each code, followed by the canonical form of null.
    forms: Vec<Vec<u8>>,
}

impl<'a> CanonicalRecords<'a> {
    /// Prepares all columns of a batch. Column names are ASCII, so byte order equals the order of
    /// UTF-16 code units.
    ///
    /// # Errors
    /// `Store`, when a column has a type that parts do not use.
    pub fn new(batch: &'a RecordBatch) -> Result<Self> {
        let schema = batch.schema_ref();
        let columns = schema
            .fields()
            .iter()
            .zip(batch.columns())
            .map(|(field, column)| {
                let cells = if field.name() == POINTERS {
                    Cells::of_pointers(column)?
                } else {
                    Cells::new(column)?
                };
                Ok((field.name().as_str(), cells))
            });
        Object::new(columns.collect::<Result<_>>()?).map(Self)
    }

    /// Appends the canonical form of a row.
    ///
    /// # Errors
    /// `Store`, when a value is not allowed in a record.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        self.0.write(row, out)
    }
}

impl<'a> Object<'a> {
    fn new(mut columns: Vec<(&str, Cells<'a>)>) -> Result<Self> {
        columns.sort_by_key(|(name, _)| *name);
        let mut members: Vec<(Vec<u8>, Cells<'a>)> = Vec::new();
        let mut before = Vec::new();
        for (number, (name, cells)) in columns.into_iter().enumerate() {
            before.push(if number == 0 { b'{' } else { b',' });
            text(&mut before, name);
            before.push(b':');
            // Constant columns are written once.
            if cells.are_alike() {
                cells.write(0, &mut before)?;
                continue;
            }
            // Adjacent columns with few value pairs are merged and written once per pair.
            if let (Some((_, Cells::Text(Texts::Coded(last)))), Cells::Text(Texts::Coded(coded))) =
                (members.last_mut(), &cells)
                && let Some(both) = last.beside(&before, coded)
            {
                *last = both;
                before.clear();
                continue;
            }
            members.push((std::mem::take(&mut before), cells));
        }
        before.push(b'}');
        Ok(Self {
            members,
            end: before,
        })
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        for (before, cells) in &self.members {
            out.extend_from_slice(before);
            cells.write(row, out)?;
        }
        out.extend_from_slice(&self.end);
        Ok(())
    }
}

/// Escapes text as RFC 8785 §3.2.2.2 requires: only the characters that JSON demands, using the
/// short escape sequence if one exists.
fn text(out: &mut Vec<u8>, text: &str) {
    // The loop has no early exit, so that the compiler can vectorise it.
    let is_plain = text.bytes().fold(true, |is_plain, byte| {
        is_plain & (byte >= b' ') & (byte != b'"') & (byte != b'\\')
    });
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

/// Writes a number with `scale` decimal places, without trailing zeros.
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
    fn new(column: &'a ArrayRef) -> Result<Self> {
        Ok(match column.data_type() {
            DataType::Utf8 | DataType::Dictionary(..) => {
                Self::Text(Texts::new(column).ok_or_else(|| not_of_parts(column))?)
            }
            DataType::Boolean => Self::Text(Texts::Coded(Coded {
                places: column
                    .as_boolean()
                    .iter()
                    .map(|cell| cell.map(u32::from))
                    .collect(),
                forms: [&b"false"[..], b"true", b"null"].map(<[u8]>::to_vec).into(),
            })),
            DataType::Int32 => Self::Int32(column.as_primitive()),
            DataType::Int64 => Self::Int64(column.as_primitive()),
            DataType::UInt64 => Self::UInt64(column.as_primitive()),
            DataType::Float64 => Self::Float64(column.as_primitive()),
            DataType::Date32 => Self::Date(column.as_primitive()),
            DataType::Decimal128(_, scale) => {
                let digits = u32::try_from(*scale).map_err(|_| not_of_parts(column))?;
                Self::Decimal(column.as_primitive(), digits)
            }
            DataType::List(_) => {
                let lists = column.as_list();
                Self::Lists(
                    lists,
                    Texts::new(lists.values()).ok_or_else(|| not_of_parts(column))?,
                )
            }
            _ => return Err(not_of_parts(column)),
        })
    }

    fn of_pointers(column: &'a ArrayRef) -> Result<Self> {
        let not_pointers = || Error::store(format!("column {POINTERS} does not hold pointers"));
        let lists = column.as_list_opt::<i32>().ok_or_else(not_pointers)?;
        let fields = lists.values().as_struct_opt().ok_or_else(not_pointers)?;
        let members = fields
            .fields()
            .iter()
            .zip(fields.columns())
            .map(|(field, column)| Ok((field.name().as_str(), Self::new(column)?)));
        Ok(Self::Pointers(
            lists,
            Object::new(members.collect::<Result<_>>()?)?,
        ))
    }

    /// Returns whether all values are equal and not null, as far as this is cheap to check.
    fn are_alike(&self) -> bool {
        match self {
            Self::Text(texts) => texts.are_alike(),
            Self::Int32(cells) => alike(*cells),
            Self::Int64(cells) => alike(*cells),
            Self::UInt64(cells) => alike(*cells),
            // Compare by bits, because the two zeros are equal but are written differently.
            Self::Float64(cells) => {
                cells.null_count() == 0
                    && cells
                        .values()
                        .windows(2)
                        .all(|two| two[0].to_bits() == two[1].to_bits())
                    && !cells.is_empty()
            }
            Self::Date(cells) => alike(*cells),
            Self::Decimal(cells, _) => alike(*cells),
            Self::Lists(lists, _) | Self::Pointers(lists, _) => {
                let offsets = lists.value_offsets();
                !lists.is_empty() && lists.null_count() == 0 && offsets.first() == offsets.last()
            }
        }
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Text(cells) => cells.write(row, out),
            Self::Int32(cells) if cells.is_valid(row) => integer(out, cells.value(row)),
            Self::Int64(cells) if cells.is_valid(row) => integer(out, cells.value(row)),
            Self::UInt64(cells) if cells.is_valid(row) => integer(out, cells.value(row)),
            Self::Float64(cells) if cells.is_valid(row) => match cells.value(row) {
                finite if finite.is_finite() => displayed(out, finite),
                other => return Err(Error::store(format!("{other} is no number"))),
            },
            Self::Date(cells) if cells.is_valid(row) => match (
                Day::from_number(cells.value(row)).iso(),
                cells.value_as_date(row),
            ) {
                (Some(iso), _) => quoted(out, &iso),
                (None, Some(beyond)) => displayed(out, beyond),
                (None, None) => return Err(Error::store("a date is outside the calendar")),
            },
            Self::Decimal(cells, scale) if cells.is_valid(row) => {
                decimal(out, cells.value(row), *scale);
            }
            Self::Lists(lists, items) if lists.is_valid(row) => {
                return each(lists, row, out, |item, out| {
                    items.write(item, out);
                    Ok(())
                });
            }
            Self::Pointers(lists, pointers) => {
                return each(lists, row, out, |item, out| pointers.write(item, out));
            }
            _ => out.extend_from_slice(b"null"),
        }
        Ok(())
    }
}

/// Writes the items of a row's list.
fn each(
    lists: &ListArray,
    row: usize,
    out: &mut Vec<u8>,
    write: impl Fn(usize, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let border = |row: usize| usize::try_from(lists.value_offsets()[row]).unwrap_or_default();
    out.push(b'[');
    for (number, item) in (border(row)..border(row + 1)).enumerate() {
        if number > 0 {
            out.push(b',');
        }
        write(item, out)?;
    }
    out.push(b']');
    Ok(())
}

/// Returns whether at least one value exists and all values are equal.
fn alike<T: PartialEq>(cells: impl ArrayAccessor<Item = T> + Copy) -> bool {
    let mut all = ArrayIter::new(cells);
    all.next()
        .is_some_and(|first| all.all(|other| other == first))
}

fn not_of_parts(column: &ArrayRef) -> Error {
    Error::store(format!(
        "column type {} is not one that parts have",
        column.data_type()
    ))
}

impl<'a> Texts<'a> {
    fn new(column: &'a ArrayRef) -> Option<Self> {
        if let Some(texts) = column.as_string_opt::<i32>() {
            return Some(Self::Plain(texts));
        }
        let dictionary = column.as_dictionary_opt::<UInt32Type>()?;
        let canonical = |value: Option<&str>| {
            let Some(value) = value else {
                return b"null".to_vec();
            };
            let mut out = Vec::new();
            text(&mut out, value);
            out
        };
        let forms = dictionary
            .values()
            .as_string_opt::<i32>()?
            .iter()
            .map(canonical)
            .chain([b"null".to_vec()])
            .collect();
        Some(Self::Coded(Coded {
            places: dictionary.keys().clone(),
            forms,
        }))
    }

    fn are_alike(&self) -> bool {
        match self {
            Self::Plain(texts) => alike(*texts),
            Self::Coded(coded) => alike(&coded.places),
        }
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Plain(texts) if texts.is_valid(row) => text(out, texts.value(row)),
            Self::Plain(_) => out.extend_from_slice(b"null"),
            Self::Coded(coded) => out.extend_from_slice(&coded.forms[coded.form(row)]),
        }
    }
}

impl Coded {
    fn form(&self, row: usize) -> usize {
        if self.places.is_valid(row) {
            self.places.value(row) as usize
        } else {
            self.forms.len() - 1
        }
    }

    /// Merges two columns and the text between them into one column. Returns `None` if the columns
    /// could have too many value pairs.
    fn beside(&self, between: &[u8], other: &Self) -> Option<Self> {
        let pairs = self
            .forms
            .len()
            .checked_mul(other.forms.len())
            .filter(|pairs| *pairs <= MAX_PAIRS)?;
        let mut place_of = vec![None; pairs];
        let mut forms = Vec::new();
        let place = |row: usize| {
            let (first, second) = (self.form(row), other.form(row));
            *place_of[first * other.forms.len() + second].get_or_insert_with(|| {
                forms.push([&self.forms[first], between, &other.forms[second]].concat());
                forms.len() as u32 - 1
            })
        };
        let places = UInt32Array::from_iter_values((0..self.places.len()).map(place));
        forms.push(Vec::new());
        Some(Self { places, forms })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array,
        RecordBatch, StringArray,
    };
    use arrow::datatypes::UInt32Type;

    use super::CanonicalRecords;

    fn written(column: ArrayRef) -> Vec<String> {
        let rows = RecordBatch::try_from_iter([("a", column)]).unwrap();
        let records = CanonicalRecords::new(&rows).unwrap();
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
        let numbers = [
            0,
            1,
            9,
            10,
            100,
            99_999_999_999,
            10_000_000_000,
            12_500_000_000,
            120_000_000_001,
            1_230_000_000_000,
            most,
            most - 9,
        ];
        let numbers: Vec<i128> = numbers
            .into_iter()
            .flat_map(|number| [number, -number])
            .collect();
        for scale in [0, 2, 10, 28] {
            let column = Decimal128Array::from(numbers.clone())
                .with_precision_and_scale(28, scale)
                .unwrap();
            let expected = |row: usize| {
                let digits = column.value_as_string(row);
                let digits = if digits.contains('.') {
                    digits.trim_end_matches('0').trim_end_matches('.')
                } else {
                    &digits
                };
                format!("{{\"a\":\"{digits}\"}}")
            };
            let expected: Vec<String> = (0..numbers.len()).map(expected).collect();
            assert_eq!(written(Arc::new(column)), expected, "{scale}");
        }
        assert_eq!(
            written(Arc::new(
                Decimal128Array::from(vec![-120_500])
                    .with_precision_and_scale(10, 3)
                    .unwrap()
            )),
            [r#"{"a":"-120.5"}"#]
        );
    }

    #[test]
    fn texts_of_a_dictionary_are_written_as_those_of_a_column() {
        let texts = [
            Some("plain"),
            None,
            Some("with \"quotes\" and \\"),
            Some("plain"),
            Some(""),
            Some("\u{1}é\n"),
            None,
        ];
        let coded: DictionaryArray<UInt32Type> = texts.into_iter().collect();
        let plain = written(Arc::new(StringArray::from(texts.to_vec())));
        assert_eq!(written(Arc::new(coded)), plain);
        assert_eq!(
            (plain[1].as_str(), plain[2].as_str()),
            (r#"{"a":null}"#, r#"{"a":"with \"quotes\" and \\"}"#)
        );
    }

    #[test]
    fn columns_that_are_written_together_are_those_of_each() {
        let texts = |of: fn(usize) -> Option<&'static str>| -> ArrayRef {
            Arc::new((0..12).map(of).collect::<DictionaryArray<UInt32Type>>())
        };
        let flags: ArrayRef = Arc::new(BooleanArray::from_iter(
            (0..12).map(|row| [Some(true), None, Some(false)][row % 3]),
        ));
        let rows = RecordBatch::try_from_iter([
            ("z", texts(|row| ["é", "\"", "plain"].get(row % 5).copied())),
            ("same", texts(|_| Some("in all"))),
            ("none", texts(|_| None)),
            ("a", texts(|row| ["x", "y"].get(row % 3).copied())),
            ("b", flags),
            (
                "number",
                Arc::new(Float64Array::from_iter(
                    (0..12).map(|row| [0.0, -0.0][row % 2]),
                )),
            ),
        ])
        .unwrap();
        let json = |text: Option<&&str>| serde_json::to_string(&text).unwrap();
        for (records, rows) in [
            (CanonicalRecords::new(&rows).unwrap(), 0..12),
            (CanonicalRecords::new(&rows.slice(0, 1)).unwrap(), 0..1),
        ] {
            for row in rows {
                let expected = format!(
                    r#"{{"a":{},"b":{},"none":null,"number":"{}","same":"in all","z":{}}}"#,
                    json(["x", "y"].get(row % 3)),
                    ["true", "null", "false"][row % 3],
                    ["0", "-0"][row % 2],
                    json(["é", "\"", "plain"].get(row % 5)),
                );
                let mut out = Vec::new();
                records.write(row, &mut out).unwrap();
                assert_eq!(String::from_utf8(out).unwrap(), expected, "{row}");
            }
        }
    }

    #[test]
    fn days_are_written_as_arrow_writes_them() {
        let column = Date32Array::from(vec![
            0, 19_782, -719_528, -719_529, 2_932_896, 2_932_897, -25_567,
        ]);
        let expected: Vec<String> = (0..column.values().len())
            .map(|row| format!("{{\"a\":\"{}\"}}", column.value_as_date(row).unwrap()))
            .collect();
        assert_eq!(written(Arc::new(column)), expected);
    }
}
