//! Holds the state that all requests share: releases, keys, limits, metrics and the clock.

use std::fs::Metadata;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::http::Method;
use axum::http::request::Parts;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;
use serde_json::Value;

use super::allowance::Allowance;
use super::auth::{Client, KeyRing};
use super::connections::Connections;
use super::free_requests::FreeRequestLog;
use super::metrics::Metrics;
use super::peer;
use super::problem;
use super::problem::{Code, Problem};
use super::quota::{Exhausted, Quota, QuotaGuard};
use super::rate_limit::RateLimiter;
use super::shared_work::{Bounds, SharedWork};
use super::usage::Usage;
use crate::http::shared_limits::SharedLimits;
use crate::release::catalog::Catalog;
use crate::release::loaded::Load;
use crate::release::part_cache::PartCache;
use crate::settings::{Pages, ServeSettings};
use pubdata_core::contract::Contracts;
use pubdata_core::error::Result;
use pubdata_core::ids::{Digest, Hasher, ReleaseId};
use pubdata_store::evidence::{ReplayView, ShownBytes};
use pubdata_store::{Copies, Home, Keys, PartFiles, Releases, Replica, redact_folders};

/// Function that returns the current time; tests supply their own.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Maximum number of concurrent table downloads, in total and per client.
const DOWNLOADS: usize = 32;
const DOWNLOADS_OF_CLIENT: usize = 4;
/// Limits for lookups. A lookup reads a few kilobytes; in an archive, it reads the member up to
/// those bytes.
const LOOKS: Bounds = Bounds {
    at_once: 4,
    waiting: 32,
    waiting_of_client: 8,
    kept: 0,
    patience: Duration::MAX,
};
/// Limits for receipts. A receipt hashes entire parts again. Results are not kept, because the log
/// grows.
const RECEIPTS: Bounds = Bounds {
    at_once: 2,
    waiting: 32,
    waiting_of_client: 8,
    kept: 0,
    patience: Duration::MAX,
};
/// Limits for replays. A replay reads sources and builds tables. Its result is small and depends
/// only on the release and the program.
const REPLAYS: Bounds = Bounds {
    at_once: 2,
    waiting: 12,
    waiting_of_client: 4,
    kept: 4_096,
    patience: Duration::MAX,
};

/// State that all requests share.
pub struct Service {
    pub settings: ServeSettings,
    pub contracts: Arc<Contracts>,
    pub catalog: Catalog,
    /// Cache of parts that are read on demand.
    pub parts: Arc<PartCache>,
    pub keys: KeyRing,
    pub limiter: RateLimiter,
    pub metrics: Metrics,
    /// Permits for concurrent requests, and a separate limit for requests without a key.
    pub running: Arc<Quota>,
    running_anonymous: Arc<Quota>,
    /// Permits for requests that wait for their bodies. Each such request holds a connection.
    awaited: Arc<Quota>,
    /// Permits for larger answers that clients have not read yet. Each such answer holds a
    /// connection.
    unread_answers: Arc<Quota>,
    /// Permits for tables that are produced while the client reads them. Each table keeps a part,
    /// or a page of a list, in memory until its client has read it.
    downloads: Arc<Quota>,
    /// Bytes of answers that clients have not read yet.
    pub in_flight: Arc<Quota>,
    /// Lookups of the publishers' bytes for records, and replays that rebuild records from them.
    pub looks: Arc<SharedWork<Vec<ShownBytes>>>,
    pub replays: Arc<SharedWork<ReplayView>>,
    /// Connections of the main address.
    pub connections: Arc<Connections>,
    /// Size of the channel's log when it was last read; 0 before the first read.
    pub log_size: AtomicU64,
    /// Computation of inclusion proofs for records.
    pub receipts: Arc<SharedWork<Value>>,
    /// Digest of the program's build and its contracts, which determine the format of answers.
    pub program: Digest,
    pub usage: Usage,
    /// Access-log limits for requests that cost no token.
    pub free_requests: FreeRequestLog,
    pub home: Home,
    /// Home that contains the keys and the event log: the local home, or its copy of the shared
    /// store.
    pub shared: Home,
    /// True if the last attempt to read the channel or its release failed.
    is_unreadable: AtomicBool,
    clock: Clock,
}

