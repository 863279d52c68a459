//! Stores record ids for millions of rows compactly, each as its difference from the previous id.
//! Reading one id unpacks up to sixteen ids.

use pubdata_core::error::{Error, Result};

/// Interval at which an id is stored in full.
const BLOCK: usize = 16;

/// Record ids in row order. An id is stored as the length of the prefix that it shares with the
/// previous id, followed by the rest of the id. Neighbouring ids differ in only a few bytes.
#[derive(Debug, Default)]
pub struct Ids {
    bytes: Vec<u8>,
    blocks: Vec<u32>,
    count: usize,
    last: Vec<u8>,
}

impl Ids {
    /// Adds the id of the next row.
    ///
    /// # Errors
    /// `Store` if the id is longer than 65,535 bytes, or all ids together are too long.
    pub fn push(&mut self, id: &str) -> Result<()> {
        let too_long = |_| Error::store(format!("the record id `{id}` is too long"));
        let id_bytes = id.as_bytes();
        let mut shared = 0;
        if self.count.is_multiple_of(BLOCK) {
            self.blocks
                .push(u32::try_from(self.bytes.len()).map_err(too_long)?);
        } else {
            shared = self
                .last
                .iter()
                .zip(id_bytes)
                .take(255)
                .take_while(|(a, b)| a == b)
                .count();
        }
        let rest = &id_bytes[shared..];
        self.bytes.push(u8::try_from(shared).map_err(too_long)?);
        self.bytes
            .extend(u16::try_from(rest.len()).map_err(too_long)?.to_le_bytes());
        self.bytes.extend_from_slice(rest);
        self.last.truncate(shared);
        self.last.extend_from_slice(rest);
        self.count += 1;
        Ok(())
    }

    /// Returns the id of a row.
    pub fn get(&self, row: usize) -> String {
        let mut at = self.blocks[row / BLOCK] as usize;
        let mut id = Vec::new();
        for _ in 0..=row % BLOCK {
            let (shared, rest) = (
                usize::from(self.bytes[at]),
                usize::from(u16::from_le_bytes([self.bytes[at + 1], self.bytes[at + 2]])),
            );
            id.truncate(shared);
            id.extend_from_slice(&self.bytes[at + 3..at + 3 + rest]);
            at += 3 + rest;
        }
        String::from_utf8_lossy(&id).into_owned()
    }

    pub fn size_bytes(&self) -> usize {
        self.bytes.capacity() + 4 * self.blocks.capacity()
    }
}

#[cfg(test)]
mod tests {
    use crate::tax::table::ids::Ids;

    #[test]
    fn ids_come_back_as_they_were() {
        let texts: Vec<String> = (0..100)
            .map(|number| {
                format!(
                    "tax.boundary:MN:4:{:05}:{}",
                    55_000 + number / 7,
                    "é".repeat(number % 5 * 100)
                )
            })
            .collect();
        let mut ids = Ids::default();
        texts.iter().for_each(|text| ids.push(text).unwrap());
        (0..texts.len())
            .rev()
            .for_each(|row| assert_eq!(ids.get(row), texts[row]));
        assert!(ids.push(&"x".repeat(65_536)).is_err());
    }
}
