//! Decides which release answers a request. The channel's current release is held in memory and
//! replaced in one step, so a request sees either the old or the new release. Earlier releases are
//! loaded on request, one at a time. All requests for the same release share its load; requests for
//! another earlier release receive an error and must retry. If memory is short, the least recently
//! used release is dropped.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwapOption;
use jiff::{Timestamp, civil::Date};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::release::loaded::{Load, Release};
use crate::release::manifests::Manifests;
use crate::release::part_cache::PartCache;
use crate::release::release_unavailable::ReleaseUnavailable;
use crate::release::retained::{Loading, Retained, resident_bytes};
use pubdata_core::contract::Contracts;
use pubdata_core::error::{Error, Result};
use pubdata_core::ids::ReleaseId;
use pubdata_store::{ChannelEntry, Manifest, Releases, StaleTasks};

/// Number of polls after which the full history of the channel is read once.
const POLLS_PER_LISTING: u64 = 30;

/// The releases of one channel.
pub struct Catalog {
    releases: Releases,
    parts: Arc<PartCache>,
    contracts: Arc<Contracts>,
    loads: Arc<[Load]>,
    channel: String,
    current: ArcSwapOption<Current>,
    /// Last logged error about the stale flags.
    unreadable: Mutex<Option<String>>,
    /// True once the channel has been polled after startup.
    has_looked: watch::Sender<bool>,
    looks: AtomicU64,
    history: tokio::sync::Mutex<Option<(u64, Arc<Vec<ChannelEntry>>)>>,
    pub manifests: Manifests,
    retained: Arc<Mutex<Retained>>,
    /// Allows one load at a time: loading takes memory and processor time from running requests.
    loading: Arc<Semaphore>,
}

struct Current {
    entry: ChannelEntry,
    stale_tasks: Option<StaleTasks>,
    release: Arc<Release>,
}

/// Release that a request selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseSelector {
    Current,
    Release(ReleaseId),
    /// The newest release of the channel at the end of the given day, UTC.
    AsOf(Date),
}

impl Catalog {
    pub fn new(
        parts: Arc<PartCache>,
        contracts: Arc<Contracts>,
        loads: Vec<Load>,
        channel: &str,
        retained_bytes: usize,
    ) -> Self {
        let releases = parts.releases().clone();
        Self {
            manifests: Manifests::new(releases.clone()),
            releases,
            loads: loads.into(),
            parts,
            contracts,
            channel: channel.to_owned(),
            current: ArcSwapOption::empty(),
            unreadable: Mutex::default(),
            has_looked: watch::Sender::new(false),
            looks: AtomicU64::new(0),
            history: tokio::sync::Mutex::new(None),
            retained: Arc::new(Mutex::new(Retained::new(retained_bytes))),
            loading: Arc::new(Semaphore::new(1)),
        }
    }

    pub fn channel(&self) -> &str {
        &self.channel
    }

    pub fn releases(&self) -> &Releases {
        &self.releases
    }

    /// Returns the release that answers current requests.
    pub fn current(&self) -> Option<Arc<Release>> {
        self.current
            .load()
            .as_ref()
            .map(|current| current.release.clone())
    }

    /// Polls the channel. If it points to a new release, loads that release next to the current one
    /// and swaps them; otherwise updates the stale flags. Returns the new id.
    ///
    /// # Errors
    /// `Store` if the channel or the release cannot be read; the current release stays in use.
    /// Unreadable stale flags are logged and do not stop the release from being served.
    pub async fn refresh(&self) -> Result<Option<ReleaseId>> {
        let outcome = self.follow().await;
        self.has_looked.send_replace(true);
        outcome
    }

