//! Holds the state that all routes share.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::http::documents::{BoxedLazy, Document};
use super::http::openapi;
use super::http::paths::Paths;
use super::http::service::{Clock, Service};
use super::pages::Pages;
use super::release::freshness::freshness_of;
use super::routes;
use super::settings::ServeSettings;
use super::stream::{Stream, asyncapi};
use pubdata_core::contract::Contracts;
use pubdata_core::error::Result;
use pubdata_core::ids::ReleaseId;
use pubdata_store::monitor::{Readings, ReleaseFreshness, Watch};
use pubdata_store::{Home, Manifest};

/// State that all routes share.
pub struct Server {
    pub(super) service: Arc<Service>,
    pub(super) stream: Arc<Stream>,
    openapi_value: Arc<BoxedLazy<Value>>,
    openapi: OnceLock<Arc<Document>>,
    pub(super) asyncapi: Arc<Document>,
    pub(super) paths: Arc<Paths>,
    pub(super) pages: Arc<Pages>,
    /// Reader of the home's ledger, if the home has one.
    pub(super) watch: Watch,
}

impl Server {
    /// Prepares a server without a loaded release.
    pub fn new(settings: ServeSettings, contracts: Contracts, clock: Clock) -> Result<Arc<Self>> {
        let asyncapi = asyncapi::document(&contracts, &settings.limits, &settings.own_url());
        let service = Arc::new(Service::new(settings, contracts, clock, routes::loads())?);
        let paths = Arc::new(Paths::new(routes::endpoints()));
        let of = service.clone();
        let openapi_value: Arc<BoxedLazy<Value>> = Arc::new(BoxedLazy::new(Box::new(move || {
            let settings = &of.settings;
            openapi::document(
                &routes::FAMILIES,
                &of.contracts,
                settings.public_url.as_deref(),
                &settings.own_url(),
            )
        })));
        let pages = Arc::new(Pages::new(
            service.clone(),
            paths.clone(),
            openapi_value.clone(),
        )?);
        let watch = Watch::new(Home::open(&service.settings.home)?);
        Ok(Arc::new(Self {
            stream: Arc::new(Stream::new(service.clone())?),
            openapi_value,
            openapi: OnceLock::new(),
            asyncapi: Arc::new(json_document(&asyncapi)),
            service,
            paths,
            pages,
            watch,
        }))
    }

    /// Returns the OpenAPI document. Building the document takes some hundredths of a second, so
    /// loading a release does not wait for it.
    pub(super) fn openapi(&self) -> &Arc<Document> {
        self.openapi
            .get_or_init(|| Arc::new(json_document(&self.openapi_value)))
    }

    /// Follows the channel: loads its release and swaps it in if the channel has moved.
    ///
    /// # Errors
    /// `Store` if the channel or the release cannot be read; the current release stays in use.
    pub async fn refresh(&self) -> Result<Option<ReleaseId>> {
        self.service.refresh().await
    }

    /// Returns the metrics of the home and of the served release, or `None` if the ledger cannot be
    /// read. This call blocks.
    pub(super) fn readings(&self, manifest: Option<&Manifest>) -> Option<Readings> {
        let history = self
            .watch
            .history()
            .inspect_err(|error| tracing::warn!(%error, "cannot read the metrics of the runs"))
            .ok()?;
        let today = self.service.today();
        let release = manifest.map(|manifest| {
            let freshness = manifest
                .datasets
                .iter()
                .map(|(id, dataset)| (id.clone(), freshness_of(manifest, dataset, today).name()));
            ReleaseFreshness {
                channel: &self.service.settings.channel,
                manifest,
                freshness: freshness.collect(),
            }
        });
        Some(Readings::of_home(
            self.watch.home(),
            &history,
            release.as_ref(),
        ))
    }

    /// Reads the entries that the follower has added to the event log. A running server calls this
    /// function several times a second.
    ///
    /// # Errors
    /// `Store` if the log cannot be read; events read earlier stay available.
    pub async fn follow_log(&self) -> Result<()> {
        self.stream.look().await
    }
}

fn json_document(value: &Value) -> Document {
    Document::new(
        "application/json",
        serde_json::to_vec(value)
            .expect("a JSON value has a JSON form")
            .into(),
    )
}
