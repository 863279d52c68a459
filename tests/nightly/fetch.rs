//! Fetches from well-behaved and faulty publishers, and checks the outcome, the message and the
//! files on disk.

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
