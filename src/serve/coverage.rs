//! Reports what is published: vintages, counts, sources, dates and validation results of each
//! dataset, and what is missing.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Instant;
use crate::business::datasets::Entity;
use crate::business::table::Businesses;
use crate::dataset_summary::{
    Counts, Origin, Partition, SourceFinding, described_partitions, findings, newest_date,
    tasks_of, verdict,
};
use crate::geo::figures::Vintage;
use crate::geo::tables::Geo;
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, Parameter, RELEASE, format};
use crate::http::problem::Result;
use crate::json::Json;
use crate::license::datasets::LICENSES;
use crate::license::table::Licenses;
use crate::meaning::{KnownWords, known_words};
use crate::permit::datasets::PERMITS;
use crate::permit::table::Permits;
use crate::place::reach::{self, CoveredList, Population, Reach, ReachByLayout, Reaches};
use crate::release::freshness::{DatasetState, Freshness};
use crate::release::loaded::Release;
use crate::release::rows::Dataset;
use crate::sec::members::Members;
use crate::sec::tables::SecTables;
use crate::tax::table::{STATES, TaxTables};
use pubdata_core::contract::Contract;
use pubdata_core::provenance::SourceRows;
use pubdata_store::{DatasetEntry, TaskEntry};

/// Parameters of both endpoints.
const PARAMETERS: &[Parameter] = &[format("datasets"), RELEASE, AS_OF];

pub const GEOGRAPHIC: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/geo-demographics/coverage",
    operation_id: "getGeographicCoverage",
    summary: "Coverage of the geographic datasets",
    access: Access::Everyone,
    parameters: PARAMETERS,
    body: None,
    data: Data::for_type::<CoverageReport<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Memory(geographic),
};

pub const ALL: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/coverage",
    operation_id: "getCoverage",
    summary: "Coverage of all datasets",
    access: Access::Everyone,
    parameters: PARAMETERS,
    body: None,
    data: Data::for_type::<CoverageReport<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Memory(all),
};

#[derive(Serialize, JsonSchema)]
struct CoverageReport<'a> {
    /// All datasets of the release, or the datasets of the family in the path.
    datasets: Vec<DatasetCoverage<'a>>,
    /// Datasets of the release's families that have no records in the release.
    without_records: Vec<WithoutRecords<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CoverageReportWithoutRecord")]
struct WithoutRecords<'a> {
    /// Identifier of the dataset.
    dataset_id: &'a str,
    /// Name of the dataset.
    title: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct DatasetCoverage<'a> {
    /// Identifier of the dataset, such as `permit.permit`.
    dataset_id: &'a str,
    /// Name of the dataset; null if this server has no contract for it.
    title: Option<&'a str>,
    /// Meaning of one row; null if this server has no contract for the dataset.
    grain: Option<&'a str>,
    #[serde(flatten)]
    origin: Origin,
    /// Version of the contract with which the release was built.
    schema_version: &'a str,
    /// True if the release was built from sample files instead of the publishers' complete files.
    is_sample: bool,
    /// Survey vintages in the dataset, oldest first; empty for datasets that are not survey
    /// estimates.
    vintages: Vec<Vintage>,
    /// Kinds of area in the dataset, counted in the newest vintage; empty for datasets that are not
    /// about areas.
    geography_types: Vec<AreaCount>,
    #[serde(flatten)]
    counts: Counts<'a>,
    /// Contents and gaps of each list of permits or licenses, each registry of businesses, and each
    /// state of `tax.state`; empty for other datasets.
    lists: Vec<CoveredList<'a>>,
    /// Areas and population that the entire dataset covers.
    reach: Reach<'a>,
    /// Builds whose layout was seen in the publisher's records, and builds whose layout is known
    /// only from documentation, with the number of people in their areas.
    reach_by_layout: ReachByLayout,
    /// Publishers' labels for the files from which the dataset was built.
    source_versions: Vec<SourceVersion<'a>>,
    /// Row outcomes for each source of the dataset's builds. A source's outcomes add up to `read`.
    /// Omits sources that are not read row by row.
    source_rows: Vec<RowsOfSource<'a>>,
    /// Known publisher terms in each coded column of each build. Empty for datasets without such
    /// columns, and for builds of earlier versions.
    words: Vec<KnownWords<'a>>,
    /// Findings about the sources of the builds that an operator has to resolve. `new_column`: the
    /// publisher added a column, which is not published. `empty_column`, `column_turned_empty`: a
    /// column is empty or became empty. `file_missing`: one of several files did not arrive, and
    /// the previous file stays in use if it exists. `optional_file_missing`: an optional file did
    /// not arrive. `unconfirmed_layout`: the layout is known only from documentation.
    /// `unknown_words`: a column has more terms without a known meaning than the declaration
    /// allows. `meaning_lost`: so many terms are unknown that answers carry a notice.
    findings: Vec<SourceFinding<'a>>,
    /// Date of the newest source file, YYYY-MM-DD; null if no file has a date.
    source_date: Option<String>,
    /// Time at which the release was published, RFC 3339 UTC.
    published_at: Instant<'a>,
    /// Result of validation: `passed`, or `passed_with_warnings` if any record carries warnings.
    /// Data that fails validation is not published.
    #[schemars(extend("enum" = ["passed", "passed_with_warnings"]))]
    validation_status: &'static str,
    /// True if the last attempt to renew a part failed and the last good build is served.
    is_stale: bool,
    /// Known limits of the dataset, as text.
    not_covered: &'a [String],
    /// Parts of the dataset that are built separately, such as a vintage or a city.
    partitions: Vec<Partition<'a>>,
    /// Number of registrants by outcome; present only for the facts archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BTreeMap<&str, u64>")]
    outcomes: Option<BTreeMap<&'a str, u64>>,
    /// Age of the dataset's newest source file relative to the publisher's cadence.
    freshness: Freshness,
    /// Most serious condition of the dataset.
    state: DatasetState,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DatasetCoverageGeographyType")]
