//! Sends requests to an untrusted server: GET only, within the rate limits, without redirects, and
//! with a bounded response size.

use reqwest::header::{ACCEPT_ENCODING, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{StatusCode, Url};

use super::FetchSettings;
use super::client::{Clients, NamedBy, causes};
use super::host_limiter::{HostLimiter, is_loopback};
use super::retry::{Failure, RetryPolicy, retry_after};
use super::way::text_of;
use pubdata_core::error::{Error, Result};

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// How much of a response to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The entire response, which must not exceed this many bytes.
    Whole(u64),
    /// Only the given number of bytes from the start. The connection is then closed.
    Beginning(u64),
}

/// A server's response, regardless of status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntrustedResponse {
    pub status: u16,
    pub bytes: Vec<u8>,
    /// True if the bytes are the entire response.
    pub is_whole: bool,
}

/// Client for an untrusted server.
pub struct UntrustedClient {
    base: Url,
    key: Option<HeaderValue>,
    clients: Clients,
    limiter: HostLimiter,
    settings: FetchSettings,
}

impl UntrustedClient {
    /// Creates the client for a server without sending a request.
    ///
    /// # Errors
    /// `Config`, when the URL does not name a server or is not encrypted, or when the key cannot be
    /// sent.
    pub fn new(settings: FetchSettings, url: &str, key: Option<&str>) -> Result<Self> {
        let not_one = |reason: &str| {
            Error::config(format!("the address of the server {reason}"))
                .hint("write https://example.org, or http:// on this machine")
        };
        let mut base = Url::parse(url).map_err(|_| not_one("is no address"))?;
        let host = base.host_str().unwrap_or_default();
        match base.scheme() {
            "https" => {}
            "http" if is_loopback(host) => {}
            // Without encryption, others could read the key or change a response in transit.
            _ => return Err(not_one("is not encrypted")),
        }
        if !base.username().is_empty()
            || base.password().is_some()
            || base.query().is_some()
            || base.fragment().is_some()
        {
            return Err(not_one("has more than a host and a path"));
        }
        let path = base.path().trim_end_matches('/').to_owned();
        base.set_path(&path);
        let key = key
            .map(HeaderValue::from_str)
            .transpose()
            .map_err(|_| Error::config("the API key is not one that can be sent"))?;
        let key = key.map(|mut key| {
            key.set_sensitive(true);
            key
        });
        Ok(Self {
            base,
            key,
            clients: Clients::new(settings.clone())?,
            limiter: HostLimiter::new(&settings),
            settings,
        })
    }

    /// Returns the normalised URL of the server.
    pub fn url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Requests a path. Retries transient failures (429, 502, 503, 504, a broken transfer).
    ///
    /// # Errors
    /// `Fetch`, when no response is received, or when the response is a redirect or exceeds the
    /// maximum size.
    pub async fn get(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        extent: Extent,
    ) -> Result<UntrustedResponse> {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut retries = RetryPolicy::new(&self.settings);
        loop {
            let failure = match self.ask(&url, extent).await {
                Ok(response) => return Ok(response),
                Err(Failure::Final(error)) => return Err(error.context(url.as_str())),
                Err(failure) => failure,
            };
            let tried = retries.after(failure, url.as_str()).await;
            tried.map_err(|error| {
                Error::fetch(error.to_string())
                    .context(url.as_str())
                    .hint("check the address, and try again later")
            })?;
        }
    }

    async fn ask(
        &self,
        url: &Url,
        extent: Extent,
    ) -> std::result::Result<UntrustedResponse, Failure> {
        let host = url.host_str().unwrap_or_default();
        let _transfer = self.limiter.transfer(host).await;
        self.limiter.request(host).await;
        let mut request = self
            .clients
            .get(url, NamedBy::Person)?
            .get(url.clone())
            .header(ACCEPT_ENCODING, "identity");
        if let Some(key) = &self.key {
            request = request.header(API_KEY, key.clone());
        }
        let mut response = request.send().await.map_err(|error| {
            Failure::again(Error::fetch(format!("no answer: {}", causes(error))))
        })?;
        let status = response.status();
        if matches!(status.as_u16(), 429 | 502 | 503 | 504) {
            let after = text_of(response.headers(), RETRY_AFTER)
                .and_then(|text| retry_after(&text, self.settings.clock.now()));
            return Err(Failure::Again {
                error: Error::fetch(format!("the server answered {status}")),
                after,
            });
        }
        if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
            let location = text_of(response.headers(), LOCATION).unwrap_or_default();
            let message = format!(
                "the server answered {status} and points to `{}`, which is not followed",
                location.escape_debug()
            );
            return Err(Error::fetch(message)
                .hint("give the address of the server itself")
                .into());
        }
        let most = match extent {
            Extent::Whole(most) | Extent::Beginning(most) => {
                usize::try_from(most).unwrap_or(usize::MAX)
            }
        };
        let mut received = UntrustedResponse {
            status: status.as_u16(),
            bytes: Vec::new(),
            is_whole: true,
        };
        loop {
            let chunk = response.chunk().await;
            let chunk = chunk.map_err(|error| {
                Failure::again(Error::fetch(format!(
                    "the transfer broke: {}",
                    causes(error)
                )))
            })?;
            let Some(chunk) = chunk else {
                return Ok(received);
            };
            let room = most - received.bytes.len();
            received
                .bytes
                .extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                received.is_whole = false;
                return match extent {
                    Extent::Beginning(_) => Ok(received),
                    Extent::Whole(most) => Err(Error::fetch(format!(
                        "the answer has more than {most} bytes"
                    ))
                    .hint(NOT_OF_THIS_API)
                    .into()),
                };
            }
        }
    }
}

/// Hint for a response that no server running this program sends.
const NOT_OF_THIS_API: &str = "no server of this API sends such an answer: check the address";
