//! Maps a publisher's terms to ours if other lists agree about them. The operator decides about
//! terms that only one list has, or about which lists disagree.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::guess::Guesses;
use super::known::{Known, TABLES, compared};
use super::sample::Sample;

/// Number of lists that must agree about a term.
const ENOUGH_LISTS: usize = 2;

/// A term used by the publisher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GuessedWord {
    /// The table of the settings to which the term belongs: `status` for `[settings.status]`.
    pub table: &'static str,
    /// The publisher's term.
    pub word: String,
    /// Number of rows in the sample that contain the term.
    pub rows: usize,
    /// Our term; an empty string represents null. Null if the operator must decide.
    pub ours: Option<String>,
    /// Reason for the guess.
    pub reason: String,
}

/// Looks up the terms of all columns that have a table, the most frequent first.
pub(super) fn look_up(sample: &Sample, guesses: &Guesses, known: &Known) -> Vec<GuessedWord> {
    let mut found = Vec::new();
    for table in TABLES {
        let Some(column) = guesses.position(table) else {
            continue;
        };
        // Terms that differ only in case or blanks count as one term.
        let mut counts: BTreeMap<String, (String, usize)> = BTreeMap::new();
        for (text, rows) in sample.columns[column].counts() {
            counts
                .entry(compared(text))
                .or_insert_with(|| (text.to_owned(), 0))
                .1 += rows;
        }
        let mut words: Vec<(String, usize)> = counts.into_values().collect();
        words.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
        for (word, rows) in words {
            let (ours, reason) = judged(known, table, &word);
            found.push(GuessedWord {
                table,
                word,
                rows,
                ours,
                reason,
            });
        }
    }
    found
}

fn judged(known: &Known, table: &'static str, word: &str) -> (Option<String>, String) {
    match known.word(table, word) {
        Some((ours, lists, one)) if !is_word(word) => (
            None,
            format!(
                "a code, which means `{}` in {lists} other lists such as {one}",
                shown(ours)
            ),
        ),
        Some((ours, lists, one)) if lists >= ENOUGH_LISTS => (
            Some(ours.to_owned()),
            format!("so in {lists} lists such as {one}"),
        ),
        Some((ours, _, one)) => (
            None,
            format!("`{}` in {one} and in no other list", shown(ours)),
        ),
        None => match known.disagreement(table, word) {
            Some(words) => (None, format!("lists differ: {words}")),
            None => (None, "no list has it".to_owned()),
        },
    }
}

fn shown(ours: &str) -> &str {
    if ours.is_empty() { "null" } else { ours }
}

/// Returns true for a term made of words, as opposed to a code that differs between cities.
fn is_word(text: &str) -> bool {
    text.split(|character: char| !character.is_alphabetic())
        .any(|part| part.chars().count() >= 3)
}