impl Service {
    /// Creates a service without a loaded release. `loads` contains the functions that read the
    /// data each family keeps in memory.
    ///
    /// # Errors
    /// `Config` if a setting is invalid; `Store` if the home or the keys cannot be read.
    pub fn new(
        settings: ServeSettings,
        contracts: Contracts,
        clock: Clock,
        loads: Vec<Load>,
    ) -> Result<Self> {
        settings.check()?;
        let home = Home::open(&settings.home)?;
        let releases = Releases::open(&home, settings.store_url.as_deref())?;
        let files = PartFiles::open(home.parts_dir(), settings.limits.disk_cache_bytes)?;
        let releases = releases.keeping(files);
        let shared = Replica::home_of(&home, releases.store())?;
        let contracts = Arc::new(contracts);
        let copies = Copies::new(
            home.tables_dir(&settings.channel),
            settings.limits.least_copied_bytes,
        );
        let program = program(
            &contracts,
            std::env::current_exe()
                .and_then(std::fs::metadata)
                .ok()
                .as_ref(),
        );
        let parts = Arc::new(PartCache::new(
            releases,
            copies,
            settings.limits.part_cache_bytes,
            program,
        ));
        let limits = settings.limits;
        let catalog = Catalog::new(
            parts.clone(),
            contracts.clone(),
            loads,
            &settings.channel,
            settings.limits.retained_bytes,
        );
        Ok(Self {
            program,
            usage: Usage::new(clock()),
            free_requests: FreeRequestLog::default(),
            contracts,
            catalog,
            parts,
            keys: KeyRing::new(Keys::open(&shared), settings.plans.clone())?,
            shared,
            limiter: RateLimiter::new(
                settings
                    .shared_limits
                    .as_ref()
                    .map(|limits| SharedLimits::new(&limits.url, limits.when_unavailable))
                    .transpose()?,
            ),
            metrics: Metrics::default(),
            running: Arc::new(Quota::new(
                limits.simultaneous_requests,
                limits.requests_per_client,
            )),
            running_anonymous: Arc::new(Quota::new(
                limits.simultaneous_requests.div_ceil(2),
                usize::MAX,
            )),
            awaited: Arc::new(Quota::new(usize::MAX, limits.requests_per_client)),
            unread_answers: Arc::new(Quota::new(usize::MAX, limits.requests_per_client)),
            downloads: Arc::new(Quota::new(DOWNLOADS, DOWNLOADS_OF_CLIENT)),
            in_flight: Arc::new(Quota::new(
                limits.bytes_in_flight,
                limits.bytes_in_flight_per_client,
            )),
            looks: Arc::new(SharedWork::new(Bounds {
                patience: limits.trace_time,
                ..LOOKS
            })),
            replays: Arc::new(SharedWork::new(Bounds {
                patience: limits.trace_time,
                ..REPLAYS
            })),
            connections: Arc::new(Connections::new(
                limits.connections,
                settings.connections_per_address(),
            )),
            log_size: AtomicU64::new(0),
            receipts: Arc::new(SharedWork::new(Bounds {
                patience: limits.trace_time,
                ..RECEIPTS
            })),
            home,
            is_unreadable: AtomicBool::new(false),
            clock,
            settings,
        })
    }

    /// Follows the channel: loads its release and swaps it in if the channel has moved.
    ///
    /// # Errors
    /// `Store` if the channel or the release cannot be read. The server keeps serving the current
    /// release.
    pub async fn refresh(&self) -> Result<Option<ReleaseId>> {
        let outcome = self.catalog.refresh().await;
        self.is_unreadable
            .store(outcome.is_err(), Ordering::Relaxed);
        if !matches!(outcome, Ok(None)) {
            self.metrics.record_load(outcome.is_ok());
        }
        outcome
    }

    /// Reports whether keys and events come from a store that other servers share.
    pub fn is_replica(&self) -> bool {
        self.shared.root() != self.home.root()
    }

