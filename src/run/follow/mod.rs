//! Follows a publisher's feeds of new filings: polls them in turn, detects new filings, and writes
//! them to the event log. Each filing is logged once, and later details are logged as updates. The
//! daily index reveals filings that the feeds missed. Builds and publishes nothing, and can run at
//! the same time as `run` and `serve`.

mod follower;
mod known_filings;
mod settings;

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Serialize;

pub use follower::Follower;
pub use settings::check;

use pubdata_core::error::{ErrorKind, Result};
use pubdata_core::pipeline::Declarations;
use pubdata_fetch::FetchSettings;
use pubdata_store::{Feed, Home, SharedLog, SharedStore};

/// Maximum pause before a failed feed is polled again.
const LONGEST_REST: Duration = Duration::from_secs(600);

/// Settings of a follower.
pub struct FollowSettings {
    pub home: Home,
    /// Store in which servers on other machines find the follower's log. This is the home itself if
    /// no store is configured.
    pub store: SharedStore,
    pub declarations: Declarations,
    pub fetch: FetchSettings,
    /// Days whose index is read even if the index is not due.
    pub days: Vec<Date>,
}

/// Result of polling one feed, or of reading the index of one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PollReport {
    /// The feed that was polled.
    pub feed: Feed,
    /// The day of an index, `YYYY-MM-DD`; null for a feed.
    #[schemars(extend("format" = "date"))]
    pub day: Option<String>,
    /// Outcome of the poll.
    #[schemars(extend("enum" = ["read", "unchanged", "absent", "failed"]))]
    pub outcome: &'static str,
    /// Why the poll failed or is incomplete; null otherwise.
    pub detail: Option<String>,
    /// Number of entries or rows that were read.
    pub entries: usize,
    /// Number of filings among these entries.
    pub filings: usize,
    /// Number of filings that were not known before.
    pub new_filings: usize,
    /// Number of known filings with new details.
    pub updates: usize,
    /// Number of unreadable entries that were not known before.
    pub findings: usize,
}

/// Result of polling all feeds once: `pubdata follow --once`. Without `--once`, nothing is printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FollowReport {
    /// Results for every feed and index that was polled.
    pub polls: Vec<PollReport>,
    /// Sequence number of the log's last event; 0 if the log has no events.
    pub last_seq: u64,
}

/// Polls every feed once.
///
/// # Errors
/// Returns `Busy` if another follower is running, `Config` if the feed declaration is invalid, and
/// `Store` if the log fails. A failed feed is described in the report.
pub async fn once(settings: FollowSettings) -> Result<FollowReport> {
    let days = settings.days.clone();
    let mut shared =
        SharedLog::open(&settings.home, &settings.store, settings.fetch.clock.now()).await?;
    let mut follower = Follower::open(settings)?;
    let mut polls = Vec::new();
    for feed in [Feed::Getcurrent, Feed::Rss] {
        polls.push(follower.poll(feed).await?);
    }
    for day in days {
        polls.push(follower.reconcile(day).await?);
    }
    for day in follower.days_due() {
        polls.push(follower.reconcile(day).await?);
    }
    follower.prune()?;
    if let Some(shared) = &mut shared {
        shared.push().await?;
        shared.prune(follower.now()).await?;
    }
    Ok(FollowReport {
        polls,
        last_seq: follower.last_seq(),
    })
}

