//! Runs against Moto's S3, which honours conditional requests as S3 does: a store that publishing
//! can rely on, distributed runs, and two publishers at once.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::run::placed::{Machines, of_run, second_night};
use pubdata_testing::Place;
use pubdata_testing::peers::script;

/// Moto's server with one bucket; it ends with the test.
struct Moto {
    server: Child,
    port: u16,
}

impl Moto {
    /// Starts a server, or prints the reason and returns `None` if Moto is not installed.
    fn start() -> Option<Self> {
        let Some(python) = std::env::var_os("PUBDATA_TEST_MOTO").filter(|path| !path.is_empty())
        else {
            eprintln!(
                "skipped: PUBDATA_TEST_MOTO does not name a Python with moto (.ci/store-requirements.txt)"
            );
            return None;
        };
        let mut command = Command::new(python);
        let mut server = command
            .arg(script("serve_moto.py"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(server.stdout.as_mut().unwrap())
            .read_line(&mut said)
            .unwrap();
        let port = said.trim().parse().expect("moto prints its port");
        let moto = Self { server, port };
        let mut requested = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let signed = "Authorization: AWS4-HMAC-SHA256 Credential=id/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";
        write!(requested, "PUT /bucket HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{signed}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        requested.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        Some(moto)
    }

    fn environment(&self) -> Vec<(String, String)> {
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        let fixed = [
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
        ];
        let all = fixed.into_iter().chain([
            ("NO_PROXY", "127.0.0.1"),
            ("AWS_ENDPOINT", endpoint.as_str()),
        ]);
        all.map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn s3_store_is_reliable_and_distributed_runs_equal_local_ones() {
    let Some(moto) = Moto::start() else { return };
    two_nights("s3://bucket/some/prefix", moto.environment());
}

/// Checks a store and makes two distributed runs on it, the second with two concurrent commits.
/// Compares them with the runs of one machine.
pub fn two_nights(store: &str, environment: Vec<(String, String)>) {
    let place = Place::new();
    let machines = Machines {
        store: store.to_owned(),
        environment,
        ..Machines::new(&place)
    };
    let checked = machines
        .ask("driver", &["check", "--store", &machines.store])
        .expect(0)
        .json();
    assert_eq!(checked["store"], machines.store.as_str());
    let expected = of_run(2);
    let first = machines.plan();
    machines.work("executor", &first);
    assert_eq!(
        machines.commit("driver", &first).expect(0).release_id(),
        expected[0]
    );

    second_night(&place);
    let next = machines.plan();
    machines.work("executor", &next);
    let outcomes: Vec<(i32, String)> = std::thread::scope(|scope| {
        let commit = |machine: &'static str| {
            let (machines, next) = (&machines, &next);
            scope.spawn(move || machines.commit(machine, next))
        };
        [commit("driver"), commit("other")]
            .map(|commit| commit.join().unwrap().expect(0))
            .map(|answer| (0, answer.release_id()))
            .into()
    });
    assert!(
        outcomes
            .iter()
            .all(|(_, release_id)| *release_id == expected[1]),
        "{outcomes:?}"
    );
    machines
        .ask(
            "driver",
            &["verify", "--rebuild", "--store", &machines.store],
        )
        .expect(0);

    // Two homes seal with one key at once, and a third proves inclusion.
    let key = place.root().join("signing.key");
    let key = key.to_str().unwrap();
    let verifier = machines
        .ask(
            "driver",
            &[
                "keys",
                "signing",
                "--name",
                "data.example.org/2026",
                "--output",
                key,
            ],
        )
        .expect(0)
        .json()["key"]
        .take();
    let seal = |machine: &'static str| {
        machines.ask(
            machine,
            &["seal", "--signing-key", key, "--store", &machines.store],
        )
    };
    std::thread::scope(|scope| {
        let seal = &seal;
        let both = [
            scope.spawn(move || seal("driver")),
            scope.spawn(move || seal("other")),
        ];
        for sealed in both {
            assert_eq!(
                sealed.join().unwrap().expect(0).json()["size"],
                2,
                "both releases, each once"
            );
        }
    });
    let shown = machines
        .ask("reader", &["releases", "show", "--store", &machines.store])
        .expect(0)
        .json();
    let mut parts = shown["manifest"]["datasets"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|dataset| dataset["parts"].as_array().unwrap());
    let record_id = parts
        .find_map(|part| part["key_range"][0].as_str())
        .unwrap();
    let receipt = place.root().join("receipt.json");
    for (id, is_present) in [
        (record_id.to_owned(), true),
        (format!("{record_id}:none"), false),
    ] {
        std::fs::write(
            &receipt,
            machines
                .ask("reader", &["receipt", &id, "--store", &machines.store])
                .expect(0)
                .stdout,
        )
        .unwrap();
        let said = machines
            .ask(
                "reader",
                &[
                    "verify-receipt",
                    receipt.to_str().unwrap(),
                    "--key",
                    verifier.as_str().unwrap(),
                ],
            )
            .expect(0)
            .json();
        assert_eq!(
            (&said["is_valid"], &said["proves"]["is_present"]),
            (&true.into(), &is_present.into()),
            "{said}"
        );
    }
}
