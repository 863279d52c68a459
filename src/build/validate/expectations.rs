//! Decides from a dataset's totals whether the dataset may be published. Samples are exempt from
//! absolute floors, but never from shares.

use std::collections::BTreeMap;

use super::{CheckedTable, Expectations, Issue, PartReport, Refusal, Verdict};
use pubdata_core::pipeline::MIN_ROWS_FOR_WARNED_SHARE;

/// The dataset has fewer rows than the declared minimum.
pub const FLOOR: &str = "floor";
/// The dataset lost more rows or bytes since the last release than declared.
pub const SHRINK: &str = "shrink";
/// The share of records in quarantine is larger than declared.
pub const QUARANTINED: &str = "quarantined";
/// Columns differ from the last release by more than declared.
pub const DRIFT: &str = "drift";
/// The share of rows without a known word has grown since the last release by more than declared.
pub const MEANING: &str = "meaning";
/// The share of rows with a warning is larger than declared.
pub const WARNED: &str = "warned";

/// Adds the verdict on the totals. Without expectations, only issues with severity `block` block
/// the part.
pub fn judge(
    checked: CheckedTable,
    expectations: Option<&Expectations>,
    place: &str,
    previous_rows: Option<u64>,
    is_sample: bool,
) -> Verdict {
    let CheckedTable {
        frame,
        quarantine,
        quarantined,
        warnings,
        mut notes,
        quarantined_pointers,
        repeated,
        blocking,
        empty_columns,
        words,
    } = checked;
    let at_place = |refusal: Refusal| Refusal {
        message: format!("{place}: {}", refusal.message),
        ..refusal
    };
    let mut blocked: Vec<Refusal> = blocking.into_iter().map(at_place).collect();
    let (mut growth, mut is_above_warning_level) = (Vec::new(), false);
    if let Some(expectations) = expectations {
        let rows = frame.height() as u64;
        let example = |rule: &str| {
            quarantine
                .iter()
                .find(|issue| issue.code == rule)
                .map(example_of)
        };
        let counts = Counts {
            rows,
            quarantined: &quarantined,
            warnings: &warnings,
        };
        let totals = judge_totals(
            expectations,
            place,
            &counts,
            example,
            previous_rows,
            is_sample,
        );
        blocked.extend(totals.blocked);
        notes.extend(totals.notes);
        growth = totals.growth;
        is_above_warning_level = self::is_above_warning_level(expectations, rows, &quarantined);
    }
    Verdict {
        frame,
        quarantine,
        report: PartReport {
            quarantined,
            warnings,
            notes,
            empty_columns: Some(empty_columns),
            words,
        },
        quarantined_pointers,
        repeated,
        blocked,
        growth,
        is_above_warning_level,
    }
}

/// Formats an issue as an example, with its record and detail.
pub fn example_of(issue: &Issue) -> String {
    format!(
        "{}: {}",
        issue.record.as_deref().unwrap_or("no record"),
        issue.detail
    )
}

/// Totals for a task's dataset.
#[derive(Debug)]
pub struct Counts<'a> {
    /// Number of published rows.
    pub rows: u64,
    /// Number of quarantined records by rule.
    pub quarantined: &'a BTreeMap<String, u64>,
    /// Number of rows published with a warning, by code.
    pub warnings: &'a BTreeMap<String, u64>,
}

/// Result of checking a dataset's totals.
#[derive(Debug, Default)]
pub struct Totals {
    /// Reasons why the dataset must not be published; empty if it may be.
    pub blocked: Vec<Refusal>,
    /// Upper limits on rows that were exceeded.
    pub notes: Vec<String>,
    /// Upper limits on growth since the last release that were exceeded.
    pub growth: Vec<String>,
}

