//! All integration tests, one binary. Folders mirror commands, datasets and URLs.
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::float_cmp, reason = "a test may stop at once, say why it skips, and compare exact figures")]

mod architecture;
mod coverage;
mod datasets;
mod declarations;
mod decode;
mod documents;
mod faults;
mod fetch;
mod fixtures;
mod follow;
mod formats;
mod habits;
mod json;
mod lineage;
mod monitor;
mod objects;
mod peers;
mod publish;
mod publisher;
mod real;
mod receipts;
mod run;
mod serve;
mod support;
mod validate;
mod witness;
