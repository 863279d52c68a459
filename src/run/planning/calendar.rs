//! What publishers' calendars say: the days from which a build's sources are late, and what is to
//! be expected of a partition before its files are looked at.

use std::collections::BTreeMap;

use jiff::civil::{Date, date};
use jiff::tz::TimeZone;

use super::selection::sources_of;
use crate::settings::RunSettings;
use pubdata_core::error::Result;
use pubdata_core::pipeline::{Declaration, Editions, Schedule, Source, Variable, are_labels};
use pubdata_core::provenance::{Snapshot, is_future_date};

/// The day from which each source of a build is late unless a newer edition has come. Files that
/// someone names one by one, that are bundled or fetched on demand, and sources whose own pipeline
/// tells of them have none.
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
        if (!is_own && !owner.produces.is_empty()) || !is_renewed(source) || files.is_empty() {
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
            (Some((variable, range)), _) => {
                due_of_labels(&Editions::of(range, Some(schedule))?, variable, &files)
            }
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

/// Whether other files are to be expected than those that are there.
fn is_renewed(source: &Source) -> bool {
    let is_typed = source
        .variables
        .values()
        .any(|values| matches!(values, Variable::Values(values) if are_labels(values)));
    source.on_demand.is_none() && !source.url.starts_with("bundled:") && !is_typed
}

/// Whether a template has a variable.
fn names(template: &str, variable: &str) -> bool {
    template.split('{').skip(1).any(|rest| {
        rest.strip_prefix(variable)
            .is_some_and(|rest| rest.starts_with(['}', '-']))
    })
}

/// The earliest day, over the combinations of the other variables, from which the label after the
/// newest is late.
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

/// A file that was put out again with the same bytes keeps its first date as a source; its server
/// knows the later one. What states a list's date itself knows better than the server.
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

/// First and last partition of which any file is there.
pub(super) type PublishedRange = (i32, i32);

#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    /// Whether its files should be there: it was built before, or lies between others that are
    /// there, or has no number.
    pub(super) is_expected: bool,
    /// Whether some of its files may still be to come: it is the newest that is there, was never
    /// built, and is not late.
    pub(super) may_be_incomplete: bool,
    /// Since when it is late by the calendar, where nothing newer is there.
    pub(crate) late_since: Option<Date>,
}

impl Expected {
    /// # Errors
    /// `Config`, when the calendar cannot be read.
    pub(crate) fn of(
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