    async fn follow(&self) -> Result<Option<ReleaseId>> {
        let current = self.current.load_full();
        let Some(entry) = self
            .present_entry(current.as_ref().map(|current| &current.entry))
            .await?
        else {
            return Ok(None);
        };
        // A release is usable without these flags; the last known flags stay in effect.
        let stale_tasks = match self.releases.stale_tasks(&self.channel).await {
            Ok(stale_tasks) => {
                self.log_unreadable_marks(None);
                stale_tasks
            }
            Err(error) => {
                self.log_unreadable_marks(Some(&error));
                current
                    .as_ref()
                    .and_then(|current| current.stale_tasks.clone())
            }
        };
        if let Some(known) = current
            .as_ref()
            .filter(|current| current.entry.generation == entry.generation)
        {
            let release = self.intact(known.release.clone()).await?;
            if known.stale_tasks != stale_tasks {
                let release = Arc::new(release.marked(stale_tasks.as_ref()));
                self.current.store(Some(Arc::new(Current {
                    entry: entry.clone(),
                    stale_tasks,
                    release,
                })));
            }
            return Ok(None);
        }
        let release = match &current {
            Some(current) if current.release.manifest.release_id == entry.release_id => {
                current.release.clone()
            }
            _ => match self.take_retained(&entry.release_id) {
                Some(release) => release,
                None => self.load_current(&entry.release_id).await?,
            },
        };
        let manifests: Vec<&Manifest> = std::iter::once(&*release)
            .chain(current.as_ref().map(|current| &*current.release))
            .map(|release| &release.manifest)
            .collect();
        self.parts.retain_copies(&manifests);
        let release = Arc::new(release.marked(stale_tasks.as_ref()));
        self.current.store(Some(Arc::new(Current {
            entry: entry.clone(),
            stale_tasks,
            release,
        })));
        if let Some(previous) =
            current.filter(|previous| previous.release.manifest.release_id != entry.release_id)
        {
            self.lock_retained().keep_previous(previous.release.clone());
        }
        Ok(Some(entry.release_id))
    }

    /// Returns the channel's current entry. Requests only the next move, which is one small
    /// request. Occasionally lists all moves, to detect a move that was reverted manually.
    async fn present_entry(&self, known: Option<&ChannelEntry>) -> Result<Option<ChannelEntry>> {
        let is_listed = self
            .looks
            .fetch_add(1, Ordering::Relaxed)
            .is_multiple_of(POLLS_PER_LISTING);
        match known.filter(|_| !is_listed) {
            Some(known) => Ok(Some(
                self.releases
                    .channel_after(&self.channel, known.generation)
                    .await?
                    .unwrap_or_else(|| known.clone()),
            )),
            None => self.releases.channel(&self.channel).await,
        }
    }

    /// Logs once that the stale flags cannot be read.
    fn log_unreadable_marks(&self, error: Option<&Error>) {
        let text =
            error.map(|error| format!("{error} ({})", error.hint_text().unwrap_or_default()));
        let mut reported = self
            .unreadable
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = text.as_ref().filter(|text| reported.as_ref() != Some(text)) {
            tracing::warn!(
                "cannot read which tasks are stale: answers use the last known marks, or the age of the files alone: {text}"
            );
        }
        *reported = text;
    }

    /// Returns the release that a request selects.
    pub async fn resolve(
        &self,
        selector: &ReleaseSelector,
    ) -> std::result::Result<Arc<Release>, ReleaseUnavailable> {
        if !*self.has_looked.borrow() {
            // Until the first poll has finished, an answer that the release is missing could be
            // wrong. The request's time limit bounds the wait.
            let _ = self
                .has_looked
                .subscribe()
                .wait_for(|has_looked| *has_looked)
                .await;
        }
        let current = self.current().ok_or_else(|| {
            let detail = format!("channel `{}` has no release that can be served yet; `pubdata run` publishes one, and this server picks it up", self.channel);
            ReleaseUnavailable::Missing { parameter: None, detail }
        })?;
        let id = match selector {
            ReleaseSelector::Current => return Ok(current),
            ReleaseSelector::Release(id) => id.clone(),
            ReleaseSelector::AsOf(date) => self.as_of(*date).await?,
        };
        if id == current.manifest.release_id {
            return Ok(current);
        }
        if !self
            .history()
            .await?
            .iter()
            .any(|entry| entry.release_id == id)
        {
            return Err(ReleaseUnavailable::missing(
                "release",
                format!("channel `{}` never had a release {id}", self.channel),
            ));
        }
        self.retained(&id).await
    }

