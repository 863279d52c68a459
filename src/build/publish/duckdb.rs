//! Writes SQL that names a release's tables in DuckDB: one schema per family, one view per dataset
//! over its parts, and the contracts' descriptions as comments. Writing a database file would
//! require the DuckDB library; anyone with DuckDB can create a database from the SQL.

use std::collections::BTreeSet;
use std::fmt::Write;

use pubdata_core::contract::{Column, Contract, Contracts};
use pubdata_core::error::{Error, Result};
use pubdata_store::{DatasetEntry, Manifest};

/// Writes views for a release whose files are below `location`, a path or URL that DuckDB can read.
///
/// # Errors
/// `Config` if the location is empty or has characters that DuckDB reads as a pattern.
pub fn duckdb_views(manifest: &Manifest, contracts: &Contracts, location: &str) -> Result<String> {
    let location = location.strip_suffix('/').unwrap_or(location);
    check_location(location)?;
    let mut sql = format!(
        "-- Views of the release {} of pubdata: duckdb FILE.db < THIS_FILE\n-- They read the release's files where they are: {location}\n\nBEGIN TRANSACTION;\n",
        manifest.release_id
    );
    let families: BTreeSet<&str> = manifest
        .datasets
        .keys()
        .map(|dataset_id| split(dataset_id).0)
        .collect();
    for family in families {
        let _ = writeln!(sql, "CREATE SCHEMA IF NOT EXISTS {};", name(family));
    }
    for (dataset_id, dataset) in manifest
        .datasets
        .iter()
        .filter(|(_, dataset)| !dataset.parts.is_empty())
    {
        write_view(&mut sql, dataset_id, dataset, location);
        // A contract with another version may describe columns that are missing from the parts.
        match contracts
            .get(dataset_id)
            .filter(|contract| contract.version == dataset.schema_version)
        {
            Some(contract) => write_comments(&mut sql, contract),
            None => drop(writeln!(
                sql,
                "-- Its contract has version {}, which this program does not have: no comments.",
                dataset.schema_version
            )),
        }
    }
    sql.push_str("\nCOMMIT;\n");
    Ok(sql)
}

/// Rejects characters that DuckDB reads as patterns, because DuckDB cannot escape them.
fn check_location(location: &str) -> Result<()> {
    let wrong = location
        .chars()
        .find(|character| "*?[]{}".contains(*character) || character.is_control());
    match wrong {
        Some(wrong) => Err(Error::config(format!(
            "the location `{location}` contains {wrong:?}, which DuckDB reads as a pattern"
        ))
        .hint("pass another path to the same folder with --location, such as a symbolic link")),
        None if location.is_empty() => Err(Error::config("no --location is given")
            .hint("`--location .` is the folder that DuckDB is started in")),
        None => Ok(()),
    }
}

fn write_view(sql: &mut String, dataset_id: &str, dataset: &DatasetEntry, location: &str) {
    let _ = writeln!(
        sql,
        "\nCREATE OR REPLACE VIEW {} AS SELECT * FROM read_parquet([",
        table(dataset_id)
    );
    for (index, part) in dataset.parts.iter().enumerate() {
        let comma = if index + 1 == dataset.parts.len() {
            ""
        } else {
            ","
        };
        let _ = writeln!(
            sql,
            "  {}{comma}",
            text(&format!("{location}/{}", part.path))
        );
    }
    // Folders above the release may be named `key=value`, but these names are not columns. Parts
    // built under an earlier minor version may not have all columns.
    sql.push_str("], hive_partitioning = false, union_by_name = true);\n");
}

fn write_comments(sql: &mut String, contract: &Contract) {
    let table = table(&contract.dataset_id);
    let _ = writeln!(
        sql,
        "COMMENT ON VIEW {table} IS {};",
        text(&format!("{}. {}", contract.title, contract.grain))
    );
    for column in &contract.columns {
        let _ = writeln!(
            sql,
            "COMMENT ON COLUMN {table}.{} IS {};",
            name(&column.name),
            text(&meaning(column))
        );
    }
}

/// Returns a column's description, with its unit if the name contains it.
fn meaning(column: &Column) -> String {
    column.unit().map_or_else(
        || column.description.clone(),
        |unit| format!("{} Unit: {unit}.", column.description),
    )
}

fn split(dataset_id: &str) -> (&str, &str) {
    dataset_id.split_once('.').unwrap_or(("main", dataset_id))
}

fn table(dataset_id: &str) -> String {
    let (family, table) = split(dataset_id);
    format!("{}.{}", name(family), name(table))
}

/// Quotes an SQL identifier.
fn name(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// Quotes an SQL string.
fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
