use axum::body::Body;
use axum::http::{HeaderValue, Method, Request};

use crate::serve::World;
use crate::serve::geo::draft;

const PROFILE: &str = "/v1/geo-demographics/locations/90210";

#[tokio::test]
async fn every_answer_carries_the_common_headers() {
    let world = World::new().await;
    let answer = world.get(PROFILE).await;
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.header("cache-control"), "private, max-age=300");
    assert!(
        answer.header("vary").contains("X-API-Key")
            && answer.header("vary").contains("Authorization")
    );
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert_eq!(
        answer.header("x-request-id"),
        answer.json()["meta"]["request_id"].as_str().unwrap()
    );
    assert_eq!(answer.header("x-request-id").len(), 24);
    for name in [
        "ratelimit-policy",
        "ratelimit",
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
    ] {
        assert_ne!(answer.header(name), "", "{name}");
    }
    let own = world
        .get_with(PROFILE, &[("x-request-id", "client.id-7")])
        .await;
    assert_eq!(
        (
            own.header("x-request-id"),
            own.json()["meta"]["request_id"].as_str().unwrap()
        ),
        ("client.id-7", "client.id-7")
    );
    let unusable = world
        .get_with(PROFILE, &[("x-request-id", "has space")])
        .await;
    assert_ne!(unusable.header("x-request-id"), "has space");
}

#[tokio::test]
async fn etag_names_release_and_request_and_gives_304() {
    let world = World::new().await;
    let tag = world.get(PROFILE).await.header("etag").to_owned();
    assert!(tag.starts_with('"') && tag.ends_with('"'), "{tag}");
    for sent in [tag.clone(), format!("\"other\", {tag}"), format!("W/{tag}")] {
        let again = world.get_with(PROFILE, &[("if-none-match", &sent)]).await;
        assert_eq!(
            (
                again.status.as_u16(),
                again.bytes.len(),
                again.header("etag")
            ),
            (304, 0, tag.as_str()),
            "{sent}"
        );
    }
    assert_eq!(
        world
            .get_with(PROFILE, &[("if-none-match", "\"other\"")])
            .await
            .status,
        200
    );
    let other_request = world.get(&format!("{PROFILE}?vintage=2022")).await;
    assert_ne!(other_request.header("etag"), tag);
    // The order of parameters is not part of the request.
    let one = world
        .get(&format!("{PROFILE}/demographics?history=true&vintage=2022"))
        .await;
    let two = world
        .get(&format!("{PROFILE}/demographics?vintage=2022&history=true"))
        .await;
    assert_eq!(one.header("etag"), two.header("etag"));
    world.publish(&draft(5.0)).await;
    world.service.refresh().await.unwrap();
    assert_eq!(
        world
            .get_with(PROFILE, &[("if-none-match", &tag)])
            .await
            .status,
        200,
        "another release is another answer"
    );
}

#[tokio::test]
async fn etag_changes_when_freshness_does() {
    let world = World::new().await;
    let tag = world.get(PROFILE).await.header("etag").to_owned();
    world.set_clock("2026-01-16T00:00:00Z");
    assert_eq!(world.get(PROFILE).await.header("etag"), tag);
    world.set_clock("2029-01-16T00:00:00Z");
    let later = world.get(PROFILE).await;
    assert_ne!(later.header("etag"), tag);
    assert_eq!(later.json()["meta"]["datasets"][0]["freshness"], "expired");
}

/// docs/API.md promises five minutes at most, and nothing beyond the day of the answer.
#[tokio::test]
async fn no_answer_is_cached_beyond_five_minutes_or_midnight() {
    let world = crate::serve::zip_code::world().await;
    for (now, seconds) in [
        ("2026-01-15T12:00:00Z", 300),
        ("2026-01-15T23:55:00Z", 300),
        ("2026-01-15T23:59:18Z", 42),
        ("2026-01-16T00:00:00Z", 300),
    ] {
        world.set_clock(now);
        for path in [
            "/v1/zip/10001",
            "/v1/tax/rate?zip=53202",
            "/v1/tax/rate?zip=53202&date=2025-01-01",
            "/v1/coverage",
            "/v1/zip/10001/nearby",
        ] {
            let answer = world.get(path).await;
            assert_eq!(
                answer.header("cache-control"),
                format!("private, max-age={seconds}"),
                "{path} at {now}"
            );
            let again = world
                .get_with(path, &[("if-none-match", answer.header("etag"))])
                .await;
            assert_eq!(
                (again.status.as_u16(), again.header("cache-control")),
                (304, answer.header("cache-control")),
                "{path} at {now}"
            );
        }
    }
}

