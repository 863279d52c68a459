//! Stores a text column as codes, for filters that only compare values for equality. Spellings with
//! the same normalised form share a code.

use std::collections::{BTreeMap, HashMap};

use crate::index::file::{Column, Restored, Saved, Small, Stored};
use pubdata_core::error::{Error, Result};

/// Text column for equality comparisons only, four bytes per row. Spellings with the same
/// normalised form have one code.
#[derive(Debug, Default)]
pub struct DictionaryCodes {
    of_rows: Column<u32>,
    /// Codes by published spelling and by normalised form; 0 means that the text is absent.
    known: HashMap<Box<str>, u32>,
    count: u32,
}

impl Stored for DictionaryCodes {
    fn save(self, to: &mut Saved) {
        self.of_rows.save(to);
        let known: BTreeMap<Box<str>, u32> = self.known.into_iter().collect();
        Small(Vec::from_iter(known)).save(to);
    }

    fn restore(from: &mut Restored) -> Result<Self> {
        let (of_rows, Small(known)) = (
            Column::restore(from)?,
            Small::<Vec<(Box<str>, u32)>>::restore(from)?,
        );
        let count = known.iter().map(|(_, code)| *code).max().unwrap_or(0);
        Ok(Self {
            of_rows,
            known: known.into_iter().collect(),
            count,
        })
    }
}

impl DictionaryCodes {
    /// Appends a row. `compared` normalises the text for comparison.
    pub fn push(&mut self, text: Option<&str>, compared: impl Fn(&str) -> String) -> Result<()> {
        let code = match text {
            None => 0,
            Some(text) => match self.known.get(text) {
                Some(code) => *code,
                None => self.add(text, compared(text))?,
            },
        };
        self.of_rows.push(code);
        Ok(())
    }

    fn add(&mut self, text: &str, compared: String) -> Result<u32> {
        let known = self.known.get(compared.as_str()).copied();
        let code = match known {
            Some(code) => code,
            None => {
                self.count = self
                    .count
                    .checked_add(1)
                    .ok_or_else(|| Error::store("more than 2^32 distinct texts in one column"))?;
                self.known.insert(compared.into_boxed_str(), self.count);
                self.count
            }
        };
        self.known.insert(text.into(), code);
        Ok(code)
    }

    /// Returns the code for a normalised text.
    pub fn find(&self, compared: &str) -> Option<u32> {
        self.known.get(compared).copied()
    }

    /// Returns every spelling with its code.
    pub fn compared(&self) -> impl Iterator<Item = (&str, u32)> {
        self.known.iter().map(|(text, code)| (&**text, *code))
    }

    pub fn at(&self, row: u32) -> u32 {
        self.of_rows[row as usize]
    }

    pub fn size_bytes(&self) -> usize {
        self.of_rows.size_bytes() + 40 * self.known.capacity()
    }
}
