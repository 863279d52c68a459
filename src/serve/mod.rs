//! Serves the `/v1` API over HTTP from one release in memory, read-only. Requests are answered from the release that was current
//! when they came; a new one is loaded beside it and swapped in. Knows releases, keys and contracts; never fetches, decodes or builds.

mod auth;
mod body;
mod call;
mod catalog;
mod cors;
mod cursor;
mod etag;
mod freshness;
mod front;
mod general;
mod geo;
mod index;
mod json;
mod listen;
mod metrics;
mod nearest;
mod openapi;
mod parameters;
mod parts;
mod problem;
mod provenance;
mod rate_limit;
mod router;
mod routes;
mod run;
mod sec;
mod settings;
mod stream;

use std::sync::Arc;

use axum::Router;
use jiff::Timestamp;
use jiff::civil::Date;
use tokio::sync::Semaphore;

pub use freshness::freshness_of_task;
pub use listen::serve;
pub use openapi::document as openapi_document;
pub use settings::{Limits, ServeSettings, TlsFiles};

use crate::contract::Contracts;
use crate::error::Result;
use crate::ids::ReleaseId;
use crate::store::{Copies, Home, Keys, Releases};
use auth::{Client, KeyRing};
use catalog::Catalog;
use metrics::Metrics;
use parts::Parts;
use rate_limit::RateLimiter;
use sec::Links;
use stream::Stream;

/// Tells the time; tests give their own.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Everything that requests share.
pub struct Service {
    settings: ServeSettings,
    contracts: Arc<Contracts>,
    catalog: Catalog,
    /// Parts that are read when they are asked for.
    parts: Arc<Parts>,
    links: Links,
    keys: KeyRing,
    limiter: RateLimiter,
    metrics: Metrics,
    stream: Stream,
    /// Permits for requests running at the same time.
    running: Semaphore,
    openapi: bytes::Bytes,
    clock: Clock,
}

impl Service {
    /// Prepares a server; no release is loaded yet.
    ///
    /// # Errors
    /// `Config`, when a setting is wrong; `Store`, when home or keys cannot be read.
    pub fn new(settings: ServeSettings, contracts: Contracts, clock: Clock) -> Result<Arc<Self>> {
        settings.check()?;
        let home = Home::open(&settings.home)?;
        let releases = Releases::open(&home, settings.store_url.as_deref())?;
        let openapi = serde_json::to_vec(&openapi::document(&contracts, settings.public_url.as_deref())).expect("a JSON value has a JSON form");
        let contracts = Arc::new(contracts);
        let copies = Copies::new(home.tables_dir(&settings.channel), settings.limits.least_copied_bytes);
        let parts = Arc::new(Parts::new(releases.clone(), copies, settings.limits.part_cache_bytes));
        let catalog = Catalog::new(releases, parts.clone(), contracts.clone(), &settings.channel, settings.limits.retained_releases);
        Ok(Arc::new(Self {
            links: Links::of(&contracts),
            contracts,
            catalog,
            parts,
            keys: KeyRing::new(Keys::open(&home), settings.plans.clone())?,
            limiter: RateLimiter::default(),
            metrics: Metrics::default(),
            stream: Stream::new(home, settings.limits.stream_sockets),
            running: Semaphore::new(settings.limits.simultaneous_requests),
            openapi: openapi.into(),
            clock,
            settings,
        }))
    }

    /// The router, for a server or a test.
    pub fn router(self: &Arc<Self>) -> Router {
        router::router(self)
    }

    /// Follows the channel: loads and swaps in its release when it has moved.
    ///
    /// # Errors
    /// `Store`, when channel or release cannot be read; what is served stays.
    pub async fn refresh(&self) -> Result<Option<ReleaseId>> {
        let outcome = self.catalog.refresh().await;
        if !matches!(outcome, Ok(None)) {
            self.metrics.record_load(outcome.is_ok());
        }
        outcome
    }

    /// Takes what a batch costs beyond one request.
    fn charge(&self, client: &Client, count: u64) -> problem::Result<()> {
        if count == 0 {
            return Ok(());
        }
        let allowance = self.limiter.take_many(client, count, self.now());
        if allowance.is_allowed { Ok(()) } else { Err(allowance.refusal()) }
    }

    /// Takes what the follower has added to the event log, as the server does by itself several times a second.
    ///
    /// # Errors
    /// `Store`, when the log cannot be read; what is known of it stays.
    pub async fn follow_log(self: &Arc<Self>) -> Result<()> {
        self.stream.look(self).await
    }

    fn now(&self) -> Timestamp {
        (self.clock)()
    }

    fn today(&self) -> Date {
        self.now().to_zoned(jiff::tz::TimeZone::UTC).date()
    }

    fn public_url(&self) -> &str {
        self.settings.public_url.as_deref().unwrap_or_default().trim_end_matches('/')
    }
}
