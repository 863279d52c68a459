//! Whole families on real agency files, against readers that share no code with the program.
//! Skipped where the files are not.

mod answers;
mod business;
mod evidence;
mod geo;
mod license;
mod links;
mod names;
mod permits;
mod sec;
pub mod server;
mod tax;
mod words;
mod zip;
