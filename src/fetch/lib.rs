//! Turns a publisher's URL into a snapshot: conditional, resumable, rate-limited downloads from
//! `https://`, `sftp://`, a mirror or a `file://` path, checked before they are accepted. No other
//! crate uses the network clients. This crate does not read archives and contains no
//! agency-specific code.

mod body;
mod check;
mod client;
mod clock;
mod fetcher;
mod head;
mod host_limiter;
mod http;
mod links;
pub mod log_auditor;
mod message;
mod mirror;
mod piece;
mod progress;
mod redirect;
mod retry;
mod secret;
#[cfg(feature = "sftp")]
mod sftp;
#[cfg(not(feature = "sftp"))]
#[path = "without_sftp.rs"]
mod sftp;
#[cfg(feature = "sftp")]
mod ssh;
mod untrusted_client;
mod way;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use check::is_html;
pub use client::ProxySettings;
pub use clock::{Clock, SystemClock};
pub use fetcher::Fetcher;
pub use links::links;
pub use message::{Address, send_message};
use mirror::is_url;
pub use mirror::{absence, mirror_path};
pub use piece::{Head, Piece};
pub use progress::{FetchProgress, NoProgress};
pub use redirect::is_within_reach;
pub use retry::http_date;
pub use untrusted_client::{Extent, UntrustedClient, UntrustedResponse};

use pubdata_core::pipeline::{AppToken, SftpLogin};
use pubdata_core::provenance::Snapshot;

/// One file to fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub source_id: String,
    /// The values of the URL template's variables.
    pub keys: BTreeMap<String, String>,
    /// `https://`, `sftp://`, `file://` or `bundled:`; `http://` only for this machine. May contain
    /// `{env:NAME}` as the value of a query parameter.
    pub url: String,
    /// The publisher's own label for the bytes.
    pub source_version: String,
    /// The publisher's own date, as stated for bundled files and in portal catalogues. If absent,
    /// the date sent with the bytes or the day of the first fetch is used.
    pub source_date: Option<String>,
    pub is_archive: bool,
    pub is_json: bool,
    /// True if a web page is expected. If false, a web page is rejected.
    pub is_page: bool,
    /// Minimum size of the file. Does not apply to sample mirrors.
    pub min_bytes: u64,
    /// Maximum size of the file, checked while the file is being read.
    pub max_bytes: u64,
    /// The bytes of a `bundled:` URL.
    pub bundled: Option<Vec<u8>>,
    /// Hosts that the publisher's server may redirect to, besides those of its own domain: `host`,
    /// or `*.host` for all subdomains of `host`.
    pub redirects: Vec<String>,
    /// A secret that the publisher accepts in a header. The secret is sent if it is configured.
    pub app_token: Option<AppToken>,
    /// The file's last change, as stated in another document from the publisher.
    pub stated: Option<StatedChange>,
}

/// A file's last change, as stated in a publisher's document. While the stated time stays the same,
/// the known file is reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatedChange {
    /// Time of the change in seconds since 1970-01-01.
    pub seconds: i64,
    /// Fetches the file anyway in every n-th run, to verify the document.
    pub whole_every: u32,
}

/// Result of a fetch. Failures are errors of kind `Fetch`. They leave the last good snapshot in
/// place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The URL returned new bytes.
    New(Snapshot),
    /// The URL returned bytes that are already known.
    Unchanged(Snapshot),
    /// The known bytes are reused. The file was not requested, because the publisher's document
    /// states that it has not changed.
    Reused(Snapshot),
    /// The publisher reports that the file does not exist (404, 410), or no mirror has it.
    Absent,
    /// The URL needs a secret that is not configured; no request was sent.
    NotConfigured {
        /// The environment variable that would hold it.
        variable: String,
    },
}

