//! Turns a task's snapshots into validated, staged Parquet parts and a published release, in the
//! stages decode, normalise, datasets, validate and publish. Contacts no publisher and does not
//! decide what to build.

pub mod datasets;
pub mod decode;
pub mod normalise;
pub mod publish;
pub mod validate;
