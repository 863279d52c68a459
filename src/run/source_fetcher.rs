//! Asks for one file of a source: of its publisher, of a person, or of what is here already. A host that keeps failing is asked no more.

use std::collections::BTreeMap;

use super::by_hand::{fetched_by_hand, imported, is_by_hand, stands};
use super::wanted::Fetched;
use super::{RunSettings, SharedObserver};
use crate::error::Result;
use crate::fetch::{Fetcher, Outcome, Request, recorded_url};

/// A host that failed this often is not asked again in the same run.
const FAILURES_PER_HOST: usize = 3;

/// Asks for the files of sources, each by the way that its source has.
pub(super) struct SourceFetcher<'a> {
    settings: &'a RunSettings,
    pub(super) fetcher: &'a Fetcher,
    observer: &'a SharedObserver,
    /// By host.
    failures: std::sync::Mutex<BTreeMap<String, usize>>,
}

impl<'a> SourceFetcher<'a> {
    pub(super) fn new(settings: &'a RunSettings, fetcher: &'a Fetcher, observer: &'a SharedObserver) -> Self {
        Self { settings, fetcher, observer, failures: std::sync::Mutex::default() }
    }

    /// What became of a file, and whether its bytes are new.
    pub(super) async fn fetch_one(&self, request: &Request) -> Result<(Fetched, bool)> {
        let host = host_of(&request.url).to_owned();
        let failures = || self.failures.lock().expect("nothing panics while holding it").get(&host).copied().unwrap_or(0);
        let fetched = if self.settings.is_offline && request.bundled.is_none() {
            let known = self.fetcher.snapshots().known(&request.source_id, &recorded_url(&request.url)?);
            known.map_or(Fetched::Absent, |snapshot| Fetched::Snapshots(vec![snapshot]))
        } else if self.settings.declarations.source(&request.source_id).is_some_and(|(_, source)| is_by_hand(self.settings, source)) {
            fetched_by_hand(self.settings, request)?
        } else if failures() >= FAILURES_PER_HOST {
            Fetched::Failed(format!("not asked: {host} failed {FAILURES_PER_HOST} times in this run"))
        } else {
            let imported = imported(self.fetcher.snapshots(), request)?;
            let answer = self.fetcher.fetch(request, &**self.observer).await;
            if let Some(imported) = imported.filter(|imported| stands(imported, &answer)) {
                self.fetcher.keep_imported(&imported)?;
                self.observer.fetched(&imported.url, "unchanged");
                return Ok((Fetched::Snapshots(vec![imported]), false));
            }
            match answer {
                Ok(Outcome::New(snapshot)) => {
                    self.observer.fetched(&snapshot.url, "new");
                    return Ok((Fetched::Snapshots(vec![snapshot]), true));
                }
                Ok(Outcome::Unchanged(snapshot)) => Fetched::Snapshots(vec![snapshot]),
                Ok(Outcome::Absent) => Fetched::Absent,
                Ok(Outcome::NotConfigured { variable }) => Fetched::NotConfigured(variable),
                Err(error) => {
                    *self.failures.lock().expect("nothing panics while holding it").entry(host).or_insert(0) += 1;
                    let text = without_places(&error.to_string(), request)?;
                    Fetched::Failed(error.way_out().map_or_else(|| text.clone(), |hint| format!("{text} ({hint})")))
                }
            }
        };
        self.observer.fetched(&request.url, fetched.word());
        Ok((fetched, false))
    }
}

/// What went wrong with a file, without its names: whoever tells of it says first which file it is.
fn without_places(text: &str, request: &Request) -> Result<String> {
    let url = recorded_url(&request.url)?;
    let text = text.strip_prefix(&format!("source `{}`: ", request.source_id)).unwrap_or(text);
    Ok(text.strip_prefix(&format!("{url}: ")).unwrap_or(text).to_owned())
}

fn host_of(url: &str) -> &str {
    url.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or_default())
}
