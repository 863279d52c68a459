//! Limits the size of one request.

use crate::http::body::MAX_BATCH_ITEMS;
use crate::http::problem::{Code, Problem};

/// Maximum number of items in a batch and of lines in a sale.
pub const MAX_ITEMS: usize = MAX_BATCH_ITEMS;

/// Maximum number of characters of a caller's identifier.
pub const MAX_CLIENT_ID: usize = 120;

/// Returns the problem for a list that exceeds [`MAX_ITEMS`].
pub fn batch_too_large(field: &str, count: usize) -> Problem {
    Problem::of_field(
        Code::BatchTooLarge,
        field,
        format!("`{field}` has {count} items; a request may have at most {MAX_ITEMS}"),
    )
}