    async fn as_of(&self, date: Date) -> std::result::Result<ReleaseId, ReleaseUnavailable> {
        let history = self.history().await?;
        let day_of = |entry: &ChannelEntry| {
            entry
                .moved_at
                .parse::<Timestamp>()
                .ok()
                .map(|moved| moved.to_zoned(jiff::tz::TimeZone::UTC).date())
        };
        let newest = history
            .iter()
            .rev()
            .find(|entry| day_of(entry).is_some_and(|day| day <= date));
        newest.map(|entry| entry.release_id.clone()).ok_or_else(|| {
            let first = history
                .first()
                .map(|entry| entry.moved_at.as_str())
                .unwrap_or_default();
            let message = format!(
                "channel `{}` had no release on {date}; its first release is from {first}",
                self.channel
            );
            ReleaseUnavailable::missing("as_of", message)
        })
    }

    /// Returns the manifest of an earlier release of the channel without loading its tables, or
    /// `None` for the current release.
    pub async fn earlier(
        &self,
        parameter: &'static str,
        id: &ReleaseId,
        present: &Release,
    ) -> std::result::Result<Option<Arc<Manifest>>, ReleaseUnavailable> {
        if *id == present.manifest.release_id {
            return Ok(None);
        }
        if !self
            .history()
            .await?
            .iter()
            .any(|entry| entry.release_id == *id)
        {
            return Err(ReleaseUnavailable::missing(
                parameter,
                format!(
                    "channel `{}` never had a release {id}; /v1/releases lists those it had",
                    self.channel
                ),
            ));
        }
        let manifest = self.manifests.manifest(id).await?;
        let gone = || {
            ReleaseUnavailable::missing(
                parameter,
                format!("release {id} is no longer kept; /v1/releases says which are"),
            )
        };
        manifest.map(Some).ok_or_else(gone)
    }

    /// Returns the channel's moves, oldest first. Reads them again only after the channel has
    /// moved.
    pub async fn history(&self) -> Result<Arc<Vec<ChannelEntry>>> {
        let generation = self
            .current
            .load()
            .as_ref()
            .map_or(0, |current| current.entry.generation);
        let mut known = self.history.lock().await;
        if let Some((of, history)) = known.as_ref()
            && *of == generation
        {
            return Ok(history.clone());
        }
        let history = self.releases.channel_history(&self.channel).await?;
        let history = Arc::new(history);
        *known = Some((generation, history.clone()));
        Ok(history)
    }

    /// Loads the release that the channel points to. Its memory use is the measure for earlier
    /// releases. If the channel moved back to its previous release, only the manifest is read
    /// again, so a rollback is fast.
    async fn load_current(&self, id: &ReleaseId) -> Result<Arc<Release>> {
        let previous = self.lock_retained().previous(id);
        if let Some(previous) = previous {
            let release = Arc::new(previous.again(&self.parts).await?);
            let (releases, again) = (self.releases.clone(), release.clone());
            tokio::spawn(async move {
                if let Err(error) = releases.prefetch(&again.manifest).await {
                    tracing::warn!(
                        "cannot fetch the parts of release {} to disk: {error}",
                        again.manifest.release_id
                    );
                }
            });
            return Ok(release);
        }
        let _turn = self
            .loading
            .acquire()
            .await
            .map_err(|error| Error::store(error.to_string()))?;
        // Parts that are not on disk after this call are fetched on demand.
        let fetched = match self.releases.manifest(id).await {
            Ok(manifest) => self.releases.prefetch(&manifest).await,
            Err(error) => Err(error),
        };
        if let Err(error) = fetched {
            tracing::warn!("cannot fetch the parts of release {id} to disk: {error}");
        }
        let before = resident_bytes();
        let release = Arc::new(Release::load(&self.parts, &self.contracts, &self.loads, id).await?);
        if self.current.load().is_none() {
            self.lock_retained().measure(
                &release.manifest,
                before
                    .zip(resident_bytes())
                    .map(|(before, after)| after.saturating_sub(before)),
            );
        }
        Ok(release)
    }

