use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use jiff::Timestamp;
use pubdata_store::{EventKind, EventLog, Feed, Home, NewEvent, StreamEntity, StreamFiling};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::Result;
use crate::corpus;
use crate::http::{Server, free_address, pinned};
use crate::measure::{Figures, finish, pubdata};

/// Number of sockets; `PUBDATA_BENCH_SOCKETS` sets another number.
const SOCKETS: usize = 1_000;
const SUBSCRIPTIONS: usize = 10;
/// Filings per batch, number of batches, and time between them: 25 filings a second, about the
/// busiest minute of a year.
const BATCH: u32 = 25;
const BATCHES: u32 = 60;
const BETWEEN: Duration = Duration::from_secs(1);
/// Time after which a missing message counts as not served.
const PATIENCE: Duration = Duration::from_secs(30);

type Socket = WebSocketStream<TcpStream>;

/// Opens sockets with ten subscriptions each, logs filings as a follower does, and measures the
/// server's memory and how long each filing takes to arrive. Measures once with all sockets reading
/// and once with one that never reads.
pub fn bench() -> Result<()> {
    let sockets = std::env::var("PUBDATA_BENCH_SOCKETS")
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(SOCKETS);
    let home = corpus::folder().join("stream-home");
    corpus::remove(&home)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    println!(
        "    {sockets} sockets, {SUBSCRIPTIONS} subscriptions each; {BATCH} filings a second for {BATCHES} s; one client for all in this process"
    );
    for has_slow in [false, true] {
        let home = home.join(if has_slow { "slow" } else { "all" });
        let outcome = runtime.block_on(measure(&home, sockets, has_slow))?;
        println!(
            "    {}",
            if has_slow {
                "one of them does not read"
            } else {
                "all read"
            }
        );
        println!(
            "      from log to client        median {}, longest {:.0} ms",
            outcome.delays, outcome.longest_ms
        );
        println!(
            "      messages                  {} of {}",
            outcome.received, outcome.expected
        );
        println!(
            "      memory of the server      {:.1} MB before, {:.1} MB with the sockets, {:.1} MB at its highest",
            outcome.memory[0], outcome.memory[1], outcome.memory[2]
        );
        if has_slow {
            println!(
                "      the one that does not read was {}",
                if outcome.is_slow_closed {
                    "cut off"
                } else {
                    "still waited for: the system buffered all of it"
                }
            );
        }
        if outcome.received != outcome.expected {
            return Err("messages are missing".into());
        }
    }
    Ok(())
}

struct Outcome {
    delays: Figures,
    longest_ms: f64,
    received: u64,
    expected: u64,
    memory: [f64; 3],
    is_slow_closed: bool,
}

async fn measure(home: &Path, sockets: usize, has_slow: bool) -> Result<Outcome> {
    let mut log = EventLog::open(&Home::open(home)?, |_| ())?;
    let key = key(home)?;
    let address = free_address()?;
    let mut command = pinned(None, env!("CARGO_BIN_EXE_pubdata"));
    command
        .args(["serve", "--bind", &address])
        .arg("--home")
        .arg(home)
        .env("PUBDATA_LOG", "error");
    // The stream needs no release; without one a server is healthy but not ready.
    let server = Server::start(&mut command, &address, "/healthz")?;
    let before = server.memory()?.0;
    let logged: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let (received, is_over) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let mut readers = Vec::new();
    for number in 0..sockets {
        let socket = open(&server.address, &key, number).await?;
        if has_slow && number == 0 {
            // Kept open and never read.
            tokio::spawn(keep(socket, is_over.clone()));
            continue;
        }
        readers.push(tokio::spawn(read(socket, logged.clone(), received.clone())));
    }
    let with_sockets = server.memory()?.0;
    for batch in 0..BATCHES {
        let events = (0..BATCH)
            .map(|number| filing(batch * BATCH + number))
            .collect();
        let at = Instant::now();
        logged
            .lock()
            .map_err(|_| "a reader panicked")?
            .extend(std::iter::repeat_n(at, BATCH as usize));
        log.append(events, Timestamp::now())?;
        tokio::time::sleep(BETWEEN).await;
    }
    let mut delays = Vec::new();
    let expected = readers.len() as u64 * u64::from(BATCH * BATCHES);
    for reader in readers {
        delays.extend(reader.await?.map_err(|error| error.clone())?);
    }
    is_over.store(true, Ordering::Relaxed);
    let longest_ms = delays.iter().copied().fold(0.0, f64::max);
    let open_sockets = metric(&server.address, "pubdata_stream_sockets")?;
    let memory = server.memory()?;
    let is_slow_closed = open_sockets == 0.0;
    Ok(Outcome {
        delays: Figures::new(delays, " ms"),
        longest_ms,
        received: received.load(Ordering::Relaxed),
        expected,
        memory: [before, with_sockets, memory.1].map(|bytes| bytes / 1e6),
        is_slow_closed,
    })
}

