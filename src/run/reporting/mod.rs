//! Describes a run before, during and after it: plan, report, exit code, findings about sources.
//! Contains data only, no step of the run.

pub mod findings;
pub mod plan;
pub mod report;
