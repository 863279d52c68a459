//! Turns a task's snapshots into validated, staged Parquet parts and a published release: decode,
//! normalise, datasets, validate, publish. Contacts no publisher and does not decide what to build.

pub mod datasets;
pub mod decode;
pub mod normalise;
pub mod publish;
pub mod validate;
