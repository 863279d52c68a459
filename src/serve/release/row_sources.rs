//! Maps each row to the publisher's file that its first pointer names. The mapping is independent
//! of a release: two releases that share a part may have different copies of the archive from which
//! the part was built.

use arrow::array::{AsArray, UInt32Array};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pubdata_store::parquet_error;

use crate::index::file::{Column, stored};
use crate::release::dictionary::DictionaryColumn;
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::ids::Digest;
use pubdata_core::provenance::POINTERS;

/// Code of a row without a source file, such as a metric that was never reported.
const NO_SOURCE: u32 = u32::MAX;
const DIGEST_BYTES: usize = 32;

/// Source files of rows.
#[derive(Debug, Default)]
pub struct RowSources {
    of_rows: Column<u32>,
    /// One entry for each source file.
    source_ids: DictionaryColumn,
    /// Digests of the files, contiguous.
    digests: Column<u8>,
}

stored!(RowSources {
    of_rows,
    source_ids,
    digests
});

/// Target of a row's first pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowSource<'a> {
    pub source_id: &'a str,
    /// Digest of the file, or of a member of the file.
    pub digest: Digest,
}

impl RowSources {
    /// Reads the first pointer of every row, without byte ranges.
    pub fn read(bytes: Bytes, path: &str) -> Result<Self> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(parquet_error)?;
        let schema = builder.parquet_schema();
        let is_selected = |index: &usize| {
            let column = schema.column(*index);
            let parts = column.path().parts();
            parts.first().is_some_and(|first| first == POINTERS)
                && parts
                    .last()
                    .is_some_and(|last| matches!(last.as_str(), "source_id" | "snapshot"))
        };
        let leaves: Vec<usize> = (0..schema.num_columns()).filter(is_selected).collect();
        let mask = ProjectionMask::leaves(schema, leaves);
        let not_pointers = || {
            Error::store(format!(
                "{path}: there is no column `{POINTERS}` that holds pointers"
            ))
        };
        let mut read = Self::default();
        for batch in builder
            .with_projection(mask)
            .build()
            .map_err(parquet_error)?
        {
            let batch = batch?;
            let lists = batch
                .column_by_name(POINTERS)
                .and_then(|column| column.as_list_opt::<i32>())
                .ok_or_else(not_pointers)?;
            let fields = lists.values().as_struct_opt().ok_or_else(not_pointers)?;
            let texts = |name: &str| {
                fields
                    .column_by_name(name)
                    .and_then(|column| column.as_string_opt::<i32>())
                    .ok_or_else(not_pointers)
            };
            let (source_ids, snapshots) = (texts("source_id")?, texts("snapshot")?);
            let mut last = None;
            for window in lists.value_offsets().windows(2) {
                let first = usize::try_from(window[0]).map_err(|_| not_pointers())?;
                if window[0] == window[1] {
                    read.of_rows.push(NO_SOURCE);
                    continue;
                }
                let head = (source_ids.value(first), snapshots.value(first));
                match read.of_rows.last().copied() {
                    // Neighbouring rows mostly come from the same file.
                    Some(known) if last == Some(head) && known != NO_SOURCE => {
                        read.of_rows.push(known);
                    }
                    _ => {
                        let digest = head
                            .1
                            .parse()
                            .map_err(|error| Error::store(format!("{path}: {error}")))?;
                        read.push(RowSource {
                            source_id: head.0,
                            digest,
                        })
                        .context(|| path.to_owned())?;
                    }
                }
                last = Some(head);
            }
        }
        Ok(read)
    }

    fn push(&mut self, file: RowSource<'_>) -> Result<()> {
        // Comparing with earlier files would save little memory.
        let is_last = self
            .files()
            .checked_sub(1)
            .is_some_and(|last| self.file(last) == file);
        if !is_last {
            self.source_ids.push(Some(file.source_id))?;
            self.digests.extend(file.digest.as_bytes());
        }
        let last = u32::try_from(self.files() - 1)
            .ok()
            .filter(|number| *number != NO_SOURCE);
        self.of_rows
            .push(last.ok_or_else(|| Error::store("more than 2^32 source files in one part"))?);
        Ok(())
    }

    /// Appends a row from another part.
    pub fn push_of(&mut self, other: &Self, row: usize) -> Result<()> {
        match other.get(row) {
            Some(file) => self.push(file),
            None => {
                self.of_rows.push(NO_SOURCE);
                Ok(())
            }
        }
    }

    /// Returns the file number of each row, and the files as JSON.
    pub fn to_copy(&self) -> (UInt32Array, String) {
        let files: Vec<(&str, String)> = (0..self.files())
            .map(|number| self.file(number))
            .map(|file| (file.source_id, file.digest.to_string()))
            .collect();
        (
            self.of_rows.to_vec().into(),
            serde_json::to_string(&files).expect("texts have a JSON form"),
        )
    }

    /// Opens a copy that [`RowSources::to_copy`] made.
    pub fn from_copy(of_rows: &UInt32Array, files: &str) -> Result<Self> {
        let files: Vec<(String, String)> =
            serde_json::from_str(files).map_err(|error| Error::store(error.to_string()))?;
        let mut read = Self {
            of_rows: of_rows.values().to_vec().into(),
            ..Self::default()
        };
        for (source_id, digest) in files {
            let digest: Digest = digest
                .parse()
                .map_err(|error| Error::store(format!("{error}")))?;
            read.source_ids.push(Some(&source_id))?;
            read.digests.extend(digest.as_bytes());
        }
        Ok(read)
    }

    fn files(&self) -> usize {
        self.digests.len() / DIGEST_BYTES
    }

    fn file(&self, number: usize) -> RowSource<'_> {
        let bytes = self.digests[number * DIGEST_BYTES..][..DIGEST_BYTES]
            .try_into()
            .expect("a digest has 32 bytes");
        RowSource {
            source_id: self.source_ids.at(number),
            digest: Digest::from_bytes(bytes),
        }
    }

    pub fn size_bytes(&self) -> usize {
        self.of_rows.size_bytes() + self.digests.size_bytes() + size_of::<u16>() * self.files()
    }

    /// Returns the file of a row, or `None` for a row without a source file.
    pub fn get(&self, row: usize) -> Option<RowSource<'_>> {
        let number = self.of_rows[row];
        (number != NO_SOURCE).then(|| self.file(number as usize))
    }
}
