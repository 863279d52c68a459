//! Serves `WS /v1/stream`: pushes filings to matching subscriptions as the follower logs them, and
//! replays filings from the last three days on request. One task tails the log into a ring that all
//! sockets share. A socket holds positions in the ring but no queue, so a slow reader costs no
//! memory. The stream only reads the log and never contacts a publisher.

pub(crate) mod asyncapi;
pub(crate) mod filter;
pub(crate) mod frames;
mod item;
mod members;
mod ring;
mod session;
mod sockets;
mod subscriptions;
mod tail;
mod upgrade;

use std::sync::{Arc, RwLock};

use tokio::sync::watch;

pub use tail::tail;
pub use upgrade::upgrade;

use crate::http::metrics::StreamNumbers;
use crate::http::service::Service;
use crate::sec::links::Links;
use pubdata_core::error::Result;
use pubdata_store::{EventTail, Home};
use ring::Ring;
use sockets::Sockets;

/// State that all sockets share.
pub struct Stream {
    ring: RwLock<Ring>,
    /// Number of the ring's last event, and the ring's generation.
    head: watch::Sender<(u64, u64)>,
    /// True when the server is about to stop.
    stop: watch::Sender<bool>,
    pub sockets: Arc<Sockets>,
    reader: tokio::sync::Mutex<Reader>,
    service: Arc<Service>,
    links: Links,
}

/// Position in the log, and the release whose data completed the events.
struct Reader {
    home: Home,
    tail: EventTail,
    release_id: Option<pubdata_core::ids::ReleaseId>,
}

impl Stream {
    /// Creates a stream over the log in a home. The log is not read yet.
    pub fn new(service: Arc<Service>) -> Result<Self> {
        let home = service.shared.clone();
        Ok(Self {
            ring: RwLock::default(),
            head: watch::Sender::new((0, 0)),
            stop: watch::Sender::new(false),
            sockets: Arc::new(Sockets::new(service.settings.limits.stream_sockets)),
            reader: tokio::sync::Mutex::new(Reader {
                tail: EventTail::new(&home),
                home,
                release_id: None,
            }),
            links: Links::from_contracts(&service.contracts),
            service,
        })
    }

    /// Asks all sockets to reconnect after the restart, and closes the sockets.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Returns the stream's numbers for `/metrics`.
    pub fn numbers(&self) -> StreamNumbers {
        let ring = self.ring();
        StreamNumbers {
            sockets: self.sockets.open(),
            last_seq: ring.head(),
            events: ring.len(),
            bytes: ring.size_bytes(),
        }
    }

    fn ring(&self) -> std::sync::RwLockReadGuard<'_, Ring> {
        self.ring
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
