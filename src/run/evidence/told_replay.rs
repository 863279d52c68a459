//! What comes of making a record again, as far as anyone may be told who may see the record.

use serde::Serialize;

use super::at_hand::AtHand;
use super::replay::{Difference, Replay};
use super::shown::{NO_COPY, is_open, without_home};
use super::trace::{Remade, entry_of, remade, snapshot_of};
use crate::settings::{QUARANTINE, RunSettings};
use pubdata_core::error::Result;
use pubdata_store::FoundRecord;

/// Bytes of snapshots that one request may have come from the store: who asks is not trusted with more.
const MOST_OF_STORE: u64 = 32 << 20;

/// What comes of making a record again, as far as it may be told.
#[derive(Debug, Serialize)]
pub struct ToldReplay {
    /// What came of it; none where it could not be tried here.
    pub verdict: Option<Replay>,
    /// Why it is not possible, or could not be tried.
    pub reason: Option<String>,
    pub differences: Vec<ToldDifference>,
    pub notes: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct ToldDifference {
    /// The column that comes out otherwise; none where the record does not come out at all, or its bytes are damaged.
    pub column: Option<String>,
    /// None where it could tell what is not published.
    pub detail: Option<String>,
}

/// Makes a record again from its bytes and tells what comes of it. What comes out otherwise of a list that may tell of persons is named by its columns only.
///
/// # Errors
/// `Store`, when a snapshot cannot be read, or the manifest does not say of which build the record is.
pub async fn told_replay(settings: &RunSettings, found: &FoundRecord<'_>) -> Result<ToldReplay> {
    let untried = |reason: &str| ToldReplay { verdict: None, reason: Some(reason.to_owned()), differences: Vec::new(), notes: Vec::new() };
    if found.record_id.dataset_id() == QUARANTINE {
        return Ok(untried("a quarantined record is built again from all of its list: `pubdata trace` does that"));
    }
    let entry = entry_of(found)?;
    if !found.pointers.iter().all(|pointer| snapshot_of(entry, pointer).is_some()) {
        return Ok(untried(NO_COPY));
    }
    let mut at_hand = AtHand::new(settings, None).at_most(MOST_OF_STORE);
    let Remade { replay, not_possible, missing, differences, notes } = remade(settings, found, &mut at_hand).await?;
    if !missing.is_empty() && replay == Replay::NotPossible {
        return Ok(untried(NO_COPY));
    }
    let is_told = found.pointers.iter().all(|pointer| is_open(settings, &pointer.source_id));
    let told = |Difference { column, text }| ToldDifference { column, detail: is_told.then(|| without_home(settings, &text)) };
    Ok(ToldReplay { verdict: Some(replay), reason: not_possible, differences: differences.into_iter().map(told).collect(), notes })
}
