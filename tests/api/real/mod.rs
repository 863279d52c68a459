//! Checks complete families on real agency files, against readers that share no code with the
//! program. Skips if the files are absent.

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
