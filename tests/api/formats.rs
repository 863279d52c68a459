//! Checks that today's program reads what earlier versions wrote; `tests/formats/README.md` lists
//! which version wrote what.

use pubdata_core::declared::DeclarationFiles;
use pubdata_core::ids::ReleaseId;
use pubdata_core::pipeline::Declarations;
use pubdata_serve::{ServeSettings, Server};
use pubdata_store::{
    EventKind, EventLog, EventTail, Home, NewEvent, Plans, StreamFiling, read_ledger,
};
use serde_json::json;
use tower::ServiceExt;

use crate::serve::{Answer, read};
use pubdata_testing::{Place, copy_folder, files_below, project};

const HOME: &str = "tests/formats/home-of-2026-11-22";

/// A home from before releases carried their declarations, with a staged build.
const LATER_HOME: &str = "tests/formats/home-of-2026-11-23";
const LATER_RELEASE: &str = "r348d4ed0c03ed179d3b6";
const RELEASE: &str = "rb36900cabaaee90b7132";
const PERMIT: &str = "permit.permit:us-la-new_orleans:15-14477-EVAC";

/// Secret of the key `reader` of that home, created with the home.
const KEY: &str = "pd___P8mpAZNiNRQzPRwnVFY4IMfe-D3rBqRCTgnSxC_OA";

/// A place whose home predates flat part names; its mirror is that of the fixtures.
fn place() -> Place {
    let place = Place::new();
    copy_folder(&project(HOME), &place.home());
    assert_eq!(place.current(), RELEASE);
    place
}

fn later_place() -> Place {
    let place = Place::new();
    copy_folder(&project(LATER_HOME), &place.home());
    assert_eq!(place.current(), LATER_RELEASE);
    place
}

fn home(place: &Place) -> Home {
    Home::open(&place.home()).unwrap()
}

async fn ask(place: &Place, path: &str) -> Answer {
    let files = DeclarationFiles::built_in();
    let (plans, contracts) = (
        Plans::load(&files).unwrap(),
        Declarations::load(files).unwrap().contracts,
    );
    let service = Server::new(
        ServeSettings::new(place.home(), plans),
        contracts,
        std::sync::Arc::new(jiff::Timestamp::now),
    )
    .unwrap();
    service.refresh().await.unwrap();
    let request = axum::http::Request::get(path)
        .header("x-api-key", KEY)
        .body(axum::body::Body::empty())
        .unwrap();
    read(service.api().oneshot(request).await.unwrap()).await
}

#[test]
fn release_in_key_value_folders_is_verified() {
    let place = place();
    assert!(place.part("permit.permit/jurisdiction=us-la-new_orleans/source_id=permit.nola/bucket=0/part-0.parquet").is_file());
    let report = place.pubdata(&["verify", "--json"]).expect(0).json();
    assert_eq!(
        report["verified"],
        json!({"declarations": 0, "missing": [], "parts": 4, "problems": [], "release_id": RELEASE, "snapshots": 6, "unreadable": []})
    );
}

#[test]
fn rebuild_by_another_code_version_is_reported_as_not_possible() {
    let place = place();
    let report = place
        .pubdata(&["verify", "--rebuild", "--json"])
        .expect(2)
        .json();
    assert_eq!(report["verified"]["problems"], json!([]));
    let rebuilt = &report["rebuilt"];
    assert_eq!(
        (&rebuilt["replay"], &rebuilt["differences"]),
        (&json!("not_possible"), &json!([])),
        "{rebuilt:#}"
    );
    for task in ["permit.nola", "zip.zip"] {
        let reason = rebuilt["not_possible"][task].as_str().unwrap();
        assert!(
            reason.starts_with(&format!(
                "made by code version 3 of {task}, this program has "
            )),
            "{reason}"
        );
        assert!(
            reason.contains("; the build of pubdata 0.1.0 that made it can"),
            "{reason}"
        );
        assert!(
            rebuilt["notes"][task][0]
                .as_str()
                .unwrap()
                .contains("does not carry its declarations"),
            "{rebuilt:#}"
        );
    }
    assert!(
        rebuilt["not_possible"]["permit.nola"]
            .as_str()
            .unwrap()
            .contains("permit.contact/jurisdiction=us-la-new_orleans/"),
        "{rebuilt:#}"
    );
    let text = place.pubdata(&["verify", "--rebuild"]).expect(2).stdout;
    assert!(
        text.contains("could not be rebuilt, the others are the same")
            && text.contains("permit.nola: not possible: made by code version "),
        "{text}"
    );
}

