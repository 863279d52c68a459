//! Shares API keys and the event log among several servers. Each change creates new files in the
//! store. Every server copies the new files to its home and reads them there like local files.
//!
//! ```text
//! keys/<generation>.json       all keys after a change; ten digits; the highest number is current
//! stream/log/<first seq>.jsonl events of one batch; twenty digits; the next batch starts where this batch ends
//! ```

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use object_store::path::Path;

use super::events::Line;
use super::{Event, EventLog, EventTail, Home, Keys, REPLAY, SharedStore, files};
use pubdata_core::error::{Error, ErrorKind, IoExt, Result};

/// Maximum number of attempts to change the keys if concurrent changes interfere.
const TRIES: u32 = 20;
/// Number of batches to fetch concurrently when copying starts.
const FETCHED_AT_A_TIME: usize = 16;
/// Number of refreshes after which batches are listed again, because old batches may have been
/// deleted.
const POLLS_PER_LISTING: u32 = 60;
/// Maximum number of events in one file.
const EVENTS_AT_ONCE: usize = 1_000;
/// Age limit for copying. Batches that were written before the replay window are not copied.
const COPIED: SignedDuration = SignedDuration::from_hours(REPLAY.as_hours() + 1);

/// A copy of the shared files in a home.
pub struct Replica {
    store: SharedStore,
    /// The server's own home. Its keys are valid as long as the store has no keys.
    own: Home,
    copy: Home,
    generation: u64,
    log: Option<EventLog>,
    looks: u32,
}

impl Replica {
    /// Returns the copy of a store in a home; `None` if the store is the home itself.
    pub fn for_store(home: &Home, store: &SharedStore) -> Result<Option<Self>> {
        if store.is_home(home) {
            return Ok(None);
        }
        let copy = Self::home_of(home, store)?;
        Ok(Some(Self {
            store: store.clone(),
            own: home.clone(),
            copy,
            generation: 0,
            log: None,
            looks: 0,
        }))
    }

    /// Returns the home that contains a server's keys and event log: the home itself, or the copy
    /// inside it.
    pub fn home_of(home: &Home, store: &SharedStore) -> Result<Home> {
        if store.is_home(home) {
            Ok(home.clone())
        } else {
            Home::open(&home.state_dir().join("replica"))
        }
    }

    /// Copies whatever has changed in the store. After an error, the state is unchanged.
    pub async fn refresh(&mut self, now: Timestamp) -> Result<()> {
        let is_listed = self.looks.is_multiple_of(POLLS_PER_LISTING);
        self.looks = self.looks.wrapping_add(1);
        let keys = self.refresh_keys(is_listed).await;
        self.refresh_log(is_listed, now).await.and(keys)
    }

