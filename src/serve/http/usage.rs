//! Counts the requests of each key since the server started, for `/v1/admin/usage`. Requests
//! without a valid key are not counted, because their addresses are numerous and their senders are
//! unknown.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use jiff::Timestamp;

use super::auth::Client;

/// Request counts of all keys.
pub struct Usage {
    since: Timestamp,
    by_key: Mutex<BTreeMap<String, Used>>,
}

/// Request counts of one key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Used {
    pub requests: u64,
    /// Requests that were refused because the bucket was empty.
    pub rate_limited: u64,
    /// Requests that were refused for another reason.
    pub refused: u64,
    /// Requests that failed because of a server error.
    pub failed: u64,
    pub last_request_at: Timestamp,
}

impl Usage {
    pub fn new(since: Timestamp) -> Self {
        Self {
            since,
            by_key: Mutex::default(),
        }
    }

    /// Returns the time at which counting started.
    pub fn since(&self) -> Timestamp {
        self.since
    }

    /// Counts an answered request.
    pub fn record(&self, client: &Client, status: StatusCode, now: Timestamp) {
        if client.scopes.is_empty() {
            return;
        }
        let mut by_key = self.lock();
        let used = match by_key.get_mut(&client.id) {
            Some(used) => used,
            None => by_key.entry(client.id.clone()).or_default(),
        };
        used.requests += 1;
        used.last_request_at = now;
        match status {
            StatusCode::TOO_MANY_REQUESTS => used.rate_limited += 1,
            status if status.is_server_error() => used.failed += 1,
            status if status.is_client_error() => used.refused += 1,
            _ => {}
        }
    }

    /// Returns the counts of a key, or `None` if it has sent no request.
    pub fn get(&self, key_id: &str) -> Option<Used> {
        self.lock().get(key_id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Used>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
