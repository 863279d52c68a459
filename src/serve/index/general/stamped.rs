//! The provenance of rows that are in memory: from which file each comes, under which record id, and how its validation ended.

use bytes::Bytes;

use crate::error::Result;
use crate::provenance::Snapshot;
use crate::serve::index::sec::{Heads, Stamps};
use crate::serve::index::table::{Table, Texts};
use crate::serve::index::words::WordColumn;
use crate::serve::json::Json;
use crate::store::{Manifest, Part};

/// What the provenance of a part's rows is written from, for parts that are in memory.
#[derive(Debug)]
pub struct Stamped {
    dataset_id: &'static str,
    part: Part,
    heads: Heads,
    record_ids: Texts,
    statuses: WordColumn,
}

impl Stamped {
    /// The columns that `table` must have.
    pub const COLUMNS: [&'static str; 2] = ["record_id", "validation_status"];

    /// Reads a part.
    ///
    /// # Errors
    /// `Store`, when the part lacks a column.
    pub fn read(dataset_id: &'static str, part: &Part, bytes: Bytes, table: &Table) -> Result<Self> {
        let heads = Heads::read(bytes, &part.path)?;
        Ok(Self { dataset_id, part: part.clone(), heads, record_ids: table.texts("record_id")?, statuses: table.words("validation_status")? })
    }

    /// Writes the provenance object of a row.
    pub fn write(&self, json: &mut Json, manifest: &Manifest, row: usize) {
        Stamps::new(manifest, self.dataset_id, &self.part).write(json, &self.heads, row, self.statuses.at(row), self.record_ids.at(row));
    }

    /// The file that a row comes from.
    pub fn source<'a>(&self, manifest: &'a Manifest, row: usize) -> Option<&'a Snapshot> {
        Stamps::new(manifest, self.dataset_id, &self.part).source(&self.heads, row)
    }

    pub fn record_id(&self, row: usize) -> &str {
        self.record_ids.at(row)
    }
}
