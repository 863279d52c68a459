//! Splits a built table into rows that satisfy their contract and issues for the quarantine, and
//! decides from the totals whether the part may be published. Returns one verdict per dataset and
//! partition. Rules come from `schemas/`, and limits on totals from `pipelines/`. This module
//! contains no agency-specific rules and repairs nothing.

mod columns;
mod expectations;
mod invariants;
mod keys;
mod quarantine;
mod range;
mod shape;
mod warnings;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::*;
use serde::{Deserialize, Serialize};

use crate::normalise::{pointers, sorted};
use pubdata_core::contract::{self, ColumnType, Contract, Physical};
use pubdata_core::error::{Error, Result, ResultExt};
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::pipeline::Expectations;
use pubdata_core::provenance::{Inputs, POINTERS};
use pubdata_store::{PartReport, WordCounts};

pub use expectations::{
    Counts, DRIFT, FLOOR, MEANING, QUARANTINED, SHRINK, Totals as JudgedTotals, WARNED, example_of,
    is_above_warning_level, judge_totals,
};
pub use quarantine::{MAX_RECORD, quarantine_table};

/// A built table that has not been checked against its contract yet.
pub struct Candidate {
    pub dataset_id: String,
    /// Each partition key's value, by contract column.
    pub partition: BTreeMap<String, String>,
    /// The contract's columns, represented as [`Physical`] describes; `validation_status` and
    /// `warnings` may be missing.
    pub frame: DataFrame,
    /// Issues from decode and normalise. Records with severity `quarantine` do not have a row in
    /// the frame. A warning whose record is a `record_id` in the frame becomes a code in that row's
    /// `warnings`.
    pub issues: Vec<Issue>,
}

/// Result of validation.
#[derive(Debug)]
pub struct Verdict {
    /// The rows that passed, in contract column order, sorted by `sort_by` and then `record_id`.
    pub frame: DataFrame,
    /// One issue for each record and broken rule, sorted.
    pub quarantine: Vec<Issue>,
    /// Counts for the manifest. A record that breaks several rules counts once, under the rule
    /// whose name sorts first.
    pub report: PartReport,
    /// Pointer numbers of all source rows behind the quarantined records, four numbers per pointer.
    pub quarantined_pointers: Vec<u64>,
    /// Pointer numbers of dropped rows that exactly repeat another row.
    pub repeated: Vec<u64>,
    /// Reasons why the part must not be published; empty if it may be.
    pub blocked: Vec<Refusal>,
    /// Reportable changes since the last release. They are not properties of the rows, so they are
    /// not stored in a part.
    pub growth: Vec<String>,
    /// True if the share of quarantined records is above the warning level.
    pub is_above_warning_level: bool,
}

/// Reason why a part or dataset must not be published, with its rule. An operator may accept the
/// refusal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Refusal {
    /// [`SHRINK`], [`FLOOR`], [`QUARANTINED`], [`WARNED`], or the code of an issue with severity
    /// `block`.
    pub rule: String,
    pub message: String,
}

impl Refusal {
    /// Creates a refusal under a rule about totals.
    pub fn new(rule: &str, message: String) -> Self {
        Self {
            rule: rule.to_owned(),
            message,
        }
    }
}

/// A row that breaks a rule.
struct Breach {
    code: String,
    severity: contract::Severity,
    row: usize,
    /// Describes the actual value and the expected value.
    detail: String,
}

/// Checks a table against its contract and its expectations. Callers that judge totals over several
/// tables pass no expectations.
///
/// # Shape
/// The resulting rows are the input rows without quarantined rows and exact repetitions of other
/// rows.
///
/// # Errors
/// `Contract` if the frame does not have the contract's columns and types, belongs to another
/// partition, or contains pointers that `inputs` cannot resolve. These are programming errors, not
/// data issues. `Config` if a rule does not fit its column's type.
pub fn validate(
    contract: &Contract,
    expectations: Option<&Expectations>,
    candidate: Candidate,
    inputs: &Inputs,
    previous_rows: Option<u64>,
    is_sample: bool,
) -> Result<Verdict> {
    let place = place(&candidate.dataset_id, &candidate.partition);
    let checked = check(contract, candidate, inputs).context(|| place.clone())?;
    Ok(expectations::judge(
        checked,
        expectations,
        &place,
        previous_rows,
        is_sample,
    ))
}

