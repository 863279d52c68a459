//! Tests of what answers: the HTTP API, its pages, receipts, `verify --url`, metrics, documents in
//! JSON.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::float_cmp,
    reason = "a test may stop at once, say why it skips, and compare exact figures"
)]

mod coverage;
mod formats;
mod json;
mod monitor;
mod peers;
mod real;
mod receipts;
mod serve;
mod specification;
mod witness;
