//! Writes, compares and summarises the values in a column chunk.

use std::cmp::Ordering;
use std::hash::Hash;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Int64Array, PrimitiveArray, StringArray,
    UInt32Array,
};
use arrow::datatypes::{DataType, Date32Type, Decimal128Type, Int32Type};
use parquet::bloom_filter::Sbbf;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::file::properties::DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT;
use parquet::file::statistics::{Statistics, ValueStatistics};
use polars::prelude::{InitHashMaps, PlHashMap};

const IS_MIN_MAX_DEPRECATED: bool = false;

/// Values by index.
pub trait Values {
    fn count(&self) -> usize;

    fn compare(&self, one: u32, other: u32) -> Ordering;

    /// Appends a value, encoded as in a PLAIN-encoded page.
    fn write(&self, place: u32, page: &mut Vec<u8>);

    /// Returns a value, encoded as in a page index.
    fn index_bytes(&self, place: u32) -> Vec<u8>;

    /// Returns the length of a text in bytes, or zero for other values.
    fn text_bytes(&self, place: u32) -> usize;

    fn insert_into(&self, filter: &mut Sbbf, place: u32);

    /// Returns the chunk's statistics, given the indexes of its minimum and maximum and the number
    /// of nulls.
    fn statistics(&self, ends: Option<(u32, u32)>, nulls: u64, is_signed: bool) -> Statistics;
}

impl Values for StringArray {
    fn count(&self) -> usize {
        self.len()
    }

    fn compare(&self, one: u32, other: u32) -> Ordering {
        self.value(one as usize).cmp(self.value(other as usize))
    }

    fn write(&self, place: u32, page: &mut Vec<u8>) {
        let text = self.value(place as usize);
        page.extend_from_slice(&(text.len() as u32).to_le_bytes());
        page.extend_from_slice(text.as_bytes());
    }

    fn index_bytes(&self, place: u32) -> Vec<u8> {
        self.value(place as usize).as_bytes().to_vec()
    }

    fn text_bytes(&self, place: u32) -> usize {
        self.value_length(place as usize) as usize
    }

    fn insert_into(&self, filter: &mut Sbbf, place: u32) {
        filter.insert(self.value(place as usize));
    }

    fn statistics(&self, ends: Option<(u32, u32)>, nulls: u64, is_signed: bool) -> Statistics {
        let (least, greatest) = both(ends, |place| ByteArray::from(self.value(place as usize)));
        Statistics::ByteArray(
            ValueStatistics::new(least, greatest, None, Some(nulls), IS_MIN_MAX_DEPRECATED)
                .with_backwards_compatible_min_max(is_signed),
        )
    }
}

/// 32-bit numbers and days.
impl Values for Vec<i32> {
    fn count(&self) -> usize {
        self.len()
    }

    fn compare(&self, one: u32, other: u32) -> Ordering {
        self[one as usize].cmp(&self[other as usize])
    }

    fn write(&self, place: u32, page: &mut Vec<u8>) {
        page.extend_from_slice(&self[place as usize].to_le_bytes());
    }

    fn index_bytes(&self, place: u32) -> Vec<u8> {
        self[place as usize].to_le_bytes().to_vec()
    }

    fn text_bytes(&self, _place: u32) -> usize {
        0
    }

    fn insert_into(&self, filter: &mut Sbbf, place: u32) {
        filter.insert(&self[place as usize]);
    }

    fn statistics(&self, ends: Option<(u32, u32)>, nulls: u64, is_signed: bool) -> Statistics {
        let (least, greatest) = both(ends, |place| self[place as usize]);
        Statistics::Int32(
            ValueStatistics::new(least, greatest, None, Some(nulls), IS_MIN_MAX_DEPRECATED)
                .with_backwards_compatible_min_max(is_signed),
        )
    }
}

/// 64-bit numbers.
impl Values for Int64Array {
    fn count(&self) -> usize {
        self.len()
    }

    fn compare(&self, one: u32, other: u32) -> Ordering {
        self.value(one as usize).cmp(&self.value(other as usize))
    }

    fn write(&self, place: u32, page: &mut Vec<u8>) {
        page.extend_from_slice(&self.value(place as usize).to_le_bytes());
    }

    fn index_bytes(&self, place: u32) -> Vec<u8> {
        self.value(place as usize).to_le_bytes().to_vec()
    }

    fn text_bytes(&self, _place: u32) -> usize {
        0
    }

    fn insert_into(&self, filter: &mut Sbbf, place: u32) {
        filter.insert(&self.value(place as usize));
    }

