//! Checks the words seen in publishers' lists, with their row counts, against the declarations and
//! the vocabulary of the trade.

use std::collections::BTreeMap;

use pubdata_core::contract::Words;
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::Declarations;
use pubdata_testing::shared_data;

/// Minimum share of rows with a known word, in percent, for each vocabulary that counts rows.
const MIN_KNOWN: f64 = 95.0;

/// Minimum average share with the lists' own tables emptied, in percent.
const MIN_KNOWN_TO_THE_TRADE: f64 = 80.0;

/// Words of one column of a list.
struct Vocabulary {
    pipeline_id: String,
    /// `status`, `type`, `profession`, …
    column: String,
    /// Words, with their row counts and the publisher's own spelled-out text.
    words: Vec<(String, u64, Option<String>)>,
}

/// Reads `words.md`: a heading for each column of a list, then a table.
fn vocabularies(text: &str) -> Vec<Vocabulary> {
    let mut found: Vec<Vocabulary> = Vec::new();
    let (mut is_spelled_out, mut is_of_words) = (false, false);
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            is_of_words = heading.contains(": ");
            if let Some((pipeline_id, rest)) = heading.split_once(": ") {
                let column = rest.split(' ').next().unwrap().to_owned();
                found.push(Vocabulary {
                    pipeline_id: pipeline_id.to_owned(),
                    column,
                    words: Vec::new(),
                });
            }
            continue;
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        match cells[..] {
            ["", "word", "count", "spelled out", ..] => is_spelled_out = true,
            ["", "word", ..] => is_spelled_out = false,
            ["", word, count, rest, ..] if is_of_words => {
                if let Ok(count) = count.parse() {
                    found.last_mut().unwrap().words.push((
                        word.to_owned(),
                        count,
                        is_spelled_out.then(|| rest.to_owned()),
                    ));
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns true if an entry of a list's table matches a text, ignoring case; `*` matches any text
/// in tables of licenses.
fn fits(entry: &str, text: &str) -> bool {
    let plain = |text: &str| {
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase()
    };
    let (entry, text) = (plain(entry), plain(text));
    match (entry.strip_prefix('*'), entry.strip_suffix('*')) {
        (Some(end), Some(_)) => text.contains(end.trim_end_matches('*')),
        (Some(end), None) => text.ends_with(end),
        (None, Some(begin)) => text.starts_with(begin),
        (None, None) => entry == text,
    }
}

/// Percentage of rows with a known word.
fn share(vocabulary: &Vocabulary, is_known: impl Fn(&str, Option<&str>) -> bool) -> f64 {
    let rows = |is_selected: &dyn Fn(&str, Option<&str>) -> bool| -> u64 {
        vocabulary
            .words
            .iter()
            .filter(|(word, _, spelled_out)| is_selected(word, spelled_out.as_deref()))
            .map(|(_, count, _)| count)
            .sum()
    };
    100.0 * rows(&is_known) as f64 / rows(&|_, _| true) as f64
}

#[test]
fn words_of_real_lists_are_known() {
    let Some(path) = shared_data("found/words.md") else {
        return;
    };
    let (declarations, findings) = Declarations::check(DeclarationFiles::built_in());
    assert!(findings.is_empty(), "{findings:#?}");
    let mut of_trade = Vec::new();
    let mut too_few = BTreeMap::new();
    for vocabulary in vocabularies(&std::fs::read_to_string(path).unwrap()) {
        let declaration = &declarations.pipelines[&vocabulary.pipeline_id];
        let dataset_id = declaration.produces.iter().find(|dataset_id| {
            declarations.contracts[*dataset_id]
                .column(&vocabulary.column)
                .is_some()
        });
        let words: &Words = &declarations.contracts[dataset_id.unwrap()]
            .column(&vocabulary.column)
            .unwrap()
            .column_type
            .words;
        let table = declaration
            .settings
            .get(&vocabulary.column)
            .and_then(toml::Value::as_table);
        let by_trade = |word: &str, spelled_out: Option<&str>| {
            words.get(word).is_some() || spelled_out.is_some_and(|text| words.get(text).is_some())
        };
        // The first word of a pair may be enough.
        let declares = |word: &str| {
            let first = word.split('/').next().unwrap_or(word);
            table.is_some_and(|table| {
                table.keys().any(|entry| {
                    fits(entry, word) || (vocabulary.column == "type" && fits(entry, first))
                })
            })
        };
        let is_known =
            |word: &str, spelled_out: Option<&str>| declares(word) || by_trade(word, spelled_out);
        let known = share(&vocabulary, is_known);
        let name = format!("{} {}", vocabulary.pipeline_id, vocabulary.column);
        let is_counted = vocabulary.words.iter().any(|(_, count, _)| *count > 1);
        println!(
            "{name}: {known:.1} % known, {:.1} % by the vocabulary of the trade alone",
            share(&vocabulary, by_trade)
        );
        if is_counted {
            of_trade.push(share(&vocabulary, by_trade));
        }
        if is_counted && known < MIN_KNOWN {
            let unknown: Vec<&str> = vocabulary
                .words
                .iter()
                .filter(|(word, _, text)| !is_known(word, text.as_deref()))
                .map(|(word, ..)| word.as_str())
                .collect();
            too_few.insert(name, (known, unknown.join(", ")));
        }
    }
    assert!(
        of_trade.len() >= 20,
        "the file has the counted vocabularies: {}",
        of_trade.len()
    );
    assert!(too_few.is_empty(), "{too_few:#?}");
    let average = of_trade.iter().sum::<f64>() / of_trade.len() as f64;
    assert!(
        average >= MIN_KNOWN_TO_THE_TRADE,
        "{average:.1} % on average"
    );
}
