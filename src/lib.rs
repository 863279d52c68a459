//! Builds and serves trustworthy public data: publishers' bulk files in, one immutable release of Parquet parts out, and a
//! read-only HTTP API on top. `docs/ARCHITECTURE.md` says which folder holds what and which may import which.

pub mod contract;
pub mod declared;
pub mod error;
pub mod ids;
pub mod issue;
pub mod pipeline;
pub mod provenance;
pub mod serve;
pub mod store;
