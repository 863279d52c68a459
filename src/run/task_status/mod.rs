//! Determines the state between runs from declarations, ledger and home, without any request: the
//! status of each task, and what needs the operator's attention.

pub mod attention;
pub mod tasks;