struct AreaCount {
    /// Kind of area: `zcta` or `county`.
    geography_type: &'static str,
    /// Number of areas of the kind.
    count: usize,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DatasetCoverageSourceVersion")]
struct SourceVersion<'a> {
    /// Identifier of the source.
    source_id: &'a str,
    /// The publisher's own label of the file, such as `2019-2023`.
    source_version: &'a str,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DatasetCoverageSourceRow")]
struct RowsOfSource<'a> {
    /// Identifier of the source.
    source_id: &'a str,
    /// Number of rows read from the source's files, excluding rows that the declaration ignores.
    read: u64,
    /// Number of rows that start a published record.
    records: u64,
    /// Number of rows that add to a record started by another row.
    merged: u64,
    /// Number of rows that are not published because they break a rule.
    quarantined: u64,
    /// Number of rows that are not published, by reason: `replaced`, `repeated`, `unused`, or the
    /// code of a finding.
    left_out: BTreeMap<String, u64>,
}

/// Answers `GET /v1/coverage` with every dataset.
pub fn all(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    json.value(&covered(call, |_| true));
    Ok(Meta::default())
}

/// Answers `GET geo-demographics/coverage` with the datasets of this family.
pub fn geographic(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    json.value(&covered(call, |dataset_id| dataset_id.starts_with("geo.")));
    let mut meta = Meta::default();
    crate::geo::notices::add_zcta_notice(&mut meta);
    Ok(meta)
}

fn covered<'a>(call: &'a Call<'_>, is_selected: impl Fn(&str) -> bool) -> CoverageReport<'a> {
    let datasets = call
        .release
        .manifest
        .datasets
        .iter()
        .filter(|(id, _)| is_selected(id));
    let without_records =
        without_records(call).filter(|contract| is_selected(&contract.dataset_id));
    CoverageReport {
        datasets: datasets
            .map(|(dataset_id, dataset)| DatasetCoverage::new(call, dataset_id, dataset))
            .collect(),
        without_records: without_records
            .map(|contract| WithoutRecords {
                dataset_id: &contract.dataset_id,
                title: &contract.title,
            })
            .collect(),
    }
}

/// Returns the contracts of the release's families that have no records in the release.
fn without_records<'a>(call: &Call<'a>) -> impl Iterator<Item = &'a Contract> {
    let datasets = &call.release.manifest.datasets;
    let family = |dataset_id: &str| dataset_id.split('.').next().unwrap_or_default().to_owned();
    let families: BTreeSet<String> = datasets
        .keys()
        .map(|dataset_id| family(dataset_id))
        .collect();
    call.contracts().values().filter(move |contract| {
        !datasets.contains_key(&contract.dataset_id)
            && families.contains(&family(&contract.dataset_id))
    })
}

