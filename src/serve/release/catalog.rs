//! Decides which release answers a request. The channel's present release is held in memory and replaced in one step, so that a
//! request sees the old one or the new one; earlier releases are loaded when asked for, once for all who ask at the same time,
//! and the least recently used are dropped.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;
use jiff::{Timestamp, civil::Date};
use tokio::sync::{OnceCell, watch};

use crate::contract::Contracts;
use crate::error::{Error, Result};
use crate::ids::ReleaseId;
use crate::serve::release::loaded::{Load, Release};
use crate::serve::release::part_cache::PartCache;
use crate::store::{ChannelEntry, Manifest, Releases};

/// The releases of one channel.
pub struct Catalog {
    releases: Releases,
    parts: Arc<PartCache>,
    contracts: Arc<Contracts>,
    loads: Vec<Load>,
    channel: String,
    current: ArcSwapOption<Current>,
    /// Whether the channel has been looked at since the start.
    has_looked: watch::Sender<bool>,
    history: tokio::sync::Mutex<Option<(u64, Arc<Vec<ChannelEntry>>)>>,
    retained: Mutex<Vec<(ReleaseId, Slot)>>,
    retained_limit: usize,
    /// One at a time: loading takes memory and processor from those who are answered.
    loading: tokio::sync::Semaphore,
}

type Slot = Arc<OnceCell<Arc<Release>>>;

struct Current {
    generation: u64,
    release: Arc<Release>,
}

/// Which release a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    Current,
    Release(ReleaseId),
    /// The newest release that the channel had at the end of that day, UTC.
    AsOf(Date),
}

/// Why a request has no release to be answered from.
#[derive(Debug)]
pub enum NotServed {
    /// There is none, or none any more; with the parameter that asked for it.
    Missing { parameter: Option<&'static str>, detail: String },
    /// It cannot be read.
    Failed(Error),
}

impl NotServed {
    fn missing(parameter: &'static str, detail: String) -> Self {
        Self::Missing { parameter: Some(parameter), detail }
    }
}

impl From<Error> for NotServed {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Catalog {
    pub fn new(parts: Arc<PartCache>, contracts: Arc<Contracts>, loads: Vec<Load>, channel: &str, retained_limit: usize) -> Self {
        Self {
            releases: parts.releases().clone(),
            loads,
            parts,
            contracts,
            channel: channel.to_owned(),
            current: ArcSwapOption::empty(),
            has_looked: watch::Sender::new(false),
            history: tokio::sync::Mutex::new(None),
            retained: Mutex::new(Vec::new()),
            retained_limit,
            loading: tokio::sync::Semaphore::new(1),
        }
    }

    pub fn channel(&self) -> &str {
        &self.channel
    }

    pub fn releases(&self) -> &Releases {
        &self.releases
    }

    /// The release that requests are answered from now.
    pub fn current(&self) -> Option<Arc<Release>> {
        self.current.load().as_ref().map(|current| current.release.clone())
    }

    /// Looks at the channel and, when it has moved, loads its release beside the present one and swaps. Returns the new id.
    ///
    /// # Errors
    /// `Store`, when channel or release cannot be read; the present release stays.
    pub async fn refresh(&self) -> Result<Option<ReleaseId>> {
        let outcome = self.follow().await;
        self.has_looked.send_replace(true);
        outcome
    }

    async fn follow(&self) -> Result<Option<ReleaseId>> {
        let Some(entry) = self.releases.channel(&self.channel).await? else { return Ok(None) };
        let current = self.current.load_full();
        if current.as_ref().is_some_and(|current| current.generation == entry.generation) {
            return Ok(None);
        }
        let release = match &current {
            Some(current) if current.release.manifest.release_id == entry.release_id => current.release.clone(),
            _ => match self.take_retained(&entry.release_id) {
                Some(release) => release,
                None => Arc::new(Release::load(&self.parts, &self.contracts, &self.loads, &entry.release_id).await?),
            },
        };
        let manifests: Vec<&Manifest> =
            std::iter::once(&*release).chain(current.as_ref().map(|current| &*current.release)).map(|release| &release.manifest).collect();
        self.parts.forget_all_but(&manifests);
        self.current.store(Some(Arc::new(Current { generation: entry.generation, release })));
        Ok(Some(entry.release_id))
    }

