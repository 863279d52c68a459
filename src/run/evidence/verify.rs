//! Checks that a release and its snapshots have the bytes that were published and fetched, or that
//! a rebuild produces the same release.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::available_snapshots::{AvailableSnapshots, Found, Need, find};
use super::part_claims;
use super::trace::reason_of;
use crate::building::build::{Division, build};
use crate::building::units::TaskInUnits;
use crate::planning::made_with::{MadeWith, contracts_of};
use crate::settings::{RunSettings, current_manifest};
use pubdata_build::publish::{self, Contribution};
use pubdata_core::error::{Error, ErrorKind, Result};
use pubdata_core::ids::ReleaseId;
use pubdata_store::evidence::Replay;
use pubdata_store::{self as store, Home, Manifest, Part, TaskEntry};

/// Result of checking that the bytes of a release and its snapshots are unchanged since they were
/// published and fetched.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VerifyReport {
    /// The release.
    pub release_id: ReleaseId,
    /// Number of parts that were hashed.
    pub parts: usize,
    /// Number of snapshots that were hashed.
    pub snapshots: usize,
    /// Number of declaration and contract texts that were hashed; 0 for a release made by an
    /// earlier version.
    pub declarations: usize,
    /// Missing files of the release, and changed files of the release or its snapshots; empty if
    /// there are none.
    pub problems: Vec<String>,
    /// Snapshots that could not be checked because neither the home nor the store has them.
    pub missing: Vec<String>,
    /// Snapshots whose path is not a regular file, such as a named pipe.
    pub unreadable: Vec<String>,
}

/// Result of rebuilding a release from its snapshots.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RebuildReport {
    /// The release.
    pub release_id: ReleaseId,
    /// The id of the rebuilt release; null if nothing could be built.
    pub rebuilt_id: Option<ReleaseId>,
    /// The verdict.
    pub replay: Replay,
    /// Differences that occurred despite identical code and inputs.
    pub differences: Vec<String>,
    /// Why a task cannot be rebuilt, and which version can rebuild it or which snapshots are
    /// missing, by task.
    pub not_possible: BTreeMap<String, String>,
    /// Remarks for the reader, by task.
    pub notes: BTreeMap<String, Vec<String>>,
}

async fn manifest(settings: &RunSettings, release: Option<&ReleaseId>) -> Result<Manifest> {
    match release {
        Some(release) => settings.releases.manifest(release).await,
        None => current_manifest(settings).await,
    }
}

/// Compares the manifest's description of each part with the part's bytes, and rehashes every
/// snapshot, declaration and sidecar of a release.
///
/// # Errors
/// Returns `Store` if the manifest itself cannot be read or was changed.
pub async fn verify(settings: &RunSettings, release: Option<&ReleaseId>) -> Result<VerifyReport> {
    let manifest = manifest(settings, release).await?;
    let mut problems = part_claims::contradictions(settings, &manifest).await;
    let parts = manifest
        .datasets
        .values()
        .map(|dataset| dataset.parts.len())
        .sum();
    let mut inputs: Vec<&pubdata_core::provenance::Snapshot> = manifest
        .tasks
        .values()
        .flat_map(|task| &task.inputs)
        .collect();
    // Identical bytes from several URLs count as several files.
    inputs.sort_by_key(|input| (&input.source_id, input.sha256, &input.url, &input.keys));
    inputs.dedup_by_key(|input| (&input.source_id, input.sha256, &input.url, &input.keys));
    let (mut missing, mut unreadable) = (Vec::new(), Vec::new());
    for snapshot in &inputs {
        match find(settings, snapshot).await? {
            Found::AsFetched => {}
            Found::Damaged(text) => problems.push(text),
            Found::Missing(text) => missing.push(text),
            Found::Unreadable(text) => unreadable.push(text),
        }
    }
    for digest in &manifest.declarations {
        problems.extend(
            settings
                .releases
                .text(&manifest.release_id, digest)
                .await
                .err()
                .map(|error| error.to_string()),
        );
    }
    problems.extend(settings.releases.sidecar_problems(&manifest).await?);
    let declarations = manifest.declarations.len();
    let snapshots = inputs.len() - missing.len() - unreadable.len();
    Ok(VerifyReport {
        snapshots,
        release_id: manifest.release_id,
        parts,
        declarations,
        problems,
        missing,
        unreadable,
    })
}

