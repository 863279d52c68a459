//! Compares a build with the last release, column by column. Even if every value is within its
//! plausibility range, a column as a whole may be wrong. For example, its values may be a thousand
//! times too large, shifted by one column, or from another list.

use std::sync::Mutex;

use super::in_parallel::in_parallel;
use crate::settings::{QUARANTINE, RunSettings, names};
use pubdata_build::normalise::grouped;
use pubdata_build::publish::{BuildComparison, Stage, Statistics};
use pubdata_build::validate::{DRIFT, MEANING, Refusal};
use pubdata_core::contract::Day;
use pubdata_core::error::Result;
use pubdata_core::pipeline::{Cadence, Declaration, Drift, DriftLimits, MIN_ROWS_FOR_WARNED_SHARE};
use pubdata_store::{Manifest, Part, TaskEntry};

/// Minimum share of a dataset that must be newly built before its columns are judged, because
/// reused rows cannot differ.
const MIN_SHARE_BUILT: f64 = 0.25;
/// Number of standard errors that a change must exceed, in addition to being large.
const SIGMAS: f64 = 4.0;
/// Minimum number of distinct values for a comparison.
const MIN_DISTINCT: f64 = 20.0;
/// Maximum number of jumps reported per dataset.
const MAX_REPORTED: usize = 5;

/// Returns the manifest to compare a build with. Returns `None` for a first build, if an operator
/// has accepted the difference, or if only one of the two builds was made from samples.
pub(super) fn to_compare<'m>(
    settings: &RunSettings,
    previous: Option<&'m Manifest>,
    task_id: &str,
    is_sample: bool,
) -> Option<&'m Manifest> {
    let previous = previous?;
    let before = previous.tasks.get(task_id)?;
    let is_alike = previous.is_sample_build(before) == is_sample;
    (is_alike && !settings.has_override(&names(task_id, task_id), DRIFT)).then_some(previous)
}

/// Returns the parts of a task in a release, with their datasets. Excludes the quarantine.
pub(crate) fn parts_of<'m>(
    previous: &'m Manifest,
    task_id: &str,
) -> impl Iterator<Item = (&'m str, &'m Part)> {
    let of_dataset = previous
        .datasets
        .iter()
        .filter(|(dataset_id, _)| *dataset_id != QUARANTINE);
    let task_id = task_id.to_owned();
    of_dataset
        .flat_map(|(dataset_id, dataset)| {
            dataset
                .parts
                .iter()
                .map(move |part| (dataset_id.as_str(), part))
        })
        .filter(move |(_, part)| part.task_id == task_id)
}

/// Reads the rows of a task in the last release, to compare a build with them. At most one part per
/// thread is in memory. A part that cannot be read does not prevent publication: the remaining
/// parts are compared.
///
/// # Errors
/// Returns `Store` if the store is unavailable. A damaged part is not an error.
pub(super) fn read_before(
    settings: &RunSettings,
    previous: &Manifest,
    task_id: &str,
    stage: &Stage<'_>,
) -> Result<()> {
    let runtime = tokio::runtime::Handle::current();
    let parts: Vec<(&str, &Part)> = parts_of(previous, task_id).collect();
    let failures = Mutex::new(Vec::new());
    in_parallel(parts.len(), &|number| {
        let (dataset_id, part) = parts[number];
        match runtime.block_on(
            settings
                .releases
                .part_if_present(&previous.release_id, part),
        ) {
            Ok(Some(bytes)) => {
                let added = pubdata_build::publish::verify_part(part, &bytes)
                    .and_then(|()| stage.add_before(dataset_id, bytes));
                if let Err(error) = added {
                    tracing::warn!(
                        task.id = task_id,
                        part = part.path,
                        "cannot compare with the last release: {error}"
                    );
                }
            }
            Ok(None) => {}
            Err(error) => failures
                .lock()
                .expect("nothing panics while holding it")
                .push(error),
        }
    });
    failures
        .into_inner()
        .expect("nothing panics while holding it")
        .into_iter()
        .next()
        .map_or(Ok(()), Err)
}

