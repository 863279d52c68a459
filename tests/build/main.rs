//! Tests of the code that turns files into a release: decoders, validation, publishing. They also
//! check what other readers find in a published release.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::float_cmp,
    reason = "a test may stop at once, say why it skips, and compare exact figures"
)]

mod decode;
mod peers;
mod publish;
mod validate;