/// Returns the table's rows that are published if its totals permit. Records with a blocking issue
/// are left out, because they are quarantined if an operator accepts the issue.
///
/// # Errors
/// As [`validate`].
pub fn passing(contract: &Contract, candidate: Candidate, inputs: &Inputs) -> Result<DataFrame> {
    let place = place(&candidate.dataset_id, &candidate.partition);
    let blocking = candidate
        .issues
        .iter()
        .filter(|issue| issue.severity == Severity::Block)
        .filter_map(|issue| issue.record.clone());
    let blocking: BTreeSet<String> = blocking.collect();
    let frame = check(contract, candidate, inputs)
        .context(|| place.clone())?
        .frame;
    let record_ids = frame.column("record_id")?.str()?;
    let is_kept: BooleanChunked = record_ids
        .iter()
        .map(|record_id| Some(!record_id.is_some_and(|record_id| blocking.contains(record_id))))
        .collect();
    Ok(if blocking.is_empty() {
        frame
    } else {
        frame.filter(&is_kept)?
    })
}

/// The split table before its totals are checked.
struct CheckedTable {
    frame: DataFrame,
    quarantine: Vec<Issue>,
    quarantined: BTreeMap<String, u64>,
    warnings: BTreeMap<String, u64>,
    notes: Vec<String>,
    quarantined_pointers: Vec<u64>,
    repeated: Vec<u64>,
    /// Issues that block publication regardless of totals.
    blocking: Vec<Refusal>,
    /// Columns in which every row is null.
    empty_columns: Vec<String>,
    words: BTreeMap<String, WordCounts>,
}

fn check(contract: &Contract, candidate: Candidate, inputs: &Inputs) -> Result<CheckedTable> {
    let Candidate {
        dataset_id,
        partition,
        frame,
        mut issues,
    } = candidate;
    if dataset_id != contract.dataset_id {
        return Err(Error::contract(format!(
            "the contract given is that of {}",
            contract.dataset_id
        )));
    }
    let frame = shape::conform(contract, frame, &partition, inputs)?;
    let mut notes = Vec::new();
    let distinct = keys::drop_repeated(contract, frame)?;
    let mut breaches = columns::check(contract, &distinct.frame)?;
    breaches.extend(keys::check(contract, &distinct)?);
    let keys::Distinct {
        frame,
        dropped: repeated,
        is_rising,
        ..
    } = distinct;
    let of_rules = invariants::check(contract, &frame, &breaches)?;
    breaches.extend(of_rules);
    let (mut to_quarantine, to_warn): (Vec<Breach>, Vec<Breach>) = breaches
        .into_iter()
        .partition(|breach| breach.severity == contract::Severity::Quarantine);

    issues.sort_by(|a, b| {
        (&a.record, &a.pointer, &a.code, &a.detail, &a.source_text).cmp(&(
            &b.record,
            &b.pointer,
            &b.code,
            &b.detail,
            &b.source_text,
        ))
    });
    let mut quarantined = count_records(&issues);
    let mut is_kept = vec![true; frame.height()];
    // Reused issues are sorted in the same order, so a record counts under the same rule in every
    // run.
    to_quarantine.sort_by(|a, b| (a.row, &a.code).cmp(&(b.row, &b.code)));
    for breach in &to_quarantine {
        if std::mem::replace(&mut is_kept[breach.row], false) {
            *quarantined.entry(breach.code.clone()).or_insert(0) += 1;
        }
    }

    let blocking = blocking_details(&issues);
    let frame = warnings::fill(frame, &to_warn, &issues, &mut notes)?;
    let mut quarantine: Vec<Issue> = issues
        .into_iter()
        .filter(|issue| issue.severity == Severity::Quarantine)
        .collect();
    quarantine.extend(quarantine::issues_of(
        &dataset_id,
        &frame,
        to_quarantine,
        inputs,
    )?);
    quarantine.sort_by(|a, b| {
        (&a.record, &a.code, &a.pointer, &a.detail)
            .cmp(&(&b.record, &b.code, &b.pointer, &b.detail))
    });

    let is_kept = BooleanChunked::from_slice("is_kept".into(), &is_kept);
    let quarantined_pointers = if is_kept.all() {
        Vec::new()
    } else {
        pointers(&frame.filter(&!&is_kept)?, POINTERS)?
            .into_iter()
            .flatten()
            .flatten()
            .collect()
    };
    let frame = if quarantined_pointers.is_empty() {
        frame
    } else {
        frame.filter(&is_kept)?
    };
    let mut order: Vec<&str> = contract.sort_by.iter().map(String::as_str).collect();
    if !order.contains(&"record_id") {
        order.push("record_id");
    }
    let frame = if is_rising {
        frame
    } else {
        sorted(&frame, &order)?
    };
    let warnings = warnings::count(&frame)?;
    let words = words::count(contract, &frame)?;
    let frame = warnings::verdict_columns(contract, frame)?;
    // A file does not distinguish an empty list from a missing one.
    let is_empty = |column: &&Column| {
        frame.height() > 0
            && column.null_count() == frame.height()
            && !matches!(column.dtype(), DataType::List(_))
    };
    let empty_columns = frame
        .columns()
        .iter()
        .filter(is_empty)
        .map(|column| column.name().to_string())
        .collect();
    Ok(CheckedTable {
        frame,
        quarantine,
        quarantined,
        warnings,
        notes,
        quarantined_pointers,
        repeated,
        blocking,
        empty_columns,
        words,
    })
}

