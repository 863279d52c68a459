//! What is published: per dataset its vintages, counts, sources, dates, verdicts, and what is missing.

use crate::serve::sec::tables::SecTables;
use std::collections::{BTreeMap, BTreeSet};

use crate::contract::Contract;
use crate::provenance::SourceRows;
use crate::serve::geo::tables::Geo;
use crate::serve::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::serve::http::meta::Meta;
use crate::serve::http::parameters::OF_RELEASE;
use crate::serve::http::problem::Result;
use crate::serve::json::Json;
use crate::serve::license::datasets::LICENSES;
use crate::serve::license::table::Licenses;
use crate::serve::permit::datasets::PERMITS;
use crate::serve::permit::table::Permits;
use crate::serve::place::reach::{self, Population, Reaches};
use crate::serve::release::bucketed::BUCKET;
use crate::serve::release::freshness::source_date;
use crate::serve::release::loaded::Release;
use crate::serve::sec::members::Members;
use crate::serve::tax::table::{STATES, TaxTables};
use crate::store::Scope;
use crate::store::{DatasetEntry, Part, TaskEntry};

pub const GEOGRAPHIC: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/geo-demographics/coverage",
    operation_id: "getGeographicCoverage",
    summary: "What the geographic datasets cover",
    access: Access::Scope(Scope::Geo),
    parameters: OF_RELEASE,
    body: None,
    data: "CoverageReport",
    validity: Validity::Release,
    handler: Handler::Memory(geographic),
};

pub const ALL: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/coverage",
    operation_id: "getCoverage",
    summary: "What all datasets cover",
    access: Access::Everyone,
    parameters: OF_RELEASE,
    body: None,
    data: "CoverageReport",
    validity: Validity::Release,
    handler: Handler::Memory(all),
};

/// Answers `GET /v1/coverage`: every dataset.
pub fn all(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    write_coverage(call, json, |_| true);
    Ok(Meta::default())
}

/// Answers `GET geo-demographics/coverage`: the datasets of this family.
pub fn geographic(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    write_coverage(call, json, |dataset_id| dataset_id.starts_with("geo."));
    let mut meta = Meta::default();
    crate::serve::geo::notices::add_zcta_notice(&mut meta);
    Ok(meta)
}

fn write_coverage(call: &Call<'_>, json: &mut Json, is_wanted: impl Fn(&str) -> bool) {
    let release = call.release;
    let freshness = release.freshness(call.today());
    json.object(|json| {
        json.key("datasets").array(|json| {
            for (dataset_id, dataset) in release.manifest.datasets.iter().filter(|(id, _)| is_wanted(id)) {
                let contract = call.contracts().get(dataset_id);
                json.object(|json| {
                    json.key("dataset_id").text(dataset_id);
                    write_dataset(json, call, dataset_id, dataset, contract);
                    json.key("freshness").text(freshness.of(dataset_id).name());
                });
            }
        });
    });
}

fn write_dataset(json: &mut Json, call: &Call<'_>, dataset_id: &str, dataset: &DatasetEntry, contract: Option<&Contract>) {
    let (release, manifest) = (call.release, &call.release.manifest);
    let tasks: BTreeSet<&str> = dataset.parts.iter().map(|part| part.task_id.as_str()).collect();
    let tasks: Vec<&TaskEntry> = tasks.into_iter().filter_map(|id| manifest.tasks.get(id)).collect();
    let distinct = |value: fn(&TaskEntry) -> &str| tasks.iter().map(|task| value(task)).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join("; ");
    json.key("title").optional_text(contract.map(|contract| contract.title.as_str()));
    json.key("grain").optional_text(contract.map(|contract| contract.grain.as_str()));
    json.key("publisher").text(&distinct(|task| &task.publisher));
    json.key("licence").text(&distinct(|task| &task.licence));
    json.key("homepage").text(&distinct(|task| &task.homepage));
    json.key("schema_version").text(&dataset.schema_version);
    json.key("is_sample").flag(manifest.is_sample);
    let years: BTreeSet<i32> = dataset.parts.iter().filter_map(|part| part.partition.get("vintage_year")?.parse().ok()).collect();
    json.key("vintages").array(|json| years.iter().for_each(|&year| crate::serve::geo::estimates::write_vintage(json, year)));
    write_geography_types(json, &Geo::of(release), dataset_id);
    write_counts(json, release, dataset_id, dataset);
    write_lists(json, release, dataset_id, dataset);
    let states = whole_states(release, dataset_id);
    json.key("reach");
    Population::of(release).write(json, &states.unwrap_or_else(|| reach::areas(tasks.iter().copied())));
    write_sources(json, &tasks);
    write_source_rows(json, &tasks);
    write_findings(json, call, &tasks);
    json.key("source_date").optional_text(newest_date(release, &dataset.parts.iter().collect::<Vec<_>>()).as_deref());
    json.key("published_at").text(&manifest.published_at);
    let has_warnings = dataset.parts.iter().any(|part| !part.report.warnings.is_empty());
    json.key("validation_status").text(if has_warnings { "passed_with_warnings" } else { "passed" });
    json.key("is_stale").flag(tasks.iter().any(|task| task.is_stale));
    json.key("not_covered").texts(contract.into_iter().flat_map(|contract| contract.not_covered.iter().map(String::as_str)));
    json.key("partitions").array(|json| partitions(dataset).iter().for_each(|(partition, parts)| write_partition(json, call, partition, parts)));
    if dataset_id == Members::DATASET_ID {
        json.key("outcomes").value(&SecTables::of(release).members.outcomes());
    }
}