/// Settings for fetching. The defaults suit the publishers. Tests replace the clock and resolve
/// host names themselves.
#[derive(Clone)]
pub struct FetchSettings {
    /// Folders or URLs that replace all publishers. A file is taken from the first mirror that has
    /// it, and no publisher is contacted.
    pub mirrors: Vec<String>,
    /// The operator's contact address, sent in the `User-Agent` header as publishers require.
    pub contact: Option<String>,
    /// Reads a secret from the environment variable with the given name.
    pub secret: fn(&str) -> Option<String>,
    /// Requests per second to one host; never more than [`MAX_REQUESTS_PER_SECOND`]. Requests to
    /// this machine are not limited.
    pub requests_per_second: f64,
    /// Requests per second by host name, overriding `requests_per_second`. This machine is limited
    /// too if it is listed here.
    pub host_requests_per_second: BTreeMap<String, f64>,
    /// Maximum number of concurrent transfers from one host.
    pub transfers_per_host: usize,
    /// Maximum number of attempts per file, including the first.
    pub tries: u32,
    /// Delay before the second attempt. The delay doubles with each further attempt, up to
    /// `longest_wait`.
    pub first_wait: Duration,
    pub longest_wait: Duration,
    /// How long to wait for a file that the publisher is still generating.
    pub patience: Patience,
    /// Longest `Retry-After` delay to wait for. A longer delay ends the fetch for this run.
    pub longest_retry_after: Duration,
    pub connect_timeout: Duration,
    /// Maximum time without receiving a byte from the server.
    pub read_timeout: Duration,
    /// Maximum duration of one attempt.
    pub total_timeout: Duration,
    /// Maximum total duration of all requests for a pipeline's files in one run, including retries
    /// and waits.
    pub pipeline_deadline: Duration,
    /// Proxy settings for a closed network.
    pub proxy: ProxySettings,
    /// PEM file of certificate authorities to trust in addition to the system's authorities.
    pub ca_file: Option<PathBuf>,
    /// Addresses of host names, for tests that run publishers on this machine. These names may have
    /// private addresses. The system resolves all other names.
    pub resolve: BTreeMap<String, SocketAddr>,
    pub clock: Arc<dyn Clock>,
    /// True if files are requested regardless of what publishers' documents state.
    pub ignores_stated_changes: bool,
    /// Logins for sources with `sftp://` URLs, by source.
    pub sftp: BTreeMap<String, SftpLogin>,
}

/// Limits for waiting for a file that the publisher generates on request (202). These limits are
/// separate from the limit on attempts, because no request has failed.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Maximum number of requests for the file, including the first.
    pub requests: u32,
    /// Delay before the second request if the server does not specify one. The delay doubles up to
    /// `longest_wait`.
    pub first_wait: Duration,
    pub longest_wait: Duration,
    /// Maximum total waiting time.
    pub total: Duration,
}

/// Upper bound on the request rate for any host, regardless of the settings. This is the SEC's
/// published limit. No other publisher allows more.
pub const MAX_REQUESTS_PER_SECOND: f64 = 10.0;

impl Default for FetchSettings {
    fn default() -> Self {
        Self {
            mirrors: Vec::new(),
            contact: None,
            secret: |name| std::env::var(name).ok().filter(|value| !value.is_empty()),
            requests_per_second: 4.0,
            host_requests_per_second: BTreeMap::new(),
            transfers_per_host: 3,
            tries: 6,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(60),
            patience: Patience {
                requests: 60,
                first_wait: Duration::from_secs(10),
                longest_wait: Duration::from_secs(60),
                total: Duration::from_secs(1800),
            },
            longest_retry_after: Duration::from_secs(300),
            connect_timeout: Duration::from_secs(20),
            read_timeout: Duration::from_secs(60),
            total_timeout: Duration::from_secs(3 * 3600),
            pipeline_deadline: Duration::from_secs(4 * 3600),
            proxy: ProxySettings::from_environment(),
            ca_file: None,
            resolve: BTreeMap::new(),
            clock: Arc::new(SystemClock),
            ignores_stated_changes: false,
            sftp: BTreeMap::new(),
        }
    }
}

impl FetchSettings {
    /// Returns whether at least one mirror is set and all mirrors are folders on this machine.
    pub fn has_only_local_mirrors(&self) -> bool {
        !self.mirrors.is_empty() && !self.mirrors.iter().any(|mirror| is_url(mirror))
    }

    /// Iterates over the mirrors that are folders on this machine.
    pub fn mirror_folders(&self) -> impl Iterator<Item = &Path> {
        self.mirrors
            .iter()
            .filter(|mirror| !is_url(mirror))
            .map(|mirror| Path::new(mirror.strip_prefix("file://").unwrap_or(mirror)))
    }
}

/// Returns the URL in its recorded form, without the query parameters that hold a secret.
///
/// # Errors
/// `Config`, when a secret is used anywhere except as the entire value of a query parameter.
pub fn recorded_url(url: &str) -> pubdata_core::error::Result<String> {
    secret::SecretUrl::parse(url).map(|url| url.recorded)
}

/// Functions for `fuzz/` that are not part of the library's API.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    use std::time::Duration;

    use jiff::Timestamp;

    pub use super::body::fuzzing::unpack;

    /// Parses the delay of a `Retry-After` header.
    pub fn retry_after(text: &str, now: Timestamp) -> Option<Duration> {
        super::retry::retry_after(text, now)
    }

    /// Parses an HTTP date.
    pub fn http_date(text: &str) -> Option<Timestamp> {
        super::http_date(text)
    }

    /// Parses the first byte and the file size from a `Content-Range` header.
    pub fn content_range(text: &str) -> Option<(u64, Option<u64>)> {
        super::head::range_of(text)
    }
}
