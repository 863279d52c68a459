//! How the server runs and what it allows at most, with defaults. Settings that would send keys in
//! the open are refused.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::tracer::Tracer;
use pubdata_core::error::{Error, Result};
use pubdata_store::Plans;

/// How the server runs. Everything but the home and the plans has a default.
#[derive(Debug, Clone)]
pub struct ServeSettings {
    pub home: PathBuf,
    /// Where releases lie when not in the home: `s3://bucket/prefix`.
    pub store_url: Option<String>,
    /// Buckets that several servers share; without them each server counts by itself.
    pub shared_limits: Option<LimitsServer>,
    pub plans: Plans,
    /// What looks at the publishers' files; none says so where they are asked for.
    pub tracer: Option<Arc<dyn Tracer>>,
    /// Whether publishers' files are handed out.
    pub snapshots: HandedOut,
    pub channel: String,
    pub bind: SocketAddr,
    pub tls: Option<TlsFiles>,
    /// A proxy in front ends TLS and sets `X-Forwarded-For`: plain HTTP may then be bound to any
    /// address.
    pub is_behind_proxy: bool,
    /// How many proxies, one behind the other, may be believed about where a request comes from.
    pub trusted_hops: usize,
    /// Address of `/metrics`; none serves it on the main address when that is loopback and no proxy
    /// stands in front.
    pub metrics_bind: Option<SocketAddr>,
    /// Address that callers use, such as `https://data.example.org`; none makes links relative.
    pub public_url: Option<String>,
    /// Whom to write to about what is served: an e-mail address, after a name or alone.
    pub contact: Option<String>,
    /// Web origins that scripts may call from; `*` is any.
    pub cors_origins: Vec<String>,
    /// Who may see the pages.
    pub pages: Pages,
    /// A folder with templates of the operator's own.
    pub templates: Option<PathBuf>,
    /// How often the channel is looked at.
    pub poll_interval: Duration,
    /// How long requests in progress may take when the server stops.
    pub drain_limit: Duration,
    pub limits: Limits,
}

/// Who may see the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// Everyone: what keys for people's data open, without one.
    Public,
    /// Holders of a key.
    Keyed,
    /// Nobody.
    Off,
}

/// Which of the publishers' files are handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandedOut {
    /// None.
    Off,
    /// Those that may be shown as they are, to keys; others to administrators.
    Public,
}

/// Certificate chain and private key, PEM.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Bounds on what one request, and all together, may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub url_bytes: usize,
    pub header_count: usize,
    pub header_bytes: usize,
    pub body_bytes: usize,
    pub request_time: Duration,
    pub simultaneous_requests: usize,
    /// Of those, the requests of one key, or of one address without a key.
    pub requests_of_client: usize,
    /// The most rows of a whole list.
    pub rows_of_list: usize,
    /// Open connections; fewer where the system gives fewer descriptors.
    pub connections: usize,
    /// Of those, connections from one address: not from this machine, and not behind a proxy, which
    /// stands for all.
    pub connections_of_address: usize,
    /// How long a client may take to shake hands, and to send the head of a request.
    pub head_time: Duration,
    /// How long a client may take nothing of what it is sent.
    pub write_time: Duration,
    /// Bytes of answers that clients have not taken yet, and those of one client.
    pub bytes_in_flight: usize,
    pub bytes_in_flight_of_client: usize,
    /// Answers that are smaller are not counted there: the bound on connections bounds them.
    pub least_counted_bytes: usize,
    /// Bound on the earlier releases kept in memory for `release` and `as_of`, all together; the
    /// last one asked for is kept in any case.
    pub retained_bytes: usize,
    /// Bound on the parts kept in memory of datasets that are too large to be kept as a whole, all
    /// releases together.
    pub part_cache_bytes: usize,
    /// How long one who asks for the bytes of a record, or to make it again, waits for it.
    pub trace_time: Duration,
    /// Bound on the parts of a bucket that are kept on disk.
    pub disk_cache_bytes: u64,
    /// Parts of which the decoded rows take as much are read from copies on disk, mapped into
    /// memory. What is made of parts is kept in files where these have an eighth of it.
    pub least_copied_bytes: usize,
    /// Sockets of the stream, of all clients together.
    pub stream_sockets: usize,
    /// Memory of the events that can be sent again; beyond, the oldest go first.
    pub stream_bytes: usize,
    /// Events that may wait for a socket, and how long more than these may: an index of a day
    /// brings thousands at once.
    pub stream_queue: usize,
    pub stream_grace: Duration,
    /// A socket on which nothing was sent for so long is sent a heartbeat.
    pub stream_heartbeat: Duration,
    /// A socket on which nothing came for so long, no answer to a ping either, is closed.
    pub stream_silence: Duration,
    /// How long a client without a key in the upgrade may take to send one.
    pub stream_auth_time: Duration,
}

