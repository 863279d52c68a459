//! Checks a server that runs while files break, and a server that starts on broken files.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::Ground;
use super::kinds::{Harm, harm, kinds};
use super::rights::{bound_command, read_only};
use super::signals::{signal, until};

/// The program, killed when the test ends. Its log goes to a file.
pub struct Served {
    pub program: Child,
    address: SocketAddr,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

impl Served {
    pub fn start(ground: &Ground) -> Self {
        Self::start_as(
            ground,
            |arguments| ground.command(arguments),
            File::create(ground.path("log")).unwrap(),
        )
    }

    fn start_as(ground: &Ground, command: impl FnOnce(&[&str]) -> Command, log: File) -> Self {
        assert!(ground.home().is_dir());
        let address = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let bind = address.to_string();
        let program = command(&["serve", "--bind", &bind, "--poll-seconds", "0.02"])
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Self { program, address }
    }

    /// Returns status and body, or `None` if no server listens.
    fn ask(&self, path: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        .ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        Some((text.split(' ').nth(1)?.parse().ok()?, text))
    }

    fn is_ready(&self) -> bool {
        self.ask("/readyz").is_some_and(|(status, _)| status == 200)
    }

    pub fn serves(&self, release_id: &str) -> bool {
        self.is_ready()
            && self
                .ask("/metrics")
                .is_some_and(|(_, text)| text.contains(&format!("release_id=\"{release_id}\"")))
    }

