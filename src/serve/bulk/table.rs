//! Writes parts as one CSV table (RFC 4180), piece by piece. Only one part's bytes are in memory at
//! a time, and 1,024 rows are decoded at a time.

use std::io::Write;
use std::sync::Arc;
use std::vec;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type};
use futures_util::Stream;
use futures_util::stream::try_unfold;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use crate::http::delimited::{write_line, write_text};
use crate::http::pieces::PIECE_BYTES;
use crate::release::part_cache::PartCache;
use pubdata_core::contract::{Column, Contract, Day, Physical};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::ids::ReleaseId;
use pubdata_store::{Part, parquet_error};

const DECODE_BATCH_ROWS: usize = 1_024;

/// Returns the columns of a CSV table: all contract columns except pointers, which would make up
/// most of the text. `record_id` leads to the pointers.
pub fn columns(contract: &Contract) -> impl Iterator<Item = &Column> {
    contract
        .columns
        .iter()
        .filter(|column| column.column_type.physical != Physical::Pointers)
}

/// Returns the pieces of a table. The first piece is the header row.
pub fn pieces(
    cache: Arc<PartCache>,
    release_id: ReleaseId,
    parts: Vec<Part>,
    columns: Arc<[Column]>,
) -> impl Stream<Item = Result<Vec<u8>>> + Send + 'static {
    let mut head = Vec::new();
    write_line(
        &mut head,
        columns.iter().map(|column| Some(column.name.as_str())),
    );
    let table = Table {
        cache,
        release_id,
        parts: parts.into_iter(),
        columns,
        head: Some(head),
        open: None,
    };
    try_unfold(table, |mut table| async move {
        Ok(table.next().await?.map(|piece| (piece, table)))
    })
}

struct Table {
    cache: Arc<PartCache>,
    release_id: ReleaseId,
    /// Parts that have not been started.
    parts: vec::IntoIter<Part>,
    columns: Arc<[Column]>,
    head: Option<Vec<u8>>,
    open: Option<OpenPart>,
}

impl Table {
    async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        if let Some(head) = self.head.take() {
            return Ok(Some(head));
        }
        loop {
            let mut open = match self.open.take() {
                Some(open) => open,
                None => match self.parts.next() {
                    Some(part) => {
                        OpenPart::new(&self.cache, &self.release_id, &part, self.columns.clone())
                            .await?
                    }
                    None => return Ok(None),
                },
            };
            let making =
                tokio::task::spawn_blocking(move || open.piece().map(|piece| (piece, open)));
            let (piece, open) = making
                .await
                .map_err(|error| Error::store(format!("writing a table failed: {error}")))??;
            if !piece.is_empty() {
                self.open = Some(open);
                return Ok(Some(piece));
            }
        }
    }
}

/// Part whose rows are being read.
struct OpenPart {
    path: String,
    reader: ParquetRecordBatchReader,
    columns: Arc<[Column]>,
    /// Decoded rows, and the index of the next one.
    rows: Option<(RecordBatch, usize)>,
}

impl OpenPart {
    async fn new(
        cache: &PartCache,
        release_id: &ReleaseId,
        part: &Part,
        columns: Arc<[Column]>,
    ) -> Result<Self> {
        let bytes = cache.bytes(release_id, part).await?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes)
            .map_err(parquet_error)
            .context(|| part.path.clone())?;
        let reader = builder
            .with_batch_size(DECODE_BATCH_ROWS)
            .build()
            .map_err(parquet_error)
            .context(|| part.path.clone())?;
        Ok(Self {
            path: part.path.clone(),
            reader,
            columns,
            rows: None,
        })
    }

    /// Returns the next rows, about [`PIECE_BYTES`] in size. The result is empty after the last
    /// row.
    fn piece(&mut self) -> Result<Vec<u8>> {
        let mut text = Vec::with_capacity(PIECE_BYTES);
        while text.len() < PIECE_BYTES {
            let Some((batch, row)) = self
                .rows
                .take()
                .filter(|(batch, row)| *row < batch.num_rows())
            else {
                match self.reader.next() {
                    Some(batch) => {
                        self.rows =
                            Some((batch.map_err(Error::from).context(|| self.path.clone())?, 0));
                    }
                    None => break,
                }
                continue;
            };
            // If an earlier part lacks a column, the column's cells are empty.
            let cells: Vec<Option<&ArrayRef>> = self
                .columns
                .iter()
                .map(|column| batch.column_by_name(&column.name))
                .collect();
            let mut next = row;
            while next < batch.num_rows() && text.len() < PIECE_BYTES {
                write_row(&mut text, &self.columns, &cells, next).context(|| self.path.clone())?;
                next += 1;
            }
            self.rows = Some((batch, next));
        }
        Ok(text)
    }
}

fn write_row(
    text: &mut Vec<u8>,
    columns: &[Column],
    cells: &[Option<&ArrayRef>],
    row: usize,
) -> Result<()> {
    for (index, (column, cells)) in columns.iter().zip(cells).enumerate() {
        if index > 0 {
            text.push(b',');
        }
        if let Some(cells) = cells.filter(|cells| cells.is_valid(row)) {
            write_cell(text, column, cells, row)?;
        }
    }
    text.extend_from_slice(b"\r\n");
    Ok(())
}

/// Writes a non-null value: decimals with all digits of their column, dates as `YYYY-MM-DD`, lists
/// as JSON.
fn write_cell(text: &mut Vec<u8>, column: &Column, cells: &ArrayRef, row: usize) -> Result<()> {
    let mut print = |value: std::fmt::Arguments<'_>| {
        text.write_fmt(value)
            .expect("writing to memory cannot fail");
    };
    match cells.data_type() {
        DataType::Utf8 => write_text(text, cells.as_string::<i32>().value(row)),
        DataType::Boolean => print(format_args!("{}", cells.as_boolean().value(row))),
        DataType::Int32 => print(format_args!(
            "{}",
            cells.as_primitive::<Int32Type>().value(row)
        )),
        DataType::Int64 => print(format_args!(
            "{}",
            cells.as_primitive::<Int64Type>().value(row)
        )),
        DataType::Float64 => print(format_args!(
            "{}",
            cells.as_primitive::<Float64Type>().value(row)
        )),
        DataType::Date32 => print(format_args!(
            "{}",
            Day::from_number(cells.as_primitive::<Date32Type>().value(row))
        )),
        DataType::Decimal128(..) => {
            let exact = cells.as_primitive::<Decimal128Type>().value_as_string(row);
            let is_trimmed = column.column_type.trim && exact.contains('.');
            print(format_args!(
                "{}",
                if is_trimmed {
                    exact.trim_end_matches('0').trim_end_matches('.')
                } else {
                    &exact
                }
            ));
        }
        DataType::List(_) => {
            let items = cells.as_list::<i32>().value(row);
            let texts = items.as_string_opt::<i32>().ok_or_else(|| {
                Error::store(format!("column {} does not hold text", column.name))
            })?;
            write_text(
                text,
                &serde_json::to_string(&texts.iter().collect::<Vec<_>>())
                    .expect("texts have a JSON form"),
            );
        }
        other => {
            return Err(Error::store(format!(
                "column {} has type {other}, which CSV cannot represent",
                column.name
            )));
        }
    }
    Ok(())
}
