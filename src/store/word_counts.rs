//! Counts the records of a part that have a publisher's text for a coded column, and those whose
//! text has no known meaning.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use pubdata_core::contract::Contract;

/// Maximum number of unknown words that a part keeps per column: the most frequent ones. Sources
/// that do not document their codes have thousands.
const MAX_WORDS: usize = 100;

/// Counts of the texts from which a coded column is read. Members are in alphabetical order because
/// they are hashed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WordCounts {
    /// The most frequent texts without a known meaning, with their number of records.
    pub commonest: BTreeMap<String, u64>,
    /// Records with a text.
    pub rows: u64,
    /// Records whose text has no known meaning.
    pub unknown: u64,
}

impl WordCounts {
    /// Adds the counts of other records.
    pub fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.unknown += other.unknown;
        other
            .commonest
            .iter()
            .for_each(|(word, count)| *self.commonest.entry(word.clone()).or_default() += count);
    }

    /// Returns the percentage of records whose text has no known meaning.
    pub fn unknown_percent(&self) -> f64 {
        if self.rows == 0 {
            0.0
        } else {
            100.0 * self.unknown as f64 / self.rows as f64
        }
    }

    /// Returns the `count` most frequent texts without a known meaning.
    pub fn most(&self, count: usize) -> Vec<(&str, u64)> {
        let mut words: Vec<(&str, u64)> = self
            .commonest
            .iter()
            .map(|(word, count)| (word.as_str(), *count))
            .collect();
        words.sort_by_key(|(word, count)| (Reverse(*count), *word));
        words.truncate(count);
        words
    }
}

/// Counts the words of a table's coded columns while it is read.
pub struct WordTally<'c> {
    /// By coded column, the column with the publisher's texts.
    coded: BTreeMap<&'c str, &'c str>,
    /// Records with a text, by the column of the texts.
    texts: HashMap<String, u64>,
    unknown: HashMap<String, HashMap<String, u64>>,
}

impl<'c> WordTally<'c> {
    pub fn new(contract: &'c Contract) -> Self {
        let coded = contract
            .columns
            .iter()
            .filter_map(|column| Some((column.name.as_str(), column.coded_from.as_deref()?)))
            .collect();
        Self {
            coded,
            texts: HashMap::new(),
            unknown: HashMap::new(),
        }
    }

    /// Returns whether a column holds the texts of a coded column.
    pub fn reads(&self, column: &str) -> bool {
        self.coded.values().any(|raw| *raw == column)
    }

    /// Adds records with a text in a column of texts.
    pub fn add_texts(&mut self, raw: &str, records: u64) {
        *self.texts.entry(raw.to_owned()).or_default() += records;
    }

    /// Adds an entry of `unknown_values`: a coded column, and a text that has no known meaning.
    pub fn add_unknown(&mut self, item: &str) {
        let Some((column, word)) = item.split_once('=') else {
            return;
        };
        if !self.unknown.contains_key(column) {
            self.unknown.insert(column.to_owned(), HashMap::new());
        }
        if let Some(words) = self.unknown.get_mut(column) {
            match words.get_mut(word) {
                Some(count) => *count += 1,
                None => drop(words.insert(word.to_owned(), 1)),
            }
        }
    }

    /// Returns the counts by coded column.
    pub fn finish(mut self) -> BTreeMap<String, WordCounts> {
        let mut counts = BTreeMap::new();
        for (name, raw) in self.coded {
            let rows = self.texts.get(raw).copied().unwrap_or_default();
            let words = self.unknown.remove(name).unwrap_or_default();
            if rows > 0 {
                let total = words.values().sum();
                let mut words: Vec<(String, u64)> = words.into_iter().collect();
                words.sort_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
                words.truncate(MAX_WORDS);
                counts.insert(
                    name.to_owned(),
                    WordCounts {
                        rows,
                        unknown: total,
                        commonest: words.into_iter().collect(),
                    },
                );
            }
        }
        counts
    }
}
