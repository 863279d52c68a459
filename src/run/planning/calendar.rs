//! Applies publishers' calendars. Determines the days from which a build's sources are late, and
//! what to expect of a partition before its files are fetched.

use std::collections::BTreeMap;

use jiff::civil::{Date, date};
use jiff::tz::TimeZone;

use super::selection::sources_of;
use crate::settings::RunSettings;
use pubdata_core::error::Result;
use pubdata_core::pipeline::{Declaration, Editions, Schedule, Source, Variable, are_labels};
use pubdata_core::provenance::{Snapshot, is_future_date};

/// Returns the day from which each source of a build is late unless a newer edition arrives.
/// Excludes files that are declared individually, bundled or fetched on demand, and sources that
/// are reported by their own pipeline.
pub(crate) fn due(
    settings: &RunSettings,
    declaration: &Declaration,
    partition: Option<&str>,
    inputs: &[Snapshot],
) -> Result<BTreeMap<String, Date>> {
    let mut due = BTreeMap::new();
    for (owner, source) in sources_of(settings, declaration)? {
        let is_own = std::ptr::eq(owner, declaration);
        let files: Vec<&Snapshot> = inputs
            .iter()
            .filter(|input| input.source_id == source.source_id)
            .collect();
        if (!is_own && !owner.produces.is_empty()) || !has_later_files(source) || files.is_empty() {
            continue;
        }
        let Some(schedule) = owner.schedule(Some(source))? else {
            continue;
        };
        let vintage = owner
            .partition
            .as_ref()
            .zip(partition)
            .filter(|(range, _)| is_own && names(&source.url, &range.variable));
        let day = match (source.range(), vintage) {
            (Some((variable, range)), _) => due_of_labels(
                &Editions::from_range(range, Some(schedule))?,
                variable,
                &files,
            ),
            (None, Some((range, value))) => {
                let year = value
                    .parse()
                    .ok()
                    .filter(|_| range.to.is_none_or(|to| value != to.to_string()));
                year.map(|year| schedule.next_late_from(date(year, 1, 1)))
            }
            (None, None) => due_of_files(&schedule, source, &files, settings.today()),
        };
        due.extend(day.map(|day| (source.source_id.clone(), day)));
    }
    Ok(due)
}

/// Returns true if a source is expected to have new files later.
fn has_later_files(source: &Source) -> bool {
    let is_typed = source
        .variables
        .values()
        .any(|values| matches!(values, Variable::Values(values) if are_labels(values)));
    source.on_demand.is_none() && !source.url.starts_with("bundled:") && !is_typed
}

/// Returns true if a template contains a variable.
fn names(template: &str, variable: &str) -> bool {
    template.split('{').skip(1).any(|rest| {
        rest.strip_prefix(variable)
            .is_some_and(|rest| rest.starts_with(['}', '-']))
    })
}

/// Returns the earliest day on which the label after the newest one is late, over all combinations
/// of the other variables.
fn due_of_labels(editions: &Editions, variable: &str, files: &[&Snapshot]) -> Option<Date> {
    let mut newest: BTreeMap<Vec<(&String, &String)>, &str> = BTreeMap::new();
    for file in files {
        let Some(label) = file.keys.get(variable) else {
            continue;
        };
        let others = file
            .keys
            .iter()
            .filter(|(name, _)| *name != variable)
            .collect();
        let known = newest.entry(others).or_insert(label);
        if editions.first_day(label) > editions.first_day(known) {
            *known = label;
        }
    }
    newest
        .into_values()
        .filter_map(|label| editions.next_late_from(label))
        .min()
}

/// Returns the day from which the next file is late. If a file is published again with the same
/// bytes, the source keeps the file's first date, but the server states the later date. A date
/// stated for the list itself takes precedence over the server's date.
fn due_of_files(
    schedule: &Schedule,
    source: &Source,
    files: &[&Snapshot],
    today: Date,
) -> Option<Date> {
    let is_stated = source.dated_by.is_some() || source.source_date.is_some();
    let of_source = files.iter().filter_map(|file| file.day());
    let of_server = files
        .iter()
        .filter(|_| !is_stated)
        .filter_map(|file| day_of_header(file.last_modified.as_deref()?));
    let newest = of_source
        .chain(of_server.filter(|day| !is_future_date(*day, today)))
        .max()?;
    Some(schedule.next_late_from(schedule.period_of_file(newest)))
}

fn day_of_header(last_modified: &str) -> Option<Date> {
    let at = jiff::fmt::rfc2822::parse(last_modified).ok()?;
    Some(at.timestamp().to_zoned(TimeZone::UTC).date())
}

/// First and last partition with at least one existing file.
pub(super) type PublishedRange = (i32, i32);

#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    /// True if the partition's files should exist: it was built before, lies between existing
    /// partitions, or has no number.
    pub(super) is_expected: bool,
    /// True if some of the partition's files may still be published: it is the newest existing
    /// partition, was never built, and is not late.
    pub(super) may_be_incomplete: bool,
    /// The day since which the partition is late according to the calendar, if nothing newer
    /// exists.
    pub(crate) late_since: Option<Date>,
}

impl Expected {
    /// Returns what to expect of a partition.
    ///
    /// # Errors
    /// Returns `Config` if the calendar cannot be read.
    pub(crate) fn for_partition(
        declaration: &Declaration,
        partition: Option<&str>,
        published: Option<PublishedRange>,
        was_built: bool,
        today: Date,
    ) -> Result<Self> {
        let Some(value) = partition.and_then(|value| value.parse::<i32>().ok()) else {
            return Ok(Self {
                is_expected: true,
                may_be_incomplete: false,
                late_since: None,
            });
        };
        let is_inside = published.is_some_and(|(first, last)| (first..=last).contains(&value));
        let has_newer = published.is_some_and(|(_, last)| value < last);
        let first_day = i16::try_from(value)
            .ok()
            .and_then(|year| Date::new(year, 1, 1).ok())
            .filter(|_| !has_newer);
        let late_from = declaration
            .schedule(None)?
            .zip(first_day)
            .map(|(schedule, first_day)| schedule.late_from(first_day));
        let late_since = late_from.filter(|day| *day <= today);
        let is_newest = published.is_some_and(|(_, last)| value == last);
        Ok(Self {
            is_expected: was_built || is_inside,
            may_be_incomplete: is_newest && !was_built && late_since.is_none(),
            late_since,
        })
    }
}
