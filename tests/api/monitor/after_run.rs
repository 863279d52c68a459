//! Tests what the program sends after a run: metrics file, hook, webhook and heartbeat. None of
//! them changes the outcome of the run.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{number, numbers, promtool};
use pubdata_testing::publisher::{Publisher, Reply};
use pubdata_testing::{Answer, Place, answer};

const TASK: &str = "census.gazetteer";
const MEMBER: &str = "2025_Gaz_zcta_national.zip";
const SECRET: &str = "T0PSECRET";

/// A place with a hook that records its input, and an HTTP address that accepts messages.
struct Night {
    place: Place,
    publisher: Publisher,
}

impl Night {
    async fn new() -> Self {
        let night = Self {
            place: Place::new(),
            publisher: Publisher::start().await,
        };
        std::fs::write(night.script(), "cat >> \"$1\"; echo >> \"$1\"; echo \"$PUBDATA_EVENT $PUBDATA_RUN_EXIT_CODE\" >> \"$1\"\n").unwrap();
        night
            .publisher
            .route("/hook/T0PSECRET", vec![Reply::status(204)]);
        night
            .publisher
            .route("/beat/T0PSECRET", vec![Reply::body(200, "OK")]);
        night
    }

    fn script(&self) -> PathBuf {
        self.place.root().join("hook.sh")
    }

    fn run(&self) -> Answer {
        self.run_with(&format!(
            "sh {} {}",
            self.script().display(),
            self.place.root().join("told").display()
        ))
    }

    fn run_with(&self, hook: &str) -> Answer {
        let mut command = self.place.run_command(&[
            TASK,
            "--hook",
            hook,
            "--metrics-file",
            self.metrics_file().to_str().unwrap(),
        ]);
        command
            .env("PUBDATA_WEBHOOK", self.publisher.url("/hook/T0PSECRET"))
            .env("PUBDATA_HEARTBEAT", self.publisher.url("/beat/T0PSECRET"));
        answer(&mut command)
    }

    fn metrics_file(&self) -> PathBuf {
        self.place.root().join("pubdata.prom")
    }

    fn metrics(&self) -> String {
        std::fs::read_to_string(self.metrics_file()).unwrap()
    }

