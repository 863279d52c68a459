use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use jiff::Timestamp;
use pubdata_store::EventLog;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::json;
use tokio::net::TcpStream;

use super::super::World;
use super::{APPLE, Client, filing};

/// The program's process, ended with the test.
pub struct Program(Child);

impl Program {
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    pub fn wait(&mut self) -> std::process::ExitStatus {
        self.0.wait().unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn start(home: &Path, address: SocketAddr, more: &[&str]) -> Program {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pubdata"));
    command
        .arg("serve")
        .arg("--home")
        .arg(home)
        .args(["--bind", &address.to_string()])
        .args(more);
    Program(
        command
            .env("PUBDATA_LOG", "error")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    )
}

pub async fn connect(address: SocketAddr) -> TcpStream {
    loop {
        match TcpStream::connect(address).await {
            Ok(stream) => return stream,
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

pub fn free_address() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restart_is_announced_and_the_next_server_continues() {
    let world = World::empty(|_| {}).await;
    let home = world.folder.path();
    let mut log = EventLog::open(&world.home, |_| ()).unwrap();
    let address = free_address();
    let url = format!("ws://{address}/v1/stream");
    let headers = [("x-api-key", world.key.as_str())];
    let mut program = start(home, address, &[]);
    let mut client = Client::open(connect(address).await, &url, &headers)
        .await
        .unwrap();
    client.next().await;
    client.subscribe("s", json!({})).await;
    log.append(
        vec![filing(1, "8-K", APPLE), filing(2, "8-K", APPLE)],
        Timestamp::now(),
    )
    .unwrap();
    for expected in 1..=2 {
        assert_eq!(
            client.next().await["seq"],
            expected,
            "the server follows the log without a request"
        );
    }
    let reported = Command::new("kill")
        .args(["-TERM", &program.0.id().to_string()])
        .status()
        .unwrap();
    assert!(reported.success());
    let (messages, code) = client.until_closed().await;
    assert_eq!(
        (messages.last().unwrap()["type"].as_str(), code),
        (Some("reconnect"), Some(1012)),
        "{messages:?}"
    );
    assert!(messages.last().unwrap()["within_seconds"].as_u64().unwrap() > 0);
    drop(client);
    let ended = tokio::task::spawn_blocking(move || program.0.wait().unwrap())
        .await
        .unwrap();
    assert!(ended.success(), "{ended}");
    log.append(vec![filing(3, "8-K", APPLE)], Timestamp::now())
        .unwrap();
    let _program = start(home, address, &[]);
    let mut client = Client::open(connect(address).await, &url, &headers)
        .await
        .unwrap();
    assert_eq!(client.next().await["seq"], 3);
    client.subscribe("s", json!({"since_seq": 2})).await;
    assert_eq!(client.next().await["seq"], 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stream_uses_tls_with_the_server_certificate() {
    let world = World::empty(|_| {}).await;
    EventLog::open(&world.home, |_| ())
        .unwrap()
        .append(vec![filing(1, "8-K", APPLE)], Timestamp::now())
        .unwrap();
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api/serve/tls");
    let file = |name: &str| files.join(name).display().to_string();
    let address = free_address();
    let _program = start(
        world.folder.path(),
        address,
        &[
            "--tls-cert",
            &file("localhost.pem"),
            "--tls-key",
            &file("localhost.key"),
        ],
    );
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(files.join("authority.pem")).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    // A browser offers only this protocol for a socket, and the server supports it.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let stream = connector
        .connect(
            ServerName::try_from("localhost").unwrap(),
            connect(address).await,
        )
        .await
        .unwrap();
    let mut client = Client::open(
        stream,
        &format!("wss://localhost:{}/v1/stream", address.port()),
        &[("x-api-key", &world.key)],
    )
    .await
    .unwrap();
    assert_eq!(client.next().await["type"], "welcome");
    client.subscribe("s", json!({"since_seq": 0})).await;
    assert_eq!(client.next().await["seq"], 1);
}
