//! Describes the origin of a record: pointers into snapshots, and the snapshots themselves.
//!
//! Between the decode and publish steps, a frame stores its pointers in the column [`POINTERS`].
//! The column is a list of unsigned integers, four per pointer: input, member, offset, length.
//! `input` and `member` are indices into the build's [`Inputs`].

use std::collections::BTreeMap;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::Digest;

/// Name of the source pointer column, in frames and in published parts.
pub const POINTERS: &str = "source_pointers";

/// A byte range in a snapshot, or in a decompressed archive member.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct SourcePointer {
    /// Id of the source.
    pub source_id: String,
    /// Digest of the snapshot. If the members of an archive are reused individually across
    /// releases, this is the member's digest. Unchanged members then have the same pointers
    /// regardless of the archive they came from.
    pub snapshot: Digest,
    /// Name of the archive member; null if the snapshot is not an archive.
    pub member: Option<String>,
    /// Offset of the first byte in the file or decompressed archive member, counted from 0.
    pub offset: u64,
    /// Number of bytes, without the line ending.
    pub length: u64,
}

/// A publisher's file as fetched, with its identity, origin and dates. Equal bytes have equal
/// digests, regardless of their dates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// Id of the source.
    pub source_id: String,
    /// The values of the URL template's variables, such as `vintage=2023`, sorted by name.
    pub keys: BTreeMap<String, String>,
    /// The publisher's URL, without secrets.
    pub url: String,
    /// Digest of the bytes.
    pub sha256: Digest,
    /// Size of the file in bytes.
    pub size_bytes: u64,
    /// The publisher's own label for these bytes ("2019-2023", "2025").
    pub source_version: String,
    /// The publisher's own date for these bytes (Last-Modified, or the file's time on a mirror),
    /// `YYYY-MM-DD`.
    #[schemars(extend("format" = "date"))]
    pub source_date: String,
    /// The server's ETag; null if it sent none.
    pub etag: Option<String>,
    /// The server's Last-Modified, as sent; null if it sent none.
    pub last_modified: Option<String>,
    /// When the bytes were first fetched, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    pub fetched_at: String,
    /// The redirect targets of the publisher's server, in order, without queries; the last one sent
    /// the bytes. Absent if the request was not redirected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirected_through: Vec<String>,
    /// How the file was obtained. Absent if the program fetched it.
    #[serde(default, skip_serializing_if = "Obtained::is_by_program")]
    #[schemars(with = "String", extend("enum" = ["by hand"]))]
    pub obtained: Obtained,
    /// Name of the mirror that the bytes came from. Absent if they came from the publisher or a
    /// manual import. Like the fetch date, the mirror does not affect builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub mirror: Option<String>,
}

impl Snapshot {
    /// Returns the date of the bytes: the publisher's date, or the day of the fetch if the
    /// publisher's date is [in the future](Snapshot::has_future_date).
    pub fn day(&self) -> Option<Date> {
        if self.has_future_date() {
            self.day_of_fetch()
        } else {
            self.source_date.parse().ok()
        }
    }

    /// Returns whether the publisher's date for the bytes is more than a day after they were first
    /// fetched. Such a date would keep them fresh for years. Imported and bundled files are not
    /// checked: the operator or the declaration is responsible for their dates.
    pub fn has_future_date(&self) -> bool {
        let is_of_publisher =
            self.obtained == Obtained::ByProgram && !self.url.starts_with("bundled:");
        let dates = self.source_date.parse().ok().zip(self.day_of_fetch());
        is_of_publisher && dates.is_some_and(|(stated, fetched)| is_future_date(stated, fetched))
    }

    /// Returns the day of the first fetch, in UTC.
    pub fn day_of_fetch(&self) -> Option<Date> {
        self.fetched_at.get(..10)?.parse().ok()
    }
}

/// Returns whether a publisher's date is more than one day after the day on which the date was
/// read. A publisher east of Greenwich may be a day ahead.
pub fn is_future_date(stated: Date, read_on: Date) -> bool {
    read_on.tomorrow().is_ok_and(|tomorrow| stated > tomorrow)
}

