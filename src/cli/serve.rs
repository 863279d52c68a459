//! `pubdata serve`: converts flags and environment variables into the server's settings, and runs
//! the server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::Global;
use pubdata_core::error::{Error, Result};
use pubdata_core::pipeline::Declarations;
use pubdata_serve::{
    self as serve, Limits, Pages, ServeSettings, SharedLimitsSettings, SnapshotAccess, TlsFiles,
    WhenUnavailable,
};
use pubdata_store::Plans;

#[derive(Args)]
pub(super) struct ServeArgs {
    /// Address on which the API is served.
    #[arg(long, env = "PUBDATA_BIND", default_value = "127.0.0.1:8080", value_parser = address, value_name = "ADDRESS:PORT")]
    bind: SocketAddr,
    /// Channel to serve. New releases on the channel are loaded without a restart.
    #[arg(long, default_value = "nightly")]
    channel: String,
    /// Certificate chain (PEM); enables HTTPS together with --tls-key.
    #[arg(
        long,
        env = "PUBDATA_TLS_CERT",
        requires = "tls_key",
        value_name = "FILE"
    )]
    tls_cert: Option<PathBuf>,
    /// Private key (PEM).
    #[arg(
        long,
        env = "PUBDATA_TLS_KEY",
        requires = "tls_cert",
        value_name = "FILE"
    )]
    tls_key: Option<PathBuf>,
    /// States that a proxy in front terminates TLS. Allows plain HTTP on any address.
    #[arg(long, env = "PUBDATA_BEHIND_PROXY")]
    behind_proxy: bool,
    /// Number of trusted proxies in a row (entries of X-Forwarded-For, counted from the right).
    #[arg(long, env = "PUBDATA_TRUSTED_HOPS", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16), value_name = "N")]
    trusted_hops: u8,
    /// Maximum number of open connections; lower if the system allows fewer file descriptors. At
    /// the limit, the connection that has waited longest for its client is closed.
    #[arg(long, env = "PUBDATA_MAX_CONNECTIONS", default_value_t = 4_096, value_parser = clap::value_parser!(u32).range(16..=1_000_000), value_name = "N")]
    max_connections: u32,
    /// Maximum number of connections from one address or IPv6 /64 network. Does not apply to
    /// connections from this machine or with --behind-proxy.
    #[arg(long, env = "PUBDATA_MAX_CONNECTIONS_PER_ADDRESS", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=1_000_000), value_name = "N")]
    max_connections_per_address: u32,
    /// Timeout for the TLS handshake and for request headers.
    #[arg(long, env = "PUBDATA_HEAD_SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=600), value_name = "SECONDS")]
    head_seconds: u16,
    /// Timeout after which a connection is closed if the client does not read the response.
    #[arg(long, env = "PUBDATA_WRITE_SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=600), value_name = "SECONDS")]
    write_seconds: u16,
    /// Maximum amount of unread response data for all clients together. A single client may use a
    /// quarter of it.
    #[arg(long, env = "PUBDATA_MAX_IN_FLIGHT_MB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(16..=65_536), value_name = "MIB")]
    max_in_flight_mb: u32,
    /// Size of the cache in HOME/state/parts for parts from a bucket (--store). As many parts as
    /// fit are fetched before a release is served.
    #[arg(long, env = "PUBDATA_DISK_CACHE_GB", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=1_000_000), value_name = "GIB")]
    disk_cache_gb: u32,
    /// Redis or Valkey server for rate limits that all servers of a store share, such as
    /// redis://10.0.0.5:6379.
    #[arg(
        long,
        env = "PUBDATA_LIMITS",
        hide_env_values = true,
        value_name = "URL"
    )]
    limits: Option<String>,
    /// If that server is unavailable: with `open`, each server counts by itself; with `closed`,
    /// requests are refused.
    #[arg(long, env = "PUBDATA_LIMITS_WHEN_AWAY", default_value = "open", value_parser = ["open", "closed"], value_name = "WORD")]
    limits_when_away: String,
    /// Downloads of publishers' files from /v1/snapshots. With `public`, keys give access to the
    /// files without personal data, and keys with the scope `admin` give access to all files.
    #[arg(long, env = "PUBDATA_SNAPSHOTS", default_value = "off", value_parser = ["off", "public"], value_name = "WORD")]
    snapshots: String,
    /// Address of /metrics; default: the API's address, if it is a loopback address and no proxy is
    /// in front.
    #[arg(long, env = "PUBDATA_METRICS_BIND", value_parser = address, value_name = "ADDRESS:PORT")]
    metrics_bind: Option<SocketAddr>,
    /// URL that clients use, such as https://data.example.org. Used for links in responses, and as
    /// an accepted host name, besides localhost, for pages on loopback.
    #[arg(long, env = "PUBDATA_PUBLIC_URL", value_name = "URL")]
    public_url: Option<String>,
    /// Contact for data catalogs: an e-mail address, optionally preceded by a name.
    #[arg(long, env = "PUBDATA_CONTACT", value_name = "ADDRESS")]
    contact: Option<String>,
    /// Web origins allowed to call the API (CORS); `*` allows any.
    #[arg(
        long,
        env = "PUBDATA_CORS_ORIGINS",
        value_delimiter = ',',
        value_name = "ORIGIN"
    )]
    cors_origin: Vec<String>,
    /// Readers of the pages: with `public`, everyone; with `keyed`, holders of a key; with `off`,
    /// no one. Default: `public` on a loopback address, otherwise `keyed`.
    #[arg(long, env = "PUBDATA_PAGES", value_parser = ["public", "keyed", "off"], value_name = "WHO")]
    pages: Option<String>,
    /// Folder with page templates that override the built-in ones by name.
    #[arg(long, env = "PUBDATA_TEMPLATES", value_name = "DIR")]
    templates: Option<PathBuf>,
    /// Number of seconds between checks for a new release.
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS")]
    poll_seconds: f64,
}

