//! Hashes of keys that are made of texts.

#[expect(
    clippy::disallowed_types,
    reason = "these hashes leave the process only in files whose names say how they are made"
)]
use std::hash::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Hash of a key that is made of texts. Another one with another standard library.
#[expect(
    clippy::disallowed_types,
    reason = "these hashes leave the process only in files whose names say how they are made"
)]
pub fn hash(texts: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    hasher.finish()
}
