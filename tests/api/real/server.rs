//! Starts a server on the release of a place and queries it in process.

use axum::body::Body;
use axum::http::Request;
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::Declarations;
use pubdata_run::ExitCode;
use pubdata_serve::{self as serve, Api, ServeSettings};
use pubdata_store::{Home, Keys, NewKey, Plans, Scope};
use serde_json::Value;
use tower::ServiceExt;

use crate::serve::read;
use pubdata_testing::{Place, run_here, settings};

pub struct Server {
    router: Api,
    key: String,
    /// Kept as long as the server reads it.
    _place: Place,
}

impl Server {
    /// Runs pipelines on the mirror of a place and serves the published release.
    pub async fn start(place: Place, selectors: &[&str]) -> Self {
        let mut settings = settings(
            &place.home(),
            vec![place.mirror().display().to_string()],
            DeclarationFiles::built_in(),
        );
        settings.selectors = selectors
            .iter()
            .map(|selector| (*selector).to_owned())
            .collect();
        let report = run_here(&settings).await;
        assert!(
            matches!(report.exit_code, ExitCode::Ok | ExitCode::Quarantined),
            "{report:#?}"
        );

        let files = DeclarationFiles::built_in();
        let (plans, contracts) = (
            Plans::load(&files).unwrap(),
            Declarations::load(files).unwrap().contracts,
        );
        let new = NewKey {
            name: "test".to_owned(),
            scopes: Scope::ALL.to_vec(),
            plan: "unlimited".to_owned(),
            expires_at: None,
        };
        let now: jiff::Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let key = Keys::open(&Home::open(&place.home()).unwrap())
            .create(new, &plans, now)
            .unwrap()
            .key;
        let service = serve::Server::new(
            ServeSettings::new(place.home(), plans),
            contracts,
            std::sync::Arc::new(move || now),
        )
        .unwrap();
        service.refresh().await.unwrap();
        Self {
            router: service.api(),
            key,
            _place: place,
        }
    }

    pub async fn ask(&self, path: &str, body: Option<&Value>) -> Value {
        let request = Request::builder()
            .method(if body.is_some() { "POST" } else { "GET" })
            .uri(path);
        let request = request
            .header("x-api-key", &self.key)
            .header("content-type", "application/json");
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let answer = read(
            self.router
                .clone()
                .oneshot(request.body(body).unwrap())
                .await
                .unwrap(),
        )
        .await;
        assert_eq!(
            answer.status,
            200,
            "{path}: {}",
            String::from_utf8_lossy(&answer.bytes)
        );
        answer.json()
    }

    pub async fn post(&self, path: &str, body: Value) -> Value {
        self.ask(path, Some(&body)).await["data"].take()
    }
}
