use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use jiff::Timestamp;
use pubdata_store::{EventKind, EventLog, Feed, Home, NewEvent, StreamFiling};
use serde_json::{Value, json};

use pubdata_testing::peers::{pubdata, python, script};

/// `pubdata serve`, ended when dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn filing(number: u32) -> NewEvent {
    NewEvent {
        event: EventKind::Filing,
        accession_number: format!("0009999999-26-{number:06}").parse().unwrap(),
        source: Feed::Getcurrent,
        source_url: "https://publisher.example/".to_owned(),
        filing: StreamFiling {
            forms: vec![
                if number.is_multiple_of(5) {
                    "10-K"
                } else {
                    "8-K"
                }
                .to_owned(),
            ],
            ..StreamFiling::default()
        },
    }
}

#[test]
fn standard_websocket_client_resumes_without_gaps_or_repeats() {
    let Some(python) = python(&["websockets"]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let mut log = EventLog::open(&Home::open(&home).unwrap(), |_| ()).unwrap();
    log.append((1..=299).map(filing).collect(), Timestamp::now())
        .unwrap();
    let created = pubdata(&[
        "keys",
        "create",
        "--home",
        home.to_str().unwrap(),
        "--name",
        "peers",
        "--scopes",
        "stream",
        "--plan",
        "free",
        "--json",
    ]);
    let created: Value = serde_json::from_slice(&created.stdout).unwrap();
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pubdata"));
    command
        .args([
            "serve",
            "--home",
            home.to_str().unwrap(),
            "--bind",
            &address,
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _server = Server(command.spawn().unwrap());
    while TcpStream::connect(&address).is_err() {
        std::thread::yield_now();
    }
    let mut client = Command::new(python);
    client.arg("-B").arg(script("stream.py")).args([
        &format!("ws://{address}/v1/stream"),
        created["key"].as_str().unwrap(),
        "601",
    ]);
    let mut client = client
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed = BufReader::new(client.stdout.take().unwrap());
    let mut line = String::new();
    printed.read_line(&mut line).unwrap();
    assert_eq!(line, "more\n");
    log.append((300..=601).map(filing).collect(), Timestamp::now())
        .unwrap();
    client.stdin.take().unwrap().write_all(b"done\n").unwrap();
    let mut rest = String::new();
    printed.read_to_string(&mut rest).unwrap();
    assert!(client.wait().unwrap().success(), "{rest}");
    let seen: Value = serde_json::from_str(&rest).unwrap();
    let expected = |from: u32, to: u32| -> Vec<u32> {
        (from..=to)
            .filter(|number| !number.is_multiple_of(5))
            .collect()
    };
    assert_eq!(
        (&seen["first"], &seen["second"]),
        (&json!(expected(1, 299)), &json!(expected(300, 601)))
    );
    assert_eq!(
        (&seen["code"], &seen["status"], &seen["problem"]),
        (&json!(4400), &json!(401), &json!("invalid_api_key"))
    );
}
