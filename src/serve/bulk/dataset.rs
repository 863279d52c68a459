//! Answers `GET /v1/datasets/{dataset_id}`: what the contract says of a dataset, whose data it is and when the next comes, what needs attention, and how
//! many rows the last releases had.

use std::collections::BTreeMap;

use futures_util::FutureExt;
use jiff::civil::Date;

use super::asked;
use super::datasets::{family, late_since};
use crate::described::{Origin, newest_date, tasks_of, verdict, write_counts, write_findings, write_partitions};
use crate::http::components::Data;
use crate::http::endpoint::{Access, Call, Endpoint, Handler, Validity};
use crate::http::meta::Meta;
use crate::http::parameters::{AS_OF, RELEASE, format};
use crate::http::problem::Result;
use crate::json::Json;
use crate::meaning::write_words;
use pubdata_core::contract::{Column, Contract, Invariant, Physical};
use pubdata_store::{DatasetEntry, Manifest};

pub const ENDPOINT: Endpoint = Endpoint {
    method: "GET",
    path: "/v1/datasets/{dataset_id}",
    operation_id: "getDataset",
    summary: "A dataset: columns, rules, sources, limits and the rows of its last releases",
    access: Access::Everyone,
    parameters: &[format("columns"), RELEASE, AS_OF],
    body: None,
    data: Data::Written("Dataset"),
    validity: Validity::Release,
    handler: Handler::Files(|call, json| describe(call, json).boxed()),
};

/// The most releases whose rows are told.
const MOST_RELEASES: usize = 30;

async fn describe(call: &Call<'_>, json: &mut Json) -> Result<Meta> {
    let (manifest, dataset_id) = (&call.release.manifest, call.path_value("dataset_id"));
    let dataset = asked::dataset(manifest, "dataset_id", dataset_id)?;
    let history = asked::newest_kept(call, MOST_RELEASES).await?;
    let contract = call.contracts().get(dataset_id);
    let tasks = tasks_of(manifest, dataset);
    let origin = Origin::of(&tasks);
    json.object(|json| {
        json.key("dataset_id").text(dataset_id);
        json.key("family").text(family(dataset_id));
        json.key("schema_version").text(&dataset.schema_version);
        write_contract(json, contract);
        origin.write(json);
        json.key("credit").text(&origin.credit());
        json.key("cadence_days").optional_integer(tasks.iter().map(|task| task.cadence_days).min());
        json.key("expected").array(|json| {
            for (source_id, day) in expected(manifest, dataset) {
                json.object(|json| {
                    json.key("source_id").text(source_id);
                    json.key("late_from").text(&day.to_string());
                });
            }
        });
        json.key("late_since").optional_text(late_since(call, manifest, dataset).as_deref());
        json.key("freshness").text(call.release.freshness(call.today()).of(dataset_id).name());
        json.key("is_sample").flag(manifest.is_sample);
        json.key("source_date").optional_text(newest_date(manifest, &dataset.parts).as_deref());
        json.key("published_at").instant(&manifest.published_at);
        write_counts(json, manifest, dataset_id);
        json.key("validation_status").text(verdict(dataset));
        write_words(json, manifest, dataset_id, dataset);
        write_findings(json, call, &tasks);
        write_partitions(json, call, dataset);
        json.key("history").array(|json| {
            for (summary, sums) in history.iter().filter_map(|summary| Some((summary, summary.datasets.get(dataset_id)?))) {
                json.object(|json| {
                    json.key("release_id").text(summary.release_id.as_str());
                    json.key("published_at").instant(&summary.published_at);
                    json.key("rows").count(sums.rows);
                    json.key("quarantined_rows").count(sums.quarantined_rows);
                });
            }
        });
    });
    Ok(Meta { datasets: vec![dataset_id.to_owned().into()], ..Meta::default() })
}

/// By source, the day from which it is late unless a newer edition has come, of builds that wait for one.
fn expected<'a>(manifest: &'a Manifest, dataset: &DatasetEntry) -> BTreeMap<&'a str, Date> {
    let waiting = dataset.parts.iter().filter(|part| manifest.awaits_an_edition(&part.task_id)).filter_map(|part| manifest.tasks.get(&part.task_id));
    let mut days: BTreeMap<&str, Date> = BTreeMap::new();
    for (source_id, day) in waiting.flat_map(|task| &task.due) {
        days.entry(source_id).and_modify(|known| *known = (*known).min(*day)).or_insert(*day);
    }
    days
}

fn write_contract(json: &mut Json, contract: Option<&Contract>) {
    let texts = |of: fn(&Contract) -> &Vec<String>| contract.into_iter().flat_map(of).map(String::as_str);
    json.key("contract_version").optional_text(contract.map(|contract| contract.version.as_str()));
    json.key("title").optional_text(contract.map(|contract| contract.title.as_str()));
    json.key("grain").optional_text(contract.map(|contract| contract.grain.as_str()));
    json.key("primary_key").texts(texts(|contract| &contract.primary_key));
    json.key("sort_by").texts(texts(|contract| &contract.sort_by));
    json.key("partition_by").texts(texts(|contract| &contract.partition_by));
    json.key("serves").texts(texts(|contract| &contract.serves));
    json.key("not_covered").texts(texts(|contract| &contract.not_covered));
    json.key("columns").array(|json| contract.into_iter().flat_map(|contract| &contract.columns).for_each(|column| write_column(json, column)));
    json.key("rules").array(|json| contract.into_iter().flat_map(|contract| &contract.invariants).for_each(|rule| write_rule(json, rule)));
}

fn write_column(json: &mut Json, column: &Column) {
    let column_type = &column.column_type;
    let bound = |json: &mut Json, bound: Option<f64>| match bound {
        Some(bound) => json.float(bound),
        None => json.null(),
    };
    json.object(|json| {
        json.key("name").text(&column.name);
        json.key("type").value(&column_type.physical);
        json.key("meaning").text(&column.type_name);
        json.key("unit").optional_text(column.unit());
        json.key("nullable").flag(column.nullable);
        json.key("description").text(&column.description);
        json.key("values").texts(column_type.values.iter().map(String::as_str));
        bound(json.key("minimum"), column_type.min);
        bound(json.key("maximum"), column_type.max);
        json.key("digits").optional_integer(column_type.digits.and_then(|digits| i64::try_from(digits).ok()));
        json.key("decimals").optional_integer((column_type.physical == Physical::Decimal).then_some(i64::from(column_type.scale)));
    });
}

fn write_rule(json: &mut Json, rule: &Invariant) {
    json.object(|json| {
        json.key("code").text(&rule.code);
        json.key("rule").value(&rule.rule);
        json.key("columns").texts(rule.columns.iter().map(String::as_str));
        json.key("severity").value(&rule.severity);
        json.key("description").text(&rule.description);
    });
}
