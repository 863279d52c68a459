//! Summarises a dataset: publisher and licence, row counts, findings, and partitions.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer;
use crate::http::endpoint::Call;
use crate::http::meta::SAMPLE_RELEASE;
use crate::release::bucketed::BUCKET;
use crate::release::freshness::source_date;
use pubdata_core::contract::Contract;
use pubdata_store::{DatasetEntry, Manifest, Part, TaskEntry};

/// Partition column of surveys, and the number of years that each survey covers.
const VINTAGE_YEAR: &str = "vintage_year";
const YEARS_OF_SURVEY: i32 = 5;

// Publisher and licence of a dataset.
#[derive(Serialize, JsonSchema)]
pub struct Origin {
    /// Publisher of the source files; several are joined with `; `.
    pub publisher: String,
    /// Licence of the source files; several are joined with `; `.
    pub licence: String,
    /// URL of the publisher's page about the source; several are joined with `; `.
    pub homepage: String,
}

impl Origin {
    /// Collects the distinct values of a dataset's builds.
    pub fn from_tasks(tasks: &[&TaskEntry]) -> Self {
        let distinct = |value: fn(&TaskEntry) -> &str| {
            tasks
                .iter()
                .map(|task| value(task))
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect::<Vec<_>>()
                .join("; ")
        };
        Self {
            publisher: distinct(|task| &task.publisher),
            licence: distinct(|task| &task.licence),
            homepage: distinct(|task| &task.homepage),
        }
    }

    /// Splits joined publishers or homepages.
    pub fn each(joined: &str) -> BTreeSet<&str> {
        joined.split("; ").filter(|one| !one.is_empty()).collect()
    }

    /// Returns the credit line for products derived from the data.
    pub fn credit(&self) -> String {
        format!(
            "Source: {} ({}). Licence: {}.",
            self.publisher, self.homepage, self.licence
        )
    }
}

/// Returns the distinct licences of a dataset's builds. A licence may have several sentences and is
/// not split.
pub fn licences<'a>(tasks: &[&'a TaskEntry]) -> BTreeSet<&'a str> {
    tasks.iter().map(|task| task.licence.as_str()).collect()
}

/// Returns the citation of a dataset.
pub fn citation(
    manifest: &Manifest,
    dataset_id: &str,
    origin: &Origin,
    contract: Option<&Contract>,
) -> String {
    let date = manifest
        .datasets
        .get(dataset_id)
        .and_then(|dataset| newest_date(manifest, &dataset.parts))
        .unwrap_or_default();
    let Origin {
        publisher,
        homepage,
        ..
    } = origin;
    let title = title(dataset_id, contract);
    format!(
        "{publisher}: {title}, files to {date} ({homepage}), as table {dataset_id} of release {}.",
        manifest.release_id
    )
}

/// Returns the title of a dataset, or its id if this program has no contract for the dataset.
pub fn title<'a>(dataset_id: &'a str, contract: Option<&'a Contract>) -> &'a str {
    contract.map_or(dataset_id, |contract| &contract.title)
}

/// Describes a dataset in sentences: the meaning of a row, the known limits, and whether the
/// release is built from samples.
pub fn description(manifest: &Manifest, dataset_id: &str, contract: Option<&Contract>) -> String {
    let mut description = contract.map_or_else(
        || format!("Table {dataset_id}. This server has no contract for it."),
        |contract| contract.grain.clone(),
    );
    if let Some(contract) = contract.filter(|contract| !contract.not_covered.is_empty()) {
        description += &format!(" Known limits: {}.", contract.not_covered.join("; "));
    }
    if manifest.is_sample {
        description += " ";
        description += SAMPLE_RELEASE;
    }
    description
}

/// Returns the first and last day that a dataset's partitions cover, if they name years.
pub fn period(dataset: &DatasetEntry) -> Option<(String, String)> {
    // A survey is named after its last year.
    let years = dataset
        .parts
        .iter()
        .filter_map(|part| part.partition.get(VINTAGE_YEAR)?.parse::<i32>().ok());
    let (first, last) = (years.clone().min()?, years.max()?);
    Some((
        format!("{:04}-01-01", first - (YEARS_OF_SURVEY - 1)),
        format!("{last:04}-12-31"),
    ))
}