    /// Returns the release a request asks for.
    ///
    /// # Errors
    /// Says what is missing, when there is no such release (any more), or why it cannot be read.
    pub async fn resolve(&self, wanted: &Wanted) -> std::result::Result<Arc<Release>, NotServed> {
        if !*self.has_looked.borrow() {
            // While the first release is being loaded its absence would be a lie; the request's time limit bounds the wait.
            let _ = self.has_looked.subscribe().wait_for(|has_looked| *has_looked).await;
        }
        let current = self.current().ok_or_else(|| {
            let detail = format!("channel `{}` has no release that can be served yet; `pubdata run` publishes one, and this server picks it up", self.channel);
            NotServed::Missing { parameter: None, detail }
        })?;
        let id = match wanted {
            Wanted::Current => return Ok(current),
            Wanted::Release(id) => id.clone(),
            Wanted::AsOf(date) => self.as_of(*date).await?,
        };
        if id == current.manifest.release_id {
            return Ok(current);
        }
        if !self.history().await?.iter().any(|entry| entry.release_id == id) {
            return Err(NotServed::missing("release", format!("channel `{}` never had a release {id}", self.channel)));
        }
        self.retained(&id).await
    }

    async fn as_of(&self, date: Date) -> std::result::Result<ReleaseId, NotServed> {
        let history = self.history().await?;
        let day_of = |entry: &ChannelEntry| entry.moved_at.parse::<Timestamp>().ok().map(|moved| moved.to_zoned(jiff::tz::TimeZone::UTC).date());
        let newest = history.iter().rev().find(|entry| day_of(entry).is_some_and(|day| day <= date));
        newest.map(|entry| entry.release_id.clone()).ok_or_else(|| {
            let first = history.first().map(|entry| entry.moved_at.as_str()).unwrap_or_default();
            let message = format!("channel `{}` had no release on {date}; its first is of {first}", self.channel);
            NotServed::missing("as_of", message)
        })
    }

    /// The channel's moves, read again when it has moved.
    async fn history(&self) -> Result<Arc<Vec<ChannelEntry>>> {
        let generation = self.current.load().as_ref().map_or(0, |current| current.generation);
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

    async fn retained(&self, id: &ReleaseId) -> std::result::Result<Arc<Release>, NotServed> {
        let exists = self.releases.exists(id).await?;
        if !exists {
            return Err(NotServed::missing("release", format!("release {id} is no longer kept")));
        }
        let load = || async {
            let _turn = self.loading.acquire().await.map_err(|error| Error::store(error.to_string()))?;
            Release::load(&self.parts, &self.contracts, &self.loads, id).await.map(Arc::new)
        };
        Ok(self.slot(id).get_or_try_init(load).await?.clone())
    }

    /// The slot of a release, moved to the end of the list; the list's first is the next to go.
    fn slot(&self, id: &ReleaseId) -> Slot {
        let mut slots = self.retained.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = match slots.iter().position(|(known, _)| known == id) {
            Some(index) => slots.remove(index).1,
            None => Slot::default(),
        };
        slots.push((id.clone(), slot.clone()));
        let surplus = slots.len().saturating_sub(self.retained_limit.max(1));
        slots.drain(..surplus);
        slot
    }

    fn take_retained(&self, id: &ReleaseId) -> Option<Arc<Release>> {
        let slots = self.retained.lock().unwrap_or_else(PoisonError::into_inner);
        slots.iter().find(|(known, _)| known == id).and_then(|(_, slot)| slot.get().cloned())
    }
}
