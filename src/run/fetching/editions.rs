//! Selects files whose names contain the label of a period. Determines which of them to fetch at
//! the run's clock time, and which absent files are simply not published yet.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::fetch_target::{FetchTarget, Fetched};
use super::requests::requests;
use crate::settings::RunSettings;
use pubdata_core::error::{Result, ResultExt};
use pubdata_core::pipeline::{Declaration, Editions, Source, Variable};
use pubdata_core::provenance::Snapshot;

/// Maximum number of earlier labels to request from a server, one after another, if only the newest
/// files are wanted and they are absent.
const MAX_EARLIER: usize = 24;

/// Files of a source that differ only in the label of their period.
#[derive(Debug)]
pub(crate) struct Series {
    source_id: String,
    /// The URL variable that holds the label.
    variable: String,
    /// Values of the other variables.
    others: BTreeMap<String, String>,
    /// Labels of the editions that may be published by now, oldest first.
    labels: Vec<String>,
    /// Number of newest editions that are wanted; none means all editions.
    last: Option<usize>,
    is_required: bool,
    /// Earlier files to request if newer ones are absent, oldest first.
    earlier: Vec<FetchTarget>,
}

/// Returns the files of a source to fetch now for one partition, and the series of the files whose
/// names are labels.
pub(crate) fn files_of_source(
    settings: &RunSettings,
    owner: &Declaration,
    source: &Source,
    partition: Option<&str>,
) -> Result<(Vec<FetchTarget>, Vec<Series>)> {
    let Some((variable, range)) = source.range() else {
        return Ok((requests(settings, owner, source, partition)?, Vec::new()));
    };
    let editions = Editions::from_range(range, owner.schedule(Some(source))?)
        .context(|| format!("source {}", source.source_id))?;
    let labels = editions.labels(settings.fetch.clock.now());
    let mut resolved = source.clone();
    resolved
        .variables
        .insert(variable.to_owned(), Variable::Values(labels.clone()));
    let mut by_others: BTreeMap<BTreeMap<String, String>, Vec<FetchTarget>> = BTreeMap::new();
    for target in requests(settings, owner, &resolved, partition)? {
        by_others
            .entry(without(&target.request.keys, variable))
            .or_default()
            .push(target);
    }
    let (mut files, mut series) = (Vec::new(), Vec::new());
    for (others, mut targets) in by_others {
        let requested = targets.split_off(
            editions
                .last()
                .map_or(0, |last| targets.len().saturating_sub(last)),
        );
        files.extend(requested);
        // A local lookup sends no requests, so the number of earlier labels is unlimited.
        let limit = if settings.is_offline || settings.fetch.has_only_local_mirrors() {
            targets.len()
        } else {
            MAX_EARLIER
        };
        targets.drain(..targets.len().saturating_sub(limit));
        series.push(Series {
            source_id: source.source_id.clone(),
            variable: variable.to_owned(),
            others,
            labels: labels.clone(),
            last: editions.last(),
            is_required: source.required,
            earlier: targets,
        });
    }
    Ok((files, series))
}

/// Describes what is missing from a required source whose first edition cannot be published yet.
pub(crate) fn before_the_first(
    settings: &RunSettings,
    owner: &Declaration,
    source: &Source,
) -> Result<Option<String>> {
    let Some((_, range)) = source.range().filter(|_| source.required) else {
        return Ok(None);
    };
    let editions = Editions::from_range(range, owner.schedule(Some(source))?)?;
    let expected: Timestamp = editions.first_expected();
    let is_early = settings.fetch.clock.now() < expected;
    Ok(is_early.then(|| {
        format!(
            "{}: its first file, `{}`, cannot be there before {expected}",
            source.source_id, range.from
        )
    }))
}

fn without(keys: &BTreeMap<String, String>, variable: &str) -> BTreeMap<String, String> {
    keys.iter()
        .filter(|(name, _)| *name != variable)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

impl Series {
    fn is_of(&self, file: &FetchTarget) -> bool {
        file.request.source_id == self.source_id
            && without(&file.request.keys, &self.variable) == self.others
    }

    fn index(&self, file: &FetchTarget) -> usize {
        let label = file.request.keys.get(&self.variable);
        self.labels
            .iter()
            .position(|known| Some(known) == label)
            .unwrap_or(0)
    }

    /// Returns the next earlier files to request, one for each newer file that is absent. Each file
    /// has a flag that says whether it is required.
    pub(crate) fn earlier(
        &mut self,
        files: &[(FetchTarget, bool)],
        fetched: &BTreeMap<String, Fetched>,
    ) -> Vec<(FetchTarget, bool)> {
        let Some(last) = self.last else {
            return Vec::new();
        };
        let outcomes: Vec<Option<&Fetched>> = files
            .iter()
            .filter(|(file, _)| self.is_of(file))
            .map(|(file, _)| fetched.get(&file.request.url))
            .collect();
        // If a publisher fails, no earlier files are requested from it.
        if outcomes
            .iter()
            .any(|outcome| matches!(outcome, Some(Fetched::Failed(_))))
        {
            return Vec::new();
        }
        let there = outcomes
            .iter()
            .filter(|outcome| matches!(outcome, Some(Fetched::Snapshots(_))))
            .count();
        let earlier = self.earlier.split_off(
            self.earlier
                .len()
                .saturating_sub(last.saturating_sub(there)),
        );
        earlier
            .into_iter()
            .map(|file| (file, self.is_required))
            .collect()
    }

    /// Drops the newest files if they are not published yet, and files that are older than the
    /// wanted ones. Keeps files from which the last build was made: if such a file is absent, it is
    /// missing.
    pub(crate) fn settle(
        &self,
        files: &mut Vec<(FetchTarget, bool)>,
        fetched: &BTreeMap<String, Fetched>,
        previous: &[Snapshot],
    ) {
        let is_there = |file: &FetchTarget| {
            matches!(fetched.get(&file.request.url), Some(Fetched::Snapshots(_)))
        };
        let is_absent =
            |file: &FetchTarget| matches!(fetched.get(&file.request.url), Some(Fetched::Absent));
        let is_known = |file: &FetchTarget| {
            previous
                .iter()
                .any(|known| known.source_id == self.source_id && known.keys == file.request.keys)
        };
        let own = files
            .iter()
            .map(|(file, _)| file)
            .filter(|file| self.is_of(file));
        let mut there: Vec<usize> = own
            .clone()
            .filter(|file| is_there(file))
            .map(|file| self.index(file))
            .collect();
        there.sort_unstable();
        // If no file exists, the newest file represents the entire series.
        let newest_asked = own.clone().map(|file| self.index(file)).max();
        let newest = there.last().copied();
        let oldest_wanted = self
            .last
            .and_then(|last| there.iter().rev().nth(last.saturating_sub(1)).copied());
        let has_known = own.clone().any(is_known);
        let is_earlier = |index: usize| {
            self.last
                .is_some_and(|last| index + last < self.labels.len())
        };
        files.retain(|(file, _)| {
            if !self.is_of(file) {
                return true;
            }
            let index = self.index(file);
            match newest {
                // An absent file between existing files is missing. A file that an earlier run read
                // is missing once it has disappeared.
                Some(newest) if is_absent(file) => {
                    (index < newest && !is_earlier(index)) || (index > newest && is_known(file))
                }
                Some(_) => oldest_wanted.is_none_or(|oldest| index >= oldest),
                None => {
                    !is_absent(file)
                        || is_known(file)
                        || (self.is_required && !has_known && Some(index) == newest_asked)
                }
            }
        });
    }
}
