//! Summarises a dataset's rows by column: nulls, sums, distinct values, and a sample of entire
//! records. Statistics for parts can be merged in any order and give the same figures for the
//! dataset. Their size is bounded.

use pubdata_store::parquet_error;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type,
};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::columns::{BATCH_ROWS, column_of, record_ids};
use super::reused::ReusedRows;
use pubdata_core::contract::{Contract, UNKNOWN_VALUES, WORD_BASIS};
use pubdata_core::error::Result;
use pubdata_core::provenance::POINTERS;

/// Numbers are kept in millionths, because integer sums do not depend on the order of addition.
pub const UNITS: i128 = 1_000_000;
/// Number of sampled records, which gives shares to within a few percentage points. Records are
/// selected by the hash of the record id, so the samples of two releases contain mostly the same
/// records.
const SAMPLE: usize = 2_048;
/// Number of hashes used to estimate distinct values, with an accuracy of three percent. Smaller
/// numbers of values are counted exactly.
const DISTINCT: usize = 1_024;
/// Number of largest values to exclude from a second sum, so that a single record does not look
/// like a jump.
const LARGEST: usize = 8;

/// Statistics for a dataset's rows.
#[derive(Debug, Clone, Default)]
pub struct Statistics {
    pub rows: u64,
    /// Statistics by group of rows, then by column.
    groups: BTreeMap<String, BTreeMap<String, ColumnStatistics>>,
    /// Sampled records by hash of the record id.
    sample: BTreeMap<u64, SampledRecord>,
    /// True if there are records outside the sample.
    is_partial: bool,
}

/// Statistics for a column's values.
#[derive(Debug, Clone, Default)]
pub struct ColumnStatistics {
    pub values: u64,
    pub nulls: u64,
    /// Sum of the numbers' absolute values, in millionths.
    sum: i128,
    largest: Vec<i128>,
    hashes: BTreeSet<u64>,
    /// Largest kept hash once the set is full. Larger hashes are not added.
    largest_hash: Option<u64>,
    pub is_number: bool,
    pub is_date: bool,
}

#[derive(Debug, Clone)]
struct SampledRecord {
    group: String,
    columns: Arc<Vec<String>>,
    cells: Vec<Cell>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    Null,
    /// A number in millionths.
    Number(i128),
    Text(u64),
}

/// Differences between the records in two samples.
#[derive(Debug, Default)]
pub struct Changes {
    /// Number of records in the earlier sample.
    pub records: usize,
    /// Number of earlier records that are missing from the later sample.
    pub gone: usize,
    /// By column: the number of records in both samples, and the number of these whose value
    /// differs.
    pub columns: BTreeMap<String, (usize, usize)>,
}

impl ColumnStatistics {
    /// Returns the mean of the absolute values, excluding the largest few, or none if there are no
    /// other values.
    pub fn mean_without_largest(&self) -> Option<f64> {
        let count = self
            .values
            .checked_sub(self.largest.len() as u64)
            .filter(|count| *count > 0 && self.is_number && !self.is_date)?;
        let sum = self
            .largest
            .iter()
            .fold(self.sum, |sum, size| sum.saturating_sub(*size));
        Some(sum as f64 / UNITS as f64 / count as f64)
    }

    /// Returns the number of distinct values, which is an estimate if there are many.
    pub fn distinct(&self) -> f64 {
        match self.hashes.last() {
            Some(last) if self.hashes.len() == DISTINCT => {
                (DISTINCT - 1) as f64 / (*last as f64 / u64::MAX as f64)
            }
            _ => self.hashes.len() as f64,
        }
    }

    fn add(&mut self, cell: Cell) {
        let hash = match cell {
            Cell::Null => {
                self.nulls += 1;
                return;
            }
            Cell::Number(number) => {
                let size = number.saturating_abs();
                self.sum = self.sum.saturating_add(size);
                self.add_largest(size);
                mixed(number as u64 ^ (number >> 64) as u64)
            }
            Cell::Text(hash) => hash,
        };
        self.values += 1;
        self.add_hash(hash);
    }

    fn add_largest(&mut self, size: i128) {
        if self.largest.len() < LARGEST {
            self.largest.push(size);
            self.largest.sort_unstable();
        } else if size > self.largest[0] {
            self.largest[0] = size;
            self.largest.sort_unstable();
        }
    }

    fn add_hash(&mut self, hash: u64) {
        if self.largest_hash.is_none_or(|largest| hash < largest)
            && self.hashes.insert(hash)
            && self.hashes.len() >= DISTINCT
        {
            if self.hashes.len() > DISTINCT {
                self.hashes.pop_last();
            }
            self.largest_hash = self.hashes.last().copied();
        }
    }

