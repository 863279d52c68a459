//! Counts a part's records that have a publisher's text for a coded column, and the records whose
//! text has no known meaning.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use pubdata_core::contract::Contract;

/// Maximum number of unknown terms that a part stores per column. The most frequent terms are kept.
/// Sources that do not document their codes can have thousands.
const MAX_WORDS: usize = 100;

/// Counts of the source values from which a coded column is decoded. Fields are in alphabetical
/// order because they are hashed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WordCounts {
    /// The most frequent values without a known meaning, with the number of records for each value.
    pub commonest: BTreeMap<String, u64>,
    /// Number of records that have a value.
    pub rows: u64,
    /// Number of records whose value has no known meaning.
    pub unknown: u64,
}

impl WordCounts {
    /// Adds the counts for other records.
    pub fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.unknown += other.unknown;
        other
            .commonest
            .iter()
            .for_each(|(word, count)| *self.commonest.entry(word.clone()).or_default() += count);
    }

    /// Returns the percentage of records whose value has no known meaning.
    pub fn unknown_percent(&self) -> f64 {
        if self.rows == 0 {
            0.0
        } else {
            100.0 * self.unknown as f64 / self.rows as f64
        }
    }

    /// Returns the `count` most frequent values without a known meaning.
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

/// Counts the values of a table's coded columns while the table is read.
pub struct WordTally<'c> {
    /// For each coded column, the column that contains the publisher's text.
    coded: BTreeMap<&'c str, &'c str>,
    /// Number of records that have a value, by text column.
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

    /// Returns whether a column contains the source text for a coded column.
    pub fn reads(&self, column: &str) -> bool {
        self.coded.values().any(|raw| *raw == column)
    }

    /// Counts records that have a value in a text column.
    pub fn add_texts(&mut self, raw: &str, records: u64) {
        *self.texts.entry(raw.to_owned()).or_default() += records;
    }

    /// Counts an entry of `unknown_values`, which names a coded column and a value that has no
    /// known meaning.
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
