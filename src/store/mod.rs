//! Every path and pointer, on disk or in an object store: snapshots, releases, channels, ledger. Nothing else in the program
//! builds a path.

mod channels;
mod home;
mod manifest;
mod partial;
mod releases;
mod snapshots;

pub use channels::{CHANNEL_FORMAT_VERSION, ChannelAction, ChannelEntry, ChannelMove};
pub use home::{Home, RunLock};
pub use manifest::{DatasetEntry, MANIFEST_FORMAT_VERSION, Manifest, Part, PartReport, TaskEntry};
pub use partial::{Partial, PartialOf};
pub use releases::{IncompleteRelease, Releases};
pub use snapshots::{FileStamp, KnownUrl, Snapshots, StoredSnapshot, hash_matches};
