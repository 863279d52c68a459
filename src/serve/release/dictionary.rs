//! Texts that many rows share, kept once.

use std::collections::HashMap;

use crate::index::file::{Column, Restored, Saved, Small, Stored, stored};
use pubdata_core::error::{Error, Result};

/// A number that no text has.
pub const ABSENT: u16 = u16::MAX;

/// Texts that occur often, by number. Number 0 is no text.
#[derive(Debug, Default)]
pub struct Dictionary {
    texts: Vec<String>,
    numbers: HashMap<String, u16>,
}

impl Dictionary {
    /// The number of a text, a new one when it has none yet.
    ///
    /// # Errors
    /// `Store`, when there are more different texts than numbers.
    pub fn number(&mut self, text: Option<&str>) -> Result<u16> {
        let Some(text) = text else { return Ok(0) };
        // Nearly all rows have one of a few phrases, found sooner by looking than by hashing.
        if let Some(index) = self.texts.iter().take(8).position(|known| known == text) {
            return numbered(index + 1);
        }
        if let Some(number) = self.numbers.get(text) {
            return Ok(*number);
        }
        let number = numbered(self.texts.len() + 1)?;
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        Ok(number)
    }

    /// How many texts there are; their numbers run from 1.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether a text has a number.
    pub fn has(&self, text: &str) -> bool {
        self.numbers.contains_key(text)
    }

    /// The text of a number.
    pub fn text(&self, number: u16) -> Option<&str> {
        number
            .checked_sub(1)
            .map(|index| self.texts[usize::from(index)].as_str())
    }
}

impl Stored for Dictionary {
    fn save(self, to: &mut Saved) {
        Small(self.texts).save(to);
    }

    fn restore(from: &mut Restored) -> Result<Self> {
        let Small(texts) = Small::<Vec<String>>::restore(from)?;
        let mut dictionary = Self::default();
        texts
            .iter()
            .try_for_each(|text| dictionary.number(Some(text)).map(drop))?;
        Ok(dictionary)
    }
}

/// Narrows a number of a phrase or descriptor; a part with so many different ones is not what the
/// contract describes.
///
/// # Errors
/// `Store`, when there are more than the column's type can count.
pub fn numbered(number: usize) -> Result<u16> {
    u16::try_from(number)
        .ok()
        .filter(|number| *number != ABSENT)
        .ok_or_else(|| Error::store("more than 65,534 different phrases or sources in one part"))
}

/// A text column with few different values.
#[derive(Debug, Default)]
pub struct DictionaryColumn {
    numbers: Column<u16>,
    words: Dictionary,
}

stored!(DictionaryColumn { numbers, words });

impl DictionaryColumn {
    /// Adds a row.
    ///
    /// # Errors
    /// `Store`, when there are more different texts than numbers.
    pub fn push(&mut self, text: Option<&str>) -> Result<()> {
        let number = self.words.number(text)?;
        self.numbers.push(number);
        Ok(())
    }

    pub fn get(&self, row: usize) -> Option<&str> {
        self.words.text(self.numbers[row])
    }

    /// The text of a column that has one in every row.
    pub fn at(&self, row: usize) -> &str {
        self.get(row).unwrap_or_default()
    }

    /// Whether two rows have the same text.
    pub fn is_same(&self, row: usize, other: usize) -> bool {
        self.numbers[row] == self.numbers[other]
    }
}