#[tokio::test]
async fn etag_changes_with_the_contracts_loaded_at_start() {
    let world = World::new().await;
    let tag = world.get(PROFILE).await.header("etag").to_owned();
    let serving = |contracts: pubdata_core::contract::Contracts| {
        let settings =
            pubdata_serve::ServeSettings::new(world.folder.path().to_owned(), world.plans());
        pubdata_serve::Server::new(
            settings,
            contracts,
            std::sync::Arc::new(|| "2026-01-15T12:00:00Z".parse().unwrap()),
        )
        .unwrap()
    };
    let mut changed = world.contracts.clone();
    changed.get_mut("geo.zcta_metric").unwrap().columns[0]
        .description
        .push_str(" More is known of it.");
    for (contracts, expected) in [(world.contracts.clone(), 304), (changed, 200)] {
        let server = serving(contracts);
        server.refresh().await.unwrap();
        let request = Request::get(PROFILE)
            .header("x-api-key", &world.key)
            .header("if-none-match", &tag)
            .body(Body::empty())
            .unwrap();
        let answer = tower::ServiceExt::oneshot(server.api(), request)
            .await
            .unwrap();
        assert_eq!(answer.status(), expected);
    }
}

#[tokio::test]
async fn answers_are_compressed_on_request_with_their_own_tag() {
    let world = World::new().await;
    let plain = world.get(PROFILE).await;
    for coding in ["gzip", "br", "zstd"] {
        let answer = world
            .get_with(PROFILE, &[("accept-encoding", coding)])
            .await;
        assert_eq!(answer.header("content-encoding"), coding);
        assert!(
            answer.bytes.len() < plain.bytes.len() / 2,
            "{coding}: {} of {}",
            answer.bytes.len(),
            plain.bytes.len()
        );
        let tag = answer.header("etag").to_owned();
        assert_eq!(
            tag,
            format!("{}-{coding}\"", plain.header("etag").trim_end_matches('"'))
        );
        let again = world
            .get_with(
                PROFILE,
                &[("accept-encoding", coding), ("if-none-match", &tag)],
            )
            .await;
        assert_eq!(
            (again.status.as_u16(), again.header("etag")),
            (304, tag.as_str())
        );
    }
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let world = World::new().await;
    let get = world.get_with(PROFILE, &[("x-request-id", "a")]).await;
    let head = world
        .send(
            Request::head(PROFILE)
                .header("x-api-key", &world.key)
                .header("x-request-id", "a")
                .body(Body::empty())
                .unwrap(),
        )
        .await;
    assert_eq!((head.status.as_u16(), head.bytes.len()), (200, 0));
    assert_eq!(head.header("content-length"), get.bytes.len().to_string());
    for name in ["etag", "content-type", "cache-control"] {
        assert_eq!(head.header(name), get.header(name), "{name}");
    }
    let document = world
        .send(
            Request::head("/v1/openapi.json")
                .body(Body::empty())
                .unwrap(),
        )
        .await;
    assert_eq!(
        (document.bytes.len(), document.header("content-length")),
        (
            0,
            world
                .get("/v1/openapi.json")
                .await
                .bytes
                .len()
                .to_string()
                .as_str()
        )
    );
    let missing = world
        .send(
            Request::head("/v1/geo-demographics/locations/90209")
                .header("x-api-key", &world.key)
                .body(Body::empty())
                .unwrap(),
        )
        .await;
    assert_eq!((missing.status.as_u16(), missing.bytes.len()), (404, 0));
}

#[tokio::test]
async fn answers_without_a_body_carry_no_length() {
    let world = World::new().await;
    for path in [PROFILE, "/v1/openapi.json", "/docs"] {
        let tag = world.get(path).await.header("etag").to_owned();
        for method in [Method::GET, Method::HEAD] {
            let unchanged = Request::builder()
                .method(method.clone())
                .uri(path)
                .header("x-api-key", &world.key)
                .header("if-none-match", &tag);
            let unchanged = world.send(unchanged.body(Body::empty()).unwrap()).await;
            assert_eq!(
                (unchanged.status.as_u16(), unchanged.bytes.len()),
                (304, 0),
                "{method} {path}"
            );
            assert_eq!(
                (unchanged.header("etag"), unchanged.header("content-length")),
                (tag.as_str(), ""),
                "{method} {path}"
            );
            assert!(
                !unchanged.header("cache-control").is_empty()
                    && !unchanged.header("vary").is_empty(),
                "{method} {path}"
            );
        }
    }
    let options = world
        .send(
            Request::options(PROFILE)
                .header("origin", "https://app.example.org")
                .body(Body::empty())
                .unwrap(),
        )
        .await;
    assert_eq!(
        (
            options.status.as_u16(),
            options.header("content-length"),
            options.header("allow").contains("GET")
        ),
        (204, "", true)
    );
}