/// Decides from a dataset's totals in a task whether the dataset may be published. Samples are
/// exempt from absolute floors, but never from the contract or from shares. `example` returns an
/// example issue for a rule.
pub fn judge_totals(
    expectations: &Expectations,
    place: &str,
    counts: &Counts<'_>,
    example: impl Fn(&str) -> Option<String>,
    previous_rows: Option<u64>,
    is_sample: bool,
) -> Totals {
    let Totals {
        mut blocked,
        mut notes,
        mut growth,
    } = Totals::default();
    let Counts {
        rows,
        quarantined,
        warnings,
    } = *counts;
    let quarantined_records: u64 = quarantined.values().sum();
    let setting = |key: &str| {
        format!(
            "`{key}` under [expect.\"{}\"] in the pipeline's file",
            place.split(' ').next().unwrap_or(place)
        )
    };

    if is_sample && rows == 0 && expectations.min_rows > 0 {
        blocked.push(Refusal::new(
            FLOOR,
            format!("{place}: no rows, and even a sample has one: a source holds nothing but its header, or none of its records can be published"),
        ));
    }
    if !is_sample && rows < expectations.min_rows {
        blocked.push(Refusal::new(FLOOR, format!(
            "{place}: {rows} rows, but min_rows is {}: a source is cut off or incomplete; compare its size with the publisher's and run `pubdata run` again, \
             or lower {} when the publisher really dropped them",
            expectations.min_rows,
            setting("min_rows")
        )));
    }
    if rows > expectations.max_rows {
        notes.push(format!(
            "{rows} rows, more than max_rows {}",
            expectations.max_rows
        ));
    }
    if let Some(previous) = previous_rows.filter(|previous| *previous > 0) {
        let change = 100.0 * (rows as f64 - previous as f64) / previous as f64;
        if -change > expectations.max_shrink_percent {
            blocked.push(Refusal::new(SHRINK, format!(
                "{place}: {rows} rows against {previous} in the last release, {} % fewer, but max_shrink_percent is {}: a source is cut off, or the publisher \
                 dropped records; look at what is missing; if it is right, accept it or raise {}",
                percent(-change),
                expectations.max_shrink_percent,
                setting("max_shrink_percent")
            )));
        }
        if change > expectations.max_growth_percent {
            growth.push(format!(
                "{rows} rows against {previous} in the last release, {} % more, above max_growth_percent {}",
                percent(change),
                expectations.max_growth_percent
            ));
        }
    }
    let records = rows + quarantined_records;
    let share = quarantined_percent(rows, quarantined_records);
    if share > expectations.max_quarantined_percent {
        let mut by_count: Vec<(&String, &u64)> = quarantined.iter().collect();
        by_count.sort_by_key(|(rule, count)| (std::cmp::Reverse(**count), *rule));
        let rules = by_count
            .iter()
            .take(5)
            .map(|(rule, count)| format!("{rule} {count}"))
            .collect::<Vec<_>>()
            .join(", ");
        let first = by_count.first().and_then(|(rule, _)| example(rule));
        let example = first.map_or_else(String::new, |first| format!(" (first: {first})"));
        blocked.push(Refusal::new(QUARANTINED, format!(
            "{place}: {quarantined_records} of {records} records break rules, {} %, but max_quarantined_percent is {}: {rules}{example}; the publisher changed the file or the \
             declaration is wrong: correct it, or raise {} when the records really are bad",
            percent(share),
            expectations.max_quarantined_percent,
            setting("max_quarantined_percent")
        )));
    }
    for (code, most) in expectations
        .max_warned_percent
        .iter()
        .filter(|_| rows >= MIN_ROWS_FOR_WARNED_SHARE)
    {
        let warned = warnings.get(code).copied().unwrap_or(0);
        let share = 100.0 * warned as f64 / rows as f64;
        if share > *most {
            blocked.push(Refusal::new(WARNED, format!(
                "{place}: {warned} of {rows} rows have the warning {code}, {} %, but max_warned_percent allows {most}: the publisher changed the file or the \
                 declaration is wrong: correct it, or raise `{code}` in {} when the records really are so",
                percent(share),
                setting("max_warned_percent")
            )));
        }
    }
    Totals {
        blocked,
        notes,
        growth,
    }
}

/// Reports whether a part's counts show a share of quarantined records that warrants a warning.
pub fn is_above_warning_level(
    expectations: &Expectations,
    rows: u64,
    quarantined: &BTreeMap<String, u64>,
) -> bool {
    quarantined_percent(rows, quarantined.values().sum()) > expectations.warn_quarantined_percent
}

fn quarantined_percent(rows: u64, quarantined_records: u64) -> f64 {
    let records = rows + quarantined_records;
    if records == 0 {
        0.0
    } else {
        100.0 * quarantined_records as f64 / records as f64
    }
}

fn percent(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
