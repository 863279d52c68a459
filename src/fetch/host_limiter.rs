//! Limits concurrent transfers and requests per second for each host. Requests to this machine are
//! not limited unless a rate is set for it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Clock, FetchSettings, MAX_REQUESTS_PER_SECOND};

/// Limits on transfers and requests per second for each host.
pub(super) struct HostLimiter {
    hosts: Mutex<HashMap<String, Arc<Host>>>,
    requests_per_second: f64,
    host_requests_per_second: BTreeMap<String, f64>,
    transfers_per_host: usize,
    clock: Arc<dyn Clock>,
}

struct Host {
    transfers: Arc<Semaphore>,
    /// Interval between two requests; `None` if the rate is not limited.
    interval: Option<Duration>,
    next_request: Mutex<Option<Instant>>,
}

impl HostLimiter {
    pub(super) fn new(settings: &FetchSettings) -> Self {
        Self {
            hosts: Mutex::default(),
            requests_per_second: settings.requests_per_second,
            host_requests_per_second: settings.host_requests_per_second.clone(),
            transfers_per_host: settings.transfers_per_host.max(1),
            clock: Arc::clone(&settings.clock),
        }
    }

    /// Waits for a free transfer slot for the host. The slot is held until the transfer ends.
    pub(super) async fn transfer(&self, host: &str) -> OwnedSemaphorePermit {
        let transfers = Arc::clone(&self.host(host).transfers);
        transfers
            .acquire_owned()
            .await
            .expect("the semaphore is never closed")
    }

    /// Waits until the next request may be sent to the host.
    pub(super) async fn request(&self, host: &str) {
        let host = self.host(host);
        let Some(interval) = host.interval else {
            return;
        };
        let wait = {
            let mut next_request = host
                .next_request
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let now = self.clock.instant();
            let at = next_request.map_or(now, |next| next.max(now));
            *next_request = Some(at + interval);
            at - now
        };
        if !wait.is_zero() {
            self.clock.sleep(wait).await;
        }
    }

    fn host(&self, name: &str) -> Arc<Host> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let new_host = || {
            let rate = match self.host_requests_per_second.get(name) {
                Some(rate) => Some(*rate),
                None => (!is_loopback(name)).then_some(self.requests_per_second),
            };
            let interval = rate.map(|rate| {
                Duration::from_secs_f64(1.0 / rate.clamp(0.01, MAX_REQUESTS_PER_SECOND))
            });
            Arc::new(Host {
                transfers: Arc::new(Semaphore::new(self.transfers_per_host)),
                interval,
                next_request: Mutex::default(),
            })
        };
        Arc::clone(hosts.entry(name.to_owned()).or_insert_with(new_host))
    }
}

/// Returns whether a host name refers to this machine.
pub(super) fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn transfer_waits_for_a_free_slot_of_its_host() {
        let limiter = HostLimiter::new(&FetchSettings {
            transfers_per_host: 2,
            ..FetchSettings::default()
        });
        let start = |host: &str| limiter.transfer(host).now_or_never();
        let (first, second) = (start("a.example"), start("a.example"));
        assert!(first.is_some() && second.is_some());
        assert!(start("a.example").is_none());
        assert!(start("b.example").is_some());
        drop(first);
        assert!(start("a.example").is_some());
    }

    #[test]
    fn this_machine_is_known_by_name_and_address() {
        for host in ["localhost", "127.0.0.1", "127.1.2.3", "[::1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["data.example", "128.0.0.1", "localhost.example", ""] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