/// The build to judge and the build of the last release.
#[derive(Clone, Copy)]
pub(crate) struct Builds<'a> {
    pub(crate) now: &'a TaskEntry,
    pub(crate) before: Option<&'a TaskEntry>,
}

/// Describes how a staged build differs from the last release, with one refusal per dataset.
/// Returns no refusals if the build may be published.
///
/// Coded columns are not compared if mappings were declared since the last release, or if an
/// operator has accepted their unknown terms.
pub(crate) fn judge(
    settings: &RunSettings,
    declaration: &Declaration,
    task_id: &str,
    stage: &Stage<'_>,
    builds: Builds<'_>,
) -> Vec<Refusal> {
    let mut blocked = Vec::new();
    let is_declared_anew = builds.before.is_some_and(|before| {
        before.declaration_hash != builds.now.declaration_hash
            || before.contracts_hash != builds.now.contracts_hash
    });
    for (dataset_id, builds) in stage.take_compared() {
        let Some(expected) = declaration.expect.get(&dataset_id) else {
            continue;
        };
        if settings.has_override(&names(task_id, &dataset_id), DRIFT) {
            continue;
        }
        let mut jumps = jumps(&builds, &expected.drift, declaration.cadence);
        if is_declared_anew || settings.has_override(&names(task_id, &dataset_id), MEANING) {
            let contract = settings.declarations.contracts.get(&dataset_id);
            let is_coded = |name: &str| {
                contract
                    .and_then(|contract| contract.column(name))
                    .is_some_and(|column| column.coded_from.is_some())
            };
            jumps.retain(|jump| !jump.column.split('`').nth(1).is_some_and(is_coded));
        }
        if jumps.is_empty() {
            continue;
        }
        let mut messages: Vec<String> =
            jumps.iter().take(MAX_REPORTED).map(Jump::message).collect();
        if jumps.len() > MAX_REPORTED {
            messages.push(format!("and {} more", jumps.len() - MAX_REPORTED));
        }
        let message = format!(
            "{dataset_id}: far from the last release: {}; the file may be damaged or the wrong one, or the publisher changed its contents: look at the file; if lists \
             of this kind often jump, set {} under [expect.\"{dataset_id}\".drift] in the pipeline's file",
            messages.join("; "),
            jumps[0].setting,
        );
        blocked.push(Refusal::new(DRIFT, message));
    }
    blocked
}

/// A column that differs from the last release by more than its limit.
#[derive(Debug, Clone, PartialEq)]
struct Jump {
    /// `` `value` of population ``; empty if the jump concerns the records as a whole.
    column: String,
    /// The measure that was compared, with both values.
    figures: String,
    setting: &'static str,
}

impl Jump {
    fn message(&self) -> String {
        if self.column.is_empty() {
            self.figures.clone()
        } else {
            format!("{} {}", self.column, self.figures)
        }
    }
}

