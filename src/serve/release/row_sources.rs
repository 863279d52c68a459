//! Which publisher's file each row comes from: what the row's first pointer names. Kept apart from the release, because a part that two
//! releases share may have been built from an archive of which each has another night's copy.

use std::sync::Arc;

use arrow::array::{AsArray, UInt32Array};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::error::{Error, Result};
use crate::ids::Digest;
use crate::provenance::POINTERS;

/// A row that says what no file holds, such as that a metric was never reported.
const NO_SOURCE: u32 = u32::MAX;

/// The files that rows come from, by row.
#[derive(Debug, Default)]
pub struct RowSources {
    of_rows: Vec<u32>,
    files: Vec<RowSource>,
}

/// What a row's first pointer names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowSource {
    pub source_id: Arc<str>,
    /// Of the file, or of a member of it.
    pub digest: Digest,
}

impl RowSources {
    /// Reads the first pointer of every row, without places in the file.
    ///
    /// # Errors
    /// `Store`, when the part has no pointers or a digest is damaged.
    pub fn read(bytes: Bytes, path: &str) -> Result<Self> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes)?;
        let schema = builder.parquet_schema();
        let is_wanted = |index: &usize| {
            let column = schema.column(*index);
            let parts = column.path().parts();
            parts.first().is_some_and(|first| first == POINTERS) && parts.last().is_some_and(|last| matches!(last.as_str(), "source_id" | "snapshot"))
        };
        let leaves: Vec<usize> = (0..schema.num_columns()).filter(is_wanted).collect();
        let mask = ProjectionMask::leaves(schema, leaves);
        let not_pointers = || Error::store(format!("{path}: there is no column `{POINTERS}` that holds pointers"));
        let mut read = Self::default();
        for batch in builder.with_projection(mask).build()? {
            let batch = batch?;
            let lists = batch.column_by_name(POINTERS).and_then(|column| column.as_list_opt::<i32>()).ok_or_else(not_pointers)?;
            let fields = lists.values().as_struct_opt().ok_or_else(not_pointers)?;
            let texts = |name: &str| fields.column_by_name(name).and_then(|column| column.as_string_opt::<i32>()).ok_or_else(not_pointers);
            let (source_ids, snapshots) = (texts("source_id")?, texts("snapshot")?);
            let mut last = None;
            for window in lists.value_offsets().windows(2) {
                let first = usize::try_from(window[0]).map_err(|_| not_pointers())?;
                if window[0] == window[1] {
                    read.of_rows.push(NO_SOURCE);
                    continue;
                }
                let head = (source_ids.value(first), snapshots.value(first));
                match read.of_rows.last() {
                    // Neighbours mostly come from the same file.
                    Some(&known) if last == Some(head) && known != NO_SOURCE => read.of_rows.push(known),
                    _ => read.push(head.0, head.1, path)?,
                }
                last = Some(head);
            }
        }
        Ok(read)
    }

    fn push(&mut self, source_id: &str, snapshot: &str, path: &str) -> Result<()> {
        let digest: Digest = snapshot.parse().map_err(|error| Error::store(format!("{path}: {error}")))?;
        // Looking further back would only save a little memory.
        let is_last = self.files.last().is_some_and(|head| head.digest == digest && *head.source_id == *source_id);
        if !is_last {
            let known = self.files.last().filter(|head| *head.source_id == *source_id).map(|head| head.source_id.clone());
            self.files.push(RowSource { source_id: known.unwrap_or_else(|| source_id.into()), digest });
        }
        self.of_rows.push(u32::try_from(self.files.len() - 1).map_err(|_| Error::store(format!("{path}: more files than rows can name")))?);
        Ok(())
    }

    /// Adds a row of another part.
    ///
    /// # Errors
    /// `Store`, when there are more files than rows can name.
    pub fn push_of(&mut self, other: &Self, row: usize) -> Result<()> {
        let Some(head) = other.of(row) else {
            self.of_rows.push(NO_SOURCE);
            return Ok(());
        };
        if self.files.last() != Some(head) {
            self.files.push(head.clone());
        }
        self.of_rows.push(u32::try_from(self.files.len() - 1).map_err(|_| Error::store("more files than rows can name"))?);
        Ok(())
    }

    /// The number of each row's file, and the files as JSON.
    pub fn to_copy(&self) -> (UInt32Array, String) {
        let row_sources: Vec<(&str, String)> = self.files.iter().map(|head| (&*head.source_id, head.digest.to_string())).collect();
        (self.of_rows.clone().into(), serde_json::to_string(&row_sources).expect("texts have a JSON form"))
    }

    /// Takes what [`RowSources::to_copy`] made.
    ///
    /// # Errors
    /// `Store`, when it is something else.
    pub fn from_copy(of_rows: &UInt32Array, row_sources: &str) -> Result<Self> {
        let row_sources: Vec<(String, String)> = serde_json::from_str(row_sources).map_err(|error| Error::store(error.to_string()))?;
        let head = |(source_id, digest): (String, String)| {
            let digest = digest.parse().map_err(|error| Error::store(format!("{error}")))?;
            Ok(RowSource { source_id: source_id.into(), digest })
        };
        Ok(Self { of_rows: of_rows.values().to_vec(), files: row_sources.into_iter().map(head).collect::<Result<_>>()? })
    }

    pub fn size_bytes(&self) -> usize {
        4 * self.of_rows.capacity() + 96 * self.files.capacity()
    }

    /// The file of a row; none of a row that says what no file holds.
    pub fn of(&self, row: usize) -> Option<&RowSource> {
        self.files.get(self.of_rows[row] as usize)
    }
}
