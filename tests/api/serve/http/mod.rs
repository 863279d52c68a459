//! Tests behaviour that all requests share: connections, keys, headers, problems, and the document
//! that describes every answer.

pub mod answers;
mod asked;
mod attacks;
mod bounds;
mod conditional;
mod connections;
mod headers;
mod hosts;
mod keys;
pub mod logs;
mod openapi;
mod problems;
mod strangers;
mod tables;
mod tokens;
mod unfinished;
