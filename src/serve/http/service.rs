//! What all requests share: releases, keys, limits, metrics, and the clock.

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
use super::metrics::Metrics;
use super::peer;
use super::problem;
use super::problem::{Code, Problem};
use super::rate_limit::RateLimiter;
use super::shared_work::{Bounds, SharedWork};
use super::shares::{Exhausted, Share, Shares};
use super::unpaid::Unpaid;
use super::usage::Usage;
use crate::http::shared_limits::SharedLimits;
use crate::release::catalog::Catalog;
use crate::release::loaded::Load;
use crate::release::part_cache::PartCache;
use crate::settings::{Pages, ServeSettings};
use pubdata_core::contract::Contracts;
use pubdata_core::error::Result;
use pubdata_core::ids::{Digest, Hasher, ReleaseId};
use pubdata_store::evidence::{ShownBytes, ToldReplay};
use pubdata_store::{Copies, Home, Keys, PartFiles, Releases, Replica, without_folders};

/// Tells the time; tests give their own.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The most tables that are made at the same time, and those of one client.
const DOWNLOADS: usize = 32;
const DOWNLOADS_OF_CLIENT: usize = 4;
/// A look reads a few kilobytes, or an archive's member up to them.
const LOOKS: Bounds = Bounds {
    at_once: 4,
    waiting: 32,
    waiting_of_client: 8,
    kept: 0,
    patience: Duration::MAX,
};
/// A receipt hashes whole parts again. The log grows beneath what came of it.
const RECEIPTS: Bounds = Bounds {
    at_once: 2,
    waiting: 32,
    waiting_of_client: 8,
    kept: 0,
    patience: Duration::MAX,
};
/// A replay reads sources and builds tables. What came of it is small, and the same for as long as
/// release and program are.
const REPLAYS: Bounds = Bounds {
    at_once: 2,
    waiting: 12,
    waiting_of_client: 4,
    kept: 4_096,
    patience: Duration::MAX,
};

/// Everything that requests share.
pub struct Service {
    pub settings: ServeSettings,
    pub contracts: Arc<Contracts>,
    pub catalog: Catalog,
    /// Parts that are read when they are asked for.
    pub parts: Arc<PartCache>,
    pub keys: KeyRing,
    pub limiter: RateLimiter,
    pub metrics: Metrics,
    /// Requests that are being answered at the same time, and of those the ones without a key.
    pub running: Arc<Shares>,
    running_without_key: Arc<Shares>,
    /// Requests whose bodies are awaited: each holds a connection.
    awaited: Arc<Shares>,
    /// Larger answers that clients have not taken yet: each holds a connection.
    untaken: Arc<Shares>,
    /// Tables that are made while they are taken: each keeps a part, or a page of a list, in memory
    /// for as long as its client likes.
    downloads: Arc<Shares>,
    /// Bytes of answers that are not taken yet.
    pub in_flight: Arc<Shares>,
    /// Looking at the publishers' bytes of records, and making records again from them.
    pub looks: Arc<SharedWork<Vec<ShownBytes>>>,
    pub replays: Arc<SharedWork<ToldReplay>>,
    /// Connections of the main address.
    pub connections: Arc<Connections>,
    /// How long the channel's log was when somebody last asked for it; 0 before.
    pub log_size: AtomicU64,
    /// Issuing receipts of records.
    pub receipts: Arc<SharedWork<Value>>,
    /// What decides the form of answers: the program's build and its contracts.
    pub program: Digest,
    pub usage: Usage,
    /// Requests that cost no token, as far as the log is concerned.
    pub unpaid: Unpaid,
    pub home: Home,
    /// Where keys and event log are: the home, or its copy of what machines share.
    pub shared: Home,
    /// Whether the channel or its release could not be read when it was looked at last.
    is_unreadable: AtomicBool,
    clock: Clock,
}

