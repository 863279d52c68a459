//! From a published record back to the publisher's bytes: where they are, what of them may be
//! shown, whether they still make the record, and which change between two releases made it
//! another.

pub mod at_hand;
pub mod part_claims;
pub mod published;
pub mod replay;
pub mod shown;
pub mod told_replay;
pub mod trace;
pub mod verify;
pub mod why;
