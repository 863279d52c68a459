//! Hashes keys that consist of strings.

#[expect(
    clippy::disallowed_types,
    reason = "these hashes leave the process only in files whose names depend on the hash function"
)]
use std::hash::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Returns the hash of a key that consists of strings. The function may change with the standard
/// library.
#[expect(
    clippy::disallowed_types,
    reason = "these hashes leave the process only in files whose names depend on the hash function"
)]
pub fn hash(texts: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    hasher.finish()
}
