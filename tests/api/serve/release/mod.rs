//! What a server reads of releases, and which it keeps.

mod copies;
mod disk_cache;
mod kept;