fn jumps(builds: &BuildComparison, drift: &Drift, cadence: Cadence) -> Vec<Jump> {
    let BuildComparison {
        before,
        now,
        reused_rows,
    } = builds;
    if before.rows.min(now.rows) < MIN_ROWS_FOR_WARNED_SHARE {
        return Vec::new();
    }
    let built = before.rows as f64 / (before.rows + reused_rows) as f64;
    let mut jumps = changed_records(before, now, built, drift, cadence);
    if built < MIN_SHARE_BUILT {
        return jumps;
    }
    for (group, name, was) in before.columns() {
        let Some(is) = now.column(group, name) else {
            continue;
        };
        let column = if group.is_empty() {
            format!("`{name}`")
        } else {
            format!("`{name}` of {group}")
        };
        let limits = drift.limits(name, cadence);
        let mut add = |setting: &'static str, figures: Option<String>| {
            jumps.extend(figures.map(|figures| Jump {
                column: column.clone(),
                figures,
                setting,
            }));
        };
        let rows = |of: &pubdata_build::publish::ColumnStatistics| of.values + of.nulls;
        if rows(was).min(rows(is)) >= MIN_ROWS_FOR_WARNED_SHARE {
            add(
                "max_null_points",
                nulls((was.nulls, rows(was)), (is.nulls, rows(is)), &limits),
            );
        }
        if was.is_number && is.is_number && was.values.min(is.values) >= MIN_ROWS_FOR_WARNED_SHARE {
            let (sample_was, sample_is) = (before.sampled(group, name), now.sampled(group, name));
            add(
                "max_quartile_points",
                quartiles(&sample_was, &sample_is, was.is_date, &limits),
            );
            let means = was.mean_without_largest().zip(is.mean_without_largest());
            add(
                "max_sum_percent",
                means.and_then(|means| {
                    sums(
                        means,
                        [
                            (sample_was.as_slice(), was.values),
                            (sample_is.as_slice(), is.values),
                        ],
                        &limits,
                    )
                }),
            );
        }
    }
    for name in before.names().intersection(&now.names()) {
        let (was, is) = (before.over_groups(name), now.over_groups(name));
        let figures = distinct(
            (was.distinct(), was.values),
            (is.distinct(), is.values),
            &drift.limits(name, cadence),
        );
        jumps.extend(figures.map(|figures| Jump {
            column: format!("`{name}`"),
            figures,
            setting: "max_distinct_percent",
        }));
    }
    jumps
}

/// Finds records that have disappeared, and columns whose values changed in most records. Reused
/// rows count as unchanged.
fn changed_records(
    before: &Statistics,
    now: &Statistics,
    built: f64,
    drift: &Drift,
    cadence: Cadence,
) -> Vec<Jump> {
    let changes = before.changes(now);
    let mut jumps = Vec::new();
    let gone = 100.0 * built * changes.gone as f64 / changes.records.max(1) as f64;
    if changes.records as u64 >= MIN_ROWS_FOR_WARNED_SHARE && gone > drift.replaced_percent() {
        let figures = format!(
            "{gone:.0} % of the earlier records are gone, {} against {} rows",
            shown(now.rows as f64),
            shown(before.rows as f64)
        );
        jumps.push(Jump {
            column: String::new(),
            figures,
            setting: "max_replaced_percent",
        });
    }
    for (name, (compared, changed)) in changes.columns {
        let share = 100.0 * built * changed as f64 / compared.max(1) as f64;
        // A date that all records share is the date on which the list was made.
        let is_stamp =
            before.over_groups(&name).distinct() <= 1.0 && now.over_groups(&name).distinct() <= 1.0;
        if compared as u64 >= MIN_ROWS_FOR_WARNED_SHARE
            && share > drift.limits(&name, cadence).changed_percent
            && !is_stamp
        {
            let figures = format!("changed in {share:.0} % of the records");
            jumps.push(Jump {
                column: format!("`{name}`"),
                figures,
                setting: "max_changed_percent",
            });
        }
    }
    jumps
}

fn nulls((was, of): (u64, u64), (is, now_of): (u64, u64), limits: &DriftLimits) -> Option<String> {
    let (before, now) = (was as f64 / of as f64, is as f64 / now_of as f64);
    let both = (was + is) as f64 / (of + now_of) as f64;
    let chance = (both * (1.0 - both) * (1.0 / of as f64 + 1.0 / now_of as f64)).sqrt();
    let change = (now - before).abs();
    let is_jump = 100.0 * change > limits.null_points && change > SIGMAS * chance;
    is_jump.then(|| {
        format!(
            "is empty in {:.1} % of the records against {:.1} %",
            100.0 * now,
            100.0 * before
        )
    })
}

