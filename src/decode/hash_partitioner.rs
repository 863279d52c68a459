//! Splits the decoded rows of a file into one file on disk per bucket, and reads a bucket's back as the frame that decoding makes.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use polars::prelude::*;

use super::text_frame::{builders, frame_of};
use crate::error::{Error, IoExt, Result};
use crate::ids::hash_bucket;
use crate::provenance::{POINTERS, PointerRows};

/// Splits the rows of one file, frame by frame, into a file for each bucket: comma-separated cells, then offset and length. Memory holds
/// what is handed over and no more.
pub struct HashPartitioner<'a> {
    /// Column whose text decides the bucket.
    pub key: &'a str,
    /// Column that does where the key is empty.
    pub fallback_key: Option<&'a str>,
    /// Number of buckets.
    pub count: u32,
    /// The one bucket whose rows are kept; all when none is given.
    pub only: Option<u32>,
    /// The file of a bucket.
    pub path_of: &'a (dyn Fn(u32) -> PathBuf + Sync),
}

impl HashPartitioner<'_> {
    /// Adds a frame's rows to their buckets, in their order, and returns the buckets that got some. A row without a key goes to the first.
    ///
    /// # Errors
    /// `Store`, when a file cannot be written; `Config`, when the frame has no such column.
    pub fn take(&self, frame: &DataFrame) -> Result<Vec<u32>> {
        let column = |name: &str| Ok::<_, Error>(frame.column(name).map_err(|_| Error::config(format!("there is no column `{name}` to split by")))?.str()?);
        let keys = column(self.key)?;
        let fallback_keys = self.fallback_key.map(column).transpose()?;
        let texts = frame.columns().iter().filter(|column| column.name() != POINTERS).map(|column| Ok(column.str()?)).collect::<Result<Vec<_>>>()?;
        let pointers = PointerRows::of(frame.column(POINTERS)?.as_materialized_series())?;
        let mut writers: Vec<csv::Writer<Vec<u8>>> = (0..self.count).map(|_| csv::Writer::from_writer(Vec::new())).collect();
        for (row, numbers) in pointers.iter().enumerate() {
            let key = keys.get(row).or_else(|| fallback_keys.and_then(|keys| keys.get(row)));
            let bucket = key.map_or(0, |key| hash_bucket(key, self.count));
            if self.only.is_some_and(|only| only != bucket) {
                continue;
            }
            let writer = &mut writers[bucket as usize];
            let mut write = |cell: &[u8]| writer.write_field(cell).map_err(|error| Error::store(format!("cannot write a row: {error}")));
            texts.iter().try_for_each(|text| write(text.get(row).unwrap_or_default().as_bytes()))?;
            let numbers = numbers.ok_or_else(|| Error::format("a row without a pointer"))?;
            [2, 3].into_iter().try_for_each(|index| write(numbers.get(index).copied().unwrap_or_default().to_string().as_bytes()))?;
            writer.write_record(None::<&[u8]>).map_err(|error| Error::store(format!("cannot write a row: {error}")))?;
        }
        let mut filled = Vec::new();
        for (bucket, writer) in (0..self.count).zip(writers) {
            let bytes = writer.into_inner().map_err(|error| Error::store(format!("cannot write rows: {error}")))?;
            if bytes.is_empty() {
                continue;
            }
            let path = (self.path_of)(bucket);
            let file = OpenOptions::new().create(true).append(true).open(&path);
            file.and_then(|mut file| file.write_all(&bytes)).at("write", &path)?;
            filled.push(bucket);
        }
        Ok(filled)
    }
}

/// Reads the rows of one file that are in a bucket: the frame that [`super::decode`] makes, less the rows of other buckets.
///
/// # Errors
/// `Store`, when the file is not as it was written.
pub fn read_partition(path: &Path, columns: &[String], numbers: [u64; 2]) -> Result<DataFrame> {
    let damaged = || Error::store(format!("{} is not as it was written", path.display()));
    let mut texts = builders(columns);
    let mut spans = Vec::new();
    let file = match File::open(path) {
        // No row of the file is in the bucket.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return frame_of(texts, &spans, numbers),
        file => BufReader::with_capacity(1 << 20, file.at("open", path)?),
    };
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(file);
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|_| damaged())? {
        if record.len() != columns.len() + 2 {
            return Err(damaged());
        }
        // A decoder makes no empty text: an empty cell is null.
        texts.iter_mut().zip(&record).for_each(|(text, cell)| text.append_option((!cell.is_empty()).then_some(cell)));
        let number = |index: usize| record[columns.len() + index].parse::<u64>().map_err(|_| damaged());
        spans.push((number(0)?, number(1)?));
    }
    frame_of(texts, &spans, numbers)
}
