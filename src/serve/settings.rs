//! Defines the server's settings and limits with their defaults. Rejects settings that would send
//! keys in plain text.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::tracer::Tracer;
use pubdata_core::error::{Error, Result};
use pubdata_store::Plans;

/// Settings of the server. All settings except the home and the plans have defaults.
#[derive(Debug, Clone)]
pub struct ServeSettings {
    pub home: PathBuf,
    /// URL of releases that are not in the home, in the format `s3://bucket/prefix`.
    pub store_url: Option<String>,
    /// Rate limits shared by several servers; without them, each server counts separately.
    pub shared_limits: Option<SharedLimitsSettings>,
    pub plans: Plans,
    /// Reader of the publishers' files. Without a reader, answers that need the files state that
    /// the server has no access to them.
    pub tracer: Option<Arc<dyn Tracer>>,
    /// Access to the publishers' files.
    pub snapshots: SnapshotAccess,
    pub channel: String,
    pub bind: SocketAddr,
    pub tls: Option<TlsFiles>,
    /// True if a proxy terminates TLS and sets `X-Forwarded-For`. Plain HTTP may then be bound to
    /// any address.
    pub is_behind_proxy: bool,
    /// Number of chained proxies whose `X-Forwarded-For` entries are trusted.
    pub trusted_hops: usize,
    /// Address of `/metrics`. `None` serves the metrics on the main address if that address is
    /// loopback and has no proxy.
    pub metrics_bind: Option<SocketAddr>,
    /// URL that callers use, such as `https://data.example.org`; `None` makes links relative.
    pub public_url: Option<String>,
    /// Contact for questions about the data: an e-mail address, with or without a name before it.
    pub contact: Option<String>,
    /// Web origins from which scripts may call the API; `*` means any origin.
    pub cors_origins: Vec<String>,
    /// Access to the HTML pages.
    pub pages: Pages,
    /// Folder with the operator's own templates.
    pub templates: Option<PathBuf>,
    /// Interval at which the channel is polled.
    pub poll_interval: Duration,
    /// Time limit for requests in progress when the server stops.
    pub drain_limit: Duration,
    pub limits: Limits,
}

/// Access to the HTML pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// Everyone, including data that the API serves only with a key.
    Public,
    /// Only holders of a key.
    Keyed,
    /// The pages are disabled.
    Off,
}

/// Access to the publishers' files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotAccess {
    /// No file is served.
    Off,
    /// Open files are served to keys, other files to administrators.
    Public,
}

/// Certificate chain and private key in PEM format.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Limits on one request, and on all requests together.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub url_bytes: usize,
    pub header_count: usize,
    pub header_bytes: usize,
    pub body_bytes: usize,
    pub request_time: Duration,
    pub simultaneous_requests: usize,
    /// Maximum number of simultaneous requests of one key, or of one address without a key; part of
    /// `simultaneous_requests`.
    pub requests_per_client: usize,
    /// Maximum number of rows in a complete list.
    pub max_list_rows: usize,
    /// Maximum number of open connections; fewer if the system provides fewer descriptors.
    pub connections: usize,
    /// Maximum number of connections from one address. Does not apply to this machine, or behind a
    /// proxy, which uses one address for all clients.
    pub connections_per_address: usize,
    /// Time that a client may take for the TLS handshake, and for the head of a request.
    pub head_time: Duration,
    /// Time for which a client may accept no bytes of the response.
    pub write_time: Duration,
    /// Maximum number of response bytes that clients have not accepted yet: for all clients
    /// together, and for one client.
    pub bytes_in_flight: usize,
    pub bytes_in_flight_per_client: usize,
    /// Responses smaller than this are not counted in `bytes_in_flight`, because the limit on
    /// connections bounds them.
    pub least_counted_bytes: usize,
    /// Memory limit for all earlier releases kept for `release` and `as_of`. The last requested
    /// release is always kept.
    pub retained_bytes: usize,
    /// Limit on the cached parts of datasets that are too large for memory, for all releases
    /// together.
    pub part_cache_bytes: usize,
    /// Time that a request waits for the bytes of a record, or for its replay.
    pub trace_time: Duration,
    /// Limit on the bucket parts that are kept on disk.
    pub disk_cache_bytes: u64,
    /// A part whose decoded rows take at least this many bytes is read from a memory-mapped copy on
    /// disk. Structures derived from parts are kept in files from an eighth of this size.
    pub least_copied_bytes: usize,
    /// Maximum number of stream sockets, for all clients together.
    pub stream_sockets: usize,
    /// Memory for events that can be sent again; beyond this limit, the oldest events are dropped
    /// first.
    pub stream_bytes: usize,
    /// Number of events that may wait for a socket, and how long the queue may exceed this number.
    /// A daily index adds thousands of events at once.
    pub stream_queue: usize,
    pub stream_grace: Duration,
    /// Time without sent data after which a socket gets a heartbeat.
    pub stream_heartbeat: Duration,
    /// Time without received data, including answers to pings, after which a socket is closed.
    pub stream_silence: Duration,
    /// Time within which a client without a key in the upgrade request must send a key.
    pub stream_auth_time: Duration,
}

