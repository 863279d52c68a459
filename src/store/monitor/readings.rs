//! Computes the gauges of an installation. Events are reported as timestamps rather than ages, so
//! that a value written by a nightly run is still correct at noon.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::forecast::full_at;
use super::history::{ChannelHistory, History, seconds};
use crate::{FollowState, Home, Manifest, TaskEntry, free_bytes, last_event_at};
use pubdata_core::error::Result;

/// Maximum number of rules per dataset that are reported separately. Rules with fewer records are
/// summed.
const RULES: usize = 20;

/// Gauges with their names, in a fixed order. Labels never contain records, callers or addresses,
/// so the number of label values is bounded by the declarations and the channels.
#[derive(Debug, Clone, PartialEq)]
pub struct Readings(pub Vec<Reading>);

/// A gauge with its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    pub name: &'static str,
    pub help: &'static str,
    pub samples: Vec<Sample>,
}

/// One value of a gauge.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub labels: Vec<(&'static str, String)>,
    pub value: f64,
}

/// A channel's release with the freshness of its datasets.
#[derive(Debug, Clone)]
pub struct ReleaseFreshness<'a> {
    pub channel: &'a str,
    pub manifest: &'a Manifest,
    /// `fresh`, `stale` or `expired`, by dataset.
    pub freshness: BTreeMap<String, &'static str>,
}

/// Times at which the feed follower was last active.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamTimes {
    /// Times of the last request and the last successful read, in seconds, by feed.
    feeds: BTreeMap<&'static str, (Option<i64>, Option<i64>)>,
    /// When the newest event was seen, in seconds.
    last_event_at: Option<i64>,
}

impl StreamTimes {
    /// Reads the state that the follower has written to a home.
    pub fn load(home: &Home) -> Result<Self> {
        let state = FollowState::read(home)?;
        let instant = |recorded: &Option<String>| recorded.as_deref().map(seconds);
        Ok(Self {
            feeds: state
                .feeds
                .iter()
                .map(|(feed, recorded)| {
                    (
                        feed.name(),
                        (instant(&recorded.requested_at), instant(&recorded.read_at)),
                    )
                })
                .collect(),
            last_event_at: last_event_at(home)?.as_deref().map(seconds),
        })
    }
}

impl Readings {
    /// Computes the gauges of a home from the ledger, the free disk space, and the follower's
    /// state. If a value cannot be read, the error is logged and the value omitted; the other
    /// values remain valid.
    pub fn of_home(home: &Home, history: &History, release: Option<&ReleaseFreshness<'_>>) -> Self {
        let stream = StreamTimes::load(home)
            .inspect_err(|error| tracing::warn!(%error, "no metrics of the stream"))
            .unwrap_or_default();
        let free = free_bytes(home)
            .inspect_err(|error| tracing::warn!(%error, "no metric of free bytes"))
            .ok();
        let mut readings = release.map(of_release).unwrap_or_default();
        readings.extend(of_runs(history));
        readings.extend(of_tasks(history));
        readings.extend(of_disk(history, free));
        readings.extend(of_stream(&stream));
        Self(readings)
    }
}

