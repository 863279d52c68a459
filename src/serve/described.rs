//! What is said of a dataset wherever datasets are told: whose it is, how much of it there is, what needs attention, and its partitions.

use std::collections::{BTreeMap, BTreeSet};

use crate::http::endpoint::Call;
use crate::http::meta::SAMPLE_RELEASE;
use crate::json::Json;
use crate::release::bucketed::BUCKET;
use crate::release::freshness::source_date;
use pubdata_core::contract::Contract;
use pubdata_store::{DatasetEntry, Manifest, Part, TaskEntry};

/// Partition column of surveys, and how many years each is of.
const VINTAGE_YEAR: &str = "vintage_year";
const YEARS_OF_SURVEY: i32 = 5;

/// Whose data a dataset's are; those of several sources joined with `; `.
pub struct Origin {
    pub publisher: String,
    pub licence: String,
    pub homepage: String,
}

impl Origin {
    /// Of the builds of a dataset.
    pub fn of(tasks: &[&TaskEntry]) -> Self {
        let distinct = |value: fn(&TaskEntry) -> &str| tasks.iter().map(|task| value(task)).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join("; ");
        Self { publisher: distinct(|task| &task.publisher), licence: distinct(|task| &task.licence), homepage: distinct(|task| &task.homepage) }
    }

    /// Each of the publishers or homepages by itself.
    pub fn each(joined: &str) -> BTreeSet<&str> {
        joined.split("; ").filter(|one| !one.is_empty()).collect()
    }

    pub fn write(&self, json: &mut Json) {
        json.key("publisher").text(&self.publisher);
        json.key("licence").text(&self.licence);
        json.key("homepage").text(&self.homepage);
    }

    /// What to write beside what is made of the data.
    pub fn credit(&self) -> String {
        format!("Source: {} ({}). Licence: {}.", self.publisher, self.homepage, self.licence)
    }
}

/// The licences of the builds of a dataset, each once: one may be of several sentences, and is not taken apart.
pub fn licences<'a>(tasks: &[&'a TaskEntry]) -> BTreeSet<&'a str> {
    tasks.iter().map(|task| task.licence.as_str()).collect()
}

/// What to write where a dataset is named as a source.
pub fn citation(manifest: &Manifest, dataset_id: &str, origin: &Origin, contract: Option<&Contract>) -> String {
    let date = manifest.datasets.get(dataset_id).and_then(|dataset| newest_date(manifest, &dataset.parts)).unwrap_or_default();
    let Origin { publisher, homepage, .. } = origin;
    let title = title(dataset_id, contract);
    format!("{publisher}: {title}, files to {date} ({homepage}), as table {dataset_id} of release {}.", manifest.release_id)
}

/// What people call a dataset; of one that this program has no contract of, its id.
pub fn title<'a>(dataset_id: &'a str, contract: Option<&'a Contract>) -> &'a str {
    contract.map_or(dataset_id, |contract| &contract.title)
}

/// What a dataset is, in sentences: what a row of it is, what a reader might look for in vain, and whether it is of samples.
pub fn description(manifest: &Manifest, dataset_id: &str, contract: Option<&Contract>) -> String {
    let mut said = contract.map_or_else(|| format!("Table {dataset_id}, of which this server has no contract."), |contract| contract.grain.clone());
    if let Some(contract) = contract.filter(|contract| !contract.not_covered.is_empty()) {
        said += &format!(" Known limits: {}.", contract.not_covered.join("; "));
    }
    if manifest.is_sample {
        said += " ";
        said += SAMPLE_RELEASE;
    }
    said
}

/// The first and the last day that a dataset's partitions are about, where they name years.
pub fn period(dataset: &DatasetEntry) -> Option<(String, String)> {
    // A survey's years are named by the last of them.
    let years = dataset.parts.iter().filter_map(|part| part.partition.get(VINTAGE_YEAR)?.parse::<i32>().ok());
    let (first, last) = (years.clone().min()?, years.max()?);
    Some((format!("{:04}-01-01", first - (YEARS_OF_SURVEY - 1)), format!("{last:04}-12-31")))
}

/// The builds that a dataset's parts are of, each once.
pub fn tasks_of<'a>(manifest: &'a Manifest, dataset: &DatasetEntry) -> Vec<&'a TaskEntry> {
    let tasks: BTreeSet<&str> = dataset.parts.iter().map(|part| part.task_id.as_str()).collect();
    tasks.into_iter().filter_map(|id| manifest.tasks.get(id)).collect()
}

/// What validation said of a dataset: none that failed is published.
pub fn verdict(dataset: &DatasetEntry) -> &'static str {
    let has_warnings = dataset.parts.iter().any(|part| !part.report.warnings.is_empty());
    if has_warnings { "passed_with_warnings" } else { "passed" }
}

