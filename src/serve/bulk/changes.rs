//! Answers `GET /v1/releases/{release_id}/changes`: shows the differences from an earlier release,
//! with their causes. Only manifests are read. To compare records, use `pubdata releases diff`; for
//! a single record, use `/v1/records/{record_id}/history`.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Serialize;

use super::causes::Causes;
use super::query::{self, Earlier};
use crate::answer::Sha256;
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler, query};
use crate::http::meta::Meta;
use crate::http::parameters::{Kind, RELEASE_ID, format};
use crate::http::problem::{Code, Problem, Result};
use crate::json::Json;
use crate::release::manifests::ReleaseName;
use pubdata_core::ids::ReleaseId;
use pubdata_store::{Manifest, Part, causes, paired_parts};

query! {
    pub struct Parameters<'a> {
        ..format("datasets"),
        /// The release to compare with; when absent, the channel's last retained release before
        /// this one.
        since: Option<&'a str> = Kind::Form(RELEASE_ID),
    }
}

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/releases/{release_id}/changes",
    operation_id: "getChanges",
    summary: "Differences between two releases, with their causes",
    access: Access::Everyone,
    parameters: Parameters::DECLARED,
    body: None,
    data: Data::for_type::<Changes<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| compare(call, json).boxed()),
};

/// Maximum number of parts that are listed per dataset. All parts are counted.
const MAX_PARTS: usize = 100;

#[derive(Serialize, JsonSchema)]
struct Changes<'a> {
    /// Earlier of the two releases that are compared.
    from: ReleaseName<'a>,
    /// The later release, which the path names.
    to: ReleaseName<'a>,
    /// Datasets that differ between the two releases.
    datasets: Vec<DatasetChange<'a>>,
    /// Builds that differ, with the causes.
    tasks: Vec<TaskChange<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct DatasetChange<'a> {
    /// Identifier of the dataset, such as `permit.permit`.
    dataset_id: &'a str,
    /// Number of records in the earlier release; null if it has no such dataset.
    rows_before: Option<u64>,
    /// Number of records in the later release; null if it has no such dataset.
    rows_after: Option<u64>,
    /// Number of Parquet files by change.
    parts: PartCounts,
    /// First hundred parts that differ, by partition.
    changed_parts: Vec<PartChange<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DatasetChangeParts")]
struct PartCounts {
    /// Files that only the later release has.
    added: usize,
    /// Files that only the earlier release has.
    removed: usize,
    /// Files that both releases have with different bytes.
    changed: usize,
    /// Files that are the same in both releases.
    unchanged: usize,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DatasetChangeChangedPart")]
struct PartChange<'a> {
    /// Path of the file below the later release, or below the earlier release if the file was
    /// removed.
    path: &'a str,
    /// Column and value that all rows of the file share.
    partition: &'a BTreeMap<String, String>,
    /// Task that built the file.
    task_id: &'a str,
    /// Kind of change from the earlier to the later release.
    change: Change,
    /// Number of records in the earlier file; null if it was added.
    rows_before: Option<u64>,
    /// Number of records in the later file; null if it was removed.
    rows_after: Option<u64>,
    /// SHA-256 digest of the earlier file, in hexadecimal; null if it was added.
    sha256_before: Option<Sha256>,
    /// SHA-256 digest of the later file, in hexadecimal; null if it was removed.
    sha256_after: Option<Sha256>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "DatasetChangeChangedPartChange")]
enum Change {
    Added,
    Removed,
    Changed,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ChangesTask")]
struct TaskChange<'a> {
    /// Identifier of the task: a pipeline and its partition, such as `census.acs5/vintage=2023`.
    task_id: String,
    #[serde(flatten)]
    causes: Causes<'a>,
}

/// The same part in both releases, with `None` for a release that does not have the part.
type PartPair<'a> = (Option<&'a Part>, Option<&'a Part>);

