//! What is published: per dataset its vintages, counts, sources, dates, verdicts, and what is missing.

use std::collections::{BTreeMap, BTreeSet};

use crate::business::datasets::Entity;
use crate::business::table::Businesses;
use crate::described::{Origin, newest_date, tasks_of, verdict, write_counts, write_findings, write_partitions};
use crate::geo::tables::Geo;
use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, Parameter, RELEASE, format};
use crate::http::problem::Result;
use crate::json::Json;
use crate::license::datasets::LICENSES;
use crate::license::table::Licenses;
use crate::meaning::write_words;
use crate::permit::datasets::PERMITS;
use crate::permit::table::Permits;
use crate::place::reach::{self, Population, Reaches};
use crate::release::freshness::DatasetState;
use crate::release::loaded::Release;
use crate::release::rows::Dataset;
use crate::sec::members::Members;
use crate::sec::tables::SecTables;
use crate::tax::table::{STATES, TaxTables};
use pubdata_core::contract::Contract;
use pubdata_core::provenance::SourceRows;
use pubdata_store::{DatasetEntry, TaskEntry};

/// The parameters of both endpoints.
const PARAMETERS: &[Parameter] = &[format("datasets"), RELEASE, AS_OF];

pub const GEOGRAPHIC: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/geo-demographics/coverage",
    operation_id: "getGeographicCoverage",
    summary: "What the geographic datasets cover",
    access: Access::Everyone,
    parameters: PARAMETERS,
    body: None,
    data: Data::Written("CoverageReport"),
    validity: Validity::Release,
    handler: Handler::Memory(geographic),
};

pub const ALL: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/coverage",
    operation_id: "getCoverage",
    summary: "What all datasets cover",
    access: Access::Everyone,
    parameters: PARAMETERS,
    body: None,
    data: Data::Written("CoverageReport"),
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
    crate::geo::notices::add_zcta_notice(&mut meta);
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
                    json.key("state").text(DatasetState::of(&release.manifest, dataset, call.today()).name());
                });
            }
        });
        json.key("without_records").array(|json| {
            for contract in without_records(call).filter(|contract| is_wanted(&contract.dataset_id)) {
                json.object(|json| {
                    json.key("dataset_id").text(&contract.dataset_id);
                    json.key("title").text(&contract.title);
                });
            }
        });
    });
}

/// The datasets of the release's families of which it has no records.
fn without_records<'a>(call: &Call<'a>) -> impl Iterator<Item = &'a Contract> {
    let datasets = &call.release.manifest.datasets;
    let family = |dataset_id: &str| dataset_id.split('.').next().unwrap_or_default().to_owned();
    let families: BTreeSet<String> = datasets.keys().map(|dataset_id| family(dataset_id)).collect();
    call.contracts().values().filter(move |contract| !datasets.contains_key(&contract.dataset_id) && families.contains(&family(&contract.dataset_id)))
}

fn write_dataset(json: &mut Json, call: &Call<'_>, dataset_id: &str, dataset: &DatasetEntry, contract: Option<&Contract>) {
    let (release, manifest) = (call.release, &call.release.manifest);
    let tasks = tasks_of(manifest, dataset);
    json.key("title").optional_text(contract.map(|contract| contract.title.as_str()));
    json.key("grain").optional_text(contract.map(|contract| contract.grain.as_str()));
    Origin::of(&tasks).write(json);
    json.key("schema_version").text(&dataset.schema_version);
    json.key("is_sample").flag(manifest.is_sample);
    let years: BTreeSet<i32> = dataset.parts.iter().filter_map(|part| part.partition.get("vintage_year")?.parse().ok()).collect();
    json.key("vintages").array(|json| years.iter().for_each(|&year| crate::geo::estimates::write_vintage(json, year)));
    write_geography_types(json, &Geo::of(release), dataset_id);
    write_counts(json, manifest, dataset_id);
    write_lists(json, call, dataset_id, dataset);
    let states = whole_states(release, dataset_id);
    json.key("reach");
    Population::of(release).write(json, &states.unwrap_or_else(|| reach::areas(tasks.iter().copied())));
    Population::of(release).write_by_layout(json.key("reach_by_layout"), &tasks);
    write_sources(json, &tasks);
    write_source_rows(json, &tasks);
    write_words(json, manifest, dataset_id, dataset);
    write_findings(json, call, &tasks);
    json.key("source_date").optional_text(newest_date(manifest, &dataset.parts).as_deref());
    json.key("published_at").instant(&manifest.published_at);
    json.key("validation_status").text(verdict(dataset));
    json.key("is_stale").flag(tasks.iter().any(|task| task.is_stale));
    json.key("not_covered").texts(contract.into_iter().flat_map(|contract| contract.not_covered.iter().map(String::as_str)));
    write_partitions(json, call, dataset);
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
fn write_lists(json: &mut Json, call: &Call<'_>, dataset_id: &str, dataset: &DatasetEntry) {
    let release = call.release;
    let reaches = Reaches { release, dataset, today: call.today() };
    json.key("lists").array(|json| match dataset_id {
        PERMITS => release.table::<Permits>().into_iter().for_each(|permits| permits.write_lists(json, &reaches)),
        Entity::ID => release.table::<Businesses>().into_iter().for_each(|businesses| businesses.write_lists(json, &reaches)),
        LICENSES => release.table::<Licenses>().into_iter().for_each(|licenses| licenses.write_lists(json, &reaches)),
        STATES => TaxTables::of(release).write_lists(json, Population::of(release)),
        _ => {}
    });
}

/// The states whose rates are all known where they apply, of the dataset that says so; none of others.
fn whole_states<'a>(release: &'a Release, dataset_id: &str) -> Option<BTreeSet<&'a str>> {
    (dataset_id == STATES).then(|| TaxTables::of(release).whole_states().collect())
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
