//! Tests that a request that panics or hangs gets a problem document, and that the document hides
//! the cause of a panic. Also tests that a connection can be evicted while it waits for its client.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::get;
use jiff::Timestamp;
use tower::ServiceExt;

use crate::http::auth::Client;
use crate::http::connections::Connections;
use crate::http::middleware::{PayerOf, guard, guard_page};
use crate::http::problem::Code;
use crate::http::receive::receive;
use crate::http::service::{Payer, Service};
use crate::settings::{Limits, ServeSettings};
use pubdata_core::contract::Contracts;
use pubdata_store::{Plans, Scope};

/// Sends a request through the middleware and returns the status, problem code, body text and
/// `Retry-After` header.
async fn request(limits: Limits, path: &str) -> (u16, String, String, Option<String>) {
    let folder = tempfile::tempdir().unwrap();
    let plans = Plans::parse("[anonymous]\nrequests_per_minute = 60\nburst = 60\n").unwrap();
    let settings = ServeSettings {
        limits,
        ..ServeSettings::new(folder.path().to_owned(), plans)
    };
    let service = Arc::new(
        Service::new(
            settings,
            Contracts::new(),
            Arc::new(Timestamp::now),
            Vec::new(),
        )
        .unwrap(),
    );
    let router = Router::new()
        .route(
            "/panics",
            get(|| async {
                if Timestamp::now() > Timestamp::UNIX_EPOCH {
                    panic!("secret cause")
                }
            }),
        )
        .route("/hangs", get(std::future::pending::<()>))
        .layer(from_fn_with_state(
            (service, (|_| Payer::Caller) as PayerOf),
            guard_page,
        ));
    let response = router
        .oneshot(
            Request::get(path)
                .header("x-request-id", "r1")
                .body(Body::empty())
                .unwrap(),
        )
        .await
        .unwrap();
    let status = response.status().as_u16();
    let again = response
        .headers()
        .get("retry-after")
        .map(|value| value.to_str().unwrap().to_owned());
    let text = String::from_utf8(
        to_bytes(response.into_body(), usize::MAX)
            .await
            .unwrap()
            .to_vec(),
    )
    .unwrap();
    let problem: serde_json::Value = serde_json::from_str(&text).unwrap();
    (
        status,
        problem["code"].as_str().unwrap().to_owned(),
        text,
        again,
    )
}

#[tokio::test]
async fn panic_is_a_problem_that_hides_its_cause() {
    let (status, code, text, again) = request(Limits::default(), "/panics").await;
    assert_eq!(
        (status, code.as_str(), again),
        (500, "internal_error", None)
    );
    assert!(
        !text.contains("secret") && text.contains("\"request_id\":\"r1\""),
        "{text}"
    );
}

#[tokio::test]
async fn request_that_takes_too_long_is_a_problem() {
    let limits = Limits {
        request_time: Duration::from_millis(1),
        ..Limits::default()
    };
    let (status, code, text, again) = request(limits, "/hangs").await;
    assert_eq!(
        (status, code.as_str(), again.as_deref()),
        (503, "busy", Some("5"))
    );
    assert!(text.contains("no answer within 1ms"), "{text}");
}

/// Reports whether another connection is admitted when the only slot is taken.
async fn is_let_in(connections: &Arc<Connections>) -> bool {
    connections
        .admit("192.0.2.2:1".parse().unwrap())
        .await
        .is_some()
}

#[tokio::test]
async fn connection_is_evicted_only_while_waiting_for_its_client() {
    let folder = tempfile::tempdir().unwrap();
    let plans = Plans::parse("[anonymous]\nrequests_per_minute = 60\nburst = 60\n").unwrap();
    let service = Arc::new(
        Service::new(
            ServeSettings::new(folder.path().to_owned(), plans),
            Contracts::new(),
            Arc::new(Timestamp::now),
            Vec::new(),
        )
        .unwrap(),
    );
    let scopes = [vec![], vec![Scope::Geo]];
    for scopes in scopes {
        let client = Client {
            scopes,
            ..service.keys.anonymous("192.0.2.1")
        };
        let begin = async || {
            let connections = Arc::new(Connections::new(1, None));
            let place = connections
                .admit("192.0.2.1:1".parse().unwrap())
                .await
                .unwrap();
            let mut request = Request::new(Body::empty());
            request.extensions_mut().insert(place.connection.clone());
            (connections, place, request)
        };
        let (connections, _place, request) = begin().await;
        let at_work = guard(service.clone(), None, Payer::Caller, request, async |_| {
            assert!(!is_let_in(&connections).await, "the server is at work");
            Response::new(Body::from(vec![b'a'; 100_000]))
        });
        let response = at_work.await;
        assert!(is_let_in(&connections).await, "the answer is not taken");
        drop(response);

        let (connections, _place, request) = begin().await;
        let endless =
            Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
        let awaiting = guard(
            service.clone(),
            None,
            Payer::Caller,
            request,
            async |request: Request| {
                let received =
                    receive(&service, &client, &request.into_parts().0, endless, 100).await;
                panic!("{received:?}")
            },
        );
        let mut awaiting = pin!(awaiting);
        assert!(
            tokio::time::timeout(Duration::ZERO, awaiting.as_mut())
                .await
                .is_err()
        );
        assert!(is_let_in(&connections).await, "the body is not there");
    }
}

#[test]
fn requests_without_a_key_never_have_all_places() {
    let folder = tempfile::tempdir().unwrap();
    let plans = Plans::parse("[anonymous]\nrequests_per_minute = 60\nburst = 60\n").unwrap();
    let limits = Limits {
        simultaneous_requests: 4,
        ..Limits::default()
    };
    let settings = ServeSettings {
        limits,
        ..ServeSettings::new(folder.path().to_owned(), plans)
    };
    let service = Service::new(
        settings,
        Contracts::new(),
        Arc::new(Timestamp::now),
        Vec::new(),
    )
    .unwrap();
    let anonymous = |number: usize| service.keys.anonymous(&number.to_string());
    let _running = [
        service.run(&anonymous(0)).unwrap(),
        service.run(&anonymous(1)).unwrap(),
    ];
    assert_eq!(
        service.run(&anonymous(2)).unwrap_err().code,
        Code::RateLimited
    );
    assert!(
        service
            .run(&Client {
                scopes: vec![Scope::Geo],
                ..anonymous(3)
            })
            .is_ok()
    );
}
