//! Serves receipts for records, and the log to which they refer. The server issues receipts; it
//! does not have the signing key.

mod log;
mod receipt;

pub use log::answer as log_answer;
pub use receipt::ENDPOINT;
