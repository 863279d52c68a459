//! Says of each task what is to be done, and why: what selectors name, what a build is known by,
//! what the files of others and persons' words change of it. Nothing is built here.

pub mod accepted;
pub mod calendar;
pub mod code_version;
pub mod entry;
pub mod made_with;
pub mod plan;
pub mod selection;
pub mod upgrade;
pub mod upstream;
