//! Sources to snapshots: which files a source wants, by declaration, calendar, page or person, what
//! became of each, and which a task is given of them. What is to be built, and why, is decided
//! elsewhere.

pub mod arrivals;
pub mod by_hand;
pub mod dates;
pub mod editions;
pub mod fetch;
pub mod fetcher;
pub mod import;
pub mod listing;
pub mod pages;
pub mod remote;
pub mod requests;
pub mod source_fetcher;
pub mod wanted;
