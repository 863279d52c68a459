//! Decides for each task what to do, and why. Resolves selectors, identifies builds, and applies
//! the effects of upstream tasks and acceptances. Builds nothing.

pub mod accepted;
pub mod calendar;
pub mod code_version;
pub mod entry;
pub mod made_with;
pub mod plan;
pub mod selection;
pub mod upgrade;
pub mod upstream;
