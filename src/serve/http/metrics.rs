//! Counts requests and times, and says which tasks are late, for `/metrics`, in the Prometheus text format.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::store::Manifest;

/// Upper bounds of the time classes, in microseconds.
const BOUNDS_US: [u64; 10] = [50, 100, 250, 500, 1_000, 5_000, 25_000, 100_000, 1_000_000, 10_000_000];

/// What the stream is doing, for `/metrics`.
#[derive(Debug, Clone, Copy)]
pub struct StreamNumbers {
    pub sockets: usize,
    pub last_seq: u64,
    pub events: usize,
    pub bytes: usize,
}

/// What the server has done since it started.
#[derive(Debug, Default)]
pub struct Metrics {
    requests: Mutex<BTreeMap<(String, u16), Times>>,
    release_loads: AtomicU64,
    release_failures: AtomicU64,
}

#[derive(Debug, Default)]
struct Times {
    count: u64,
    sum_us: u64,
    /// Requests at most as long as each bound.
    within: [u64; BOUNDS_US.len()],
}

impl Metrics {
    /// Counts one request. `route` is the pattern of the path, never the path itself: callers must not make up label values.
    pub fn record(&self, route: Option<&str>, status: StatusCode, duration: Duration) {
        let duration_us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let times = requests.entry((route.unwrap_or("none").to_owned(), status.as_u16())).or_default();
        times.count += 1;
        times.sum_us = times.sum_us.saturating_add(duration_us);
        for (count, bound) in times.within.iter_mut().zip(BOUNDS_US) {
            *count += u64::from(duration_us <= bound);
        }
    }

    /// Counts one try to follow the channel to another release.
    pub fn record_load(&self, is_success: bool) {
        let counter = if is_success { &self.release_loads } else { &self.release_failures };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes everything.
    pub fn text(&self, release: Option<&Manifest>, now: Timestamp, running: usize, stream: StreamNumbers) -> String {
        let mut text = String::new();
        let head = |text: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        };
        let name = "pubdata_http_request_duration_seconds";
        head(&mut text, name, "histogram", "Time to answer, by route and status.");
        for ((route, status), times) in &*self.requests.lock().unwrap_or_else(PoisonError::into_inner) {
            let labels = format!("route=\"{route}\",status=\"{status}\"");
            for (count, bound) in times.within.iter().zip(BOUNDS_US) {
                let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{}\"}} {count}", bound as f64 / 1e6);
            }
            let _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {}", times.count);
            let _ = writeln!(text, "{name}_sum{{{labels}}} {}", times.sum_us as f64 / 1e6);
            let _ = writeln!(text, "{name}_count{{{labels}}} {}", times.count);
        }
        head(&mut text, "pubdata_http_requests_running", "gauge", "Requests being answered now.");
        let _ = writeln!(text, "pubdata_http_requests_running {running}");
        let StreamNumbers { sockets, last_seq, events, bytes } = stream;
        for (name, help, number) in [
            ("pubdata_stream_sockets", "Open sockets of /v1/stream.", sockets as u64),
            ("pubdata_stream_last_seq", "Number of the last event of the log.", last_seq),
            ("pubdata_stream_events", "Events that can be sent again.", events as u64),
            ("pubdata_stream_bytes", "Memory of those events.", bytes as u64),
        ] {
            head(&mut text, name, "gauge", help);
            let _ = writeln!(text, "{name} {number}");
        }
        head(&mut text, "pubdata_release_loads_total", "counter", "Tries to load the channel's release, by outcome.");
        for (outcome, counter) in [("loaded", &self.release_loads), ("failed", &self.release_failures)] {
            let _ = writeln!(text, "pubdata_release_loads_total{{outcome=\"{outcome}\"}} {}", counter.load(Ordering::Relaxed));
        }
        head(&mut text, "pubdata_release", "gauge", "1 for the release that is served.");
        if let Some(release) = release {
            let _ = writeln!(text, "pubdata_release{{release_id=\"{}\"}} 1", release.release_id.as_str());
        }
        let name = "pubdata_task_late_seconds";
        head(&mut text, name, "gauge", "How long the publisher's next edition is late by its calendar, by task; 0 on time.");
        for task_id in release.into_iter().flat_map(|release| release.tasks.keys().filter(|task_id| release.awaits_an_edition(task_id))) {
            let late_since = release.and_then(|release| release.late_since(task_id, now.to_zoned(TimeZone::UTC).date()));
            let since = late_since.and_then(|day| day.to_zoned(TimeZone::UTC).ok()).map(|start| start.timestamp());
            let _ = writeln!(text, "{name}{{task=\"{task_id}\"}} {}", since.map_or(0, |since| now.as_second() - since.as_second()));
        }
        text
    }
}
