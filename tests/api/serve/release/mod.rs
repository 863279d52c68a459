//! Tests which files of releases a server reads, and which releases it keeps.

mod copies;
mod disk_cache;
mod kept;