    /// Returns the reason why the server is not ready while no release is loaded.
    pub fn why_not_ready(&self) -> &'static str {
        if self.is_unreadable.load(Ordering::Relaxed) {
            "the release cannot be read"
        } else {
            "no release yet"
        }
    }

    /// Removes this machine's folders from a build message, for untrusted clients.
    pub fn redact(&self, text: &str) -> String {
        let folders = [
            Some(self.home.root()),
            Some(self.settings.home.as_path()),
            self.catalog.releases().folder(),
        ];
        redact_folders(text, &folders.into_iter().flatten().collect::<Vec<_>>())
    }

    /// Takes the tokens that a batch costs in addition to its request.
    ///
    /// # Errors
    /// `rate_limited` if the client has too few tokens.
    pub fn charge(&self, client: &Client, count: u64) -> problem::Result<()> {
        if count == 0 {
            return Ok(());
        }
        let allowance = self.limiter.take_many(client, count, self.now());
        if allowance.is_allowed {
            Ok(())
        } else {
            Err(allowance.refusal())
        }
    }

    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    pub fn today(&self) -> Date {
        day_of(self.now())
    }

    pub fn public_url(&self) -> &str {
        self.settings
            .public_url
            .as_deref()
            .unwrap_or_default()
            .trim_end_matches('/')
    }

    /// Returns the URL of this server for documents that are read elsewhere. It comes from the
    /// settings, never from a request.
    pub fn own_url(&self) -> String {
        self.settings.own_url().trim_end_matches('/').to_owned()
    }

    /// Returns the public URL for an API path: the HTML page, or the `/v1` URL if pages are
    /// disabled.
    pub fn address_of(&self, path: &str) -> String {
        let prefix = if self.settings.pages == Pages::Off {
            "/v1"
        } else {
            ""
        };
        format!("{}{prefix}{path}", self.own_url())
    }

    /// Identifies the sender of a request and takes a token. Without a valid key, the token comes
    /// from the bucket of the address.
    pub async fn meter(&self, parts: &Parts, pays: &Payer, now: Timestamp) -> Metered {
        let address = || self.peer_address(parts);
        let known = match pays {
            Payer::Nobody if matches!(parts.method, Method::GET | Method::HEAD) => {
                let client = Arc::new(self.keys.anonymous(&address()));
                return Metered {
                    known: Ok(client.clone()),
                    allowance: Allowance::free(client.plan),
                    client,
                    is_free: true,
                };
            }
            Payer::Visitor(Some(key)) => self.keys.holder(key, now),
            Payer::Nobody | Payer::Caller | Payer::Visitor(None) => {
                self.keys.client(&parts.headers, address, now)
            }
        };
        let client = known
            .as_ref()
            .map_or_else(|_| Arc::new(self.keys.anonymous(&address())), Arc::clone);
        let allowance = match documentation_bucket(&client, parts) {
            Some(reader) => self.limiter.take(&reader, now).await,
            None => self.limiter.take(&client, now).await,
        };
        Metered {
            known,
            client,
            allowance,
            is_free: false,
        }
    }

    /// Takes a permit to answer a request. Requests without a key share half of the permits.
    ///
    /// # Errors
    /// `rate_limited` if no permit is free in total or for this client.
    pub fn run(&self, client: &Client) -> problem::Result<Running> {
        let refusal = |exhausted| match exhausted {
            Exhausted::ClientLimit => retry_later(
                "the client has reached its limit of concurrent requests; wait for one of them to finish",
            ),
            Exhausted::ServerLimit => retry_later(
                "the server has reached its limit of concurrent requests; try again in a second",
            ),
        };
        let place = self.running.take(&client.id, 1).map_err(refusal)?;
        let without_key = if client.scopes.is_empty() {
            Some(self.running_anonymous.take("", 1).map_err(refusal)?)
        } else {
            None
        };
        Ok(Running {
            _place: place,
            _without_key: without_key,
        })
    }

    /// Takes a permit to wait for the body of a client's request.
    ///
    /// # Errors
    /// `rate_limited` if the client has no free permit.
    pub fn await_body(&self, client: &Client) -> problem::Result<QuotaGuard> {
        self.awaited.take(&client.id, 1).map_err(|_| {
            retry_later(
                "the client has reached its limit of concurrent request bodies; finish one of them",
            )
        })
    }

    /// Takes a permit for a larger answer that the client has not read yet.
    ///
    /// # Errors
    /// `rate_limited` if the client has no free permit.
    pub fn hold_unread(&self, client: &Client) -> problem::Result<QuotaGuard> {
        self.unread_answers
            .take(&client.id, 1)
            .map_err(|_| retry_later("the client has too many unread answers; read them first"))
    }

    /// Takes a permit for a table download.
    ///
    /// # Errors
    /// `rate_limited` if no permit is free in total or for this client.
    pub fn download(&self, client: &Client) -> problem::Result<QuotaGuard> {
        self.downloads.take(&client.id, 1).map_err(|exhausted| match exhausted {
            Exhausted::ClientLimit => retry_later("the client has reached its limit of concurrent table downloads; finish one of them"),
            Exhausted::ServerLimit => {
                retry_later("the server has reached its limit of concurrent table downloads; try again later, or download parts as Parquet, or pages with `limit`")
            }
        })
    }

    /// Counts the bytes of an answer until the client has read them.
    ///
    /// # Errors
    /// `rate_limited` if too many bytes are unread.
    pub fn send(&self, client: &str, bytes: usize) -> problem::Result<QuotaGuard> {
        self.in_flight
            .take(client, bytes)
            .map_err(|exhausted| match exhausted {
                Exhausted::ClientLimit => retry_later(
                    "the client has too many unread bytes of earlier answers; read them first",
                ),
                Exhausted::ServerLimit => retry_later(
                    "slow clients have too many unread bytes of answers; try again in a second",
                ),
            })
    }

    /// Returns the name of the caller's address, as the trusted proxy reports it if one is
    /// configured.
    fn peer_address(&self, parts: &Parts) -> String {
        let connected = parts
            .extensions
            .get::<ConnectInfo<SocketAddr>>()
            .map(|info| info.0.ip());
        let forwarded = if self.settings.is_behind_proxy {
            peer::forwarded(&parts.headers, self.settings.trusted_hops)
        } else {
            None
        };
        forwarded
            .or(connected)
            .map_or_else(|| "unknown".to_owned(), peer::name)
    }
}

