//! Determines how many values in a list's coded columns have no known meaning. Reports unknown
//! values, flags columns whose meaning is lost, and blocks a sudden loss.

use std::collections::BTreeMap;

use super::word_guess::KnownWords;
use crate::reporting::findings::{MEANING_LOST, UNKNOWN_WORDS};
use crate::settings::{QUARANTINE, RunSettings, names};
use crate::toml_text::quoted;
use pubdata_build::publish::{StagedBuild, StagedPart};
use pubdata_build::validate::{MEANING, Refusal};
use pubdata_core::issue::SourceFinding;
use pubdata_core::pipeline::{Declaration, Declarations, WordLimits};
use pubdata_store::{Manifest, Part, WordCounts};

/// Maximum number of unknown values reported per column.
const MAX_REPORTED: usize = 10;

/// Counts by dataset and coded column.
type Counts = BTreeMap<(String, String), WordCounts>;

fn counts<'p>(parts: impl Iterator<Item = (&'p str, &'p Part)>) -> Counts {
    let mut counts = Counts::new();
    for (dataset_id, part) in parts.filter(|(dataset_id, _)| *dataset_id != QUARANTINE) {
        for (column, of_part) in &part.report.words {
            counts
                .entry((dataset_id.to_owned(), column.clone()))
                .or_default()
                .add(of_part);
        }
    }
    counts
}

fn of_build(parts: &[StagedPart]) -> Counts {
    counts(
        parts
            .iter()
            .map(|staged| (staged.dataset_id.as_str(), &staged.part)),
    )
}

/// Lists the most common unknown values with their record counts.
fn summary(counts: &WordCounts) -> String {
    counts
        .most(MAX_REPORTED)
        .into_iter()
        .map(|(word, count)| format!("`{word}` {count}"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn limits(declaration: &Declaration, dataset_id: &str, column: &str) -> WordLimits {
    declaration
        .expect
        .get(dataset_id)
        .and_then(|expected| expected.words.get(column))
        .copied()
        .unwrap_or_default()
}

/// Flags the columns of a staged build that have lost their meaning, and adds a finding for each
/// kind of loss.
pub(crate) fn tell(
    staged: &mut StagedBuild,
    declarations: &Declarations,
    declaration: &Declaration,
) {
    let mut messages: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for ((dataset_id, column), counts) in of_build(&staged.parts) {
        let (limits, percent) = (
            limits(declaration, &dataset_id, &column),
            counts.unknown_percent(),
        );
        if percent <= limits.warn_percent() {
            continue;
        }
        let known = KnownWords::load(&declarations.contracts, declaration, &column);
        let line = |(word, _): (&str, u64)| {
            let guess = known
                .as_ref()
                .and_then(|known| known.guess(word))
                .map_or_else(
                    || "\"…\"".to_owned(),
                    |guess| format!("{} (guessed)", guess.value),
                );
            format!("{} = {guess}", quoted(word))
        };
        let lines: Vec<String> = counts.most(MAX_REPORTED).into_iter().map(line).collect();
        let table = known.as_ref().map_or(column.as_str(), |known| &known.table);
        let text = format!(
            "`{column}` of {dataset_id} has texts without a known meaning in {} of {} records, {percent:.1} %: {}; lines for [settings.{table}]: {}",
            counts.unknown,
            counts.rows,
            summary(&counts),
            lines.join(", "),
        );
        let is_lost = percent > limits.lost_percent();
        messages
            .entry(if is_lost { MEANING_LOST } else { UNKNOWN_WORDS })
            .or_default()
            .push(text);
        if is_lost {
            staged
                .entry
                .meaning_lost
                .entry(dataset_id)
                .or_default()
                .push(column);
        }
    }
    let source_id = declaration
        .sources
        .first()
        .map_or(declaration.pipeline_id.as_str(), |source| {
            source.source_id.as_str()
        });
    let file = declaration.pipeline_id.replace('.', "/");
    for (code, texts) in messages {
        let consequence = if code == MEANING_LOST {
            "answers mark its meaning as lost; "
        } else {
            ""
        };
        let detail = format!(
            "{}; {consequence}declare the words whose meaning is certain in pipelines/{file}.toml",
            texts.join("; ")
        );
        staged
            .entry
            .findings
            .push(SourceFinding::new(source_id, code, detail));
    }
}

/// Baseline for the unknown values of a build.
pub(crate) struct Before<'a> {
    pub(crate) previous: Option<&'a Manifest>,
    /// True if the build is made from samples. A build from complete files is then no baseline.
    pub(crate) is_sample: bool,
}

/// Refuses columns whose share of unknown values has grown since the last release by more than may
/// be published without review.
pub(super) fn grown(
    settings: &RunSettings,
    declaration: &Declaration,
    task_id: &str,
    parts: &[StagedPart],
    before: Before<'_>,
) -> Vec<Refusal> {
    let is_alike = |previous: &&Manifest| {
        previous
            .tasks
            .get(task_id)
            .is_some_and(|build| previous.is_sample_build(build) == before.is_sample)
    };
    let Some(previous) = before.previous.filter(is_alike) else {
        return Vec::new();
    };
    let parts_before = previous.datasets.iter().flat_map(|(dataset_id, dataset)| {
        dataset
            .parts
            .iter()
            .map(move |part| (dataset_id.as_str(), part))
    });
    let counted = counts(parts_before.filter(|(_, part)| part.task_id == task_id));
    let mut blocked = Vec::new();
    for ((dataset_id, column), now) in of_build(parts) {
        let key = (dataset_id, column);
        let Some(before) = counted.get(&key) else {
            continue;
        };
        let (dataset_id, column) = key;
        let points = now.unknown_percent() - before.unknown_percent();
        let most = limits(declaration, &dataset_id, &column).max_growth_points();
        if points <= most || settings.has_override(&names(task_id, &dataset_id), MEANING) {
            continue;
        }
        let message = format!(
            "{dataset_id}: the meaning of `{column}` is not known for {:.1} % of the records against {:.1} % in the last release: {}; the publisher has new words or \
             another column: `pubdata probe {}` suggests lines; max_growth_points is {most} (`words.{column}` under [expect.\"{dataset_id}\"] in the pipeline's file)",
            now.unknown_percent(),
            before.unknown_percent(),
            summary(&now),
            declaration.pipeline_id,
        );
        blocked.push(Refusal::new(MEANING, message));
    }
    blocked
}
