//! Splits a file's records into one file on disk per bucket, and reads a bucket's file back as the
//! frame that decoding produces.
//!
//! A bucket's file is a sequence of contiguous blocks. A block starts with three 64-bit counts: the
//! number of rows, the size of the numbers in bytes and the size of the texts in bytes. The numbers
//! and the texts follow. The numbers for a row are the length of each cell, followed by the row's
//! offset and length in the source, all encoded as LEB128. The texts are the row's cells without
//! separators.

use std::collections::{BTreeSet, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, ErrorKind, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use polars::prelude::DataFrame;

use super::records::{KeyFilter, RecordConsumer};
use super::text_frames::TextFrame;
use pubdata_core::error::{Error, IoExt, Result};
use pubdata_core::ids::hash_bucket;

/// Maximum number of bytes that all buckets together hold in memory before they are written to
/// disk.
const HELD_BYTES: usize = 8 << 20;

/// Selects the rows to write to the bucket files. All rows are read and counted.
#[derive(Clone, Copy)]
pub enum KeptRows<'a> {
    All,
    OfBucket(u32),
    /// Rows with one of these keys, as well as rows without a key.
    OfKeys(&'a HashSet<String>),
}

/// Describes how to distribute a file's rows.
#[derive(Clone, Copy)]
pub struct HashPartitioner<'a> {
    /// Column whose text determines the bucket.
    pub key: &'a str,
    /// Column that determines the bucket if the key is empty.
    pub fallback_key: Option<&'a str>,
    /// Number of buckets.
    pub count: u32,
    pub kept: KeptRows<'a>,
    /// Returns the path of a bucket's file.
    pub path_of: &'a (dyn Fn(u32) -> PathBuf + Sync),
}

/// Appends records to their buckets' files, in order. A record without a key goes to the first
/// bucket. Memory use is bounded by one record plus twice [`HELD_BYTES`].
pub(super) struct Partition<'a> {
    partitioner: HashPartitioner<'a>,
    names: Vec<String>,
    /// Columns that determine the bucket. The first column with text is used.
    keys: Vec<usize>,
    /// The record being read: the lengths and texts of its cells, and the ranges of the `keys`
    /// columns within the texts.
    record: Block,
    key_texts: Vec<Range<usize>>,
    blocks: Vec<Block>,
    held_bytes: usize,
    rows: u64,
    filled: BTreeSet<u32>,
}

/// Rows to write to a file.
#[derive(Default)]
struct Block {
    rows: u64,
    numbers: Vec<u8>,
    texts: String,
}

/// Result of partitioning a file.
pub struct Partitioned {
    /// Names of the columns, in order.
    pub columns: Vec<String>,
    /// Number of records read, across all buckets.
    pub rows: u64,
    /// Buckets that contain rows from the file.
    pub filled: BTreeSet<u32>,
}

impl<'a> Partition<'a> {
    pub(super) fn new(partitioner: HashPartitioner<'a>) -> Self {
        let blocks = (0..partitioner.count).map(|_| Block::default()).collect();
        let (names, keys, record, key_texts, filled) = Default::default();
        Self {
            partitioner,
            names,
            keys,
            record,
            key_texts,
            blocks,
            held_bytes: 0,
            rows: 0,
            filled,
        }
    }

    pub(super) fn partitioned(self) -> Partitioned {
        Partitioned {
            columns: self.names,
            rows: self.rows,
            filled: self.filled,
        }
    }

    /// Returns the bucket for the record whose cells were received, or none if its rows are not
    /// kept.
    fn bucket(&self) -> Option<u32> {
        let key = self.key_texts.iter().find(|text| !text.is_empty());
        let key = key.map(|key| &self.record.texts[key.clone()]);
        let hash = || key.map_or(0, |key| hash_bucket(key, self.partitioner.count));
        match self.partitioner.kept {
            KeptRows::OfBucket(bucket) => Some(bucket).filter(|bucket| *bucket == hash()),
            // Other rows have not passed the filter.
            KeptRows::All | KeptRows::OfKeys(_) => Some(hash()),
        }
    }

    fn write(&mut self) -> Result<()> {
        for (bucket, block) in (0..).zip(&mut self.blocks) {
            if block.rows > 0 {
                let path = (self.partitioner.path_of)(bucket);
                std::mem::take(block).write_to(&path).at("write", &path)?;
                self.filled.insert(bucket);
            }
        }
        self.held_bytes = 0;
        Ok(())
    }
}

impl RecordConsumer for Partition<'_> {
    fn begin(&mut self, names: &[String]) -> Result<()> {
        self.keys = key_columns(
            names,
            [Some(self.partitioner.key), self.partitioner.fallback_key],
        )?;
        self.key_texts = vec![0..0; self.keys.len()];
        self.names = names.to_vec();
        Ok(())
    }

    fn cell(&mut self, column: usize, text: &str) {
        let start = self.record.texts.len();
        self.record.texts.push_str(text);
        put_number(&mut self.record.numbers, text.len() as u64);
        if let Some(place) = self.keys.iter().position(|key| *key == column) {
            self.key_texts[place] = start..self.record.texts.len();
        }
    }

    fn end(&mut self, offset: u64, length: u64) -> Result<()> {
        self.rows += 1;
        if let Some(bucket) = self.bucket() {
            put_number(&mut self.record.numbers, offset);
            put_number(&mut self.record.numbers, length);
            self.held_bytes += self.record.numbers.len() + self.record.texts.len();
            self.blocks[bucket as usize].add(&self.record);
        }
        self.record.clear();
        if self.held_bytes < HELD_BYTES {
            Ok(())
        } else {
            self.write()
        }
    }

    fn finish(&mut self) -> Result<()> {
        self.write()
    }

    fn filter(&self) -> Option<KeyFilter<'_>> {
        match self.partitioner.kept {
            KeptRows::OfKeys(keys) => Some(KeyFilter {
                columns: &self.keys,
                keys,
            }),
            KeptRows::All | KeptRows::OfBucket(_) => None,
        }
    }

    fn skip(&mut self) {
        self.rows += 1;
    }
}