/// How a file was obtained from the publisher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Obtained {
    #[default]
    #[serde(rename = "by program")]
    ByProgram,
    /// Imported manually by the operator (`pubdata import`).
    #[serde(rename = "by hand")]
    Manual,
}

impl Obtained {
    /// Returns the serialised name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ByProgram => "by program",
            Self::Manual => "by hand",
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the form serde wants")]
    fn is_by_program(&self) -> bool {
        *self == Self::ByProgram
    }
}

/// How a build used the rows that it read from one of its sources. The counts add up to `read`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceRows {
    /// Rows in the files, excluding rows that the declaration ignores.
    pub read: u64,
    /// Rows that start a published record.
    pub records: u64,
    /// Rows that contribute to a record started by another row: rows that are joined to the record,
    /// renew it, or repeat it.
    pub merged: u64,
    /// Rows that are not published because they violate a rule.
    pub quarantined: u64,
    /// Rows that are not published for another reason, by reason: `replaced`, `repeated`, `unused`
    /// or the code of a warning.
    pub left_out: BTreeMap<String, u64>,
}

impl SourceRows {
    /// Adds the counts for other rows of the same source.
    pub fn add(&mut self, other: &Self) {
        let add = |own: &mut u64, more: u64| *own = own.saturating_add(more);
        add(&mut self.read, other.read);
        add(&mut self.records, other.records);
        add(&mut self.merged, other.merged);
        add(&mut self.quarantined, other.quarantined);
        other.left_out.iter().for_each(|(reason, count)| {
            add(self.left_out.entry(reason.clone()).or_default(), *count);
        });
    }

    /// Returns the number of rows that are accounted for.
    pub fn accounted(&self) -> u64 {
        [self.records, self.merged, self.quarantined]
            .iter()
            .chain(self.left_out.values())
            .fold(0, |sum: u64, count| sum.saturating_add(*count))
    }
}

/// Reason in [`SourceRows::left_out`] for rows that no record needed.
pub const UNUSED: &str = "unused";

/// The snapshots used by one dataset build, in a fixed order, so that a pointer can refer to a
/// snapshot by number.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Inputs {
    snapshots: Vec<Snapshot>,
    members: Vec<NumberedMember>,
}

/// The name of an archive member, and the member's digest if pointers contain it.
type NumberedMember = (Option<String>, Option<Digest>);

impl Inputs {
    /// Sorts the snapshots by source and keys, and numbers them in that order.
    pub fn new(mut snapshots: Vec<Snapshot>) -> Self {
        snapshots.sort_by(|a, b| (&a.source_id, &a.keys).cmp(&(&b.source_id, &b.keys)));
        Self {
            snapshots,
            members: vec![(None, None)],
        }
    }

    /// Returns the snapshots in numbering order.
    pub fn snapshots(&self) -> &[Snapshot] {
        &self.snapshots
    }

