//! Defines the manifest, which states what a release contains and what it was built from. The
//! release id is the manifest's hash without times and run ids, so that equal inputs produce equal
//! releases.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufWriter;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{StaleTasks, WordCounts};
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::{Digest, Hasher, RecordId, ReleaseId};
use pubdata_core::issue::SourceFinding;
use pubdata_core::pipeline::{Evidence, LayoutEvidence};
use pubdata_core::provenance::{Snapshot, SourceRows};

/// Format of the manifest file; readers reject newer formats.
pub const MANIFEST_FORMAT_VERSION: u32 = 1;

/// Version of part names and column encoding. A new version causes all parts to be rebuilt. 2: flat
/// names, signed offsets. 3: small column chunks are not compressed. 4: text bounds are not
/// truncated, and pages are compressed at level 1. 5: footers contain the row count of each
/// subject.
pub const PART_FORMAT_VERSION: u32 = 5;

/// Buffer size. The canonical text is hashed while it is written, so that it is never entirely in
/// memory.
const HASHED_AT_A_TIME: usize = 16 << 10;

/// The content of a release: every part with its hash, the inputs of the builds, and the validation
/// results.
///
/// The release id is the hash of everything here that the builds determine. Times, run ids and the
/// dates reported by publishers' servers are kept but not hashed, so that equal inputs produce
/// equal releases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// Format version of this file.
    #[schemars(extend("enum" = [MANIFEST_FORMAT_VERSION]))]
    pub format_version: u32,
    /// The release id, a hash of everything that the builds determine.
    pub release_id: ReleaseId,
    /// Version of the program that built the release.
    pub pubdata_version: String,
    /// True if any build was made from a sample mirror, for which minimum row counts do not apply.
    pub is_sample: bool,
    /// Builds by task id: `census.acs5` or `census.acs5/vintage=2023`.
    pub tasks: BTreeMap<String, TaskEntry>,
    /// Datasets of the release by id.
    pub datasets: BTreeMap<String, DatasetEntry>,
    /// Digests of the files below `declarations/`, which are the declarations and contracts of the
    /// builds. Each build refers to its declaration and contracts by hash. This field itself is not
    /// hashed, and is absent in releases by earlier versions.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub declarations: BTreeSet<Digest>,
    /// Digests of the sidecar files for other engines (Delta logs and the Data Package), by path
    /// below the release. They are derived from the other fields and not hashed. Absent in releases
    /// by earlier versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[serde(rename = "companions")]
    pub sidecars: BTreeMap<String, Digest>,
    /// When the release was published, RFC 3339 UTC; not hashed.
    #[schemars(extend("format" = "date-time"))]
    pub published_at: String,
    /// Id of the run that published the release; not hashed.
    pub run_id: String,
}

