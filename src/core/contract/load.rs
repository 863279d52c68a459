//! Reads the contracts in `schemas/`, resolves the type of each column, and reports errors with
//! file and line.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::Deserialize;

use super::{
    Column, ColumnType, Contract, Invariant, Physical, UNKNOWN_VALUES, ValueNotes, vocabulary,
};
use crate::declared::{self, DeclarationFiles, Finding, TablePath};

/// Link placeholders for reformatted column values.
const LINK_WORDS: [(&str, &str); 2] = [
    ("cik_number", "cik"),
    ("accession_compact", "accession_number"),
];

/// Contracts by dataset id.
pub type Contracts = BTreeMap<String, Contract>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ContractFile {
    dataset_id: String,
    version: String,
    title: String,
    grain: String,
    primary_key: Vec<String>,
    sort_by: Vec<String>,
    #[serde(default)]
    partition_by: Vec<String>,
    geography_type: Option<String>,
    #[serde(default)]
    serves: Vec<String>,
    #[serde(default)]
    not_covered: Vec<String>,
    #[serde(default)]
    links: BTreeMap<String, String>,
    #[serde(rename = "column")]
    columns: Vec<ColumnFile>,
    #[serde(rename = "value", default)]
    values: Vec<ValueNotes>,
    #[serde(rename = "invariant", default)]
    invariants: Vec<Invariant>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnFile {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
    #[serde(default)]
    nullable: bool,
    description: Option<String>,
    coded_from: Option<String>,
    derivation: Option<String>,
}

/// Reads `schemas/_types.toml`, the vocabularies of its types, and every contract. Adds errors to
/// the findings.
pub fn load(files: &DeclarationFiles, findings: &mut Vec<Finding>) -> Contracts {
    let mut types: BTreeMap<String, ColumnType> = BTreeMap::new();
    let mut contracts = Contracts::new();
    let all = files.toml_below("schemas");
    for (path, text) in all
        .iter()
        .filter(|(path, _)| path.ends_with("/_types.toml"))
    {
        match toml::from_str(text) {
            Ok(read) => types = read,
            Err(error) => findings.push(Finding::of_toml(path, text, &error)),
        }
    }
    for (path, text) in all
        .iter()
        .filter(|(path, _)| path.contains("/_vocabulary_"))
    {
        vocabulary::add(&mut types, path, text, findings);
    }
    // A file whose name starts with `_` is not a contract; contracts or the server share it.
    let is_contract = |path: &str| !path.rsplit('/').next().unwrap_or(path).starts_with('_');
    let contracts_of: Vec<_> = all
        .par_iter()
        .filter(|(path, _)| is_contract(path))
        .map(|(path, text)| (toml::from_str::<ContractFile>(text), path, text))
        .collect();
    for (file, path, text) in contracts_of {
        match file {
            Ok(file) => {
                let contract = resolve(file, &types, path, text, findings);
                contracts.insert(contract.dataset_id.clone(), contract);
            }
            Err(error) => findings.push(Finding::of_toml(path, text, &error)),
        }
    }
    contracts
}

fn resolve(
    file: ContractFile,
    types: &BTreeMap<String, ColumnType>,
    path: &str,
    text: &str,
    findings: &mut Vec<Finding>,
) -> Contract {
    let mut report = |place: TablePath<'_>, key: &str, message: String| {
        findings.push(Finding::at(path, text, place, key, message));
    };
    let expected = declared::id_of_path(path, "schemas");
    if file.dataset_id != expected {
        report(
            TablePath::Top,
            "dataset_id",
            format!(
                "is `{}`, but the file's path requires `{expected}`",
                file.dataset_id
            ),
        );
    }
    let is_semver = file.version.split('.').count() == 3
        && file
            .version
            .split('.')
            .all(|part| part.parse::<u32>().is_ok());
    if !is_semver {
        report(
            TablePath::Top,
            "version",
            format!("`{}` is not a semantic version such as 1.0.0", file.version),
        );
    }
    let mut columns: Vec<Column> = Vec::new();
    for (number, column) in file.columns.into_iter().enumerate() {
        let place = TablePath::Nth("column", number);
        let Some(column_type) = types.get(&column.type_name) else {
            report(
                place,
                "type",
                format!(
                    "column `{}`: type `{}` is not in schemas/_types.toml",
                    column.name, column.type_name
                ),
            );
            continue;
        };
        if columns.iter().any(|known| known.name == column.name) {
            report(
                place,
                "name",
                format!("column `{}` is declared twice", column.name),
            );
        }
        let description = column
            .description
            .unwrap_or_else(|| column_type.description.clone());
        columns.push(Column {
            name: column.name,
            type_name: column.type_name,
            column_type: column_type.clone(),
            nullable: column.nullable,
            description,
            coded_from: column.coded_from,
            derivation: column.derivation,
        });
    }
    let has = |name: &String| columns.iter().any(|column| column.name == *name);
    for (key, names) in [
        ("primary_key", &file.primary_key),
        ("sort_by", &file.sort_by),
        ("partition_by", &file.partition_by),
    ] {
        for name in names.iter().filter(|name| !has(name)) {
            report(TablePath::Top, key, format!("there is no column `{name}`"));
        }
    }
    for (number, column) in columns.iter().enumerate() {
        let missing = column
            .coded_from
            .iter()
            .flat_map(|raw| [raw.as_str(), UNKNOWN_VALUES])
            .find(|name| !has(&(*name).to_owned()));
        if let Some(missing) = missing {
            report(
                TablePath::Nth("column", number),
                "coded_from",
                format!("column `{}`: there is no column `{missing}`", column.name),
            );
        }
    }
    for (number, invariant) in file.invariants.iter().enumerate() {
        let condition = invariant
            .condition
            .iter()
            .map(|condition| &condition.column);
        if invariant.columns.is_empty() {
            report(
                TablePath::Nth("invariant", number),
                "columns",
                format!("invariant `{}` names no column", invariant.code),
            );
        }
        for name in invariant
            .columns
            .iter()
            .chain(&invariant.group_by)
            .chain(condition)
            .filter(|name| !has(name))
        {
            report(
                TablePath::Nth("invariant", number),
                "columns",
                format!(
                    "invariant `{}`: there is no column `{name}`",
                    invariant.code
                ),
            );
        }
    }
    for (link, template) in &file.links {
        let names = template
            .split('{')
            .skip(1)
            .map(|rest| rest.split_once('}').map_or(rest, |(name, _)| name));
        let column = |name: &str| {
            LINK_WORDS
                .iter()
                .find(|(word, _)| *word == name)
                .map_or(name, |(_, column)| column)
                .to_owned()
        };
        for name in names.filter(|name| !has(&column(name))) {
            report(
                TablePath::Table("links"),
                link,
                format!("there is no column `{}`", column(name)),
            );
        }
    }
    for (number, known) in file.values.iter().enumerate() {
        let place = TablePath::Nth("value", number);
        match columns.iter().find(|column| column.name == known.column) {
            None => report(
                place,
                "column",
                format!("there is no column `{}`", known.column),
            ),
            Some(column)
                if !column.column_type.values.is_empty()
                    && !column.column_type.values.contains(&known.value) =>
            {
                report(
                    place,
                    "value",
                    format!(
                        "`{}` is not a value of the column `{}`",
                        known.value, known.column
                    ),
                );
            }
            Some(_)
                if file.values[..number].iter().any(|other| {
                    (&other.column, &other.value) == (&known.column, &known.value)
                }) =>
            {
                report(
                    place,
                    "value",
                    format!(
                        "`{}` of the column `{}` is declared twice",
                        known.value, known.column
                    ),
                );
            }
            Some(_) => {}
        }
    }
    for (name, physical) in [
        ("record_id", Physical::String),
        ("validation_status", Physical::String),
        (crate::provenance::POINTERS, Physical::Pointers),
    ] {
        if !columns
            .iter()
            .any(|column| column.name == name && column.column_type.physical == physical)
        {
            report(
                TablePath::Top,
                "dataset_id",
                format!("every contract needs a column `{name}`"),
            );
        }
    }
    Contract {
        dataset_id: file.dataset_id,
        version: file.version,
        title: file.title,
        grain: file.grain,
        primary_key: file.primary_key,
        sort_by: file.sort_by,
        partition_by: file.partition_by,
        geography_type: file.geography_type,
        serves: file.serves,
        not_covered: file.not_covered,
        links: file.links,
        columns,
        values: file.values,
        invariants: file.invariants,
    }
}
