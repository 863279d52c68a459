//! The release and the dataset that a path names, and the releases that a history goes back to.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::try_join_all;

use crate::http::endpoint::Call;
use crate::http::problem::{Code, Problem, Result};
use crate::release::manifests::Summary;
use pubdata_core::ids::ReleaseId;
use pubdata_store::{DatasetEntry, Manifest};

/// The word for the release that requests are answered from.
const CURRENT: &str = "current";

/// How many of the channel's releases are asked for whether they are kept, the newest first, and
/// how many at a time.
pub const MOST_ASKED_FOR: usize = 100;
const ASKED_FOR_AT_A_TIME: usize = 10;

/// The manifest of an earlier release; none stands for the one that requests are answered from.
pub type Earlier = Option<Arc<Manifest>>;

/// The release that the path names.
///
/// # Errors
/// `invalid_parameter`, when it is none that a release can have; `coverage_unavailable`, when the
/// channel never had it or it is no longer kept.
pub async fn release(call: &Call<'_>) -> Result<Earlier> {
    match call.path_value("release_id") {
        CURRENT => Ok(None),
        text => by_id(call, "release_id", text).await,
    }
}

/// The release of an id.
///
/// # Errors
/// As for [`release`], naming the parameter.
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

/// What an address ends with that answers for the release which the request asked for, and for the
/// present one where it asked for none.
pub fn release_asked_for(call: &Call<'_>) -> String {
    if call.query.names_release() {
        format!("?release={}", call.release.manifest.release_id)
    } else {
        String::new()
    }
}

/// The manifest of a release.
pub fn manifest<'a>(call: &'a Call<'_>, earlier: &'a Earlier) -> &'a Manifest {
    earlier.as_deref().unwrap_or(&call.release.manifest)
}

/// A dataset of a release.
///
/// # Errors
/// `not_found`, when it has none of that id.
pub fn dataset<'a>(
    manifest: &'a Manifest,
    field: &str,
    dataset_id: &str,
) -> Result<&'a DatasetEntry> {
    manifest.datasets.get(dataset_id).ok_or_else(|| {
        let message = format!(
            "release {} has no dataset `{dataset_id}`; /v1/datasets lists those of the present one",
            manifest.release_id
        );
        Problem::of_field(Code::NotFound, field, message)
    })
}

/// The releases of the channel that are kept, newest first, each once, so many at most, and none
/// that was published after the one that answers: what a release says of the past stays the same.
///
/// # Errors
/// `internal_error`, when the store cannot be asked.
pub async fn newest_kept(call: &Call<'_>, most: usize) -> Result<Vec<Arc<Summary>>> {
    let catalog = &call.service.catalog;
    let history = catalog.history().await?;
    let mut seen = BTreeSet::new();
    let ids: Vec<&ReleaseId> = history
        .iter()
        .rev()
        .map(|entry| &entry.release_id)
        .filter(|id| seen.insert(*id))
        .take(MOST_ASKED_FOR)
        .collect();
    let mut found = Vec::new();
    for together in ids.chunks(ASKED_FOR_AT_A_TIME) {
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