async fn compare(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let release = query::release(call).await?;
    let after = query::manifest(call, &release);
    let since = match Parameters::read(call)?.since {
        Some(text) => query::by_id(call, "since", text).await?,
        None => release_before(call, &after.release_id).await?,
    };
    let before = query::manifest(call, &since);
    let dataset_ids: BTreeSet<&String> = before
        .datasets
        .keys()
        .chain(after.datasets.keys())
        .collect();
    let task = |task_id: String| TaskChange {
        causes: Causes::compare(
            call.service,
            before.tasks.get(&task_id),
            after.tasks.get(&task_id),
        ),
        task_id,
    };
    json.value(&Changes {
        from: ReleaseName::from_manifest(before),
        to: ReleaseName::from_manifest(after),
        datasets: dataset_ids
            .into_iter()
            .filter_map(|dataset_id| DatasetChange::compare(before, after, dataset_id))
            .collect(),
        tasks: causes(before, after).into_keys().map(task).collect(),
    });
    Ok(Meta {
        release,
        ..Meta::default()
    })
}

/// Returns the last retained release before the channel first pointed at `id`.
async fn release_before(call: &Call<'_>, id: &ReleaseId) -> Result<Earlier> {
    let catalog = &call.service.catalog;
    let history = catalog.history().await?;
    let first = history
        .iter()
        .position(|entry| entry.release_id == *id)
        .unwrap_or(0);
    for entry in history[..first]
        .iter()
        .rev()
        .take(query::MAX_RELEASES_CHECKED)
    {
        if let Some(manifest) = catalog.manifests.manifest(&entry.release_id).await? {
            return Ok(Some(manifest));
        }
    }
    let message = format!(
        "channel `{}` has no retained release before {id}; set `since` to a release from /v1/releases",
        catalog.channel()
    );
    Err(Problem::of_field(
        Code::CoverageUnavailable,
        "since",
        message,
    ))
}

impl<'a> DatasetChange<'a> {
    /// Returns the differences of a dataset, or `None` if the dataset has not changed.
    fn compare(before: &'a Manifest, after: &'a Manifest, dataset_id: &'a str) -> Option<Self> {
        let sides = paired_parts(before, after, dataset_id);
        let all = sides.len();
        let changed: Vec<PartChange<'_>> =
            sides.into_iter().filter_map(PartChange::compare).collect();
        if changed.is_empty() {
            return None;
        }
        let count = |kind: Change| changed.iter().filter(|part| part.change == kind).count();
        let rows = |manifest: &Manifest| {
            manifest
                .datasets
                .contains_key(dataset_id)
                .then(|| manifest.rows(dataset_id))
        };
        let (added, removed) = (count(Change::Added), count(Change::Removed));
        let parts = PartCounts {
            added,
            removed,
            changed: count(Change::Changed),
            unchanged: all - changed.len(),
        };
        let changed_parts = changed.into_iter().take(MAX_PARTS).collect();
        Some(Self {
            dataset_id,
            rows_before: rows(before),
            rows_after: rows(after),
            parts,
            changed_parts,
        })
    }
}

impl<'a> PartChange<'a> {
    /// Compares a part in both releases. Returns `None` if the part has not changed.
    fn compare((before, after): PartPair<'a>) -> Option<Self> {
        let change = match (before, after) {
            (Some(before), Some(after)) if before.sha256 == after.sha256 => return None,
            (Some(_), Some(_)) => Change::Changed,
            (Some(_), None) => Change::Removed,
            (None, _) => Change::Added,
        };
        let part = after.or(before)?;
        Some(Self {
            path: &part.path,
            partition: &part.partition,
            task_id: &part.task_id,
            change,
            rows_before: before.map(|part| part.rows),
            rows_after: after.map(|part| part.rows),
            sha256_before: before.map(|part| Sha256(part.sha256)),
            sha256_after: after.map(|part| Sha256(part.sha256)),
        })
    }
}
