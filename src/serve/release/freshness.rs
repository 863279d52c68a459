//! Computes the age of a dataset relative to its publisher's cadence and calendar.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

use pubdata_core::ids::Digest;
use pubdata_core::provenance::Snapshot;
use pubdata_store::{DatasetEntry, Manifest, Part, TaskEntry};

/// Age of the newest source file relative to the publisher's cadence: within one period, within
/// three periods, or older. Never fresh while the publisher's next edition is late by its calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    Fresh,
    // Also applies if the last attempt to renew the dataset failed.
    Stale,
    Expired,
}

impl Freshness {
    /// Returns the name used in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Stale => "stale",
            Self::Expired => "expired",
        }
    }
}

/// Freshness of a release's datasets on one day.
#[derive(Debug)]
pub struct DailyFreshness {
    day: Date,
    by_dataset: BTreeMap<String, Freshness>,
    fingerprint: Digest,
}

impl DailyFreshness {
    pub fn get(&self, dataset_id: &str) -> Freshness {
        self.by_dataset
            .get(dataset_id)
            .copied()
            .unwrap_or(Freshness::Expired)
    }

    /// Returns a digest of each dataset's freshness, and of the late or stale tasks with their
    /// reasons. The digest changes exactly when the freshness in an answer can change.
    pub fn fingerprint(&self) -> Digest {
        self.fingerprint
    }
}

/// Freshness for the last requested day, cached because a day has many requests.
#[derive(Debug, Default)]
pub struct FreshnessCache(ArcSwapOption<DailyFreshness>);

impl FreshnessCache {
    /// Returns the freshness of a release's datasets on a day.
    pub fn get(&self, manifest: &Manifest, today: Date) -> Arc<DailyFreshness> {
        if let Some(known) = self.0.load_full().filter(|known| known.day == today) {
            return known;
        }
        let by_dataset: BTreeMap<String, Freshness> = manifest
            .datasets
            .iter()
            .map(|(id, dataset)| (id.clone(), freshness_of(manifest, dataset, today)))
            .collect();
        let late = manifest
            .tasks
            .keys()
            .filter(|task_id| manifest.late_since(task_id, today).is_some())
            .cloned();
        let is_stale = |(task_id, task): (&String, &TaskEntry)| {
            task.is_stale.then(|| {
                format!(
                    "{task_id}:{}",
                    task.stale_reason.as_deref().unwrap_or_default()
                )
            })
        };
        let lines = by_dataset
            .values()
            .map(|freshness| freshness.name().to_owned())
            .chain(late)
            .chain(manifest.tasks.iter().filter_map(is_stale));
        let fingerprint = Digest::sha256(lines.collect::<Vec<_>>().join("\n").as_bytes());
        let computed = Arc::new(DailyFreshness {
            day: today,
            by_dataset,
            fingerprint,
        });
        self.0.store(Some(computed.clone()));
        computed
    }
}

/// Most serious condition of the dataset, worst first. `not_updated`: the last run could not update
/// a part. `late`: an edition is late by its publisher's calendar. `expired`, `stale`: as in
/// `freshness`. `findings`: a source needs attention (see `findings`). `fresh`: no such condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "DatasetCoverageState")]
pub enum DatasetState {
    NotUpdated,
    Late,
    Expired,
    Stale,
    Findings,
    Fresh,
}

impl DatasetState {
    pub fn new(manifest: &Manifest, dataset: &DatasetEntry, today: Date) -> Self {
        let task_ids: BTreeSet<&str> = dataset
            .parts
            .iter()
            .map(|part| part.task_id.as_str())
            .collect();
        let tasks = || {
            task_ids
                .iter()
                .filter_map(|task_id| manifest.tasks.get(*task_id))
        };
        if tasks().any(|task| task.is_stale) {
            return Self::NotUpdated;
        }
        if task_ids
            .iter()
            .any(|task_id| manifest.late_since(task_id, today).is_some())
        {
            return Self::Late;
        }
        match freshness_of(manifest, dataset, today) {
            Freshness::Expired => Self::Expired,
            Freshness::Stale => Self::Stale,
            Freshness::Fresh if tasks().any(TaskEntry::needs_attention) => Self::Findings,
            Freshness::Fresh => Self::Fresh,
        }
    }