fn of_release(release: &ReleaseFreshness<'_>) -> Vec<Reading> {
    let ReleaseFreshness {
        channel,
        manifest,
        freshness,
    } = release;
    let mut sources = Reading::new(
        "pubdata_dataset_source_timestamp_seconds",
        "Date of the newest source file of a dataset.",
    );
    let mut fresh = Reading::new(
        "pubdata_dataset_freshness",
        "1 for the freshness of a dataset by its publisher's cadence and calendar.",
    );
    let mut due = Reading::new(
        "pubdata_dataset_due_timestamp_seconds",
        "Day from which the next edition of a dataset is late by its publisher's calendar.",
    );
    let mut rows = Reading::new("pubdata_dataset_rows", "Rows of a dataset.");
    let mut quarantined = Reading::new(
        "pubdata_dataset_quarantined_rows",
        "Quarantined records of a dataset, by rule.",
    );
    for (dataset_id, dataset) in &manifest.datasets {
        let labels = || {
            vec![
                ("channel", (*channel).to_owned()),
                ("dataset", dataset_id.clone()),
            ]
        };
        let task_ids: BTreeSet<&String> = dataset.parts.iter().map(|part| &part.task_id).collect();
        let tasks: Vec<(&String, &TaskEntry)> = task_ids
            .into_iter()
            .filter_map(|task_id| manifest.tasks.get_key_value(task_id))
            .collect();
        let newest = tasks
            .iter()
            .flat_map(|(_, task)| &task.inputs)
            .fold(None::<Date>, |newest, input| newest.max(input.day()));
        sources.add(labels(), newest.and_then(midnight));
        let next = tasks
            .iter()
            .filter(|(task_id, _)| manifest.awaits_an_edition(task_id))
            .flat_map(|(_, task)| task.due.values().copied())
            .min();
        due.add(labels(), next.and_then(midnight));
        if let Some(word) = freshness.get(dataset_id) {
            fresh.add(
                [labels(), vec![("freshness", (*word).to_owned())]].concat(),
                Some(1),
            );
        }
        rows.add_count(labels(), manifest.rows(dataset_id));
        for (rule, count) in most(manifest.quarantined(dataset_id)) {
            quarantined.add_count([labels(), vec![("rule", rule)]].concat(), count);
        }
    }
    vec![sources, fresh, due, rows, quarantined]
}

/// Returns the rules with the most records, and the sum of all other rules.
fn most(counts: BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let others: u64 = counts
        .drain(counts.len().min(RULES)..)
        .map(|(_, count)| count)
        .sum();
    if others > 0 {
        counts.push(("other".to_owned(), others));
    }
    counts
}

fn of_runs(history: &History) -> Vec<Reading> {
    let mut readings = [
        Reading::new(
            "pubdata_run_exit_code",
            "Exit code of the last run of a channel.",
        ),
        Reading::new(
            "pubdata_run_start_timestamp_seconds",
            "When the last run of a channel began.",
        ),
        Reading::new(
            "pubdata_run_end_timestamp_seconds",
            "When the last run of a channel ended.",
        ),
        Reading::new(
            "pubdata_run_success_timestamp_seconds",
            "When a run of a channel last ended with a release, new or unchanged (exit code below 40).",
        ),
        Reading::new(
            "pubdata_run_duration_seconds",
            "How long the last run of a channel took.",
        ),
        Reading::new(
            "pubdata_run_fetched_bytes",
            "Bytes of the files that were new in the last run of a channel.",
        ),
    ];
    let mut tasks = Reading::new(
        "pubdata_run_tasks",
        "Tasks of the last run of a channel, by outcome.",
    );
    for (
        channel,
        ChannelHistory {
            last, succeeded_at, ..
        },
    ) in &history.channels
    {
        let numbers = [
            Some(i64::from(last.exit_code)),
            Some(last.started_at),
            Some(last.ended_at),
            *succeeded_at,
            Some(last.ended_at - last.started_at),
            last.fetched_bytes
                .and_then(|bytes| i64::try_from(bytes).ok()),
        ];
        for (reading, number) in readings.iter_mut().zip(numbers) {
            reading.add(vec![("channel", channel.clone())], number);
        }
        for (outcome, count) in &last.tasks {
            tasks.add_count(
                vec![("channel", channel.clone()), ("outcome", outcome.clone())],
                *count as u64,
            );
        }
    }
    readings.into_iter().chain([tasks]).collect()
}

