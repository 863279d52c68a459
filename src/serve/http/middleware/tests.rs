//! A request that panics or hangs is answered with a problem, and the cause of a panic is not told.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use jiff::Timestamp;
use tower::ServiceExt;

use crate::http::middleware::guard_page;
use crate::http::service::Service;
use crate::settings::{Limits, ServeSettings};
use pubdata_core::contract::Contracts;
use pubdata_store::Plans;

/// Asks a handler behind the front for the status and the code of its problem, its text, and when to ask again.
async fn asked(limits: Limits, path: &str) -> (u16, String, String, Option<String>) {
    let folder = tempfile::tempdir().unwrap();
    let plans = Plans::parse("[anonymous]\nrequests_per_minute = 60\nburst = 60\n").unwrap();
    let settings = ServeSettings { limits, ..ServeSettings::new(folder.path().to_owned(), plans) };
    let service = Arc::new(Service::new(settings, Contracts::new(), Arc::new(Timestamp::now), Vec::new()).unwrap());
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
        .layer(from_fn_with_state(service, guard_page));
    let response = router.oneshot(Request::get(path).header("x-request-id", "r1").body(Body::empty()).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let again = response.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
    let text = String::from_utf8(to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap();
    let problem: serde_json::Value = serde_json::from_str(&text).unwrap();
    (status, problem["code"].as_str().unwrap().to_owned(), text, again)
}

#[tokio::test]
async fn panic_is_a_problem_that_hides_its_cause() {
    let (status, code, text, again) = asked(Limits::default(), "/panics").await;
    assert_eq!((status, code.as_str(), again), (500, "internal_error", None));
    assert!(!text.contains("secret") && text.contains("\"request_id\":\"r1\""), "{text}");
}

#[tokio::test]
async fn request_that_takes_too_long_is_a_problem() {
    let limits = Limits { request_time: Duration::from_millis(1), ..Limits::default() };
    let (status, code, text, again) = asked(limits, "/hangs").await;
    assert_eq!((status, code.as_str(), again.as_deref()), (503, "busy", Some("5")));
    assert!(text.contains("no answer within 1ms"), "{text}");
}
