//! All integration tests, one binary. Folders mirror commands, datasets and URLs.

mod declarations;
mod validate;