/// Returns the indices of the key columns.
fn key_columns(names: &[String], keys: [Option<&str>; 2]) -> Result<Vec<usize>> {
    let position = |key: &str| {
        names
            .iter()
            .position(|name| name == key)
            .ok_or_else(|| Error::config(format!("there is no column `{key}` to split by")))
    };
    keys.into_iter().flatten().map(position).collect()
}

/// Collects the keys of a file's records, up to a limit.
pub(super) struct KeyCollector<'k> {
    key: &'k str,
    fallback_key: Option<&'k str>,
    limit: usize,
    columns: Vec<usize>,
    /// The current record's text in each key column.
    texts: Vec<String>,
    keys: &'k mut HashSet<String>,
}

impl<'k> KeyCollector<'k> {
    /// Adds keys to `keys`, and stops with an error once their number exceeds `limit`.
    pub(super) fn new(
        key: &'k str,
        fallback_key: Option<&'k str>,
        limit: usize,
        keys: &'k mut HashSet<String>,
    ) -> Self {
        Self {
            key,
            fallback_key,
            limit,
            columns: Vec::new(),
            texts: Vec::new(),
            keys,
        }
    }
}

impl RecordConsumer for KeyCollector<'_> {
    fn begin(&mut self, names: &[String]) -> Result<()> {
        self.columns = key_columns(names, [Some(self.key), self.fallback_key])?;
        self.texts = vec![String::new(); self.columns.len()];
        Ok(())
    }

    fn cell(&mut self, column: usize, text: &str) {
        if let Some(position) = self.columns.iter().position(|key| *key == column) {
            self.texts[position].replace_range(.., text);
        }
    }

    fn end(&mut self, _: u64, _: u64) -> Result<()> {
        if let Some(key) = self.texts.iter().find(|text| !text.is_empty())
            && !self.keys.contains(key)
        {
            self.keys.insert(key.clone());
        }
        if self.keys.len() > self.limit {
            return Err(Error::format(format!("more than {} keys", self.limit)));
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Block {
    fn add(&mut self, record: &Self) {
        self.rows += 1;
        self.numbers.extend_from_slice(&record.numbers);
        self.texts.push_str(&record.texts);
    }

    fn clear(&mut self) {
        self.numbers.clear();
        self.texts.clear();
    }

    /// Appends the rows to a file.
    fn write_to(&self, path: &Path) -> std::io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        let counts = [
            self.rows,
            self.numbers.len() as u64,
            self.texts.len() as u64,
        ];
        file.write_all(&counts.map(u64::to_le_bytes).concat())?;
        file.write_all(&self.numbers)?;
        file.write_all(self.texts.as_bytes())
    }
}

/// Reads a file's rows in one bucket. Returns the frame that [`super::decode`] produces, without
/// the rows in other buckets.
///
/// # Errors
/// `Store` if the file is damaged.
pub fn read_partition(path: &Path, columns: &[String], numbers: [u64; 2]) -> Result<DataFrame> {
    let mut frame = TextFrame::new(columns);
    let file = match File::open(path) {
        // The bucket contains no row from the source file.
        Err(error) if error.kind() == ErrorKind::NotFound => return frame.finish(numbers),
        file => file.at("open", path)?,
    };
    let mut left = file.metadata().at("read", path)?.len();
    let mut reader = BufReader::with_capacity(1 << 18, file);
    let damaged = || Error::store(format!("{} is damaged", path.display()));
    let mut counts = [0; 24];
    let mut content = Vec::new();
    while left > 0 {
        reader.read_exact(&mut counts).map_err(|_| damaged())?;
        let [rows, bytes_of_numbers, bytes_of_texts] = [0, 8, 16]
            .map(|at| u64::from_le_bytes(counts[at..at + 8].try_into().expect("eight bytes")));
        let bytes = bytes_of_numbers
            .checked_add(bytes_of_texts)
            .ok_or_else(damaged)?;
        left = left
            .checked_sub(24)
            .and_then(|left| left.checked_sub(bytes))
            .ok_or_else(damaged)?;
        content.resize(usize::try_from(bytes).map_err(|_| damaged())?, 0);
        reader.read_exact(&mut content).map_err(|_| damaged())?;
        let (numbers, texts) =
            content.split_at(usize::try_from(bytes_of_numbers).map_err(|_| damaged())?);
        read_block(&mut frame, columns.len(), rows, numbers, texts).ok_or_else(damaged)?;
    }
    frame.finish(numbers)
}

/// Adds a block's rows to a frame. Returns none if the block is damaged.
fn read_block(
    frame: &mut TextFrame,
    columns: usize,
    rows: u64,
    mut numbers: &[u8],
    texts: &[u8],
) -> Option<()> {
    let mut texts = std::str::from_utf8(texts).ok()?;
    for _ in 0..rows {
        for column in 0..columns {
            let (text, rest) =
                texts.split_at_checked(usize::try_from(take_number(&mut numbers)?).ok()?)?;
            frame.cell(column, text);
            texts = rest;
        }
        frame.end(take_number(&mut numbers)?, take_number(&mut numbers)?);
    }
    (numbers.is_empty() && texts.is_empty()).then_some(())
}

fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
