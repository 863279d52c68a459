//! Turns a publisher's URL into a snapshot: conditional, resumable, rate-limited downloads from
//! `https://`, `sftp://`, a mirror or a `file://` path, checked before they are accepted. No other
//! crate uses the network clients. Does not read archives and has no code for single agencies.

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
    /// `https://`, `sftp://`, `file://` or `bundled:`; `http://` to this machine only. May contain
    /// `{env:NAME}` as the value of a query parameter.
    pub url: String,
    /// The publisher's own label for the bytes.
    pub source_version: String,
    /// The publisher's own date, as bundled files and portals' catalogues have one. Without it, the
    /// date sent with the bytes or the day of the first fetch.
    pub source_date: Option<String>,
    pub is_archive: bool,
    pub is_json: bool,
    /// True if a web page is expected; otherwise a web page is rejected.
    pub is_page: bool,
    /// Minimum size of the file, not applied to mirrors of samples.
    pub min_bytes: u64,
    /// Maximum size of the file, checked while it is being read.
    pub max_bytes: u64,
    /// The bytes of a `bundled:` URL.
    pub bundled: Option<Vec<u8>>,
    /// Hosts that the publisher's server may redirect to, besides those of its own domain: `host`
    /// or `*.host`.
    pub redirects: Vec<String>,
    /// A secret that the publisher accepts in a header, sent if it is configured.
    pub app_token: Option<AppToken>,
    /// The file's last change according to another document of the publisher.
    pub stated: Option<StatedChange>,
}

/// A file's last change according to a publisher's document. While the instant stays the same, the
/// known file is reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatedChange {
    /// Seconds since 1970-01-01.
    pub seconds: i64,
    /// Fetches the file anyway in every n-th run, to verify the document.
    pub whole_every: u32,
}

/// Result of a fetch. Failures are errors of kind `Fetch`, and keep the last good snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// New bytes for this URL.
    New(Snapshot),
    /// The bytes that are already known.
    Unchanged(Snapshot),
    /// The known bytes. The file was not requested, because the publisher's document states that it
    /// did not change.
    Reused(Snapshot),
    /// The publisher reports that the file does not exist (404, 410), or no mirror has it.
    Absent,
    /// The URL needs a secret that is not configured; no request was sent.
    NotConfigured {
        /// The environment variable that would hold it.
        variable: String,
    },
}

/// Settings of fetching. The defaults suit the publishers; tests replace the clock and resolve
/// names.
#[derive(Clone)]
pub struct FetchSettings {
    /// Folders or URLs that replace all publishers. The first that has a file wins, and no
    /// publisher is contacted.
    pub mirrors: Vec<String>,
    /// The operator's address, sent in the `User-Agent` as publishers require.
    pub contact: Option<String>,
    /// Reads a secret by its environment variable's name.
    pub secret: fn(&str) -> Option<String>,
    /// Requests per second to one host; never more than [`MAX_REQUESTS_PER_SECOND`]. This machine
    /// is not limited.
    pub requests_per_second: f64,
    /// Requests per second by host name, overriding `requests_per_second`; limits this machine too
    /// if it is named.
    pub host_requests_per_second: BTreeMap<String, f64>,
    /// Maximum number of concurrent transfers from one host.
    pub transfers_per_host: usize,
    /// Maximum number of attempts per file, the first included.
    pub tries: u32,
    /// Wait before the second attempt; doubles with each further one, up to `longest_wait`.
    pub first_wait: Duration,
    pub longest_wait: Duration,
    /// How long to wait for a file that the publisher is still generating.
    pub patience: Patience,
    /// Longest `Retry-After` to wait for; a longer one ends the fetch for this run.
    pub longest_retry_after: Duration,
    pub connect_timeout: Duration,
    /// Maximum time without a byte from the server.
    pub read_timeout: Duration,
    /// Maximum duration of one attempt.
    pub total_timeout: Duration,
    /// Maximum duration of all requests for the files of one pipeline in a run, including repeated
    /// attempts and waits.
    pub pipeline_deadline: Duration,
    /// The proxy of a closed network.
    pub proxy: ProxySettings,
    /// Certificates of authorities (PEM) that are trusted in addition to those of the system.
    pub ca_file: Option<PathBuf>,
    /// Addresses of host names in tests, whose publishers are on this machine. These names may have
    /// private addresses; all others are resolved by the system.
    pub resolve: BTreeMap<String, SocketAddr>,
    pub clock: Arc<dyn Clock>,
    /// True if files are requested regardless of publishers' documents.
    pub ignores_stated_changes: bool,
    /// Logins of the sources whose URLs are `sftp://`, by source.
    pub sftp: BTreeMap<String, SftpLogin>,
}

/// Limits for waiting for a file that the publisher generates on request (202). They are separate
/// from the attempts, because nothing has failed.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Maximum number of requests for the file, the first included.
    pub requests: u32,
    /// Wait before the second request if the server does not name one; doubles up to
    /// `longest_wait`.
    pub first_wait: Duration,
    pub longest_wait: Duration,
    /// Maximum sum of all waits.
    pub total: Duration,
}

/// Upper bound of the rate for any host, whatever the settings: the SEC's published limit. No other
/// publisher allows more.
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
    /// Returns whether at least one mirror is set and all are folders of this machine.
    pub fn has_only_local_mirrors(&self) -> bool {
        !self.mirrors.is_empty() && !self.mirrors.iter().any(|mirror| is_url(mirror))
    }

    /// Iterates over the mirrors that are folders of this machine.
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
/// `Config`, when a secret is anywhere but the whole value of a query parameter.
pub fn recorded_url(url: &str) -> pubdata_core::error::Result<String> {
    secret::SecretUrl::parse(url).map(|url| url.recorded)
}

/// Functions for `fuzz/` that are not part of the library.
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

    /// Parses first byte and file size of a `Content-Range`.
    pub fn content_range(text: &str) -> Option<(u64, Option<u64>)> {
        super::head::range_of(text)
    }
}