/// One build: a pipeline for one partition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskEntry {
    /// Id of the pipeline.
    pub pipeline_id: String,
    /// URL variable and value of the partition; empty if the pipeline has no partitions.
    pub partition: BTreeMap<String, String>,
    /// Hash of the snapshots, the declaration, the contracts and the code version.
    pub input_hash: Digest,
    /// Hash of the pipeline's declaration, which is part of the input hash. `declarations/`
    /// contains a file of that name.
    pub declaration_hash: Digest,
    /// Hash of the contracts, which is part of the input hash. `declarations/` contains a file of
    /// that name.
    pub contracts_hash: Digest,
    /// Versions of the program and the builder, which are part of the input hash.
    pub code_version: String,
    /// True if the task was built from a sample mirror. Absent in releases by earlier versions,
    /// which have one flag for all builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub is_sample: Option<bool>,
    /// The files that the task was built from.
    pub inputs: Vec<Snapshot>,
    /// True if the build was already stale when the release was created. Only releases by earlier
    /// versions store this flag. Later staleness is stored next to the release and filled in when
    /// the manifest is read.
    pub is_stale: bool,
    /// Why the build is stale; null if it is not stale. Not hashed.
    pub stale_reason: Option<String>,
    /// The publisher of the task's sources.
    pub publisher: String,
    /// The terms of use, as the publisher words them.
    pub licence: String,
    /// The publisher's page about the source.
    pub homepage: String,
    /// How often the publisher updates the source, in days.
    #[schemars(range(min = 0))]
    pub cadence_days: i64,
    /// How the layouts of the task's sources are known; absent in releases by earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LayoutEvidence")]
    pub layout_evidence: Option<LayoutEvidence>,
    /// How the layout of each source is known, by source; absent in releases by earlier versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub evidence: BTreeMap<String, Evidence>,
    /// FIPS codes of the areas that the records cover; absent if the records have no area, and in
    /// releases by earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covers: Vec<String>,
    /// By dataset, the coded columns that have more unknown values than the declaration allows
    /// without flagging the column; absent if no column is flagged.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub meaning_lost: BTreeMap<String, Vec<String>>,
    /// Row counts of the task's own sources, by source; absent if no source is read row by row.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_rows: BTreeMap<String, SourceRows>,
    /// Issues with the task's sources that needed attention at build time; absent if there were
    /// none. Not hashed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<SourceFinding>,
    /// By source, the day from which the source is late unless a newer edition has been issued;
    /// absent for samples, and if the day is not known. Not hashed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub due: BTreeMap<String, Date>,
    /// When the build was made, RFC 3339 UTC; not hashed.
    #[schemars(extend("format" = "date-time"))]
    pub built_at: String,
}

impl TaskEntry {
    /// Returns the version of the program that built the task, which is the first component of the
    /// code version.
    pub fn program(&self) -> &str {
        self.code_version.split('+').next().unwrap_or_default()
    }

    /// Returns whether the source layout is known only from documentation and has not been
    /// confirmed.
    pub fn is_of_documented_layout(&self) -> bool {
        self.layout_evidence == Some(LayoutEvidence::Documented)
    }

    /// Returns whether an issue with the task's sources needs an operator's attention.
    pub fn needs_attention(&self) -> bool {
        self.findings.iter().any(SourceFinding::needs_attention)
    }

    /// Returns whether a coded column has more unknown values than the declaration allows without
    /// flagging the column.
    pub fn has_lost_meaning(&self, dataset_id: &str, column: &str) -> bool {
        self.meaning_lost
            .get(dataset_id)
            .is_some_and(|columns| columns.iter().any(|lost| lost == column))
    }

    /// Returns the format of the task's parts, which follows the builder's version in the code
    /// version. Programs before part format 2 did not write it.
    pub fn part_format(&self) -> u32 {
        let of_builder = self
            .code_version
            .split_once('+')
            .map_or("", |(_, rest)| rest.split('-').next().unwrap_or_default());
        of_builder
            .split_once('.')
            .and_then(|(_, format)| format.parse().ok())
            .unwrap_or(1)
    }
}

/// A dataset in a release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatasetEntry {
    /// Semantic version of the dataset's contract.
    pub schema_version: String,
    /// Files of the dataset, sorted by path.
    pub parts: Vec<Part>,
}

impl DatasetEntry {
    /// Sums the word counts of coded columns, by build and column.
    pub fn words(&self) -> BTreeMap<(&str, &str), WordCounts> {
        let mut words: BTreeMap<(&str, &str), WordCounts> = BTreeMap::new();
        for part in &self.parts {
            for (column, counts) in &part.report.words {
                words
                    .entry((&part.task_id, column))
                    .or_default()
                    .add(counts);
            }
        }
        words
    }
}

/// A Parquet file in a release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// Path below the release folder: `geo.zcta_metric/2023.parquet`.
    pub path: String,
    /// Id of the task that built the part.
    pub task_id: String,
    /// Contract column and value of each partition key.
    pub partition: BTreeMap<String, String>,
    /// Number of rows.
    pub rows: u64,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Digest of the file.
    pub sha256: Digest,
    /// Record ids of the first and the last row; null for a part without rows.
    #[schemars(with = "Option<Vec<String>>")]
    pub key_range: Option<(String, String)>,
    /// Hash of everything in the sources that determines the part's rows. Equal hashes mean equal
    /// parts. Absent if parts are not built individually.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Digest")]
    pub fingerprint: Option<Digest>,
    /// Validation results for the part's rows.
    pub report: PartReport,
}

