//! Reads the events that the follower logs into the ring. A new release or another log rebuilds the
//! ring.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::stream::Stream;
use crate::stream::item::Item;
use crate::stream::ring::IsOtherLog;
use pubdata_core::error::{Error, Result};
use pubdata_store::{EventTail, REPLAY};

/// Interval at which the log is read. The follower requests the feeds every few seconds at most.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Follows the log for as long as the server runs.
pub async fn tail(stream: Arc<Stream>) {
    let mut interval = tokio::time::interval(POLL_INTERVAL);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut last_failure = String::new();
    loop {
        interval.tick().await;
        let failure = match stream.look().await {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        if !failure.is_empty() && failure != last_failure {
            tracing::error!("cannot follow the event log: {failure}");
        }
        last_failure = failure;
    }
}

impl Stream {
    /// Reads new events from the log. If the release has changed, every event is completed again
    /// with data from the new release.
    pub async fn look(self: &Arc<Self>) -> Result<()> {
        let mut reader = self.reader.lock().await;
        let release = self.service.catalog.current();
        let release_id = release
            .as_ref()
            .map(|release| release.manifest.release_id.clone());
        let is_other_release = reader.release_id != release_id;
        let fresh = EventTail::new(&reader.home);
        let kept = std::mem::replace(&mut reader.tail, fresh.clone());
        let mut tail = if is_other_release { fresh } else { kept };
        // If reading fails, the next attempt reads everything again.
        reader.release_id = None;
        let from = self
            .service
            .now()
            .saturating_sub(REPLAY)
            .unwrap_or(Timestamp::MIN);
        let shared = self.clone();
        let read = move || {
            let events = tail.read()?;
            let items = events
                .into_iter()
                .map(|event| {
                    Item::from_event(
                        event,
                        release.as_deref(),
                        &shared.service.contracts,
                        &shared.links,
                    )
                })
                .filter(|item| item.seen_at >= from);
            Ok::<_, Error>((items.map(Arc::new).collect::<Vec<_>>(), tail))
        };
        let read = tokio::task::spawn_blocking(read).await;
        let (items, tail) = read.unwrap_or_else(|error| {
            Err(Error::store(format!(
                "reading the event log was stopped: {error}"
            )))
        })?;
        reader.tail = tail;
        reader.release_id = release_id;
        let Some(head) = reader.tail.last_seq() else {
            return Ok(());
        };
        let mut ring = self
            .ring
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        // After a release change, the entire log is read again.
        let is_from_before =
            !is_other_release && items.first().is_some_and(|first| first.seq <= ring.head());
        let is_other_log = head < ring.head() || is_from_before;
        if is_other_release || is_other_log || !ring.is_open() {
            *ring = ring.anew(items, head, IsOtherLog(is_other_log));
        } else {
            ring.extend(items, head);
        }
        ring.trim(from, self.service.settings.limits.stream_bytes);
        let generation = ring.generation();
        drop(ring);
        self.head.send_if_modified(|known| {
            let is_new = *known != (head, generation);
            *known = (head, generation);
            is_new
        });
        Ok(())
    }
}