/// Opens a socket whose ten subscriptions together match every filing; each matches a tenth of the
/// parties.
async fn open(address: &str, key: &str, number: usize) -> Result<Socket> {
    let mut request = format!("ws://{address}/v1/stream").into_client_request()?;
    request.headers_mut().insert("x-api-key", key.parse()?);
    let (mut socket, _) =
        tokio_tungstenite::client_async(request, TcpStream::connect(address).await?).await?;
    expect(&mut socket, "welcome").await?;
    for subscription in 0..SUBSCRIPTIONS {
        let ciks: Vec<u64> = (0..50)
            .map(|cik| 1 + subscription as u64 + cik * SUBSCRIPTIONS as u64)
            .collect();
        let filters =
            json!({"ciks": ciks, "forms": ["8-K", "10-K", format!("OTHER {}", number % 7)]});
        socket
            .send(Message::text(
                json!({"type": "subscribe", "id": format!("s{subscription}"), "filters": filters})
                    .to_string(),
            ))
            .await?;
        expect(&mut socket, "subscribed").await?;
    }
    Ok(socket)
}

async fn expect(socket: &mut Socket, kind: &str) -> Result<()> {
    loop {
        if let Message::Text(text) = tokio::time::timeout(PATIENCE, socket.next())
            .await?
            .ok_or("the socket was closed")??
        {
            let message: Value = serde_json::from_str(&text)?;
            if message["type"] == kind {
                return Ok(());
            }
            if message["type"] != "heartbeat" {
                return Err(format!("{message} instead of {kind}").into());
            }
        }
    }
}

/// Reads every filing; returns the delay in milliseconds of one in fifty.
async fn read(
    mut socket: Socket,
    logged: Arc<Mutex<Vec<Instant>>>,
    received: Arc<AtomicU64>,
) -> std::result::Result<Vec<f64>, String> {
    let (mut next, mut delays) = (1_u64, Vec::new());
    while next <= u64::from(BATCH * BATCHES) {
        let message = tokio::time::timeout(PATIENCE, socket.next())
            .await
            .map_err(|_| format!("event {next} did not arrive"))?;
        let message = message
            .ok_or("the socket was closed")?
            .map_err(|error| error.to_string())?;
        let Message::Text(text) = message else {
            continue;
        };
        // The number is at the start of the message; parsing all of a thousand copies would measure
        // this client.
        let Some(seq) = text
            .strip_prefix("{\"type\":\"filing\",\"seq\":")
            .and_then(|rest| rest.split(',').next()?.parse::<u64>().ok())
        else {
            continue;
        };
        if seq != next {
            return Err(format!("event {seq} instead of {next}"));
        }
        next += 1;
        received.fetch_add(1, Ordering::Relaxed);
        if seq.is_multiple_of(50) {
            let at = logged.lock().map_err(|_| "another reader panicked")?[seq as usize - 1];
            delays.push(at.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok(delays)
}

async fn keep(socket: Socket, is_over: Arc<AtomicBool>) {
    while !is_over.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    drop(socket);
}

fn filing(number: u32) -> NewEvent {
    let cik = u64::from(1 + number % 500);
    let entity = StreamEntity {
        cik: format!("{cik:010}"),
        name: Some(format!("COMPANY {cik} INC")),
        role: Some("filer".to_owned()),
        sic: Some("3571".to_owned()),
    };
    NewEvent {
        event: EventKind::Filing,
        accession_number: format!("0009999999-26-{number:06}")
            .parse()
            .expect("an accession number"),
        source: Feed::Getcurrent,
        source_url: "https://publisher.example/feed".to_owned(),
        filing: StreamFiling {
            forms: vec!["8-K".to_owned()],
            filed_date: Some("2026-01-15".to_owned()),
            accepted_at: Some("2026-01-15T21:00:00Z".to_owned()),
            entities: vec![entity],
            items: vec!["2.02".to_owned(), "9.01".to_owned()],
            ..StreamFiling::default()
        },
    }
}

fn key(home: &Path) -> Result<String> {
    let mut command = pubdata(&[
        "keys",
        "create",
        "--name",
        "bench",
        "--scopes",
        "stream",
        "--plan",
        "unlimited",
        "--json",
    ]);
    let output = finish(command.arg("--home").arg(home), &[0])?;
    let created: Value = serde_json::from_slice(&output.stdout)?;
    Ok(created["key"]
        .as_str()
        .ok_or("`keys create` prints no key")?
        .to_owned())
}

fn metric(address: &str, name: &str) -> Result<f64> {
    let answer = crate::http::Client::connect(address)?.get("/metrics", "")?;
    let text = String::from_utf8(answer.body)?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .ok_or("the server does not report the metric")?;
    Ok(line.trim().parse()?)
}