impl Part {
    /// Returns the dataset from which this part's records were quarantined; `None` if the part does
    /// not contain quarantined records.
    pub fn quarantined_from(&self) -> Option<&str> {
        self.partition
            .get(QUARANTINE_DATASET_COLUMN)
            .map(String::as_str)
    }

    /// Returns whether the part may contain a record. A part with a fingerprint belongs to a shard,
    /// and contains the subjects whose keys end with the bucket name.
    pub fn may_hold(&self, record_id: &RecordId) -> bool {
        let is_other = |bucket: &String| !record_id.subject().ends_with(bucket.as_str());
        match self.partition.get(QUARANTINE_DATASET_COLUMN) {
            Some(dataset_id) => self.rows > 0 && dataset_id == record_id.subject(),
            None => {
                self.rows > 0
                    && (self.fingerprint.is_none()
                        || !self.partition.get(BUCKET).is_some_and(is_other))
            }
        }
    }

    /// Returns whether a record's subject lies between the part's first and last subjects, if rows
    /// are sorted by the beginning of their ids. If one subject is a prefix of another, the order
    /// of the two is not known here.
    pub fn spans(&self, record_id: &RecordId) -> bool {
        let Some((first, last)) = &self.key_range else {
            return true;
        };
        let subject_of = |id: &str| id.split(':').nth(1).unwrap_or_default().to_owned();
        let (subject, first, last) = (record_id.subject(), subject_of(first), subject_of(last));
        let is_before = |one: &str, other: &str| one < other && !other.starts_with(one);
        !is_before(subject, &first) && !is_before(&last, subject)
    }
}

/// Partition column of quarantined records, which names the dataset that they were meant for.
pub const QUARANTINE_DATASET_COLUMN: &str = "dataset_id";

/// Partition column of datasets whose parts are built individually. The value is the last
/// characters of the subject's key, or the hash of the row's key.
pub const BUCKET: &str = "bucket";

/// Validation results for the rows of a part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartReport {
    /// Number of quarantined records by rule.
    pub quarantined: BTreeMap<String, u64>,
    /// Number of records published with a warning, by warning code.
    pub warnings: BTreeMap<String, u64>,
    /// Issues with totals that did not block the dataset, such as exceeded maximums.
    pub notes: Vec<String>,
    /// Columns that have no value in any row; absent if the part has no rows, and in releases by
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub empty_columns: Option<Vec<String>>,
    /// By coded column, the number of records with a publisher's text and the number with unknown
    /// values; absent if the part has none, and in releases by earlier versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub words: BTreeMap<String, WordCounts>,
}

impl Manifest {
    /// Returns the digest of the canonical JSON (keys sorted, no white space) of the hashed fields.
    /// The release id is the beginning of this digest.
    pub fn derive_digest(&self) -> Digest {
        let mut text = BufWriter::with_capacity(HASHED_AT_A_TIME, Hasher::default());
        serde_json::to_writer(&mut text, &HashedManifest::new(self))
            .expect("a manifest is plain data");
        text.into_inner()
            .expect("a hasher takes everything")
            .finish()
    }

    /// Derives the release id from the hashed fields.
    pub fn derive_release_id(&self) -> ReleaseId {
        ReleaseId::from_digest(&self.derive_digest())
    }

    /// Flags the stale builds. Without `stale_tasks`, keeps the flags that earlier programs wrote
    /// into the release.
    pub fn mark(&mut self, stale_tasks: Option<&StaleTasks>) {
        let Some(stale_tasks) = stale_tasks else {
            return;
        };
        for (task_id, task) in &mut self.tasks {
            let mark = stale_tasks.tasks.get(task_id);
            (task.is_stale, task.stale_reason) =
                (mark.is_some(), mark.map(|mark| mark.reason.clone()));
        }
    }

