//! Counts each list's records whose coded columns contain a publisher's term of unknown meaning.
//! Reports the lists in which a column loses its meaning because too many terms are unknown.

use std::borrow::Cow;
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Float;
use pubdata_store::{DatasetEntry, Manifest, WordCounts};

/// Maximum number of unknown terms reported per column.
const MAX_WORDS: usize = 10;

/// Maximum number of lists named by a notice.
const MAX_LISTS: usize = 5;

/// Shares are truncated to four decimal places.
const SHARE_STEPS: f64 = 10_000.0;

#[derive(Serialize, JsonSchema)]
pub struct KnownWords<'a> {
    /// The build, such as `permit.columbus`.
    task_id: &'a str,
    /// The coded column, such as `status`.
    column: &'a str,
    /// Number of records in which the column contains a publisher's term.
    rows: u64,
    /// Number of records whose term has no known meaning. In these records the column is `unknown`
    /// or null, and `unknown_values` contains the term.
    unknown_rows: u64,
    /// Share of records whose term is known, from 0 to 1, truncated to four decimal places.
    known_share: Float,
    /// True if so few terms are known that answers from the list carry the notice `MEANING_LOST`.
    /// The limit is 75 %, unless the list's declaration sets another limit.
    is_meaning_lost: bool,
    /// Most frequent terms without a known meaning, at most ten, in descending order of frequency.
    commonest_unknown: Vec<UnknownWord>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "KnownWordsCommonestUnknown")]
struct UnknownWord {
    /// A term as the publisher wrote it.
    word: String,
    /// Number of records with the term.
    rows: u64,
}

/// Returns the known terms in a dataset's coded columns, by build and column.
pub fn known_words<'a>(
    manifest: &'a Manifest,
    dataset_id: &str,
    dataset: &'a DatasetEntry,
) -> Vec<KnownWords<'a>> {
    let of_column = |((task_id, column), counts): ((&'a str, &'a str), WordCounts)| {
        let share =
            (counts.rows - counts.unknown.min(counts.rows)) as f64 / counts.rows.max(1) as f64;
        KnownWords {
            task_id,
            column,
            rows: counts.rows,
            unknown_rows: counts.unknown,
            known_share: Float((share * SHARE_STEPS).floor() / SHARE_STEPS),
            is_meaning_lost: manifest
                .tasks
                .get(task_id)
                .is_some_and(|task| task.has_lost_meaning(dataset_id, column)),
            commonest_unknown: counts
                .most(MAX_WORDS)
                .into_iter()
                .map(|(word, rows)| UnknownWord {
                    word: word.to_owned(),
                    rows,
                })
                .collect(),
        }
    };
    dataset.words().into_iter().map(of_column).collect()
}

/// Scope of a search: its datasets, and the jurisdictions and states that the answer names.
pub struct Searched<'a> {
    pub datasets: &'a [Cow<'static, str>],
    pub jurisdictions: &'a [String],
    pub states: &'a [String],
}

/// Returns a notice that names the searched lists in which a column's meaning is lost, if any.
pub fn lost(searched: &Searched<'_>, manifest: &Manifest) -> Option<String> {
    if searched.jurisdictions.is_empty() && searched.states.is_empty() {
        // The answer is not about lists, or about all of them; `/v1/coverage` reports the lost
        // columns.
        return None;
    }
    let lost = manifest
        .tasks
        .iter()
        .filter(|(_, task)| !task.meaning_lost.is_empty());
    let mut descriptions = Vec::new();
    for (task_id, task) in lost {
        for (dataset_id, columns) in task
            .meaning_lost
            .iter()
            .filter(|(dataset_id, _)| searched.datasets.iter().any(|used| used == *dataset_id))
        {
            let Some(dataset) = manifest
                .datasets
                .get(dataset_id)
                .filter(|dataset| searched.has(task_id, dataset))
            else {
                continue;
            };
            let words = dataset.words();
            let share = |column: &String| {
                let percent = words
                    .get(&(task_id.as_str(), column.as_str()))
                    .map(WordCounts::unknown_percent)
                    .unwrap_or_default();
                format!("`{column}` ({percent:.1} % of the records)")
            };
            descriptions.push(format!(
                "{} of {task_id}",
                columns.iter().map(share).collect::<Vec<_>>().join(", ")
            ));
        }
    }
    (!descriptions.is_empty()).then(|| {
        let others = descriptions.len().saturating_sub(MAX_LISTS);
        descriptions.truncate(MAX_LISTS);
        if others > 0 {
            descriptions.push(format!("and {others} more lists, which `/v1/coverage` names"));
        }
        format!(
            "Many records have a publisher's word without a known meaning in these columns: {}. In these records the column is `unknown` or null, and a search by \
             the column does not find them; the field with the publisher's own text has it.",
            descriptions.join("; ")
        )
    })
}

impl Searched<'_> {
    /// Reports whether the search covered records of a build.
    fn has(&self, task_id: &str, dataset: &DatasetEntry) -> bool {
        let parts = || dataset.parts.iter().filter(|part| part.task_id == task_id);
        let values = |key: &str| {
            parts()
                .filter_map(|part| part.partition.get(key))
                .map(String::as_str)
                .collect::<BTreeSet<&str>>()
        };
        let is_among = |places: &[String], key: &str| {
            places.is_empty()
                || places
                    .iter()
                    .any(|place| values(key).contains(place.as_str()))
        };
        is_among(self.jurisdictions, "jurisdiction") && is_among(self.states, "state")
    }
}
