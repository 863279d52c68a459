//! Parses `pipelines/<family>/<name>.toml` into typed declarations. A declaration states which
//! files a pipeline reads, their layout, and the expectations for its datasets. Each file contains
//! one declaration. Declarations contain facts, never conditions; conditions are written in Rust in
//! the dataset's source file.

mod calendar;
mod declaration;
mod drift;
mod holidays;
mod labels;
mod likeness;
mod listing;
mod load;
mod normalized_name;
mod sftp;
mod template;
mod word_limits;

pub use calendar::Schedule;
pub use declaration::{
    AppToken, Buckets, Cadence, Calendar, CountQuery, DatedBy, Declaration, Encoding, Every,
    Evidence, EvidenceKind, Expectations, Format, LabelRange, LayoutEvidence,
    MIN_ROWS_FOR_WARNED_SHARE, Pages, PartitionRange, Source, Syntax, Variable,
};
pub use drift::{ColumnDrift, Drift, DriftLimits};
pub use labels::{Editions, are_labels};
pub use likeness::{nearest, suggested};
pub use listing::{Listed, Listing};
pub use load::{Declarations, canonical_json};
pub use normalized_name::normalized_name;
pub use sftp::{SftpLogin, is_fingerprint, variable_of};
pub use template::{expand, is_packed};
pub use word_limits::WordLimits;