/// Rebuilds a release from its snapshots and its own declarations in a scratch folder, and compares
/// the two releases.
///
/// # Errors
/// Returns the errors of a build: `Format`, `Contract` and `Store`.
pub async fn rebuild(settings: &RunSettings, release: Option<&ReleaseId>) -> Result<RebuildReport> {
    let manifest = manifest(settings, release).await?;
    let scratch = settings.home.scratch("rebuild")?;
    let mut available_snapshots = AvailableSnapshots::new(settings, Some(&scratch));
    let mut contributions = Vec::new();
    let mut not_held = BTreeMap::new();
    let mut report = RebuildReport {
        release_id: manifest.release_id.clone(),
        rebuilt_id: None,
        replay: Replay::Match,
        differences: Vec::new(),
        not_possible: BTreeMap::new(),
        notes: BTreeMap::new(),
    };
    for (task_id, entry) in &manifest.tasks {
        let (missing, damaged) = (
            available_snapshots.missing().len(),
            available_snapshots.damaged().len(),
        );
        available_snapshots
            .take(entry, entry.inputs.iter().map(|input| (input, Need::Whole)))
            .await?;
        if let Some(reason) = reason_of(&available_snapshots.missing()[missing..]) {
            report.not_possible.insert(task_id.clone(), reason);
            continue;
        }
        if available_snapshots.damaged().len() > damaged {
            report.differences.extend(
                available_snapshots.damaged()[damaged..]
                    .iter()
                    .map(|text| format!("{task_id}: {text}")),
            );
            continue;
        }
        let mut made = match MadeWith::load(settings, &manifest, entry).await {
            Ok(made) => made,
            Err(error) => {
                report.differences.push(format!("{task_id}: {error}"));
                continue;
            }
        };
        made.settings.home = available_snapshots.home().clone();
        if !made.notes.is_empty() {
            report.notes.insert(task_id.clone(), made.notes.clone());
        }
        match (
            built_again(
                &made.settings,
                task_id,
                entry,
                manifest.is_sample_build(entry),
                None,
                &scratch,
            ),
            made.not_held,
        ) {
            (Ok(staged), reason) => {
                contributions.push(Contribution::Built(staged));
                not_held.extend(reason.map(|reason| (task_id.as_str(), reason)));
            }
            (Err(error), Some(reason)) if error.kind() != ErrorKind::Store => drop(
                report
                    .not_possible
                    .insert(task_id.clone(), format!("{reason} ({error})")),
            ),
            (Err(error), _) => return Err(error),
        }
    }
    if !contributions.is_empty() {
        // The release is composed in an empty store, so that nothing is reused.
        let releases = store::Releases::open(&scratch, None)?;
        let contracts = contracts_of(settings, &manifest).await;
        let (is_sample, run_id, published_at) =
            (manifest.is_sample, &manifest.run_id, &manifest.published_at);
        let prepared = publish::prepare(
            &releases,
            &contracts,
            &settings.channel,
            contributions,
            is_sample,
            run_id,
            published_at,
        )
        .await?;
        // The program version is part of the id.
        let rebuilt = Manifest {
            pubdata_version: manifest.pubdata_version.clone(),
            ..prepared.manifest().clone()
        };
        for (task_id, entry) in manifest
            .tasks
            .iter()
            .filter(|(task_id, _)| rebuilt.tasks.contains_key(*task_id))
        {
            let others = differences(&manifest, &rebuilt, task_id, entry);
            match not_held
                .get(task_id.as_str())
                .filter(|_| !others.is_empty())
            {
                Some(reason) => drop(
                    report
                        .not_possible
                        .insert(task_id.clone(), format!("{reason} ({})", others.join("; "))),
                ),
                None => report.differences.extend(others),
            }
        }
        report.rebuilt_id = Some(rebuilt.derive_release_id());
    }
    let is_same = report.rebuilt_id.as_ref() == Some(&manifest.release_id);
    report.replay = match (
        report.differences.is_empty(),
        report.not_possible.is_empty(),
    ) {
        (true, true) if is_same => Replay::Match,
        (true, false) => Replay::NotPossible,
        _ => Replay::Mismatch,
    };
    scratch.remove()?;
    Ok(report)
}

