//! Encodes column chunks by how each value differs from the one before: texts by what they share with it, numbers by the difference. The bytes are those
//! that the `parquet` crate writes, which takes values one by one. What is not of the simple form is left to the crate.
//!
//! Source: Apache Parquet, "Encodings", Delta Encoding and Delta Strings.

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringArray};
use arrow::datatypes::Int64Type;
use parquet::basic::Encoding;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnDescPtr;

use super::chunk::{Encoded, LONGEST_BOUND, OneCompressor, PageFacts, Paged, write_page_levels};
use super::values::Values;
use crate::error::Result;

/// Blocks have so many pieces, each with a width of its own.
const PIECES: usize = 4;
/// Lengths in such a piece, and numbers of 64 bits.
const OF_LENGTHS: usize = 32;
const OF_NUMBERS: usize = 64;
/// More than a length or a number takes in a page, with what is said of its piece.
const MOST_BYTES: usize = 16;

/// A column without nulls whose leaf is written by differences.
pub enum Deltas<'a> {
    Texts(&'a StringArray),
    Numbers(&'a Int64Array),
}

impl<'a> Deltas<'a> {
    /// Those of a column, where its leaf is written so and no page of it becomes too large.
    pub fn of(leaf: &ColumnDescPtr, properties: &WriterProperties, column: &'a ArrayRef) -> Option<Self> {
        let path = leaf.path();
        if properties.dictionary_enabled(path) || column.is_empty() || column.null_count() > 0 {
            return None;
        }
        let page_rows = properties.column_data_page_row_count_limit(path);
        let limit = properties.column_data_page_size_limit(path).saturating_sub(page_rows * 2 * MOST_BYTES);
        match properties.encoding(path)? {
            Encoding::DELTA_BYTE_ARRAY => {
                let texts = column.as_string_opt::<i32>()?;
                let offsets = texts.value_offsets();
                let is_short = offsets.windows(2).all(|border| (border[1] - border[0]) as usize <= LONGEST_BOUND);
                let is_small = |from: usize| (offsets[texts.len().min(from + page_rows)] - offsets[from]) as usize <= limit;
                (is_short && (0..texts.len()).step_by(page_rows).all(is_small)).then_some(Self::Texts(texts))
            }
            Encoding::DELTA_BINARY_PACKED if limit > 0 => column.as_primitive_opt::<Int64Type>().map(Self::Numbers),
            _ => None,
        }
    }

    /// Encodes the chunk of the leaf, which has one value for each row.
    ///
    /// # Errors
    /// `Store`, when it cannot be compressed or described.
    pub fn encode(&self, leaf: &ColumnDescPtr, properties: &WriterProperties, compressor: &mut OneCompressor) -> Result<Encoded> {
        match self {
            Self::Texts(texts) => {
                encode(leaf, properties, *texts, Encoding::DELTA_BYTE_ARRAY, |from, rows, body| write_texts(texts, from, rows, body), compressor)
            }
            Self::Numbers(numbers) => {
                let write = |from: usize, rows: usize, body: &mut Vec<u8>| {
                    let numbers = &numbers.values()[from..from + rows];
                    write_packed(numbers, OF_NUMBERS, body);
                    let by_number = |row: &usize| numbers[*row];
                    let ends = (0..rows).min_by_key(by_number).zip((0..rows).max_by_key(by_number));
                    PageFacts { rows, ends: ends.map(|(least, greatest)| ((from + least) as u32, (from + greatest) as u32)), ..PageFacts::default() }
                };
                encode(leaf, properties, *numbers, Encoding::DELTA_BINARY_PACKED, write, compressor)
            }
        }
    }
}

fn encode<V: Values>(
    leaf: &ColumnDescPtr,
    properties: &WriterProperties,
    values: &V,
    encoding: Encoding,
    write: impl Fn(usize, usize, &mut Vec<u8>) -> PageFacts,
    compressor: &mut OneCompressor,
) -> Result<Encoded> {
    let (rows, page_rows) = (values.count(), properties.column_data_page_row_count_limit(leaf.path()));
    let chunk = Paged { leaf, properties, values, dictionary: None, pages: rows.div_ceil(page_rows), encoding };
    let page = |number: usize, body: &mut Vec<u8>| {
        let from = number * page_rows;
        let rows = page_rows.min(rows - from);
        write_page_levels(leaf, rows, None, body);
        write(from, rows, body)
    };
    chunk.write(page, 0..rows as u32, compressor)
}

/// Adds a page of texts: how much of each the one before it begins with, how long its rest is, and the rests.
fn write_texts(texts: &StringArray, from: usize, rows: usize, body: &mut Vec<u8>) -> PageFacts {
    let (mut shared_lengths, mut lengths, mut rests) = (Vec::with_capacity(rows), Vec::with_capacity(rows), Vec::new());
    let (mut least, mut greatest) = (from, from);
    let mut last: &[u8] = &[];
    for row in from..from + rows {
        let text = texts.value(row).as_bytes();
        let shared = shared_length(last, text);
        shared_lengths.push(shared as i64);
        lengths.push((text.len() - shared) as i64);
        rests.extend_from_slice(&text[shared..]);
        // What comes after the one before it is not the least, and what comes before that one not the greatest.
        if row > from && text[shared..] > last[shared..] {
            if greatest == row - 1 || text > texts.value(greatest).as_bytes() {
                greatest = row;
            }
        } else if row > from && (least == row - 1 || text < texts.value(least).as_bytes()) {
            least = row;
        }
        last = text;
    }
    write_packed(&shared_lengths, OF_LENGTHS, body);
    write_packed(&lengths, OF_LENGTHS, body);
    body.extend_from_slice(&rests);
    let offsets = texts.value_offsets();
    PageFacts { rows, nulls: 0, ends: Some((least as u32, greatest as u32)), text_bytes: i64::from(offsets[from + rows] - offsets[from]) }
}

/// How many bytes two texts begin with alike.
fn shared_length(one: &[u8], other: &[u8]) -> usize {
    let (one_words, other_words) = (one.as_chunks::<8>().0, other.as_chunks::<8>().0);
    let words = one_words.iter().zip(other_words).take_while(|(one, other)| one == other).count();
    let (one, other) = (&one[words * 8..], &other[words * 8..]);
    words * 8 + one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// Adds numbers, packed by their differences in blocks of four pieces of so many.
fn write_packed(numbers: &[i64], of_piece: usize, body: &mut Vec<u8>) {
    let Some((first, others)) = numbers.split_first() else { return };
    for number in [of_piece * PIECES, PIECES, numbers.len()] {
        write_varint(number as u64, body);
    }
    write_varint(zigzag(*first), body);
    let mut last = *first;
    let mut differences = Vec::with_capacity(of_piece * PIECES);
    for block in others.chunks(of_piece * PIECES) {
        differences.clear();
        differences.extend(block.iter().map(|number| number.wrapping_sub(std::mem::replace(&mut last, *number))));
        let least = differences.iter().copied().min().unwrap_or_default();
        write_varint(zigzag(least), body);
        let widths = body.len();
        body.extend_from_slice(&[0; PIECES]);
        for (number, piece) in differences.chunks(of_piece).enumerate() {
            let greatest = piece.iter().copied().max().unwrap_or_default();
            let width = u64::BITS - (greatest.wrapping_sub(least) as u64).leading_zeros();
            body[widths + number] = width as u8;
            pack(piece.iter().map(|difference| difference.wrapping_sub(least) as u64), width, of_piece, body);
        }
    }
}

/// Adds numbers of so many bits, the lowest first, and zeros behind them up to a count whose bits are whole bytes.
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

/// Least numbers first, whatever their sign.
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
