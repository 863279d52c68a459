//! Describes publishers' files as inputs, and the datasets of a release as outputs.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::event::{Dataset, Facets};
use pubdata_build::datasets;
use pubdata_core::contract::{Contract, Physical, type_name};
use pubdata_core::error::Result;
use pubdata_core::pipeline::Declaration;
use pubdata_core::provenance::{Snapshot, SourceRows};
use pubdata_store::{Manifest, Part, Releases};

/// Maximum number of files per source that are listed as the origin of a column. All files of a
/// source have the same columns, and a paged list may have hundreds of files.
const FILES_OF_A_SOURCE: usize = 20;

/// Level of detail in the description of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All known facts.
    Full,
    /// Name and version only, because nothing is new.
    Named,
}

/// Describes a publisher's file, with the file's URL as its name and the digest as its version.
pub(super) fn input(snapshot: &Snapshot, rows: Option<&SourceRows>, extent: Extent) -> Dataset {
    let (namespace, name) = named_by_address(&snapshot.url);
    let mut facets =
        Facets::default().with("version", json!({ "datasetVersion": snapshot.sha256 }));
    let mut input_facets = Facets::default();
    if extent == Extent::Full {
        facets.add(
            "dataSource",
            json!({ "name": snapshot.source_id, "uri": uri(&snapshot.url) }),
        );
        let mut statistics = json!({ "size": snapshot.size_bytes, "fileCount": 1 });
        if let Some(rows) = rows {
            statistics["rowCount"] = rows.read.into();
        }
        input_facets.add("inputStatistics", statistics);
    }
    Dataset {
        namespace,
        name,
        facets,
        input_facets,
        output_facets: Facets::default(),
    }
}

/// Describes all files that a build read. Rows are counted by source, so row counts are available
/// only for sources with a single file.
pub(super) fn inputs(
    snapshots: &[Snapshot],
    rows: &BTreeMap<String, SourceRows>,
    extent: Extent,
) -> Vec<Dataset> {
    let files_of = |source_id: &str| {
        snapshots
            .iter()
            .filter(|snapshot| snapshot.source_id == source_id)
            .count()
    };
    let rows_of = |snapshot: &Snapshot| {
        rows.get(&snapshot.source_id)
            .filter(|_| files_of(&snapshot.source_id) == 1)
    };
    snapshots
        .iter()
        .map(|snapshot| input(snapshot, rows_of(snapshot), extent))
        .collect()
}

/// A release, and the naming of its datasets.
pub(super) struct Outputs<'a> {
    pub(super) releases: &'a Releases,
    pub(super) manifest: &'a Manifest,
    pub(super) contracts: &'a BTreeMap<String, Contract>,
    pub(super) namespace: &'a str,
}

impl Outputs<'_> {
    /// Describes the datasets that have parts of a task, together with these parts.
    pub(super) async fn of_task(
        &self,
        task_id: &str,
        declaration: Option<&Declaration>,
        extent: Extent,
    ) -> Vec<Dataset> {
        let mut outputs = Vec::new();
        for (dataset_id, dataset) in &self.manifest.datasets {
            let parts: Vec<&Part> = dataset
                .parts
                .iter()
                .filter(|part| part.task_id == task_id)
                .collect();
            if parts.is_empty() {
                continue;
            }
            let (mut facets, mut output_facets) = (Facets::default(), Facets::default());
            facets.add(
                "version",
                json!({ "datasetVersion": self.manifest.release_id }),
            );
            if let Some(contract) = self
                .contracts
                .get(dataset_id)
                .filter(|_| extent == Extent::Full)
            {
                let (rows, bytes) = parts.iter().fold((0, 0), |(rows, bytes), part| {
                    (rows + part.rows, bytes + part.size_bytes)
                });
                facets.add("dataSource", json!({ "name": dataset_id, "uri": uri(&self.releases.dataset_url(&self.manifest.release_id, dataset_id)) }));
                facets.add(
                    "schema",
                    json!({ "fields": contract.columns.iter().map(field).collect::<Vec<_>>() }),
                );
                let snapshots = self
                    .manifest
                    .tasks
                    .get(task_id)
                    .map_or(&[][..], |task| &task.inputs);
                if let Some(lineage) = declaration
                    .and_then(|declaration| column_lineage(declaration, contract, snapshots))
                {
                    facets.add("columnLineage", lineage);
                }
                let columns = match self.null_counts(contract, &parts).await {
                    Ok(counts) => counts,
                    Err(error) => {
                        tracing::warn!(%error, dataset.id = dataset_id, "null counts are omitted");
                        Map::new()
                    }
                };
                facets.add("dataQualityMetrics", json!({ "rowCount": rows, "bytes": bytes, "fileCount": parts.len(), "columnMetrics": columns }));
                output_facets.add(
                    "outputStatistics",
                    json!({ "rowCount": rows, "size": bytes, "fileCount": parts.len() }),
                );
            }
            outputs.push(Dataset {
                namespace: self.namespace.to_owned(),
                name: dataset_id.clone(),
                facets,
                input_facets: Facets::default(),
                output_facets,
            });
        }
        outputs
    }

    /// Counts the null cells of each column, using the files' own statistics. List columns are
    /// omitted because they have statistics only for their elements.
    async fn null_counts(
        &self,
        contract: &Contract,
        parts: &[&Part],
    ) -> Result<Map<String, Value>> {
        let counts = self
            .releases
            .null_counts(&self.manifest.release_id, parts)
            .await?;
        let is_flat =
            |physical: Physical| !matches!(physical, Physical::StringList | Physical::Pointers);
        let columns = contract
            .columns
            .iter()
            .filter(|column| is_flat(column.column_type.physical));
        let counted = columns.filter_map(|column| {
            Some((
                column.name.clone(),
                json!({ "nullCount": counts.get(&column.name)? }),
            ))
        });
        Ok(counted.collect())
    }
}