    /// Returns the exit code if the program ended without help.
    pub fn ended(&mut self) -> Option<i32> {
        self.program
            .try_wait()
            .unwrap()
            .map(|status| status.code().unwrap())
    }
}

pub fn logged(ground: &Ground) -> String {
    std::fs::read_to_string(ground.path("log")).unwrap()
}

/// An operator who logs only warnings still needs the server's address.
#[test]
fn server_prints_its_address_at_every_log_level() {
    let ground = Ground::new();
    let current = ground.current();
    let quiet = |arguments: &[&str]| {
        let mut command = ground.command(arguments);
        command.env("PUBDATA_LOG", "warn");
        command
    };
    let server = Served::start_as(&ground, quiet, File::create(ground.path("log")).unwrap());
    until("it serves", || server.serves(&current));
    assert!(
        logged(&ground).contains(&format!("http://{}", server.address)),
        "{}",
        logged(&ground)
    );
    assert!(
        !logged(&ground).contains("serving release"),
        "{}",
        logged(&ground)
    );
}

/// Damages each kind of file in turn below a server, which continues with its release.
#[test]
fn running_server_keeps_the_old_release_whatever_is_damaged() {
    let ground = Ground::new();
    let current = ground.current();
    let expected = ground.expected();
    let server = Served::start(&ground);
    until("it serves", || server.serves(&current));
    for kind in kinds()
        .into_iter()
        .filter(|kind| kind.name != "staged builds")
    {
        let files = (kind.files)(&ground);
        files.iter().for_each(|path| harm(path, kind.harm));
        if matches!(kind.name, "channels" | "what was not renewed") {
            until("it notices", || logged(&ground).contains(kind.reported));
        }
        assert!(
            server.serves(&current),
            "{}: {}",
            kind.name,
            logged(&ground)
        );
        for path in files {
            std::fs::remove_file(&path).unwrap();
            let kept = ground
                .path("kept")
                .join(path.strip_prefix(ground.home()).unwrap());
            if kept.exists() {
                std::fs::copy(kept, path).unwrap();
            }
        }
    }
    assert!(!logged(&ground).contains("panicked"), "{}", logged(&ground));
    ground.run().expect(0);
    until("the next release is swapped in", || {
        server.serves(&expected)
    });
}

/// A server started on damage ends with an exit code, or reports what it waits for.
#[test]
fn server_started_on_damage_serves_whole_files_or_reports_the_damage() {
    let ground = Ground::new();
    let current = ground.current();
    ground.keep();
    for kind in kinds()
        .into_iter()
        .filter(|kind| kind.name != "staged builds")
    {
        (kind.files)(&ground)
            .iter()
            .for_each(|path| harm(path, kind.harm));
        let mut server = Served::start(&ground);
        match kind.name {
            "home" | "API keys" | "settings" => {
                until("it ends", || server.ended().is_some());
                assert_eq!(
                    server.ended(),
                    Some(if kind.name == "settings" { 40 } else { 60 }),
                    "{}",
                    kind.name
                );
                assert!(
                    logged(&ground).contains(kind.reported) && logged(&ground).contains("hint: "),
                    "{}: {}",
                    kind.name,
                    logged(&ground)
                );
            }
            "channels" | "manifests" | "parts of builds" => {
                until("it says what is damaged", || {
                    logged(&ground).contains(kind.reported)
                });
                assert_eq!(server.ask("/readyz").unwrap().0, 503, "{}", kind.name);
                assert_eq!(server.ask("/healthz").unwrap().0, 200, "{}", kind.name);
            }
            _ => until(kind.name, || server.serves(&current)),
        }
        assert!(
            !logged(&ground).contains("panicked"),
            "{}: {}",
            kind.name,
            logged(&ground)
        );
        drop(server);
        ground.back();
    }
}

/// Each run writes the marks of stale tasks again: a release is served without them.
#[test]
fn damaged_mark_is_reported_once_and_the_release_is_served() {
    let ground = Ground::new();
    harm(&ground.home().join("unrenewed/nightly.json"), Harm::Garbage);
    let server = Served::start(&ground);
    until("it serves", || server.serves(&ground.current()));
    until("it says so", || {
        logged(&ground).contains("unrenewed/nightly.json is damaged")
    });
    let expected = ground.run().expect(0).release_id();
    until("the next release is swapped in", || {
        server.serves(&expected)
    });
    let lines = logged(&ground)
        .lines()
        .filter(|line| line.contains("unrenewed/nightly.json is damaged"))
        .count();
    assert_eq!(lines, 1, "{}", logged(&ground));
}

/// The task that follows the channel once ended at the first line that it could not log: no release
/// was ever served.
#[test]
fn server_runs_where_no_file_can_be_written() {
    let ground = Ground::new();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let logging = |arguments: &[&str]| {
        let mut command = ground.command(arguments);
        command.env("PUBDATA_LOG", "info");
        command
    };
    let unlogged = Served::start_as(&ground, logging, full);
    until("a log on a full disk", || {
        unlogged.serves(&ground.current())
    });
    drop(unlogged);
    let log = || File::options().write(true).open("/dev/null").unwrap();
    let full = Served::start_as(
        &ground,
        |arguments| ground.limited("trap '' XFSZ; ulimit -f 0", arguments),
        log(),
    );
    until("a full disk", || full.serves(&ground.current()));
    drop(full);
    read_only(&ground.home(), || {
        let reading = Served::start_as(
            &ground,
            |arguments| bound_command(&ground, arguments),
            log(),
        );
        until("a home that may only be read", || {
            reading.serves(&ground.current())
        });
    });
}

#[test]
fn paused_server_answers_when_continued_and_stops_on_request() {
    let ground = Ground::new();
    let mut server = Served::start(&ground);
    until("it serves", || server.serves(&ground.current()));
    signal(&server.program, "STOP");
    let mut waiting = TcpStream::connect(server.address).unwrap();
    waiting
        .write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let expected = ground.run().expect(0).release_id();
    signal(&server.program, "CONT");
    let mut text = String::new();
    waiting.read_to_string(&mut text).unwrap();
    assert!(
        text.starts_with("HTTP/1.1 200 OK"),
        "requests sent meanwhile are answered: {text}"
    );
    until("what was published meanwhile is served", || {
        server.serves(&expected)
    });
    signal(&server.program, "INT");
    until("it ends", || server.ended().is_some());
    assert_eq!(server.ended(), Some(0));
    assert!(
        Served::start(&ground).program.id() > 0,
        "the address is free"
    );
}
