//! Answers `GET /v1/datasets/{dataset_id}`: shows the contract, the sources, the next edition,
//! known issues, and the row counts of the last releases.

use std::collections::BTreeMap;

use futures_util::FutureExt;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use super::datasets::{family, late_since};
use super::query;
use crate::answer::{self, Float, Instant};
use crate::dataset_summary::{
    Counts, Origin, Partition, SourceFinding, described_partitions, findings, newest_date,
    tasks_of, verdict,
};
use crate::http::components::Data;
use crate::http::endpoint::{Access, CachePolicy, Call, Endpoint, Handler};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, RELEASE, format};
use crate::http::problem::Result;
use crate::json::Json;
use crate::meaning::{KnownWords, known_words};
use crate::release::freshness::Freshness;
use crate::release::manifests::ReleaseName;
use pubdata_core::contract::{Column, Contract, Invariant, Physical, Rule, Severity};
use pubdata_store::{DatasetEntry, Manifest};

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/datasets/{dataset_id}",
    operation_id: "getDataset",
    summary: "A dataset: columns, rules, sources, limits and the rows of its last releases",
    access: Access::Everyone,
    parameters: &[format("columns"), RELEASE, AS_OF],
    body: None,
    data: Data::for_type::<Dataset<'static>>(),
    cache_policy: CachePolicy::PerRelease,
    handler: Handler::Files(|call, json| describe(call, json).boxed()),
};

/// Maximum number of releases in the history.
const MAX_RELEASES: usize = 30;

#[derive(Serialize, JsonSchema)]
struct Dataset<'a> {
    /// Identifier of the dataset, such as `permit.permit`.
    dataset_id: &'a str,
    /// First segment of the dataset's identifier, such as `permit`.
    family: &'a str,
    /// Version of the contract that the release was made with.
    schema_version: &'a str,
    /// Version of the contract that `columns` and `rules` describe; null if this server has no
    /// contract for the dataset.
    contract_version: Option<&'a str>,
    /// Name of the dataset; null if this server has no contract for it.
    title: Option<&'a str>,
    /// Meaning of one row; null if this server has no contract for the dataset.
    grain: Option<&'a str>,
    /// Columns that together identify a row.
    primary_key: &'a [String],
    /// Columns that the rows are sorted by.
    sort_by: &'a [String],
    /// Columns that the Parquet files are partitioned by; empty if they are not.
    partition_by: &'a [String],
    /// Paths whose answers use the dataset.
    serves: &'a [String],
    /// Data that a reader might expect here but that the dataset does not have.
    not_covered: &'a [String],
    /// Columns of the contract; empty if this server has no contract for the dataset.
    columns: Vec<DatasetColumn<'a>>,
    /// Rules that relate columns of a record to each other.
    rules: Vec<DatasetRule<'a>>,
    #[serde(flatten)]
    origin: Origin,
    /// Credit line for works that use the data.
    credit: String,
    /// Shortest time between two editions of a source, in days; null if the release describes no
    /// build.
    cadence_days: Option<i64>,
    /// Day from which the next edition of each source is late.
    expected: Vec<Expected<'a>>,
    /// Day since which the publisher's next edition is late by its calendar; null when on time.
    #[schemars(with = "Option<answer::Date>")]
    late_since: Option<Date>,
    /// Age of the dataset's newest source file compared with the publisher's cadence.
    freshness: Freshness,
    /// True if the release was built from sample files instead of the publishers' complete files.
    is_sample: bool,
    /// Date of the newest source file, YYYY-MM-DD; null if no file has a date.
    #[schemars(extend("format" = "date"))]
    source_date: Option<String>,
    /// Time at which the release was published, RFC 3339 UTC.
    #[schemars(extend("format" = "date-time"))]
    published_at: Instant<'a>,
    #[serde(flatten)]
    counts: Counts<'a>,
    /// Result of validation: `passed`, or `passed_with_warnings` if any record carries warnings.
    /// Data that fail validation are not published.
    #[schemars(extend("enum" = ["passed", "passed_with_warnings"]))]
    validation_status: &'static str,
    /// Known and unknown words of the publisher in each coded column of each build; empty for
    /// datasets without coded columns, and for builds by earlier versions.
    words: Vec<KnownWords<'a>>,
    /// Known issues in the dataset's sources.
    findings: Vec<SourceFinding<'a>>,
    /// Parts of the dataset that are built separately, such as a vintage or a city.
    partitions: Vec<Partition<'a>>,
    /// Row counts of the last 30 retained releases that have the dataset, newest first. Releases
    /// published after the one that answers are omitted.
    history: Vec<ReleaseRows<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct DatasetColumn<'a> {
    /// Name of the column.
    name: &'a str,
    /// Physical type of the column.
    #[serde(rename = "type")]
    #[schemars(with = "&str", extend("enum" = ["string", "int32", "int64", "float64", "boolean", "date", "decimal", "string_list", "pointers"]))]
    physical: Physical,
    /// Name of the semantic type, which columns with the same meaning share.
    meaning: &'a str,
    /// Unit of the values if the column's name states it; null otherwise. If the unit varies by
    /// row, another column contains the unit.
    unit: Option<&'a str>,
    /// True if the column may be null.
    nullable: bool,
    /// Meaning of the column.
    description: &'a str,
    /// Allowed values; empty if all values are allowed.
    values: &'a [String],
    /// Smallest value allowed; null if there is no limit.
    minimum: Option<Float>,
    /// Largest value allowed; null if there is no limit.
    maximum: Option<Float>,
    /// Exact number of digits of a code; null for other columns.
    digits: Option<usize>,
    /// Digits after the decimal point; null for other columns.
    decimals: Option<i32>,
}

