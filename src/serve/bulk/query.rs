//! Resolves the release and the dataset that a path names, and the releases that a history covers.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::try_join_all;

use crate::http::endpoint::Call;
use crate::http::problem::{Code, Problem, Result};
use crate::release::manifests::Summary;
use pubdata_core::ids::ReleaseId;
use pubdata_store::{DatasetEntry, Manifest};

/// Path segment for the release that currently answers requests.
const CURRENT: &str = "current";

/// Maximum number of the channel's releases that a history checks, newest first, and the number of
/// releases that are checked at a time.
pub const MAX_RELEASES_CHECKED: usize = 100;
const RELEASES_PER_ROUND: usize = 10;

/// Manifest of an earlier release; `None` means the release that answers the request.
pub type Earlier = Option<Arc<Manifest>>;

/// Returns the release that the path names.
///
/// # Errors
/// `invalid_parameter` if the id is malformed; `coverage_unavailable` if the channel never had the
/// release or no longer retains it.
pub async fn release(call: &Call<'_>) -> Result<Earlier> {
    match call.path_value("release_id") {
        CURRENT => Ok(None),
        text => by_id(call, "release_id", text).await,
    }
}

/// Returns the release with an id.
///
/// # Errors
/// The same as for [`release`], with the name of the parameter.
pub async fn by_id(call: &Call<'_>, parameter: &'static str, text: &str) -> Result<Earlier> {
    let wrong = |error| {
        Problem::of_field(
            Code::InvalidParameter,
            parameter,
            format!("`{parameter}`: {error}; /v1/releases lists them"),
        )
    };
    let id: ReleaseId = text.parse().map_err(wrong)?;
    Ok(call
        .service
        .catalog
        .earlier(parameter, &id, call.release)
        .await?)
}

/// Returns the query suffix for URLs that must answer from the requested release. The suffix is
/// empty if the request names no release.
pub fn release_query(call: &Call<'_>) -> String {
    if call.query.names_release() {
        format!("?release={}", call.release.manifest.release_id)
    } else {
        String::new()
    }
}

/// Returns the manifest of a release.
pub fn manifest<'a>(call: &'a Call<'_>, earlier: &'a Earlier) -> &'a Manifest {
    earlier.as_deref().unwrap_or(&call.release.manifest)
}

/// Returns a dataset from a release.
///
/// # Errors
/// `not_found` if the release does not have the dataset.
pub fn dataset<'a>(
    manifest: &'a Manifest,
    field: &str,
    dataset_id: &str,
) -> Result<&'a DatasetEntry> {
    manifest.datasets.get(dataset_id).ok_or_else(|| {
        let message = format!(
            "release {} has no dataset `{dataset_id}`; /v1/datasets lists those of the current one",
            manifest.release_id
        );
        Problem::of_field(Code::NotFound, field, message)
    })
}

/// Returns at most `most` retained releases of the channel, newest first and without duplicates.
/// Releases published after the one that answers are omitted, so the history that a release reports
/// never changes.
///
/// # Errors
/// `internal_error` if the store cannot be read.
pub async fn newest_retained(call: &Call<'_>, most: usize) -> Result<Vec<Arc<Summary>>> {
    let catalog = &call.service.catalog;
    let history = catalog.history().await?;
    let mut seen = BTreeSet::new();
    let ids: Vec<&ReleaseId> = history
        .iter()
        .rev()
        .map(|entry| &entry.release_id)
        .filter(|id| seen.insert(*id))
        .take(MAX_RELEASES_CHECKED)
        .collect();
    let mut found = Vec::new();
    for together in ids.chunks(RELEASES_PER_ROUND) {
        let summaries =
            try_join_all(together.iter().map(|id| catalog.manifests.summary(id))).await?;
        found.extend(
            summaries
                .into_iter()
                .flatten()
                .filter(|summary| summary.published_at <= call.release.manifest.published_at),
        );
        if found.len() >= most {
            break;
        }
    }
    found.truncate(most);
    Ok(found)
}
