//! Tests the host names that a server on a loopback address accepts from browsers: a page of
//! another site may resolve its own name to this machine.

use axum::body::Body;
use axum::http::Request;
use pubdata_serve::{ServeSettings, TlsFiles};

use crate::serve::{Answer, World};

const PAGES: [&str; 7] = [
    "/",
    "/zip/90210",
    "/keys",
    "/docs",
    "/status",
    "/search?q=90210",
    "/metrics",
];

async fn ask(world: &World, path: &str, host: &str) -> Answer {
    let request = Request::get(path)
        .header("host", host)
        .header("x-api-key", &world.key);
    world.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn loopback_pages_and_metrics_accept_names_of_this_machine_only() {
    let world = World::new().await;
    for path in PAGES {
        for host in [
            "evil.example",
            "evil.example:8080",
            "localhost.evil.example",
            "127.0.0.1.evil.example:8080",
        ] {
            let refused = ask(&world, path, host).await;
            assert_eq!(
                refused.problem(),
                (400, "invalid_parameter".to_owned()),
                "{path} {host}"
            );
            let problem = refused.json();
            assert_eq!(problem["errors"][0]["field"], "Host");
            assert!(
                problem["detail"].as_str().unwrap().contains("--public-url"),
                "{problem}"
            );
        }
        for host in [
            "localhost",
            "localhost:9000",
            "127.0.0.1:8080",
            "[::1]:8080",
        ] {
            assert_eq!(ask(&world, path, host).await.status, 200, "{path} {host}");
        }
    }
    let forged = Request::post("/keys")
        .header("host", "evil.example")
        .header("origin", "http://evil.example")
        .header("cookie", "pubdata_form=0");
    assert_eq!(
        world
            .send(forged.body(Body::empty()).unwrap())
            .await
            .problem(),
        (400, "invalid_parameter".to_owned())
    );
    // Without a key they are either closed to every client or open to all anyway.
    for path in [
        "/v1/geo-demographics/locations/90210",
        "/v1/coverage",
        "/healthz",
        "/readyz",
    ] {
        assert_eq!(
            ask(&world, path, "evil.example").await.status,
            200,
            "{path}"
        );
    }
}

#[tokio::test]
async fn configured_host_names_are_accepted() {
    let files = || TlsFiles {
        certificate: "certificate".into(),
        key: "key".into(),
    };
    let changes: [fn(&mut ServeSettings); 3] = [
        |settings| settings.public_url = Some("http://data.example.org:8080/".to_owned()),
        |settings| settings.is_behind_proxy = true,
        |settings| {
            (settings.bind, settings.is_behind_proxy) = ("0.0.0.0:8080".parse().unwrap(), true);
        },
    ];
    let with_tls = World::with(|settings| settings.tls = Some(files())).await;
    let mut worlds = vec![with_tls];
    for change in changes {
        worlds.push(World::with(change).await);
    }
    for (number, world) in worlds.iter().enumerate() {
        for path in PAGES {
            // Behind a proxy, metrics have their own address.
            let expected = if path == "/metrics" && number > 1 {
                404
            } else {
                200
            };
            assert_eq!(
                ask(world, path, "data.example.org").await.status,
                expected,
                "{number} {path}"
            );
        }
    }
}
