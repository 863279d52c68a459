//! Starts a server on the fixtures' release.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use pubdata::cli::HomeTracer;
use pubdata_core::contract::Contracts;
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::Declarations;
use pubdata_serve::{Api, ServeSettings, Server};
use pubdata_store::{Home, Keys, NewInvitation, NewKey, Plans, Scope};
use serde_json::Value;
use tower::ServiceExt;

use super::schema::hold;
use super::{Answer, read};
use pubdata_testing::Place;

pub struct Served {
    pub place: Place,
    pub home: Home,
    pub service: Arc<Server>,
    pub router: Api,
    pub key: String,
    pub contracts: Contracts,
}

impl Served {
    pub async fn new() -> Self {
        Self::start(Place::published()).await
    }

    /// A server on the release of a place that has published.
    pub async fn start(place: Place) -> Self {
        Self::with(place, |_| {}).await
    }

    /// The same with changed settings.
    pub async fn with(place: Place, change: impl FnOnce(&mut ServeSettings)) -> Self {
        let files = DeclarationFiles::built_in();
        let (plans, contracts) = (
            Plans::load(&files).unwrap(),
            Declarations::load(files).unwrap().contracts,
        );
        let (home, key) = (
            Home::open(&place.home()).unwrap(),
            create_key(&place, &plans, &Scope::ALL),
        );
        let tracer = HomeTracer(pubdata_testing::settings(
            &place.home(),
            Vec::new(),
            DeclarationFiles::built_in(),
        ));
        let mut settings = ServeSettings {
            tracer: Some(Arc::new(tracer)),
            ..ServeSettings::new(place.home(), plans)
        };
        change(&mut settings);
        let service =
            Server::new(settings, contracts.clone(), Arc::new(jiff::Timestamp::now)).unwrap();
        service.refresh().await.unwrap();
        Self {
            home,
            router: service.api(),
            service,
            place,
            key,
            contracts,
        }
    }

    /// Creates another key for the server.
    pub fn key_of(&self, scopes: &[Scope]) -> String {
        create_key(
            &self.place,
            &Plans::load(&DeclarationFiles::built_in()).unwrap(),
            scopes,
        )
    }

    /// Creates an invitation for the server and returns its token.
    pub fn invitation(&self) -> String {
        let expires_at = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
        let name = "Ann's notebook".to_owned();
        let new = NewInvitation {
            name,
            scopes: vec![Scope::General, Scope::Geo],
            plan: "free".to_owned(),
            expires_at,
            key_expires_in_days: Some(90),
        };
        Keys::open(&self.home)
            .invite(
                new,
                &Plans::load(&DeclarationFiles::built_in()).unwrap(),
                jiff::Timestamp::now(),
            )
            .unwrap()
            .token
    }

    /// Sends a request unchanged.
    pub async fn send(&self, request: Request<Body>) -> Answer {
        let (method, path) = (
            request.method().to_string(),
            request.uri().path().to_owned(),
        );
        let answer = read(self.router.clone().oneshot(request).await.unwrap()).await;
        hold(&self.contracts, &method, &path, &answer);
        answer
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.ask(path, None).await
    }

    /// Sends a GET, or a POST if a body is given.
    pub async fn ask(&self, path: &str, body: Option<&Value>) -> Answer {
        self.ask_as(&self.key, path, body).await
    }

    /// Sends a request with another key.
    pub async fn ask_as(&self, key: &str, path: &str, body: Option<&Value>) -> Answer {
        let method = if body.is_some() { "POST" } else { "GET" };
        let request = Request::builder().method(method).uri(path);
        let request = request
            .header("x-api-key", key)
            .header("content-type", "application/json");
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        self.send(request.body(body).unwrap()).await
    }

    pub async fn ok(&self, path: &str) -> Value {
        let answer = self.get(path).await;
        assert_eq!(
            answer.status,
            200,
            "{path}: {}",
            String::from_utf8_lossy(&answer.bytes)
        );
        answer.json()
    }
}

fn create_key(place: &Place, plans: &Plans, scopes: &[Scope]) -> String {
    let new = NewKey {
        name: "test".to_owned(),
        scopes: scopes.to_vec(),
        plan: "unlimited".to_owned(),
        expires_at: None,
    };
    Keys::open(&Home::open(&place.home()).unwrap())
        .create(new, plans, jiff::Timestamp::now())
        .unwrap()
        .key
}
