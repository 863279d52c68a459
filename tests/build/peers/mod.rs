//! Other programs read the published Parquet. They are packages that `.ci/run` installs; without
//! them these tests say so and skip.

mod expected;
mod readers;
mod tables;
mod views;