#[test]
fn old_records_lead_to_their_bytes_and_cannot_be_replayed() {
    let place = place();
    // The program now also reads the planning regions of Connecticut, a file that the release
    // lacks.
    let report = place.trace("zip.zip:90210").expect(2).json();
    assert_eq!(
        (&report["replay"], &report["release_id"]),
        (&json!("not_possible"), &json!(RELEASE)),
        "{report:#}"
    );
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("the release does not carry its declarations")
            && notes.contains("made by code version "),
        "{notes}"
    );
    // The program now keeps units separate from the street: the record differs, its bytes are the
    // same.
    let permit = place.trace(PERMIT).expect(2).json();
    assert_eq!(permit["replay"], "not_possible", "{permit:#}");
    let text = permit["sources"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("15-14477-EVAC,VACANCY,"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn old_release_is_served_to_its_old_keys() {
    let place = place();
    let permits = ask(
        &place,
        "/v1/permits/search?address=6001%20Downman%20Rd%20Apt%20113,%20New%20Orleans,%20LA",
    )
    .await;
    assert_eq!(
        permits.status,
        200,
        "{}",
        String::from_utf8_lossy(&permits.bytes)
    );
    assert_eq!(permits.json()["data"][0]["permit_number"], "15-14477-EVAC");
    let zip = ask(&place, "/v1/zip/90210").await.json();
    assert_eq!(
        (&zip["data"]["city"], &zip["data"]["county"]["name"]),
        (&json!("Beverly Hills"), &json!("Los Angeles County"))
    );
    let chain = ask(&place, &format!("/v1/provenance/{PERMIT}")).await;
    assert_eq!(
        chain.status,
        200,
        "{}",
        String::from_utf8_lossy(&chain.bytes)
    );
    let source = &chain.json()["data"]["sources"][0];
    assert_eq!(
        (&source["source_id"], &source["offset"], &source["length"]),
        (&json!("permit.nola"), &json!(829), &json!(410)),
        "{source:#}"
    );
    // A dataset that the release lacks answers with an error that names it; the key's scope
    // applies.
    assert_eq!(
        ask(&place, "/v1/business/search?name=acme")
            .await
            .problem()
            .0,
        404
    );
    assert_eq!(
        ask(&place, "/v1/sec/companies/320193").await.problem(),
        (403, "insufficient_permission".to_owned())
    );
}

#[test]
fn next_run_builds_anew_and_keeps_the_old_release() {
    let place = place();
    let plan = place.plan(&["permit.nola"]).expect(0);
    assert!(plan.stdout.contains("code changed"), "{}", plan.stdout);
    let report = place.run(&["permit.nola", "zip.zip"]).expect(0);
    assert_ne!(report.release_id(), RELEASE);
    let names: Vec<String> = files_below(&place.part(""))
        .iter()
        .map(|path| {
            path.strip_prefix(place.part(""))
                .unwrap()
                .display()
                .to_string()
        })
        .collect();
    assert!(
        names.contains(&"permit.permit/us-la-new_orleans~permit.nola~0.parquet".to_owned()),
        "{names:?}"
    );
    assert!(!names.iter().any(|name| name.contains('=')), "{names:?}");
    let report = place
        .pubdata(&["verify", RELEASE, "--json"])
        .expect(0)
        .json();
    assert_eq!(report["verified"]["problems"], json!([]));
    // Layouts differ. The changed records are permits with a unit, which is now separate from the
    // street. The list of places has two more codes today, in both tables, and is another snapshot;
    // the county of 99519 is no longer known.
    let report = place
        .pubdata(&["releases", "diff", RELEASE, &place.current(), "--json"])
        .expect(0)
        .json();
    let datasets = report["datasets"].as_object().unwrap();
    let sum = |count: &str| {
        datasets
            .values()
            .map(|dataset| dataset[count].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(
        [
            "added",
            "removed",
            "changed",
            "provenance_only",
            "unchanged"
        ]
        .map(sum),
        [4, 0, 4, 123, 24],
        "{report:#}"
    );
}

#[test]
fn both_ledger_formats_are_read_and_continued() {
    let place = place();
    let outcomes = |place: &Place| {
        read_ledger(&home(place))
            .unwrap()
            .into_iter()
            .map(|entry| entry.outcome)
            .collect::<Vec<_>>()
    };
    assert_eq!(outcomes(&place), ["published", "imported", "withdrawn"]);
    let entries = read_ledger(&home(&place)).unwrap();
    assert_eq!(
        entries[1].import.as_ref().unwrap().source_id,
        "license.fl_dbpr"
    );
    assert_eq!(
        entries[0].release_id,
        Some(RELEASE.parse::<ReleaseId>().unwrap())
    );

    let first =
        std::fs::read_to_string(project("tests/formats/ledger-of-2026-11-21.jsonl")).unwrap();
    let later = std::fs::read_to_string(home(&place).ledger_file()).unwrap();
    std::fs::write(home(&place).ledger_file(), format!("{first}{later}")).unwrap();
    assert_eq!(
        outcomes(&place),
        ["published", "failed", "published", "imported", "withdrawn"]
    );
    let entries = read_ledger(&home(&place)).unwrap();
    assert_eq!(
        (
            &entries[0].note,
            entries[0].tasks["census.acs5/vintage=2023"].rows
        ),
        (&None, 3)
    );
    assert!(
        place
            .pubdata(&["status"])
            .expect(0)
            .stdout
            .contains("20261121T104404Z-000002")
    );
}

#[test]
fn old_keys_and_overrides_stay_valid() {
    let place = place();
    let keys = place.pubdata(&["keys", "list"]).expect(0).stdout;
    let line = |name: &str| {
        keys.lines()
            .find(|line| line.contains(name))
            .unwrap_or_else(|| panic!("{keys}"))
    };
    assert!(
        line(" reader ").ends_with("yes") && line(" gone ").ends_with("no"),
        "{keys}"
    );
    let accepted = place.pubdata(&["accept", "--list"]).expect(0).stdout;
    assert!(
        accepted.contains("permit.nola")
            && accepted.contains("shrink")
            && accepted.contains("2099-12-31"),
        "{accepted}"
    );
    assert!(accepted.contains("host_key SHA256:AAAA"), "{accepted}");
}

#[test]
fn event_log_is_read_from_its_start_and_continued() {
    let place = place();
    let home = home(&place);
    let events = EventTail::new(&home).read().unwrap();
    assert_eq!(
        events.iter().map(|event| event.seq).collect::<Vec<_>>(),
        (1..=9).collect::<Vec<u64>>()
    );
    assert_eq!(
        (events[0].accession_number.as_str(), events[0].event),
        ("0000950170-24-032448", EventKind::Filing)
    );
    let mut log = EventLog::open(&home, |_| ()).unwrap();
    assert_eq!(log.last_seq(), 9);
    let new = NewEvent {
        event: EventKind::Filing,
        accession_number: "0009999001-26-000001".parse().unwrap(),
        source: events[0].source,
        source_url: "https://publisher.example/".to_owned(),
        filing: StreamFiling {
            forms: vec!["8-K".to_owned()],
            ..StreamFiling::default()
        },
    };
    assert_eq!(
        log.append(vec![new], jiff::Timestamp::now()).unwrap()[0].seq,
        10
    );
    assert_eq!(EventTail::new(&home).read().unwrap().len(), 10);
}

#[test]
fn release_without_declarations_is_traced_by_those_of_the_program() {
    let place = later_place();
    let report = place.pubdata(&["verify", "--json"]).expect(0).json();
    assert_eq!(
        report["verified"],
        json!({"declarations": 0, "missing": [], "parts": 2, "problems": [], "release_id": LATER_RELEASE, "snapshots": 1, "unreadable": []})
    );
    // The program now keeps units separate from the street.
    let trace = place.trace(PERMIT).expect(2).json();
    assert_eq!(trace["replay"], "not_possible", "{trace:#}");
    assert!(
        trace["notes"][0]
            .as_str()
            .unwrap()
            .starts_with("the release does not carry its declarations and contracts"),
        "{trace:#}"
    );
    assert!(
        place
            .pubdata(&["releases", "show"])
            .expect(0)
            .stdout
            .contains("carries    no declarations")
    );

    place.run(&["zip.zip"]).expect(0);
    let manifest = place.manifest();
    for hash in ["declaration_hash", "contracts_hash"] {
        assert!(
            manifest["declarations"]
                .as_array()
                .unwrap()
                .contains(&manifest["tasks"]["zip.zip"][hash]),
            "{manifest:#}"
        );
    }
    let trace = place.trace("zip.zip:90210").expect(0).json();
    assert_eq!(
        (&trace["replay"], &trace["notes"]),
        (&json!("match"), &json!([])),
        "{trace:#}"
    );
    // The old release stays unchanged.
    place.pubdata(&["verify", LATER_RELEASE]).expect(0);
}

#[test]
fn every_old_home_format_is_read_without_rewriting() {
    for (place, expected) in [
        (
            place(),
            json!({"home": {"1": 1}, "ledger": {"1": 3}, "acceptances": {"1": 2}, "API keys": {"1": 1}, "channels": {"1": 1}, "manifests": {"1": 1},
                "parts of builds": {"1": 2}, "event log": {"1": 1}, "state of the feeds": {"1": 1}, "state of URLs": {"1": 5}}),
        ),
        (
            later_place(),
            json!({"home": {"1": 1}, "ledger": {"1": 1}, "channels": {"1": 1}, "manifests": {"1": 1}, "parts of builds": {"2": 1},
                "state of URLs": {"1": 8}, "staged builds": {"1": 1}}),
        ),
    ] {
        let before: Vec<_> = files_below(&place.home());
        let report = place.pubdata(&["upgrade", "--json"]).expect(0).json();
        let mut found = serde_json::Map::new();
        for format in report["formats"].as_array().unwrap() {
            match format["treatment"].as_str().unwrap() {
                "absent" => assert_eq!(format["found"], json!({}), "{format:#}"),
                "read" => drop(found.insert(
                    format["name"].as_str().unwrap().to_owned(),
                    format["found"].clone(),
                )),
                other => panic!("{other}: {format:#}"),
            }
        }
        assert_eq!(serde_json::Value::Object(found), expected);
        let text = place.pubdata(&["upgrade"]).expect(0).stdout;
        assert!(
            text.contains("\nnothing needs to be rewritten: all files can be read as they are\n"),
            "{text}"
        );
        assert_eq!(files_below(&place.home()), before, "nothing is written");
    }
}

#[test]
fn changes_by_a_new_program_to_an_old_home_are_reported() {
    let report = place().pubdata(&["upgrade", "--json"]).expect(0).json();
    let next = &report["next_runs"]["nightly"];
    assert_eq!(
        (&next["release_id"], &next["builds"]),
        (&json!(RELEASE), &json!(2))
    );
    for task in ["permit.nola", "zip.zip"] {
        assert!(
            next["built_again"][task][0]
                .as_str()
                .unwrap()
                .starts_with("code changed from 0.1.0+3 to 0.1.0+"),
            "{next:#}"
        );
    }
    let kept = &report["releases"][0];
    let counts = ["builds", "can_be_made_again", "without_declarations"]
        .map(|count| kept[count].as_u64().unwrap());
    assert_eq!(
        (
            kept["release_id"].as_str(),
            kept["program"].as_str(),
            counts
        ),
        (Some(RELEASE), Some("0.1.0"), [2, 0, 2])
    );
}

/// Increases the format number in a file.
fn make_newer(place: &Place, file: &str) {
    let path = place.home().join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let newer = text
        .replacen("\"format_version\":1", "\"format_version\":9", 1)
        .replacen("\"format_version\": 1", "\"format_version\": 9", 1);
    assert_ne!(text, newer, "{file}");
    std::fs::write(path, newer).unwrap();
}

#[test]
fn newer_files_are_refused_by_name_unless_they_can_be_rebuilt() {
    let manifest = format!("releases/{RELEASE}/manifest.json");
    for (name, file) in [
        ("ledger", "ledger.jsonl"),
        ("acceptances", "accepted.jsonl"),
        ("API keys", "keys.json"),
        ("channels", "channels/nightly/0000000001.json"),
        ("manifests", manifest.as_str()),
        ("event log", "stream/log/00000000000000000001.jsonl"),
        ("state of the feeds", "stream/state.json"),
    ] {
        let place = place();
        make_newer(&place, file);
        let report = place.pubdata(&["upgrade", "--json"]).code;
        assert_eq!(report, Some(60), "{name}");
        let text = place.pubdata(&["upgrade"]).stdout;
        let line = text
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("{text}"));
        assert!(
            line.ends_with("refused") && line.contains("9 (1)"),
            "{line}"
        );
        assert!(
            text.ends_with(
                "refused: a newer version of pubdata wrote it; use that one, or a later one\n"
            ),
            "{text}"
        );
    }
    let place = later_place();
    make_newer(
        &place,
        "state/urls/52871ffc517f4ed4a83695b8235198bdda0a7b31.json",
    );
    assert!(
        place
            .pubdata(&["upgrade"])
            .expect(0)
            .stdout
            .contains("rebuilds it when needed")
    );
}

#[test]
fn home_of_a_newer_program_is_refused_by_every_command() {
    let place = place();
    std::fs::write(
        place.home().join("home.json"),
        r#"{"format_version": 2, "pubdata_version": "0.9.0"}"#,
    )
    .unwrap();
    for arguments in [
        &["run", "--offline"][..],
        &["plan", "--offline"],
        &["status"],
        &["upgrade"],
        &["trace", PERMIT],
        &["verify"],
        &["releases", "list"],
        &["releases", "prune"],
        &["keys", "list"],
        &["accept", "--list"],
        &["serve", "--bind", "127.0.0.1:0"],
        &["follow", "--once"],
    ] {
        let answer = place.pubdata(arguments).expect(60);
        assert!(
            answer
                .stderr
                .contains("has format 2, made by pubdata 0.9.0; pubdata 0.1.0 reads up to 1"),
            "{arguments:?}: {}",
            answer.stderr
        );
        assert!(
            answer.stderr.contains("use pubdata 0.9.0 or a later one"),
            "{arguments:?}: {}",
            answer.stderr
        );
    }
    std::fs::write(place.home().join("home.json"), r#"{"format_version": 1}"#).unwrap();
    place.pubdata(&["status"]).expect(0);
}
