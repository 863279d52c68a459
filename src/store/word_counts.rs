//! How many records of a part have a text of the publisher for a coded column, and in how many its meaning is not known.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What is known of the texts that a coded column is read from. Members are in the order of their names, as what is hashed is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WordCounts {
    /// The commonest texts without a known meaning, with their records.
    pub commonest: BTreeMap<String, u64>,
    /// Records with a text.
    pub rows: u64,
    /// Those whose text has no known meaning.
    pub unknown: u64,
}

impl WordCounts {
    /// Adds those of other records.
    pub fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.unknown += other.unknown;
        other.commonest.iter().for_each(|(word, count)| *self.commonest.entry(word.clone()).or_default() += count);
    }

    /// Share of the records whose text has no known meaning, percent.
    pub fn unknown_percent(&self) -> f64 {
        if self.rows == 0 { 0.0 } else { 100.0 * self.unknown as f64 / self.rows as f64 }
    }

    /// So many of the texts without a known meaning, the commonest first.
    pub fn most(&self, count: usize) -> Vec<(&str, u64)> {
        let mut words: Vec<(&str, u64)> = self.commonest.iter().map(|(word, count)| (word.as_str(), *count)).collect();
        words.sort_by_key(|(word, count)| (Reverse(*count), *word));
        words.truncate(count);
        words
    }
}
