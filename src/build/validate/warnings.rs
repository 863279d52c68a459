//! Fills in the columns `warnings` and `validation_status`. A warning that does not belong to a row
//! becomes a note.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use polars::prelude::*;

use super::{Breach, Contract, Result};
use crate::normalise::{DictionaryColumnBuilder, ListRows, list_column};
use pubdata_core::issue::{Issue, Severity};

/// Adds the codes of broken warning rules, and of warnings from decode and normalise, to their
/// rows' `warnings`, sorted and deduplicated. A warning that does not belong to a row in the frame
/// becomes a note, unless it points to a source row. In that case, the count of source rows covers
/// the warning.
pub fn fill(
    mut frame: DataFrame,
    breaches: &[Breach],
    issues: &[Issue],
    notes: &mut Vec<String>,
) -> Result<DataFrame> {
    let mut found: HashMap<usize, Vec<&str>> = HashMap::new();
    for breach in breaches {
        found.entry(breach.row).or_default().push(&breach.code);
    }
    let mut by_record: BTreeMap<&str, Vec<&Issue>> = BTreeMap::new();
    let mut without_row: BTreeMap<&str, Vec<&Issue>> = BTreeMap::new();
    for issue in issues
        .iter()
        .filter(|issue| issue.severity == Severity::Warning)
    {
        match &issue.record {
            Some(record) => by_record.entry(record).or_default().push(issue),
            None => without_row.entry(&issue.code).or_default().push(issue),
        }
    }
    if !by_record.is_empty() {
        let mut met: BTreeSet<&str> = BTreeSet::new();
        for (row, record_id) in frame.column("record_id")?.str()?.iter().enumerate() {
            if let Some((record, about)) =
                record_id.and_then(|record_id| by_record.get_key_value(record_id))
            {
                met.insert(record);
                found
                    .entry(row)
                    .or_default()
                    .extend(about.iter().map(|issue| issue.code.as_str()));
            }
        }
        for issue in by_record
            .iter()
            .filter(|(record, _)| !met.contains(*record))
            .flat_map(|(_, about)| about)
            .filter(|issue| issue.pointer.is_none())
        {
            without_row.entry(&issue.code).or_default().push(issue);
        }
    }
    for (code, about) in &without_row {
        notes.push(format!(
            "{code}: {} findings about no published record; first: {}",
            about.len(),
            about[0].detail
        ));
    }
    let given = lists(&frame)?;
    if found.is_empty() && given.iter().all(|codes| codes.is_some_and(is_sorted)) {
        return Ok(frame);
    }
    let merged = given.iter().enumerate().map(|(row, codes)| {
        let found = found.get(&row).map(Vec::as_slice).unwrap_or_default();
        codes
            .into_iter()
            .flatten()
            .map(str::trim)
            .filter(|code| !code.is_empty())
            .chain(found.iter().copied())
            .collect::<BTreeSet<&str>>()
    });
    let merged = list_column("warnings", merged);
    frame.with_column(merged)?;
    Ok(frame)
}

/// Reports whether a list of codes has its published format: sorted and without duplicates.
fn is_sorted<'c>(mut codes: impl Iterator<Item = &'c str>) -> bool {
    let mut last = "";
    codes.all(|code| code == code.trim() && std::mem::replace(&mut last, code) < code)
}

fn lists(frame: &DataFrame) -> Result<ListRows> {
    ListRows::of(frame.column("warnings")?.as_materialized_series())
}

/// Counts records by warning code.
pub fn count(frame: &DataFrame) -> Result<BTreeMap<String, u64>> {
    let mut counts = BTreeMap::new();
    for code in lists(frame)?.iter().flatten().flatten() {
        match counts.get_mut(code) {
            Some(count) => *count += 1,
            None => _ = counts.insert(code.to_owned(), 1),
        }
    }
    Ok(counts)
}

/// Fills in `validation_status` and puts the columns in the contract's order.
pub fn verdict_columns(contract: &Contract, mut frame: DataFrame) -> Result<DataFrame> {
    let mut statuses = DictionaryColumnBuilder::with_capacity(frame.height());
    let (passed, passed_with_warnings) = (
        statuses.add_value("passed"),
        statuses.add_value("passed_with_warnings"),
    );
    for codes in lists(&frame)?.iter() {
        statuses.push_index(if codes.into_iter().flatten().next().is_none() {
            passed
        } else {
            passed_with_warnings
        });
    }
    frame.with_column(statuses.finish("validation_status")?)?;
    Ok(frame.select(contract.columns.iter().map(|column| column.name.as_str()))?)
}
