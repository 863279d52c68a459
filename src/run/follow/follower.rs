//! Polls the feeds and the daily indexes, and logs unknown filings. If a feed fails, its report
//! describes the failure and the other feeds are not affected.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::civil::{Date, Weekday};
use jiff::{Timestamp, ToSpan};

use super::known_filings::KnownFilings;
use super::settings::{Feeds, PolledSource};
use super::{FollowSettings, PollReport, is_of_feed};
use pubdata_build::datasets::{Context, FeedEntry, FeedPage, Reading, read_feed};
use pubdata_core::error::{Error, ErrorKind, Result};
use pubdata_core::issue::{Issue, Severity};
use pubdata_core::pipeline::{Declarations, expand};
use pubdata_core::provenance::{Inputs, Snapshot};
use pubdata_fetch::{FetchSettings, Fetcher, NoProgress, Outcome, Request};
use pubdata_store::{
    EventKind, EventLog, Feed, Findings, FollowState, Home, Reconciled, Snapshots,
};

/// The event log with the known filings, and the feeds.
pub struct Follower {
    home: Home,
    declarations: Declarations,
    feeds: Feeds,
    fetch: FetchSettings,
    fetcher: Fetcher,
    log: EventLog,
    known: KnownFilings,
    findings: Findings,
    state: FollowState,
}

/// Result of fetching a file.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
enum Answer {
    Read(Snapshot, FeedPage),
    Unchanged,
    Absent,
}

impl Follower {
    /// Opens the log of a home without sending any requests.
    ///
    /// # Errors
    /// Returns the same errors as [`super::once`].
    pub fn open(settings: FollowSettings) -> Result<Self> {
        let FollowSettings {
            home,
            declarations,
            fetch,
            ..
        } = settings;
        let feeds = Feeds::from_declarations(&declarations)?;
        let mut known = KnownFilings::default();
        let log = EventLog::open(&home, |event| known.note(event))?;
        // The scratch folder is emptied at the start, because the feeds that it contains may not
        // have been logged.
        let fetcher = Fetcher::new(fetch.clone(), Snapshots::open(&home.scratch("follow")?)?)?;
        let mut state = FollowState::read(&home)?;
        if state.started_on.is_empty() {
            state.started_on = feeds.zone.civil(fetch.clock.now()).date().to_string();
            state.write(&home)?;
        }
        Ok(Self {
            findings: Findings::open(&home)?,
            home,
            declarations,
            feeds,
            fetch,
            fetcher,
            log,
            known,
            state,
        })
    }

    /// Returns the sequence number of the log's last event.
    pub fn last_seq(&self) -> u64 {
        self.log.last_seq()
    }

    /// Returns the polling interval of a feed.
    pub(super) fn interval(&self, feed: Feed) -> Duration {
        match feed {
            Feed::Getcurrent => self.feeds.current.polled.every,
            Feed::Rss => self.feeds.xbrl.every,
            Feed::DailyIndex => self.feeds.index.polled.every,
        }
    }

    /// Polls a feed. The feed of current filings is read page by page until a page ends with a
    /// known filing. The other feed contains filings with financial data.
    ///
    /// # Errors
    /// Returns `Store` if the log fails. A failure of the feed is described in the report.
    pub async fn poll(&mut self, feed: Feed) -> Result<PollReport> {
        let requested_at = self.now();
        let mut report = empty_report(feed, None);
        let outcome = if feed == Feed::Getcurrent {
            self.read_pages(&mut report).await
        } else {
            self.read_xbrl(&mut report).await
        };
        let outcome = match outcome {
            Ok(Some((url, seen))) => {
                report.outcome = "read";
                self.take(&mut report, seen, &url)
            }
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        self.conclude(report, outcome, requested_at)
    }

    /// Reads a daily index and logs the filings that the feeds missed.
    ///
    /// # Errors
    /// Returns `Store` if the log fails. A failure to read the index is described in the report.
    pub async fn reconcile(&mut self, day: Date) -> Result<PollReport> {
        let requested_at = self.now();
        let mut report = empty_report(Feed::DailyIndex, Some(day));
        let index = &self.feeds.index;
        let (polled, value) = (index.polled.clone(), index.file_of(day)?);
        let outcome = match self.ask(&polled, Some(&value), Reading::Index).await {
            Ok(Answer::Read(snapshot, seen)) => {
                report.outcome = "read";
                self.take(&mut report, seen, &snapshot.url)
            }
            Ok(Answer::Unchanged | Answer::Absent) => Ok(()),
            Err(error) => Err(error),
        };
        if outcome.is_ok() && report.outcome == "read" {
            let reconciled = Reconciled {
                at: requested_at.to_string(),
                filings: report.filings,
                missed: report.new_filings,
            };
            self.state.reconciled.insert(day.to_string(), reconciled);
        }
        self.conclude(report, outcome, requested_at)
    }

    /// Returns the days whose index should exist but has not been read. The first day is the day on
    /// which the log began, unless the declared limit for looking back is later.
    pub fn days_due(&self) -> Vec<Date> {
        let now = self.feeds.zone.civil(self.now());
        let started_on: Date = self.state.started_on.parse().unwrap_or(now.date());
        let index = &self.feeds.index;
        let first = now
            .date()
            .saturating_sub(i64::from(index.look_back_days).days())
            .max(started_on);
        let is_business =
            |day: &Date| !matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday);
        let is_out = |day: &Date| now >= day.saturating_add(1.day()).at(index.from_hour, 0, 0, 0);
        let is_known = |day: &Date| self.state.reconciled.contains_key(&day.to_string());
        first
            .series(1.day())
            .take_while(|day| *day < now.date())
            .filter(|day| is_business(day) && is_out(day) && !is_known(day))
            .collect()
    }

