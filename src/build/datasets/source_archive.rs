//! Archives of documents, on this machine or elsewhere, whose members are read one by one.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::decode::{Archive, Member, ReadAt};
use pubdata_core::error::{Result, ResultExt};
use pubdata_core::ids::Digest;
use pubdata_core::provenance::Snapshot;

/// Archives that are not, or not all, on this machine, by digest.
pub type Elsewhere = BTreeMap<Digest, Arc<dyn ReadAt>>;

/// A source whose file is an archive of documents.
pub struct SourceArchive {
    /// Number of the snapshot, for pointers.
    pub number: u64,
    pub snapshot: Snapshot,
    pub(super) archive: Archive,
}

impl SourceArchive {
    /// Where its directory begins, behind all members.
    pub fn directory_start(&self) -> u64 {
        self.archive.directory_start()
    }

    /// Says which members are read next: those of an archive that is elsewhere come at once, in
    /// place of one by one.
    ///
    /// # Errors
    /// `Store`, naming source, when they do not come.
    pub fn expect<'m>(&self, members: impl Iterator<Item = &'m Member>) -> Result<()> {
        self.archive
            .expect(members)
            .context(|| format!("{} ({})", self.snapshot.source_id, self.snapshot.url))
    }

    /// The members the declaration asks for, sorted by name.
    pub fn members(&self) -> &[Member] {
        self.archive.members()
    }

    /// The member of that name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.archive.member(name)
    }

    /// Reads a member into a buffer, whose content is replaced. Several threads may read at the
    /// same time.
    ///
    /// # Errors
    /// `Format`, naming source and member, when its bytes are not those the archive's directory
    /// describes.
    pub fn read(&self, member: &Member, content: &mut Vec<u8>) -> Result<()> {
        self.archive
            .read(member, content)
            .context(|| format!("{} ({})", self.snapshot.source_id, self.snapshot.url))
    }
}