/// Polls each feed repeatedly until `stop` completes. The process may be killed between two events
/// without losing data.
///
/// # Errors
/// Returns the same errors as [`once`]. A failed feed is polled again at increasing intervals.
pub async fn follow(settings: FollowSettings, stop: impl Future<Output = ()>) -> Result<()> {
    let clock = settings.fetch.clock.clone();
    let days = settings.days.clone();
    let mut shared = SharedLog::open(&settings.home, &settings.store, clock.now()).await?;
    let mut follower = Follower::open(settings)?;
    let work = async {
        for day in days {
            tell(&follower.reconcile(day).await?);
        }
        let mut due = [Feed::Getcurrent, Feed::Rss, Feed::DailyIndex]
            .map(|feed| (feed, clock.instant(), 0_u32));
        let mut missing = BTreeSet::new();
        loop {
            let next = (0..due.len())
                .min_by_key(|index| due[*index].1)
                .unwrap_or_default();
            let (feed, at, failures) = due[next];
            let wait = at.saturating_duration_since(clock.instant());
            if !wait.is_zero() {
                clock.sleep(wait).await;
            }
            let mut has_failed = false;
            if feed == Feed::DailyIndex {
                for day in follower.days_due() {
                    let report = follower.reconcile(day).await?;
                    // The index of a holiday never appears, so it is requested again for several
                    // days.
                    if report.outcome == "read" || missing.insert(day) {
                        tell(&report);
                    }
                }
                follower.prune()?;
                if let Some(shared) = &shared
                    && let Err(error) = shared.prune(clock.now()).await
                {
                    tracing::warn!("old events stay in the store: {error}");
                }
            } else {
                let report = follower.poll(feed).await?;
                has_failed = report.outcome == "failed";
                if !(has_failed && failures > 0) {
                    tell(&report);
                }
            }
            if let Some(shared) = &mut shared
                && let Err(error) = shared.push().await
            {
                // A second follower is a mistake. If the store is unavailable, it is tried again
                // with the next feed.
                if error.kind() == ErrorKind::Busy {
                    return Err(error);
                }
                tracing::error!("new events are in the log and not yet in the store: {error}");
            }
            let failures = if has_failed { failures + 1 } else { 0 };
            due[next] = (
                feed,
                clock.instant() + rest(follower.interval(feed), failures),
                failures,
            );
        }
    };
    tokio::select! {
        outcome = work => outcome,
        () = stop => Ok(()),
    }
}

/// Returns the pause after a number of consecutive failures.
fn rest(interval: Duration, failures: u32) -> Duration {
    if failures == 0 {
        return interval;
    }
    interval
        .saturating_mul(1_u32.checked_shl(failures).unwrap_or(u32::MAX))
        .min(LONGEST_REST.max(interval))
}

/// Logs results that are worth reporting.
fn tell(report: &PollReport) {
    let PollReport {
        outcome,
        entries,
        new_filings,
        updates,
        findings,
        ..
    } = report;
    let (feed, day, detail) = (
        report.feed.name(),
        report.day.as_deref().unwrap_or_default(),
        report.detail.as_deref().unwrap_or_default(),
    );
    match *outcome {
        "failed" => tracing::warn!(
            feed,
            day,
            "a feed is not available and is asked again: {detail}"
        ),
        "absent" if report.day.is_none() => tracing::warn!(feed, "a feed is missing: {detail}"),
        "absent" => tracing::info!(feed, day, "no index of this day yet"),
        _ if *findings > 0 || !detail.is_empty() => tracing::warn!(
            feed,
            day,
            entries,
            new_filings,
            updates,
            findings,
            "{outcome} {feed} {detail}"
        ),
        _ if new_filings + updates > 0 || report.day.is_some() => {
            tracing::info!(feed, day, entries, new_filings, updates, "{outcome} {feed}");
        }
        _ => tracing::debug!(feed, entries, "{outcome} {feed}"),
    }
}

/// Returns true if a failure was caused by the publisher or its file rather than by this machine.
fn is_of_feed(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Fetch | ErrorKind::Format)
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_REST, rest};
    use std::time::Duration;

    #[test]
    fn failing_feed_is_polled_less_often_up_to_a_limit() {
        let seconds = Duration::from_secs;
        let rests: Vec<Duration> = (0..8).map(|failures| rest(seconds(30), failures)).collect();
        assert_eq!(rests, [30, 60, 120, 240, 480, 600, 600, 600].map(seconds));
        assert_eq!(rest(seconds(30), 99), LONGEST_REST);
        assert_eq!(
            rest(seconds(3_600), 1),
            seconds(3_600),
            "never more often than without failures"
        );
    }
}
