//! Turns `pipelines/<family>/<name>.toml` into typed declarations: which files a pipeline reads, in which layout, and what to
//! expect of its datasets. One declaration per file. Declarations hold facts, never conditions; what needs an `if` is Rust in
//! the dataset's file.

mod declaration;
mod fold;
mod likeness;
mod listing;
mod load;
mod template;

pub use declaration::{
    AppToken, Buckets, Cadence, Calendar, CountQuery, DatedBy, Declaration, Every, LabelRange, Variable, Encoding, Expectations, FEWEST_ROWS_FOR_WARNED_SHARE, Format, LayoutEvidence, Pages, PartitionRange, Source, Syntax,
};
pub use fold::fold;
pub use likeness::nearest;
pub use listing::{Listed, Listing};
pub use load::{Declarations, canonical_json};
pub use template::{expand, is_packed};
