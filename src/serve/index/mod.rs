//! Provides indexes for large datasets: columns and keys in memory while they are built, and mapped
//! from a file at later starts. The module does not depend on any dataset.

pub mod file;
pub mod hash_index;
pub mod key_hash;
mod place;

pub use place::search_near;
