//! Runs a server on a home and queries it in process.

use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use jiff::Timestamp;
use pubdata_core::contract::Contracts;
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::ids::ReleaseId;
use pubdata_core::pipeline::Declarations;
use pubdata_serve::{Api, ServeSettings, Server};
use pubdata_store::{Home, Keys, NewKey, Plans, Releases, Scope};
use serde_json::Value;
use tower::ServiceExt;

use super::geo::draft;
use super::home::{Draft, publish};
use super::schema::hold;

/// Part of the name of every home; no answer may contain it.
pub const FOLDER: &str = "it's: Ann's (old) home, ünd; ";

/// A home with a server and a key for it.
pub struct World {
    pub folder: tempfile::TempDir,
    pub home: Home,
    pub contracts: Contracts,
    pub service: Arc<Server>,
    pub router: Api,
    pub key: String,
    pub release_id: ReleaseId,
    clock: Arc<Mutex<Timestamp>>,
}

/// A complete answer.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.bytes)))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map(|value| value.to_str().unwrap())
            .unwrap_or_default()
    }

    /// Status and code of a problem.
    pub fn problem(&self) -> (u16, String) {
        assert_eq!(
            self.header("content-type"),
            "application/problem+json",
            "{}",
            String::from_utf8_lossy(&self.bytes)
        );
        let body = self.json();
        assert_eq!(body["status"], self.status.as_u16());
        assert_eq!(body["request_id"], self.header("x-request-id"));
        (
            self.status.as_u16(),
            body["code"].as_str().unwrap().to_owned(),
        )
    }
}

impl World {
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub async fn with(change: impl FnOnce(&mut ServeSettings)) -> Self {
        let mut world = Self::empty(change).await;
        world.release_id = world.publish(&draft(19_652.0)).await;
        world.service.refresh().await.unwrap();
        world
    }

    /// A home without a release.
    pub async fn empty(change: impl FnOnce(&mut ServeSettings)) -> Self {
        let folder = tempfile::Builder::new().prefix(FOLDER).tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let files = DeclarationFiles::built_in();
        let plans = Plans::load(&files).unwrap();
        let contracts = Declarations::load(files).unwrap().contracts;
        let clock = Arc::new(Mutex::new(
            "2026-01-15T12:00:00Z".parse::<Timestamp>().unwrap(),
        ));
        let new = NewKey {
            name: "test".to_owned(),
            scopes: Scope::ALL.to_vec(),
            plan: "unlimited".to_owned(),
            expires_at: None,
        };
        let key = Keys::open(&home)
            .create(new, &plans, *clock.lock().unwrap())
            .unwrap()
            .key;
        let mut settings = ServeSettings::new(folder.path().to_owned(), plans);
        change(&mut settings);
        let reported = clock.clone();
        let service = Server::new(
            settings,
            contracts.clone(),
            Arc::new(move || *reported.lock().unwrap()),
        )
        .unwrap();
        let router = service.api();
        let release_id = "r00000000000000000000".parse().unwrap();
        Self {
            folder,
            home,
            contracts,
            service,
            router,
            key,
            release_id,
            clock,
        }
    }

    /// Replaces this server with another one on the same home.
    pub fn restart(&mut self, change: impl FnOnce(&mut ServeSettings)) {
        let mut settings = ServeSettings::new(self.folder.path().to_owned(), self.plans());
        change(&mut settings);
        let reported = self.clock.clone();
        self.service = Server::new(
            settings,
            self.contracts.clone(),
            Arc::new(move || *reported.lock().unwrap()),
        )
        .unwrap();
        self.router = self.service.api();
    }

    pub async fn publish(&self, draft: &Draft) -> ReleaseId {
        publish(&self.home, &self.contracts, draft).await
    }

    pub fn releases(&self) -> Releases {
        Releases::open(&self.home, None).unwrap()
    }

    pub fn plans(&self) -> Plans {
        Plans::load(&DeclarationFiles::built_in()).unwrap()
    }

    pub fn create_key(&self, scopes: &[Scope], plan: &str) -> pubdata_store::CreatedKey {
        let plans = self.plans();
        let new = NewKey {
            name: "other".to_owned(),
            scopes: scopes.to_vec(),
            plan: plan.to_owned(),
            expires_at: None,
        };
        Keys::open(&self.home)
            .create(new, &plans, self.now())
            .unwrap()
    }

    pub fn now(&self) -> Timestamp {
        *self.clock.lock().unwrap()
    }

    pub fn set_clock(&self, text: &str) {
        *self.clock.lock().unwrap() = text.parse().unwrap();
    }

    /// Sends a request, and fails if its answer differs from the document.
    pub async fn send(&self, request: Request<Body>) -> Answer {
        let (method, path) = (
            request.method().to_string(),
            request.uri().path().to_owned(),
        );
        let answer = read(self.router.clone().oneshot(request).await.unwrap()).await;
        hold(&self.contracts, &method, &path, &answer);
        answer
    }

    /// Sends a GET with the key.
    pub async fn get(&self, path: &str) -> Answer {
        self.get_with(path, &[]).await
    }

    pub async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = Request::get(path).header("x-api-key", &self.key);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::empty()).unwrap()).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        let request = Request::post(path)
            .header("x-api-key", &self.key)
            .header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_string())).unwrap())
            .await
    }

    /// Sends a body unchanged.
    pub async fn post_text(&self, path: &str, text: String) -> Answer {
        let request = Request::post(path)
            .header("x-api-key", &self.key)
            .header("content-type", "application/json");
        self.send(request.body(Body::from(text)).unwrap()).await
    }

    /// Sends a POST with another key.
    pub async fn post_as(&self, key: &str, path: &str, body: &Value) -> Answer {
        let request = Request::post(path)
            .header("x-api-key", key)
            .header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_string())).unwrap())
            .await
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

pub async fn read(response: axum::response::Response) -> Answer {
    let (status, headers) = (response.status(), response.headers().clone());
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX)
        .await
        .unwrap()
        .to_vec();
    Answer {
        status,
        headers,
        bytes,
    }
}

/// Codes of an answer's notices.
pub fn notices(answer: &Value) -> Vec<&str> {
    answer["meta"]["notices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|notice| notice["code"].as_str().unwrap())
        .collect()
}

pub fn all<'a>(list: &'a Value, member: &str) -> Vec<&'a str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|item| item[member].as_str().unwrap())
        .collect()
}

pub fn with(mut row: Value, cells: &Value) -> Value {
    for (name, value) in cells.as_object().unwrap() {
        row[name] = value.clone();
    }
    row
}

pub fn collect_record_ids(value: &Value, ids: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            ids.extend(
                object
                    .get("record_id")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            );
            object
                .values()
                .for_each(|value| collect_record_ids(value, ids));
        }
        Value::Array(items) => items
            .iter()
            .for_each(|value| collect_record_ids(value, ids)),
        _ => {}
    }
}
