//! The server on real sockets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use pubdata::error::ErrorKind;
use pubdata::serve::{ServeSettings, TlsFiles, serve};

use super::World;

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn settings(world: &World) -> ServeSettings {
    let plans = pubdata::store::Plans::load(&pubdata::declared::DeclarationFiles::built_in()).unwrap();
    ServeSettings { bind: free_address(), metrics_bind: Some(free_address()), ..ServeSettings::new(world.folder.path().to_owned(), plans) }
}

fn exchange(address: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Asks until the server listens.
async fn first_answer(address: SocketAddr, text: String) -> String {
    tokio::task::spawn_blocking(move || {
        loop {
            if TcpStream::connect(address).is_ok() {
                return exchange(address, &text);
            }
            std::thread::yield_now();
        }
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_answers_on_its_addresses() {
    let world = World::new().await;
    let settings = settings(&world);
    let (main, metrics) = (settings.bind, settings.metrics_bind.unwrap());
    let server = tokio::spawn(serve(settings, world.contracts.clone()));
    let request = format!("GET /v1/geo-demographics/locations/90210 HTTP/1.1\r\nHost: x\r\nX-API-Key: {}\r\nConnection: close\r\n\r\n", world.key);
    let answer = first_answer(main, request).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("\"value\":19652,"), "{answer}");
    let answer = first_answer(metrics, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned()).await;
    assert!(answer.contains("pubdata_release{release_id="), "{answer}");
    let answer = first_answer(main, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_owned()).await;
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    server.abort();
}

#[tokio::test]
async fn open_network_needs_tls_or_a_proxy() {
    let world = World::empty(|_| {}).await;
    let open = ServeSettings { bind: "0.0.0.0:0".parse().unwrap(), ..settings(&world) };
    let error = serve(open.clone(), world.contracts.clone()).await.unwrap_err();
    assert_eq!((error.kind(), error.way_out().is_some()), (ErrorKind::Config, true), "{error}");
    assert!(ServeSettings { is_behind_proxy: true, ..open }.check().is_ok());
}

#[tokio::test]
async fn certificate_that_cannot_be_read_is_named() {
    let world = World::empty(|_| {}).await;
    let tls = TlsFiles { certificate: "/nowhere/cert.pem".into(), key: "/nowhere/key.pem".into() };
    let error = serve(ServeSettings { tls: Some(tls), ..settings(&world) }, world.contracts.clone()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("/nowhere/cert.pem"), "{error}");
}

#[tokio::test]
async fn address_in_use_is_named() {
    let world = World::empty(|_| {}).await;
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let error = serve(ServeSettings { bind: address, ..settings(&world) }, world.contracts.clone()).await.unwrap_err();
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}
