//! Reads the published Parquet with other programs. `.ci/run` installs their packages; without
//! them, these tests print a reason and skip.

mod expected;
mod readers;
mod tables;
mod views;
