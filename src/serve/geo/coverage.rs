//! What is published: per dataset its vintages, counts, sources, dates, verdicts, and what is missing.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::Contract;
use crate::serve::call::{Call, Meta};
use crate::serve::freshness::source_date;
use crate::serve::index::{GeoIndex, Release};
use crate::serve::json::Json;
use crate::serve::problem::Result;
use crate::store::{DatasetEntry, Part, TaskEntry};

/// Answers `GET /v1/coverage`: every dataset.
pub fn all(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    write_coverage(call, json, |_| true);
    Ok(Meta::default())
}

/// Answers `GET geo-demographics/coverage`: the datasets of this family.
pub fn geographic(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    write_coverage(call, json, |dataset_id| dataset_id.starts_with("geo."));
    let mut meta = Meta::default();
    super::note_zcta(&mut meta);
    Ok(meta)
}

fn write_coverage(call: &Call<'_>, json: &mut Json, is_wanted: impl Fn(&str) -> bool) {
    let (release, today) = (call.release, call.service.today());
    let freshness = release.freshness(today);
    json.object(|json| {
        json.key("datasets").array(|json| {
            for (dataset_id, dataset) in release.manifest.datasets.iter().filter(|(id, _)| is_wanted(id)) {
                let contract = call.service.contracts.get(dataset_id);
                json.object(|json| {
                    json.key("dataset_id").text(dataset_id);
                    write_dataset(json, release, dataset_id, dataset, contract);
                    json.key("freshness").text(freshness.of(dataset_id).name());
                });
            }
        });
    });
}

fn write_dataset(json: &mut Json, release: &Release, dataset_id: &str, dataset: &DatasetEntry, contract: Option<&Contract>) {
    let manifest = &release.manifest;
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
    json.key("vintages").array(|json| years.iter().for_each(|&year| super::area::write_vintage(json, year)));
    write_geography_types(json, &release.geo, dataset_id);
    write_counts(json, release, dataset_id, dataset);
    write_sources(json, &tasks);
    json.key("source_date").optional_text(newest_date(release, dataset).as_deref());
    json.key("published_at").text(&manifest.published_at);
    let has_warnings = dataset.parts.iter().any(|part| !part.report.warnings.is_empty());
    json.key("validation_status").text(if has_warnings { "passed_with_warnings" } else { "passed" });
    json.key("is_stale").flag(tasks.iter().any(|task| task.is_stale));
    json.key("not_covered").texts(contract.into_iter().flat_map(|contract| contract.not_covered.iter().map(String::as_str)));
    json.key("partitions").array(|json| dataset.parts.iter().for_each(|part| write_partition(json, release, part)));
}

/// Kinds of areas of a dataset and how many there are, in the newest vintage where there are several.
fn write_geography_types(json: &mut Json, geo: &GeoIndex, dataset_id: &str) {
    let counted = match dataset_id {
        "geo.zcta_metric" => geo.zcta_metrics.last().map(|table| ("zcta", table.areas())),
        "geo.county_metric" => geo.county_metrics.last().map(|table| ("county", table.areas())),
        "geo.geography" => geo.zctas.as_ref().map(|places| ("zcta", places.codes.len())),
        "geo.county" => geo.counties.as_ref().map(|places| ("county", places.codes.len())),
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

fn newest_date(release: &Release, dataset: &DatasetEntry) -> Option<String> {
    dataset.parts.iter().filter_map(|part| source_date(&release.manifest, part)).max().map(|date| date.to_string())
}

fn write_partition(json: &mut Json, release: &Release, part: &Part) {
    let task = release.manifest.tasks.get(&part.task_id);
    json.object(|json| {
        json.key("partition").value(&part.partition);
        json.key("rows").count(part.rows);
        json.key("quarantined_rows").count(part.report.quarantined.values().sum());
        json.key("source_date").optional_text(source_date(&release.manifest, part).map(|date| date.to_string()).as_deref());
        json.key("built_at").optional_text(task.map(|task| task.built_at.as_str()));
        json.key("is_stale").flag(task.is_some_and(|task| task.is_stale));
        json.key("stale_reason").optional_text(task.and_then(|task| task.stale_reason.as_deref()));
        json.key("notes").texts(part.report.notes.iter().map(String::as_str));
    });
}
