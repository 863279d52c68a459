//! Tests the cost of requests: one token of the client's bucket, for any method, path and head; and
//! the log of free requests.

use axum::body::Body;
use axum::http::{Method, Request};
use tower::ServiceExt;

use super::logs::Log;
use crate::serve::{Answer, World, read};

/// Method, path and a header.
type TokenRequest<'a> = (Method, &'a str, Option<(&'a str, &'a str)>);

/// Requests that a client without a key may send at once.
const BURST: usize = 60;

async fn proxied() -> World {
    World::with(|settings| settings.is_behind_proxy = true).await
}

async fn ask(
    world: &World,
    method: &Method,
    path: &str,
    address: &str,
    header: Option<(&str, &str)>,
) -> Answer {
    let mut request = Request::builder().method(method.clone()).uri(path);
    for (name, value) in header
        .into_iter()
        .chain(Some(("x-forwarded-for", address)).filter(|_| !address.is_empty()))
    {
        request = request.header(name, value);
    }
    read(
        world
            .router
            .clone()
            .oneshot(request.body(Body::empty()).unwrap())
            .await
            .unwrap(),
    )
    .await
}

#[tokio::test]
async fn every_method_path_and_head_costs_a_token() {
    let world = proxied().await;
    let (long, large) = (format!("/v1/zip/{}", "9".repeat(5_000)), "x".repeat(20_000));
    let requests: [TokenRequest<'_>; 25] = [
        (Method::PUT, "/v1/zip/90210", None),
        (Method::DELETE, "/v1/zip/90210", None),
        (Method::OPTIONS, "/v1/zip/90210", None),
        (Method::GET, "/v1/zip/%ff", None),
        (Method::GET, "/v1/zip/90210", None),
        (Method::GET, "/v1/coverage", Some(("x-api-key", "pd_wrong"))),
        (Method::GET, &long, None),
        (Method::GET, "/v1/coverage", Some(("x-large", &large))),
        (Method::TRACE, "/v1/zip/90210", None),
        (Method::TRACE, "/healthz", None),
        (Method::PUT, "/healthz", None),
        (Method::OPTIONS, "/readyz", None),
        (Method::POST, "/assets/pages.css", None),
        (Method::PUT, "/metrics", None),
        (Method::GET, "/metrics", None),
        (Method::GET, "/nowhere", None),
        (Method::GET, "/zip/%ff", None),
        (Method::GET, "/zip/90210", None),
        (Method::PUT, "/zip/90210", None),
        (Method::POST, "/keys", None),
        (Method::GET, "/v1/openapi.json", None),
        (Method::DELETE, "/v1/openapi.json", None),
        (Method::GET, "/v1/log/key", None),
        (Method::GET, "/v1/stream", None),
        (Method::GET, "/docs", None),
    ];
    for (number, (method, path, header)) in requests.into_iter().enumerate() {
        let address = format!("198.51.100.{number}");
        for turn in 0..BURST + 2 {
            let answer = ask(&world, &method, path, &address, header).await;
            assert_eq!(
                answer.status == 429,
                turn >= BURST,
                "{method} {path:.40}, {turn}: {}",
                answer.status
            );
            assert!(answer.status != 429 || !answer.header("retry-after").is_empty());
        }
    }
}

/// `docs/SECURITY.md` lists them with the reason.
#[tokio::test]
async fn health_metrics_and_shared_page_files_cost_no_token() {
    let world = World::new().await;
    for path in [
        "/healthz",
        "/readyz",
        "/metrics",
        "/assets/pages.css",
        "/assets/pages.js",
    ] {
        for method in [Method::GET, Method::HEAD] {
            for _ in 0..2 * BURST {
                assert_eq!(
                    ask(&world, &method, path, "", None).await.status,
                    200,
                    "{method} {path}"
                );
            }
        }
    }
}

/// Documentation requests have a separate limit and do not use up the others.
#[tokio::test]
async fn documentation_has_its_own_bucket() {
    let world = proxied().await;
    let (reader, get) = ("198.51.100.1", Method::GET);
    for path in ["/docs", "/docs/getZip", "/problems/busy"]
        .into_iter()
        .cycle()
        .take(BURST)
    {
        assert_ne!(
            ask(&world, &get, path, reader, None).await.status,
            429,
            "{path}"
        );
    }
    assert_eq!(
        ask(&world, &get, "/docs/nothing", reader, None)
            .await
            .status,
        429
    );
    for turn in 0..=BURST {
        assert_eq!(
            ask(&world, &get, "/v1/coverage", reader, None).await.status == 429,
            turn == BURST,
            "{turn}"
        );
    }
    let posted = ask(&world, &Method::POST, "/docs", "198.51.100.2", None).await;
    assert_eq!(posted.status, 405);
    for _ in 1..BURST {
        ask(&world, &Method::POST, "/docs", "198.51.100.2", None).await;
    }
    assert_eq!(
        ask(&world, &get, "/v1/coverage", "198.51.100.2", None)
            .await
            .status,
        429,
        "only reading is separate"
    );
}

#[tokio::test]
async fn free_requests_are_counted_and_rarely_logged() {
    let world = proxied().await;
    let log = Log::default();
    let _listening = log.listen();
    let mut lines = Vec::new();
    for (number, (method, path)) in [
        (Method::PUT, "/v1/zip/90210"),
        (Method::GET, "/healthz"),
        (Method::TRACE, "/zip/%ff"),
    ]
    .into_iter()
    .enumerate()
    {
        let address = format!("198.51.100.{number}");
        for _ in 0..500 {
            ask(&world, &method, path, &address, None).await;
        }
        let reported = log.take();
        let client = format!("client=\"address {address}\"");
        assert!(
            reported.lines().all(|line| line.contains(&client)),
            "{reported:.2000}"
        );
        lines.push(reported.lines().count());
    }
    assert_eq!(lines, [BURST + 20, 20, BURST + 20]);
    world.set_clock("2026-01-15T12:01:00Z");
    ask(&world, &Method::GET, "/healthz", "198.51.100.7", None).await;
    let reported = log.take();
    assert_eq!(reported.lines().count(), 4, "{reported}");
    for (address, count) in [
        ("198.51.100.0", 420),
        ("198.51.100.1", 480),
        ("198.51.100.2", 420),
    ] {
        assert!(reported.contains(&format!("omitted the log lines of {count} requests of address {address} that took no token within a minute")), "{reported}");
    }
}

/// A refusal by address gives programs the same information as one by key.
#[tokio::test]
async fn refused_api_request_gives_the_retry_time_for_any_method() {
    let world = proxied().await;
    for (number, method) in [Method::GET, Method::PUT, Method::OPTIONS]
        .into_iter()
        .enumerate()
    {
        let (address, path) = (format!("198.51.100.{number}"), "/v1/coverage");
        for _ in 0..BURST {
            ask(&world, &method, path, &address, None).await;
        }
        let refused = ask(&world, &method, path, &address, None).await;
        assert_eq!(
            (refused.problem(), refused.header("x-ratelimit-remaining")),
            ((429, "rate_limited".to_owned()), "0"),
            "{method}"
        );
    }
}