    /// Merges the statistics for other rows.
    pub fn merge(&mut self, other: &Self) {
        self.values += other.values;
        self.nulls += other.nulls;
        self.sum = self.sum.saturating_add(other.sum);
        other
            .largest
            .iter()
            .for_each(|size| self.add_largest(*size));
        other.hashes.iter().for_each(|hash| self.add_hash(*hash));
        self.is_number |= other.is_number;
        self.is_date |= other.is_date;
    }
}

impl Statistics {
    /// Computes a batch's statistics, to be merged with others whose sample has the same reach.
    /// Rows are grouped by the key column whose values the contract lists, such as the metric that
    /// a value measures.
    pub fn from_batch(reach: u64, contract: &Contract, batch: &RecordBatch) -> Result<Self> {
        let mut statistics = Self {
            rows: batch.num_rows() as u64,
            ..Self::default()
        };
        let schema = batch.schema();
        // A separate rule checks how many words are known.
        let is_of_words = |name: &str| {
            name == UNKNOWN_VALUES
                || contract
                    .column(name)
                    .is_some_and(|column| column.type_name == WORD_BASIS)
        };
        let is_compared = |name: &str| {
            !["record_id", "validation_status", "warnings", POINTERS].contains(&name)
                && !is_of_words(name)
        };
        let names: Vec<String> = schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .filter(|name| is_compared(name))
            .collect();
        let columns: Vec<Cells<'_>> = names
            .iter()
            .map(|name| Ok(Cells::new(column_of(batch, name)?)))
            .collect::<Result<_>>()?;
        let groups = group_column(contract)
            .and_then(|name| batch.column_by_name(name))
            .and_then(|column| column.as_string_opt::<i32>());
        let group_of = |row: usize| groups.map_or("", |groups| groups.value(row));
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let number_of_row: Vec<usize> = (0..batch.num_rows())
            .map(|row| {
                let number = numbers.len();
                *numbers.entry(group_of(row)).or_insert(number)
            })
            .collect();
        for (name, cells) in names.iter().zip(&columns) {
            let mut by_number = vec![ColumnStatistics::default(); numbers.len()];
            cells.each(|row, cell| by_number[number_of_row[row]].add(cell));
            for (group, number) in &numbers {
                let mut of_column = std::mem::take(&mut by_number[*number]);
                (of_column.is_number, of_column.is_date) = (cells.is_number(), cells.is_date());
                statistics
                    .groups
                    .entry((*group).to_owned())
                    .or_default()
                    .insert(name.clone(), of_column);
            }
        }
        let hashes = record_ids(batch)?
            .iter()
            .enumerate()
            .map(|(row, id)| (hash(id.unwrap_or_default().as_bytes()), row));
        let mut hashes: Vec<(u64, usize)> = hashes.filter(|(hash, _)| *hash <= reach).collect();
        statistics.is_partial = hashes.len() < batch.num_rows();
        hashes.sort_unstable();
        let names = Arc::new(names);
        for (hash, row) in hashes {
            let record = || SampledRecord {
                group: group_of(row).to_owned(),
                columns: names.clone(),
                cells: columns.iter().map(|cells| cells.at(row)).collect(),
            };
            if statistics.sample.len() == SAMPLE {
                statistics.is_partial = true;
                break;
            }
            statistics.sample.insert(hash, record());
        }
        Ok(statistics)
    }

