//! Builds the provenance object of a record: dataset and version, source and file, validation
//! status, and record id.

use std::borrow::Cow;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use crate::release::row_sources::{RowSource, RowSources};
use crate::release::table::read_pointers;
use pubdata_core::error::Result;
use pubdata_core::ids::Digest;
use pubdata_core::provenance::Snapshot;
use pubdata_store::{Manifest, Part};

/// Dataset and publisher's file from which records come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    pub dataset_id: String,
    pub schema_version: String,
    /// File of the records; `None` if the part names no file, which is allowed only for an empty
    /// part.
    pub snapshot: Option<Snapshot>,
}

impl Origin {
    /// Returns the provenance of one record.
    pub fn provenance<'a>(
        &'a self,
        validation_status: &'a str,
        record_id: impl Into<Cow<'a, str>>,
    ) -> Provenance<'a> {
        let snapshot = self.snapshot.as_ref();
        let source_id = snapshot.map_or("", |snapshot| snapshot.source_id.as_str());
        Provenance::new(
            (&self.dataset_id, &self.schema_version),
            (source_id, snapshot),
            validation_status,
            record_id,
        )
    }
}

/// Origin of a record.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Provenance<'a> {
    /// Dataset of the record, such as `geo.zcta_metric`.
    dataset_id: &'a str,
    /// Publisher's file family from which the record comes; null if the record names no file.
    source_id: Option<&'a str>,
    /// URL of the publisher's file; null if the record names no file.
    source_url: Option<&'a str>,
    /// The publisher's own label of the file, such as `2019-2023`; null if the record names no
    /// file.
    source_version: Option<&'a str>,
    /// The publisher's date of the file, YYYY-MM-DD; null if the record names no file.
    source_date: Option<&'a str>,
    /// Name of the mirror from which the file was fetched instead of the publisher; null if the
    /// file came from the publisher, or was imported manually.
    source_mirror: Option<&'a str>,
    /// Version of the dataset's contract that the record follows.
    schema_version: &'a str,
    /// Result of validation: `passed`, or `passed_with_warnings` if the record carries warnings.
    #[schemars(title = "ValidationStatus", extend("enum" = ["passed", "passed_with_warnings"]))]
    validation_status: &'a str,
    /// Identifier of the record, for `/v1/provenance/{record_id}`.
    record_id: Cow<'a, str>,
}

impl<'a> Provenance<'a> {
    pub fn new(
        (dataset_id, schema_version): (&'a str, &'a str),
        (source_id, snapshot): (&'a str, Option<&'a Snapshot>),
        validation_status: &'a str,
        record_id: impl Into<Cow<'a, str>>,
    ) -> Self {
        Self {
            dataset_id,
            source_id: Some(source_id).filter(|source_id| !source_id.is_empty()),
            source_url: snapshot.map(|snapshot| snapshot.url.as_str()),
            source_version: snapshot.map(|snapshot| snapshot.source_version.as_str()),
            source_date: snapshot.map(|snapshot| snapshot.source_date.as_str()),
            source_mirror: snapshot.and_then(|snapshot| snapshot.mirror.as_deref()),
            schema_version,
            validation_status,
            record_id: record_id.into(),
        }
    }
}

/// Data to find the origins of a part's rows.
#[derive(Debug, Clone)]
pub struct PartOrigins {
    dataset_id: String,
    schema_version: String,
    inputs: Vec<Snapshot>,
}

impl PartOrigins {
    pub fn for_part(manifest: &Manifest, dataset_id: &str, part: &Part) -> Self {
        let Origin {
            dataset_id,
            schema_version,
            ..
        } = origin(manifest, dataset_id, None);
        Self {
            dataset_id,
            schema_version,
            inputs: manifest
                .tasks
                .get(&part.task_id)
                .map(|task| task.inputs.clone())
                .unwrap_or_default(),
        }
    }

    /// Finds the origins of selected rows. The origin is the file that the row's first pointer
    /// names.
    pub fn of_rows(&self, part: &Part, bytes: Bytes, rows: &[usize]) -> Result<Vec<Origin>> {
        Ok(first_sources(part, bytes, rows)?
            .iter()
            .map(|named| self.of_source(named.as_ref()))
            .collect())
    }

    /// Returns the origin of a row by its file.
    pub fn of_row_source(&self, row_source: Option<RowSource<'_>>) -> Origin {
        let snapshot = row_source
            .and_then(|row_source| file_of(&self.inputs, row_source))
            .cloned();
        Origin {
            dataset_id: self.dataset_id.clone(),
            schema_version: self.schema_version.clone(),
            snapshot,
        }
    }