    /// Returns whether the release contains the declaration and contracts of a build.
    pub fn has_declarations_of(&self, task: &TaskEntry) -> bool {
        [task.declaration_hash, task.contracts_hash]
            .iter()
            .all(|hash| self.declarations.contains(hash))
    }

    /// Returns whether a build was made from samples.
    pub fn is_sample_build(&self, task: &TaskEntry) -> bool {
        task.is_sample.unwrap_or(self.is_sample)
    }

    /// Parses a manifest file.
    ///
    /// # Errors
    /// `Store`, when the file is not a manifest, when its format is newer than this program, or
    /// when its id does not match its content.
    pub fn from_json(bytes: &[u8]) -> Result<Self> {
        let not_one = |error| Error::store(format!("not a manifest: {error}"));
        let manifest = match serde_json::from_slice::<Self>(bytes) {
            Ok(manifest) => {
                check_format(u64::from(manifest.format_version))?;
                manifest
            }
            // A newer format may lack fields of this format, so an error about the version is more
            // helpful.
            Err(error) => {
                let format: Format = serde_json::from_slice(bytes).map_err(not_one)?;
                check_format(format.format_version.as_u64().unwrap_or(0))?;
                return Err(not_one(error));
            }
        };
        let derived = manifest.derive_release_id();
        if derived != manifest.release_id {
            return Err(Error::store(format!(
                "manifest of {} was changed: its content has the id {derived}",
                manifest.release_id
            )));
        }
        if manifest.sum_of_counts() > i64::MAX as u128 {
            return Err(Error::store(format!(
                "manifest of {}: its counts of rows, bytes and findings are larger than any release has",
                manifest.release_id
            )));
        }
        Ok(manifest)
    }

    /// Returns the sum of all counts in the manifest. Readers add up some of the counts in 64 bits.
    fn sum_of_counts(&self) -> u128 {
        let parts = self.datasets.values().flat_map(|dataset| &dataset.parts);
        let of_parts = parts.flat_map(|part| {
            let PartReport {
                quarantined,
                warnings,
                words,
                ..
            } = &part.report;
            let of_words = words.values().flat_map(|words| {
                words
                    .commonest
                    .values()
                    .chain([&words.rows, &words.unknown])
            });
            quarantined
                .values()
                .chain(warnings.values())
                .chain(of_words)
                .chain([&part.rows, &part.size_bytes])
        });
        let of_tasks = self.tasks.values().flat_map(|task| {
            let of_rows = |rows: &SourceRows| u128::from(rows.read) + u128::from(rows.accounted());
            task.inputs
                .iter()
                .map(|input| u128::from(input.size_bytes))
                .chain(task.source_rows.values().map(of_rows))
        });
        of_parts
            .map(|count| u128::from(*count))
            .chain(of_tasks)
            .sum()
    }

    /// Returns the bytes of the manifest file: indented JSON with keys in a fixed order.
    pub fn to_json(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).expect("a manifest is plain data");
        bytes.push(b'\n');
        bytes
    }

    /// Returns the day since which an edition of a task's sources is late; `None` if no edition is
    /// late. A build of an older partition is never late, because only the newest partition waits
    /// for an edition.
    pub fn late_since(&self, task_id: &str, today: Date) -> Option<Date> {
        let due = self.tasks.get(task_id)?.due.values().min().copied();
        due.filter(|due| *due <= today && self.awaits_an_edition(task_id))
    }

    /// Returns whether a task is its pipeline's newest and has a due day.
    pub fn awaits_an_edition(&self, task_id: &str) -> bool {
        let Some(task) = self.tasks.get(task_id) else {
            return false;
        };
        // Partition values such as years have equal lengths, so they can be compared as text.
        let is_newer = |other: &TaskEntry| {
            other.pipeline_id == task.pipeline_id && other.partition > task.partition
        };
        !task.due.is_empty() && !self.tasks.values().any(is_newer)
    }

    /// Returns the number of rows in all parts of a dataset.
    pub fn rows(&self, dataset_id: &str) -> u64 {
        self.datasets.get(dataset_id).map_or(0, |dataset| {
            dataset.parts.iter().map(|part| part.rows).sum()
        })
    }

    /// Returns the number of records quarantined from a dataset by each rule, across all parts.
    pub fn quarantined(&self, dataset_id: &str) -> BTreeMap<String, u64> {
        let mut totals = BTreeMap::new();
        for part in self
            .datasets
            .get(dataset_id)
            .into_iter()
            .flat_map(|dataset| &dataset.parts)
        {
            for (rule, count) in &part.report.quarantined {
                *totals.entry(rule.clone()).or_insert(0) += count;
            }
        }
        totals
    }
}

