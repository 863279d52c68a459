//! Tests of the repository itself: layers, habits, declarations, documents, fixtures.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::float_cmp,
    reason = "a test may stop at once, say why it skips, and compare exact figures"
)]

mod architecture;
mod declarations;
mod documents;
mod fixtures;
mod habits;
mod language;
