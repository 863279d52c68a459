//! Parses the files of `pipelines/` and `schemas/` into checked declarations and contracts, and
//! defines the types that all other crates share: ids, errors, issues, provenance, normalised
//! names. This crate reads no snapshots or releases, and contains no agency-specific code.

pub mod canonical;
pub mod contract;
pub mod declared;
pub mod error;
pub mod ids;
pub mod issue;
pub mod pipeline;
pub mod printable;
pub mod provenance;
