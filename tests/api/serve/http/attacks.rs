//! Simulates clients that only try to block others, on real sockets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pubdata_serve::{Limits, ServeSettings, TlsFiles, serve};

use super::connections::{Program, connect, exchange, free_address, get, settings};
use crate::serve::{World, bulk};

const PROFILE: &str = "/v1/geo-demographics/locations/90210";
const COMPARE: &str = "/v1/geo-demographics/locations/compare";
/// Time limit that expires within a moment, and that no prompt client exceeds.
const SOON: Duration = Duration::from_millis(400);
/// Longer than any operation takes; a test that waits this long has failed.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a server with these limits and a client on its own thread.
async fn attacked<T: Send + 'static>(
    limits: Limits,
    tls: Option<TlsFiles>,
    attack: impl FnOnce(SocketAddr, String) -> T + Send + 'static,
) -> T {
    attacked_world(&World::new().await, limits, tls, attack).await
}

/// Does the same with an existing home.
pub async fn attacked_world<T: Send + 'static>(
    world: &World,
    limits: Limits,
    tls: Option<TlsFiles>,
    attack: impl FnOnce(SocketAddr, String) -> T + Send + 'static,
) -> T {
    let settings = ServeSettings {
        limits,
        tls,
        metrics_bind: None,
        ..settings(world)
    };
    let (address, key) = (settings.bind, world.key.clone());
    let server = tokio::spawn(serve(settings, world.contracts.clone()));
    let outcome = tokio::task::spawn_blocking(move || attack(address, key))
        .await
        .unwrap();
    server.abort();
    outcome
}

/// A connection that sends some bytes and then stays silent.
pub fn silent(address: SocketAddr, beginning: &[u8]) -> TcpStream {
    let mut stream = connect(address);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(beginning).unwrap();
    stream
}

/// Bytes received until the server closes the connection; none if it does not.
fn until_ended(mut stream: TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
            ) =>
        {
            None
        }
        _ => Some(bytes),
    }
}

