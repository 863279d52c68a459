//! Finds names: one engine for registrants, businesses and licenses, with the same words and the
//! same scale of scores for all.

mod by_words;
pub mod collected;
pub mod hit;
pub mod names;
pub mod query;
pub mod rank;
pub mod row_hit;
pub mod row_names;
pub mod said;
mod shared_words;
pub mod typo;
mod weights;
