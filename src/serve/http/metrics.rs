//! Counts requests and their durations and reports late tasks, for `/metrics`, in the OpenMetrics
//! text format.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use axum::extract::MatchedPath;
use axum::http::StatusCode;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabelSet, EncodeLabelValue, EncodeMetric, LabelValueEncoder, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use pubdata_store::{DatasetEntry, Manifest};

/// Media type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the histogram buckets, in seconds.
const BOUNDS: [f64; 10] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.005, 0.025, 0.1, 1.0, 10.0,
];

/// State of the event stream, for `/metrics`.
#[derive(Debug, Clone, Copy)]
pub struct StreamNumbers {
    pub sockets: usize,
    pub last_seq: u64,
    pub events: usize,
    pub bytes: usize,
}

/// Resources that clients are using now, for `/metrics`.
#[derive(Debug, Clone, Copy)]
pub struct TransportNumbers {
    pub running: usize,
    pub connections: usize,
    pub bytes_in_flight: usize,
}

/// Counters and histograms since the server started.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<Answer, Histogram, fn() -> Histogram>,
    release_loads: Counter,
    release_failures: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        let requests =
            Family::new_with_constructor((|| Histogram::new(BOUNDS)) as fn() -> Histogram);
        let loads: Family<[(&'static str, &'static str); 1], Counter> = Family::default();
        let [release_loads, release_failures] =
            ["loaded", "failed"].map(|outcome| loads.get_or_create_owned(&[("outcome", outcome)]));
        let mut registry = Registry::default();
        // The registry appends a full stop to each help text.
        registry.register(
            "pubdata_http_request_duration_seconds",
            "Time to answer, by route and status",
            requests.clone(),
        );
        registry.register(
            "pubdata_release_loads",
            "Attempts to load the channel's release, by outcome",
            loads,
        );
        Self {
            registry,
            requests,
            release_loads,
            release_failures,
        }
    }
}

impl Metrics {
    /// Counts an answered request. `route` is the request's path pattern, or `None` if no route
    /// matches.
    pub fn record(&self, route: Option<Route>, status: StatusCode, duration: Duration) {
        self.requests
            .get_or_create(&Answer {
                route: RouteLabel(route),
                status: status.as_u16(),
            })
            .observe(duration.as_secs_f64());
    }

    /// Counts one attempt to follow the channel to another release.
    pub fn record_load(&self, is_success: bool) {
        let counter = if is_success {
            &self.release_loads
        } else {
            &self.release_failures
        };
        counter.inc();
    }

    /// Writes all metrics.
    pub fn text(
        &self,
        release: Option<&Manifest>,
        now: Timestamp,
        transport: TransportNumbers,
        stream: StreamNumbers,
    ) -> String {
        let StreamNumbers {
            sockets,
            last_seq,
            events,
            bytes,
        } = stream;
        let mut present = Registry::default();
        for (name, help, number) in [
            (
                "pubdata_http_requests_running",
                "Requests being answered now",
                transport.running as u64,
            ),
            (
                "pubdata_http_connections",
                "Open connections of the main address",
                transport.connections as u64,
            ),
            (
                "pubdata_http_bytes_in_flight",
                "Bytes of larger answers that clients have not taken yet",
                transport.bytes_in_flight as u64,
            ),
            (
                "pubdata_stream_sockets",
                "Open sockets of /v1/stream",
                sockets as u64,
            ),
            (
                "pubdata_stream_last_seq",
                "Number of the last event of the log",
                last_seq,
            ),
            (
                "pubdata_stream_events",
                "Events that can be sent again",
                events as u64,
            ),
            (
                "pubdata_stream_bytes",
                "Bytes of memory that these events use",
                bytes as u64,
            ),
        ] {
            present.register(name, help, ConstGauge::new(number));
        }
        let release_id = release.map(|release| release.release_id.to_string());
        let late = release
            .map(|release| lateness(release, now))
            .unwrap_or_default();
        present.register_collector(Box::new(ReleaseFreshness {
            release_id,
            late,
            words: release.map(words).unwrap_or_default(),
        }));
        let mut text = String::new();
        text::encode_registry(&mut text, &self.registry)
            .and_then(|()| text::encode(&mut text, &present))
            .expect("writing to a String cannot fail");
        text
    }
}

