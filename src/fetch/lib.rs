//! Turns a publisher's URL into a snapshot: conditional, resumable, polite downloads from
//! `https://`, `sftp://`, a mirror or a `file://` path, checked before they are accepted. The only
//! user of the network clients. Does not look into archives and knows no agency.

mod body;
mod check;
mod client;
mod clock;
mod fetcher;
mod head;
mod host_limiter;
mod http;
mod links;
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
mod stranger;
mod way;
pub mod witness;

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
pub use stranger::{Extent, Said, Stranger};

use pubdata_core::pipeline::{AppToken, SftpLogin};
use pubdata_core::provenance::Snapshot;

/// One file to fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub source_id: String,
    /// The values of the URL template's variables.
    pub keys: BTreeMap<String, String>,
    /// `https://`, `sftp://`, `file://` or `bundled:`; `http://` to this machine only. May hold
    /// `{env:NAME}` as the value of a query parameter.
    pub url: String,
    /// The publisher's own label for the bytes.
    pub source_version: String,
    /// The publisher's own date, as bundled files and portals' lists have one; without it, the date
    /// that comes with the bytes or the day they were first fetched.
    pub source_date: Option<String>,
    pub is_archive: bool,
    pub is_json: bool,
    /// Whether it is a web page, which no other file is believed to be.
    pub is_page: bool,
    /// A smaller file is refused, unless it comes from a mirror of samples.
    pub min_bytes: u64,
    /// A larger file is refused while it is still being read.
    pub max_bytes: u64,
    /// The bytes of a `bundled:` URL.
    pub bundled: Option<Vec<u8>>,
    /// Hosts that the publisher's server may send on to, besides those of its own domain: `host` or
    /// `*.host`.
    pub redirects: Vec<String>,
    /// A secret that the publisher takes in a header, sent when it is configured.
    pub app_token: Option<AppToken>,
    /// What the publisher says elsewhere of the file's last change.
    pub stated: Option<StatedChange>,
}

/// What a publisher's document says of a file's last change: while the instant stays the same, the
/// known file is reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatedChange {
    /// Seconds since 1970-01-01.
    pub seconds: i64,
    /// The file is fetched in every n-th run all the same, which proves that the document is right.
    pub whole_every: u32,
}

/// What a fetch found. Failures are errors of kind `Fetch`; the last good snapshot stays in place
/// then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Bytes that this URL did not have before.
    New(Snapshot),
    /// The bytes that are already known.
    Unchanged(Snapshot),
    /// The known bytes; the file was not asked for, because the publisher's document says that it
    /// did not change.
    Reused(Snapshot),
    /// The publisher says that there is no such file (404, 410), or no mirror has it.
    Absent,
    /// The URL needs a secret that is not configured; nothing was asked.
    NotConfigured {
        /// The environment variable that would hold it.
        variable: String,
    },
}

/// How to fetch. The defaults suit the publishers; tests replace the clock and say where names
/// lead.
#[derive(Clone)]
pub struct FetchSettings {
    /// Folders or URLs that stand in for all publishers; the first that has a file wins, and no
    /// publisher is asked.
    pub mirrors: Vec<String>,
    /// Who to write to, sent in the `User-Agent` as publishers ask.
    pub contact: Option<String>,
    /// Reads a secret by its environment variable's name.
    pub secret: fn(&str) -> Option<String>,
    /// Requests per second to one host; never more than [`MAX_REQUESTS_PER_SECOND`]. This machine
    /// is not limited.
    pub requests_per_second: f64,
    /// Requests per second by host name, where they differ; limits this machine too when it is
    /// named.
    pub host_requests_per_second: BTreeMap<String, f64>,
    /// Transfers from one host at a time.
    pub transfers_per_host: usize,
    /// Tries per file, the first included.
    pub tries: u32,
    /// Wait before the second try; doubles with each further one, up to `longest_wait`.
    pub first_wait: Duration,
    pub longest_wait: Duration,
    /// For how long a file is asked for that the publisher is still making.
    pub patience: Patience,
    /// Longest `Retry-After` that is waited for; a server that asks for more is left alone until
    /// the next run.
    pub longest_retry_after: Duration,
    pub connect_timeout: Duration,
    /// Longest silence of a server.
    pub read_timeout: Duration,
    /// Longest duration of one try.
    pub total_timeout: Duration,
    /// Longest duration of all requests for the files of one pipeline in a run, tries and waits
    /// included.
    pub pipeline_deadline: Duration,
    /// The way out of a closed network.
    pub proxy: ProxySettings,
    /// Certificates of authorities (PEM) that are trusted besides those of the system.
    pub ca_file: Option<PathBuf>,
    /// Where names lead in tests, whose publishers are on this machine. Names that stand here may
    /// lead there; all others are looked up.
    pub resolve: BTreeMap<String, SocketAddr>,
    pub clock: Arc<dyn Clock>,
    /// Whether files are asked for whatever publishers' documents say of them.
    pub asks_all: bool,
    /// Logins of the sources whose URLs are `sftp://`, by source.
    pub sftp: BTreeMap<String, SftpLogin>,
}

/// How a file is waited for that the publisher makes when it is asked for (202). Apart from the
/// tries: nothing has failed.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Requests for the file, the first included.
    pub requests: u32,
    /// Wait before the second request where the server does not say; doubles up to `longest_wait`.
    pub first_wait: Duration,
    pub longest_wait: Duration,
    /// All waits together.
    pub total: Duration,
}

/// No host is asked more often, whatever the settings say: the SEC's published limit, and no
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
            asks_all: false,
            sftp: BTreeMap::new(),
        }
    }
}

impl FetchSettings {
    /// Whether nothing but folders of this machine stands in for the publishers.
    pub fn asks_folders_only(&self) -> bool {
        !self.mirrors.is_empty() && !self.mirrors.iter().any(|mirror| is_url(mirror))
    }

    /// The mirrors that are folders of this machine.
    pub fn mirror_folders(&self) -> impl Iterator<Item = &Path> {
        self.mirrors
            .iter()
            .filter(|mirror| !is_url(mirror))
            .map(|mirror| Path::new(mirror.strip_prefix("file://").unwrap_or(mirror)))
    }
}

/// The URL as it is recorded: without the query parameters that hold a secret.
///
/// # Errors
/// `Config`, when a secret stands anywhere but as the whole value of a query parameter.
pub fn recorded_url(url: &str) -> pubdata_core::error::Result<String> {
    secret::SecretUrl::parse(url).map(|url| url.recorded)
}

/// What `fuzz/` reaches that is no part of the library.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    use std::time::Duration;

    use jiff::Timestamp;

    pub use super::body::fuzzing::unpack;

    /// How long a server asks to be left alone.
    pub fn retry_after(text: &str, now: Timestamp) -> Option<Duration> {
        super::retry::retry_after(text, now)
    }

    /// The time of an HTTP date.
    pub fn http_date(text: &str) -> Option<Timestamp> {
        super::http_date(text)
    }

    /// First byte and size of the file of a `Content-Range`.
    pub fn content_range(text: &str) -> Option<(u64, Option<u64>)> {
        super::head::range_of(text)
    }
}
