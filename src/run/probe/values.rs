//! Reads the distinct values in a file's columns, and the terms of the settings for a column. Both
//! help to recognise new columns.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::address::Address;
use crate::building::word_guess::pipeline_tables;
use pubdata_build::decode::{self, ColumnPlan};
use pubdata_core::error::Result;
use pubdata_core::pipeline::Declaration;

/// The distinct values of columns, trimmed and in upper case.
pub(super) type Cells = BTreeMap<String, BTreeSet<String>>;

/// Maximum number of distinct values kept for a column.
const MAX_VALUES: usize = 2_000;

/// Number of rows that are examined.
const ROWS: usize = 4_096;

/// Reads the distinct values in some columns of a file. Each column is given by our name, with the
/// publisher's names for it.
pub(super) fn of_file(
    address: &Address<'_>,
    path: &Path,
    member: Option<&str>,
    columns: &[(String, Vec<String>)],
    all: &[String],
) -> Result<Cells> {
    let mapped: BTreeSet<&String> = columns.iter().flat_map(|(_, names)| names).collect();
    let ignore = all
        .iter()
        .filter(|column| !mapped.contains(column))
        .cloned()
        .collect();
    let want = |plan: ColumnPlan, (name, names): &(String, Vec<String>)| {
        plan.want_optional(name, &names.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let plan = columns.iter().fold(ColumnPlan::new(ignore), want);
    let source = address.source;
    let task = decode::Task {
        path,
        format: &source.format,
        member,
        plan: &plan,
        input: 0,
        member_number: 0,
        max_bytes: source.max_bytes,
        only: None,
    };
    let mut cells = Cells::new();
    let mut is_first = true;
    let mut take = |frame: polars::prelude::DataFrame| {
        // The first rows are sufficient, so the rest of the file is read but not kept.
        if !std::mem::take(&mut is_first) {
            return Ok(());
        }
        for (name, _) in columns {
            let values = cells.entry(name.clone()).or_default();
            let texts = frame.column(name)?.str()?;
            values.extend(
                texts
                    .iter()
                    .flatten()
                    .map(|text| text.trim().to_uppercase())
                    .filter(|text| !text.is_empty())
                    .take(MAX_VALUES),
            );
        }
        Ok(())
    };
    decode::decode_chunks(&task, ROWS, &mut take)?;
    Ok(cells)
}

/// Returns the terms for a column in the tables of the settings, in upper case.
pub(super) fn table_words(declaration: &Declaration, column: &str) -> BTreeSet<String> {
    let column = column.trim_end_matches("_raw").trim_end_matches("_code");
    pipeline_tables(declaration, column)
        .into_iter()
        .flat_map(|(_, table)| table.keys())
        .map(|word| word.trim().to_uppercase())
        .collect()
}

/// Returns the values that an issue quotes.
pub(super) fn quoted(detail: &str) -> impl Iterator<Item = &str> {
    detail
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| !word.trim().is_empty())
}
