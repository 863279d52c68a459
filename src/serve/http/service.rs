//! What all requests share: releases, keys, limits, metrics, and the clock.

use std::fs::Metadata;
use std::sync::Arc;

use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use jiff::Timestamp;
use jiff::civil::Date;
use tokio::sync::Semaphore;

use super::auth::{Client, KeyRing};
use super::metrics::Metrics;
use super::problem;
use super::rate_limit::RateLimiter;
use super::usage::Usage;
use crate::contract::Contracts;
use crate::error::Result;
use crate::ids::{Digest, Hasher, ReleaseId};
use crate::serve::release::catalog::Catalog;
use crate::serve::release::loaded::Load;
use crate::serve::release::part_cache::PartCache;
use crate::serve::settings::ServeSettings;
use crate::store::{Copies, Home, Keys, Releases, without_folders};

/// Tells the time; tests give their own.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

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
    /// What decides the form of answers: the program's build and its contracts.
    pub program: Digest,
    pub usage: Usage,
    /// Permits for requests running at the same time.
    pub running: Semaphore,
    pub home: Home,
    clock: Clock,
}

impl Service {
    /// Prepares a service; no release is loaded yet. `loads` read what each family keeps of one.
    ///
    /// # Errors
    /// `Config`, when a setting is wrong; `Store`, when home or keys cannot be read.
    pub fn new(settings: ServeSettings, contracts: Contracts, clock: Clock, loads: Vec<Load>) -> Result<Self> {
        settings.check()?;
        let home = Home::open(&settings.home)?;
        let releases = Releases::open(&home, settings.store_url.as_deref())?;
        let contracts = Arc::new(contracts);
        let copies = Copies::new(home.tables_dir(&settings.channel), settings.limits.least_copied_bytes);
        let parts = Arc::new(PartCache::new(releases, copies, settings.limits.part_cache_bytes));
        let catalog = Catalog::new(parts.clone(), contracts.clone(), loads, &settings.channel, settings.limits.retained_bytes);
        Ok(Self {
            program: program(&contracts, std::env::current_exe().and_then(std::fs::metadata).ok().as_ref()),
            usage: Usage::new(clock()),
            contracts,
            catalog,
            parts,
            keys: KeyRing::new(Keys::open(&home), settings.plans.clone())?,
            limiter: RateLimiter::default(),
            metrics: Metrics::default(),
            running: Semaphore::new(settings.limits.simultaneous_requests),
            home,
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
        if !matches!(outcome, Ok(None)) {
            self.metrics.record_load(outcome.is_ok());
        }
        outcome
    }

    /// A text of a build as strangers may read it: without the folders of this machine.
    pub fn told(&self, text: &str) -> String {
        let folders = [Some(self.home.root()), Some(self.settings.home.as_path()), self.catalog.releases().folder()];
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
        if allowance.is_allowed { Ok(()) } else { Err(allowance.refusal()) }
    }

    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    pub fn today(&self) -> Date {
        self.now().to_zoned(jiff::tz::TimeZone::UTC).date()
    }

    pub fn public_url(&self) -> &str {
        self.settings.public_url.as_deref().unwrap_or_default().trim_end_matches('/')
    }

    /// The caller's address: the proxy's word for it when there is one in front.
    pub fn peer_address(&self, parts: &Parts) -> String {
        let forwarded = || parts.headers.get("x-forwarded-for")?.to_str().ok()?.rsplit(',').next().map(|address| address.trim().chars().take(64).collect());
        let connected = || parts.extensions.get::<ConnectInfo<std::net::SocketAddr>>().map(|info| info.0.ip().to_string());
        let from_proxy = if self.settings.is_behind_proxy { forwarded() } else { None };
        from_proxy.or_else(connected).unwrap_or_else(|| "unknown".to_owned())
    }
}

/// Names the program and the contracts that it was started with. Of two builds of one version the file has another length or time.
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
        assert_eq!(program(&contracts, Some(&one)), program(&contracts, Some(&one)));
        assert_ne!(program(&contracts, Some(&one)), program(&contracts, Some(&other)));
        assert_ne!(program(&contracts, Some(&one)), program(&contracts, None));
    }
}
