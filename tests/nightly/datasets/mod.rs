//! The pipelines over the fixtures: every published row of every case, and the figures that
//! everybody can look up.

mod business;
mod cases;
mod figures;
mod filings;
mod golden;
mod license;
mod permits;
mod taxonomy;
