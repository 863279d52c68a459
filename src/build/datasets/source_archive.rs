//! Reads members of document archives one by one, from this machine or from a remote location.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::decode::{Archive, Member, ReadAt};
use pubdata_core::error::{Result, ResultExt};
use pubdata_core::ids::Digest;
use pubdata_core::provenance::Snapshot;

/// Archives that are not entirely on this machine, by digest.
pub type Elsewhere = BTreeMap<Digest, Arc<dyn ReadAt>>;

/// A source whose file is an archive of documents.
pub struct SourceArchive {
    /// Snapshot number, for pointers.
    pub number: u64,
    pub snapshot: Snapshot,
    pub(super) archive: Archive,
}

impl SourceArchive {
    /// Returns the offset of the archive's directory, after all members.
    pub fn directory_start(&self) -> u64 {
        self.archive.directory_start()
    }

    /// Announces the members to be read next. A remote archive then fetches them together instead
    /// of one by one.
    ///
    /// # Errors
    /// `Store`, naming the source, if the members cannot be fetched.
    pub fn expect<'m>(&self, members: impl Iterator<Item = &'m Member>) -> Result<()> {
        self.archive
            .expect(members)
            .context(|| format!("{} ({})", self.snapshot.source_id, self.snapshot.url))
    }

    /// Returns the members that the declaration selects, sorted by name.
    pub fn members(&self) -> &[Member] {
        self.archive.members()
    }

    /// Returns the member with this name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.archive.member(name)
    }

    /// Reads a member into a buffer, replacing its content. Several threads may read at the same
    /// time.
    ///
    /// # Errors
    /// `Format`, naming source and member, if the bytes do not match the archive's directory.
    pub fn read(&self, member: &Member, content: &mut Vec<u8>) -> Result<()> {
        self.archive
            .read(member, content)
            .context(|| format!("{} ({})", self.snapshot.source_id, self.snapshot.url))
    }
}
