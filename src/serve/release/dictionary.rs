//! Stores each distinct value of a text column once.

use std::collections::HashMap;

use crate::index::file::{Column, Restored, Saved, Small, Stored, stored};
use pubdata_core::error::{Error, Result};

/// Code that is assigned to no text.
pub const ABSENT: u16 = u16::MAX;

/// Frequent texts by code. Code 0 means that the text is absent.
#[derive(Debug, Default)]
pub struct Dictionary {
    texts: Vec<String>,
    numbers: HashMap<String, u16>,
}

impl Dictionary {
    /// Returns the code of a text; assigns a new code if the text has none yet.
    pub fn number(&mut self, text: Option<&str>) -> Result<u16> {
        let Some(text) = text else { return Ok(0) };
        // Nearly all rows contain one of a few texts; comparing them is faster than hashing.
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

    /// Returns the number of texts; their codes start at 1.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Reports whether a text has a code.
    pub fn has(&self, text: &str) -> bool {
        self.numbers.contains_key(text)
    }

    /// Returns the text for a code.
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

/// Narrows a code. A part with more distinct values than available codes does not follow its
/// contract.
pub fn numbered(number: usize) -> Result<u16> {
    u16::try_from(number)
        .ok()
        .filter(|number| *number != ABSENT)
        .ok_or_else(|| Error::store("more than 65,534 distinct texts or sources in one part"))
}

/// Dictionary-encoded text column with few distinct values.
#[derive(Debug, Default)]
pub struct DictionaryColumn {
    numbers: Column<u16>,
    words: Dictionary,
}

stored!(DictionaryColumn { numbers, words });

impl DictionaryColumn {
    /// Appends a row.
    pub fn push(&mut self, text: Option<&str>) -> Result<()> {
        let number = self.words.number(text)?;
        self.numbers.push(number);
        Ok(())
    }

    pub fn get(&self, row: usize) -> Option<&str> {
        self.words.text(self.numbers[row])
    }

    /// Returns the text of a row; the column must not contain nulls.
    pub fn at(&self, row: usize) -> &str {
        self.get(row).unwrap_or_default()
    }

    /// Reports whether two rows have the same text.
    pub fn is_same(&self, row: usize, other: usize) -> bool {
        self.numbers[row] == self.numbers[other]
    }
}