    /// Deletes events whose retention period has passed.
    ///
    /// # Errors
    /// Returns `Store` if the log fails.
    pub fn prune(&mut self) -> Result<()> {
        if let Some(seq) = self.log.prune(self.now())? {
            self.known.drop_until(seq);
        }
        Ok(())
    }

    pub(super) fn now(&self) -> Timestamp {
        self.fetch.clock.now()
    }

    /// Reads all new pages, with the newest entries first. Returns `None` if there is nothing to
    /// read.
    ///
    /// Nothing is logged until the last page has been read. Otherwise, a newer known filing would
    /// hide older unknown filings in the next poll.
    async fn read_pages(&self, report: &mut PollReport) -> Result<Option<(String, FeedPage)>> {
        let paged = self.feeds.current.clone();
        let mut all = FeedPage::default();
        let mut url = None;
        for page in 0..paged.max_pages {
            let start = (page * paged.page_entries).to_string();
            let seen = match self
                .ask(&paged.polled, Some(&start), Reading::Current)
                .await?
            {
                Answer::Read(snapshot, seen) => {
                    url.get_or_insert(snapshot.url);
                    seen
                }
                Answer::Unchanged | Answer::Absent => break,
            };
            let is_end = seen.entries.len() + seen.issues.len() < paged.page_entries as usize;
            let is_overlapping = seen
                .entries
                .last()
                .is_some_and(|oldest| self.is_known(oldest));
            all.entries.extend(seen.entries);
            all.issues.extend(seen.issues);
            if is_end || is_overlapping {
                break;
            }
            if page + 1 == paged.max_pages && self.last_seq() > 0 {
                report.detail = Some(format!(
                    "{} pages did not reach what is known; the index of the day will show what is missing",
                    paged.max_pages
                ));
            }
        }
        Ok(url.map(|url| (url, all)))
    }

    async fn read_xbrl(&self, report: &mut PollReport) -> Result<Option<(String, FeedPage)>> {
        match self.ask(&self.feeds.xbrl, None, Reading::Xbrl).await? {
            Answer::Read(snapshot, seen) => Ok(Some((snapshot.url, seen))),
            Answer::Absent => Ok(None),
            Answer::Unchanged => {
                report.outcome = "unchanged";
                Ok(None)
            }
        }
    }

    fn is_known(&self, entry: &FeedEntry) -> bool {
        self.known.knows(entry.accession_number)
            || self.log.forgotten().contains(&entry.accession_number)
    }