fn of_tasks(history: &History) -> Vec<Reading> {
    let mut outcomes = Reading::new(
        "pubdata_task_outcome",
        "1 for the outcome of a task in the last run that included it.",
    );
    let mut readings = [
        Reading::new(
            "pubdata_task_failed_runs",
            "Consecutive runs, up to the last, in which a task was blocked or one of its sources was missing.",
        ),
        Reading::new(
            "pubdata_task_optional",
            "1 if the operator declared the task as optional.",
        ),
        Reading::new(
            "pubdata_task_above_warning_level",
            "1 if the last build of a task quarantined more records than the declared level.",
        ),
        Reading::new(
            "pubdata_task_findings",
            "Issues of the sources of a task that need attention.",
        ),
        Reading::new(
            "pubdata_task_confirmed_timestamp_seconds",
            "When a run last built a task or found it fresh.",
        ),
        Reading::new(
            "pubdata_task_built_timestamp_seconds",
            "When a run last built a task.",
        ),
        Reading::new(
            "pubdata_task_late_since_timestamp_seconds",
            "Day since which an edition of a task's sources was late when a run last included it.",
        ),
    ];
    let mut durations = Reading::new(
        "pubdata_task_duration_seconds",
        "How long a task took in the last run that included it.",
    );
    for (channel, ChannelHistory { tasks, .. }) in &history.channels {
        for (task_id, task) in tasks {
            let labels = || vec![("channel", channel.clone()), ("task", task_id.clone())];
            outcomes.add(
                [labels(), vec![("outcome", task.outcome.clone())]].concat(),
                Some(1),
            );
            let numbers = [
                i64::try_from(task.failed_runs).ok(),
                Some(i64::from(task.is_optional)),
                Some(i64::from(task.is_above_warning_level)),
                i64::try_from(task.findings).ok(),
                task.confirmed_at,
                task.built_at,
                task.late_since.and_then(midnight),
            ];
            for (reading, number) in readings.iter_mut().zip(numbers) {
                reading.add(labels(), number);
            }
            durations.samples.push(Sample {
                labels: labels(),
                value: task.duration_ms as f64 / 1e3,
            });
        }
    }
    [outcomes]
        .into_iter()
        .chain(readings)
        .chain([durations])
        .collect()
}

fn of_disk(history: &History, free: Option<u64>) -> Vec<Reading> {
    let mut rooms = Reading::new(
        "pubdata_home_bytes",
        "Size of each folder of the home at the end of the last run; hard links count once.",
    );
    for (room, bytes) in history.disk.iter().flat_map(|disk| &disk.rooms) {
        rooms.add_count(vec![("room", room.clone())], *bytes);
    }
    let mut left = Reading::new(
        "pubdata_home_free_bytes",
        "Free bytes on the file system of the home.",
    );
    let mut full = Reading::new(
        "pubdata_home_full_timestamp_seconds",
        "Predicted time when the file system of the home is full, from its growth in the last runs.",
    );
    if let Some(free) = free {
        left.add_count(Vec::new(), free);
        full.add(Vec::new(), full_at(&history.sizes, free));
    }
    vec![rooms, left, full]
}

fn of_stream(stream: &StreamTimes) -> Vec<Reading> {
    let mut requests = Reading::new(
        "pubdata_stream_asked_timestamp_seconds",
        "When the follower last asked a feed.",
    );
    let mut read = Reading::new(
        "pubdata_stream_read_timestamp_seconds",
        "When the follower last could read a feed.",
    );
    for (feed, (requested_at, read_at)) in &stream.feeds {
        requests.add(vec![("feed", (*feed).to_owned())], *requested_at);
        read.add(vec![("feed", (*feed).to_owned())], *read_at);
    }
    let mut event = Reading::new(
        "pubdata_stream_event_timestamp_seconds",
        "When the newest event of the log of filings was seen.",
    );
    event.add(Vec::new(), stream.last_event_at);
    vec![requests, read, event]
}

impl Reading {
    fn new(name: &'static str, help: &'static str) -> Self {
        Self {
            name,
            help,
            samples: Vec::new(),
        }
    }

    /// Adds a sample if its value is known.
    fn add(&mut self, labels: Vec<(&'static str, String)>, value: Option<i64>) {
        self.samples.extend(value.map(|value| Sample {
            labels,
            value: value as f64,
        }));
    }

    fn add_count(&mut self, labels: Vec<(&'static str, String)>, count: u64) {
        self.samples.push(Sample {
            labels,
            value: count as f64,
        });
    }
}

/// Returns the first second of a day.
fn midnight(day: Date) -> Option<i64> {
    day.to_zoned(TimeZone::UTC)
        .ok()
        .map(|start| start.timestamp().as_second())
}
