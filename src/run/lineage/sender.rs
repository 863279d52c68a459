//! Sends events to a URL one after another, in parallel with the run. Sending never delays the
//! builds, and delays the end of the run only for a limited time.

use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use pubdata_core::error::{Error, Result};
use pubdata_fetch::{Address, FetchSettings};

/// Maximum time for which a completed run waits for the delivery of its events.
const PATIENCE: Duration = Duration::from_secs(60);

/// Number of rejected events after which sending stops. A single rejected event may itself be
/// invalid; after several, the receiver is at fault.
const MAX_REFUSED: usize = 3;

pub(super) struct Sender {
    /// Unbounded, but limited in practice: each task and the run itself send at most two events of
    /// limited size.
    events: UnboundedSender<Vec<u8>>,
    sending: JoinHandle<Result<()>>,
}

impl Sender {
    /// Starts sending. Requires the runtime.
    pub(super) fn start(settings: FetchSettings, address: String) -> Self {
        let (events, waiting) = unbounded_channel();
        Self {
            events,
            sending: tokio::spawn(send_all(settings, address, waiting)),
        }
    }

    /// Queues an event.
    pub(super) fn send(&self, event: Vec<u8>) {
        // If the receiver has stopped, `finish` returns the reason.
        let _ = self.events.send(event);
    }

    /// Waits until all events are delivered.
    ///
    /// # Errors
    /// Returns `Fetch` if some events were not delivered, or not in time, and `Config` for a URL
    /// that cannot receive events.
    pub(super) async fn finish(self) -> Result<()> {
        let Self {
            events,
            mut sending,
        } = self;
        drop(events);
        match tokio::time::timeout(PATIENCE, &mut sending).await {
            Ok(Ok(sent)) => sent,
            Ok(Err(error)) => Err(Error::fetch(format!("sending ended: {error}"))),
            Err(_) => {
                sending.abort();
                Err(Error::fetch(format!(
                    "they were not all taken {} s after the run",
                    PATIENCE.as_secs()
                )))
            }
        }
    }
}

async fn send_all(
    settings: FetchSettings,
    address: String,
    mut events: UnboundedReceiver<Vec<u8>>,
) -> Result<()> {
    let address = Address::new(settings, &address)?;
    let (mut all, mut refused) = (0_usize, Vec::new());
    let mut unsent = 0_usize;
    while let Some(event) = events.recv().await {
        all += 1;
        if refused.len() == MAX_REFUSED {
            unsent += 1;
        } else if let Err(error) = address.send(Some(&event)).await {
            refused.push(error);
        }
    }
    match refused.into_iter().next() {
        None => Ok(()),
        Some(error) if unsent == 0 => Err(error.context(format!("some of {all} events"))),
        Some(error) => Err(error.context(format!(
            "{unsent} of {all} events were not sent after the first had failed"
        ))),
    }
}
