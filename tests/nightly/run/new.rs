//! Takes the file of an undeclared city to an answer of the API, with only `pubdata new`, `check`,
//! `run` and `serve`.

mod layouts;
mod refusals;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::Value;

use pubdata_testing::{Answer, Place};

/// A new source: its place with the file on a mirror, and the report of `pubdata new`.
struct NewList {
    place: Place,
    folder: PathBuf,
    report: Value,
}

/// Puts a file on a separate mirror and creates a source from it.
fn begin(jurisdiction: &str, url: &str, bytes: &[u8], more: &[&str]) -> NewList {
    let place = Place::new();
    let path = place
        .root()
        .join("publisher")
        .join(pubdata_fetch::mirror_path(url).unwrap());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
    let folder = place.root().join("lists");
    let answer = new(&place, jurisdiction, url, more).expect(0);
    NewList {
        report: answer.json(),
        place,
        folder,
    }
}

fn new(place: &Place, jurisdiction: &str, url: &str, more: &[&str]) -> Answer {
    let (mirror, folder) = (place.root().join("publisher"), place.root().join("lists"));
    let (mirror, folder) = (mirror.to_str().unwrap(), folder.to_str().unwrap());
    let first = [
        "new",
        "permit",
        jurisdiction,
        "--json",
        "--url",
        url,
        "--declarations",
        folder,
    ];
    let of_mirror: &[&str] = if more.contains(&"--file") {
        &[]
    } else {
        &["--mirror", mirror]
    };
    place.pubdata(&[&first, of_mirror, more].concat())
}

impl NewList {
    /// Returns the publisher's name of one of our columns.
    fn column(&self, ours: &str) -> &str {
        let columns = self.report["columns"].as_array().unwrap();
        columns
            .iter()
            .find(|column| column["ours"] == ours)
            .map_or("", |column| column["published"].as_str().unwrap())
    }

    /// Returns the open decisions, one line each: `source.columns.issued_date: …`.
    fn decisions(&self) -> String {
        let all = self.report["decisions"].as_array().unwrap();
        all.iter()
            .map(|decision| {
                format!(
                    "{}: {}\n",
                    decision["key"].as_str().unwrap(),
                    decision["text"].as_str().unwrap()
                )
            })
            .collect()
    }

    fn declaration(&self) -> String {
        std::fs::read_to_string(self.folder.join(self.report["files"][0].as_str().unwrap()))
            .unwrap()
    }

    fn check(&self) -> Answer {
        self.place
            .pubdata(&["check", "--declarations", self.folder.to_str().unwrap()])
    }

    /// Runs the source, from the publisher's file or from its own fixture.
    fn run(&self, mirror: &str) -> Answer {
        let pipeline = self.report["pipeline_id"].as_str().unwrap();
        let mirror = match mirror {
            "fixture" => PathBuf::from(self.report["fixture"].as_str().unwrap()),
            folder => self.place.root().join(folder),
        };
        self.place.pubdata(&[
            "run",
            "--json",
            pipeline,
            "--declarations",
            self.folder.to_str().unwrap(),
            "--mirror",
            mirror.to_str().unwrap(),
        ])
    }

    /// Returns a column of all published permits, by permit.
    fn published(&self, column: &str) -> Vec<(String, Value)> {
        let rows = self.place.rows("permit.permit");
        rows.into_values()
            .map(|row| {
                (
                    row.0["permit_number"].as_str().unwrap().to_owned(),
                    row.0[column].clone(),
                )
            })
            .collect()
    }

    fn value(&self, number: &str, column: &str) -> Value {
        let all = self.published(column);
        all.into_iter()
            .find(|(known, _)| known == number)
            .map_or_else(|| panic!("no permit {number}"), |(_, value)| value)
    }

    /// Returns the text of the fixture's rows.
    fn fixture(&self) -> Vec<u8> {
        let files = self.report["files"].as_array().unwrap();
        let rows = files.last().unwrap().as_str().unwrap();
        std::fs::read(self.folder.join(rows)).unwrap()
    }
}

/// `pubdata serve` on a free port; ended with the test.
struct Served {
    process: Child,
    address: String,
    key: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Served {
    fn start(started: &NewList) -> Self {
        let key = started
            .place
            .pubdata(&[
                "keys", "create", "--name", "me", "--scopes", "general", "--json",
            ])
            .expect(0)
            .json();
        let address = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .to_string();
        let mut command = started.place.command(&[
            "serve",
            "--bind",
            &address,
            "--declarations",
            started.folder.to_str().unwrap(),
        ]);
        let process = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            process,
            address,
            key: key["key"].as_str().unwrap().to_owned(),
        }
    }

    fn get(&mut self, path: &str) -> Value {
        let mut stream = loop {
            assert!(
                self.process.try_wait().unwrap().is_none(),
                "the server has ended"
            );
            match TcpStream::connect(&self.address) {
                Ok(stream) => break stream,
                Err(_) => std::thread::yield_now(),
            }
        };
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {}\r\nConnection: close\r\n\r\n",
            self.key
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
        let body = if head
            .to_ascii_lowercase()
            .contains("transfer-encoding: chunked")
        {
            unchunked(body)
        } else {
            body.to_owned()
        };
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"))
    }
}

fn unchunked(body: &str) -> String {
    let (mut rest, mut text) = (body, String::new());
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        text.push_str(&after[..size]);
        rest = after[size..].trim_start_matches("\r\n");
        if size == 0 {
            break;
        }
    }
    text
}