    fn statistics(&self, ends: Option<(u32, u32)>, nulls: u64, is_signed: bool) -> Statistics {
        let (least, greatest) = both(ends, |place| self.value(place as usize));
        Statistics::Int64(
            ValueStatistics::new(least, greatest, None, Some(nulls), IS_MIN_MAX_DEPRECATED)
                .with_backwards_compatible_min_max(is_signed),
        )
    }
}

/// Decimals that do not fit into 64 bits, stored as big-endian units of `width` bytes.
pub struct Decimals {
    units: Vec<i128>,
    width: usize,
}

impl Decimals {
    fn bytes(&self, place: u32) -> Vec<u8> {
        let bytes = self.units[place as usize].to_be_bytes();
        bytes[bytes.len() - self.width..].to_vec()
    }
}

impl Values for Decimals {
    fn count(&self) -> usize {
        self.units.len()
    }

    fn compare(&self, one: u32, other: u32) -> Ordering {
        self.units[one as usize].cmp(&self.units[other as usize])
    }

    fn write(&self, place: u32, page: &mut Vec<u8>) {
        let bytes = self.units[place as usize].to_be_bytes();
        page.extend_from_slice(&bytes[bytes.len() - self.width..]);
    }

    fn index_bytes(&self, place: u32) -> Vec<u8> {
        self.bytes(place)
    }

    fn text_bytes(&self, _place: u32) -> usize {
        0
    }

    fn insert_into(&self, filter: &mut Sbbf, place: u32) {
        filter.insert(self.bytes(place).as_slice());
    }

    fn statistics(&self, ends: Option<(u32, u32)>, nulls: u64, is_signed: bool) -> Statistics {
        let (least, greatest) = both(ends, |place| {
            FixedLenByteArray::from(ByteArray::from(self.bytes(place)))
        });
        Statistics::FixedLenByteArray(
            ValueStatistics::new(least, greatest, None, Some(nulls), IS_MIN_MAX_DEPRECATED)
                .with_backwards_compatible_min_max(is_signed),
        )
    }
}

fn both<T>(ends: Option<(u32, u32)>, value: impl Fn(u32) -> T) -> (Option<T>, Option<T>) {
    (
        ends.map(|ends| value(ends.0)),
        ends.map(|ends| value(ends.1)),
    )
}

/// A chunk's distinct numbers, with an index per row.
pub enum CodedNumbers {
    Whole(UInt32Array, Vec<i32>),
    Decimals(UInt32Array, Decimals),
}

impl CodedNumbers {
    /// Reports whether a column can be coded regardless of its number of distinct values. A
    /// dictionary with a value for every row must still fit into a dictionary page.
    pub fn are_in(column: &ArrayRef) -> bool {
        let is_one = match column.data_type() {
            DataType::Int32 | DataType::Date32 => true,
            // Decimals with fewer digits are integers in the file.
            DataType::Decimal128(precision, _) => *precision > 18,
            _ => false,
        };
        is_one
            && !column.is_empty()
            && column
                .data_type()
                .primitive_width()
                .is_some_and(|width| column.len() * width < DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT)
    }

    /// Codes a column. `width` is the number of bytes per value in the file.
    pub fn new(column: &ArrayRef, width: usize) -> Option<Self> {
        if !Self::are_in(column) {
            return None;
        }
        Some(match column.data_type() {
            DataType::Int32 => {
                let (keys, values) = coded(column.as_primitive::<Int32Type>());
                Self::Whole(keys, values)
            }
            DataType::Date32 => {
                let (keys, values) = coded(column.as_primitive::<Date32Type>());
                Self::Whole(keys, values)
            }
            _ => {
                let (keys, units) = coded(column.as_primitive::<Decimal128Type>());
                Self::Decimals(keys, Decimals { units, width })
            }
        })
    }
}

fn coded<T: ArrowPrimitiveType>(cells: &PrimitiveArray<T>) -> (UInt32Array, Vec<T::Native>)
where
    T::Native: Hash + Eq,
{
    let mut places: PlHashMap<T::Native, u32> = PlHashMap::new();
    let mut values = Vec::new();
    let mut last = None;
    // The placeholder value in a null slot is also coded, but no row refers to it.
    let place = |value: &T::Native| match last {
        Some((known, place)) if known == *value => place,
        _ => {
            let place = *places.entry(*value).or_insert_with(|| {
                values.push(*value);
                (values.len() - 1) as u32
            });
            last = Some((*value, place));
            place
        }
    };
    let keys: Vec<u32> = cells.values().iter().map(place).collect();
    (
        UInt32Array::new(keys.into(), cells.nulls().cloned()),
        values,
    )
}