/// Name of a part that is the only part of its dataset.
const WHOLE: &str = "part-0";

/// Builds a part's path below its release: the dataset's folder, then the values of `partition_by`
/// in the contract's order, then the other keys of the partition:
/// `permit.permit/us-il-chicago~permit.chicago~007.parquet`. Folders are flat, and names do not
/// contain `key=value`, because readers would interpret that as a second column whose type differs
/// from that of the column in the file.
///
/// # Errors
/// `Contract`, when a column of `partition_by` has no value, or a value is not valid in a file
/// name.
pub fn part_path(
    dataset_id: &str,
    partition_by: &[String],
    partition: &BTreeMap<String, String>,
) -> Result<String> {
    let plain = |key: &String| {
        let value: &String = partition.get(key).ok_or_else(|| {
            Error::contract(format!("{dataset_id}: the partition has no `{key}`"))
        })?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if value.is_empty() || value.starts_with('.') || !value.bytes().all(is_plain) {
            return Err(Error::contract(format!(
                "{dataset_id}: `{value}` of partition `{key}` cannot be part of a file's name"
            )));
        }
        Ok(value)
    };
    let mut name = partition_by
        .iter()
        .map(|key| plain(key).cloned())
        .collect::<Result<Vec<String>>>()?;
    for key in partition.keys().filter(|key| !partition_by.contains(key)) {
        name.push(format!("{key}-{}", plain(key)?));
    }
    let name = if name.is_empty() {
        WHOLE.to_owned()
    } else {
        name.join("~")
    };
    Ok(format!("{dataset_id}/{name}.parquet"))
}

/// Rejects a format that this program cannot read.
fn check_format(format_version: u64) -> Result<()> {
    if format_version == 0 || format_version > u64::from(MANIFEST_FORMAT_VERSION) {
        return Err(Error::store(format!("manifest format {format_version} is not one this program reads (1 to {MANIFEST_FORMAT_VERSION})"))
            .hint("use the version of pubdata that wrote it, or a later one"));
    }
    Ok(())
}

/// The only field that is read from a manifest with an unknown format.
#[derive(Deserialize)]
struct Format {
    #[serde(default)]
    format_version: serde_json::Value,
}

/// The hashed fields of a manifest. Fields are in alphabetical order, so that serde's output is
/// canonical. Most of the output consists of parts.
#[derive(Serialize)]
struct HashedManifest<'a> {
    datasets: BTreeMap<&'a str, HashedDataset<'a>>,
    format_version: u32,
    is_sample: bool,
    pubdata_version: &'a str,
    tasks: serde_json::Value,
}