/// Rows of a dataset, and what validation said of them.
pub fn write_counts(json: &mut Json, manifest: &Manifest, dataset_id: &str) {
    let quarantined = manifest.quarantined(dataset_id);
    let mut warnings: BTreeMap<&str, u64> = BTreeMap::new();
    for (code, count) in manifest.datasets.get(dataset_id).into_iter().flat_map(|dataset| &dataset.parts).flat_map(|part| &part.report.warnings) {
        *warnings.entry(code).or_default() += count;
    }
    json.key("rows").count(manifest.rows(dataset_id));
    json.key("quarantined_rows").count(quarantined.values().sum());
    json.key("quarantined").value(&quarantined);
    json.key("warnings").value(&warnings);
}

/// What is to be seen to about the sources of a dataset, each once.
pub fn write_findings(json: &mut Json, call: &Call<'_>, tasks: &[&TaskEntry]) {
    let findings: BTreeSet<_> = tasks.iter().flat_map(|task| &task.findings).collect();
    json.key("findings").array(|json| {
        for finding in findings {
            json.object(|json| {
                json.key("source_id").text(&finding.source_id);
                json.key("code").text(&finding.code);
                json.key("detail").text(&call.service.told(&finding.detail));
            });
        }
    });
}

/// The day on which a release was published.
pub fn day_of(manifest: &Manifest) -> &str {
    manifest.published_at.get(..10).unwrap_or_default()
}

/// Date of the newest file that the parts were built from. Parts of one build have the same files.
pub fn newest_date<'a>(manifest: &Manifest, parts: impl IntoIterator<Item = &'a Part>) -> Option<String> {
    let by_build: BTreeMap<&str, &Part> = parts.into_iter().map(|part| (part.task_id.as_str(), part)).collect();
    by_build.values().filter_map(|part| source_date(manifest, part)).max().map(|date| date.to_string())
}

/// Folders with their parts. Buckets only spread a dataset over files and say nothing about what is covered: they count as one.
fn partitions(dataset: &DatasetEntry) -> BTreeMap<BTreeMap<&str, &str>, Vec<&Part>> {
    let mut partitions: BTreeMap<BTreeMap<&str, &str>, Vec<&Part>> = BTreeMap::new();
    for part in &dataset.parts {
        let partition = part.partition.iter().filter(|(column, _)| *column != BUCKET).map(|(column, value)| (column.as_str(), value.as_str())).collect();
        partitions.entry(partition).or_default().push(part);
    }
    partitions
}

/// A dataset's folders: how much is in each, how fresh it is, and what it was made from.
pub fn write_partitions(json: &mut Json, call: &Call<'_>, dataset: &DatasetEntry) {
    json.key("partitions").array(|json| partitions(dataset).iter().for_each(|(partition, parts)| write_partition(json, call, partition, parts)));
}

fn write_partition(json: &mut Json, call: &Call<'_>, partition: &BTreeMap<&str, &str>, parts: &[&Part]) {
    let (release, today) = (call.release, call.today());
    let tasks: BTreeMap<&str, &TaskEntry> =
        parts.iter().filter_map(|part| release.manifest.tasks.get_key_value(&part.task_id)).map(|(id, task)| (id.as_str(), task)).collect();
    let notes: BTreeSet<String> = parts.iter().flat_map(|part| &part.report.notes).map(|note| call.service.told(note)).collect();
    json.object(|json| {
        json.key("partition").value(partition);
        json.key("rows").count(parts.iter().map(|part| part.rows).sum());
        json.key("quarantined_rows").count(parts.iter().flat_map(|part| part.report.quarantined.values()).sum());
        json.key("source_date").optional_text(newest_date(&release.manifest, parts.iter().copied()).as_deref());
        json.key("built_at").optional_text(tasks.values().map(|task| task.built_at.as_str()).max());
        json.key("layout_evidence").optional_text(layout_evidence(&tasks).as_deref());
        json.key("evidence").array(|json| {
            for (source_id, evidence) in tasks.values().flat_map(|task| &task.evidence).collect::<BTreeMap<_, _>>() {
                json.object(|json| {
                    json.key("source_id").text(source_id);
                    json.key("kind").value(&evidence.kind);
                    json.key("seen").text(&evidence.seen);
                });
            }
        });
        let late_since = tasks.keys().filter_map(|task_id| release.manifest.late_since(task_id, today)).min();
        json.key("late_since").optional_text(late_since.map(|day| day.to_string()).as_deref());
        json.key("is_stale").flag(tasks.values().any(|task| task.is_stale));
        let stale_reason = tasks.values().find_map(|task| task.stale_reason.as_deref());
        json.key("stale_reason").optional_text(stale_reason.map(|reason| call.service.told(reason)).as_deref());
        json.key("notes").texts(notes.iter().map(String::as_str));
    });
}

/// What the layout of the sources is known from, the weakest where builds differ: `documented` comes before `file`.
fn layout_evidence(tasks: &BTreeMap<&str, &TaskEntry>) -> Option<String> {
    let words = tasks.values().filter_map(|task| serde_json::to_value(task.layout_evidence).ok()?.as_str().map(str::to_owned));
    words.min()
}
