//! Tests two servers on one store: a swap under load, a key that is created and revoked, and a
//! stream client that moves between them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream as Connection};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pubdata_core::declared::DeclarationFiles;
use pubdata_store::{EventLog, Home, NewKey, Plans, Scope, SharedLog, SharedStore, change_keys};
use serde_json::{Value, json};

use super::program::{connect, free_address, start};
use super::{APPLE, Client, PATIENCE, filing};
use crate::serve::World;
use crate::serve::geo::draft;
use crate::serve::home::point;
use pubdata_testing::project;

const PATH: &str = "/v1/geo-demographics/locations/90210/demographics?history=true";

/// Status and body of a request on its own connection.
pub fn ask(address: SocketAddr, path: &str, key: &str) -> Option<(u16, Value)> {
    let mut connection = Connection::connect(address).ok()?;
    write!(
        connection,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nX-API-Key: {key}\r\nConnection: close\r\n\r\n"
    )
    .ok()?;
    let mut text = String::new();
    connection.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    // nginx may send the body in chunks, each preceded by its length.
    let body = body
        .find('{')
        .and_then(|begin| Some(&body[begin..=body.rfind('}')?]))
        .unwrap_or_default();
    Some((status, serde_json::from_str(body).unwrap_or_default()))
}

/// Waits until all of these give the same answer.
#[track_caller]
pub fn until(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "{what}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// A process, ended with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// nginx in front of both, configured as in `integrations/nginx`. Returns none and prints the
/// reason if nginx is not installed.
fn nginx(folder: &Path, servers: [SocketAddr; 2]) -> Option<(Ended, SocketAddr)> {
    let address = free_address();
    let site = std::fs::read_to_string(project("integrations/nginx/pubdata.conf")).unwrap();
    let site = site
        .replace("10.0.0.1:8080", &servers[0].to_string())
        .replace("10.0.0.2:8080", &servers[1].to_string());
    let site = site.replace("listen 80;", &format!("listen {address};"));
    let folders: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {name};\n"))
        .concat();
    let text = format!(
        "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr;\nevents {{ }}\nhttp {{\naccess_log off;\n{folders}{site}}}\n"
    );
    std::fs::write(folder.join("nginx.conf"), text).unwrap();
    let mut command = Command::new("nginx");
    command
        .arg("-p")
        .arg(folder)
        .args(["-e", "stderr", "-c"])
        .arg(folder.join("nginx.conf"))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match command.spawn() {
        Ok(child) => Some((Ended(child), address)),
        Err(error) => {
            eprintln!("skipped: nginx cannot be started: {error}; both servers are asked in turn");
            None
        }
    }
}

/// Reads filings until one has the given number; skips heartbeats.
async fn filings(client: &mut Client<tokio::net::TcpStream>, last: u64, seen: &mut Vec<u64>) {
    while seen.last().is_none_or(|seen| *seen < last) {
        let message = client.next().await;
        if message["type"] == "filing" {
            seen.extend(message["seq"].as_u64());
        } else {
            assert_eq!(message["type"], "heartbeat", "{message}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_store_file_is_named_and_the_server_continues() {
    let world = World::new().await;
    let url = format!("file://{}", world.folder.path().display());
    let store = SharedStore::at(&url).unwrap();
    let folders =
        ["follower", "server"].map(|name| tempfile::Builder::new().prefix(name).tempdir().unwrap());
    let follower = Home::open(folders[0].path()).unwrap();
    let plans = Plans::load(&DeclarationFiles::built_in()).unwrap();
    let new = NewKey {
        name: "client".to_owned(),
        scopes: Scope::ALL.to_vec(),
        plan: "unlimited".to_owned(),
        expires_at: None,
    };
    let made = change_keys(&follower, &store, |keys| {
        keys.create(new.clone(), &plans, Timestamp::now())
    })
    .await
    .unwrap();
    let server = free_address();
    let _program = start(
        folders[1].path(),
        server,
        &["--store", &url, "--poll-seconds", "0.2"],
    );
    until("it is ready", || {
        ask(server, PATH, &made.key).is_some_and(|(status, _)| status == 200)
    });

    let damaged = world.folder.path().join("keys/0000000002.json");
    std::fs::write(&damaged, "\0garbage{").unwrap();
    let home = folders[0].path().display().to_string();
    let reported = |command: &[&str], code: i32, words: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_pubdata"))
            .args(command)
            .args(["--home", &home, "--store", &url])
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        assert!(
            output.status.code() == Some(code) && String::from_utf8_lossy(&text).contains(words),
            "{command:?}: {}",
            String::from_utf8_lossy(&text)
        );
    };
    reported(&["keys", "list"], 60, "is not a keys file");
    reported(&["upgrade"], 60, "API keys of the store");
    let copied = folders[1].path().join("state/replica");
    let is_copied = || {
        pubdata_testing::files_below(&copied)
            .iter()
            .any(|path| std::fs::read(path).unwrap().starts_with(b"\0garbage"))
    };
    until("the server has seen it", is_copied);
    for _ in 0..20 {
        assert_eq!(ask(server, PATH, &made.key).unwrap().0, 200);
        std::thread::park_timeout(Duration::from_millis(50));
    }
    std::fs::remove_file(&damaged).unwrap();
    reported(&["keys", "list"], 0, "client");

    let batch = world
        .folder
        .path()
        .join("stream/log/00000000000000000001.jsonl");
    std::fs::create_dir_all(batch.parent().unwrap()).unwrap();
    std::fs::write(&batch, "\0garbage{\n").unwrap();
    let refused = SharedLog::open(&follower, &store, Timestamp::now())
        .await
        .err()
        .unwrap();
    assert!(
        refused
            .to_string()
            .contains("is not the event that follows")
            && refused.hint_text().unwrap().contains("delete stream/log"),
        "{refused}"
    );
    assert_eq!(ask(server, PATH, &made.key).unwrap().0, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_left_in_a_servers_home_are_reported_as_ignored() {
    let world = World::new().await;
    let url = format!("file://{}", world.folder.path().display());
    let store = SharedStore::at(&url).unwrap();
    let folders =
        ["writer", "server"].map(|name| tempfile::Builder::new().prefix(name).tempdir().unwrap());
    let [writer, own] = [0, 1].map(|number| Home::open(folders[number].path()).unwrap());
    let plans = Plans::load(&DeclarationFiles::built_in()).unwrap();
    let new = |name: &str| NewKey {
        name: name.to_owned(),
        scopes: Scope::ALL.to_vec(),
        plan: "unlimited".to_owned(),
        expires_at: None,
    };
    let at_home = SharedStore::open(&own, None).unwrap();
    for name in ["first", "second"] {
        change_keys(&own, &at_home, |keys| {
            keys.create(new(name), &plans, Timestamp::now())
        })
        .await
        .unwrap();
    }
    let shared = change_keys(&writer, &store, |keys| {
        keys.create(new("shared"), &plans, Timestamp::now())
    })
    .await
    .unwrap();

    let server = free_address();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pubdata"));
    command
        .arg("serve")
        .arg("--home")
        .arg(folders[1].path())
        .args(["--bind", &server.to_string(), "--store", &url]);
    command
        .env("PUBDATA_LOG", "warn")
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut program = Ended(command.spawn().unwrap());
    until("it is ready", || {
        ask(server, PATH, &shared.key).is_some_and(|(status, _)| status == 200)
    });
    program.0.kill().unwrap();
    let mut reported = String::new();
    program
        .0
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut reported)
        .unwrap();
    let line = reported
        .lines()
        .find(|line| line.contains("API keys of this home"))
        .unwrap_or_else(|| panic!("{reported}"));
    assert!(
        line.contains("2 API keys of this home are not valid")
            && line.contains(&format!("pubdata keys create --store {url}")),
        "{line}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_of_one_store_act_as_one() {
    let world = World::new().await;
    let releases = world.releases();
    let ids = [
        world.release_id.clone(),
        world.publish(&draft(20_000.0)).await,
    ];
    let figures: Arc<Vec<(String, i64)>> = Arc::new(
        ids.iter()
            .map(ToString::to_string)
            .zip([19_652, 20_000])
            .collect(),
    );

    // The home of the world is the store; the follower and each server have their own home.
    let url = format!("file://{}", world.folder.path().display());
    let store = SharedStore::at(&url).unwrap();
    let folders = ["follower", "one", "other", "proxy"]
        .map(|name| tempfile::Builder::new().prefix(name).tempdir().unwrap());
    let follower = Home::open(folders[0].path()).unwrap();
    let plans = Plans::load(&DeclarationFiles::built_in()).unwrap();
    let new = NewKey {
        name: "client".to_owned(),
        scopes: Scope::ALL.to_vec(),
        plan: "unlimited".to_owned(),
        expires_at: None,
    };
    let made = change_keys(&follower, &store, |keys| {
        keys.create(new.clone(), &plans, Timestamp::now())
    })
    .await
    .unwrap();
    let mut shared = SharedLog::open(&follower, &store, Timestamp::now())
        .await
        .unwrap()
        .unwrap();
    let mut log = EventLog::open(&follower, |_| ()).unwrap();
    log.append(
        vec![filing(1, "8-K", APPLE), filing(2, "8-K", APPLE)],
        Timestamp::now(),
    )
    .unwrap();
    shared.push().await.unwrap();

    let servers = [free_address(), free_address()];
    let begin = |number: usize| {
        start(
            folders[number + 1].path(),
            servers[number],
            &["--store", &url, "--behind-proxy", "--poll-seconds", "0.2"],
        )
    };
    let mut programs = [0, 1].map(|number| Some(begin(number)));
    let key = made.key.clone();
    until("both are ready", || {
        servers
            .iter()
            .all(|server| ask(*server, PATH, &key).is_some_and(|(status, _)| status == 200))
    });
    let proxy = nginx(folders[3].path(), servers);
    let fronts: Vec<SocketAddr> = proxy
        .as_ref()
        .map_or(servers.to_vec(), |(_, address)| vec![*address]);
    until("the proxy answers", || {
        ask(fronts[0], PATH, &key).is_some_and(|(status, _)| status == 200)
    });

    // Load, while the channel moves back and forth.
    let (stop, answers) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let askers: Vec<_> = (0..4)
        .map(|_| {
            let (fronts, figures, key, stop, answers) = (
                fronts.clone(),
                figures.clone(),
                key.clone(),
                stop.clone(),
                answers.clone(),
            );
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let turn = answers.fetch_add(1, Ordering::Relaxed);
                    let (status, body) = ask(fronts[turn % fronts.len()], PATH, &key)
                        .expect("every request is answered");
                    assert_eq!(status, 200, "{body}");
                    let population = &body["data"]["demographics"]["population"];
                    let release = body["meta"]["release"]["release_id"].as_str().unwrap();
                    let expected = figures.iter().find(|(id, _)| id == release).unwrap().1;
                    assert_eq!(
                        (&population["value"], &population["history"][0]["value"]),
                        (&json!(expected), &json!(expected - 1_000)),
                        "{release}"
                    );
                }
            })
        })
        .collect();
    let serves = |server: SocketAddr, id: &str| {
        ask(server, PATH, &key).is_some_and(|(_, body)| body["meta"]["release"]["release_id"] == id)
    };
    for round in 0..6 {
        let id = &ids[round % 2];
        point(&releases, id, "2026-01-13T00:00:00Z").await;
        until("both serve what the channel points at", || {
            servers.iter().all(|server| serves(*server, id.as_str()))
        });
    }
    stop.store(true, Ordering::Relaxed);
    for asker in askers {
        asker.join().unwrap();
    }
    assert!(
        answers.load(Ordering::Relaxed) > 20,
        "there was load: {answers:?}"
    );

    // A client that reads from this server, and from the other one after this one stops.
    let (headers, stream) = ([("x-api-key", key.as_str())], |server: SocketAddr| {
        format!("ws://{server}/v1/stream")
    });
    let mut client = Client::open(connect(servers[0]).await, &stream(servers[0]), &headers)
        .await
        .unwrap();
    assert_eq!(client.next().await["type"], "welcome");
    assert_eq!(
        client.subscribe("s", json!({"since_seq": 0})).await["type"],
        "subscribed"
    );
    log.append(vec![filing(3, "8-K", APPLE)], Timestamp::now())
        .unwrap();
    shared.push().await.unwrap();
    let mut seen = Vec::new();
    filings(&mut client, 3, &mut seen).await;
    let mut stopped = programs[0].take().unwrap();
    assert!(
        Command::new("kill")
            .args(["-TERM", &stopped.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(
        client.until_closed().await.1,
        Some(1012),
        "the client is told to reconnect"
    );
    log.append(
        vec![filing(4, "8-K", APPLE), filing(5, "8-K", APPLE)],
        Timestamp::now(),
    )
    .unwrap();
    shared.push().await.unwrap();
    let mut client = Client::open(connect(servers[1]).await, &stream(servers[1]), &headers)
        .await
        .unwrap();
    assert_eq!(client.next().await["type"], "welcome");
    assert_eq!(
        client.subscribe("s", json!({"since_seq": 3})).await["type"],
        "subscribed"
    );
    filings(&mut client, 5, &mut seen).await;
    assert_eq!(seen, [1, 2, 3, 4, 5], "each once, none missed");
    tokio::task::spawn_blocking(move || stopped.wait())
        .await
        .unwrap();
    if proxy.is_some() {
        for _ in 0..10 {
            assert_eq!(
                ask(fronts[0], PATH, &key).unwrap().0,
                200,
                "the proxy asks the running server"
            );
        }
    }

    // A server that was away catches up. A revoked key is refused everywhere, and a new one is
    // accepted everywhere.
    programs[0] = Some(begin(0));
    let other = change_keys(&follower, &store, |keys| {
        keys.create(new.clone(), &plans, Timestamp::now())
    })
    .await
    .unwrap();
    change_keys(&follower, &store, |keys| {
        keys.revoke(&made.entry.id, Timestamp::now())
    })
    .await
    .unwrap();
    let is_known = |key: &str, expected: u16| {
        servers
            .iter()
            .all(|server| ask(*server, PATH, key).is_some_and(|(status, _)| status == expected))
    };
    until("the revoked key is refused by both", || is_known(&key, 401));
    until("the new one is taken by both", || is_known(&other.key, 200));
    let mut client = Client::open(
        connect(servers[0]).await,
        &stream(servers[0]),
        &[("x-api-key", other.key.as_str())],
    )
    .await
    .unwrap();
    assert_eq!(client.next().await["type"], "welcome");
    assert_eq!(
        client.subscribe("s", json!({"since_seq": 3})).await["type"],
        "subscribed"
    );
    let mut again = Vec::new();
    filings(&mut client, 5, &mut again).await;
    assert_eq!(again, [4, 5]);
}