/// Permit for a request that is being answered. It is released when dropped.
#[derive(Debug)]
pub struct Running {
    _place: QuotaGuard,
    _without_key: Option<QuotaGuard>,
}

/// Client that pays a token for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payer {
    /// The request is free if it only reads. Health checks must always be answered, and page assets
    /// are a few identical bytes for all clients.
    Nobody,
    /// The holder of the key in the headers, or the address if the key is absent or invalid.
    Caller,
    /// The holder of the key in a page's cookie. If the cookie has no key, the payer is the same as
    /// for `Caller`.
    Visitor(Option<String>),
}

/// Returns a separate bucket for documentation requests. It has the same size as the client's own
/// bucket, so reading the documentation uses none of the client's tokens.
fn documentation_bucket(client: &Client, parts: &Parts) -> Option<Client> {
    let path = parts.uri.path();
    let is_page = matches!(parts.method, Method::GET | Method::HEAD)
        && (path == "/docs" || path.starts_with("/docs/") || path.starts_with("/problems/"));
    is_page.then(|| Client {
        id: format!("{} reading", client.id),
        ..client.clone()
    })
}

/// Sender of a request and its remaining allowance.
#[derive(Debug, Clone)]
pub struct Metered {
    /// The sender, or the reason why the key is not valid.
    pub known: problem::Result<Arc<Client>>,
    /// Client that the request counts for.
    pub client: Arc<Client>,
    pub allowance: Allowance,
    pub is_free: bool,
}

impl Metered {
    /// Reports whether the request took a token.
    pub fn is_paid(&self) -> bool {
        self.allowance.is_allowed && !self.is_free
    }
}

/// Returns the UTC day of an instant.
pub fn day_of(now: Timestamp) -> Date {
    Offset::UTC.to_datetime(now).date()
}

fn retry_later(detail: &str) -> Problem {
    Problem {
        retry_after: Some(1),
        ..Problem::new(Code::RateLimited, detail)
    }
}

/// Returns the digest of the program and its contracts. Two builds of one version differ in the
/// file's size or modification time.
fn program(contracts: &Contracts, executable: Option<&Metadata>) -> Digest {
    let mut hasher = Hasher::default();
    hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
    if let Some(file) = executable {
        hasher.update(format!("{} {:?}", file.len(), file.modified().ok()).as_bytes());
    }
    hasher.update(&serde_json::to_vec(contracts).expect("contracts are plain data"));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_distinguished_by_their_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &str| {
            std::fs::write(folder.path().join(name), content).unwrap();
            folder.path().join(name).metadata().unwrap()
        };
        let contracts = Contracts::new();
        let (one, other) = (file("one", "a program"), file("other", "a newer program"));
        assert_eq!(
            program(&contracts, Some(&one)),
            program(&contracts, Some(&one))
        );
        assert_ne!(
            program(&contracts, Some(&one)),
            program(&contracts, Some(&other))
        );
        assert_ne!(program(&contracts, Some(&one)), program(&contracts, None));
    }
}
