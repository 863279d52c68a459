//! Turns built frames into an immutable release and points a channel at it. A release consists of
//! one Parquet part per dataset and partition, and one manifest. This module does not decide what
//! is rebuilt (`run`) or whether data is good enough (`validate`).
//!
//! ```text
//!   stage     frame → Arrow → Parquet; build.json last, durable, in HOME/staging:
//!     │       a killed run resumes from here if the checks are the same
//!     │
//!   write     parts into releases/<id>/, as hard links or staged bytes:
//!     │       without a manifest the release does not exist
//!   verify    read each part back: digest, footer, rows
//!   declare   declarations and contracts of the builds into releases/<id>/declarations/
//!   sidecars  Delta logs and datapackage.json, from contracts, manifest and the parts' footers
//!   fsync     every write into the release is durable when it returns
//!     │
//!   manifest  releases/<id>/manifest.json: the release exists, but no channel points at it
//!     │
//!   CAS       channels/<channel>/<generation + 1>.json, if absent: readers switch at this
//!     │       instant; one of two concurrent publishers wins
//!     │
//!   clear     the staged builds are removed
//!   ledger    the run is recorded (by `run`)
//! ```
//! If the process is killed before the CAS, the channel points at the old release. After the CAS,
//! the channel points at the new release, which is complete. All other leftovers are overwritten,
//! ignored or pruned.

mod batch;
mod chunk;
mod coded;
mod columns;
mod commit;
mod data_package;
mod declared;
mod delta_log;
mod deltas;
mod duckdb;
pub mod fault;
mod operations;
mod part;
mod part_claims;
mod quarantined;
mod replaced;
mod reused;
mod row_groups;
mod runs;
mod sidecars;
mod snapshots;
mod stage;
mod statistics;
mod subjects;
mod values;

pub use batch::record_batch;
pub use commit::{
    Committed, Contribution, Outcome, Prepared, TaskMetadata, commit, prepare, reason_not_reusable,
};
pub use duckdb::duckdb_views;
pub use operations::{
    PlannedMove, Pruned, ReleaseSummary, list, planned_promotion, planned_rollback, promote,
    prunable, prune, rollback,
};
pub use part::verify as verify_part;
pub use part_claims::{TaskFacts, UnitFacts};
pub use quarantined::quarantined_issues;
pub use reused::{PreviousPart, ReusedRows};
pub use snapshots::{UnneededSnapshots, referenced_snapshots};
pub use stage::{
    Build, BuildComparison, BuiltTable, KeepStatistics, PartObserver, RowValidation,
    STAGED_FORMAT_VERSION, Stage, StagedBuild, StagedPart, stage, staged,
};
pub use statistics::{Changes, ColumnStatistics, Statistics};
pub use subjects::{Lineage, PartSubject};
