//! A column of texts kept as small numbers, for filters that ask only whether two texts are equal.
//! Spellings that mean the same share a code.

use std::collections::{BTreeMap, HashMap};

use crate::index::file::{Column, Restored, Saved, Small, Stored};
use pubdata_core::error::{Error, Result};

/// A text column of which only equality matters: four bytes for each row. Texts that are spelled
/// differently and mean the same have one code.
#[derive(Debug, Default)]
pub struct DictionaryCodes {
    of_rows: Column<u32>,
    /// Codes by spelling as published and as compared; 0 is no text.
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
    /// Adds a row. `compared` brings a text to the form it is compared in.
    ///
    /// # Errors
    /// `Store`, when there are too many different texts.
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
                    .ok_or_else(|| Error::store("more different texts than codes"))?;
                self.known.insert(compared.into_boxed_str(), self.count);
                self.count
            }
        };
        self.known.insert(text.into(), code);
        Ok(code)
    }

    /// The code of a text in the form it is compared in.
    pub fn find(&self, compared: &str) -> Option<u32> {
        self.known.get(compared).copied()
    }

    /// Every spelling with its code.
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