#[tokio::test]
async fn options_needs_no_key_and_lists_methods_and_origins() {
    let world =
        World::with(|settings| settings.cors_origins = vec!["https://app.example.org".to_owned()])
            .await;
    let preflight = async |origin: &str| {
        let request = Request::options(PROFILE)
            .header("origin", origin)
            .header("access-control-request-method", "GET")
            .header("access-control-request-headers", "x-api-key");
        world.send(request.body(Body::empty()).unwrap()).await
    };
    let allowed = preflight("https://app.example.org").await;
    assert!(allowed.status.is_success());
    assert_eq!(
        allowed.header("access-control-allow-origin"),
        "https://app.example.org"
    );
    assert!(
        allowed
            .header("access-control-allow-headers")
            .contains("X-API-Key")
    );
    assert_eq!(
        preflight("https://evil.example.org")
            .await
            .header("access-control-allow-origin"),
        ""
    );
    let plain = world
        .send(Request::options(PROFILE).body(Body::empty()).unwrap())
        .await;
    assert_eq!(
        (plain.status.as_u16(), plain.header("allow")),
        (204, "GET, HEAD, OPTIONS")
    );
    let answer = world
        .get_with(PROFILE, &[("origin", "https://app.example.org")])
        .await;
    assert_eq!(
        answer.header("access-control-allow-origin"),
        "https://app.example.org"
    );
    assert!(
        answer
            .header("access-control-expose-headers")
            .contains("ETag")
    );
}

#[tokio::test]
async fn plan_limits_requests_and_gives_the_time_to_retry() {
    let world = World::new().await;
    let key = world.create_key(&[pubdata_store::Scope::Geo], "free").key;
    let ask = async || {
        world
            .send(
                Request::get(PROFILE)
                    .header("authorization", format!("Bearer {key}"))
                    .body(Body::empty())
                    .unwrap(),
            )
            .await
    };
    for left in (0..20).rev() {
        let answer = ask().await;
        assert_eq!(
            (
                answer.status.as_u16(),
                answer.header("x-ratelimit-remaining")
            ),
            (200, left.to_string().as_str())
        );
    }
    let refused = ask().await;
    assert_eq!(refused.problem(), (429, "rate_limited".to_owned()));
    let headers = [
        "ratelimit-policy",
        "ratelimit",
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
        "retry-after",
    ]
    .map(|name| refused.header(name).to_owned());
    assert_eq!(
        headers,
        [
            "\"free\";q=20;w=20",
            "\"free\";r=0;t=20",
            "20",
            "0",
            "20",
            "1"
        ]
    );
    world.set_clock("2026-01-15T12:00:01Z");
    assert_eq!(ask().await.status, 200);
    assert_eq!(
        world.get(PROFILE).await.status,
        200,
        "another key has its own bucket"
    );
}

#[tokio::test]
async fn requests_without_a_key_share_the_bucket_of_their_address() {
    let world = World::with(|settings| settings.is_behind_proxy = true).await;
    let ask = async |address: &str| {
        world
            .send(
                Request::get("/v1/coverage")
                    .header("x-forwarded-for", address)
                    .body(Body::empty())
                    .unwrap(),
            )
            .await
            .status
            .as_u16()
    };
    for _ in 0..60 {
        assert_eq!(ask("203.0.113.9, 198.51.100.1").await, 200);
    }
    assert_eq!(
        ask("203.0.113.7, 198.51.100.1").await,
        429,
        "only the proxy's own entry counts"
    );
    assert_eq!(ask("198.51.100.2").await, 200);
}

#[tokio::test]
async fn key_header_that_is_not_text_is_an_invalid_key() {
    let world = World::new().await;
    let request = Request::get(PROFILE)
        .header("x-api-key", HeaderValue::from_bytes(b"\xff\xfe").unwrap())
        .body(Body::empty())
        .unwrap();
    assert_eq!(
        world.send(request).await.problem(),
        (401, "invalid_api_key".to_owned())
    );
}
