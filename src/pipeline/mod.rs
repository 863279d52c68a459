//! Turns `pipelines/<family>/<name>.toml` into typed declarations: which files a pipeline reads, in which layout, and what to
//! expect of its datasets. One declaration per file. Declarations hold facts, never conditions; what needs an `if` is Rust in
//! the dataset's file.

mod declaration;
mod load;
mod template;

pub use declaration::{Cadence, Declaration, Expectations, Format, PartitionRange, Source, Syntax};
pub use load::{Declarations, canonical_json};
pub use template::expand;
