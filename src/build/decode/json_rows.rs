//! Decodes a JSON array of arrays, in which the first array is the header.

use std::io::Read;

use serde_json::value::RawValue;

use super::header::Resolved;
use super::records::{Records, Sink};
use super::{Malformed, Task, open, unreadable};
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::Encoding;

/// Decodes a JSON array of arrays of strings, in which the first array is the header (Census Data
/// API, "Response format").
pub(super) fn decode(task: &Task<'_>, sink: &mut Sink<'_>) -> Result<Vec<Malformed>> {
    let mut bytes = Vec::new();
    open(task.path, task.member, task.max_bytes)?
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Error::format("is not UTF-8"))?;
    let rows: Vec<&RawValue> = serde_json::from_str(text)
        .map_err(|error| Error::format(format!("is not a JSON array of rows: {error}")))?;
    let (header, rest) = rows
        .split_first()
        .ok_or_else(|| Error::format("is an empty JSON array"))?;
    let header = cells_of(header.get())
        .ok_or_else(|| Error::format("the first row is not an array of column names"))?;
    let names: Vec<&str> = header
        .iter()
        .map(|name| name.as_deref().unwrap_or_default())
        .collect();
    let resolved = task.plan.resolve(&names)?;
    let mut records = Records::new(&resolved, Encoding::Utf8, sink)?;
    match task.only {
        Some(ranges) => {
            for (offset, length) in ranges {
                let end = offset
                    .checked_add(*length)
                    .and_then(|end| usize::try_from(end).ok());
                let record = end
                    .and_then(|end| text.get(usize::try_from(*offset).ok()?..end))
                    .ok_or_else(|| Error::format("ends before the record does"))?;
                push(&mut records, &resolved, record, *offset)?;
            }
        }
        None => {
            for record in rest {
                let offset = record.get().as_ptr() as usize - text.as_ptr() as usize;
                push(&mut records, &resolved, record.get(), offset as u64)?;
            }
        }
    }
    records.finish()
}

/// Returns the column names from the first row.
pub(super) fn header(task: &Task<'_>) -> Result<Vec<String>> {
    let mut bytes = Vec::new();
    open(task.path, task.member, task.max_bytes)?
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    let rows: Vec<&RawValue> = serde_json::from_slice(&bytes)
        .map_err(|error| Error::format(format!("is not a JSON array of rows: {error}")))?;
    let header = rows
        .first()
        .and_then(|row| cells_of(row.get()))
        .ok_or_else(|| Error::format("the first row is not an array of column names"))?;
    Ok(header.into_iter().map(Option::unwrap_or_default).collect())
}

fn push(
    records: &mut Records<'_, '_>,
    resolved: &Resolved,
    record: &str,
    offset: u64,
) -> Result<()> {
    match cells_of(record) {
        Some(cells) if cells.len() == resolved.width => {
            let cell = |place: usize| cells[place].as_deref().map(str::as_bytes);
            if resolved.is_kept(|place| cell(place).unwrap_or_default()) {
                return records.push(resolved, offset, record.len() as u64, cell);
            }
            Ok(())
        }
        Some(cells) => records.malformed(
            format!(
                "the row has {} cells, the header has {}",
                cells.len(),
                resolved.width
            ),
            record.as_bytes(),
            offset,
        ),
        None => records.malformed(
            "the row is not an array of strings".into(),
            record.as_bytes(),
            offset,
        ),
    }
}

/// Returns a row's cells: strings, nulls, and numbers as text.
fn cells_of(row: &str) -> Option<Vec<Option<String>>> {
    let cells: Vec<Option<&RawValue>> = serde_json::from_str(row).ok()?;
    let text_of = |cell: &RawValue| match cell.get().as_bytes().first()? {
        b'"' => serde_json::from_str::<String>(cell.get()).ok(),
        b'-' | b'0'..=b'9' => Some(cell.get().to_owned()),
        _ => None,
    };
    cells
        .into_iter()
        .map(|cell| cell.map_or(Some(None), |cell| text_of(cell).map(Some)))
        .collect()
}
