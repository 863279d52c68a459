//! Tests of everything that answers: the HTTP API, its pages, receipts, `verify --url`, metrics and
//! JSON documents.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::float_cmp,
    reason = "a test may panic, print the reason for a skip, and compare exact figures"
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
