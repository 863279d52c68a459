//! How many records of a part have a text of the publisher for a coded column, and in how many its
//! meaning is not known.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use pubdata_core::contract::Contract;

/// Unknown words that a part keeps of a column: the commonest. Lists that do not say what they mean
/// have thousands.
const MOST_WORDS: usize = 100;

/// What is known of the texts that a coded column is read from. Members are in the order of their
/// names, as what is hashed is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
        other
            .commonest
            .iter()
            .for_each(|(word, count)| *self.commonest.entry(word.clone()).or_default() += count);
    }

    /// Share of the records whose text has no known meaning, percent.
    pub fn unknown_percent(&self) -> f64 {
        if self.rows == 0 {
            0.0
        } else {
            100.0 * self.unknown as f64 / self.rows as f64
        }
    }

    /// So many of the texts without a known meaning, the commonest first.
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

/// Words of the coded columns of a table, as far as they were counted.
pub struct WordTally<'c> {
    /// The column of the publisher's texts of each coded column.
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

    /// Whether a column holds the texts of a coded column.
    pub fn reads(&self, column: &str) -> bool {
        self.coded.values().any(|raw| *raw == column)
    }

    /// Adds records with a text in a column of texts.
    pub fn add_texts(&mut self, raw: &str, records: u64) {
        *self.texts.entry(raw.to_owned()).or_default() += records;
    }

    /// Adds an item of `unknown_values`: a coded column, and a text that has no known meaning.
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

    /// The counts by coded column.
    pub fn finish(mut self) -> BTreeMap<String, WordCounts> {
        let mut counts = BTreeMap::new();
        for (name, raw) in self.coded {
            let rows = self.texts.get(raw).copied().unwrap_or_default();
            let words = self.unknown.remove(name).unwrap_or_default();
            if rows > 0 {
                let total = words.values().sum();
                let mut words: Vec<(String, u64)> = words.into_iter().collect();
                words.sort_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
                words.truncate(MOST_WORDS);
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