/// Counts the records that decode and normalise quarantined, each under its first rule. Issues with
/// the same record and source position count as one record. An issue with neither a record nor a
/// source position counts as a separate record.
fn count_records(sorted_issues: &[Issue]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for issue in sorted_issues
        .iter()
        .filter(|issue| issue.severity == Severity::Quarantine)
    {
        let is_anonymous = issue.record.is_none() && issue.pointer.is_none();
        if is_anonymous || seen.insert((&issue.record, &issue.pointer)) {
            *counts.entry(issue.code.clone()).or_insert(0) += 1;
        }
    }
    counts
}

/// Returns one refusal per blocking code, because a changed file breaks the same rule on every
/// record.
fn blocking_details(sorted_issues: &[Issue]) -> Vec<Refusal> {
    let mut by_code: BTreeMap<&str, Vec<&Issue>> = BTreeMap::new();
    for issue in sorted_issues
        .iter()
        .filter(|issue| issue.severity == Severity::Block)
    {
        by_code.entry(&issue.code).or_default().push(issue);
    }
    let detail_of = |(code, issues): (&str, Vec<&Issue>)| {
        let record = issues[0]
            .record
            .as_deref()
            .map_or_else(String::new, |record| format!(" {record}:"));
        let others = if issues.len() > 1 {
            format!(" (and {} more findings of this kind)", issues.len() - 1)
        } else {
            String::new()
        };
        Refusal {
            rule: code.to_owned(),
            message: format!("{code}:{record} {}{others}", issues[0].detail),
        }
    };
    by_code.into_iter().map(detail_of).collect()
}

/// Formats the dataset and partition, as in `geo.zcta_metric vintage_year=2023`.
fn place(dataset_id: &str, partition: &BTreeMap<String, String>) -> String {
    std::iter::once(dataset_id.to_owned())
        .chain(
            partition
                .iter()
                .map(|(column, value)| format!("{column}={value}")),
        )
        .collect::<Vec<_>>()
        .join(" ")
}

/// Formats a cell for a message: text in backticks, decimals with a decimal point.
fn show(contract: &Contract, frame: &DataFrame, name: &str, row: usize) -> Result<String> {
    let scale = contract
        .column(name)
        .map_or(0, |column| column.column_type.scale);
    Ok(match frame.column(name)?.get(row)? {
        AnyValue::String(text) => format!("`{text}`"),
        AnyValue::StringOwned(text) => format!("`{text}`"),
        AnyValue::List(items) if items.dtype() == &DataType::String => {
            let items: Vec<&str> = items.str()?.iter().map(Option::unwrap_or_default).collect();
            format!("`{}`", items.join(","))
        }
        AnyValue::Int64(units) if scale > 0 => range::decimal(units, scale),
        other => other.str_value().into_owned(),
    })
}

/// Formats a key, as in `vintage_year 2023, zcta 90210`.
fn show_key(
    contract: &Contract,
    frame: &DataFrame,
    names: &[String],
    row: usize,
) -> Result<String> {
    let cells: Result<Vec<String>> = names
        .iter()
        .map(|name| Ok(format!("{name} {}", show(contract, frame, name, row)?)))
        .collect();
    Ok(cells?.join(", "))
}

/// Returns the rows for which the mask is true.
fn rows_where(mask: &BooleanChunked) -> Vec<usize> {
    if !mask.any() {
        return Vec::new();
    }
    mask.iter()
        .enumerate()
        .filter(|(_, is_set)| *is_set == Some(true))
        .map(|(row, _)| row)
        .collect()
}