fn is_open(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let outcome = stream.peek(&mut [0]);
    stream.set_nonblocking(false).unwrap();
    matches!(outcome, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_without_a_request_is_disconnected_in_time() {
    let limits = Limits {
        head_time: SOON,
        ..Limits::default()
    };
    attacked(limits, None, |address, _| {
        let began = Instant::now();
        let beginnings: [&[u8]; 5] = [
            b"",
            b"G",
            b"PRI * HTTP/2.0\r\n",
            b"GET / HTTP/1.1\r\n",
            b"\x16\x03\x01",
        ];
        let streams = beginnings.map(|beginning| (beginning, silent(address, beginning)));
        for (beginning, stream) in streams {
            assert!(
                until_ended(stream).is_some(),
                "{}",
                String::from_utf8_lossy(beginning)
            );
        }
        assert!(began.elapsed() < PATIENCE / 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_silent_around_the_handshake_is_disconnected_in_time() {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api/serve/tls");
    let tls = TlsFiles {
        certificate: files.join("localhost.pem"),
        key: files.join("localhost.key"),
    };
    let limits = Limits {
        head_time: SOON,
        ..Limits::default()
    };
    attacked(limits, Some(tls), move |address, key| {
        assert!(until_ended(silent(address, b"")).is_some());
        assert!(until_ended(silent(address, b"\x16\x03\x01\x02")).is_some());
        let mut session = super::connections::tls_session();
        let mut stream = silent(address, b"");
        while session.is_handshaking() {
            session.complete_io(&mut stream).unwrap();
        }
        assert!(until_ended(stream).is_some(), "after the handshake");
        let answer = exchange(
            rustls::StreamOwned::new(super::connections::tls_session(), connect(address)),
            &get(PROFILE, &key),
        );
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(
            answer.contains("strict-transport-security: max-age=31536000\r\n"),
            "{answer}"
        );
    })
    .await;
}

/// A request head that no handler sees is also refused with a problem, even after another request
/// on the connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_request_is_refused_with_a_problem() {
    attacked(Limits::default(), None, |address, key| {
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(70_000));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(300));
        for request in [
            "GET /v1 zip HTTP/1.1\r\n\r\n",
            "nonsense\r\n\r\n",
            "GET /v1/zip/1 HTTP/1.1\r\nno colon\r\n\r\n",
            &long,
            &many,
        ] {
            let answer =
                String::from_utf8(until_ended(silent(address, request.as_bytes())).unwrap())
                    .unwrap();
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(
                head.starts_with(
                    "HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\n"
                ),
                "{request:.40}: {answer}"
            );
            let problem: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(
                (problem["code"].as_str(), problem["status"].as_u64()),
                (Some("invalid_parameter"), Some(400)),
                "{request:.40}"
            );
        }
        let mut stream = silent(
            address,
            get(PROFILE, &key)
                .replace("Connection: close\r\n", "")
                .as_bytes(),
        );
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        stream.write_all(b"nonsense\r\n\r\n").unwrap();
        let rest = String::from_utf8_lossy(&until_ended(stream).unwrap()).into_owned();
        assert!(
            rest.contains("HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\n"),
            "{rest}"
        );
    })
    .await;
}

/// HTTP/2 streams that a client does not let flow used to hold megabytes each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_2_is_not_supported() {
    attacked(Limits::default(), None, |address, _| {
        let mut stream = silent(
            address,
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
        );
        let _ = stream.flush();
        let answer = until_ended(stream).expect("the connection is ended");
        assert!(
            answer.is_empty() || answer.starts_with(b"HTTP/1.1 400 "),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_that_reads_nothing_is_disconnected_in_time() {
    let limits = Limits {
        write_time: SOON,
        ..Limits::default()
    };
    attacked(limits, None, |address, key| {
        let mut stream = silent(address, b"");
        let request =
            format!("GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n\r\n");
        // More than systems buffer for one connection, requested at once.
        let requested =
            (64 << 20) / exchange(connect(address), &get("/v1/openapi.json", &key)).len();
        let _ = stream.write_all(request.repeat(requested).as_bytes());
        let metric = || {
            let text = exchange(connect(address), &get("/healthz", &key));
            assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
        };
        metric();
        let began = Instant::now();
        // The server's close shows as an error on further writes, without any read.
        while stream.write_all(b"G").is_ok() {
            assert!(began.elapsed() < PATIENCE, "the connection stays open");
            std::thread::yield_now();
        }
    })
    .await;
}

/// A table with more bytes than systems buffer for one connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_table_is_cut_off_and_a_slowly_read_one_is_complete() {
    let world = World::empty(|_| {}).await;
    world.publish(&bulk::many()).await;
    let limits = Limits {
        write_time: SOON,
        request_time: SOON,
        ..Limits::default()
    };
    attacked_world(&world, limits, None, |address, key| {
        while !exchange(connect(address), &get("/readyz", &key)).starts_with("HTTP/1.1 200 OK\r\n")
        {
            std::thread::yield_now();
        }
        let path = "/v1/releases/current/datasets/business.entity?format=csv";
        let unread = silent(address, get(path, &key).as_bytes());
        let whole = exchange(connect(address), &get(path, &key));
        assert!(
            whole.starts_with("HTTP/1.1 200 OK\r\n")
                && whole.contains("transfer-encoding: chunked\r\n"),
            "{whole:.600}"
        );
        assert!(
            whole.len() > 10_000_000 && whole.ends_with("\r\n0\r\n\r\n"),
            "{}",
            whole.len()
        );
        let began = Instant::now();
        while !exchange(connect(address), &get("/metrics", &key))
            .contains("\npubdata_http_bytes_in_flight 0\n")
        {
            assert!(began.elapsed() < PATIENCE, "unread bytes stay in memory");
            std::thread::yield_now();
        }
        let left = until_ended(unread).expect("the connection is ended");
        assert!(
            left.len() < whole.len() && !left.ends_with(b"\r\n0\r\n\r\n"),
            "{} bytes do not look complete",
            left.len()
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_give_way_to_active_clients() {
    let limits = Limits {
        connections: 4,
        ..Limits::default()
    };
    attacked(limits, None, |address, key| {
        let ask = || exchange(connect(address), &get(PROFILE, &key));
        assert!(ask().starts_with("HTTP/1.1 200 OK\r\n"));
        let kept: Vec<TcpStream> = (0..40).map(|_| silent(address, b"G")).collect();
        let answer = ask();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        let began = Instant::now();
        while kept.iter().filter(|stream| is_open(stream)).count() > 4 {
            assert!(began.elapsed() < PATIENCE);
            std::thread::yield_now();
        }
    })
    .await;
}

/// Requests whose bodies never arrive used to take the slots of all others, health included.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unfinished_bodies_do_not_block_other_clients() {
    let limits = Limits {
        simultaneous_requests: 2,
        requests_per_client: 5,
        ..Limits::default()
    };
    attacked(limits, None, |address, key| {
        let head = format!("Host: localhost\r\nContent-Type: application/json\r\nX-API-Key: {key}\r\nContent-Length: 100\r\nExpect: 100-continue");
        let unfinished: Vec<TcpStream> = (0..5)
            .map(|_| {
                let mut stream = silent(address, format!("POST {COMPARE} HTTP/1.1\r\n{head}\r\n\r\n").as_bytes());
                let mut word = [0; 25];
                stream.read_exact(&mut word).unwrap();
                assert_eq!(&word, b"HTTP/1.1 100 Continue\r\n\r\n", "the server waits for the body");
                stream
            })
            .collect();
        for path in [PROFILE, "/healthz", "/readyz"] {
            let answer = exchange(connect(address), &get(path, &key));
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        }
        let refused = exchange(connect(address), &format!("POST {COMPARE} HTTP/1.1\r\n{head}\r\n\r\n"));
        assert!(refused.starts_with("HTTP/1.1 429 ") && refused.contains("its limit of concurrent request bodies"), "{refused}");
        drop(unfinished);
    })
    .await;
}

#[cfg(unix)]
#[tokio::test]
async fn few_descriptors_mean_few_connections_that_are_still_answered() {
    let world = World::new().await;
    let (address, key, home) = (
        free_address(),
        world.key.clone(),
        world.folder.path().to_owned(),
    );
    let requested = move || {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "ulimit -n 64; exec \"$0\" serve --home \"$1\" --bind \"$2\"",
        ]);
        command
            .arg(env!("CARGO_BIN_EXE_pubdata"))
            .arg(home)
            .arg(address.to_string());
        let _program = Program(
            command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        );
        let ready = |answer: String| answer.starts_with("HTTP/1.1 200 OK\r\n");
        while !ready(exchange(connect(address), &get("/readyz", &key))) {
            std::thread::yield_now();
        }
        let kept: Vec<TcpStream> = (0..200).map(|_| silent(address, b"")).collect();
        let answer = exchange(connect(address), &get(PROFILE, &key));
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("\"value\":19652,"),
            "{answer}"
        );
        drop(kept);
    };
    tokio::task::spawn_blocking(requested).await.unwrap();
}
