//! Checks that a release and its snapshots are the bytes that were published and fetched, or that building again gives the same release.

use serde::Serialize;

use super::build::{BuildOutput, Totals, build, check, expectations};
use super::entry::fingerprint;
use super::stage::whole;
use super::work_units::TaskInUnits;
use super::{RunSettings, current_manifest};
use crate::error::{Error, Result};
use crate::ids::ReleaseId;
use crate::pipeline::Declaration;
use crate::publish::{self, Contribution};
use crate::store::{self, Home, Manifest, Snapshots, TaskEntry};

/// Whether the bytes of a release and of its snapshots are still what was published and fetched.
#[derive(Debug, Serialize)]
pub struct VerifyReport {
    pub release_id: ReleaseId,
    pub parts: usize,
    pub snapshots: usize,
    /// What is missing or changed; empty when all is well.
    pub problems: Vec<String>,
}

/// Whether building again from the snapshots gives the same release.
#[derive(Debug, Serialize)]
pub struct RebuildReport {
    pub release_id: ReleaseId,
    pub rebuilt_id: ReleaseId,
    /// Parts that came out otherwise, and what of the program is another than then.
    pub differences: Vec<String>,
}

async fn manifest(settings: &RunSettings, release: Option<&ReleaseId>) -> Result<Manifest> {
    match release {
        Some(release) => settings.releases.manifest(release).await,
        None => current_manifest(settings).await,
    }
}

/// Hashes every part and every snapshot of a release again.
///
/// # Errors
/// `Store`, when the manifest itself cannot be read or was changed.
pub async fn verify(settings: &RunSettings, release: Option<&ReleaseId>) -> Result<VerifyReport> {
    let manifest = manifest(settings, release).await?;
    let mut problems = Vec::new();
    let mut parts = 0;
    for part in manifest.datasets.values().flat_map(|dataset| &dataset.parts) {
        parts += 1;
        let checked = match settings.releases.part(&manifest.release_id, part).await {
            Ok(bytes) => publish::verify_part(part, &bytes).map_err(|error| error.to_string()),
            Err(error) => Err(format!("part {}: {error}", part.path)),
        };
        problems.extend(checked.err());
    }
    let snapshots = Snapshots::open(&settings.home)?;
    let mut inputs: Vec<&crate::provenance::Snapshot> = manifest.tasks.values().flat_map(|task| &task.inputs).collect();
    inputs.sort_by_key(|input| (&input.source_id, input.sha256));
    inputs.dedup_by_key(|input| (&input.source_id, input.sha256));
    for snapshot in &inputs {
        problems.extend(snapshots.damage(snapshot)?);
    }
    Ok(VerifyReport { release_id: manifest.release_id, parts, snapshots: inputs.len(), problems })
}

/// Builds a release again from its snapshots, in a scratch folder, and compares.
///
/// # Errors
/// As building does: `Format`, `Contract`, `Store`.
pub async fn rebuild(settings: &RunSettings, release: Option<&ReleaseId>) -> Result<RebuildReport> {
    let manifest = manifest(settings, release).await?;
    let scratch = settings.home.scratch("rebuild")?;
    let mut contributions = Vec::new();
    for (task_id, entry) in &manifest.tasks {
        contributions.push(Contribution::Built(rebuild_task(settings, &manifest, task_id, entry, &scratch)?));
    }
    // A release is composed against its own empty store, so that nothing is carried over.
    let releases = store::Releases::open(&scratch, None)?;
    let prepared = publish::prepare(
        &releases,
        &settings.declarations.contracts,
        &settings.channel,
        contributions,
        manifest.is_sample,
        &manifest.run_id,
        &manifest.published_at,
    )
    .await?;
    let rebuilt = prepared.manifest();
    let mut differences = Vec::new();
    for (dataset_id, dataset) in &manifest.datasets {
        for part in &dataset.parts {
            let again = rebuilt.datasets.get(dataset_id).and_then(|dataset| dataset.parts.iter().find(|candidate| candidate.path == part.path));
            match again {
                None => differences.push(format!("{} is not made again", part.path)),
                Some(again) if again.sha256 != part.sha256 => differences.push(format!("{} comes out with other bytes", part.path)),
                Some(_) => {}
            }
        }
    }
    if !differences.is_empty() {
        for (task_id, entry) in &manifest.tasks {
            differences.extend(causes(settings, task_id, entry)?);
        }
    }
    let report = RebuildReport { release_id: manifest.release_id, rebuilt_id: rebuilt.release_id.clone(), differences };
    scratch.remove()?;
    Ok(report)
}

/// What today's program has otherwise than the one that made a build, and hence why parts may come out otherwise.
fn causes(settings: &RunSettings, task_id: &str, entry: &TaskEntry) -> Result<Vec<String>> {
    let (declaration_hash, contracts_hash, code_version) = fingerprint(settings, declared(settings, entry)?)?;
    let mut causes = Vec::new();
    if code_version != entry.code_version {
        causes.push(format!("{task_id} was built by code {}, this is {code_version}: the program of then makes the same bytes", entry.code_version));
    }
    for (is_changed, what) in [(declaration_hash != entry.declaration_hash, "declaration"), (contracts_hash != entry.contracts_hash, "contracts")] {
        if is_changed {
            causes.push(format!("{task_id}: the {what} changed since the release"));
        }
    }
    Ok(causes)
}

fn declared<'a>(settings: &'a RunSettings, entry: &TaskEntry) -> Result<&'a Declaration> {
    let declaration = settings.declarations.pipelines.get(&entry.pipeline_id);
    declaration.ok_or_else(|| Error::config(format!("pipeline {} is no longer declared", entry.pipeline_id)))
}

fn rebuild_task(settings: &RunSettings, manifest: &Manifest, task_id: &str, entry: &TaskEntry, scratch: &Home) -> Result<publish::StagedBuild> {
    let declaration = declared(settings, entry)?;
    let is_sample = manifest.is_sample_build(entry);
    let in_units = TaskInUnits { settings, declaration, task_id, entry, is_sample, previous: None, observer: None, is_sharded: false };
    let (tables, inputs, read) = match build(settings, declaration, entry.partition.values().next().cloned(), entry, None)? {
        BuildOutput::Tables(tables, inputs, read) => (tables, inputs, read),
        BuildOutput::Sharded(prepared) => return Ok(in_units.stage_shards(scratch, &prepared, None)?.staged),
        BuildOutput::Buckets(buckets, build) => return Ok(in_units.stage_buckets(scratch, buckets, build, None)?.staged),
    };
    let totals = Totals { expectations: &expectations(declaration, entry), previous_rows: &|_, _| None };
    let checked = check(settings, tables, &inputs, Some(&totals), is_sample)?;
    publish::stage(scratch, &settings.declarations.contracts, whole(settings, task_id, entry, declaration, checked, inputs, &read)?)
}
