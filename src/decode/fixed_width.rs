//! Decodes lines of one length into the declared fields. A line of another length is malformed, never cut or padded.

use std::collections::BTreeMap;

use super::header::Resolved;
use super::lines::Lines;
use super::records::{Records, Sink};
use super::{Malformed, Task};
use crate::error::Result;
use crate::pipeline::Encoding;

/// Layout of a file of records of one length.
pub(super) struct Layout<'a> {
    pub(super) record_bytes: usize,
    pub(super) encoding: Encoding,
    /// First byte, counted from 1, and number of bytes of each field.
    pub(super) fields: &'a BTreeMap<String, [u32; 2]>,
}

/// Decodes lines of one length. A file without line ends is one line that is too long.
pub(super) fn decode(task: &Task<'_>, layout: &Layout<'_>, sink: &mut Sink<'_>) -> Result<Vec<Malformed>> {
    let names: Vec<&str> = layout.fields.keys().map(String::as_str).collect();
    let resolved = task.plan.resolve(&names)?;
    let mut records = Records::new(&resolved, layout.encoding, sink)?;
    let mut lines = Lines::open(task)?;
    match task.only {
        Some(ranges) => {
            let mut reader = lines.into_reader(task)?;
            for (offset, length) in ranges {
                reader.skip_to(*offset)?;
                push(&mut records, &resolved, layout, &reader.take_exactly(*length)?, *offset)?;
            }
        }
        None => {
            while let Some((offset, line)) = lines.next_line()? {
                // The mark that ends a text file of older systems stands alone behind the last record.
                if !matches!(line, b"" | b"\x1a") {
                    push(&mut records, &resolved, layout, line, offset)?;
                }
            }
        }
    }
    records.finish()
}

fn push(records: &mut Records<'_, '_>, resolved: &Resolved, layout: &Layout<'_>, record: &[u8], offset: u64) -> Result<()> {
    if record.len() != layout.record_bytes {
        return records.malformed(format!("the record has {} bytes, declared are {}", record.len(), layout.record_bytes), record, offset);
    }
    let cells: Vec<&[u8]> = layout.fields.values().map(|[first, length]| &record[*first as usize - 1..(*first + *length) as usize - 1]).collect();
    // In the other encodings every byte is a character.
    let is_text = |cell: &[u8]| layout.encoding != Encoding::Utf8 || std::str::from_utf8(cell).is_ok();
    if let Some((name, _)) = layout.fields.keys().zip(&cells).find(|(_, cell)| !is_text(cell)) {
        return records.malformed(format!("the field `{name}` is not UTF-8"), record, offset);
    }
    if resolved.is_kept(|place| cells[place]) {
        return records.push(resolved, offset, record.len() as u64, |place| Some(cells[place]));
    }
    Ok(())
}