    /// Returns the origin of a row from its result of [`first_sources`].
    pub fn of_source(&self, named: Option<&FirstSource>) -> Origin {
        let named = named.and_then(|(source_id, digest)| {
            self.inputs
                .iter()
                .find(|input| input.sha256 == *digest && input.source_id == *source_id)
        });
        let snapshot = named.or(self.inputs.first()).cloned();
        Origin {
            dataset_id: self.dataset_id.clone(),
            schema_version: self.schema_version.clone(),
            snapshot,
        }
    }
}

/// Returns the file of a row. A pointer into an archive contains the digest of the member, not of
/// the archive; the source's file in this release contains the same member.
fn file_of<'a>(inputs: &'a [Snapshot], row_source: RowSource<'_>) -> Option<&'a Snapshot> {
    let of_source = || {
        inputs
            .iter()
            .filter(|input| input.source_id == row_source.source_id)
    };
    of_source()
        .find(|input| input.sha256 == row_source.digest)
        .or_else(|| of_source().next())
}

/// Source and file digest of a row's first pointer.
pub type FirstSource = (String, Digest);

/// Returns the first source of each selected row, or `None` for a row without pointers.
pub fn first_sources(
    part: &Part,
    bytes: Bytes,
    rows: &[usize],
) -> Result<Vec<Option<FirstSource>>> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&index| rows[index]);
    let sorted: Vec<usize> = order.iter().map(|&index| rows[index]).collect();
    let mut found = vec![None; rows.len()];
    for (index, pointers) in order
        .into_iter()
        .zip(read_pointers(bytes, &sorted, &part.path)?)
    {
        found[index] = pointers
            .into_iter()
            .next()
            .map(|pointer| (pointer.source_id, pointer.snapshot));
    }
    Ok(found)
}

/// Returns the origin of a dataset's records that come from `snapshot`.
pub fn origin(manifest: &Manifest, dataset_id: &str, snapshot: Option<&Snapshot>) -> Origin {
    Origin {
        dataset_id: dataset_id.to_owned(),
        schema_version: schema_version(manifest, dataset_id).to_owned(),
        snapshot: snapshot.cloned(),
    }
}

/// Returns the version of the contract that a dataset's records follow.
pub fn schema_version<'a>(manifest: &'a Manifest, dataset_id: &str) -> &'a str {
    manifest
        .datasets
        .get(dataset_id)
        .map(|dataset| dataset.schema_version.as_str())
        .unwrap_or_default()
}

/// Builds provenance objects for the rows of one part in one release.
pub struct ProvenanceWriter<'a> {
    dataset_id: &'a str,
    schema_version: &'a str,
    inputs: &'a [Snapshot],
}

impl<'a> ProvenanceWriter<'a> {
    pub fn new(manifest: &'a Manifest, dataset_id: &'a str, part: &Part) -> Self {
        Self {
            dataset_id,
            schema_version: schema_version(manifest, dataset_id),
            inputs: manifest
                .tasks
                .get(&part.task_id)
                .map(|task| task.inputs.as_slice())
                .unwrap_or_default(),
        }
    }

    /// Creates a writer for a dataset whose parts all come from one build.
    pub fn of_dataset(manifest: &'a Manifest, dataset_id: &'a str) -> Self {
        let dataset = manifest.datasets.get(dataset_id);
        let task = dataset
            .and_then(|dataset| dataset.parts.first())
            .and_then(|part| manifest.tasks.get(&part.task_id));
        Self {
            dataset_id,
            schema_version: dataset
                .map(|dataset| dataset.schema_version.as_str())
                .unwrap_or_default(),
            inputs: task.map(|task| task.inputs.as_slice()).unwrap_or_default(),
        }
    }

    /// Returns the file that a row comes from.
    pub fn source(&self, row_sources: &RowSources, row: usize) -> Option<&'a Snapshot> {
        let head = row_sources.get(row)?;
        self.inputs
            .iter()
            .find(|input| input.source_id == head.source_id && input.sha256 == head.digest)
    }

    /// Returns the provenance of a row.
    pub fn for_row<'r>(
        &self,
        row_sources: &'r RowSources,
        row: usize,
        validation_status: &'r str,
        record_id: impl Into<Cow<'r, str>>,
    ) -> Provenance<'r>
    where
        'a: 'r,
    {
        let (source_id, snapshot) = match row_sources.get(row) {
            Some(head) => (head.source_id, file_of(self.inputs, head)),
            None => ("", None),
        };
        Provenance::new(
            (self.dataset_id, self.schema_version),
            (source_id, snapshot),
            validation_status,
            record_id,
        )
    }
}
