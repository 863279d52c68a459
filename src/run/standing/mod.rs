//! What stands between runs, from declarations, ledger and home, without asking anybody: what there
//! is of each task, and what a person has to see to.

pub mod attention;
pub mod tasks;
