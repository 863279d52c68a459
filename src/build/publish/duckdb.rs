//! SQL that gives a release's tables names in DuckDB: a schema for each family, a view for each
//! dataset over its parts, and as comments what contracts say of them. A database file would take
//! the library of DuckDB; whoever has DuckDB makes one of this text.

use std::collections::BTreeSet;
use std::fmt::Write;

use pubdata_core::contract::{Column, Contract, Contracts};
use pubdata_core::error::{Error, Result};
use pubdata_store::{DatasetEntry, Manifest};

/// Writes the views of a release whose files are below `location`: a path, or an address that
/// DuckDB reads from.
///
/// # Errors
/// `Config`, when the location has characters that stand for others in the names that DuckDB is
/// given, or none.
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
        // What a contract of another version says may be about columns that are not there.
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

/// DuckDB takes these for patterns, and has no way to say that they are not.
fn check_location(location: &str) -> Result<()> {
    let wrong = location
        .chars()
        .find(|character| "*?[]{}".contains(*character) || character.is_control());
    match wrong {
        Some(wrong) => Err(Error::config(format!(
            "the release is in `{location}`, and DuckDB takes {wrong:?} for a pattern"
        ))
        .hint("name the same place in another way, such as a symbolic link, with --location")),
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
    // Folders above the release may be called `key=value`: they are no columns. Parts of an earlier
    // minor version lack columns.
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

/// What a column says, with its unit where the name tells it.
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

/// A name in SQL, whatever it is made of.
fn name(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A text in SQL.
fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