impl<'a> HashedManifest<'a> {
    fn new(manifest: &'a Manifest) -> Self {
        let Manifest {
            format_version,
            pubdata_version,
            is_sample,
            tasks,
            datasets,
            release_id: _,
            declarations: _,
            sidecars: _,
            published_at: _,
            run_id: _,
        } = manifest;
        let mut tasks = serde_json::to_value(tasks).expect("tasks are plain data");
        for task in tasks
            .as_object_mut()
            .into_iter()
            .flat_map(serde_json::Map::values_mut)
        {
            strip(task, &["stale_reason", "built_at", "findings", "due"]);
            for input in task["inputs"].as_array_mut().into_iter().flatten() {
                strip(
                    input,
                    &[
                        "source_date",
                        "etag",
                        "last_modified",
                        "fetched_at",
                        "redirected_through",
                        "obtained",
                        "mirror",
                    ],
                );
            }
        }
        let datasets = datasets
            .iter()
            .map(|(dataset_id, dataset)| (dataset_id.as_str(), HashedDataset::new(dataset)))
            .collect();
        Self {
            datasets,
            format_version: *format_version,
            is_sample: *is_sample,
            pubdata_version,
            tasks,
        }
    }
}

#[derive(Serialize)]
struct HashedDataset<'a> {
    parts: Vec<HashedPart<'a>>,
    schema_version: &'a str,
}

impl<'a> HashedDataset<'a> {
    fn new(dataset: &'a DatasetEntry) -> Self {
        let DatasetEntry {
            schema_version,
            parts,
        } = dataset;
        Self {
            parts: parts.iter().map(HashedPart::new).collect(),
            schema_version,
        }
    }
}

#[derive(Serialize)]
struct HashedPart<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: &'a Option<Digest>,
    key_range: &'a Option<(String, String)>,
    partition: &'a BTreeMap<String, String>,
    path: &'a str,
    report: HashedReport<'a>,
    rows: u64,
    sha256: &'a Digest,
    size_bytes: u64,
    task_id: &'a str,
}

impl<'a> HashedPart<'a> {
    fn new(part: &'a Part) -> Self {
        let Part {
            path,
            task_id,
            partition,
            rows,
            size_bytes,
            sha256,
            key_range,
            fingerprint,
            report,
        } = part;
        let PartReport {
            quarantined,
            warnings,
            notes,
            empty_columns,
            words,
        } = report;
        let report = HashedReport {
            empty_columns,
            notes,
            quarantined,
            warnings,
            words,
        };
        Self {
            fingerprint,
            key_range,
            partition,
            path,
            report,
            rows: *rows,
            sha256,
            size_bytes: *size_bytes,
            task_id,
        }
    }
}

#[derive(Serialize)]
struct HashedReport<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    empty_columns: &'a Option<Vec<String>>,
    notes: &'a [String],
    quarantined: &'a BTreeMap<String, u64>,
    warnings: &'a BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    words: &'a BTreeMap<String, WordCounts>,
}