/// Server for the rate limits that several servers share.
#[derive(Clone)]
pub struct SharedLimitsSettings {
    /// URL of the server; may contain a password.
    pub url: String,
    pub when_unavailable: WhenUnavailable,
}

impl std::fmt::Debug for SharedLimitsSettings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("LimitsServer")
            .field("when_away", &self.when_unavailable)
            .finish_non_exhaustive()
    }
}

/// Behaviour while the shared rate limits are unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenUnavailable {
    /// Each server counts separately.
    Open,
    /// Requests are rejected.
    Closed,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            url_bytes: 4_096,
            header_count: 64,
            header_bytes: 16 * 1024,
            body_bytes: 64 * 1024,
            request_time: Duration::from_secs(30),
            simultaneous_requests: 1_024,
            requests_per_client: 256,
            max_list_rows: 1_000_000,
            connections: 4_096,
            connections_per_address: 256,
            head_time: Duration::from_secs(10),
            write_time: Duration::from_secs(30),
            bytes_in_flight: 256 << 20,
            bytes_in_flight_per_client: 64 << 20,
            least_counted_bytes: 16 << 10,
            retained_bytes: 512 << 20,
            part_cache_bytes: 512 << 20,
            trace_time: Duration::from_secs(20),
            disk_cache_bytes: 20 << 30,
            least_copied_bytes: 4 << 20,
            stream_sockets: 2_000,
            stream_bytes: 256 << 20,
            stream_queue: 1_000,
            stream_grace: Duration::from_secs(10),
            stream_heartbeat: Duration::from_secs(15),
            stream_silence: Duration::from_secs(90),
            stream_auth_time: Duration::from_secs(5),
        }
    }
}

impl ServeSettings {
    /// Returns the defaults: loopback, port 8080, channel `nightly`.
    pub fn new(home: PathBuf, plans: Plans) -> Self {
        Self {
            home,
            store_url: None,
            shared_limits: None,
            plans,
            tracer: None,
            snapshots: SnapshotAccess::Off,
            channel: "nightly".to_owned(),
            bind: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080),
            tls: None,
            is_behind_proxy: false,
            trusted_hops: 1,
            metrics_bind: None,
            public_url: None,
            contact: None,
            cors_origins: Vec::new(),
            pages: Pages::Public,
            templates: None,
            poll_interval: Duration::from_secs(2),
            drain_limit: Duration::from_secs(20),
            limits: Limits::default(),
        }
    }

    /// Returns the URL of this server: its public URL, or the address to which it is bound.
    pub fn own_url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        self.public_url
            .clone()
            .unwrap_or_else(|| format!("{scheme}://{}", self.bind))
    }

    /// Rejects settings that would send keys over an open network in plain text, or that cannot
    /// work.
    pub fn check(&self) -> Result<()> {
        if !self.bind.ip().is_loopback() && self.tls.is_none() && !self.is_behind_proxy {
            return Err(Error::config(format!("plain HTTP on {} would send API keys over the network unencrypted", self.bind))
                .hint("pass a certificate and key, bind to 127.0.0.1, or pass --behind-proxy if a proxy terminates TLS"));
        }
        if self.metrics_bind == Some(self.bind) && self.bind.port() != 0 {
            return Err(
                Error::config(format!("metrics and API cannot both be on {}", self.bind))
                    .hint("choose another port for metrics, or omit its address"),
            );
        }
        if self.trusted_hops == 0 {
            return Err(
                Error::config("the number of trusted proxies must be at least 1")
                    .hint("omit --behind-proxy if the server has no proxy"),
            );
        }
        if self.poll_interval.is_zero() {
            return Err(Error::config("the poll interval cannot be 0"));
        }
        if let Some(origin) = self
            .cors_origins
            .iter()
            .find(|origin| axum::http::HeaderValue::from_str(origin).is_err())
        {
            return Err(Error::config(format!(
                "`{origin}` is not a web origin such as https://example.org"
            )));
        }
        Ok(())
    }

    /// Reports whether the main address also serves `/metrics`. Behind a proxy it does not, because
    /// the proxy would expose the metrics to everyone.
    pub fn is_metrics_on_main(&self) -> bool {
        self.metrics_bind.is_none() && self.bind.ip().is_loopback() && !self.is_behind_proxy
    }

    /// Reports whether web pages in browsers on this machine can reach this server under a host
    /// name that they choose. TLS and proxies already check the host name of a request.
    pub fn is_reachable_by_local_browsers(&self) -> bool {
        self.bind.ip().is_loopback() && self.tls.is_none() && !self.is_behind_proxy
    }

    /// Returns the number of connections allowed for one address, or `None` behind a proxy.
    pub fn connections_per_address(&self) -> Option<usize> {
        (!self.is_behind_proxy).then_some(self.limits.connections_per_address)
    }
}
