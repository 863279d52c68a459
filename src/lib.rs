//! The command line of `pubdata`: the only member that knows all others, and the only one that
//! prints. `docs/ARCHITECTURE.md` says which folder holds what.

pub mod cli;
