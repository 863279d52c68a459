//! Receipts of records, and the log that they end in. A server issues and hands out; the key that
//! signs is not here.

mod log;
mod receipt;

pub use log::answer as log_answer;
pub use receipt::ENDPOINT;