    /// Fetches and reads a file of a source without keeping the file's bytes.
    async fn ask(
        &self,
        polled: &PolledSource,
        value: Option<&str>,
        reading: Reading,
    ) -> Result<Answer> {
        let source = &polled.source;
        let keys: BTreeMap<String, String> = source
            .on_demand
            .iter()
            .cloned()
            .zip(value.map(str::to_owned))
            .collect();
        let request = Request {
            source_id: source.source_id.clone(),
            url: expand(&source.url, &keys)?,
            source_version: expand(&source.source_version, &keys)?,
            source_date: None,
            is_archive: false,
            is_json: false,
            is_page: false,
            min_bytes: source.min_bytes,
            max_bytes: source.max_bytes,
            bundled: None,
            redirects: source.redirects.clone(),
            app_token: source.app_token.clone(),
            stated: None,
            keys,
        };
        let snapshot = match self.fetcher.fetch(&request, &NoProgress).await? {
            Outcome::New(snapshot) => snapshot,
            Outcome::Unchanged(_) | Outcome::Reused(_) => return Ok(Answer::Unchanged),
            Outcome::Absent => return Ok(Answer::Absent),
            Outcome::NotConfigured { variable } => {
                return Err(Error::config(format!("{variable} is not set")));
            }
        };
        let snapshots = self.fetcher.snapshots().clone();
        let (declarations, zone, source_id) = (
            self.declarations.clone(),
            self.feeds.zone.clone(),
            source.source_id.clone(),
        );
        let read = move || {
            let declaration = declarations
                .source(&source_id)
                .map(|(declaration, _)| declaration)
                .ok_or_else(|| Error::config("the source is not declared"))?;
            let locate = |snapshot: &Snapshot| snapshots.path(snapshot);
            let context = Context::new(
                &declarations,
                declaration,
                None,
                Inputs::new(vec![snapshot.clone()]),
                &locate,
                None,
            );
            let seen = read_feed(&context, &source_id, reading, &zone);
            // Keeps the file of the XBRL feed in order to detect changes. Files that could not be
            // read, and pages of a list, are always fetched again.
            let is_kept = seen.is_ok() && reading == Reading::Xbrl;
            if !is_kept {
                snapshots.forget(&snapshot)?;
            }
            for stored in snapshots.all()?.iter().filter(|stored| {
                stored.source_id == source_id && !(is_kept && stored.sha256 == snapshot.sha256)
            }) {
                snapshots.remove(stored)?;
            }
            seen.map(|seen| Answer::Read(snapshot, seen))
        };
        tokio::task::spawn_blocking(read)
            .await
            .unwrap_or_else(|error| {
                Err(Error::store(format!("reading a feed was stopped: {error}")))
            })
    }

    /// Logs new filings, oldest first.
    fn take(&mut self, report: &mut PollReport, seen: FeedPage, url: &str) -> Result<()> {
        report.entries = seen.entries.len() + seen.issues.len();
        let mut numbers: Vec<_> = seen
            .entries
            .iter()
            .map(|entry| entry.accession_number)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        report.filings = numbers.len();
        let mut entries = seen.entries;
        if report.feed != Feed::DailyIndex {
            entries.reverse();
        }
        let events = self
            .known
            .events(entries, self.log.forgotten(), report.feed, url);
        for event in self.log.append(events, self.fetch.clock.now())? {
            match event.event {
                EventKind::Filing => report.new_filings += 1,
                EventKind::Update => report.updates += 1,
            }
            self.known.note(event);
        }
        report.findings = self.findings.add(seen.issues)?;
        Ok(())
    }

    /// Records the result of polling a feed. A failure of the feed does not cause the follower to
    /// fail.
    fn conclude(
        &mut self,
        mut report: PollReport,
        outcome: Result<()>,
        requested_at: Timestamp,
    ) -> Result<PollReport> {
        let state = self.state.feeds.entry(report.feed).or_default();
        state.requested_at = Some(requested_at.to_string());
        match outcome {
            Ok(()) => {
                if report.outcome != "absent" {
                    state.read_at = Some(requested_at.to_string());
                    state.failure = None;
                }
            }
            Err(error) if is_of_feed(error.kind()) => {
                report.outcome = "failed";
                report.detail = Some(
                    error
                        .hint_text()
                        .map_or_else(|| error.to_string(), |hint| format!("{error} ({hint})")),
                );
                state.failure.clone_from(&report.detail);
                if error.kind() == ErrorKind::Format {
                    report.findings = self
                        .findings
                        .add(vec![unreadable_feed(report.feed, &error)])?;
                }
            }
            Err(error) => return Err(error),
        }
        self.state.write(&self.home)?;
        Ok(report)
    }
}

fn unreadable_feed(feed: Feed, error: &Error) -> Issue {
    Issue {
        code: "feed_unreadable".to_owned(),
        severity: Severity::Block,
        dataset_id: "stream.filing".to_owned(),
        record: Some(feed.name().to_owned()),
        detail: error.to_string(),
        source_text: None,
        pointer: None,
    }
}

fn empty_report(feed: Feed, day: Option<Date>) -> PollReport {
    PollReport {
        feed,
        day: day.map(|day| day.to_string()),
        outcome: "absent",
        detail: None,
        entries: 0,
        filings: 0,
        new_filings: 0,
        updates: 0,
        findings: 0,
    }
}