/// Returns the distinct builds of a dataset's parts.
pub fn tasks_of<'a>(manifest: &'a Manifest, dataset: &DatasetEntry) -> Vec<&'a TaskEntry> {
    let tasks: BTreeSet<&str> = dataset
        .parts
        .iter()
        .map(|part| part.task_id.as_str())
        .collect();
    tasks
        .into_iter()
        .filter_map(|id| manifest.tasks.get(id))
        .collect()
}

/// Returns the result of validation. A dataset that fails validation is never published.
pub fn verdict(dataset: &DatasetEntry) -> &'static str {
    let has_warnings = dataset
        .parts
        .iter()
        .any(|part| !part.report.warnings.is_empty());
    if has_warnings {
        "passed_with_warnings"
    } else {
        "passed"
    }
}

// Row counts and validation results of a dataset.
#[derive(Serialize, JsonSchema)]
pub struct Counts<'a> {
    /// Number of records in the dataset.
    rows: u64,
    /// Number of records that broke a rule and are not published with the dataset.
    quarantined_rows: u64,
    /// Number of quarantined records, by rule.
    quarantined: BTreeMap<String, u64>,
    /// Number of records published with a warning, by code.
    warnings: BTreeMap<&'a str, u64>,
}

impl<'a> Counts<'a> {
    pub fn for_dataset(manifest: &'a Manifest, dataset_id: &str) -> Self {
        let quarantined = manifest.quarantined(dataset_id);
        let mut warnings: BTreeMap<&str, u64> = BTreeMap::new();
        for (code, count) in manifest
            .datasets
            .get(dataset_id)
            .into_iter()
            .flat_map(|dataset| &dataset.parts)
            .flat_map(|part| &part.report.warnings)
        {
            *warnings.entry(code).or_default() += count;
        }
        Self {
            rows: manifest.rows(dataset_id),
            quarantined_rows: quarantined.values().sum(),
            quarantined,
            warnings,
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub struct SourceFinding<'a> {
    /// Identifier of the source.
    source_id: &'a str,
    /// Stable code of the finding, such as `new_column`.
    code: &'a str,
    /// Description of the finding as text.
    detail: String,
}

/// Returns the distinct findings about the sources of a dataset.
pub fn findings<'a>(call: &Call<'_>, tasks: &[&'a TaskEntry]) -> Vec<SourceFinding<'a>> {
    let findings: BTreeSet<_> = tasks.iter().flat_map(|task| &task.findings).collect();
    let reported = findings.into_iter().map(|finding| SourceFinding {
        source_id: &finding.source_id,
        code: &finding.code,
        detail: call.service.redact(&finding.detail),
    });
    reported.collect()
}

/// Returns the distinct validation notes about totals that did not block a part.
pub fn notes<'a>(call: &Call<'_>, parts: impl IntoIterator<Item = &'a Part>) -> BTreeSet<String> {
    parts
        .into_iter()
        .flat_map(|part| &part.report.notes)
        .map(|note| call.service.redact(note))
        .collect()
}

/// Returns the day on which a release was published.
pub fn day_of(manifest: &Manifest) -> &str {
    manifest.published_at.get(..10).unwrap_or_default()
}

/// Returns the date of the newest file from which the parts were built. Parts from the same build
/// share source files.
pub fn newest_date<'a>(
    manifest: &Manifest,
    parts: impl IntoIterator<Item = &'a Part>,
) -> Option<String> {
    let by_build: BTreeMap<&str, &Part> = parts
        .into_iter()
        .map(|part| (part.task_id.as_str(), part))
        .collect();
    by_build
        .values()
        .filter_map(|part| source_date(manifest, part))
        .max()
        .map(|date| date.to_string())
}

/// Groups the parts of a dataset by partition. Buckets only spread a dataset over files and do not
/// describe coverage, so they are ignored.
fn partitions(dataset: &DatasetEntry) -> BTreeMap<BTreeMap<&str, &str>, Vec<&Part>> {
    let mut partitions: BTreeMap<BTreeMap<&str, &str>, Vec<&Part>> = BTreeMap::new();
    for part in &dataset.parts {
        let partition = part
            .partition
            .iter()
            .filter(|(column, _)| *column != BUCKET)
            .map(|(column, value)| (column.as_str(), value.as_str()))
            .collect();
        partitions.entry(partition).or_default().push(part);
    }
    partitions
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DatasetPartition")]
pub struct Partition<'a> {
    /// Column and value that all rows of the partition share; empty if the dataset has one
    /// partition.
    partition: BTreeMap<&'a str, &'a str>,
    /// Number of records in the partition.
    rows: u64,
    /// Number of records of the partition that broke a rule and are not published with the dataset.
    quarantined_rows: u64,
    /// Date of the partition's newest source file, YYYY-MM-DD; null if no file has a date.
    source_date: Option<String>,
    /// Time of the partition's newest build, RFC 3339 UTC; null if the release does not describe
    /// the build.
    built_at: Option<&'a str>,
    /// Evidence for the layout of the sources: a publisher's file, or only documentation; null for
    /// builds that do not state the evidence.
    #[schemars(extend("enum" = ["file", "documented", "confirmed", null]))]
    layout_evidence: Option<String>,
    /// Evidence for each source's layout, with the month in which the layout was last seen.
    evidence: Vec<Evidence<'a>>,
    /// Date since which the publisher's next edition is late by its calendar. Null if the edition
    /// is on time, if no calendar is known, or if the partition is not the newest.
    #[schemars(with = "Option<answer::Date>")]
    late_since: Option<Date>,
    /// True if the last attempt to renew the partition failed and the last good build is served.
    is_stale: bool,
    /// Reason for the failed renewal; null if the renewal did not fail.
    stale_reason: Option<String>,
    /// Findings about totals that did not block the build.
    #[schemars(with = "Vec<String>")]
    notes: BTreeSet<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DatasetPartitionEvidence")]
struct Evidence<'a> {
    /// Identifier of the source.
    source_id: &'a str,
    /// Evidence for the layout: `file` (a publisher's file), `excerpt` (an excerpt from the
    /// publisher's records), or `documented` (only the publisher's documentation).
    #[schemars(with = "&str", extend("enum" = ["file", "excerpt", "documented"]))]
    kind: Option<String>,
    /// Month in which the layout was seen, such as 2026-02.
    seen: &'a str,
}

/// Returns the partitions of a dataset with their size, freshness and evidence.
pub fn described_partitions<'a>(
    call: &'a Call<'_>,
    dataset: &'a DatasetEntry,
) -> Vec<Partition<'a>> {
    partitions(dataset)
        .into_iter()
        .map(|(partition, parts)| Partition::new(call, partition, &parts))
        .collect()
}

