//! Guesses how a declaration should read a changed file, based on equal values, known terms,
//! similar names, or the same position. Suggests nothing if no guess is likely.

use std::collections::{BTreeMap, BTreeSet};

use super::address::Address;
use super::edit::{Edit, Rule};
use super::examined::Examined;
use super::values::{self, Cells};
use crate::building::word_guess::{Guess, KnownWords};
use pubdata_core::contract::Contracts;
use pubdata_core::pipeline::{Declaration, nearest};

/// Minimum percentage of one column's distinct values that must occur in another column for the two
/// columns to match.
const SAME_VALUES_PERCENT: usize = 80;

/// Minimum number of distinct values for a comparison; fewer values prove nothing.
const MIN_VALUES: usize = 2;

/// Returns the changes to a declaration that make it read the current file. A missing mapped column
/// gets the new name, and other new columns are ignored. A missing column that resembles no new
/// column gets no suggestion.
pub(super) fn columns(
    declaration: &Declaration,
    address: &Address<'_>,
    examined: &Examined,
    now: &Cells,
    last: &Last,
) -> Vec<Edit> {
    let source_id = &address.source.source_id;
    let new: Vec<&str> = examined.header.new.iter().map(String::as_str).collect();
    let mut edits = Vec::new();
    let mut mapped: BTreeSet<&str> = BTreeSet::new();
    for column in &examined.missing {
        let names = &address.source.columns[column];
        let by_name = || {
            names
                .iter()
                .chain([column])
                .find_map(|name| nearest(name, &new))
        };
        let found = by_values(declaration, column, &new, now, last)
            .or_else(|| Some((by_name()?, Rule::SimilarName)))
            .or_else(|| {
                Some((
                    by_position(names, &examined.columns, &new, last)?,
                    Rule::SamePlace,
                ))
            });
        if let Some((name, rule)) = found {
            mapped.insert(name);
            edits.push(Edit::Alternative {
                source_id: source_id.clone(),
                column: column.clone(),
                name: name.to_owned(),
                rule,
            });
        }
    }
    // If a mapped column is missing and has no likely new name, the operator must decide what the
    // new columns are.
    if edits.len() == examined.missing.len() {
        let unused = new.into_iter().filter(|name| !mapped.contains(name));
        edits.extend(unused.map(|name| Edit::Ignore {
            source_id: source_id.clone(),
            name: name.to_owned(),
        }));
    }
    edits
}

/// The last file of a source in the home.
#[derive(Default)]
pub(super) struct Last {
    pub(super) columns: Vec<String>,
    /// The file's cells, by our column names.
    pub(super) cells: Cells,
}

/// Finds the new column that has the values of the missing column, either in the last file or in
/// the tables of the settings.
fn by_values<'n>(
    declaration: &Declaration,
    column: &str,
    new: &[&'n str],
    now: &Cells,
    last: &Last,
) -> Option<(&'n str, Rule)> {
    let share = |name: &&str, known: &BTreeSet<String>| {
        let values = now.get(*name).filter(|values| values.len() >= MIN_VALUES)?;
        Some(values.iter().filter(|value| known.contains(*value)).count() * 100 / values.len())
    };
    let before = last
        .cells
        .get(column)
        .filter(|values| values.len() >= MIN_VALUES);
    let words = values::table_words(declaration, column);
    let of = |known: &BTreeSet<String>| {
        let scored: Vec<(usize, &'n str)> = new
            .iter()
            .filter_map(|name| Some((share(name, known)?, *name)))
            .filter(|(share, _)| *share >= SAME_VALUES_PERCENT)
            .collect();
        match scored.as_slice() {
            [(_, name)] => Some(*name),
            _ => None,
        }
    };
    let by_last = before.and_then(&of).map(|name| (name, Rule::SameValues));
    by_last.or_else(|| {
        Some((
            Some(&words)
                .filter(|words| words.len() >= MIN_VALUES)
                .and_then(of)?,
            Rule::WordsOfSettings,
        ))
    })
}

/// Finds the new column at the position of the missing column, between the same neighbours.
fn by_position<'n>(
    names: &[String],
    columns: &[String],
    new: &[&'n str],
    last: &Last,
) -> Option<&'n str> {
    if columns.len() != last.columns.len() {
        return None;
    }
    let place = last
        .columns
        .iter()
        .position(|column| names.contains(column))?;
    let is_same = |place: Option<usize>| {
        place.is_none_or(|place| columns.get(place) == last.columns.get(place))
    };
    let here = columns
        .get(place)
        .filter(|_| is_same(place.checked_sub(1)) && is_same(Some(place + 1)))?;
    new.iter().copied().find(|name| name == here)
}

/// Returns suggestions for unknown terms that resemble a term in the list's own table or in the
/// shared vocabulary.
pub(super) fn words(
    contracts: &Contracts,
    declaration: &Declaration,
    unknown: &BTreeMap<String, BTreeSet<String>>,
) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (kind, texts) in unknown {
        let Some(known) = KnownWords::load(contracts, declaration, kind) else {
            continue;
        };
        for text in texts {
            if let Some(Guess {
                value,
                like,
                likeness,
            }) = known.guess(text)
            {
                edits.push(Edit::Word {
                    table: known.table.clone(),
                    word: text.clone(),
                    value: value.clone(),
                    like: like.to_owned(),
                    likeness,
                });
            }
        }
    }
    edits
}

/// Returns the URL to declare for a file that has moved. If the new URL is temporary, returns the
/// host to declare instead.
pub(super) fn moved(address: &Address<'_>, location: &str) -> Option<Edit> {
    let source_id = address.source.source_id.clone();
    let query = location
        .split_once('?')
        .map_or("", |(_, query)| query)
        .to_lowercase();
    if ["signature", "x-amz-", "token=", "expires="]
        .iter()
        .any(|sign| query.contains(sign))
    {
        let host = location.split_once("://")?.1.split(['/', '?']).next()?;
        return Some(Edit::Redirect {
            source_id,
            host: host.to_owned(),
        });
    }
    if !location.starts_with("https://") || address.source.listing.is_some() {
        return None;
    }
    let mut template = location.to_owned();
    for (name, value) in &address.request.keys {
        let upper = value.to_uppercase();
        // A value that is absent from the new URL, or too short to be distinguished from other
        // text, cannot be turned into a variable again.
        if value.len() < 2 || !(template.contains(value.as_str()) || template.contains(&upper)) {
            return None;
        }
        let in_capitals = format!("{{{}}}", name.to_uppercase());
        template = template.replace(value.as_str(), &format!("{{{name}}}"));
        template = if *value == upper {
            template
        } else {
            template.replace(&upper, &in_capitals)
        };
    }
    Some(Edit::Url {
        source_id,
        url: template,
    })
}