    /// Like [`Statistics::from_batch`], but for a part's rows.
    ///
    /// # Errors
    /// `Store` if the bytes are not a readable part.
    pub fn of_part(reach: u64, contract: &Contract, bytes: Bytes) -> Result<Self> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(parquet_error)?;
        let roots = builder
            .schema()
            .fields()
            .iter()
            .enumerate()
            .filter(|(_, field)| field.name() != POINTERS)
            .map(|(place, _)| place);
        let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
        let mut statistics = Self::default();
        for batch in builder
            .with_projection(mask)
            .with_batch_size(BATCH_ROWS)
            .build()
            .map_err(parquet_error)?
        {
            statistics.add(reach, contract, &batch?)?;
        }
        Ok(statistics)
    }

    /// Like [`Statistics::from_batch`], but for those rows of a part that are not reused.
    pub fn of_others(reach: u64, contract: &Contract, reused: &ReusedRows) -> Result<Self> {
        let mut statistics = Self::default();
        for group in reused.groups() {
            reused
                .others(group)?
                .iter()
                .try_for_each(|batch| statistics.add(reach, contract, batch))?;
        }
        Ok(statistics)
    }

    fn add(&mut self, reach: u64, contract: &Contract, batch: &RecordBatch) -> Result<()> {
        self.merge(Self::from_batch(reach.min(self.reach()), contract, batch)?);
        Ok(())
    }

    /// Returns the largest hash of a record id that can still enter the sample.
    pub fn reach(&self) -> u64 {
        self.sample
            .last_key_value()
            .filter(|_| self.sample.len() == SAMPLE)
            .map_or(u64::MAX, |(hash, _)| *hash)
    }

    /// Merges the statistics for other rows.
    pub fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        for (group, columns) in other.groups {
            let own = self.groups.entry(group).or_default();
            for (name, of_column) in columns {
                own.entry(name).or_default().merge(&of_column);
            }
        }
        self.is_partial |= other.is_partial;
        self.sample.extend(other.sample);
        while self.sample.len() > SAMPLE {
            self.sample.pop_last();
            self.is_partial = true;
        }
    }

    /// Returns statistics by group and column. If the contract's key does not have listed values,
    /// there is one group without a name.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &str, &ColumnStatistics)> {
        self.groups.iter().flat_map(|(group, columns)| {
            columns
                .iter()
                .map(move |(name, of_column)| (group.as_str(), name.as_str(), of_column))
        })
    }

    pub fn column(&self, group: &str, name: &str) -> Option<&ColumnStatistics> {
        self.groups.get(group)?.get(name)
    }

    /// Returns the names of the columns in all groups.
    pub fn names(&self) -> BTreeSet<&str> {
        self.groups
            .values()
            .flat_map(|columns| columns.keys().map(String::as_str))
            .collect()
    }

    /// Merges a column's statistics over all groups.
    pub fn over_groups(&self, name: &str) -> ColumnStatistics {
        let mut all = ColumnStatistics::default();
        self.groups
            .values()
            .filter_map(|columns| columns.get(name))
            .for_each(|of_column| all.merge(of_column));
        all
    }

    /// Returns a column's sampled numbers in ascending order.
    pub fn sampled(&self, group: &str, name: &str) -> Vec<f64> {
        let number = |record: &SampledRecord| match record.cell(name) {
            Some(Cell::Number(number)) if record.group == group => {
                Some(number as f64 / UNITS as f64)
            }
            _ => None,
        };
        let mut numbers: Vec<f64> = self.sample.values().filter_map(number).collect();
        numbers.sort_unstable_by(f64::total_cmp);
        numbers
    }

    /// Compares the earlier sample's records with those in the later sample, within the reach of
    /// both.
    pub fn changes(&self, later: &Self) -> Changes {
        let reach = |statistics: &Self| {
            if statistics.is_partial {
                statistics
                    .sample
                    .last_key_value()
                    .map_or(0, |(hash, _)| *hash)
            } else {
                u64::MAX
            }
        };
        let both = reach(self).min(reach(later));
        let mut changes = Changes::default();
        for (hash, before) in self.sample.range(..=both) {
            changes.records += 1;
            let Some(now) = later.sample.get(hash) else {
                changes.gone += 1;
                continue;
            };
            for (name, cell) in before.columns.iter().zip(&before.cells) {
                let Some(other) = now.cell(name) else {
                    continue;
                };
                let (compared, changed) = changes.columns.entry(name.clone()).or_default();
                *compared += 1;
                *changed += usize::from(other != *cell);
            }
        }
        changes
    }
}

impl SampledRecord {
    fn cell(&self, name: &str) -> Option<Cell> {
        self.columns
            .iter()
            .position(|column| column == name)
            .map(|place| self.cells[place])
    }
}

/// Returns the column by which rows are grouped for comparison. This is the first key column whose
/// values the contract lists.
fn group_column(contract: &Contract) -> Option<&str> {
    let is_listed = |name: &&String| {
        !contract.partition_by.contains(name)
            && contract
                .column(name)
                .is_some_and(|column| !column.column_type.values.is_empty())
    };
    contract
        .primary_key
        .iter()
        .find(is_listed)
        .map(String::as_str)
}

/// A column whose cells are numbers, or hashes that represent texts.
struct Cells<'a> {
    array: &'a dyn Array,
}

impl<'a> Cells<'a> {
    fn new(array: &'a dyn Array) -> Self {
        Self { array }
    }

