//! Fetches one file of a source, from its publisher, a manual import, or the local snapshots. Stops
//! sending requests to a host that keeps failing.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

use futures_util::FutureExt;

use super::fetch_target::{Fetched, NEW, REUSED, UNCHANGED};
use super::manual_import::{imported, imported_or_due, is_manual, stands};
use crate::observer::SharedObserver;
use crate::settings::RunSettings;
use pubdata_core::error::{Error, ErrorKind, Result};
use pubdata_core::provenance::Snapshot;
use pubdata_fetch::{Fetcher, Outcome, Request, recorded_url};

/// Number of failures after which no more requests are sent to a host in the same run.
const FAILURES_PER_HOST: usize = 3;

/// Maximum length of a failure message, in characters.
const MAX_CHARACTERS: usize = 1_000;

/// Fetches the files of sources, using the method that each source declares.
pub(super) struct SourceFetcher<'a> {
    settings: &'a RunSettings,
    pub(crate) fetcher: &'a Fetcher,
    observer: &'a SharedObserver,
    /// Number of failures by host.
    failures: std::sync::Mutex<BTreeMap<String, usize>>,
    /// Time at which the first file of each pipeline was requested.
    started: std::sync::Mutex<BTreeMap<String, Instant>>,
}

impl<'a> SourceFetcher<'a> {
    pub(crate) fn new(
        settings: &'a RunSettings,
        fetcher: &'a Fetcher,
        observer: &'a SharedObserver,
    ) -> Self {
        Self {
            settings,
            fetcher,
            observer,
            failures: std::sync::Mutex::default(),
            started: std::sync::Mutex::default(),
        }
    }

    /// Returns true if files must have their minimum size. Samples are exempt, and local files were
    /// checked when they were fetched.
    pub(super) fn is_held_to_floors(&self) -> bool {
        !self.settings.is_offline && !self.fetcher.is_sample()
    }

    /// Forces a file that cannot be read to be fetched in full next time, instead of only checking
    /// whether it changed, because it may have been damaged in transit. Does nothing offline.
    pub(crate) fn doubt(&self, snapshot: &Snapshot) -> Result<()> {
        if self.settings.is_offline {
            Ok(())
        } else {
            self.fetcher.snapshots().forget(snapshot)
        }
    }

    /// Fetches a file within its pipeline's remaining time, so that a slow publisher cannot delay
    /// the others. The bytes received in that time are kept, and the next run resumes after them.
    async fn fetch_in_time(&self, request: &Request) -> Result<Outcome> {
        let pipeline_id = self
            .settings
            .declarations
            .source(&request.source_id)
            .map_or("", |(owner, _)| &owner.pipeline_id);
        let deadline = self.settings.fetch.pipeline_deadline;
        let now = self.settings.fetch.clock.instant();
        let started = *self
            .started
            .lock()
            .expect("nothing panics while holding it")
            .entry(pipeline_id.to_owned())
            .or_insert(now);
        let left = deadline.saturating_sub(now.saturating_duration_since(started));
        let too_late = |_| {
            self.observer.finished();
            Err(Error::fetch(format!("the files of {pipeline_id} took longer than {} minutes", deadline.as_secs().div_ceil(60)))
                .hint("the next run resumes where this one ended; `--fetch-minutes` allows more time for slow publishers"))
        };
        let fetched =
            AssertUnwindSafe(self.fetcher.fetch(request, &**self.observer)).catch_unwind();
        let fetched = async {
            fetched.await.unwrap_or_else(|_| {
                Err(Error::fetch(
                    "reading the server's response failed with a defect",
                ))
            })
        };
        tokio::time::timeout(left, fetched)
            .await
            .unwrap_or_else(too_late)
    }

    /// Fetches a file. Returns the result and the outcome to report.
    pub(super) async fn fetch_one(&self, request: &Request) -> Result<(Fetched, &'static str)> {
        let host = host_of(&request.url).to_owned();
        let failures = || {
            self.failures
                .lock()
                .expect("nothing panics while holding it")
                .get(&host)
                .copied()
                .unwrap_or(0)
        };
        let fetched = if self.settings.is_offline && request.bundled.is_none() {
            let known = self
                .fetcher
                .snapshots()
                .known(&request.source_id, &recorded_url(&request.url)?);
            known.map_or(Fetched::Absent, |snapshot| {
                Fetched::Snapshots(vec![snapshot])
            })
        } else if self
            .settings
            .declarations
            .source(&request.source_id)
            .is_some_and(|(_, source)| is_manual(self.settings, source))
        {
            imported_or_due(self.settings, request)?
        } else if failures() >= FAILURES_PER_HOST {
            Fetched::Failed(format!(
                "not asked: {host} failed {FAILURES_PER_HOST} times in this run"
            ))
        } else {
            let imported = imported(self.fetcher.snapshots(), request)?;
            let answer = self.fetch_in_time(request).await;
            // A failure of the local disk affects every file alike, and no publisher is to blame
            // for it.
            if answer
                .as_ref()
                .is_err_and(|error| error.kind() == ErrorKind::Store)
            {
                return answer.map(|_| (Fetched::Absent, Fetched::Absent.word()));
            }
            if let Some(imported) = imported.filter(|imported| stands(imported, &answer)) {
                self.fetcher.keep_imported(&imported)?;
                self.observer.on_fetched(&imported.url, UNCHANGED);
                return Ok((Fetched::Snapshots(vec![imported]), UNCHANGED));
            }
            match answer {
                Ok(Outcome::New(snapshot)) => {
                    self.observer.on_fetched(&snapshot.url, NEW);
                    return Ok((Fetched::Snapshots(vec![snapshot]), NEW));
                }
                Ok(Outcome::Reused(snapshot)) => {
                    self.observer.on_fetched(&snapshot.url, REUSED);
                    return Ok((Fetched::Snapshots(vec![snapshot]), REUSED));
                }
                Ok(Outcome::Unchanged(snapshot)) => Fetched::Snapshots(vec![snapshot]),
                Ok(Outcome::Absent) => Fetched::Absent,
                Ok(Outcome::NotConfigured { variable }) => Fetched::NotConfigured(variable),
                Err(error) => {
                    *self
                        .failures
                        .lock()
                        .expect("nothing panics while holding it")
                        .entry(host)
                        .or_insert(0) += 1;
                    let text = cut(without_places(&error.to_string(), request)?);
                    Fetched::Failed(
                        error
                            .hint_text()
                            .map_or_else(|| text.clone(), |hint| format!("{text} ({hint})")),
                    )
                }
            }
        };
        let outcome = fetched.word();
        self.observer.on_fetched(&request.url, outcome);
        Ok((fetched, outcome))
    }
}

/// Removes the source and URL from a failure message, because callers prepend them.
fn without_places(text: &str, request: &Request) -> Result<String> {
    let url = recorded_url(&request.url)?;
    let text = text
        .strip_prefix(&format!("source `{}`: ", request.source_id))
        .unwrap_or(text);
    Ok(text
        .strip_prefix(&format!("{url}: "))
        .unwrap_or(text)
        .to_owned())
}

/// Limits the length of a message, because it may quote a server's response, and the ledger keeps
/// it.
fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_CHARACTERS) {
        text.truncate(end);
        text.push('…');
    }
    text
}

fn host_of(url: &str) -> &str {
    url.split_once("://")
        .map_or("", |(_, rest)| rest.split('/').next().unwrap_or_default())
}
