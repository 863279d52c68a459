//! Traces a published record back to the publisher's bytes. Determines where these bytes are, how
//! much of them may be shown, whether they still produce the record, and what changed the record
//! between two releases.

pub mod available_snapshots;
pub mod part_claims;
pub mod public_replay;
pub mod published;
pub mod replay;
pub mod shown;
pub mod trace;
pub mod verify;
pub mod why;
