//! What is told of a run, before it, while it goes on and after it: plan, report, exit code,
//! findings about sources. Data, and no step of the run.

pub mod findings;
pub mod plan;
pub mod report;