impl<'a> Partition<'a> {
    fn new(call: &'a Call<'_>, partition: BTreeMap<&'a str, &'a str>, parts: &[&'a Part]) -> Self {
        let manifest = &call.release.manifest;
        let tasks: BTreeMap<&str, &TaskEntry> = parts
            .iter()
            .filter_map(|part| manifest.tasks.get_key_value(&part.task_id))
            .map(|(id, task)| (id.as_str(), task))
            .collect();
        let evidence: BTreeMap<&String, _> =
            tasks.values().flat_map(|task| &task.evidence).collect();
        let stale_reason = tasks.values().find_map(|task| task.stale_reason.as_deref());
        Self {
            partition,
            rows: parts.iter().map(|part| part.rows).sum(),
            quarantined_rows: parts
                .iter()
                .flat_map(|part| part.report.quarantined.values())
                .sum(),
            source_date: newest_date(manifest, parts.iter().copied()),
            built_at: tasks.values().map(|task| task.built_at.as_str()).max(),
            // If builds differ, this is the weakest evidence, because `documented` sorts before
            // `file`.
            layout_evidence: tasks
                .values()
                .filter_map(|task| word(task.layout_evidence))
                .min(),
            evidence: evidence
                .into_iter()
                .map(|(source_id, evidence)| Evidence {
                    source_id,
                    kind: word(evidence.kind),
                    seen: &evidence.seen,
                })
                .collect(),
            late_since: tasks
                .keys()
                .filter_map(|task_id| manifest.late_since(task_id, call.today()))
                .min(),
            is_stale: tasks.values().any(|task| task.is_stale),
            stale_reason: stale_reason.map(|reason| call.service.redact(reason)),
            notes: notes(call, parts.iter().copied()),
        }
    }
}

/// Returns the serialized name of an enum variant whose type is not imported here.
fn word(of: impl Serialize) -> Option<String> {
    serde_json::to_value(of).ok()?.as_str().map(str::to_owned)
}
