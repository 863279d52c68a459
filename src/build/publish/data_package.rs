//! Composes `datapackage.json`, which describes a release as a version 2 Data Package, from the
//! contracts and the manifest. License names come from the declarations, with the URL of a standard
//! license. The publishers' files and their digests are listed in the manifest.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value, json};

use pubdata_core::contract::{Column, ColumnType, Contract, Contracts, Physical};
use pubdata_core::ids::licence_address;
use pubdata_store::{DatasetEntry, Manifest, TaskEntry};

/// Profiles that the document and its table schemas follow.
const PROFILE: &str = "https://datapackage.org/profiles/2.0/datapackage.json";
const TABLE_PROFILE: &str = "https://datapackage.org/profiles/2.0/tableschema.json";

/// How well parts built under earlier contracts fit a dataset's current contract.
pub enum Fit<'f> {
    /// The contract's schema can read all parts, although some parts do not have these columns.
    Readable(BTreeSet<&'f String>),
    /// The contract's schema cannot read a part, for this reason.
    Mixed(&'f str),
}

/// Composes the document. `fits` returns each dataset's fit.
pub fn data_package<'f>(
    manifest: &Manifest,
    contracts: &Contracts,
    fits: impl Fn(&str) -> Fit<'f>,
) -> Value {
    let resources = manifest
        .datasets
        .iter()
        .filter_map(|(dataset_id, dataset)| {
            let contract = contracts.get(dataset_id)?;
            Some(resource(manifest, contract, dataset, &fits(dataset_id)))
        });
    let made_from = if manifest.is_sample {
        "samples of files of public agencies"
    } else {
        "files of public agencies"
    };
    json!({
        "$schema": PROFILE,
        "name": format!("pubdata-{}", manifest.release_id),
        "title": format!("Release {}", manifest.release_id),
        "description": format!("Tables made from {made_from} by pubdata {}. `manifest.json` names each file with its digest.", manifest.pubdata_version),
        "version": manifest.release_id.as_str(),
        "resources": resources.collect::<Vec<_>>(),
    })
}

fn resource(
    manifest: &Manifest,
    contract: &Contract,
    dataset: &DatasetEntry,
    fit: &Fit<'_>,
) -> Value {
    let mut resource = json!({
        "name": contract.dataset_id,
        "type": "table",
        "title": contract.title,
        "description": contract.grain,
        "path": dataset.parts.iter().map(|part| part.path.as_str()).collect::<Vec<_>>(),
        "format": "parquet",
        "mediatype": "application/vnd.apache.parquet",
        "schemaVersion": dataset.schema_version,
        "rows": manifest.rows(&contract.dataset_id),
    });
    let tasks: BTreeSet<&String> = dataset.parts.iter().map(|part| &part.task_id).collect();
    let tasks: Vec<&TaskEntry> = tasks
        .into_iter()
        .filter_map(|task_id| manifest.tasks.get(task_id))
        .collect();
    let sources: BTreeSet<(&str, &str)> = tasks
        .iter()
        .map(|task| (task.publisher.as_str(), task.homepage.as_str()))
        .collect();
    let licences: BTreeSet<&str> = tasks.iter().map(|task| task.licence.as_str()).collect();
    resource["sources"] = sources
        .into_iter()
        .map(|(publisher, homepage)| source(publisher, homepage))
        .collect();
    resource["licenses"] = licences.into_iter().map(licence).collect();
    match fit {
        Fit::Readable(lacking) => resource["schema"] = schema(contract, lacking),
        Fit::Mixed(reason) => resource["mixedSchemas"] = json!(reason),
    }
    resource
}

/// Describes a publisher, with its homepage if that is a URL.
fn source(publisher: &str, homepage: &str) -> Value {
    let is_address = ["https:", "http:"]
        .iter()
        .any(|scheme| homepage.starts_with(scheme));
    if is_address {
        json!({"title": publisher, "path": homepage})
    } else {
        json!({"title": publisher})
    }
}

/// Describes a license. The profile requires either a license name from its list or a path to the
/// text. A publisher's own terms do not have such a name.
fn licence(terms: &str) -> Value {
    match licence_address(terms) {
        Some(address) => json!({"title": terms, "path": address}),
        None => json!({"title": terms, "name": "notspecified"}),
    }
}

fn schema(contract: &Contract, lacking: &BTreeSet<&String>) -> Value {
    let mut schema = json!({
        "$schema": TABLE_PROFILE,
        "fields": contract.columns.iter().map(|column| field(column, column.nullable || lacking.contains(&column.name))).collect::<Vec<_>>(),
        "primaryKey": contract.primary_key,
    });
    if !lacking.is_empty() {
        schema["fieldsMatch"] = json!(["superset"]);
    }
    schema
}

fn field(column: &Column, is_nullable: bool) -> Value {
    let column_type = &column.column_type;
    let kind = match column_type.physical {
        Physical::String => "string",
        Physical::Int32 | Physical::Int64 => "integer",
        Physical::Float64 | Physical::Decimal => "number",
        Physical::Boolean => "boolean",
        Physical::Date => "date",
        Physical::StringList | Physical::Pointers => "array",
    };
    let mut field = json!({"name": column.name, "type": kind, "description": column.description});
    if let Some(unit) = &column_type.unit {
        field["unit"] = json!(unit);
    }
    let mut constraints = constraints(column_type);
    if !is_nullable {
        constraints.insert("required".to_owned(), json!(true));
    }
    if !constraints.is_empty() {
        field["constraints"] = constraints.into();
    }
    field
}

/// Returns a type's constraints, as far as the profile can express them: numeric bounds, text
/// patterns and allowed values.
fn constraints(column_type: &ColumnType) -> Map<String, Value> {
    let mut constraints = Map::new();
    if column_type.physical == Physical::String {
        if !column_type.values.is_empty() {
            constraints.insert("enum".to_owned(), json!(column_type.values));
        }
        if let Some(digits) = column_type.digits {
            constraints.insert("pattern".to_owned(), json!(format!("^[0-9]{{{digits}}}$")));
        }
    }
    if matches!(
        column_type.physical,
        Physical::Int32 | Physical::Int64 | Physical::Float64 | Physical::Decimal
    ) {
        for (name, bound) in [("minimum", column_type.min), ("maximum", column_type.max)] {
            constraints.extend(
                bound
                    .and_then(number)
                    .map(|bound| (name.to_owned(), bound.into())),
            );
        }
    }
    constraints
}

/// Writes a bound as the contract does, without decimal places if it is an integer.
fn number(bound: f64) -> Option<Number> {
    if bound.fract() == 0.0 && bound.abs() < 1e15 {
        bound.to_string().parse::<i64>().ok().map(Number::from)
    } else {
        Number::from_f64(bound)
    }
}
