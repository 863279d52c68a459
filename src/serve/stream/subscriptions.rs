//! Tracks the subscriptions of one socket and how far each subscription has been served. It stores
//! only event numbers; the events are in the ring.

use crate::sec::forms::misspelled;
use crate::sec::tables::SecTables;
use jiff::Timestamp;

use crate::http::problem::{Code, Problem, Result};
use crate::stream::Stream;
use crate::stream::filter::Filter;
use crate::stream::frames;
use crate::stream::frames::{MAX_ID, ServerFrame, Subscribe};

/// Maximum number of subscriptions of one socket.
pub const MAX_SUBSCRIPTIONS: usize = 10;
/// Maximum number of messages that are sent, and of events that are scanned, before the server
/// reads from the client again.
const MESSAGES: usize = 64;
const SCANNED: usize = 4_096;

/// Subscriptions of a socket, with their progress.
#[derive(Debug, Default)]
pub struct Subscriptions {
    all: Vec<Subscription>,
    /// Generation and log number of the ring with which the tickers were resolved.
    generation: u64,
    log: u64,
}

#[derive(Debug)]
struct Subscription {
    id: String,
    filter: Filter,
    /// Number of the next event to consider.
    next_seq: u64,
    /// Number of the newest event when the subscription was made; 0 if it belongs to an earlier
    /// log.
    replay_to: u64,
}

impl Subscriptions {
    /// Adds a subscription and returns the answer.
    pub fn add(&mut self, request: Subscribe, stream: &Stream) -> Result<Vec<String>> {
        let refuse =
            |code: Code, field: &str, message: &str| Err(Problem::of_field(code, field, message));
        if !(1..=MAX_ID).contains(&request.id.len()) {
            return refuse(
                Code::InvalidParameter,
                "id",
                &format!("`id` has 1 to {MAX_ID} characters"),
            );
        }
        if self.all.iter().any(|known| known.id == request.id) {
            return refuse(
                Code::InvalidParameter,
                "id",
                "a subscription with this `id` already exists; unsubscribe it first",
            );
        }
        if self.all.len() == MAX_SUBSCRIPTIONS {
            return refuse(
                Code::InvalidParameter,
                "id",
                &format!("a socket has at most {MAX_SUBSCRIPTIONS} subscriptions"),
            );
        }
        let since: Option<Timestamp> = match request.since.as_deref().map(str::parse).transpose() {
            Ok(since) => since,
            Err(_) => {
                return refuse(
                    Code::InvalidParameter,
                    "since",
                    "`since` is not an instant such as 2026-01-15T12:00:00Z",
                );
            }
        };
        if since.is_some() && request.since_seq.is_some() {
            return refuse(
                Code::InvalidParameter,
                "since",
                "give `since_seq` or `since`, not both",
            );
        }
        if let Some(message) = request.filters.forms.iter().find_map(|form| {
            misspelled(&stream.service.contracts, &form.trim().to_ascii_uppercase())
        }) {
            return refuse(
                Code::InvalidParameter,
                "filters.forms",
                &format!("`forms`: {message}"),
            );
        }
        let mut filter = match Filter::read(request.filters) {
            Ok(filter) => filter,
            Err((field, message)) => {
                return refuse(
                    Code::InvalidParameter,
                    &format!("filters.{field}"),
                    &format!("`{field}`: {message}"),
                );
            }
        };
        let release = stream.service.catalog.current();
        let registrants = release
            .as_ref()
            .and_then(|release| SecTables::registrants_of(release));
        if filter.has_tickers() && registrants.is_none() {
            let message = "`tickers`: no release with tickers is served; use `ciks`";
            return refuse(Code::CoverageUnavailable, "filters.tickers", message);
        }
        let unknown = filter.resolve(registrants);
        let ring = stream.ring();
        let (head, oldest) = (ring.head(), ring.oldest());
        let next_seq = match (request.since_seq, since) {
            (Some(seq), _) if seq > head => {
                let message = format!(
                    "`since_seq` {seq} is not in this log, which ends with {head}; the log may have been started again: subscribe with `since`"
                );
                return refuse(Code::InvalidParameter, "since_seq", &message);
            }
            (Some(seq), _) => seq + 1,
            (None, Some(since)) => ring.first_since(since),
            (None, None) => head + 1,
        };
        let mut answer = vec![frames::subscribed(
            &request.id,
            next_seq.max(oldest),
            &unknown,
        )];
        // A time does not determine an event number, so only the end of the gap is known.
        let is_from_before = since.is_some_and(|since| {
            ring.from(oldest)
                .next()
                .is_none_or(|first| since < first.seen_at)
        });
        if is_from_before && oldest > 1 && next_seq == oldest {
            answer.push(
                ServerFrame::Gap {
                    id: &request.id,
                    from_seq: None,
                    to_seq: oldest - 1,
                }
                .text(),
            );
        } else if next_seq < oldest {
            answer.push(
                ServerFrame::Gap {
                    id: &request.id,
                    from_seq: Some(next_seq),
                    to_seq: oldest - 1,
                }
                .text(),
            );
        }
        if self.all.is_empty() {
            (self.generation, self.log) = (ring.generation(), ring.log());
        }
        drop(ring);
        self.all.push(Subscription {
            id: request.id,
            filter,
            next_seq: next_seq.max(oldest),
            replay_to: head,
        });
        Ok(answer)
    }

