//! Reads key columns of whole datasets while a release is loaded: part after part and in pieces of each, so that memory beyond the index stays bounded.

use arrow::array::Array;

use crate::error::{Error, Result};
use crate::serve::release::part_reader::PartReader;
use crate::serve::release::table::Table;
use crate::store::Part;

/// No day; before every other.
pub const NO_DAY: i32 = i32::MIN;

/// A day, unless it is none.
pub fn known_day(day: i32) -> Option<i32> {
    (day != NO_DAY).then_some(day)
}

/// Adds the rows of a part to what is being made. `add` gets pieces of the part, with the number of the first row within the part.
///
/// # Errors
/// `Store`, when the part is missing, damaged, or not as its contract says.
pub async fn read_part<B: Send + 'static>(
    reader: PartReader<'_>,
    part: &Part,
    columns: &'static [&'static str],
    mut made: B,
    mut add: impl FnMut(&mut B, u32, &Table) -> Result<()> + Send + 'static,
) -> Result<B> {
    let bytes = reader.bytes(part).await?;
    let place = part.path.clone();
    let reading = tokio::task::spawn_blocking(move || {
        let mut first = 0;
        Table::each(bytes, columns, &place, |piece| {
            add(&mut made, first, piece)?;
            first += piece.rows() as u32;
            Ok(())
        })?;
        Ok(made)
    });
    reading.await.map_err(|error| Error::store(format!("reading a part failed: {error}")))?
}

/// A date column, as days since 1970-01-01.
///
/// # Errors
/// `Store`, when the column has another type.
pub fn days(table: &Table, name: &str) -> Result<impl Fn(usize) -> i32> {
    let dates = table.dates(name)?;
    Ok(move |row: usize| if dates.is_null(row) { NO_DAY } else { dates.value(row) })
}

/// Does what takes the processor for long without stopping those who are answered.
///
/// # Errors
/// That of `make`.
pub async fn indexed<T: Send + 'static>(make: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(make).await.map_err(|error| Error::store(format!("indexing failed: {error}")))?
}