/// Returns the differences between a rebuilt task and the published one.
fn differences<'m>(
    manifest: &'m Manifest,
    rebuilt: &'m Manifest,
    task_id: &str,
    entry: &TaskEntry,
) -> Vec<String> {
    let mut differences = Vec::new();
    let parts = |manifest: &'m Manifest| -> BTreeMap<&'m str, &'m Part> {
        let parts = manifest
            .datasets
            .values()
            .flat_map(|dataset| &dataset.parts);
        parts
            .filter(|part| part.task_id == task_id)
            .map(|part| (part.path.as_str(), part))
            .collect()
    };
    let (before, again) = (parts(manifest), parts(rebuilt));
    for (path, part) in &before {
        match again.get(path) {
            None => differences.push(format!("{path} is not rebuilt")),
            Some(again) if again.sha256 != part.sha256 => {
                differences.push(format!("{path} is rebuilt with other bytes"));
            }
            Some(again) if again != part => {
                differences.push(format!("{path} has the same bytes but another manifest entry: counts, notes or keys differ"));
            }
            Some(_) => {}
        }
    }
    differences.extend(
        again
            .keys()
            .filter(|path| !before.contains_key(*path))
            .map(|path| format!("{path} is rebuilt but not in the release")),
    );
    if rebuilt
        .tasks
        .get(task_id)
        .is_none_or(|again| again.source_rows != entry.source_rows)
    {
        differences.push(format!("the uses of the rows that {task_id} read differ"));
    }
    differences
}

/// Rebuilds a task with the declarations in `settings`, and stages it in `scratch`. May reuse
/// unchanged parts of `previous`.
///
/// # Errors
/// Returns the same errors as a build.
pub(crate) fn built_again(
    settings: &RunSettings,
    task_id: &str,
    entry: &TaskEntry,
    is_sample: bool,
    previous: Option<&Manifest>,
    scratch: &Home,
) -> Result<publish::StagedBuild> {
    let declaration = settings.declarations.pipelines.get(&entry.pipeline_id);
    let declaration = declaration.ok_or_else(|| {
        Error::config(format!(
            "pipeline {} is no longer declared",
            entry.pipeline_id
        ))
    })?;
    let output = build(
        settings,
        declaration,
        entry.partition.values().next().cloned(),
        entry,
        None,
    )?;
    let division = output.division();
    let previous = previous.filter(|_| division == Division::Shards);
    let in_units = TaskInUnits {
        settings,
        declaration,
        task_id,
        entry,
        is_sample,
        previous,
        observer: None,
        division,
        against: None,
    };
    Ok(in_units.stage(scratch, output, None)?.staged)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use pubdata_core::ids::Digest;

    fn manifest(parts: &Value) -> Manifest {
        let digest = Digest::sha256(b"input");
        let task = json!({
            "pipeline_id": "test.places", "partition": {}, "input_hash": digest, "declaration_hash": digest, "contracts_hash": digest,
            "code_version": "1.2.3+a.2", "inputs": [], "is_stale": false, "stale_reason": null, "publisher": "Example", "licence": "CC0-1.0",
            "homepage": "https://example.org/", "cadence_days": 365, "covers": [], "built_at": "2026-01-02T03:04:05Z",
        });
        let manifest = json!({
            "format_version": 1, "release_id": "r0123456789abcdef0123", "pubdata_version": "1.2.3", "is_sample": false, "tasks": {"test.places": task},
            "datasets": {"test.place": {"schema_version": "1.0.0", "parts": parts}}, "published_at": "2026-01-02T03:04:05Z", "run_id": "run",
        });
        serde_json::from_value(manifest).unwrap()
    }

    fn part(path: &str, bytes: &str, quarantined: Value) -> Value {
        json!({
            "path": path, "task_id": "test.places", "partition": {}, "rows": 1, "size_bytes": 10, "sha256": Digest::sha256(bytes.as_bytes()), "key_range": null,
            "report": {"quarantined": quarantined, "warnings": {}, "notes": []},
        })
    }

    #[test]
    fn whatever_of_a_part_is_hashed_is_told_when_it_comes_out_otherwise() {
        let before = manifest(&json!([
            part("a", "one", json!({})),
            part("b", "two", json!({"out_of_range": 1})),
            part("c", "three", json!({}))
        ]));
        let rebuilt = manifest(&json!([
            part("a", "other", json!({})),
            part("b", "two", json!({"unknown_category": 1})),
            part("d", "four", json!({}))
        ]));
        let messages =
            |to: &Manifest| differences(&before, to, "test.places", &before.tasks["test.places"]);
        let expected = [
            "a is rebuilt with other bytes",
            "b has the same bytes but another manifest entry: counts, notes or keys differ",
            "c is not rebuilt",
            "d is rebuilt but not in the release",
        ];
        assert_eq!(messages(&rebuilt), expected);
        assert_eq!(messages(&before), Vec::<String>::new());
    }
}