    /// Ends a subscription and returns the answer.
    ///
    /// # Errors
    /// No subscription has this id.
    pub fn remove(&mut self, id: &str) -> Result<Vec<String>> {
        let count = self.all.len();
        self.all.retain(|known| known.id != id);
        if self.all.len() == count {
            return Err(Problem::of_field(
                Code::InvalidParameter,
                "id",
                "there is no subscription with this `id`",
            ));
        }
        Ok(vec![ServerFrame::Unsubscribed { id }.text()])
    }

    /// Returns the number of the event up to which every subscription has been served, or `None` if
    /// the socket has no subscriptions.
    pub fn served_through(&self) -> Option<u64> {
        self.all
            .iter()
            .map(|subscription| subscription.next_seq - 1)
            .min()
    }

    /// Returns the next messages in the order of their events, and whether more events remain. An
    /// event that matches several subscriptions is sent as one message. A subscription that replays
    /// the past catches up with the others first.
    pub fn next_messages(&mut self, stream: &Stream) -> (Vec<String>, bool) {
        let Some(served_through) = self.served_through() else {
            return (Vec::new(), false);
        };
        let ring = stream.ring();
        if self.generation != ring.generation() {
            let is_other_log = self.log != ring.log();
            (self.generation, self.log) = (ring.generation(), ring.log());
            let release = stream.service.catalog.current();
            let registrants = release
                .as_ref()
                .and_then(|release| SecTables::registrants_of(release));
            for subscription in &mut self.all {
                subscription.filter.resolve(registrants);
                // A log that was started again has smaller event numbers.
                subscription.next_seq = subscription.next_seq.min(ring.head() + 1);
                if is_other_log {
                    subscription.replay_to = 0;
                }
            }
        }
        let mut messages = Vec::new();
        for subscription in self
            .all
            .iter_mut()
            .filter(|subscription| subscription.next_seq < ring.oldest())
        {
            let gap = ServerFrame::Gap {
                id: &subscription.id,
                from_seq: Some(subscription.next_seq),
                to_seq: ring.oldest() - 1,
            };
            messages.push(gap.text());
            subscription.next_seq = ring.oldest();
        }
        let mut next = ring.head() + 1;
        for (count, item) in ring.from(served_through + 1).enumerate() {
            if messages.len() >= MESSAGES || count == SCANNED {
                next = item.seq;
                break;
            }
            let wanting: Vec<&Subscription> = self
                .all
                .iter()
                .filter(|subscription| {
                    subscription.next_seq <= item.seq && subscription.filter.matches(item)
                })
                .collect();
            if !wanting.is_empty() {
                let ids: Vec<&str> = wanting
                    .iter()
                    .map(|subscription| subscription.id.as_str())
                    .collect();
                let is_replay = wanting
                    .iter()
                    .any(|subscription| item.seq <= subscription.replay_to);
                match &item.data {
                    Some(data) => messages.push(frames::event(item, data, &ids, is_replay)),
                    None => messages.extend(ids.iter().map(|id| {
                        ServerFrame::Gap {
                            id,
                            from_seq: Some(item.seq),
                            to_seq: item.seq,
                        }
                        .text()
                    })),
                }
            }
        }
        for subscription in &mut self.all {
            subscription.next_seq = subscription.next_seq.max(next);
        }
        (messages, next <= ring.head())
    }

    /// Returns the number of events, matching or not, from the last event served to every
    /// subscription to the newest event. The result is 0 if the socket has no subscriptions.
    pub fn lag(&self, stream: &Stream) -> u64 {
        self.served_through().map_or(0, |served_through| {
            stream.ring().head().saturating_sub(served_through)
        })
    }

    /// Reports whether more than `queue` matching events wait that arrived after their subscription
    /// was made. Replayed events do not count, because they wait in the log.
    pub fn is_behind(&self, stream: &Stream, queue: usize) -> bool {
        if self.lag(stream) <= queue as u64 {
            return false;
        }
        let ring = stream.ring();
        let first = self
            .all
            .iter()
            .map(|subscription| subscription.next_seq.max(subscription.replay_to + 1))
            .min()
            .unwrap_or_default();
        let is_selected = |subscription: &Subscription, seq: u64| {
            subscription.next_seq <= seq && seq > subscription.replay_to
        };
        let waiting = ring.from(first).filter(|item| {
            self.all.iter().any(|subscription| {
                is_selected(subscription, item.seq) && subscription.filter.matches(item)
            })
        });
        waiting.take(queue + 1).count() > queue
    }
}
