//! Searches the names of registrants, businesses and licenses with one engine, which uses the same
//! word rules and score scale for all of them.

mod by_words;
pub mod collected;
pub mod hit;
pub mod names;
pub mod posting_payload;
pub mod query;
pub mod rank;
pub mod row_hit;
pub mod row_names;
mod shared_words;
pub mod typo;
mod weights;
