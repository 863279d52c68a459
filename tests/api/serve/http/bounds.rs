//! Tests the limits on clients, in total and for each: requests, waiting bytes, pages without a
//! key, and headers from proxies.

use axum::body::{Body, HttpBody, to_bytes};
use axum::http::{HeaderValue, Method, Request};
use pubdata_store::Scope;
use tower::ServiceExt;

use crate::serve::World;

const PROFILE: &str = "/v1/geo-demographics/locations/90210";
const OPENAPI: &str = "/v1/openapi.json";

async fn ask(world: &World, path: &str, headers: &[(&str, &str)]) -> crate::serve::Answer {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    world.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn excess_requests_are_told_to_retry_except_health() {
    let world = World::with(|settings| settings.limits.simultaneous_requests = 0).await;
    let refused = world.get(PROFILE).await;
    assert_eq!(
        (refused.problem(), refused.header("retry-after")),
        ((429, "rate_limited".to_owned()), "1")
    );
    for path in ["/healthz", "/readyz", OPENAPI, "/metrics"] {
        assert_eq!(world.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn single_key_never_takes_all_request_slots() {
    let world = World::empty(|settings| settings.limits.requests_per_client = 1).await;
    world.publish(&crate::serve::geo::draft(1.0)).await;
    let other = world.create_key(&Scope::ALL, "unlimited").key;
    let headers = [("x-api-key", other.as_str())];
    let others = ask(&world, PROFILE, &headers);
    // Requests wait until the release is loaded.
    let (first, second, others, loaded) = tokio::join!(
        world.get(PROFILE),
        world.get(PROFILE),
        others,
        world.service.refresh()
    );
    assert!(loaded.unwrap().is_some());
    assert_eq!(
        [first.status, second.status, others.status].map(|status| status.as_u16()),
        [200, 429, 200]
    );
    assert!(
        second.json()["detail"]
            .as_str()
            .unwrap()
            .starts_with("the client has reached its limit of concurrent requests"),
        "{}",
        second.json()
    );
    assert_eq!(world.get(PROFILE).await.status, 200);
}

#[tokio::test]
async fn document_is_compressed_tagged_and_revalidated_by_its_tag() {
    let world = World::empty(|_| {}).await;
    let plain = world.get(OPENAPI).await;
    assert_eq!(
        (plain.header("content-encoding"), plain.header("vary")),
        ("", "Accept-Encoding, Origin")
    );
    let tag = plain.header("etag").to_owned();
    assert!(tag.len() > 20, "{tag}");
    for (accept, coding) in [("br", "br"), ("gzip, br;q=0.1", "gzip"), ("zstd", "")] {
        let answer = world
            .get_with(OPENAPI, &[("accept-encoding", accept)])
            .await;
        assert_eq!(
            (
                answer.header("content-encoding"),
                answer.header("content-type")
            ),
            (coding, "application/json"),
            "{accept}"
        );
        let unpacked = match coding {
            "br" => {
                let mut bytes = Vec::new();
                brotli::BrotliDecompress(&mut answer.bytes.as_slice(), &mut bytes).unwrap();
                bytes
            }
            "gzip" => {
                let mut bytes = Vec::new();
                std::io::Read::read_to_end(
                    &mut flate2::read::GzDecoder::new(answer.bytes.as_slice()),
                    &mut bytes,
                )
                .unwrap();
                bytes
            }
            _ => answer.bytes.clone(),
        };
        assert!(unpacked == plain.bytes, "{accept}");
        assert!(
            coding.is_empty() || answer.bytes.len() < plain.bytes.len() / 5,
            "{accept}: {}",
            answer.bytes.len()
        );
        let named = answer.header("etag").to_owned();
        assert_eq!(
            named,
            if coding.is_empty() {
                tag.clone()
            } else {
                format!("{}-{coding}\"", tag.trim_end_matches('"'))
            }
        );
        let again = world
            .get_with(
                OPENAPI,
                &[("accept-encoding", accept), ("if-none-match", &named)],
            )
            .await;
        assert_eq!(
            (
                again.status.as_u16(),
                again.bytes.len(),
                again.header("etag")
            ),
            (304, 0, named.as_str())
        );
    }
    assert_eq!(
        world
            .get_with("/docs", &[("if-none-match", &tag)])
            .await
            .status,
        200
    );
    assert_ne!(
        world.get("/docs").await.header("content-security-policy"),
        ""
    );
}

#[tokio::test]
async fn pages_without_a_key_are_limited_by_address_except_health() {
    let world = World::with(|settings| settings.is_behind_proxy = true).await;
    let paths = [OPENAPI, "/nowhere", "/"];
    for number in 0..60 {
        let status = ask(
            &world,
            paths[number % paths.len()],
            &[("x-forwarded-for", "198.51.100.1")],
        )
        .await
        .status;
        assert_ne!(status, 429);
    }
    for path in paths {
        let refused = ask(&world, path, &[("x-forwarded-for", "198.51.100.1")]).await;
        assert!(
            refused.status == 429
                && String::from_utf8_lossy(&refused.bytes).contains("rate_limited"),
            "{path}"
        );
        assert_ne!(refused.header("retry-after"), "");
    }
    assert_eq!(
        ask(&world, "/healthz", &[("x-forwarded-for", "198.51.100.1")])
            .await
            .status,
        200
    );
    assert_eq!(
        ask(&world, OPENAPI, &[("x-forwarded-for", "198.51.100.2")])
            .await
            .status,
        200
    );
    assert_eq!(
        ask(
            &world,
            OPENAPI,
            &[
                ("x-forwarded-for", "198.51.100.1"),
                ("x-api-key", &world.key)
            ]
        )
        .await
        .status,
        200
    );
}

#[tokio::test]
async fn forged_first_line_of_forwarded_addresses_is_ignored() {
    let world = World::with(|settings| settings.is_behind_proxy = true).await;
    for number in 0..60 {
        let forged = format!("203.0.113.{number}");
        let status = ask(
            &world,
            "/v1/coverage",
            &[
                ("x-forwarded-for", &forged),
                ("x-forwarded-for", "198.51.100.1:4711"),
            ],
        )
        .await
        .status;
        assert_eq!(status, 200);
    }
    assert_eq!(
        ask(
            &world,
            "/v1/coverage",
            &[("x-forwarded-for", "198.51.100.1")]
        )
        .await
        .status,
        429
    );
    // A value that is not text, or an empty entry, does not lead to the proxy's bucket either.
    for line in [
        b"\xe9, 198.51.100.1".as_slice(),
        b"198.51.100.1,",
        b"203.0.113.9, 198.51.100.1, ,",
    ] {
        let request = Request::get("/v1/coverage")
            .header("x-forwarded-for", HeaderValue::from_bytes(line).unwrap());
        assert_eq!(
            world
                .send(request.body(Body::empty()).unwrap())
                .await
                .status,
            429,
            "{}",
            String::from_utf8_lossy(line)
        );
    }
    for number in 0..60 {
        assert_eq!(
            ask(
                &world,
                "/v1/coverage",
                &[("x-forwarded-for", &format!("2001:db8::{number}"))]
            )
            .await
            .status,
            200
        );
    }
    assert_eq!(
        ask(
            &world,
            "/v1/coverage",
            &[("x-forwarded-for", "2001:db8::ffff")]
        )
        .await
        .status,
        429,
        "one network is one client"
    );
    assert_eq!(
        ask(
            &world,
            "/v1/coverage",
            &[("x-forwarded-for", "2001:db8:0:1::1")]
        )
        .await
        .status,
        200
    );
}

#[tokio::test]
async fn unread_bytes_are_limited_for_each_client_and_in_total() {
    let world = World::with(|settings| {
        settings.limits.bytes_in_flight = 20_000;
        settings.limits.bytes_in_flight_per_client = 10_000;
        settings.limits.least_counted_bytes = 4_000;
    })
    .await;
    let open = async |path: &str, key: &str| {
        let request = Request::get(path)
            .header("x-api-key", key)
            .body(Body::empty())
            .unwrap();
        world.router.clone().oneshot(request).await.unwrap()
    };
    let large = async |key: &str| open("/v1/coverage", key).await;
    let first = large(&world.key).await;
    assert_eq!(first.status(), 200);
    let length = usize::try_from(first.body().size_hint().exact().unwrap()).unwrap();
    assert!(
        (6_667..10_000).contains(&length),
        "{length}: the limits fit two of these"
    );
    let refused = large(&world.key).await;
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"]),
        (429, &HeaderValue::from_static("1")),
        "its quota is used up"
    );
    assert_eq!(
        open("/healthz", &world.key).await.status(),
        200,
        "small answers are not counted"
    );
    let others: [String; 2] = [(); 2].map(|()| world.create_key(&Scope::ALL, "unlimited").key);
    let second = large(&others[0]).await;
    assert_eq!(second.status(), 200, "another client has its own quota");
    assert_eq!(
        large(&others[1]).await.status(),
        429,
        "the total is used up"
    );
    let taken = to_bytes(first.into_body(), usize::MAX).await.unwrap();
    assert_eq!(
        (taken.len(), large(&world.key).await.status().as_u16()),
        (length, 429),
        "the system has not accepted the bytes yet"
    );
    drop(taken);
    assert_eq!(large(&world.key).await.status(), 200);
}

#[tokio::test]
async fn metrics_are_for_this_machine_only() {
    let world = World::empty(|_| {}).await;
    assert_eq!(ask(&world, "/metrics", &[]).await.status, 200);
    for header in ["x-forwarded-for", "forwarded", "via", "x-real-ip"] {
        assert_eq!(
            ask(&world, "/metrics", &[(header, "192.0.2.1")])
                .await
                .problem(),
            (404, "route_not_found".to_owned()),
            "{header}"
        );
    }
    let proxied = World::empty(|settings| settings.is_behind_proxy = true).await;
    assert_eq!(
        ask(&proxied, "/metrics", &[]).await.problem(),
        (404, "route_not_found".to_owned())
    );
}

#[tokio::test]
async fn trace_method_is_refused_everywhere() {
    let world = World::empty(|_| {}).await;
    for (path, expected) in [
        (PROFILE, (405, "method_not_allowed")),
        ("/healthz", (405, "method_not_allowed")),
        ("/nowhere", (404, "route_not_found")),
    ] {
        let request = Request::builder()
            .method(Method::TRACE)
            .uri(path)
            .header("x-api-key", &world.key)
            .body(Body::empty())
            .unwrap();
        let answer = crate::serve::read(world.router.clone().oneshot(request).await.unwrap()).await;
        assert_eq!(
            answer.problem(),
            (expected.0, expected.1.to_owned()),
            "{path}"
        );
        assert_eq!(
            answer.header("allow").is_empty(),
            expected.0 == 404,
            "{path}"
        );
    }
}
