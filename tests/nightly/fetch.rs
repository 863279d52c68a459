//! Fetching against a publisher that behaves and one that does not: the outcome, the message, and
//! what is on disk afterwards.

mod beliefs;
mod completeness;
mod conditions;
mod desk;
mod encodings;
mod making;
mod mirrors;
mod network;
mod politeness;
mod redirects;
mod refusals;
mod resuming;
mod secrets;
pub mod sftp;
mod snapshots;