    /// Iterates over the snapshots of one source, with their numbers.
    pub fn of_source<'a>(
        &'a self,
        source_id: &'a str,
    ) -> impl Iterator<Item = (u64, &'a Snapshot)> {
        self.snapshots
            .iter()
            .enumerate()
            .filter(move |(_, snapshot)| snapshot.source_id == source_id)
            .map(|(index, snapshot)| (index as u64, snapshot))
    }

    /// Returns the number of an archive member, assigning one if it is new. Number 0 means no member.
    pub fn member_number(&mut self, member: Option<&str>) -> u64 {
        let position = self
            .members
            .iter()
            .position(|(known, digest)| known.as_deref() == member && digest.is_none());
        position.map_or_else(
            || self.add_member(member.map(str::to_owned), None),
            |position| position as u64,
        )
    }

    /// Assigns a new number to an archive member whose digest is part of its pointers.
    pub fn number_document(&mut self, member: &str, digest: Digest) -> u64 {
        self.add_member(Some(member.to_owned()), Some(digest))
    }

    fn add_member(&mut self, member: Option<String>, digest: Option<Digest>) -> u64 {
        self.members.push((member, digest));
        (self.members.len() - 1) as u64
    }

    /// Returns the four numbers of a pointer; this is the inverse of [`Inputs::resolve`]. Returns
    /// `None` if the pointer does not point into these inputs.
    pub fn numbers_of(&self, pointer: &SourcePointer) -> Option<[u64; 4]> {
        let document = self.members.iter().position(|(member, digest)| {
            *member == pointer.member && *digest == Some(pointer.snapshot)
        });
        let plain = || {
            self.members
                .iter()
                .position(|(member, digest)| *member == pointer.member && digest.is_none())
        };
        let is_its_source = |snapshot: &Snapshot| snapshot.source_id == pointer.source_id;
        let is_its_snapshot = |snapshot: &Snapshot| {
            is_its_source(snapshot) && (document.is_some() || snapshot.sha256 == pointer.snapshot)
        };
        let input = self.snapshots.iter().position(is_its_snapshot)?;
        Some([
            input as u64,
            document.or_else(plain)? as u64,
            pointer.offset,
            pointer.length,
        ])
    }

    /// Returns whether a flat list of numbers consists of complete pointers into these inputs.
    pub fn can_resolve(&self, numbers: &[u64]) -> bool {
        let is_known = |quad: &[u64]| {
            quad[0] < self.snapshots.len() as u64 && quad[1] < self.members.len() as u64
        };
        numbers.len().is_multiple_of(4) && numbers.chunks_exact(4).all(is_known)
    }

    /// Resolves a flat list of pointer numbers, four per pointer.
    ///
    /// # Panics
    /// When the numbers do not come from these inputs, which is a programming error.
    pub fn resolve(&self, numbers: &[u64]) -> Vec<SourcePointer> {
        let resolve_one = |quad: &[u64]| {
            let snapshot = &self.snapshots[quad[0] as usize];
            let (member, digest) = &self.members[quad[1] as usize];
            SourcePointer {
                source_id: snapshot.source_id.clone(),
                snapshot: digest.unwrap_or(snapshot.sha256),
                member: member.clone(),
                offset: quad[2],
                length: quad[3],
            }
        };
        numbers.chunks_exact(4).map(resolve_one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(source_date: &str, obtained: Obtained, url: &str) -> Snapshot {
        Snapshot {
            source_id: "test.table".to_owned(),
            keys: BTreeMap::new(),
            url: url.to_owned(),
            sha256: Digest::sha256(b"table"),
            size_bytes: 5,
            source_version: "current".to_owned(),
            source_date: source_date.to_owned(),
            etag: None,
            last_modified: None,
            fetched_at: "2026-11-28T04:30:00Z".to_owned(),
            redirected_through: Vec::new(),
            obtained,
            mirror: None,
        }
    }

    #[test]
    fn publisher_date_more_than_a_day_after_the_fetch_is_replaced() {
        let url = "https://publisher.example/table.csv";
        let day = |date: &str, obtained, url| {
            snapshot(date, obtained, url)
                .day()
                .map(|day| day.to_string())
        };
        for (date, expected) in [
            ("2026-11-28", "2026-11-28"),
            ("2026-11-29", "2026-11-29"),
            ("2026-11-30", "2026-11-28"),
            ("2399-12-31", "2026-11-28"),
        ] {
            assert_eq!(
                day(date, Obtained::ByProgram, url).as_deref(),
                Some(expected),
                "{date}"
            );
        }
        assert_eq!(day("no date", Obtained::ByProgram, url), None);
        assert_eq!(
            day("2026-12-24", Obtained::Manual, url).as_deref(),
            Some("2026-12-24"),
            "a person answers for it"
        );
        assert_eq!(
            day("2026-12-24", Obtained::ByProgram, "bundled:tax/states.csv").as_deref(),
            Some("2026-12-24"),
            "a declaration states it"
        );
    }
}
