//! Tests requests whose bodies never arrive, and answers that the client never reads: neither
//! blocks other clients.

use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::http::{Method, Request};
use pubdata_serve::{Limits, ServeSettings, serve};
use pubdata_store::Scope;
use tower::ServiceExt;

use super::attacks::{PATIENCE, attacked_world, silent};
use super::connections::{connect, exchange, get, settings};
use crate::serve::{World, bulk};

const PROFILE: &str = "/v1/geo-demographics/locations/90210";
/// Smallest number that the settings allow.
const CONNECTIONS: usize = 16;
/// Unfinished requests from each of several clients.
const OF_CLIENT: usize = 2;
const CLIENTS: usize = 12;

/// A request that is complete except for the body, which the server has already requested.
fn started(address: SocketAddr, head: &str) -> TcpStream {
    let mut stream = silent(
        address,
        format!("{head}\r\nHost: localhost\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")
            .as_bytes(),
    );
    let mut word = [0; 25];
    stream
        .read_exact(&mut word)
        .unwrap_or_else(|error| panic!("the server does not wait for the body of {head}: {error}"));
    assert_eq!(&word, b"HTTP/1.1 100 Continue\r\n\r\n", "{head}");
    stream
}

fn until_ready(address: SocketAddr, key: &str) {
    while !exchange(connect(address), &get("/readyz", key)).starts_with("HTTP/1.1 200 OK\r\n") {
        std::thread::yield_now();
    }
}

fn assert_answered(address: SocketAddr, key: &str, paths: &[&str]) {
    for path in paths.iter().cycle().take(3 * paths.len()) {
        let answer = exchange(connect(address), &get(path, key));
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n"),
            "{path}: {answer:?}"
        );
    }
}

/// Begins more requests than the server has slots; meanwhile requests health, and an answer with a
/// key.
async fn keeps_nobody_out(heads: Vec<String>) {
    assert!(heads.len() > CONNECTIONS);
    let world = World::new().await;
    let limits = Limits {
        connections: CONNECTIONS,
        ..Limits::default()
    };
    let settings = ServeSettings {
        limits,
        is_behind_proxy: true,
        ..settings(&world)
    };
    let (address, metrics, key) = (
        settings.bind,
        settings.metrics_bind.unwrap(),
        world.key.clone(),
    );
    let server = tokio::spawn(serve(settings, world.contracts.clone()));
    let attack = move || {
        until_ready(address, &key);
        let kept: Vec<TcpStream> = heads.iter().map(|head| started(address, head)).collect();
        assert_answered(address, &key, &["/healthz", "/readyz", PROFILE]);
        let numbers = exchange(connect(metrics), &get("/metrics", &key));
        let open = numbers
            .lines()
            .find_map(|line| line.strip_prefix("pubdata_http_connections "))
            .unwrap();
        assert!(open.parse::<usize>().unwrap() <= CONNECTIONS, "{open}");
        drop(kept);
    };
    tokio::task::spawn_blocking(attack).await.unwrap();
    server.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unfinished_forms_do_not_block_other_clients() {
    let cookie = format!("pubdata_form={}", "0".repeat(32));
    let head = |number: usize| {
        format!(
            "POST /keys HTTP/1.1\r\nCookie: {cookie}\r\nX-Forwarded-For: 198.51.100.{}",
            number / OF_CLIENT
        )
    };
    keeps_nobody_out((0..CLIENTS * OF_CLIENT).map(head).collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unfinished_bodies_with_keys_do_not_block_other_clients() {
    let world = World::new().await;
    let limits = Limits {
        connections: CONNECTIONS,
        ..Limits::default()
    };
    let api = pubdata_serve::openapi_document(&world.contracts, None);
    let posts: Vec<String> = api["paths"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, methods)| methods["post"]["requestBody"].is_object())
        .map(|(path, _)| path.clone())
        .collect();
    assert!(posts.len() >= 5, "{posts:?}");
    let keys: Vec<String> = (0..CLIENTS * posts.len())
        .map(|_| world.create_key(&Scope::ALL, "unlimited").key)
        .collect();
    attacked_world(&world, limits, None, move |address, key| {
        until_ready(address, &key);
        let begun_with = |key: &String, path: &str| {
            started(
                address,
                &format!(
                    "POST {path} HTTP/1.1\r\nContent-Type: application/json\r\nX-API-Key: {key}"
                ),
            )
        };
        for (path, keys) in posts.iter().zip(keys.chunks(CLIENTS)) {
            let kept: Vec<TcpStream> = keys
                .iter()
                .flat_map(|key| {
                    (0..OF_CLIENT)
                        .map(|_| begun_with(key, path))
                        .collect::<Vec<_>>()
                })
                .collect();
            assert!(kept.len() > CONNECTIONS);
            assert_answered(address, &key, &["/healthz", "/readyz", PROFILE]);
        }
    })
    .await;
}

/// Tables with more bytes than systems buffer for a connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_tables_do_not_block_other_clients() {
    let world = World::empty(|_| {}).await;
    world.publish(&bulk::many()).await;
    let keys: Vec<String> = (0..CONNECTIONS)
        .map(|_| world.create_key(&Scope::ALL, "unlimited").key)
        .collect();
    let limits = Limits {
        connections: CONNECTIONS,
        ..Limits::default()
    };
    attacked_world(&world, limits, None, move |address, key| {
        until_ready(address, &key);
        let path = "/v1/releases/current/datasets/business.entity?format=csv";
        let unread = |key: &String| {
            let stream = silent(address, get(path, key).as_bytes());
            assert_eq!(stream.peek(&mut [0]).unwrap(), 1, "the table is being sent");
            stream
        };
        let kept: Vec<TcpStream> = keys.iter().map(unread).collect();
        assert_answered(address, &key, &["/healthz", "/readyz", "/v1/datasets"]);
        drop(kept);
    })
    .await;
}

/// A request that is not a form is answered before its body arrives, for every path.
#[tokio::test]
async fn server_waits_only_for_bodies_of_forms_and_of_the_api() {
    let world = World::new().await;
    let endless =
        || Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
    let cookie = format!("pubdata_form={}; pubdata_key={}", "0".repeat(32), world.key);
    let began = Instant::now();
    let paths = [
        "/",
        "/search",
        "/zip/90210",
        "/docs",
        "/status",
        "/assets/pages.css",
        "/healthz",
        "/metrics",
        "/nowhere",
        "/problems/x",
        "/v1/openapi.json",
    ];
    for path in paths.into_iter().chain([
        "/v1/log/key",
        "/v1/stream",
        PROFILE,
        "/v1/coverage",
        "/v1/nowhere",
    ]) {
        for method in [Method::POST, Method::PUT, Method::GET] {
            let request = Request::builder()
                .method(method.clone())
                .uri(path)
                .header("cookie", &cookie)
                .header("content-length", "100");
            let answer = world
                .router
                .clone()
                .oneshot(request.body(endless()).unwrap())
                .await
                .unwrap();
            assert!(
                method == Method::GET || answer.status().is_client_error(),
                "{method} {path}: {}",
                answer.status()
            );
        }
    }
    // The same applies to a form whose sender never received one of our pages.
    let stranger = Request::post("/keys")
        .header("content-length", "100")
        .body(endless())
        .unwrap();
    assert_eq!(
        world
            .router
            .clone()
            .oneshot(stranger)
            .await
            .unwrap()
            .status(),
        403
    );
    assert!(began.elapsed() < PATIENCE / 2);
}
