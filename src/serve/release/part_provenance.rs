//! Provides provenance for rows in memory: each row's source file, record id and validation status.

use bytes::Bytes;

use crate::release::dictionary::DictionaryColumn;
use crate::release::provenance::{Provenance, ProvenanceWriter};
use crate::release::row_sources::RowSources;
use crate::release::table::{Table, Texts};
use pubdata_core::error::Result;
use pubdata_core::provenance::Snapshot;
use pubdata_store::{Manifest, Part};

/// Provenance data of a part whose rows are in memory.
#[derive(Debug)]
pub struct PartProvenance {
    dataset_id: &'static str,
    part: Part,
    row_sources: RowSources,
    record_ids: Texts,
    statuses: DictionaryColumn,
}

impl PartProvenance {
    /// Columns that `table` must have.
    pub const COLUMNS: [&'static str; 2] = ["record_id", "validation_status"];

    /// Reads the provenance data of a part.
    pub fn read(
        dataset_id: &'static str,
        part: &Part,
        bytes: Bytes,
        table: &Table,
    ) -> Result<Self> {
        let row_sources = RowSources::read(bytes, &part.path)?;
        Ok(Self {
            dataset_id,
            part: part.clone(),
            row_sources,
            record_ids: table.texts("record_id")?,
            statuses: table.words("validation_status")?,
        })
    }

    /// Returns the provenance of a row.
    pub fn for_row<'r>(&'r self, manifest: &'r Manifest, row: usize) -> Provenance<'r> {
        ProvenanceWriter::new(manifest, self.dataset_id, &self.part).for_row(
            &self.row_sources,
            row,
            self.statuses.at(row),
            self.record_ids.at(row),
        )
    }

    pub fn validation_status(&self, row: usize) -> &str {
        self.statuses.at(row)
    }

    /// Returns the file that a row comes from.
    pub fn source<'a>(&self, manifest: &'a Manifest, row: usize) -> Option<&'a Snapshot> {
        ProvenanceWriter::new(manifest, self.dataset_id, &self.part).source(&self.row_sources, row)
    }

    /// Returns all files that the part's build read.
    pub fn files<'a>(&self, manifest: &'a Manifest) -> &'a [Snapshot] {
        manifest
            .tasks
            .get(&self.part.task_id)
            .map(|task| task.inputs.as_slice())
            .unwrap_or_default()
    }

    pub fn record_id(&self, row: usize) -> &str {
        self.record_ids.at(row)
    }
}
