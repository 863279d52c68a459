//! Every path and pointer, on disk or in an object store: snapshots, releases, channels, ledger. Nothing else in the program
//! builds a path.

mod home;
mod keys;
mod manifest;
mod plans;

pub use home::{Home, RunLock};
pub use keys::{ApiKey, CreatedKey, Keys, NewKey, Scope};
pub use manifest::{DatasetEntry, MANIFEST_FORMAT_VERSION, Manifest, Part, PartReport, TaskEntry};
pub use plans::{ANONYMOUS_PLAN, Plan, Plans};