impl Service {
    /// Prepares a service; no release is loaded yet. `loads` read what each family keeps of one.
    ///
    /// # Errors
    /// `Config`, when a setting is wrong; `Store`, when home or keys cannot be read.
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
            unpaid: Unpaid::default(),
            contracts,
            catalog,
            parts,
            keys: KeyRing::new(Keys::open(&shared), settings.plans.clone())?,
            shared,
            limiter: RateLimiter::new(
                settings
                    .shared_limits
                    .as_ref()
                    .map(|limits| SharedLimits::new(&limits.url, limits.when_away))
                    .transpose()?,
            ),
            metrics: Metrics::default(),
            running: Arc::new(Shares::new(
                limits.simultaneous_requests,
                limits.requests_of_client,
            )),
            running_without_key: Arc::new(Shares::new(
                limits.simultaneous_requests.div_ceil(2),
                usize::MAX,
            )),
            awaited: Arc::new(Shares::new(usize::MAX, limits.requests_of_client)),
            untaken: Arc::new(Shares::new(usize::MAX, limits.requests_of_client)),
            downloads: Arc::new(Shares::new(DOWNLOADS, DOWNLOADS_OF_CLIENT)),
            in_flight: Arc::new(Shares::new(
                limits.bytes_in_flight,
                limits.bytes_in_flight_of_client,
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
                settings.connections_of_address(),
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

    /// Follows the channel: loads and swaps in its release when it has moved.
    ///
    /// # Errors
    /// `Store`, when channel or release cannot be read; what is served stays.
    pub async fn refresh(&self) -> Result<Option<ReleaseId>> {
        let outcome = self.catalog.refresh().await;
        self.is_unreadable
            .store(outcome.is_err(), Ordering::Relaxed);
        if !matches!(outcome, Ok(None)) {
            self.metrics.record_load(outcome.is_ok());
        }
        outcome
    }

    /// Whether keys and events are those of a store that other servers share.
    pub fn is_replica(&self) -> bool {
        self.shared.root() != self.home.root()
    }

    /// Why nothing can be answered while no release is loaded.
    pub fn why_not_ready(&self) -> &'static str {
        if self.is_unreadable.load(Ordering::Relaxed) {
            "the release cannot be read"
        } else {
            "no release yet"
        }
    }

    /// A text of a build as strangers may read it: without the folders of this machine.
    pub fn told(&self, text: &str) -> String {
        let folders = [
            Some(self.home.root()),
            Some(self.settings.home.as_path()),
            self.catalog.releases().folder(),
        ];
        without_folders(text, &folders.into_iter().flatten().collect::<Vec<_>>())
    }

    /// Takes what a batch costs beyond one request.
    ///
    /// # Errors
    /// `rate_limited`, when the client has not enough tokens.
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

    /// Where this server can be asked, for documents that are read elsewhere: as it was told, never
    /// as a request says.
    pub fn own_url(&self) -> String {
        self.settings.own_url().trim_end_matches('/').to_owned()
    }

    /// Where a person sees what `/v1` says at the path: on a page, or there where there are no
    /// pages.
    pub fn address_of(&self, path: &str) -> String {
        let prefix = if self.settings.pages == Pages::Off {
            "/v1"
        } else {
            ""
        };
        format!("{}{prefix}{path}", self.own_url())
    }

    /// Finds who sends a request and takes a token from the bucket, which is that of the address
    /// when the key is not valid.
    pub async fn meter(&self, parts: &Parts, pays: &Pays, now: Timestamp) -> Metered {
        let address = || self.peer_address(parts);
        let known = match pays {
            Pays::Nobody if matches!(parts.method, Method::GET | Method::HEAD) => {
                let client = Arc::new(self.keys.anonymous(&address()));
                return Metered {
                    known: Ok(client.clone()),
                    allowance: Allowance::free(client.plan),
                    client,
                    is_free: true,
                };
            }
            Pays::Visitor(Some(key)) => self.keys.holder(key, now),
            Pays::Nobody | Pays::Caller | Pays::Visitor(None) => {
                self.keys.client(&parts.headers, address, now)
            }
        };
        let client = known
            .as_ref()
            .map_or_else(|_| Arc::new(self.keys.anonymous(&address())), Arc::clone);
        let allowance = match bucket_of_documentation(&client, parts) {
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

    /// Takes a place among the requests that are being answered. Those without a key have half of
    /// the places together.
    ///
    /// # Errors
    /// `rate_limited`, when there is none, or none more for this client.
    pub fn run(&self, client: &Client) -> problem::Result<Running> {
        let refusal = |exhausted| match exhausted {
            Exhausted::OfClient => come_again(
                "as many requests of this client are being answered as may be at once; wait for one of them",
            ),
            Exhausted::OfServer => {
                come_again("the server answers as many requests as it can; try again in a second")
            }
        };
        let place = self.running.take(&client.id, 1).map_err(refusal)?;
        let without_key = if client.scopes.is_empty() {
            Some(self.running_without_key.take("", 1).map_err(refusal)?)
        } else {
            None
        };
        Ok(Running {
            _place: place,
            _without_key: without_key,
        })
    }

    /// Takes a place among the requests of a client whose bodies are awaited.
    ///
    /// # Errors
    /// `rate_limited`, when there is none more.
    pub fn await_body(&self, client: &Client) -> problem::Result<Share> {
        self.awaited.take(&client.id, 1).map_err(|_| {
            come_again(
                "too many bodies of this client's requests are under way; finish one of them",
            )
        })
    }

    /// Takes a place among the larger answers that a client has not taken yet.
    ///
    /// # Errors
    /// `rate_limited`, when there is none more.
    pub fn leave_untaken(&self, client: &Client) -> problem::Result<Share> {
        self.untaken.take(&client.id, 1).map_err(|_| {
            come_again("too many earlier answers wait to be taken by this client; read them first")
        })
    }

    /// Takes a place among the tables that are being taken.
    ///
    /// # Errors
    /// `rate_limited`, when there is none, or none more for this client.
    pub fn download(&self, client: &Client) -> problem::Result<Share> {
        self.downloads.take(&client.id, 1).map_err(|exhausted| match exhausted {
            Exhausted::OfClient => come_again("as many tables as may be are being taken by this client; finish one of them"),
            Exhausted::OfServer => {
                come_again("as many tables as may be are being taken; try again in a while, or take parts as Parquet, or pages with `limit`")
            }
        })
    }

    /// Counts the bytes of an answer until they are taken.
    ///
    /// # Errors
    /// `rate_limited`, when too many wait to be taken already.
    pub fn send(&self, client: &str, bytes: usize) -> problem::Result<Share> {
        self.in_flight.take(client, bytes).map_err(|exhausted| match exhausted {
            Exhausted::OfClient => come_again("too many bytes of earlier answers wait to be taken by this client; read them first"),
            Exhausted::OfServer => come_again("too many bytes of answers wait to be taken by slow clients; try again in a second"),
        })
    }

    /// The name of the caller's address: the proxy's word for it when there is one in front.
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

/// A place among the requests that are being answered; given back when dropped.
#[derive(Debug)]
pub struct Running {
    _place: Share,
    _without_key: Option<Share>,
}

/// Who pays for a request with a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pays {
    /// Nobody where it only reads: whether the server is there must always be told, and what all
    /// pages need is the same few bytes for all.
    Nobody,
    /// Whoever the headers name by a key, else the address.
    Caller,
    /// The holder of the key that a page's cookie keeps; without one as `Caller`.
    Visitor(Option<String>),
}

/// The bucket, as large as the client's own, that is for reading the documentation: who looks a
/// call up still has the requests for it.
fn bucket_of_documentation(client: &Client, parts: &Parts) -> Option<Client> {
    let path = parts.uri.path();
    let is_page = matches!(parts.method, Method::GET | Method::HEAD)
        && (path == "/docs" || path.starts_with("/docs/") || path.starts_with("/problems/"));
    is_page.then(|| Client {
        id: format!("{} reading", client.id),
        ..client.clone()
    })
}

/// Who sends a request and what is left to them.
#[derive(Debug, Clone)]
pub struct Metered {
    /// The sender, or why the key is not valid.
    pub known: problem::Result<Arc<Client>>,
    /// Who it counts for.
    pub client: Arc<Client>,
    pub allowance: Allowance,
    pub is_free: bool,
}

impl Metered {
    /// Whether a token was taken for it.
    pub fn is_paid(&self) -> bool {
        self.allowance.is_allowed && !self.is_free
    }
}

/// The day of an instant, UTC.
pub fn day_of(now: Timestamp) -> Date {
    Offset::UTC.to_datetime(now).date()
}

fn come_again(detail: &str) -> Problem {
    Problem {
        retry_after: Some(1),
        ..Problem::new(Code::RateLimited, detail)
    }
}

/// Names the program and the contracts that it was started with. Of two builds of one version the
/// file has another length or time.
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
    fn programs_are_told_apart_by_their_file() {
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
