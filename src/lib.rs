//! Builds and serves trustworthy public data: publishers' bulk files in, one immutable release of Parquet parts out, and a
//! read-only HTTP API on top. `docs/ARCHITECTURE.md` says which folder holds what and which may import which.

pub mod canonical;
pub mod cli;
pub mod contract;
pub mod datasets;
pub mod declared;
pub mod decode;
pub mod error;
pub mod fetch;
pub mod follow;
pub mod ids;
pub mod issue;
pub mod lineage;
pub mod monitor;
pub mod normalise;
pub mod pipeline;
pub mod provenance;
pub mod publish;
pub mod receipts;
pub mod run;
pub mod serve;
pub mod store;
pub mod validate;
pub mod witness;