fn strip(value: &mut serde_json::Value, keys: &[&str]) {
    if let Some(object) = value.as_object_mut() {
        object.retain(|key, _| !keys.contains(&key.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn manifest_with_overflowing_counts_is_rejected() {
        let read = |rows: [u64; 2], left_out: u64| {
            let part = |rows: u64, path: &str| {
                json!({
                    "path": path, "task_id": "test.places", "partition": {}, "rows": rows, "size_bytes": 4, "sha256": "0".repeat(64), "key_range": null,
                    "report": {"quarantined": {}, "warnings": {}, "notes": []}
                })
            };
            let task = json!({
                "pipeline_id": "test.places", "partition": {}, "input_hash": "0".repeat(64), "declaration_hash": "0".repeat(64),
                "contracts_hash": "0".repeat(64), "code_version": "0", "inputs": [], "is_stale": false, "stale_reason": null, "publisher": "", "licence": "",
                "homepage": "", "cadence_days": 1, "built_at": "2026-11-22T00:00:00Z",
                "source_rows": {"a": {"read": 1, "records": 1, "merged": 0, "quarantined": 0, "left_out": {"unused": left_out}}}
            });
            let mut manifest: Manifest = serde_json::from_value(json!({
                "format_version": MANIFEST_FORMAT_VERSION, "release_id": "r0123456789abcdef0123", "pubdata_version": "0.1.0", "is_sample": true,
                "tasks": {"test.places": task},
                "datasets": {"test.place": {"schema_version": "1.0.0", "parts": [part(rows[0], "a.parquet"), part(rows[1], "b.parquet")]}},
                "published_at": "2026-11-22T00:00:00Z", "run_id": "x"
            }))
            .unwrap();
            manifest.release_id = manifest.derive_release_id();
            Manifest::from_json(&manifest.to_json())
                .map(|manifest| manifest.rows("test.place"))
                .map_err(|error| error.to_string())
        };
        assert_eq!(read([3, 4], 5), Ok(7));
        for (rows, left_out) in [
            ([u64::MAX, 1], 0),
            ([i64::MAX as u64, i64::MAX as u64], 0),
            ([1, 1], u64::MAX),
        ] {
            assert!(
                read(rows, left_out)
                    .unwrap_err()
                    .contains("larger than any release has"),
                "{rows:?} {left_out}"
            );
        }
    }

    #[test]
    fn what_is_hashed_of_a_manifest_is_its_canonical_json() {
        let digest = |text: &str| Digest::sha256(text.as_bytes());
        let part = |fingerprint: Option<Digest>,
                    empty_columns: Option<Vec<String>>,
                    key_range: Option<(String, String)>| Part {
            path: "test.place/a.parquet".to_owned(),
            task_id: "test.places".to_owned(),
            partition: BTreeMap::from([
                ("year".to_owned(), "2024".to_owned()),
                ("bucket".to_owned(), "é\"\\".to_owned()),
            ]),
            rows: 3,
            size_bytes: 4,
            sha256: digest("part"),
            key_range,
            fingerprint,
            report: PartReport {
                words: BTreeMap::new(),
                quarantined: BTreeMap::from([("z".to_owned(), 1), ("a".to_owned(), 2)]),
                warnings: BTreeMap::from([("w".to_owned(), u64::MAX)]),
                notes: vec!["a note".to_owned()],
                empty_columns,
            },
        };
        let parts = vec![
            part(None, None, None),
            part(
                Some(digest("rows")),
                Some(vec!["lat".to_owned()]),
                Some(("test.place:1".to_owned(), "test.place:3".to_owned())),
            ),
        ];
        let mut manifest = Manifest {
            format_version: MANIFEST_FORMAT_VERSION,
            release_id: "r0123456789abcdef0123".parse().unwrap(),
            pubdata_version: "1.2.3".to_owned(),
            is_sample: false,
            tasks: BTreeMap::new(),
            datasets: BTreeMap::from([(
                "test.place".to_owned(),
                DatasetEntry {
                    schema_version: "1.0.0".to_owned(),
                    parts,
                },
            )]),
            declarations: BTreeSet::from([digest("declaration")]),
            sidecars: BTreeMap::from([("datapackage.json".to_owned(), digest("package"))]),
            published_at: "2026-01-02T03:04:05Z".to_owned(),
            run_id: "run".to_owned(),
        };
        // The maps of `serde_json::Value` are sorted.
        let mut expected = serde_json::to_value(&manifest).unwrap();
        strip(
            &mut expected,
            &[
                "release_id",
                "declarations",
                "companions",
                "published_at",
                "run_id",
            ],
        );
        let hashed = serde_json::to_string(&HashedManifest::new(&manifest)).unwrap();
        assert_eq!(hashed, expected.to_string());
        assert_eq!(
            manifest.derive_release_id(),
            ReleaseId::from_digest(&Digest::sha256(expected.to_string().as_bytes()))
        );
        let id = manifest.derive_release_id();
        manifest
            .datasets
            .values_mut()
            .for_each(|dataset| dataset.parts[1].rows += 1);
        assert_ne!(manifest.derive_release_id(), id);
    }

    #[test]
    fn of_builds_what_the_night_decided_is_not_hashed_and_everything_else_is() {
        let digest = Digest::sha256(b"input");
        let with = |task: Value, input: Value| {
            let mut entry = json!({
                "pipeline_id": "test.places", "partition": {"vintage": "2024"}, "input_hash": digest, "declaration_hash": digest, "contracts_hash": digest,
                "code_version": "1.2.3+a.2", "is_sample": true, "is_stale": false, "stale_reason": null, "publisher": "Example", "licence": "CC0-1.0",
                "homepage": "https://example.org/", "cadence_days": 365, "covers": ["06"], "built_at": "2026-01-02T03:04:05Z",
            });
            let mut snapshot = json!({
                "source_id": "test.places", "keys": {"vintage": "2024"}, "url": "https://example.org/places.zip", "sha256": digest, "size_bytes": 100,
                "source_version": "2024", "source_date": "2025-01-01", "etag": null, "last_modified": null, "fetched_at": "2025-02-03T00:00:00Z",
            });
            for (object, changes) in [(&mut entry, task), (&mut snapshot, input)] {
                object
                    .as_object_mut()
                    .unwrap()
                    .append(&mut changes.as_object().unwrap().clone());
            }
            entry["inputs"] = json!([snapshot]);
            let manifest = json!({
                "format_version": 1, "release_id": "r0123456789abcdef0123", "pubdata_version": "1.2.3", "is_sample": false,
                "tasks": {"test.places/vintage=2024": entry}, "datasets": {}, "published_at": "2026-01-02T03:04:05Z", "run_id": "run",
            });
            serde_json::from_value::<Manifest>(manifest)
                .unwrap()
                .derive_release_id()
        };
        let none = || json!({});
        let id = with(none(), none());
        for task in [
            json!({"stale_reason": "late"}),
            json!({"built_at": "2026-02-02T03:04:05Z"}),
            json!({"due": {"test.places": "2026-03-01"}}),
        ] {
            assert_eq!(with(task.clone(), none()), id, "{task}");
        }
        let of_the_night = [
            json!({"source_date": "2025-01-02"}),
            json!({"etag": "a"}),
            json!({"last_modified": "Wed, 01 Jan 2025 00:00:00 GMT"}),
            json!({"fetched_at": "2025-02-04T00:00:00Z"}),
            json!({"mirror": "samples"}),
            json!({"obtained": "by hand"}),
            json!({"redirected_through": ["https://example.org/moved.zip"]}),
        ];
        for input in of_the_night {
            assert_eq!(with(none(), input.clone()), id, "{input}");
        }
        for task in [
            json!({"is_stale": true}),
            json!({"licence": "PDDL-1.0"}),
            json!({"covers": []}),
            json!({"code_version": "1.2.4+a.2"}),
        ] {
            assert_ne!(with(task.clone(), none()), id, "{task}");
        }
        for input in [
            json!({"url": "https://example.org/other.zip"}),
            json!({"sha256": Digest::sha256(b"other")}),
            json!({"source_version": "2025"}),
        ] {
            assert_ne!(with(none(), input.clone()), id, "{input}");
        }
    }

    #[test]
    fn unreadable_manifest_is_rejected_with_the_reason() {
        let read = |manifest: Value| {
            Manifest::from_json(manifest.to_string().as_bytes())
                .unwrap_err()
                .to_string()
        };
        let whole = json!({
            "format_version": 1, "release_id": "r0123456789abcdef0123", "pubdata_version": "1.2.3", "is_sample": false, "tasks": {}, "datasets": {},
            "published_at": "2026-01-02T03:04:05Z", "run_id": "run",
        });
        assert!(
            read(whole.clone()).contains("was changed"),
            "{}",
            read(whole.clone())
        );
        for format in [json!(0), json!(2), json!(99), json!(1_u64 << 40)] {
            let mut other = whole.clone();
            other["format_version"] = format.clone();
            assert!(read(other).contains(&format!(
                "manifest format {format} is not one this program reads"
            )));
        }
        assert!(
            read(json!({ "format_version": 2, "parts": "elsewhere" }))
                .contains("manifest format 2 is not one"),
            "a newer one need not look like this one"
        );
        assert!(
            read(json!({ "format_version": "newest" })).contains("manifest format 0 is not one")
        );
        assert!(read(json!({ "format_version": 1 })).contains("not a manifest: missing field"));
        assert!(read(json!([1])).contains("not a manifest"));
    }
}
