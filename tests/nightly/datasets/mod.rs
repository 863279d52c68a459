//! Runs the pipelines over the fixtures: every published row of every case, and well-known figures.

mod business;
mod cases;
mod figures;
mod filings;
mod golden;
mod license;
mod permits;
mod taxonomy;
