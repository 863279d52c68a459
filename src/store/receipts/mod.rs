//! Proves to anyone, without this program, that a release contains or does not contain a record.
//! The proofs use Merkle trees over records, and a signed, append-only log of releases. This module
//! does not decide what is published, and reads nothing but parts.
//!
//! ```text
//! record ─ canonical JSON ─▶ leaf ─▶ tree of a part ─▶ tree of a dataset ─▶ tree of a release ─▶ seal ─▶ log of a channel ─▶ signed checkpoint
//! ```
//! Trees follow RFC 9162 with SHA-256; the log is C2SP `tlog-tiles`, and its checkpoint is a C2SP
//! `signed-note` with Ed25519. The publisher's key is used where releases are sealed and is never
//! on a server. Decision 29 explains why the roots are next to the manifest and not in it.

mod examine;
mod log;
mod note;
mod part;
mod receipt;
mod record;
mod roots;
mod seal;
mod tree;
mod unrepeated;

pub use examine::{LogEntry, SealCheck, examine_seal};
pub use log::{Log, Logged, Signer, TILE, Tile, tile_name};
pub use note::{Checkpoint, SigningKey, VerifierKey};
pub use part::{Leaf, leaves_of_part};
pub use receipt::{LeafProof, MAX_RECEIPT_BYTES, PartProof, Receipt, Verified, issue};
pub use record::CanonicalRecords;
pub use roots::{BackgroundRoots, Roots};
pub use seal::{PartGroup, Seal, SealedDataset, SealedPart, SealedRelease, seal};
pub use tree::{
    consistency_path, inclusion_path, is_consistent, leaf_hash, node_hash, root, root_of_path,
};
