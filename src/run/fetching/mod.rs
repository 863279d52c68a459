//! Turns sources into snapshots. Uses a source's declaration, the calendar, a page or a manual
//! import to determine which files it needs, and then sorts the results for each task. The planning
//! module decides what to build, and why.

pub mod arrivals;
pub mod dates;
pub mod editions;
pub mod fetch;
pub mod fetch_target;
pub mod fetcher;
pub mod import;
pub mod listing;
pub mod manual_import;
pub mod pages;
pub mod remote;
pub mod requests;
pub mod source_fetcher;
