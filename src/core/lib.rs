//! Turns the files of `pipelines/` and `schemas/` into checked declarations and contracts, and
//! holds the types that every other member speaks in: ids, errors, findings, provenance, names in
//! canonical form. Reads no snapshot and no release; knows no agency.

pub mod canonical;
pub mod contract;
pub mod declared;
pub mod error;
pub mod ids;
pub mod issue;
pub mod pipeline;
pub mod printable;
pub mod provenance;
