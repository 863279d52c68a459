//! Decides for each task what to do, and why. Resolves selectors, identifies builds, and takes
//! upstream tasks and acceptances into account. Builds nothing.

pub mod accepted;
pub mod calendar;
pub mod code_version;
pub mod entry;
pub mod made_with;
pub mod plan;
pub mod selection;
pub mod upgrade;
pub mod upstream;
