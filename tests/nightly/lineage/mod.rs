//! Checks the OpenLineage events of a run in its file, at a listening address, and at an address
//! that does not listen.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use jiff::Timestamp;
use serde_json::{Value, json};

use pubdata_testing::publisher::{Publisher, Reply};
use pubdata_testing::{Answer, Place, answer, files_below, project};

const TASK: &str = "census.gazetteer";
const MEMBER: &str = "2025_Gaz_zcta_national.zip";
const PERMITS: &str = "permit.nola";
const ADDRESS: &str = "/api/v1/lineage?key=T0PSECRET";
const SECRET: &str = "T0PSECRET";

/// A place whose runs report to an address that accepts everything.
struct Night {
    place: Place,
    sink: Publisher,
}

impl Night {
    async fn new() -> Self {
        let night = Self {
            place: Place::new(),
            sink: Publisher::start().await,
        };
        night.sink.route(ADDRESS, vec![Reply::status(201)]);
        night
    }

    fn run(&self, arguments: &[&str]) -> Answer {
        self.run_told_to(&self.sink.url(ADDRESS), arguments)
    }

    fn run_told_to(&self, address: &str, arguments: &[&str]) -> Answer {
        let mut command = self.place.run_command(arguments);
        command
            .env("PUBDATA_OPENLINEAGE_URL", address)
            .env("PUBDATA_OPENLINEAGE_NAMESPACE", "test");
        answer(&mut command)
    }

    /// Returns the events of the last run, from its file.
    fn written(&self) -> Vec<Value> {
        events_of(&self.place)
    }

    /// Returns all events that the address received.
    fn received(&self) -> Vec<Value> {
        let posted = self.sink.requests(ADDRESS);
        assert!(posted.iter().all(|request| request.method == "POST"
            && request.header("content-type") == "application/json"));
        posted
            .iter()
            .map(|request| serde_json::from_str(&request.body).unwrap())
            .collect()
    }
}

/// Returns the event files of all runs, the last one last.
pub fn files(place: &Place) -> Vec<PathBuf> {
    let mut files = files_below(&place.home().join("runs"));
    files.retain(|file| file.to_str().unwrap().ends_with(".openlineage.jsonl"));
    files.sort_by_key(|file| file.metadata().unwrap().modified().unwrap());
    files
}

pub fn events_of(place: &Place) -> Vec<Value> {
    let text =
        std::fs::read_to_string(files(place).pop().expect("a run has a file of events")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the event type and job of each event, in order.
pub fn reported(events: &[Value]) -> Vec<(&str, &str)> {
    events
        .iter()
        .map(|event| {
            (
                event["eventType"].as_str().unwrap(),
                event["job"]["name"].as_str().unwrap(),
            )
        })
        .collect()
}

#[track_caller]
fn event<'e>(events: &'e [Value], event_type: &str, job: &str) -> &'e Value {
    events
        .iter()
        .find(|event| event["eventType"] == event_type && event["job"]["name"] == job)
        .unwrap_or_else(|| panic!("no {event_type} of {job}: {events:#?}"))
}

#[track_caller]
fn dataset<'e>(datasets: &'e Value, name: &str) -> &'e Value {
    datasets
        .as_array()
        .unwrap()
        .iter()
        .find(|dataset| dataset["name"] == name)
        .unwrap_or_else(|| panic!("{name}: {datasets:#}"))
}

fn message(event: &Value) -> &str {
    event["run"]["facets"]["errorMessage"]["message"]
        .as_str()
        .unwrap_or_default()
}

fn tag<'e>(event: &'e Value, key: &str) -> Option<&'e str> {
    let tags = event["run"]["facets"]["tags"]["tags"].as_array()?;
    tags.iter().find(|tag| tag["key"] == key)?["value"].as_str()
}

