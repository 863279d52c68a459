//! Notifies a URL that the operator chose: sends a message by POST, or reports the end of a run by
//! GET. Reads only the status of the response.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::CONTENT_TYPE;

use super::FetchSettings;
use super::client::{Clients, NamedBy, causes};
use super::host_limiter::is_loopback;
use pubdata_core::error::{Error, Result};

/// Time limit of one request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of attempts, including the first. Retries matter because a lost heartbeat would
/// raise a false alarm.
const TRIES: u32 = 3;

/// Maximum size of a message.
const MAX_BYTES: usize = 1 << 20;

/// A URL that the operator chose, used over one connection. The URL may contain a secret, so error
/// messages name only the host.
pub struct Address {
    url: Url,
    host: String,
    clients: Clients,
    first_wait: Duration,
}

impl Address {
    /// Creates the client for a URL without sending a request.
    ///
    /// # Errors
    /// `Config`, when the URL is neither `https://` nor on this machine.
    pub fn new(settings: FetchSettings, address: &str) -> Result<Self> {
        let not_one = |reason: &str| {
            Error::config(format!("the address for notifications {reason}"))
                .hint("write https://, or http:// on this machine")
        };
        let url = Url::parse(address).map_err(|_| not_one("is no address"))?;
        let host = url.host_str().unwrap_or_default().to_owned();
        if !(url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&host))) {
            return Err(not_one(&format!("at {host} is not encrypted")));
        }
        let first_wait = settings.first_wait;
        let clients = Clients::new(FetchSettings {
            connect_timeout: TIMEOUT,
            read_timeout: TIMEOUT,
            total_timeout: TIMEOUT,
            ..settings
        })?;
        Ok(Self {
            url,
            host,
            clients,
            first_wait,
        })
    }

    /// Sends JSON by POST, or a GET request if no JSON is given. Redirects are not followed.
    ///
    /// # Errors
    /// `Config`, when the message is too long; `Fetch`, when no response is received or the status
    /// is not 2xx.
    pub async fn send(&self, json: Option<&[u8]>) -> Result<()> {
        let Self { url, host, .. } = self;
        if json.is_some_and(|json| json.len() > MAX_BYTES) {
            return Err(Error::config(format!(
                "the message for {host} is longer than {MAX_BYTES} bytes"
            )));
        }
        let client = self.clients.get(url, NamedBy::Person)?;
        let mut tried = 0;
        loop {
            tried += 1;
            let request = match json {
                Some(json) => client
                    .post(url.clone())
                    .header(CONTENT_TYPE, "application/json")
                    .body(json.to_vec()),
                None => client.get(url.clone()),
            };
            let (failure, is_worth_another_try) = match request.send().await {
                Ok(answer) if answer.status().is_success() => return Ok(()),
                Ok(answer) => (
                    format!("{host} answered {}", answer.status()),
                    answer.status().is_server_error() || answer.status().as_u16() == 429,
                ),
                Err(error) => (format!("no answer from {host}: {}", causes(error)), true),
            };
            if tried == TRIES || !is_worth_another_try {
                return Err(Error::fetch(failure));
            }
            tokio::time::sleep(self.first_wait * tried).await;
        }
    }
}

/// Sends one message, as [`Address::send`] does.
///
/// # Errors
/// Same as for [`Address::new`] and [`Address::send`].
pub async fn send_message(
    settings: &FetchSettings,
    address: &str,
    json: Option<&[u8]>,
) -> Result<()> {
    Address::new(settings.clone(), address)?.send(json).await
}