/// Compares how many values lie below the quartiles of both builds, and how far apart the quartiles
/// are. Both measures are needed. With few distinct values, a tiny change can move a quartile by an
/// entire step. In narrow columns, a small change may move nearly all values past a quartile.
fn quartiles(was: &[f64], is: &[f64], is_date: bool, limits: &DriftLimits) -> Option<String> {
    if was.len().min(is.len()) < 50 {
        return None;
    }
    let of = |sorted: &[f64]| [1, 2, 3].map(|quarter| sorted[(sorted.len() - 1) * quarter / 4]);
    let (before, now) = (of(was), of(is));
    let below = |sorted: &[f64], point: f64| {
        sorted.partition_point(|value| *value <= point) as f64 / sorted.len() as f64
    };
    let spread = before[2] - before[0];
    let mut furthest: Option<(f64, usize)> = None;
    for quarter in 0..3 {
        let moved = [before[quarter], now[quarter]]
            .iter()
            .map(|point| (below(was, *point) - below(is, *point)).abs())
            .fold(0.0, f64::max);
        let little = if is_date {
            366.0
        } else {
            0.1 * before[quarter].abs()
        };
        let is_far = (now[quarter] - before[quarter]).abs() > spread.max(little);
        if is_far
            && 100.0 * moved > limits.quartile_points
            && furthest.is_none_or(|(most, _)| moved > most)
        {
            furthest = Some((moved, quarter));
        }
    }
    let (_, quarter) = furthest?;
    let name = ["lower quartile", "median", "upper quartile"][quarter];
    let value = |number: f64| {
        if is_date {
            Day::from_number(number as i32).to_string()
        } else {
            shown(number)
        }
    };
    Some(format!(
        "has the {name} {} against {}",
        value(now[quarter]),
        value(before[quarter])
    ))
}

/// Compares sums divided by the number of values, without the largest values. Changes in the number
/// of rows are judged by the totals instead.
fn sums(
    (was, is): (f64, f64),
    samples: [(&[f64], u64); 2],
    limits: &DriftLimits,
) -> Option<String> {
    let variance = |(sample, values): (&[f64], u64)| {
        let count = sample.len().max(1) as f64;
        let mean = sample.iter().map(|number| number.abs()).sum::<f64>() / count;
        sample
            .iter()
            .map(|number| (number.abs() - mean).powi(2))
            .sum::<f64>()
            / count
            / values as f64
    };
    let chance = samples.into_iter().map(variance).sum::<f64>().sqrt();
    let factor = 1.0 + limits.sum_percent / 100.0;
    let is_jump = was.max(is) > factor * was.min(is) && (is - was).abs() > SIGMAS * chance;
    is_jump.then(|| {
        format!(
            "adds up to {} for each record against {}",
            shown(is),
            shown(was)
        )
    })
}

/// Compares the numbers of distinct values, both in absolute terms and relative to the number of
/// values. A growing list has more names but the same number of categories.
fn distinct(
    (was, of): (f64, u64),
    (is, now_of): (f64, u64),
    limits: &DriftLimits,
) -> Option<String> {
    let factor = 1.0 + limits.distinct_percent / 100.0;
    let is_apart = |a: f64, b: f64| a.max(b) > factor * a.min(b);
    let is_jump = was.max(is) >= MIN_DISTINCT
        && of.min(now_of) >= MIN_ROWS_FOR_WARNED_SHARE
        && is_apart(was, is)
        && is_apart(was / of as f64, is / now_of as f64);
    is_jump.then(|| {
        format!(
            "has {} distinct values against {}",
            shown(is.round()),
            shown(was.round())
        )
    })
}

/// Formats a number for readers: integers with thousands separators, other numbers with four
/// decimal places.
fn shown(number: f64) -> String {
    if number.abs() >= 1_000.0 || number.fract() == 0.0 {
        return grouped(number.round() as i64);
    }
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
