//! Returns the public view of a replay, for any client that may see the record.

use super::available_snapshots::AvailableSnapshots;
use super::replay::Difference;
use super::shown::{NO_COPY, is_open, without_home};
use super::trace::{ReplayResult, entry_of, remade, snapshot_of};
use crate::settings::{QUARANTINE, RunSettings};
use pubdata_core::error::Result;
use pubdata_store::FoundRecord;
use pubdata_store::evidence::{DifferenceView, Replay, ReplayView};

/// Maximum number of snapshot bytes to copy from the store for one request. The limit is needed
/// because clients are untrusted.
const MAX_STORE_BYTES: u64 = 32 << 20;

/// Rebuilds a record from its bytes and returns the public view of the result. For a list that may
/// concern persons, each difference names only its column.
///
/// # Errors
/// Returns `Store` if a snapshot cannot be read, or if the manifest does not name the build of the
/// record.
pub async fn public_replay(settings: &RunSettings, found: &FoundRecord<'_>) -> Result<ReplayView> {
    if found.record_id.dataset_id() == QUARANTINE {
        return Ok(ReplayView::untried(
            "only `pubdata trace` rebuilds a quarantined record, because that needs its whole list",
        ));
    }
    let entry = entry_of(found)?;
    if !found
        .pointers
        .iter()
        .all(|pointer| snapshot_of(entry, pointer).is_some())
    {
        return Ok(ReplayView::untried(NO_COPY));
    }
    let mut available_snapshots = AvailableSnapshots::new(settings, None).at_most(MAX_STORE_BYTES);
    let ReplayResult {
        replay,
        not_possible,
        missing,
        differences,
        notes,
    } = remade(settings, found, &mut available_snapshots).await?;
    if !missing.is_empty() && replay == Replay::NotPossible {
        return Ok(ReplayView::untried(NO_COPY));
    }
    let is_told = found
        .pointers
        .iter()
        .all(|pointer| is_open(settings, &pointer.source_id));
    let view = |Difference { column, text }| DifferenceView {
        column,
        detail: is_told.then(|| without_home(settings, &text)),
    };
    Ok(ReplayView {
        verdict: Some(replay),
        reason: not_possible,
        differences: differences.into_iter().map(view).collect(),
        notes,
    })
}
