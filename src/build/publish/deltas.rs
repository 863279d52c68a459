//! Encodes column chunks of numbers as differences between consecutive values. The output is
//! byte-identical to that of the `parquet` crate, which processes values one by one. The tests in
//! `coded` compare the two. Columns that do not have this simple form are left to the crate.
//!
//! Source: Apache Parquet, "Encodings", Delta Encoding.

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::Int64Type;
use parquet::basic::Encoding;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnDescPtr;

use super::chunk::{Encoded, PageFacts, Paged, SharedCompressor, write_page_levels};
use pubdata_core::error::Result;

/// Number of miniblocks in a block, each with a separate bit width.
const PIECES: usize = 4;
/// Number of values in a miniblock.
const PIECE_NUMBERS: usize = 64;

/// A column without nulls whose leaf is delta-encoded.
pub struct Deltas<'a>(&'a Int64Array);

impl<'a> Deltas<'a> {
    /// Wraps a column if the properties request delta encoding for its leaf.
    pub fn new(
        leaf: &ColumnDescPtr,
        properties: &WriterProperties,
        column: &'a ArrayRef,
    ) -> Option<Self> {
        let path = leaf.path();
        let is_delta = !properties.dictionary_enabled(path)
            && properties.encoding(path) == Some(Encoding::DELTA_BINARY_PACKED);
        let numbers = column.as_primitive_opt::<Int64Type>()?;
        (is_delta && !numbers.is_empty() && numbers.null_count() == 0).then_some(Self(numbers))
    }

    /// Encodes the leaf's chunk, which has one value per row.
    pub fn encode(
        &self,
        leaf: &ColumnDescPtr,
        properties: &WriterProperties,
        compressor: &mut SharedCompressor,
    ) -> Result<Encoded> {
        let numbers = self.0.values();
        let (rows, page_rows) = (
            numbers.len(),
            properties.column_data_page_row_count_limit(leaf.path()),
        );
        let encoding = Encoding::DELTA_BINARY_PACKED;
        let chunk = Paged {
            leaf,
            properties,
            values: self.0,
            dictionary: None,
            pages: rows.div_ceil(page_rows),
            encoding,
        };
        let page = |number: usize, body: &mut Vec<u8>| {
            let rows = number * page_rows..rows.min((number + 1) * page_rows);
            write_page_levels(leaf, rows.len(), None, body);
            write_packed(&numbers[rows.clone()], body);
            let by_number = |row: &usize| numbers[*row];
            let ends = rows
                .clone()
                .min_by_key(by_number)
                .zip(rows.clone().max_by_key(by_number));
            PageFacts {
                rows: rows.len(),
                ends: ends.map(|(least, greatest)| (least as u32, greatest as u32)),
                ..PageFacts::default()
            }
        };
        chunk.write(page, 0..rows as u32, compressor)
    }
}

/// Appends numbers as differences, packed in blocks.
fn write_packed(numbers: &[i64], body: &mut Vec<u8>) {
    let Some((first, others)) = numbers.split_first() else {
        return;
    };
    for number in [PIECE_NUMBERS * PIECES, PIECES, numbers.len()] {
        write_varint(number as u64, body);
    }
    write_varint(zigzag(*first), body);
    let mut last = *first;
    let mut differences = Vec::with_capacity(PIECE_NUMBERS * PIECES);
    for block in others.chunks(PIECE_NUMBERS * PIECES) {
        differences.clear();
        differences.extend(
            block
                .iter()
                .map(|number| number.wrapping_sub(std::mem::replace(&mut last, *number))),
        );
        let least = differences.iter().copied().min().unwrap_or_default();
        write_varint(zigzag(least), body);
        let widths = body.len();
        body.extend_from_slice(&[0; PIECES]);
        for (number, piece) in differences.chunks(PIECE_NUMBERS).enumerate() {
            let greatest = piece.iter().copied().max().unwrap_or_default();
            let width = u64::BITS - (greatest.wrapping_sub(least) as u64).leading_zeros();
            body[widths + number] = width as u8;
            pack(
                piece
                    .iter()
                    .map(|difference| difference.wrapping_sub(least) as u64),
                width,
                PIECE_NUMBERS,
                body,
            );
        }
    }
}

/// Appends `width`-bit numbers, lowest bit first, and pads them with zeros to `count` numbers,
/// which fill complete bytes.
fn pack(numbers: impl Iterator<Item = u64>, width: u32, count: usize, body: &mut Vec<u8>) {
    let end = body.len() + count * width as usize / 8;
    let (mut word, mut filled) = (0_u128, 0);
    for number in numbers {
        word |= u128::from(number) << filled;
        filled += width;
        if filled >= u64::BITS {
            body.extend_from_slice(&(word as u64).to_le_bytes());
            word >>= u64::BITS;
            filled -= u64::BITS;
        }
    }
    body.extend_from_slice(&(word as u64).to_le_bytes());
    body.resize(end, 0);
}

/// Maps numbers of small magnitude to small values, regardless of sign.
fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn write_varint(mut number: u64, body: &mut Vec<u8>) {
    while number >= 0x80 {
        body.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    body.push(number as u8);
}
