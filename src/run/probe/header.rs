//! Compares the columns of a file with the declared columns, and lists missing and new columns.

use std::path::Path;

use super::address::Address;
use super::examined::Examined;
use super::report::{Header, Verdict};
use pubdata_build::decode::{self, ColumnPlan};
use pubdata_core::error::Result;
use pubdata_core::pipeline::{Format, expand};

/// Returns the plan with which a build decodes a file, containing the mapped and unused columns.
fn column_plan(address: &Address<'_>) -> Result<ColumnPlan> {
    let (source, keys) = (address.source, &address.request.keys);
    let mut ignore = source
        .ignore
        .iter()
        .map(|pattern| expand(pattern, keys))
        .collect::<Result<Vec<_>>>()?;
    // Requests to APIs list the names of columns, and the dataset's code reads these columns.
    ignore.extend(
        keys.values()
            .flat_map(|value| value.split(','))
            .map(str::to_owned),
    );
    let want = |plan: ColumnPlan, (name, names): (&String, &Vec<String>)| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        plan.want_optional(name, &names)
    };
    Ok(source.columns.iter().fold(ColumnPlan::new(ignore), want))
}

/// Returns the columns of a file.
pub(super) fn columns_of(
    address: &Address<'_>,
    path: &Path,
    member: Option<&str>,
) -> Result<Vec<String>> {
    let plan = column_plan(address)?;
    decode::columns(&decode::Task {
        path,
        format: &address.source.format,
        member,
        plan: &plan,
        input: 0,
        member_number: 0,
        max_bytes: address.source.max_bytes,
        only: None,
    })
}

/// Compares a file's columns with the declared columns.
pub(super) fn judged(address: &Address<'_>, examined: Examined, columns: Vec<String>) -> Examined {
    let source = address.source;
    let new = column_plan(address)
        .map(|plan| plan.unknown(&columns))
        .unwrap_or_default();
    let is_missing = |(name, names): &(&String, &Vec<String>)| {
        !source.optional_columns.contains(name) && !names.iter().any(|name| columns.contains(name))
    };
    let is_attributes = matches!(source.format, Format::JsonRecords { .. });
    // Records omit attributes that are null, so the first records may lack columns that the
    // complete file has.
    let says_nothing =
        columns.is_empty() || (is_attributes && !examined.is_whole && new.is_empty());
    let missing: Vec<(&String, &Vec<String>)> = if says_nothing {
        Vec::new()
    } else {
        source.columns.iter().filter(is_missing).collect()
    };
    let header = Header {
        missing: missing
            .iter()
            .map(|(_, names)| names.join(" or "))
            .collect(),
        new,
    };
    let is_changed = !header.missing.is_empty() || !header.new.is_empty();
    let missing = missing.into_iter().map(|(name, _)| name.clone()).collect();
    let problem = is_changed.then(|| words(&header));
    Examined {
        verdict: is_changed.then_some(Verdict::Changed),
        problem,
        header,
        missing,
        columns,
        ..examined
    }
}

fn words(header: &Header) -> String {
    let list = |word: &str, names: &[String]| {
        let columns = if names.len() == 1 {
            "column"
        } else {
            "columns"
        };
        (!names.is_empty()).then(|| format!("{word} {columns}: `{}`", names.join("`, `")))
    };
    list("missing", &header.missing)
        .into_iter()
        .chain(list("new", &header.new))
        .collect::<Vec<_>>()
        .join("; ")
}