    async fn refresh_keys(&mut self, is_listed: bool) -> Result<()> {
        let mut newest = None;
        if is_listed {
            let generation = newest_generation(&self.store).await?;
            // A generation that was restored from a backup is used as well, even if it is older.
            if generation != self.generation && generation > 0 {
                newest = self
                    .store
                    .read(&keys_key(generation))
                    .await?
                    .map(|keys| (generation, keys));
            }
        } else {
            let mut generation = self.generation;
            while let Some(keys) = self.store.read(&keys_key(generation + 1)).await? {
                generation += 1;
                newest = Some((generation, keys));
            }
        }
        let path = self.copy.keys_file();
        match newest {
            Some((generation, keys)) => {
                if self.generation == 0 {
                    self.warn_of_invalid_keys(&keys);
                }
                super::write_file(&path, &keys)?;
                self.generation = generation;
            }
            None if self.generation == 0 => {
                let own = read_if_there(&self.own)?;
                if own != read_if_there(&self.copy)?
                    && let Some(own) = own
                {
                    super::write_file(&path, &own)?;
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Warns about keys in the home that are no longer valid because the store has keys that do not
    /// include them.
    fn warn_of_invalid_keys(&self, shared: &Bytes) {
        let ids = |keys: &Bytes| {
            Keys::parse(keys, "keys")
                .map(|file| {
                    file.keys
                        .into_iter()
                        .map(|key| key.id)
                        .collect::<BTreeSet<String>>()
                })
                .unwrap_or_default()
        };
        let own = read_if_there(&self.own)
            .ok()
            .flatten()
            .map(|own| ids(&own))
            .unwrap_or_default();
        let lost = own.difference(&ids(shared)).count();
        if lost > 0 {
            tracing::warn!(
                home = %self.own.root().display(),
                "{lost} API keys of this home are not valid: the store has keys, but not these; create them with `pubdata keys create --store {}`",
                self.store.url()
            );
        }
    }

    async fn refresh_log(&mut self, is_listed: bool, now: Timestamp) -> Result<()> {
        if self.log.is_none() {
            match EventLog::open(&self.copy, |_| {}) {
                Ok(log) => self.log = Some(log),
                // Another server that uses this home is copying the log.
                Err(error) if error.kind() == ErrorKind::Busy => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        let Some(mut log) = self.log.take() else {
            return Ok(());
        };
        // After a failure, the log is reopened, because it was taken out of `self`.
        if is_listed {
            catch_up(&self.store, &mut log, now).await?;
            log.prune(now)?;
        }
        while let Some(batch) = self.store.read(&batch_key(log.last_seq() + 1)).await? {
            log.replicate(events_of(&batch, log.last_seq() + 1)?)?;
        }
        self.log = Some(log);
        Ok(())
    }
}

/// Copies the batches that a log lacks. If the next batch was deleted, restarts with the first
/// batch that a reader may still request.
async fn catch_up(store: &SharedStore, log: &mut EventLog, now: Timestamp) -> Result<()> {
    let batches = batches(store).await?;
    let is_there = |seq: u64| batches.iter().any(|(first, _)| *first == seq);
    let next = log.last_seq() + 1;
    let Some((last, _)) = batches.last() else {
        return Ok(());
    };
    let mut pending: Vec<u64> = batches
        .iter()
        .map(|(first, _)| *first)
        .filter(|first| *first >= next)
        .collect();
    let is_other = *last < next
        && !is_there(next)
        && log.last_seq() > 0
        && !reaches(store, *last, log.last_seq()).await?;
    if (!pending.is_empty() && !is_there(next))
        || (log.last_seq() == 0 && next == 1 && pending.len() > FETCHED_AT_A_TIME)
        || is_other
    {
        pending = batches
            .iter()
            .filter(|(_, written)| now.duration_since(*written) <= COPIED)
            .map(|(first, _)| *first)
            .collect();
        match pending.first() {
            Some(first) => log.begin_at(*first)?,
            None => return Ok(()),
        }
    }
    let fetched = pending
        .into_iter()
        .map(|first| async move { Ok::<_, Error>((first, store.read(&batch_key(first)).await?)) });
    let mut fetched = stream::iter(fetched).buffered(FETCHED_AT_A_TIME);
    while let Some((first, batch)) = fetched.try_next().await? {
        // The batch was old and has been deleted since it was listed.
        let Some(batch) = batch else { continue };
        if first == log.last_seq() + 1 {
            log.replicate(events_of(&batch, first)?)?;
        }
    }
    Ok(())
}

/// Returns whether the store's last batch ends with the log's last event.
async fn reaches(store: &SharedStore, last_batch: u64, last_seq: u64) -> Result<bool> {
    let Some(batch) = store.read(&batch_key(last_batch)).await? else {
        return Ok(true);
    };
    Ok(events_of(&batch, last_batch)?
        .last()
        .is_some_and(|event| event.seq == last_seq))
}

/// Uploads a follower's log to the store, batch by batch.
pub struct SharedLog {
    store: SharedStore,
    tail: EventTail,
    /// Sequence number of the last event in the store.
    last_seq: u64,
}

impl SharedLog {
    /// Compares the store with a home's log. A home with fewer events, such as a new home, first
    /// copies the log from the store. Returns `None` if the store is the home itself.
    ///
    /// # Errors
    /// `Busy`, when another follower runs in the home; `Store`, when the store or the log cannot be
    /// read.
    pub async fn open(home: &Home, store: &SharedStore, now: Timestamp) -> Result<Option<Self>> {
        if store.is_home(home) {
            return Ok(None);
        }
        let mut last_seq = 0;
        if let Some((last, _)) = batches(store).await?.last()
            && let Some(batch) = store.read(&batch_key(*last)).await?
        {
            last_seq = events_of(&batch, *last)?
                .last()
                .map_or(0, |event| event.seq);
        }
        let mut log = EventLog::open(home, |_| {})?;
        if log.last_seq() < last_seq {
            catch_up(store, &mut log, now).await?;
        }
        Ok(Some(Self {
            store: store.clone(),
            tail: EventTail::new(home),
            last_seq,
        }))
    }

    /// Uploads the events that the follower has added.
    ///
    /// # Errors
    /// `Busy`, when another follower has uploaded different events; `Store`, when an upload fails.
    /// The next call repeats the upload.
    pub async fn push(&mut self) -> Result<()> {
        let mut tail = self.tail.clone();
        let events: Vec<Event> = tail
            .read()?
            .into_iter()
            .filter(|event| event.seq > self.last_seq)
            .collect();
        for batch in events.chunks(EVENTS_AT_ONCE) {
            let (first, last) = (batch[0].seq, batch[batch.len() - 1].seq);
            let lines: Vec<u8> = batch
                .iter()
                .flat_map(|event| Line::Event(Box::new(event.clone())).bytes())
                .collect();
            if self
                .store
                .create(&batch_key(first), lines.into())
                .await?
                .is_some()
            {
                return Err(Error::new(
                    ErrorKind::Busy,
                    format!(
                        "another follower has written event {first} to {}",
                        self.store.url()
                    ),
                )
                .hint("one `pubdata follow` per store is enough: stop this one, or the other"));
            }
            self.last_seq = last;
        }
        self.tail = tail;
        Ok(())
    }

    /// Deletes batches that are past the retention period of the follower's log.
    pub async fn prune(&self, now: Timestamp) -> Result<()> {
        let kept = super::events::KEPT;
        for (first, _) in batches(&self.store)
            .await?
            .into_iter()
            .filter(|(_, written)| now.duration_since(*written) > kept)
        {
            self.store.delete(&batch_key(first)).await?;
        }
        Ok(())
    }
}

/// Number of key changes that this process has started.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Changes the keys of a home, or of the shared store.
///
/// # Errors
/// The errors of the change; `Store`, when the keys cannot be read or written; `Busy`, when
/// concurrent changes interfere repeatedly.
pub async fn change_keys<T>(
    home: &Home,
    store: &SharedStore,
    change: impl Fn(&Keys) -> Result<T>,
) -> Result<T> {
    if store.is_home(home) {
        return change(&Keys::open(home));
    }
    for _ in 0..TRIES {
        let (generation, before) = shared_keys(home, store).await?;
        // Each change uses a separate file, because this process may be making other changes at the
        // same time.
        let aside =
            home.scratch_of_process(&format!("keys-{}", CHANGES.fetch_add(1, Ordering::Relaxed)))?;
        if let Some(before) = before {
            super::write_file(&aside.keys_file(), &before)?;
        }
        let changed =
            change(&Keys::open(&aside)).and_then(|outcome| Ok((outcome, read_if_there(&aside)?)));
        aside.remove()?;
        let (outcome, after) = changed?;
        let after = after.ok_or_else(|| Error::store("the changed keys are gone"))?;
        if store
            .create(&keys_key(generation + 1), after)
            .await?
            .is_none()
        {
            return Ok(outcome);
        }
    }
    Err(Error::new(ErrorKind::Busy, "other processes keep changing the keys").hint("try again"))
}

/// Returns the keys and invitations of a home, or of the shared store.
pub async fn list_keys(
    home: &Home,
    store: &SharedStore,
) -> Result<(Vec<super::ApiKey>, Vec<super::Invitation>)> {
    let file = if store.is_home(home) {
        Keys::open(home).read()?
    } else {
        match shared_keys(home, store).await?.1 {
            Some(keys) => Keys::parse(&keys, &format!("keys of {}", store.url()))?,
            None => return Ok((Vec::new(), Vec::new())),
        }
    };
    Ok((file.keys, file.invitations))
}

/// Returns the store's newest keys and their generation. If the store has no keys, returns the
/// home's keys and generation 0.
async fn shared_keys(home: &Home, store: &SharedStore) -> Result<(u64, Option<Bytes>)> {
    match newest_generation(store).await? {
        0 => Ok((0, read_if_there(home)?)),
        generation => Ok((generation, store.read(&keys_key(generation)).await?)),
    }
}

async fn newest_generation(store: &SharedStore) -> Result<u64> {
    let files = store.list(&Path::from("keys")).await?;
    Ok(files
        .iter()
        .filter_map(|file| number_of(&file.key, ".json"))
        .max()
        .unwrap_or(0))
}

fn read_if_there(home: &Home) -> Result<Option<Bytes>> {
    let path = home.keys_file();
    match files::read_file(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        read => read.map(|bytes| Some(bytes.into())).at("read", &path),
    }
}

/// Returns the batches in a store's log in order, each as the first sequence number and the time of
/// writing.
async fn batches(store: &SharedStore) -> Result<Vec<(u64, Timestamp)>> {
    let files = store.list(&Path::from("stream/log")).await?;
    Ok(files
        .iter()
        .filter_map(|file| Some((number_of(&file.key, ".jsonl")?, file.modified)))
        .collect())
}

/// Parses the events in a batch. The first event must have the sequence number `first`.
fn events_of(batch: &Bytes, first: u64) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    for line in batch.split_inclusive(|byte| *byte == b'\n') {
        match serde_json::from_slice(line) {
            Ok(Line::Event(event)) if event.seq == first + events.len() as u64 => {
                events.push(*event);
            }
            _ => {
                return Err(Error::store(format!("{}: line {} is not the event that follows", batch_key(first), events.len() + 1))
                    .hint("stop `follow`, delete stream/log in the store, and start it: it uploads its log again"));
            }
        }
    }
    Ok(events)
}

fn number_of(key: &str, ending: &str) -> Option<u64> {
    key.rsplit('/').next()?.strip_suffix(ending)?.parse().ok()
}

fn keys_key(generation: u64) -> Path {
    Path::from(format!("keys/{generation:010}.json"))
}

fn batch_key(first: u64) -> Path {
    Path::from(format!("stream/log/{first:020}.jsonl"))
}
