//! Tests the server on real sockets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use pubdata_core::error::ErrorKind;
use pubdata_serve::{ServeSettings, TlsFiles, serve};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::json;

use crate::serve::World;

pub fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
}

pub fn settings(world: &World) -> ServeSettings {
    let plans =
        pubdata_store::Plans::load(&pubdata_core::declared::DeclarationFiles::built_in()).unwrap();
    ServeSettings {
        bind: free_address(),
        metrics_bind: Some(free_address()),
        ..ServeSettings::new(world.folder.path().to_owned(), plans)
    }
}

/// Connects as soon as the address accepts connections.
pub fn connect(address: SocketAddr) -> TcpStream {
    loop {
        match TcpStream::connect(address) {
            Ok(stream) => return stream,
            Err(_) => std::thread::yield_now(),
        }
    }
}

pub fn exchange(mut stream: impl Read + Write, text: &str) -> String {
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // A peer that closes without ending TLS has still sent its answer.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

pub fn get(path: &str, key: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\nConnection: close\r\n\r\n"
    )
}

/// TLS session with a server that has the tests' certificate.
pub fn tls_session() -> rustls::ClientConnection {
    let mut roots = rustls::RootCertStore::empty();
    let authority = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api/serve/tls/authority.pem");
    roots
        .add(CertificateDer::from_pem_file(authority).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    rustls::ClientConnection::new(Arc::new(config), ServerName::try_from("localhost").unwrap())
        .unwrap()
}

async fn answer_of(address: SocketAddr, text: String) -> String {
    tokio::task::spawn_blocking(move || exchange(connect(address), &text))
        .await
        .unwrap()
}

const PROFILE: &str = "/v1/geo-demographics/locations/90210";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_answers_on_its_addresses() {
    let world = World::new().await;
    let settings = settings(&world);
    let (main, metrics) = (settings.bind, settings.metrics_bind.unwrap());
    let server = tokio::spawn(serve(settings, world.contracts.clone()));
    let answer = answer_of(main, get(PROFILE, &world.key)).await;
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("\"value\":19652,"),
        "{answer}"
    );
    let answer = answer_of(metrics, get("/metrics", &world.key)).await;
    assert!(answer.contains("pubdata_release{release_id="), "{answer}");
    let other_name = get("/metrics", &world.key).replace("localhost", "evil.example");
    let answer = answer_of(metrics, other_name).await;
    assert!(
        answer.starts_with("HTTP/1.1 400 ") && answer.contains("evil.example"),
        "{answer}"
    );
    let answer = answer_of(main, get("/metrics", &world.key)).await;
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    server.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_speaks_tls_with_a_certificate() {
    let world = World::new().await;
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api/serve/tls");
    let tls = TlsFiles {
        certificate: files.join("localhost.pem"),
        key: files.join("localhost.key"),
    };
    let settings = ServeSettings {
        tls: Some(tls),
        bind: free_address(),
        ..settings(&world)
    };
    let (address, key) = (settings.bind, world.key.clone());
    let server = tokio::spawn(serve(settings, world.contracts.clone()));
    let requested = move || {
        exchange(
            rustls::StreamOwned::new(tls_session(), connect(address)),
            &get(PROFILE, &key),
        )
    };
    let answer = tokio::task::spawn_blocking(requested).await.unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("\"value\":19652,"),
        "{answer}"
    );
    server.abort();
}

#[tokio::test]
async fn open_network_needs_tls_or_a_proxy() {
    let world = World::empty(|_| {}).await;
    let open = ServeSettings {
        bind: "0.0.0.0:0".parse().unwrap(),
        ..settings(&world)
    };
    let error = serve(open.clone(), world.contracts.clone())
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.hint_text().is_some()),
        (ErrorKind::Config, true),
        "{error}"
    );
    assert!(
        ServeSettings {
            is_behind_proxy: true,
            ..open
        }
        .check()
        .is_ok()
    );
}

#[tokio::test]
async fn unreadable_certificate_is_named() {
    let world = World::empty(|_| {}).await;
    let tls = TlsFiles {
        certificate: "/nowhere/cert.pem".into(),
        key: "/nowhere/key.pem".into(),
    };
    let error = serve(
        ServeSettings {
            tls: Some(tls),
            ..settings(&world)
        },
        world.contracts.clone(),
    )
    .await
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("/nowhere/cert.pem"), "{error}");
}

#[tokio::test]
async fn address_in_use_is_named() {
    let world = World::empty(|_| {}).await;
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let error = serve(
        ServeSettings {
            bind: address,
            ..settings(&world)
        },
        world.contracts.clone(),
    )
    .await
    .unwrap_err();
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

/// The program's process, ended with the test.
pub struct Program(pub Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

impl Program {
    fn start(home: PathBuf, address: SocketAddr) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pubdata"));
        command.arg("serve").arg("--home").arg(home).args([
            "--bind",
            &address.to_string(),
            "--poll-seconds",
            "0.1",
        ]);
        Self(
            command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        )
    }
}

#[cfg(unix)]
#[tokio::test]
async fn stopping_server_finishes_the_requests_it_began() {
    let world = World::new().await;
    let (address, key, home) = (
        free_address(),
        world.key.clone(),
        world.folder.path().to_owned(),
    );
    let exchange = move || {
        let mut program = Program::start(home, address);
        let body = json!({"locations": ["90210", "10001"], "metrics": ["population"]}).to_string();
        let mut stream = connect(address);
        let head = format!(
            "Host: localhost\r\nContent-Type: application/json\r\nX-API-Key: {key}\r\nContent-Length: {}\r\nExpect: 100-continue",
            body.len()
        );
        stream
            .write_all(
                format!("POST /v1/geo-demographics/locations/compare HTTP/1.1\r\n{head}\r\n\r\n")
                    .as_bytes(),
            )
            .unwrap();
        // The server requests the body once it works on the request.
        let mut word = [0; 25];
        stream.read_exact(&mut word).unwrap();
        assert_eq!(&word, b"HTTP/1.1 100 Continue\r\n\r\n");
        let reported = Command::new("kill")
            .args(["-TERM", &program.0.id().to_string()])
            .status()
            .unwrap();
        assert!(reported.success());
        while TcpStream::connect(address).is_ok() {
            std::thread::yield_now();
        }
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        (answer, program.0.wait().unwrap())
    };
    let (answer, status) = tokio::task::spawn_blocking(exchange).await.unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("\"difference\":-9427,"),
        "{answer}"
    );
    assert!(status.success(), "{status}");
}
