//! Whole families on real agency files, against readers that share no code with the program. Skipped where the files are not.

mod geo;
mod sec;
mod tax;
mod zip;
