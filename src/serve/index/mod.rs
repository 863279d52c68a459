//! What large datasets are found by: columns and keys in memory while they are made, mapped from a
//! file at every later start. Knows no dataset.

pub mod file;
pub mod hash_index;
pub mod key_hash;
mod place;

pub use place::place_near;
