//! Counts, for each coded column, the records that have a text of the publisher and how many of these texts have no known meaning.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use polars::prelude::*;

use super::{Contract, Result};
use pubdata_core::contract::{LIST_SEPARATOR, UNKNOWN_VALUES};
use pubdata_store::WordCounts;

/// Unknown words that a part keeps of a column: the commonest. Lists that do not say what they mean have thousands.
const MOST_WORDS: usize = 100;

/// Counts the words of the coded columns of a table, by column; nothing of columns without a text in any record.
///
/// # Errors
/// `Format`, when the frame lacks a column of the contract: a programming error.
pub fn count(contract: &Contract, frame: &DataFrame) -> Result<BTreeMap<String, WordCounts>> {
    let mut counts = BTreeMap::new();
    let mut unknown: HashMap<&str, HashMap<&str, u64>> = HashMap::new();
    let coded = || contract.columns.iter().filter_map(|column| Some((column.name.as_str(), column.coded_from.as_deref()?)));
    if coded().next().is_none() {
        return Ok(counts);
    }
    for list in frame.column(UNKNOWN_VALUES)?.str()?.iter().flatten().filter(|list| !list.is_empty()) {
        for (column, word) in list.split(LIST_SEPARATOR).filter_map(|item| item.split_once('=')) {
            *unknown.entry(column).or_default().entry(word).or_default() += 1;
        }
    }
    for (name, raw) in coded() {
        let texts = frame.column(raw)?;
        let rows = (texts.len() - texts.null_count()) as u64;
        let words = unknown.remove(name).unwrap_or_default();
        if rows > 0 {
            let total = words.values().sum();
            let mut words: Vec<(&str, u64)> = words.into_iter().collect();
            words.sort_by_key(|(word, count)| (Reverse(*count), *word));
            let commonest = words.into_iter().take(MOST_WORDS).map(|(word, count)| (word.to_owned(), count)).collect();
            counts.insert(name.to_owned(), WordCounts { rows, unknown: total, commonest });
        }
    }
    Ok(counts)
}
