//! Follows a publisher's feeds of new filings: asks them in turn, tells what is new from what is
//! known, and writes it to the event log. Every filing is logged once, what becomes known of it
//! later as updates; the index of each day shows what the feeds missed. Builds nothing, publishes
//! nothing, and runs beside `run` and `serve`.

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

/// After failures a feed is left alone for longer and longer, but not longer than this.
const LONGEST_REST: Duration = Duration::from_secs(600);

/// What a follower works with.
pub struct FollowSettings {
    pub home: Home,
    /// Where servers of other machines find what the follower logs; the home itself, where no other
    /// is named.
    pub store: SharedStore,
    pub declarations: Declarations,
    pub fetch: FetchSettings,
    /// Days whose index is read whether or not it is due.
    pub days: Vec<Date>,
}

/// What became of asking one feed, or one day's index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PollReport {
    /// The feed that was asked.
    pub feed: Feed,
    /// The day of an index, `YYYY-MM-DD`; null for a feed.
    #[schemars(extend("format" = "date"))]
    pub day: Option<String>,
    /// What came of it.
    #[schemars(extend("enum" = ["read", "unchanged", "absent", "failed"]))]
    pub outcome: &'static str,
    /// Why it failed, or is not all that was wanted; null otherwise.
    pub detail: Option<String>,
    /// Entries or rows that were read.
    pub entries: usize,
    /// Filings among them.
    pub filings: usize,
    /// Filings that were not known.
    pub new_filings: usize,
    /// Known filings of which more is known now.
    pub updates: usize,
    /// Entries that cannot be read and were not known as such.
    pub findings: usize,
}

/// What one round over all feeds did: `pubdata follow --once`; without `--once` nothing is printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FollowReport {
    /// Every feed and index that was asked.
    pub polls: Vec<PollReport>,
    /// Number of the log's last event; 0 if it has none.
    pub last_seq: u64,
}

/// Asks every feed once.
///
/// # Errors
/// `Busy`, when another follower is at work; `Config`, when the feeds are not declared as they must
/// be; `Store`, when the log fails. A feed that fails is told in the report.
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

/// Asks each feed again and again until `stop` ends. Between two events nothing is lost by being
/// killed.
///
/// # Errors
/// As [`once`]. A feed that fails is asked again, less and less often.
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
                    // The index of a holiday never comes, and is asked for again for some days.
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
                // One follower too many is a mistake; a store that is away is asked again with the
                // next feed.
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

/// How long a feed is left alone after so many failures in a row.
fn rest(interval: Duration, failures: u32) -> Duration {
    if failures == 0 {
        return interval;
    }
    interval
        .saturating_mul(1_u32.checked_shl(failures).unwrap_or(u32::MAX))
        .min(LONGEST_REST.max(interval))
}

/// Logs what is worth a line.
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
            tracing::info!(feed, day, entries, new_filings, updates, "{outcome} {feed}")
        }
        _ => tracing::debug!(feed, entries, "{outcome} {feed}"),
    }
}

/// Whether a failure is the publisher's, or of what came, rather than ours.
fn is_of_feed(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Fetch | ErrorKind::Format)
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_REST, rest};
    use std::time::Duration;

    #[test]
    fn a_feed_that_fails_is_left_alone_for_longer_and_longer() {
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
