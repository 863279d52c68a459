//! Tests of commands that fetch and run: `pubdata run`, `plan`, `probe`, `new`, `follow`, `import`,
//! `trace`, `verify`, and faults of all kinds.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::float_cmp,
    reason = "a test may stop at once, say why it skips, and compare exact figures"
)]

mod datasets;
mod faults;
mod fetch;
mod follow;
mod lineage;
mod peers;
mod run;