    /// Returns the release with readable indexes. Loads the release again if its index files
    /// changed while it was served.
    pub async fn intact(&self, release: Arc<Release>) -> Result<Arc<Release>> {
        if release.is_intact() {
            return Ok(release);
        }
        let _turn = self
            .loading
            .acquire()
            .await
            .map_err(|error| Error::store(error.to_string()))?;
        let id = &release.manifest.release_id;
        let current = self
            .current
            .load_full()
            .filter(|current| current.release.manifest.release_id == *id);
        // A concurrent request may have loaded the release already.
        let known = current
            .as_ref()
            .map(|current| current.release.clone())
            .or_else(|| self.take_retained(id));
        if let Some(known) = known.filter(|known| known.is_intact()) {
            return Ok(known);
        }
        tracing::warn!(
            "an index file of release {id} changed while it was served: the release is loaded again"
        );
        let loaded = Release::load(&self.parts, &self.contracts, &self.loads, id).await?;
        let Some(current) = current else {
            let loaded = Arc::new(loaded);
            self.lock_retained().end(id, Some(&loaded));
            return Ok(loaded);
        };
        let loaded = Arc::new(loaded.marked(current.stale_tasks.as_ref()));
        let (entry, stale_tasks) = (current.entry.clone(), current.stale_tasks.clone());
        // The channel may have moved in the meantime.
        self.current.compare_and_swap(
            &Some(current),
            Some(Arc::new(Current {
                entry,
                stale_tasks,
                release: loaded.clone(),
            })),
        );
        Ok(loaded)
    }

    async fn retained(
        &self,
        id: &ReleaseId,
    ) -> std::result::Result<Arc<Release>, ReleaseUnavailable> {
        let waiting = {
            let mut retained = self.lock_retained();
            if let Some(release) = retained.get(id) {
                return Ok(release);
            }
            match (
                retained.loading(id),
                self.loading.clone().try_acquire_owned(),
            ) {
                (Some(waiting), _) => waiting,
                (None, Err(_)) => {
                    return Err(ReleaseUnavailable::Busy(format!(
                        "another release is being loaded: request release {id} again in a moment"
                    )));
                }
                (None, Ok(turn)) => {
                    let (sender, waiting) = watch::channel(None);
                    retained.begin(id, waiting.clone());
                    // Runs as a separate task, so that the load continues for the next client if
                    // this client disconnects.
                    tokio::spawn(self.load_retained(id.clone(), turn, sender));
                    waiting
                }
            }
        };
        outcome(waiting, id).await
    }

    /// Loads an earlier release, notifies the waiting requests, and retains the release.
    fn load_retained(
        &self,
        id: ReleaseId,
        turn: OwnedSemaphorePermit,
        sender: watch::Sender<Loading>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (parts, contracts, loads, retained) = (
            self.parts.clone(),
            self.contracts.clone(),
            self.loads.clone(),
            self.retained.clone(),
        );
        async move {
            let outcome = load_kept(&parts, &contracts, &loads, &id, &retained).await;
            let mut retained = retained.lock().unwrap_or_else(PoisonError::into_inner);
            retained.end(&id, outcome.as_ref().ok());
            drop(turn);
            sender.send_replace(Some(outcome));
        }
    }

    fn lock_retained(&self) -> MutexGuard<'_, Retained> {
        self.retained.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_retained(&self, id: &ReleaseId) -> Option<Arc<Release>> {
        self.lock_retained().get(id)
    }
}

async fn load_kept(
    parts: &Arc<PartCache>,
    contracts: &Contracts,
    loads: &[Load],
    id: &ReleaseId,
    retained: &Mutex<Retained>,
) -> std::result::Result<Arc<Release>, ReleaseUnavailable> {
    if !parts.releases().exists(id).await? {
        return Err(ReleaseUnavailable::missing(
            "release",
            format!("release {id} is no longer kept"),
        ));
    }
    let previous = retained
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .previous(id);
    if let Some(previous) = previous {
        return Ok(Arc::new(previous.again(parts).await?));
    }
    let manifest = parts.releases().manifest(id).await?;
    retained
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .make_room(&manifest);
    Ok(Arc::new(Release::load(parts, contracts, loads, id).await?))
}

/// Waits for the outcome of a release load that is in progress.
async fn outcome(
    mut waiting: watch::Receiver<Loading>,
    id: &ReleaseId,
) -> std::result::Result<Arc<Release>, ReleaseUnavailable> {
    let outcome = waiting
        .wait_for(Option::is_some)
        .await
        .map(|outcome| outcome.clone());
    outcome
        .ok()
        .flatten()
        .unwrap_or_else(|| Err(Error::store(format!("loading release {id} broke off")).into()))
}
