//! Serves receipts of records, and the log that they refer to. The server issues receipts; it does
//! not have the signing key.

mod log;
mod receipt;

pub use log::answer as log_answer;
pub use receipt::ENDPOINT;