/// Returns, for each task that expects an edition, the number of seconds by which the edition is
/// late.
fn lateness(release: &Manifest, now: Timestamp) -> Vec<(String, i64)> {
    let today = now.to_zoned(TimeZone::UTC).date();
    let seconds = |task_id: &str| {
        let start = release
            .late_since(task_id, today)
            .and_then(|day| day.to_zoned(TimeZone::UTC).ok());
        start.map_or(0, |start| now.as_second() - start.timestamp().as_second())
    };
    release
        .tasks
        .keys()
        .filter(|task_id| release.awaits_an_edition(task_id))
        .map(|task_id| (task_id.clone(), seconds(task_id)))
        .collect()
}

/// Task, dataset and column, followed by two counts: the records with a value from the publisher,
/// and the records whose value has no known meaning.
type WordRows = (String, String, String, u64, u64);

/// Returns the counts of known and unknown values in each task's coded columns.
fn words(release: &Manifest) -> Vec<WordRows> {
    let of_dataset = |(dataset_id, dataset): (&String, &DatasetEntry)| {
        let words = dataset.words().into_iter();
        words
            .map(|((task_id, column), counts)| {
                (
                    task_id.to_owned(),
                    dataset_id.clone(),
                    column.to_owned(),
                    counts.rows,
                    counts.unknown,
                )
            })
            .collect::<Vec<_>>()
    };
    release.datasets.iter().flat_map(of_dataset).collect()
}

/// Labels of a group of requests with the same route and status.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answer {
    route: RouteLabel,
    status: u16,
}

/// Pattern of a path, stored once for all requests.
#[derive(Debug, Clone)]
pub enum Route {
    /// Path in the route table.
    Endpoint(&'static str),
    Page(MatchedPath),
}

impl Route {
    fn as_str(&self) -> &str {
        match self {
            Self::Endpoint(path) => path,
            Self::Page(path) => path.as_str(),
        }
    }
}

impl From<&'static str> for Route {
    fn from(path: &'static str) -> Self {
        Self::Endpoint(path)
    }
}

impl From<MatchedPath> for Route {
    fn from(path: MatchedPath) -> Self {
        Self::Page(path)
    }
}

impl PartialEq for Route {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Route {}

impl Hash for Route {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

/// Route label; `none` if no pattern matches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct RouteLabel(Option<Route>);

impl EncodeLabelValue for RouteLabel {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        self.0
            .as_ref()
            .map_or("none", Route::as_str)
            .encode(encoder)
    }
}

/// Metrics of the served release, in the order of the tasks.
#[derive(Debug)]
struct ReleaseFreshness {
    release_id: Option<String>,
    late: Vec<(String, i64)>,
    words: Vec<WordRows>,
}

impl Collector for ReleaseFreshness {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let release = self
            .release_id
            .iter()
            .map(|release_id| ([("release_id", release_id.as_str())], 1));
        gauge(
            &mut encoder,
            "pubdata_release",
            "1 for the release that is served.",
            release,
        )?;
        let late = self
            .late
            .iter()
            .map(|(task_id, seconds)| ([("task", task_id.as_str())], *seconds));
        let help =
            "How long the publisher's next edition is late by its calendar, by task; 0 on time.";
        gauge(&mut encoder, "pubdata_task_late_seconds", help, late)?;
        let labels = |(task, dataset, column, ..): &'_ WordRows| {
            [
                ("task", task.clone()),
                ("dataset", dataset.clone()),
                ("column", column.clone()),
            ]
        };
        let rows = self
            .words
            .iter()
            .map(|words| (labels(words), count(words.3)));
        gauge(
            &mut encoder,
            "pubdata_coded_rows",
            "Records with a text of the publisher in a coded column.",
            rows,
        )?;
        let unknown = self
            .words
            .iter()
            .map(|words| (labels(words), count(words.4)));
        gauge(
            &mut encoder,
            "pubdata_unknown_word_rows",
            "Records whose text in a coded column has no known meaning.",
            unknown,
        )
    }
}

