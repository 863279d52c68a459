//! Counts what each key asked for since the server started, for `/v1/admin/usage`. Requests without
//! a valid key are not counted here: their addresses are many, and whose they are is not known.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use jiff::Timestamp;

use super::auth::Client;

/// What the holders of keys did.
pub struct Usage {
    since: Timestamp,
    by_key: Mutex<BTreeMap<String, Used>>,
}

/// What the holder of one key did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Used {
    pub requests: u64,
    /// Refused because the bucket was empty.
    pub rate_limited: u64,
    /// Refused for another reason.
    pub refused: u64,
    /// Failed on our side.
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

    /// When counting began.
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

    /// What the holder of a key did; nothing, where it never asked.
    pub fn of(&self, key_id: &str) -> Option<Used> {
        self.lock().get(key_id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Used>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
