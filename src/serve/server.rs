//! The server as a whole: what its routes share.

use std::sync::Arc;

use bytes::Bytes;

use super::http::documents::Document;
use super::http::openapi;
use super::http::paths::Paths;
use super::http::service::{Clock, Service};
use super::pages::Pages;
use super::release::freshness::freshness_of;
use super::routes;
use super::settings::ServeSettings;
use super::stream::{Stream, asyncapi};
use crate::contract::Contracts;
use crate::error::Result;
use crate::ids::ReleaseId;
use crate::monitor::{OfRelease, Readings, Watch};
use crate::store::{Home, Manifest};

/// Everything that routes share.
pub struct Server {
    pub(super) service: Arc<Service>,
    pub(super) stream: Arc<Stream>,
    pub(super) openapi: Arc<Document>,
    pub(super) asyncapi: Arc<Document>,
    pub(super) paths: Arc<Paths>,
    pub(super) pages: Arc<Pages>,
    /// What the ledger of the home says, where it has one.
    pub(super) watch: Watch,
}

impl Server {
    /// Prepares a server; no release is loaded yet.
    ///
    /// # Errors
    /// `Config`, when a setting is wrong; `Store`, when home or keys cannot be read.
    pub fn new(settings: ServeSettings, contracts: Contracts, clock: Clock) -> Result<Arc<Self>> {
        let own_url = settings.own_url();
        let openapi = openapi::document(&routes::FAMILIES, &contracts, settings.public_url.as_deref(), &own_url);
        let asyncapi = asyncapi::document(&contracts, &settings.limits, &own_url);
        let document = |content_type, bytes| Arc::new(Document::new(content_type, bytes));
        let service = Arc::new(Service::new(settings, contracts, clock, routes::loads())?);
        let paths = Arc::new(Paths::new(routes::endpoints()));
        let written = Bytes::from(serde_json::to_vec(&openapi).expect("a JSON value has a JSON form"));
        let pages = Arc::new(Pages::new(service.clone(), paths.clone(), openapi)?);
        let watch = Watch::new(Home::open(&service.settings.home)?);
        Ok(Arc::new(Self {
            stream: Arc::new(Stream::new(service.clone())?),
            openapi: document("application/json", written),
            asyncapi: document("application/json", serde_json::to_vec(&asyncapi).expect("a JSON value has a JSON form").into()),
            service,
            paths,
            pages,
            watch,
        }))
    }

    /// Follows the channel: loads and swaps in its release when it has moved.
    ///
    /// # Errors
    /// `Store`, when channel or release cannot be read; what is served stays.
    pub async fn refresh(&self) -> Result<Option<ReleaseId>> {
        self.service.refresh().await
    }

    /// The numbers of the home and of the release that is served; none where the ledger cannot be read. Blocks.
    pub(super) fn readings(&self, manifest: Option<&Manifest>) -> Option<Readings> {
        let history = self.watch.history().inspect_err(|error| tracing::warn!(%error, "no numbers of the runs")).ok()?;
        let today = self.service.today();
        let release = manifest.map(|manifest| {
            let freshness = manifest.datasets.iter().map(|(id, dataset)| (id.clone(), freshness_of(manifest, dataset, today).name()));
            OfRelease { channel: &self.service.settings.channel, manifest, freshness: freshness.collect() }
        });
        Some(Readings::of_home(self.watch.home(), &history, release.as_ref()))
    }

    /// Takes what the follower has added to the event log, as the server does by itself several times a second.
    ///
    /// # Errors
    /// `Store`, when the log cannot be read; what is known of it stays.
    pub async fn follow_log(&self) -> Result<()> {
        self.stream.look().await
    }
}
