//! The command line of `pubdata`. This crate is the only one that knows all others, and the only
//! one that prints. `docs/ARCHITECTURE.md` describes the content of each folder.

pub mod cli;