fn count(rows: u64) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// Writes a gauge with a value for each set of labels.
fn gauge<T: EncodeLabelValue, const N: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = ([(&'static str, T); N], i64)>,
) -> fmt::Result {
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in values {
        ConstGauge::new(value).encode(metric.encode_family(&labels)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected output follows the OpenMetrics specification 1.0.
    #[test]
    fn everything_is_written_as_open_metrics() {
        let metrics = Metrics::default();
        metrics.record(None, StatusCode::NOT_FOUND, Duration::from_micros(250));
        metrics.record(None, StatusCode::NOT_FOUND, Duration::from_secs(11));
        metrics.record_load(true);
        let stream = StreamNumbers {
            sockets: 1,
            last_seq: 20,
            events: 3,
            bytes: 400,
        };
        let transport = TransportNumbers {
            running: 5,
            connections: 7,
            bytes_in_flight: 90,
        };
        let text = metrics.text(None, Timestamp::UNIX_EPOCH, transport, stream);
        let lines: Vec<&str> = text.lines().collect();
        let name = "pubdata_http_request_duration_seconds";
        let labels = "route=\"none\",status=\"404\"";
        let within = |bound: &str| {
            let found: Vec<&&str> = lines
                .iter()
                .filter(|line| {
                    line.starts_with(&format!("{name}_bucket{{"))
                        && line.contains(&format!("le=\"{bound}\""))
                })
                .collect();
            assert_eq!(found.len(), 1, "{bound} in {text}");
            found[0].rsplit(' ').next().unwrap().parse::<u64>().unwrap()
        };
        let counts = [
            "0.00005", "0.0001", "0.00025", "0.0005", "0.001", "0.005", "0.025", "0.1", "1.0",
            "10.0", "+Inf",
        ]
        .map(within);
        assert_eq!(counts, [0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
        for line in [
            format!("# HELP {name} Time to answer, by route and status."),
            format!("# TYPE {name} histogram"),
            format!("{name}_count{{{labels}}} 2"),
            format!("{name}_sum{{{labels}}} 11.00025"),
            "# HELP pubdata_release_loads Attempts to load the channel's release, by outcome."
                .to_owned(),
            "# TYPE pubdata_release_loads counter".to_owned(),
            "pubdata_release_loads_total{outcome=\"loaded\"} 1".to_owned(),
            "pubdata_release_loads_total{outcome=\"failed\"} 0".to_owned(),
            "# TYPE pubdata_http_requests_running gauge".to_owned(),
            "pubdata_http_requests_running 5".to_owned(),
            "pubdata_http_connections 7".to_owned(),
            "pubdata_http_bytes_in_flight 90".to_owned(),
            "pubdata_stream_sockets 1".to_owned(),
            "pubdata_stream_last_seq 20".to_owned(),
            "pubdata_stream_events 3".to_owned(),
            "pubdata_stream_bytes 400".to_owned(),
            "# TYPE pubdata_release gauge".to_owned(),
            "# TYPE pubdata_task_late_seconds gauge".to_owned(),
            "# TYPE pubdata_coded_rows gauge".to_owned(),
            "# TYPE pubdata_unknown_word_rows gauge".to_owned(),
        ] {
            assert_eq!(
                lines.iter().filter(|written| **written == line).count(),
                1,
                "`{line}` in {text}"
            );
        }
        assert!(
            text.ends_with("\n# EOF\n") && text.matches("# EOF").count() == 1,
            "{text}"
        );
    }
}
