//! Defines findings about sources as a whole, with their codes, their causes other than decoding,
//! and their severity.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::report::ExitCode;
use pubdata_build::publish::StagedBuild;
use pubdata_core::issue::SourceFinding;
use pubdata_core::pipeline::{Declaration, LayoutEvidence};
use pubdata_store::{Home, Manifest};

/// A required file is missing, and the build uses the source's other files.
pub(crate) const FILE_MISSING: &str = "file_missing";

/// The fetch of an optional file failed, or a file from which the last build was made has
/// disappeared.
pub(crate) const OPTIONAL_FILE_MISSING: &str = "optional_file_missing";

/// A file whose completeness cannot be proven.
pub(crate) const LENGTH_UNKNOWN: &str = "length_unknown";

/// A file, or the document that describes it, is dated in the future.
pub(crate) const FUTURE_DATE: &str = "future_date";

/// A file's bytes changed, but the publisher's document states the same time of the last change.
pub(crate) const CHANGED_UNSTATED: &str = "changed_unstated";

/// A page that lists a source's files could not be read, or lists no files.
pub(crate) const PAGE_NOT_READ: &str = "page_not_read";

/// A column has more values without a known meaning than its declaration allows.
pub(crate) const UNKNOWN_WORDS: &str = "unknown_words";

/// A column has so many values without a known meaning that responses flag the column's meaning as
/// lost.
pub(crate) const MEANING_LOST: &str = "meaning_lost";

/// A column that a declaration neither maps nor ignores.
const NEW_COLUMN: &str = "new_column";

/// A column of a published table had values in the last release but no longer has any.
const COLUMN_TURNED_EMPTY: &str = "column_turned_empty";

/// A layout is known only from documentation and has not been confirmed by an operator.
const UNCONFIRMED_LAYOUT: &str = "unconfirmed_layout";

/// With fewer rows than this, a column without values does not prove that it has lost them.
const MIN_ROWS: u64 = 100;

/// Returns the minimum exit code of a run that has a finding.
pub(crate) fn exit_code(finding: &SourceFinding) -> ExitCode {
    match finding.code.as_str() {
        FILE_MISSING => ExitCode::SourceMissing,
        _ if !finding.needs_attention() => ExitCode::Ok,
        _ => ExitCode::Quarantined,
    }
}

/// Returns what to do about a finding, with the command to type.
pub(crate) fn next_step(finding: &SourceFinding, pipeline_id: &str) -> String {
    match finding.code.as_str() {
        UNCONFIRMED_LAYOUT => format!(
            "look at what was published and quarantined, then `pubdata accept {pipeline_id}`"
        ),
        NEW_COLUMN | UNKNOWN_WORDS | MEANING_LOST => format!(
            "`pubdata probe {pipeline_id} --write declarations` writes the declarations with suggested lines to the folder `declarations`: complete them, then `pubdata run --declarations declarations`"
        ),
        FILE_MISSING | OPTIONAL_FILE_MISSING | PAGE_NOT_READ => {
            format!(
                "the next run asks again; `pubdata probe {pipeline_id}` asks now and suggests what to do"
            )
        }
        _ => format!("`pubdata probe {pipeline_id}` shows what the publisher has"),
    }
}

/// Returns true if a finding is about the fetch of a file or page.
pub(crate) fn is_about_fetch(finding: &SourceFinding) -> bool {
    [
        CHANGED_UNSTATED,
        FILE_MISSING,
        FUTURE_DATE,
        LENGTH_UNKNOWN,
        OPTIONAL_FILE_MISSING,
        PAGE_NOT_READ,
    ]
    .contains(&finding.code.as_str())
}

/// Returns true if a finding is about the build itself and applies as long as the build does. Other
/// findings apply only to the fetches of one run.
pub(crate) fn is_of_build(finding: &SourceFinding) -> bool {
    !is_about_fetch(finding) && finding.code != UNCONFIRMED_LAYOUT
}

/// Reports that a layout is known only from documentation.
pub(crate) fn unconfirmed_layout(
    declaration: &Declaration,
    evidence: LayoutEvidence,
) -> Vec<SourceFinding> {
    let detail = |source_id: &str| {
        format!(
            "its layout is known from the publisher's documentation alone, and floors and shares are not judged: look at what was published and quarantined, then run `pubdata accept {source_id}`"
        )
    };
    let unseen = declaration
        .sources
        .iter()
        .filter(|source| evidence == LayoutEvidence::Documented && source.on_demand.is_none());
    unseen
        .take(1)
        .map(|source| {
            SourceFinding::new(
                &source.source_id,
                UNCONFIRMED_LAYOUT,
                detail(&declaration.pipeline_id),
            )
        })
        .collect()
}

/// Finds the columns that had values in the last release but have none in a build.
pub(crate) fn turned_empty(
    staged: &StagedBuild,
    previous: Option<&Manifest>,
) -> Vec<SourceFinding> {
    let Some(previous) = previous.filter(|previous| previous.tasks.contains_key(&staged.task_id))
    else {
        return Vec::new();
    };
    let mut parts_of: BTreeMap<&str, Vec<&pubdata_store::Part>> = BTreeMap::new();
    staged.parts.iter().for_each(|staged| {
        parts_of
            .entry(&staged.dataset_id)
            .or_default()
            .push(&staged.part);
    });
    let mut findings = Vec::new();
    for (dataset_id, parts) in parts_of {
        let before = previous.datasets.get(dataset_id).map(|dataset| {
            dataset
                .parts
                .iter()
                .filter(|part| part.task_id == staged.task_id)
        });
        let (Some(now), Some(before)) = (
            empty_columns(parts.into_iter()),
            before.and_then(empty_columns),
        ) else {
            continue;
        };
        let turned: Vec<String> = now
            .difference(&before)
            .map(|column| format!("`{column}`"))
            .collect();
        if !turned.is_empty() {
            let detail = format!(
                "no row of {dataset_id} has a value for {} any more: see what the publisher changed in the columns it was read from",
                turned.join(", ")
            );
            let source_id = staged
                .entry
                .inputs
                .first()
                .map_or(dataset_id, |input| input.source_id.as_str());
            findings.push(SourceFinding::new(source_id, COLUMN_TURNED_EMPTY, detail));
        }
    }
    findings
}

/// Returns the columns that have no value in any part. Returns `None` if a part does not record its
/// empty columns, or if the parts have too few rows.
fn empty_columns<'p>(
    parts: impl Iterator<Item = &'p pubdata_store::Part>,
) -> Option<BTreeSet<&'p str>> {
    let mut empty: Option<BTreeSet<&str>> = None;
    let mut rows = 0;
    for part in parts.filter(|part| part.rows > 0) {
        let of_part: BTreeSet<&str> = part
            .report
            .empty_columns
            .as_ref()?
            .iter()
            .map(String::as_str)
            .collect();
        rows += part.rows;
        empty = Some(empty.map_or_else(
            || of_part.clone(),
            |known| known.intersection(&of_part).copied().collect(),
        ));
    }
    empty.filter(|_| rows >= MIN_ROWS)
}

/// Returns the path of the file with the details of a run's issues.
pub(crate) fn issues_file(home: &Home, run_id: &str) -> PathBuf {
    home.run_dir(run_id).join("issues.jsonl")
}
