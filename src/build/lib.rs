//! Turns a task's snapshots into validated, staged Parquet parts and a published release: decode,
//! normalise, datasets, validate, publish. Asks no publisher and decides nothing about what is to
//! be built.

pub mod datasets;
pub mod decode;
pub mod normalise;
pub mod publish;
pub mod validate;
