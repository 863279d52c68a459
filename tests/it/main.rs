//! All integration tests, one binary. Folders mirror commands, datasets and URLs.
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::float_cmp, reason = "a test may stop at once, say why it skips, and compare exact figures")]

mod architecture;
mod datasets;
mod declarations;
mod decode;
mod fetch;
mod peers;
mod publish;
mod publisher;
mod run;
mod support;
mod validate;
