//! Stores a text column with mostly distinct values.

use crate::index::file::{Column, stored};
use pubdata_core::error::{Error, Result};

/// Contiguous texts and the offsets of their ends.
#[derive(Debug, Default)]
pub struct TextColumn {
    text: Column<u8>,
    ends: Column<u32>,
}

stored!(TextColumn { text, ends });

impl TextColumn {
    /// Appends a row.
    pub fn push(&mut self, text: &str) -> Result<()> {
        self.text.extend(text.as_bytes());
        self.ends.push(
            u32::try_from(self.text.len())
                .map_err(|_| Error::store("more than 4 GB of texts in a column"))?,
        );
        Ok(())
    }

    /// Returns the text of a row.
    pub fn get(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        std::str::from_utf8(&self.text[start as usize..self.ends[index] as usize])
            .unwrap_or_default()
    }
}
