//! Decodes fixed-length lines into the declared fields. A line of another length is malformed, and
//! is never cut or padded.

use std::collections::BTreeMap;
use std::ops::Range;

use super::header::Resolved;
use super::lines::Lines;
use super::records::{Records, Sink};
use super::{Malformed, Task};
use pubdata_core::error::Result;
use pubdata_core::pipeline::Encoding;

/// Layout of a file with fixed-length records.
pub(super) struct Layout<'a> {
    pub(super) record_bytes: usize,
    pub(super) encoding: Encoding,
    /// Number of each field's first byte, counted from 1, and the field's length in bytes.
    pub(super) fields: &'a BTreeMap<String, [u32; 2]>,
}

/// Decodes fixed-length lines. A file without line endings counts as one line that is too long.
pub(super) fn decode(
    task: &Task<'_>,
    layout: &Layout<'_>,
    sink: &mut Sink<'_>,
) -> Result<Vec<Malformed>> {
    let names: Vec<&str> = layout.fields.keys().map(String::as_str).collect();
    let resolved = task.plan.resolve(&names)?;
    let mut records = Records::new(&resolved, layout.encoding, sink)?;
    let mut lines = Lines::open(task)?;
    let places: Vec<Range<usize>> = layout
        .fields
        .values()
        .map(|[first, length]| *first as usize - 1..(*first + *length) as usize - 1)
        .collect();
    let mut push =
        |record: &[u8], offset: u64| push(&mut records, &resolved, layout, &places, record, offset);
    match task.only {
        Some(ranges) => {
            let mut reader = lines.into_reader(task)?;
            for (offset, length) in ranges {
                reader.skip_to(*offset)?;
                push(&reader.take_exactly(*length)?, *offset)?;
            }
        }
        None => {
            while let Some((offset, line)) = lines.next_line()? {
                // On older systems, an end-of-file mark follows the last record on a separate line.
                if !matches!(line, b"" | b"\x1a") {
                    push(line, offset)?;
                }
            }
        }
    }
    records.finish()
}

fn push(
    records: &mut Records<'_, '_>,
    resolved: &Resolved,
    layout: &Layout<'_>,
    places: &[Range<usize>],
    record: &[u8],
    offset: u64,
) -> Result<()> {
    if record.len() != layout.record_bytes {
        return records.malformed(
            format!(
                "the record has {} bytes, declared are {}",
                record.len(),
                layout.record_bytes
            ),
            record,
            offset,
        );
    }
    let cell = |place: usize| &record[places[place].clone()];
    // In the other encodings, every byte is a character.
    let is_text = |place: &Range<usize>| {
        layout.encoding != Encoding::Utf8 || std::str::from_utf8(&record[place.clone()]).is_ok()
    };
    if let Some((name, _)) = layout
        .fields
        .keys()
        .zip(places)
        .find(|(_, place)| !is_text(place))
    {
        return records.malformed(format!("the field `{name}` is not UTF-8"), record, offset);
    }
    if resolved.is_kept(cell) {
        records.push(resolved, offset, record.len() as u64, |place| {
            Some(cell(place))
        })
    } else {
        Ok(())
    }
}