/// Kinds of areas of a dataset and how many there are, in the newest vintage where there are several.
fn write_geography_types(json: &mut Json, geo: &Geo<'_>, dataset_id: &str) {
    let counted = match dataset_id {
        "geo.zcta_metric" => geo.zcta_metrics.last().map(|table| ("zcta", table.areas())),
        "geo.county_metric" => geo.county_metrics.last().map(|table| ("county", table.areas())),
        "geo.geography" => geo.zctas.map(|places| ("zcta", places.codes.len())),
        "geo.county" => geo.counties.map(|places| ("county", places.codes.len())),
        _ => None,
    };
    json.key("geography_types").array(|json| {
        if let Some((geography_type, count)) = counted {
            json.object(|json| {
                json.key("geography_type").text(geography_type);
                json.key("count").count(count as u64);
            });
        }
    });
}

/// What each list of a dataset holds and lacks, and whom it reaches, where lists differ in that.
fn write_lists(json: &mut Json, release: &Release, dataset_id: &str, dataset: &DatasetEntry) {
    let reaches = Reaches { release, dataset };
    json.key("lists").array(|json| match dataset_id {
        PERMITS => release.table::<Permits>().into_iter().for_each(|permits| permits.write_lists(json, &reaches)),
        LICENSES => release.table::<Licenses>().into_iter().for_each(|licenses| licenses.write_lists(json, &reaches)),
        STATES => TaxTables::of(release).write_lists(json, Population::of(release)),
        _ => {}
    });
}

/// The states whose rates are all known where they apply, of the dataset that says so; none of others.
fn whole_states<'a>(release: &'a Release, dataset_id: &str) -> Option<BTreeSet<&'a str>> {
    (dataset_id == STATES).then(|| TaxTables::of(release).whole_states().collect())
}

fn write_counts(json: &mut Json, release: &Release, dataset_id: &str, dataset: &DatasetEntry) {
    let quarantined = release.manifest.quarantined(dataset_id);
    let mut warnings: BTreeMap<&str, u64> = BTreeMap::new();
    for (code, count) in dataset.parts.iter().flat_map(|part| &part.report.warnings) {
        *warnings.entry(code).or_default() += count;
    }
    json.key("rows").count(release.manifest.rows(dataset_id));
    json.key("quarantined_rows").count(quarantined.values().sum());
    json.key("quarantined").value(&quarantined);
    json.key("warnings").value(&warnings);
}

fn write_sources(json: &mut Json, tasks: &[&TaskEntry]) {
    let versions: BTreeSet<(&str, &str)> =
        tasks.iter().flat_map(|task| &task.inputs).map(|input| (input.source_id.as_str(), input.source_version.as_str())).collect();
    json.key("source_versions").array(|json| {
        for (source_id, source_version) in versions {
            json.object(|json| {
                json.key("source_id").text(source_id);
                json.key("source_version").text(source_version);
            });
        }
    });
}

/// What is to be seen to about the sources of a dataset, each once.
fn write_findings(json: &mut Json, call: &Call<'_>, tasks: &[&TaskEntry]) {
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

/// What became of the rows of each source, over the builds of a dataset.
fn write_source_rows(json: &mut Json, tasks: &[&TaskEntry]) {
    let mut by_source: BTreeMap<&str, SourceRows> = BTreeMap::new();
    for (source_id, rows) in tasks.iter().flat_map(|task| &task.source_rows) {
        by_source.entry(source_id).or_default().add(rows);
    }
    json.key("source_rows").array(|json| {
        for (source_id, rows) in by_source {
            json.object(|json| {
                json.key("source_id").text(source_id);
                json.key("read").count(rows.read);
                json.key("records").count(rows.records);
                json.key("merged").count(rows.merged);
                json.key("quarantined").count(rows.quarantined);
                json.key("left_out").value(&rows.left_out);
            });
        }
    });
}

/// Date of the newest file that the parts were built from. Parts of one build have the same files.
fn newest_date(release: &Release, parts: &[&Part]) -> Option<String> {
    let by_build: BTreeMap<&str, &Part> = parts.iter().map(|part| (part.task_id.as_str(), *part)).collect();
    by_build.values().filter_map(|part| source_date(&release.manifest, part)).max().map(|date| date.to_string())
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

fn write_partition(json: &mut Json, call: &Call<'_>, partition: &BTreeMap<&str, &str>, parts: &[&Part]) {
    let (release, today) = (call.release, call.today());
    let tasks: BTreeMap<&str, &TaskEntry> =
        parts.iter().filter_map(|part| release.manifest.tasks.get_key_value(&part.task_id)).map(|(id, task)| (id.as_str(), task)).collect();
    let notes: BTreeSet<String> = parts.iter().flat_map(|part| &part.report.notes).map(|note| call.service.told(note)).collect();
    json.object(|json| {
        json.key("partition").value(partition);
        json.key("rows").count(parts.iter().map(|part| part.rows).sum());
        json.key("quarantined_rows").count(parts.iter().flat_map(|part| part.report.quarantined.values()).sum());
        json.key("source_date").optional_text(newest_date(release, parts).as_deref());
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
