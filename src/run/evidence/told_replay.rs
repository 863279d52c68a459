//! What comes of making a record again, as far as anyone may be told who may see the record.

use super::at_hand::AtHand;
use super::replay::Difference;
use super::shown::{NO_COPY, is_open, without_home};
use super::trace::{Remade, entry_of, remade, snapshot_of};
use crate::settings::{QUARANTINE, RunSettings};
use pubdata_core::error::Result;
use pubdata_store::FoundRecord;
use pubdata_store::evidence::{Replay, ToldDifference, ToldReplay};

/// Bytes of snapshots that one request may have come from the store: who asks is not trusted with
/// more.
const MOST_OF_STORE: u64 = 32 << 20;

/// Makes a record again from its bytes and tells what comes of it. What comes out otherwise of a
/// list that may tell of persons is named by its columns only.
///
/// # Errors
/// `Store`, when a snapshot cannot be read, or the manifest does not say of which build the record
/// is.
pub async fn told_replay(settings: &RunSettings, found: &FoundRecord<'_>) -> Result<ToldReplay> {
    if found.record_id.dataset_id() == QUARANTINE {
        return Ok(ToldReplay::untried(
            "a quarantined record is built again from all of its list: `pubdata trace` does that",
        ));
    }
    let entry = entry_of(found)?;
    if !found
        .pointers
        .iter()
        .all(|pointer| snapshot_of(entry, pointer).is_some())
    {
        return Ok(ToldReplay::untried(NO_COPY));
    }
    let mut at_hand = AtHand::new(settings, None).at_most(MOST_OF_STORE);
    let Remade {
        replay,
        not_possible,
        missing,
        differences,
        notes,
    } = remade(settings, found, &mut at_hand).await?;
    if !missing.is_empty() && replay == Replay::NotPossible {
        return Ok(ToldReplay::untried(NO_COPY));
    }
    let is_told = found
        .pointers
        .iter()
        .all(|pointer| is_open(settings, &pointer.source_id));
    let told = |Difference { column, text }| ToldDifference {
        column,
        detail: is_told.then(|| without_home(settings, &text)),
    };
    Ok(ToldReplay {
        verdict: Some(replay),
        reason: not_possible,
        differences: differences.into_iter().map(told).collect(),
        notes,
    })
}