    /// Returns the name used in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotUpdated => "not_updated",
            Self::Late => "late",
            Self::Expired => "expired",
            Self::Stale => "stale",
            Self::Findings => "findings",
            Self::Fresh => "fresh",
        }
    }
}

/// Summarises how many datasets need attention.
pub fn summary_of_states<'s>(states: impl Iterator<Item = &'s str>) -> String {
    let states: Vec<&str> = states.collect();
    match states
        .iter()
        .filter(|state| **state != DatasetState::Fresh.name())
        .count()
    {
        0 => format!("All {} datasets are fresh.", states.len()),
        count => format!("{count} of {} datasets need attention.", states.len()),
    }
}

/// Returns the freshness of a dataset's newest partition. If a build of the dataset is stale or
/// late, the result is at best stale.
pub fn freshness_of(manifest: &Manifest, dataset: &DatasetEntry, today: Date) -> Freshness {
    let newest = dataset
        .parts
        .iter()
        .max_by(|a, b| a.partition.cmp(&b.partition));
    let by_age = newest.map_or(Freshness::Expired, |part| {
        freshness_of_part(manifest, part, today)
    });
    let tasks: BTreeSet<&str> = dataset
        .parts
        .iter()
        .map(|part| part.task_id.as_str())
        .collect();
    let is_behind = |task_id: &&str| {
        manifest
            .tasks
            .get(*task_id)
            .is_some_and(|task| task.is_stale)
            || manifest.late_since(task_id, today).is_some()
    };
    if tasks.iter().any(is_behind) {
        by_age.max(Freshness::Stale)
    } else {
        by_age
    }
}

fn freshness_of_part(manifest: &Manifest, part: &Part, today: Date) -> Freshness {
    let task = manifest.tasks.get(&part.task_id);
    task.map_or(Freshness::Expired, |task| {
        freshness_by_age(task, source_date(manifest, part), today)
    })
}

/// Returns the freshness of a build by the age of its newest file. If the last renewal failed or
/// the next edition is late, the result is at best stale.
pub fn freshness_of_task(manifest: &Manifest, task_id: &str, today: Date) -> Freshness {
    let Some(task) = manifest.tasks.get(task_id) else {
        return Freshness::Expired;
    };
    let by_age = freshness_by_age(
        task,
        newest_date(&task.inputs, &manifest.published_at),
        today,
    );
    if task.is_stale || manifest.late_since(task_id, today).is_some() {
        by_age.max(Freshness::Stale)
    } else {
        by_age
    }
}

fn freshness_by_age(task: &TaskEntry, date: Option<Date>, today: Date) -> Freshness {
    let Some(age) = date
        .and_then(|date| today.since(date).ok())
        .map(|span| i64::from(span.get_days()))
    else {
        return Freshness::Expired;
    };
    match age {
        age if age <= task.cadence_days => Freshness::Fresh,
        age if age <= 3 * task.cadence_days => Freshness::Stale,
        _ => Freshness::Expired,
    }
}

/// Returns the date of the newest file from which a part was built, or the publication date if no
/// file has a date.
pub fn source_date(manifest: &Manifest, part: &Part) -> Option<Date> {
    let inputs = manifest
        .tasks
        .get(&part.task_id)
        .map(|task| task.inputs.as_slice())
        .unwrap_or_default();
    newest_date(inputs, &manifest.published_at)
}

fn newest_date(inputs: &[Snapshot], published_at: &str) -> Option<Date> {
    let newest = inputs.iter().filter_map(Snapshot::day).max();
    newest.or_else(|| published_at.get(..10).and_then(|date| date.parse().ok()))
}