#[tokio::test(flavor = "multi_thread")]
async fn run_reports_its_progress_with_inputs_and_outputs_of_each_task() {
    let night = Night::new().await;
    let report = night.run(&[TASK, PERMITS]).expect(0);
    let events = night.written();
    assert_eq!(night.received(), events);
    let expected = [
        ("START", "run"),
        ("START", TASK),
        ("START", PERMITS),
        ("COMPLETE", TASK),
        ("COMPLETE", PERMITS),
        ("COMPLETE", "run"),
    ];
    assert_eq!(reported(&events), expected);
    let whole = event(&events, "COMPLETE", "run");
    assert_eq!(
        (
            tag(whole, "run_id"),
            tag(whole, "exit_code"),
            tag(whole, "outcome")
        ),
        (
            report.json()["run_id"].as_str(),
            Some("0"),
            Some("published")
        )
    );
    assert_eq!(tag(whole, "release_id"), Some(report.release_id().as_str()));
    for reported in &events {
        assert_eq!(reported["job"]["namespace"], "test/nightly");
        let parent = &reported["run"]["facets"]["parent"];
        match reported["job"]["name"].as_str().unwrap() {
            "run" => assert!(parent.is_null(), "{reported:#}"),
            _ => assert_eq!(
                (&parent["run"]["runId"], &parent["job"]["name"]),
                (&whole["run"]["runId"], &json!("run"))
            ),
        }
    }
    let times: Vec<Timestamp> = events
        .iter()
        .map(|event| event["eventTime"].as_str().unwrap().parse().unwrap())
        .collect();
    assert!(
        times[0] <= times[1] && times[1] <= times[3] && times[3] <= times[5],
        "{times:?}"
    );

    // Inputs are the files that the manifest names, by address and digest.
    let manifest = night.place.manifest();
    let complete = event(&events, "COMPLETE", PERMITS);
    let of_manifest: Vec<(String, Value)> = manifest["tasks"][PERMITS]["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|input| {
            (
                input["url"].as_str().unwrap().to_owned(),
                input["sha256"].clone(),
            )
        })
        .collect();
    let of_event: Vec<(String, Value)> = complete["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|input| {
            let url = format!("{}/{}", input["namespace"].as_str().unwrap(), input["name"].as_str().unwrap());
            assert_eq!(
                input["facets"]["dataSource"],
                json!({"_producer": complete["producer"], "_schemaURL": input["facets"]["dataSource"]["_schemaURL"], "name": PERMITS, "uri": url})
            );
            (url, input["facets"]["version"]["datasetVersion"].clone())
        })
        .collect();
    assert_eq!(of_event, of_manifest);
    let rows_read = &manifest["tasks"][PERMITS]["source_rows"][PERMITS]["read"];
    assert_eq!(
        &complete["inputs"][0]["inputFacets"]["inputStatistics"]["rowCount"],
        rows_read
    );

    // Outputs are the tables of the release, with the row and null counts of their files.
    for (task, dataset_id) in [
        (PERMITS, "permit.permit"),
        (PERMITS, "permit.contact"),
        (TASK, "geo.geography"),
        (TASK, "geo.county"),
    ] {
        let output = dataset(&event(&events, "COMPLETE", task)["outputs"], dataset_id);
        assert_eq!(
            (
                &output["namespace"],
                &output["facets"]["version"]["datasetVersion"]
            ),
            (&json!("test/nightly"), &json!(report.release_id()))
        );
        let rows = night.place.rows(dataset_id);
        let metrics = &output["facets"]["dataQualityMetrics"];
        assert_eq!(
            (
                &metrics["rowCount"],
                &output["outputFacets"]["outputStatistics"]["rowCount"]
            ),
            (&json!(rows.len()), &json!(rows.len()))
        );
        let mut nulls: BTreeMap<&str, u64> = BTreeMap::new();
        let mut lists: Vec<&str> = Vec::new();
        for (columns, _) in rows.values() {
            for (name, value) in columns {
                *nulls.entry(name).or_default() += u64::from(value.is_null());
                lists.extend(value.is_array().then_some(name.as_str()));
            }
        }
        nulls.retain(|name, _| !lists.contains(name));
        let counted: BTreeMap<&str, u64> = metrics["columnMetrics"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, column)| (name.as_str(), column["nullCount"].as_u64().unwrap()))
            .collect();
        assert_eq!(counted, nulls, "{dataset_id}");
        let location = output["facets"]["dataSource"]["uri"]
            .as_str()
            .unwrap()
            .strip_prefix("file://")
            .unwrap();
        assert_eq!(
            std::fs::canonicalize(night.place.part(dataset_id)).unwrap(),
            PathBuf::from(location)
        );
        let fields = output["facets"]["schema"]["fields"].as_array().unwrap();
        let contract = answer(
            Command::new(env!("CARGO_BIN_EXE_pubdata"))
                .args(["schema", "show", dataset_id, "--json"]),
        )
        .expect(0)
        .json();
        let names: Vec<&Value> = contract["columns"]
            .as_array()
            .unwrap_or_else(|| contract["contract"]["columns"].as_array().unwrap())
            .iter()
            .map(|column| &column["name"])
            .collect();
        assert_eq!(
            fields
                .iter()
                .map(|field| &field["name"])
                .collect::<Vec<_>>(),
            names
        );
    }

    // The declaration maps the columns this way: pipelines/permit/nola.toml.
    let text = std::fs::read_to_string(project("pipelines/permit/nola.toml")).unwrap();
    assert_eq!(complete["job"]["facets"]["sourceCode"]["sourceCode"], text);
    let lineage =
        dataset(&complete["outputs"], "permit.permit")["facets"]["columnLineage"]["fields"]
            .as_object()
            .unwrap();
    let (namespace, name) = (
        &complete["inputs"][0]["namespace"],
        &complete["inputs"][0]["name"],
    );
    for (column, field) in [("permit_number", "permitnum"), ("issued_date", "issuedate")] {
        let expected = json!([{"namespace": namespace, "name": name, "field": field, "transformations": [{"type": "DIRECT"}]}]);
        assert_eq!(lineage[column]["inputFields"], expected);
    }
    // Columns that settings build or that a join adds have no lineage.
    for column in ["record_id", "line1", "property_key", "jurisdiction", "tags"] {
        assert!(!lineage.contains_key(column), "{column}");
    }
    let of_derived = dataset(
        &event(&events, "COMPLETE", TASK)["outputs"],
        "geo.geography",
    );
    assert!(
        of_derived["facets"]["columnLineage"].is_null(),
        "{of_derived:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn unchanged_task_is_named_without_inputs_and_release_is_unaffected() {
    let night = Night::new().await;
    let first = night.run(&[TASK, PERMITS]).expect(0).release_id();
    let second = night.run(&[TASK, PERMITS]).expect(0);
    assert_eq!(
        (second.release_id(), second.json()["outcome"].as_str()),
        (first.clone(), Some("unchanged"))
    );
    let events = night.written();
    assert_eq!(
        reported(&events),
        [
            ("START", "run"),
            ("START", TASK),
            ("COMPLETE", TASK),
            ("START", PERMITS),
            ("COMPLETE", PERMITS),
            ("COMPLETE", "run")
        ]
    );
    let complete = event(&events, "COMPLETE", PERMITS);
    assert_eq!(tag(complete, "outcome"), Some("fresh"));
    for named in [
        dataset(&complete["outputs"], "permit.permit"),
        &complete["inputs"][0],
    ] {
        assert_eq!(
            named["facets"]
                .as_object()
                .unwrap()
                .keys()
                .collect::<Vec<_>>(),
            ["version"],
            "{named:#}"
        );
        assert!(
            named["inputFacets"].is_null() && named["outputFacets"].is_null(),
            "{named:#}"
        );
    }
    assert!(complete["job"]["facets"]["sourceCode"].is_null());
    // The same run elsewhere, without events.
    let other = Place::new();
    assert_eq!(other.run(&[TASK, PERMITS]).expect(0).release_id(), first);
    let runs = |events: &[Value]| {
        events
            .iter()
            .map(|event| event["run"]["runId"].as_str().unwrap().to_owned())
            .collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(events_of(&other)[0]["job"]["namespace"], "pubdata/nightly");
    assert!(runs(&events_of(&other)).is_disjoint(&runs(&events)) && runs(&events).len() == 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn blocked_or_missing_task_fails_while_the_run_completes() {
    let night = Night::new().await;
    night.run(&[TASK, PERMITS]).expect(0);
    night
        .place
        .edit_member(MEMBER, |text| text.replacen("ALAND_SQMI", "LAND_SQMI", 1));
    let list = files_below(&night.place.mirror())
        .into_iter()
        .find(|file| file.to_str().unwrap().contains("data.nola.gov"))
        .unwrap();
    std::fs::remove_file(list).unwrap();
    night.run(&[TASK, PERMITS]).expect(20);
    let events = night.written();
    assert_eq!(
        reported(&events),
        [
            ("START", "run"),
            ("START", TASK),
            ("FAIL", TASK),
            ("START", PERMITS),
            ("FAIL", PERMITS),
            ("COMPLETE", "run")
        ]
    );
    let blocked = event(&events, "FAIL", TASK);
    assert!(
        message(blocked).contains("ALAND_SQMI")
            && !message(blocked).contains(night.place.home().to_str().unwrap()),
        "{}",
        message(blocked)
    );
    assert_eq!(blocked["outputs"], json!([]));
    let bad = dataset(
        &blocked["inputs"],
        "geo/docs/maps-data/data/gazetteer/2025_Gazetteer/2025_Gaz_zcta_national.zip",
    );
    let digest =
        pubdata_core::ids::Digest::sha256(&std::fs::read(night.place.file(MEMBER)).unwrap())
            .to_string();
    assert_eq!(
        bad["facets"]["version"]["datasetVersion"], digest,
        "the file that the task failed on"
    );
    let absent = message(event(&events, "FAIL", PERMITS));
    assert!(
        absent.contains("mirror") && absent.contains("data.nola.gov/"),
        "{absent}"
    );
    let whole = event(&events, "COMPLETE", "run");
    assert_eq!((tag(whole, "exit_code"), message(whole)), (Some("20"), ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_run_and_run_without_published_data_have_failed() {
    let night = Night::new().await;
    night
        .place
        .edit_member(MEMBER, |text| text.replacen("ALAND_SQMI", "LAND_SQMI", 1));
    night.run(&[TASK]).expect(20);
    assert!(
        message(event(&night.written(), "FAIL", "run")).starts_with("nothing could be published")
    );
    // All tasks are built, but the channel cannot be moved.
    let channels = night.place.home().join("channels");
    let _ = std::fs::remove_dir_all(&channels);
    std::fs::write(&channels, "no folder").unwrap();
    night.run(&[PERMITS]).expect(60);
    let events = night.written();
    assert_eq!(
        reported(&events).last(),
        Some(&("FAIL", "run")),
        "{events:#?}"
    );
    let whole = event(&events, "FAIL", "run");
    assert_eq!(tag(whole, "exit_code"), Some("60"));
    assert!(
        !message(whole).is_empty()
            && !message(whole).contains(night.place.home().to_str().unwrap()),
        "{}",
        message(whole)
    );
    // A run that did not start emits no event.
    let count = files(&night.place).len();
    let home = pubdata_store::Home::open(&night.place.home()).unwrap();
    let lock = home.lock().unwrap();
    let sent = night.received().len();
    night.run(&[TASK]).expect(50);
    drop(lock);
    assert_eq!(
        (files(&night.place).len(), night.received().len()),
        (count, sent)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn absent_or_refusing_address_changes_no_exit_code_and_the_file_is_full() {
    let night = Night::new().await;
    // A port without a listener.
    let away = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/{SECRET}", listener.local_addr().unwrap())
    };
    let said = night.run_told_to(&away, &[TASK, PERMITS]).expect(0);
    let warned = |said: &Answer, detail: &str| {
        assert!(
            said.stderr.lines().any(|line| line
                .contains("the lineage address did not receive all events")
                && line.contains(detail)),
            "{}",
            said.stderr
        );
        assert!(
            !said.stderr.contains(SECRET) && !said.stdout.contains(SECRET),
            "{said:#?}"
        );
    };
    // Three events are tried, then no other is sent.
    warned(
        &said,
        "3 of 6 events were not sent after the first had failed: no answer from 127.0.0.1",
    );
    assert_eq!(night.written().len(), 6);
    let said = night
        .run_told_to(&format!("http://example.org/{SECRET}"), &[TASK])
        .expect(0);
    warned(&said, "example.org is not encrypted");
    // One refused event does not keep the others back.
    night
        .sink
        .route(ADDRESS, vec![Reply::status(422), Reply::status(201)]);
    let said = night.run(&[TASK]).expect(0);
    warned(&said, "some of 4 events");
    assert_eq!(night.received().len(), 4);
    // An unwritable file is not a failure either, and the address gets all events.
    std::fs::remove_dir_all(night.place.home().join("runs")).unwrap();
    std::fs::write(night.place.home().join("runs"), "no folder").unwrap();
    let said = night.run(&[TASK]).expect(0);
    assert!(
        said.stderr.contains("lineage events are not written"),
        "{}",
        said.stderr
    );
    assert_eq!(night.received().len(), 4 + 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn test_message_is_an_event_without_a_run() {
    let night = Night::new().await;
    let said = night.run(&["--test-message"]).expect(0);
    assert_eq!(
        said.json()["told"],
        json!([{"to": "openlineage_url", "error": null}])
    );
    let received = night.received();
    assert_eq!(reported(&received), [("OTHER", "test_message")]);
    assert!(!night.place.home().join("runs").exists());
    let shown = answer(
        night
            .place
            .command(&["settings", "--json"])
            .env("PUBDATA_OPENLINEAGE_URL", night.sink.url(ADDRESS)),
    )
    .expect(0);
    assert!(
        shown.stdout.contains("openlineage_url") && !shown.stdout.contains(SECRET),
        "{}",
        shown.stdout
    );
}
