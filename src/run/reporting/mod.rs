//! Describes a run before, during and after its execution: plan, report, exit code, and findings
//! about sources. Contains only data, not the steps of the run.

pub mod findings;
pub mod plan;
pub mod report;