/// Parses an address with its port. The error message says which part is missing.
fn address(text: &str) -> std::result::Result<SocketAddr, String> {
    let like = match (
        text.parse::<u16>(),
        text.strip_prefix(':').unwrap_or(text).parse::<u16>(),
        text.parse::<std::net::IpAddr>(),
    ) {
        (Ok(port), ..) | (_, Ok(port), _) => {
            format!("; `127.0.0.1:{port}` is that port, for this machine only")
        }
        (.., Ok(std::net::IpAddr::V4(address))) => {
            format!("; it lacks its port, as in `{address}:8080`")
        }
        (.., Ok(std::net::IpAddr::V6(address))) => {
            format!("; it lacks its port, as in `[{address}]:8080`")
        }
        _ if text.starts_with("localhost") => format!(
            "; `{}` is that machine",
            text.replacen("localhost", "127.0.0.1", 1)
        ),
        _ => String::new(),
    };
    text.parse()
        .map_err(|_| format!("an IP address and a port are needed, such as 127.0.0.1:8080{like}"))
}

impl ServeArgs {
    fn pages(&self) -> Pages {
        match self.pages.as_deref() {
            Some("public") => Pages::Public,
            Some("keyed") => Pages::Keyed,
            Some(_) => Pages::Off,
            None if self.bind.ip().is_loopback() && !self.behind_proxy => Pages::Public,
            None => Pages::Keyed,
        }
    }

    fn limits(&self) -> Limits {
        let bytes_in_flight = (self.max_in_flight_mb as usize) << 20;
        Limits {
            connections: self.max_connections as usize,
            connections_per_address: self.max_connections_per_address as usize,
            head_time: Duration::from_secs(u64::from(self.head_seconds)),
            write_time: Duration::from_secs(u64::from(self.write_seconds)),
            bytes_in_flight,
            bytes_in_flight_per_client: bytes_in_flight / 4,
            disk_cache_bytes: u64::from(self.disk_cache_gb) << 30,
            ..Limits::default()
        }
    }
}

pub(super) async fn serve(global: &Global, arguments: &ServeArgs) -> Result<ExitCode> {
    let files = global.files()?;
    let plans = Plans::load(&files)?;
    let declarations = Declarations::load(files)?;
    let contracts = declarations.contracts.clone();
    let tracer = global.tracer(declarations, &arguments.channel)?;
    let poll_interval = Duration::try_from_secs_f64(arguments.poll_seconds);
    let settings = ServeSettings {
        tracer: Some(Arc::new(tracer)),
        snapshots: if arguments.snapshots == "public" {
            SnapshotAccess::Public
        } else {
            SnapshotAccess::Off
        },
        store_url: global.store.clone(),
        shared_limits: arguments.limits.clone().map(|url| SharedLimitsSettings {
            url,
            when_unavailable: if arguments.limits_when_away == "open" {
                WhenUnavailable::Open
            } else {
                WhenUnavailable::Closed
            },
        }),
        channel: arguments.channel.clone(),
        bind: arguments.bind,
        tls: arguments
            .tls_cert
            .clone()
            .zip(arguments.tls_key.clone())
            .map(|(certificate, key)| TlsFiles { certificate, key }),
        is_behind_proxy: arguments.behind_proxy,
        trusted_hops: usize::from(arguments.trusted_hops),
        limits: arguments.limits(),
        metrics_bind: arguments.metrics_bind,
        public_url: arguments.public_url.clone(),
        contact: arguments.contact.clone(),
        cors_origins: arguments.cors_origin.clone(),
        pages: arguments.pages(),
        templates: arguments.templates.clone(),
        poll_interval: poll_interval.map_err(|_| {
            Error::config(format!(
                "{} is not a number of seconds",
                arguments.poll_seconds
            ))
        })?,
        ..ServeSettings::new(global.home.clone(), plans)
    };
    serve::serve(settings, contracts).await?;
    Ok(ExitCode::SUCCESS)
}