impl<'a> DatasetCoverage<'a> {
    fn new(call: &'a Call<'_>, dataset_id: &'a str, dataset: &'a DatasetEntry) -> Self {
        let (release, manifest) = (call.release, &call.release.manifest);
        let contract = call.contracts().get(dataset_id);
        let tasks = tasks_of(manifest, dataset);
        let years: BTreeSet<i32> = dataset
            .parts
            .iter()
            .filter_map(|part| part.partition.get("vintage_year")?.parse().ok())
            .collect();
        let states = whole_states(release, dataset_id);
        let areas = states.unwrap_or_else(|| reach::areas(tasks.iter().copied()));
        Self {
            dataset_id,
            title: contract.map(|contract| contract.title.as_str()),
            grain: contract.map(|contract| contract.grain.as_str()),
            origin: Origin::from_tasks(&tasks),
            schema_version: &dataset.schema_version,
            is_sample: manifest.is_sample,
            vintages: years.into_iter().map(Vintage::from_year).collect(),
            geography_types: area_counts(&Geo::from_release(release), dataset_id),
            counts: Counts::for_dataset(manifest, dataset_id),
            lists: covered_lists(call, dataset_id, dataset),
            reach: Population::from_release(release).reach(&areas),
            reach_by_layout: Population::from_release(release).reach_by_layout(&tasks),
            source_versions: source_versions(&tasks),
            source_rows: source_rows(&tasks),
            words: known_words(manifest, dataset_id, dataset),
            findings: findings(call, &tasks),
            source_date: newest_date(manifest, &dataset.parts),
            published_at: Instant(&manifest.published_at),
            validation_status: verdict(dataset),
            is_stale: tasks.iter().any(|task| task.is_stale),
            not_covered: contract
                .map(|contract| contract.not_covered.as_slice())
                .unwrap_or_default(),
            partitions: described_partitions(call, dataset),
            outcomes: (dataset_id == Members::DATASET_ID)
                .then(|| SecTables::from_release(release).members.outcomes()),
            freshness: release.freshness(call.today()).get(dataset_id),
            state: DatasetState::new(manifest, dataset, call.today()),
        }
    }
}

/// Counts the areas of a dataset by kind, in the newest vintage if the dataset has several.
fn area_counts(geo: &Geo<'_>, dataset_id: &str) -> Vec<AreaCount> {
    let counted = match dataset_id {
        "geo.zcta_metric" => geo.zcta_metrics.last().map(|table| ("zcta", table.areas())),
        "geo.county_metric" => geo
            .county_metrics
            .last()
            .map(|table| ("county", table.areas())),
        "geo.geography" => geo.zctas.map(|places| ("zcta", places.codes.len())),
        "geo.county" => geo.counties.map(|places| ("county", places.codes.len())),
        _ => None,
    };
    counted
        .into_iter()
        .map(|(geography_type, count)| AreaCount {
            geography_type,
            count,
        })
        .collect()
}

/// Returns the lists of a dataset that consists of lists with different contents and reach.
fn covered_lists<'a>(
    call: &'a Call<'_>,
    dataset_id: &str,
    dataset: &'a DatasetEntry,
) -> Vec<CoveredList<'a>> {
    let release = call.release;
    let reaches = Reaches {
        release,
        dataset,
        today: call.today(),
    };
    match dataset_id {
        PERMITS => release
            .table::<Permits>()
            .map(|permits| permits.covered_lists(&reaches)),
        Entity::ID => release
            .table::<Businesses>()
            .map(|businesses| businesses.covered_lists(&reaches)),
        LICENSES => release
            .table::<Licenses>()
            .map(|licenses| licenses.covered_lists(&reaches)),
        STATES => {
            Some(TaxTables::from_release(release).covered_lists(Population::from_release(release)))
        }
        _ => None,
    }
    .unwrap_or_default()
}

/// Returns the states with complete rates. Only the state dataset has such a set.
fn whole_states<'a>(release: &'a Release, dataset_id: &str) -> Option<BTreeSet<&'a str>> {
    (dataset_id == STATES).then(|| TaxTables::from_release(release).whole_states().collect())
}

fn source_versions<'a>(tasks: &[&'a TaskEntry]) -> Vec<SourceVersion<'a>> {
    let versions: BTreeSet<(&str, &str)> = tasks
        .iter()
        .flat_map(|task| &task.inputs)
        .map(|input| (input.source_id.as_str(), input.source_version.as_str()))
        .collect();
    versions
        .into_iter()
        .map(|(source_id, source_version)| SourceVersion {
            source_id,
            source_version,
        })
        .collect()
}

/// Sums the row outcomes of each source over a dataset's builds.
fn source_rows<'a>(tasks: &[&'a TaskEntry]) -> Vec<RowsOfSource<'a>> {
    let mut by_source: BTreeMap<&str, SourceRows> = BTreeMap::new();
    for (source_id, rows) in tasks.iter().flat_map(|task| &task.source_rows) {
        by_source.entry(source_id).or_default().add(rows);
    }
    let of_source = |(
        source_id,
        SourceRows {
            read,
            records,
            merged,
            quarantined,
            left_out,
        },
    )| RowsOfSource {
        source_id,
        read,
        records,
        merged,
        quarantined,
        left_out,
    };
    by_source.into_iter().map(of_source).collect()
}
