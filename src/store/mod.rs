//! Every path and pointer, on disk or in an object store: snapshots, releases, channels, ledger. Nothing else in the program
//! builds a path.

mod channels;
mod durable;
mod home;
mod ledger;
mod manifest;
mod partial;
mod releases;
mod snapshots;
mod staging;

pub use channels::{CHANNEL_FORMAT_VERSION, ChannelAction, ChannelEntry, ChannelMove};
pub use home::{Home, RunLock};
pub use ledger::{LEDGER_FORMAT_VERSION, LedgerEntry, LedgerTask, append_ledger, read_ledger};
pub use manifest::{DatasetEntry, MANIFEST_FORMAT_VERSION, Manifest, Part, PartReport, TaskEntry, part_path};
pub use partial::{Partial, PartialOf};
pub use releases::{IncompleteRelease, Releases};
pub use snapshots::{FileStamp, KnownUrl, Snapshots, StoredSnapshot, hash_matches};
pub use staging::Staging;
