//! Determines the state between runs from declarations, ledger and home, without sending any
//! requests: the status of each task, and everything that needs the operator's attention.

pub mod attention;
pub mod tasks;