    /// Lines that the hook has recorded so far.
    fn reported(&self) -> Vec<String> {
        std::fs::read_to_string(self.place.root().join("told"))
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// Messages the webhook received, and the number of heartbeat requests.
    fn sent(&self) -> (Vec<Value>, usize) {
        let posted = self.publisher.requests("/hook/T0PSECRET");
        assert!(posted.iter().all(|request| request.method == "POST"
            && request.header("content-type") == "application/json"));
        let beats = self.publisher.requests("/beat/T0PSECRET");
        assert!(beats.iter().all(|request| request.method == "GET"));
        (
            posted
                .iter()
                .map(|request| serde_json::from_str(&request.body).unwrap())
                .collect(),
            beats.len(),
        )
    }
}

fn events(message: &Value) -> Vec<(&str, &str)> {
    let events = message["events"].as_array().unwrap().iter();
    events
        .map(|event| {
            (
                event["event"].as_str().unwrap(),
                event["task_id"].as_str().unwrap_or("run"),
            )
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn new_events_are_sent_after_a_run_and_metrics_after_every_run() {
    let night = Night::new().await;
    night.run().expect(0);
    assert_eq!(
        (night.reported(), night.sent()),
        (Vec::new(), (Vec::new(), 1))
    );
    let text = night.metrics();
    assert_eq!(
        number(&text, "pubdata_run_exit_code{channel=\"nightly\"}"),
        0.0
    );
    assert_eq!(
        numbers(&text, "pubdata_task_outcome{")
            .into_keys()
            .collect::<Vec<_>>(),
        ["pubdata_task_outcome{channel=\"nightly\",task=\"census.gazetteer\",outcome=\"built\"}"]
    );
    let sources: f64 = [
        "Gaz_zcta_national.zip",
        "Gaz_counties_national.zip",
        "zcta520_county20_natl.txt",
    ]
    .map(|ending| night.place.file(ending).metadata().unwrap().len() as f64)
    .iter()
    .sum();
    let fetched = number(&text, "pubdata_run_fetched_bytes{");
    assert!(
        fetched >= sources,
        "{fetched}, and the mirror's files have {sources}"
    );
    assert!(!text.contains("# EOF"));
    if let Some(said) = promtool(&["check", "metrics"], &text) {
        assert!(
            said.status.success(),
            "{}{}",
            String::from_utf8_lossy(&said.stdout),
            String::from_utf8_lossy(&said.stderr)
        );
    }

    let whole = std::fs::read(night.place.file(MEMBER)).unwrap();
    night
        .place
        .edit_member(MEMBER, |text| text.replacen("ALAND_SQMI", "LAND_SQMI", 1));
    night.run().expect(20);
    let reported = night.reported();
    let message: Value = serde_json::from_str(&reported[0]).unwrap();
    assert_eq!(
        (events(&message), reported[1].as_str(), reported.len()),
        (vec![("blocked", TASK)], "blocked 20", 2)
    );
    assert!(
        message["events"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("ALAND_SQMI"),
        "{message:#}"
    );
    assert_eq!(night.sent(), (vec![message], 2));
    let text = night.metrics();
    assert_eq!(
        (
            number(&text, "pubdata_run_exit_code{"),
            number(&text, "pubdata_task_failed_runs{")
        ),
        (20.0, 1.0)
    );
    assert!(
        number(&text, "pubdata_task_confirmed_timestamp_seconds{")
            < number(&text, "pubdata_run_end_timestamp_seconds{") + 1.0
    );

    // A repeated run has nothing new.
    night.run().expect(20);
    assert_eq!(
        (night.reported().len(), night.sent().0.len(), night.sent().1),
        (2, 1, 3)
    );
    assert_eq!(number(&night.metrics(), "pubdata_task_failed_runs{"), 2.0);

    std::fs::write(night.place.file(MEMBER), whole).unwrap();
    night.run().expect(0);
    assert_eq!(
        (events(&night.sent().0[1]), night.reported()[3].as_str()),
        (vec![("recovered", TASK)], "recovered 0")
    );
    let command = night.place.pubdata(&["metrics"]).expect(0);
    assert_eq!(number(&command.stdout, "pubdata_task_failed_runs{"), 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn test_message_reaches_every_receiver_and_starts_no_run() {
    let night = Night::new().await;
    let hook = format!(
        "sh {} {}",
        night.script().display(),
        night.place.root().join("told").display()
    );
    let test = |hook: &str, beat: &str| {
        let mut command = night.place.run_command(&[
            "--test-message",
            "--hook",
            hook,
            "--metrics-file",
            night.metrics_file().to_str().unwrap(),
        ]);
        command
            .env("PUBDATA_WEBHOOK", night.publisher.url("/hook/T0PSECRET"))
            .env("PUBDATA_HEARTBEAT", night.publisher.url(beat));
        answer(&mut command)
    };
    let all = test(&hook, "/beat/T0PSECRET").expect(0);
    let reported =
        ["metrics_file", "hook", "webhook", "heartbeat"].map(|to| json!({"to": to, "error": null}));
    assert_eq!(all.json()["told"], json!(reported));
    let (posted, beats) = night.sent();
    assert_eq!(
        (
            events(&posted[0]),
            posted.len(),
            beats,
            night.reported()[1].as_str()
        ),
        (vec![("test", "run")], 1, 1, "test 0")
    );
    assert_eq!(
        posted[0]["text"],
        "pubdata nightly: test run (a test message: nothing happened)"
    );
    assert!(
        !night.place.home().join("ledger.jsonl").exists(),
        "a run was recorded"
    );
    let some = test("no-such-program", "/nowhere/T0PSECRET").expect(40);
    let reported = some.json()["told"].clone();
    let errors: Vec<&str> = reported
        .as_array()
        .unwrap()
        .iter()
        .map(|reported| reported["error"].as_str().unwrap_or("done"))
        .collect();
    assert!(
        errors[1].starts_with("cannot start the hook `no-such-program`")
            && !errors[3].starts_with("done"),
        "{errors:?}"
    );
    assert_eq!(
        (errors[0], errors[2], some.stdout.contains(SECRET)),
        ("done", "done", false)
    );
    let none = night.place.pubdata(&["run", "--test-message"]).expect(40);
    assert!(
        none.stderr.contains("no hook, webhook or heartbeat is set"),
        "{}",
        none.stderr
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_run_writes_metrics_and_messages_but_no_heartbeat() {
    let night = Night::new().await;
    night.run().expect(0);
    let generation = pubdata_testing::files_below(&night.place.home().join("channels/nightly"))
        .pop()
        .unwrap();
    std::fs::write(&generation, "{").unwrap();
    night.run().expect(60);
    let (posted, beats) = night.sent();
    assert_eq!((events(&posted[0]), beats), (vec![("failed", "run")], 1));
    assert_eq!(night.reported()[1], "failed 60");
    let text = night.metrics();
    assert_eq!(
        (
            number(&text, "pubdata_run_exit_code{"),
            numbers(&text, "pubdata_task_outcome{").len()
        ),
        (60.0, 1)
    );
    // Another run holds the lock: no message is sent for a run that did not start.
    let home = pubdata_store::Home::open(&night.place.home()).unwrap();
    let lock = home.lock().unwrap();
    night.run().expect(50);
    drop(lock);
    assert_eq!(
        (night.sent().0.len(), night.sent().1, night.reported().len()),
        (1, 1, 2)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_receivers_change_no_exit_code_and_no_secret_is_printed() {
    let night = Night::new().await;
    night
        .publisher
        .route("/hook/T0PSECRET", vec![Reply::status(500)]);
    night.publisher.route(
        "/beat/T0PSECRET",
        vec![Reply::status(302).header("Location", "/elsewhere")],
    );
    night
        .place
        .edit_member(MEMBER, |text| text.replacen("ALAND_SQMI", "LAND_SQMI", 1));
    let said = night
        .run_with("no-such-program-anywhere --token T0PSECRET")
        .expect(20);
    for (warning, detail) in [
        ("the hook failed to run", "no-such-program-anywhere"),
        ("the webhook was not notified", "500"),
        ("the heartbeat was not sent", "302"),
    ] {
        assert!(
            said.stderr
                .lines()
                .any(|line| line.contains(warning) && line.contains(detail)),
            "`{warning}` in {}",
            said.stderr
        );
    }
    assert!(
        !said.stderr.contains(SECRET) && !said.stdout.contains(SECRET),
        "{said:#?}"
    );
    // Three attempts for an address that fails, one for an address that redirects; the redirect is
    // not followed.
    assert_eq!(
        (
            night.sent().0.len(),
            night.sent().1,
            night.publisher.requests("/elsewhere").len()
        ),
        (3, 1, 0)
    );
    let mut help = night.place.command(&["run", "--help"]);
    help.env("PUBDATA_WEBHOOK", "https://example.org/T0PSECRET");
    assert!(!answer(&mut help).stdout.contains(SECRET));

    let mut command = night.place.run_command(&[
        TASK,
        "--force",
        "--webhook",
        "http://example.org/T0PSECRET",
        "--heartbeat",
        "http://example.org/T0PSECRET",
    ]);
    let said =
        answer(command.env("PUBDATA_METRICS_FILE", "/no/such/folder/pubdata.prom")).expect(20);
    assert!(
        said.stderr.contains("example.org is not encrypted")
            && said.stderr.contains("/no/such/folder"),
        "{}",
        said.stderr
    );
    assert!(!said.stderr.contains(SECRET), "{}", said.stderr);
}
