//! Fetching against a publisher that behaves and one that does not: the outcome, the message, and what is on disk afterwards.

mod conditions;
mod desk;
mod mirrors;
mod politeness;
mod refusals;
mod resuming;
mod secrets;
mod sftp;
mod snapshots;
