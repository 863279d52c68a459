//! Brings events to an address one after the other, beside the run: it waits for nobody while it
//! builds, and only so long when it has ended.

use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use pubdata_core::error::{Error, Result};
use pubdata_fetch::{Address, FetchSettings};

/// How long a run that has ended waits for its events to be taken.
const PATIENCE: Duration = Duration::from_secs(60);

/// Events that are refused before no other is sent: one may be at fault itself, several are the
/// address.
const MOST_REFUSED: usize = 3;

pub(super) struct Sender {
    /// Two for each task and for the run: their number has a bound, and what is told of each, too.
    events: UnboundedSender<Vec<u8>>,
    sending: JoinHandle<Result<()>>,
}

impl Sender {
    /// Begins. Needs the runtime.
    pub(super) fn start(settings: FetchSettings, address: String) -> Self {
        let (events, waiting) = unbounded_channel();
        Self {
            events,
            sending: tokio::spawn(send_all(settings, address, waiting)),
        }
    }

    /// Gives it one more.
    pub(super) fn send(&self, event: Vec<u8>) {
        // Who no longer listens says at the end why.
        let _ = self.events.send(event);
    }

    /// Waits until all are taken.
    ///
    /// # Errors
    /// `Fetch`, when some were not, or not in time; `Config`, when the address is none that is told
    /// anything.
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
        if refused.len() == MOST_REFUSED {
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
