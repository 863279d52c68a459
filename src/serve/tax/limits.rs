//! How much one request may ask for.

use crate::http::body::MAX_BATCH_ITEMS;
use crate::http::problem::{Code, Problem};

/// The most items of a batch, and lines of a sale.
pub const MAX_ITEMS: usize = MAX_BATCH_ITEMS;

/// The most characters of what a caller calls an item.
pub const MAX_OWN_ID: usize = 120;

/// The problem of a list that is longer than a batch may be.
pub fn batch_too_large(field: &str, count: usize) -> Problem {
    Problem::of_field(
        Code::BatchTooLarge,
        field,
        format!("`{field}` has {count} items, at most {MAX_ITEMS} are answered at once"),
    )
}