    fn is_number(&self) -> bool {
        !matches!(
            self.array.data_type(),
            DataType::Utf8 | DataType::List(_) | DataType::Boolean
        )
    }

    fn is_date(&self) -> bool {
        matches!(self.array.data_type(), DataType::Date32)
    }

    /// Passes every cell to `take`, with its row.
    fn each(&self, take: impl FnMut(usize, Cell)) {
        match self.array.data_type() {
            DataType::Utf8 => self.each_text(take),
            DataType::Int32 => {
                self.each_number::<Int32Type>(take, |value| i128::from(value) * UNITS);
            }
            DataType::Int64 => {
                self.each_number::<Int64Type>(take, |value| i128::from(value) * UNITS);
            }
            DataType::Date32 => {
                self.each_number::<Date32Type>(take, |value| i128::from(value) * UNITS);
            }
            DataType::Float64 => self.each_number::<Float64Type>(take, float_millionths),
            DataType::Decimal128(_, scale) => {
                self.each_number::<Decimal128Type>(take, |value| millionths(value, *scale));
            }
            _ => self.each_other(take),
        }
    }

    fn each_text(&self, mut take: impl FnMut(usize, Cell)) {
        // A text often repeats the previous one.
        let mut last: Option<(&str, Cell)> = None;
        for (row, text) in self.array.as_string::<i32>().iter().enumerate() {
            let cell = match (text, last) {
                (None, _) => Cell::Null,
                (Some(text), Some((known, cell))) if text == known => cell,
                (Some(text), _) => {
                    let cell = Cell::Text(hash(text.as_bytes()));
                    last = Some((text, cell));
                    cell
                }
            };
            take(row, cell);
        }
    }

    fn each_number<T: ArrowPrimitiveType>(
        &self,
        mut take: impl FnMut(usize, Cell),
        millionths: impl Fn(T::Native) -> i128,
    ) {
        for (row, value) in self.array.as_primitive::<T>().iter().enumerate() {
            take(
                row,
                value.map_or(Cell::Null, |value| Cell::Number(millionths(value))),
            );
        }
    }

    fn each_other(&self, mut take: impl FnMut(usize, Cell)) {
        (0..self.array.len()).for_each(|row| take(row, self.at(row)));
    }

    fn at(&self, row: usize) -> Cell {
        if self.array.is_null(row) {
            return Cell::Null;
        }
        match self.array.data_type() {
            DataType::Utf8 => Cell::Text(hash(self.array.as_string::<i32>().value(row).as_bytes())),
            DataType::Int32 => {
                Cell::Number(i128::from(self.array.as_primitive::<Int32Type>().value(row)) * UNITS)
            }
            DataType::Int64 => {
                Cell::Number(i128::from(self.array.as_primitive::<Int64Type>().value(row)) * UNITS)
            }
            DataType::Date32 => {
                Cell::Number(i128::from(self.array.as_primitive::<Date32Type>().value(row)) * UNITS)
            }
            DataType::Boolean => {
                Cell::Number(i128::from(self.array.as_boolean().value(row)) * UNITS)
            }
            DataType::Float64 => Cell::Number(float_millionths(
                self.array.as_primitive::<Float64Type>().value(row),
            )),
            DataType::Decimal128(_, scale) => Cell::Number(millionths(
                self.array.as_primitive::<Decimal128Type>().value(row),
                *scale,
            )),
            DataType::List(_) => {
                let items = self.array.as_list::<i32>().value(row);
                let Some(items) = items.as_string_opt::<i32>() else {
                    return Cell::Null;
                };
                Cell::Text(items.iter().fold(0, |sum, item| {
                    mixed(sum ^ hash(item.unwrap_or_default().as_bytes()))
                }))
            }
            _ => Cell::Null,
        }
    }
}

fn float_millionths(value: f64) -> i128 {
    (value * UNITS as f64) as i128
}

fn millionths(units: i128, scale: i8) -> i128 {
    match u32::try_from(6 - i32::from(scale)) {
        Ok(zeros) => units.saturating_mul(10_i128.pow(zeros)),
        Err(_) => units / 10_i128.pow(u32::from(scale.unsigned_abs()) - 6),
    }
}

/// Hashes eight bytes at a time. Any hash function with the same results on all machines would be
/// suitable.
fn hash(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let hash = words.iter().fold(bytes.len() as u64, |hash, word| {
        mixed(hash ^ u64::from_le_bytes(*word))
    });
    mixed(hash ^ u64::from_le_bytes(last))
}

/// Applies the last steps of SplitMix64.
fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}