#[derive(Serialize, JsonSchema)]
struct DatasetRule<'a> {
    /// Stable code of the rule, as in `warnings` and `quarantined`.
    code: &'a str,
    /// Kind of check that the rule performs.
    #[schemars(with = "&str", extend("enum" = ["exactly_one_of", "all_or_none", "present_iff", "present_unless", "range_where", "in_order", "sum_within"]))]
    rule: Rule,
    /// Columns that the rule relates.
    columns: &'a [String],
    /// Consequence for a record that breaks the rule: it is published with the code among its
    /// warnings, or quarantined.
    #[schemars(with = "&str", extend("enum" = ["warning", "quarantine"]))]
    severity: Severity,
    /// Requirement of the rule, and its reason.
    description: &'a str,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DatasetExpected")]
struct Expected<'a> {
    /// Identifier of the source.
    source_id: &'a str,
    /// Day from which the source's next edition is late.
    #[schemars(with = "answer::Date")]
    late_from: Date,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DatasetHistory")]
struct ReleaseRows<'a> {
    #[serde(flatten)]
    release: ReleaseName<'a>,
    /// Number of records of the dataset in the release.
    rows: u64,
    /// Number of records that were quarantined in the release.
    quarantined_rows: u64,
}

async fn describe(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let (manifest, dataset_id) = (&call.release.manifest, call.path_value("dataset_id"));
    let dataset = query::dataset(manifest, "dataset_id", dataset_id)?;
    let history = query::newest_retained(call, MAX_RELEASES).await?;
    let contract = call.contracts().get(dataset_id);
    let tasks = tasks_of(manifest, dataset);
    let origin = Origin::from_tasks(&tasks);
    let texts = |of: fn(&Contract) -> &[String]| contract.map(of).unwrap_or_default();
    let rows_of_release = history.iter().filter_map(|summary| {
        let sums = summary.datasets.get(dataset_id)?;
        Some(ReleaseRows {
            release: summary.name(),
            rows: sums.rows,
            quarantined_rows: sums.quarantined_rows,
        })
    });
    json.value(&Dataset {
        dataset_id,
        family: family(dataset_id),
        schema_version: &dataset.schema_version,
        contract_version: contract.map(|contract| contract.version.as_str()),
        title: contract.map(|contract| contract.title.as_str()),
        grain: contract.map(|contract| contract.grain.as_str()),
        primary_key: texts(|contract| &contract.primary_key),
        sort_by: texts(|contract| &contract.sort_by),
        partition_by: texts(|contract| &contract.partition_by),
        serves: texts(|contract| &contract.serves),
        not_covered: texts(|contract| &contract.not_covered),
        columns: contract
            .into_iter()
            .flat_map(|contract| &contract.columns)
            .map(DatasetColumn::from_column)
            .collect(),
        rules: contract
            .into_iter()
            .flat_map(|contract| &contract.invariants)
            .map(DatasetRule::from_invariant)
            .collect(),
        credit: origin.credit(),
        origin,
        cadence_days: tasks.iter().map(|task| task.cadence_days).min(),
        expected: expected(manifest, dataset)
            .into_iter()
            .map(|(source_id, late_from)| Expected {
                source_id,
                late_from,
            })
            .collect(),
        late_since: late_since(call, manifest, dataset),
        freshness: call.release.freshness(call.today()).get(dataset_id),
        is_sample: manifest.is_sample,
        source_date: newest_date(manifest, &dataset.parts),
        published_at: Instant(&manifest.published_at),
        counts: Counts::for_dataset(manifest, dataset_id),
        validation_status: verdict(dataset),
        words: known_words(manifest, dataset_id, dataset),
        findings: findings(call, &tasks),
        partitions: described_partitions(call, dataset),
        history: rows_of_release.collect(),
    });
    Ok(Meta {
        datasets: vec![dataset_id.to_owned().into()],
        ..Meta::default()
    })
}

/// Returns, for each source, the day from which its next edition is late. Only builds that expect
/// an edition are considered.
fn expected<'a>(manifest: &'a Manifest, dataset: &DatasetEntry) -> BTreeMap<&'a str, Date> {
    let waiting = dataset
        .parts
        .iter()
        .filter(|part| manifest.awaits_an_edition(&part.task_id))
        .filter_map(|part| manifest.tasks.get(&part.task_id));
    let mut days: BTreeMap<&str, Date> = BTreeMap::new();
    for (source_id, day) in waiting.flat_map(|task| &task.due) {
        days.entry(source_id)
            .and_modify(|known| *known = (*known).min(*day))
            .or_insert(*day);
    }
    days
}

impl<'a> DatasetColumn<'a> {
    fn from_column(column: &'a Column) -> Self {
        let column_type = &column.column_type;
        Self {
            name: &column.name,
            physical: column_type.physical,
            meaning: &column.type_name,
            unit: column.unit(),
            nullable: column.nullable,
            description: &column.description,
            values: &column_type.values,
            minimum: column_type.min.map(Float),
            maximum: column_type.max.map(Float),
            digits: column_type.digits,
            decimals: (column_type.physical == Physical::Decimal)
                .then(|| i32::from(column_type.scale)),
        }
    }
}

impl<'a> DatasetRule<'a> {
    fn from_invariant(rule: &'a Invariant) -> Self {
        Self {
            code: &rule.code,
            rule: rule.rule,
            columns: &rule.columns,
            severity: rule.severity,
            description: &rule.description,
        }
    }
}