fn field(column: &pubdata_core::contract::Column) -> Value {
    json!({ "name": column.name, "type": type_name(&column.column_type), "description": column.description })
}

/// Returns the publisher's columns from which a column comes. Includes columns that are mapped
/// under the same name if the builder reads them unchanged and the declaration names a single
/// column that all files have. Omits columns that the code joins, derives or composes.
fn column_lineage(
    declaration: &Declaration,
    contract: &Contract,
    snapshots: &[Snapshot],
) -> Option<Value> {
    let vocabulary = datasets::builder(declaration).ok()?.vocabulary?;
    let same = vocabulary.same_names?(declaration)
        .ok()
        .filter(|same| same.dataset_id == contract.dataset_id)?;
    let mut fields = Map::new();
    for column in same.columns {
        let mut input_fields = Vec::new();
        for source in declaration
            .sources
            .iter()
            .filter(|source| same.sources.contains(&source.source_id))
        {
            let Some([field]) = source.columns.get(column).map(Vec::as_slice) else {
                continue;
            };
            if source
                .optional_columns
                .iter()
                .any(|optional| optional == column)
            {
                continue;
            }
            for snapshot in snapshots
                .iter()
                .filter(|snapshot| snapshot.source_id == source.source_id)
                .take(FILES_OF_A_SOURCE)
            {
                let (namespace, name) = named_by_address(&snapshot.url);
                input_fields.push(json!({ "namespace": namespace, "name": name, "field": field, "transformations": [{ "type": "DIRECT" }] }));
            }
        }
        if !input_fields.is_empty() {
            fields.insert(column.to_owned(), json!({ "inputFields": input_fields }));
        }
    }
    (!fields.is_empty()).then(|| json!({ "fields": fields }))
}

/// Splits a URL into the two parts of an OpenLineage dataset name: scheme and host, and the rest. A
/// bundled file has no host.
fn named_by_address(url: &str) -> (String, String) {
    let Some((scheme, rest)) = url.split_once("://") else {
        let (scheme, name) = url.split_once(':').unwrap_or(("file", url));
        return (scheme.to_owned(), name.to_owned());
    };
    match rest.split_once('/') {
        Some(("", path)) => (scheme.to_owned(), format!("/{path}")),
        Some((host, path)) if !path.is_empty() => (format!("{scheme}://{host}"), path.to_owned()),
        _ => (
            format!("{scheme}://{}", rest.trim_end_matches('/')),
            "/".to_owned(),
        ),
    }
}

/// Encodes text as a URI that every reader accepts. Percent-encodes invalid characters; characters
/// that are already encoded stay as they are.
fn uri(text: &str) -> String {
    let is_of_address =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#@!$&'()*+,;=%".contains(&byte);
    text.bytes()
        .map(|byte| {
            if is_of_address(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_split_into_namespace_and_name() {
        for (url, namespace, name) in [
            (
                "https://example.org/a/b.zip",
                "https://example.org",
                "a/b.zip",
            ),
            (
                "https://example.org:8443/a?b=c/d",
                "https://example.org:8443",
                "a?b=c/d",
            ),
            ("https://example.org/", "https://example.org", "/"),
            ("https://example.org", "https://example.org", "/"),
            (
                "sftp://example.org/doc/a.txt",
                "sftp://example.org",
                "doc/a.txt",
            ),
            ("file:///srv/a.csv", "file", "/srv/a.csv"),
            ("bundled:census/a.csv", "bundled", "census/a.csv"),
        ] {
            assert_eq!(
                named_by_address(url),
                (namespace.to_owned(), name.to_owned()),
                "{url}"
            );
        }
    }

    #[test]
    fn characters_invalid_in_a_uri_are_percent_encoded() {
        assert_eq!(
            uri("file:///srv/my data/é%20[x]"),
            "file:///srv/my%20data/%C3%A9%20%5Bx%5D"
        );
    }
}