/// Where the buckets of several servers are.
#[derive(Clone)]
pub struct LimitsServer {
    /// May hold a password.
    pub url: String,
    pub when_away: WhenAway,
}

impl std::fmt::Debug for LimitsServer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("LimitsServer")
            .field("when_away", &self.when_away)
            .finish_non_exhaustive()
    }
}

/// What holds while shared buckets cannot be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenAway {
    /// Each server counts by itself.
    Open,
    /// Requests are refused.
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
            requests_of_client: 256,
            rows_of_list: 1_000_000,
            connections: 4_096,
            connections_of_address: 256,
            head_time: Duration::from_secs(10),
            write_time: Duration::from_secs(30),
            bytes_in_flight: 256 << 20,
            bytes_in_flight_of_client: 64 << 20,
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
    /// The defaults: loopback, port 8080, channel `nightly`.
    pub fn new(home: PathBuf, plans: Plans) -> Self {
        Self {
            home,
            store_url: None,
            shared_limits: None,
            plans,
            tracer: None,
            snapshots: HandedOut::Off,
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

    /// Where this server can be asked: its public address, or the one that it is bound to.
    pub fn own_url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        self.public_url
            .clone()
            .unwrap_or_else(|| format!("{scheme}://{}", self.bind))
    }

    /// Refuses settings that would send keys over an open network in plain text, or that cannot
    /// work.
    ///
    /// # Errors
    /// `Config`, naming the setting and the way out.
    pub fn check(&self) -> Result<()> {
        if !self.bind.ip().is_loopback() && self.tls.is_none() && !self.is_behind_proxy {
            return Err(Error::config(format!("plain HTTP on {} would send API keys over the network in the open", self.bind))
                .hint("give a certificate and key, bind to 127.0.0.1, or say that a proxy in front ends TLS"));
        }
        if self.metrics_bind == Some(self.bind) && self.bind.port() != 0 {
            return Err(
                Error::config(format!("metrics and API cannot both be on {}", self.bind))
                    .hint("give metrics another port, or none"),
            );
        }
        if self.trusted_hops == 0 {
            return Err(Error::config("at least one proxy must be believed")
                .hint("leave --behind-proxy out when there is none"));
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

    /// Whether the main address also serves `/metrics`: not where a proxy would hand it to
    /// everyone.
    pub fn is_metrics_on_main(&self) -> bool {
        self.metrics_bind.is_none() && self.bind.ip().is_loopback() && !self.is_behind_proxy
    }

    /// Whether whatever the browsers of this machine show may ask this server under a name of its
    /// own: not where TLS or a proxy knows for which name a request is.
    pub fn is_reached_by_browsers_of_this_machine(&self) -> bool {
        self.bind.ip().is_loopback() && self.tls.is_none() && !self.is_behind_proxy
    }

    /// Connections that one address may have; none where a proxy stands for all.
    pub fn connections_of_address(&self) -> Option<usize> {
        (!self.is_behind_proxy).then_some(self.limits.connections_of_address)
    }
}
