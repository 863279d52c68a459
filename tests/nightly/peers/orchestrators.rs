//! Imports the DAGs and assets of `integrations/` and runs them in the real Airflow and Dagster,
//! run after run, with the real program: each exit code becomes its documented state. Also parses
//! lineage events with OpenLineage's own classes.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::lineage::files;
use pubdata_testing::peers::{python_of, script};
use pubdata_testing::{Place, files_below, project};

const VARIABLE: &str = "PUBDATA_TEST_ORCHESTRATORS";

/// Creates a place whose settings name pipelines and mirror, as an operator's do.
fn place(pipelines: &[&str]) -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.home()).unwrap();
    set(
        &place,
        &format!(
            "pipelines = {pipelines:?}\n[run]\nmirror = [{:?}]\n[plan]\nmirror = [{0:?}]\n",
            place.mirror()
        ),
    );
    place
}

fn set(place: &Place, settings: &str) {
    std::fs::write(place.home().join("pubdata.toml"), settings).unwrap();
}

/// Foreign program that makes one nightly run for each input line and reports the result.
struct Nights {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Nights {
    fn start(python: &Path, place: &Place, arguments: &[&str]) -> Self {
        let mut command = Command::new(python);
        let program = Path::new(env!("CARGO_BIN_EXE_pubdata"));
        let path = format!(
            "{}:{}",
            program.parent().unwrap().display(),
            std::env::var("PATH").unwrap()
        );
        command
            .args(arguments)
            .env("PATH", path)
            .env("PUBDATA_HOME", place.home())
            .env("PUBDATA_RETRY_SECONDS", "0");
        command
            .env("AIRFLOW_HOME", place.root().join("airflow"))
            .env("DAGSTER_HOME", place.root())
            .env("DAGSTER_DISABLE_TELEMETRY", "1");
        for (name, value) in [
            ("LOAD_EXAMPLES", "False"),
            (
                "DAGS_FOLDER",
                project("integrations/airflow").to_str().unwrap(),
            ),
        ] {
            command.env(format!("AIRFLOW__CORE__{name}"), value);
        }
        for name in [
            "PUBDATA_STORE",
            "PUBDATA_PROGRAM",
            "PUBDATA_CHANNEL",
            "PUBDATA_OPENLINEAGE_URL",
        ] {
            command.env_remove(name);
        }
        let errors = std::fs::File::create(place.root().join("errors")).unwrap();
        let mut child = command
            .current_dir(place.root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .unwrap();
        let (input, output) = (
            child.stdin.take().unwrap(),
            BufReader::new(child.stdout.take().unwrap()),
        );
        Self {
            child,
            input,
            output,
        }
    }

    fn night(&mut self, place: &Place) -> Value {
        self.input.write_all(b"night\n").unwrap();
        self.reported(place)
    }

    /// Returns the next report; log lines may come before it.
    fn reported(&mut self, place: &Place) -> Value {
        let mut logged = String::new();
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).unwrap();
            assert!(
                read > 0,
                "the program ended:\n{logged}\n{}",
                std::fs::read_to_string(place.root().join("errors")).unwrap()
            );
            if let Some(reported) = line.strip_prefix("TOLD ") {
                return serde_json::from_str(reported).unwrap();
            }
            logged.push_str(&line);
        }
    }
}

impl Drop for Nights {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const PERMITS: &str = "permit.nola";
const AREAS: &str = "census.gazetteer";

/// Start time of the nightly run, Eastern: the SEC's archives are available at about 03:00.
const AFTER_THE_ARCHIVES: &str = "30 4 * * *";

/// Returns the file of a permit list.
fn list(place: &Place) -> PathBuf {
    files_below(&place.mirror())
        .into_iter()
        .find(|file| file.to_str().unwrap().contains("data.nola.gov"))
        .unwrap()
}

/// Scenario of a nightly run. Each one begins without faults.
#[derive(Debug, Clone, Copy)]
enum Night {
    First,
    Unchanged,
    NewColumn,
    /// The operator has published the new data before the run.
    ByHand,
    BlockedBesideNews,
    Missing,
    WrongSetting,
    Locked,
    UnreadableChannel,
}

/// All scenarios, with the exit code of the program.
const NIGHTS: [(Night, i32); 9] = [
    (Night::First, 0),
    (Night::Unchanged, 0),
    (Night::ByHand, 0),
    (Night::NewColumn, 10),
    (Night::BlockedBesideNews, 20),
    (Night::Missing, 30),
    (Night::WrongSetting, 40),
    (Night::Locked, 50),
    (Night::UnreadableChannel, 60),
];

/// Makes the run of one scenario.
fn of(night: Night, place: &Place, nights: &mut Nights) -> Value {
    let file = list(place);
    let (whole, settings) = (
        std::fs::read(&file).unwrap(),
        std::fs::read(place.home().join("pubdata.toml")).unwrap(),
    );
    let text = String::from_utf8(whole.clone()).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let mut lock = None;
    match night {
        Night::First | Night::Unchanged => {}
        Night::NewColumn => {
            let rows: String = rows
                .lines()
                .map(|row| format!("{},\n", row.trim_end()))
                .collect();
            std::fs::write(&file, format!("{},brandnew\n{rows}", header.trim_end())).unwrap();
        }
        Night::ByHand => {
            place.edit_member("2025_Gaz_counties_national.zip", |text| {
                text.replacen("|34.460915|", "|34.460916|", 1)
            });
            let run = Command::new(env!("CARGO_BIN_EXE_pubdata"))
                .arg("run")
                .env("PUBDATA_HOME", place.home())
                .output()
                .unwrap();
            assert!(run.status.success(), "{run:?}");
        }
        Night::BlockedBesideNews => {
            std::fs::write(&file, text.replacen("issuedate", "dateofissue", 1)).unwrap();
            // The internal point of 00601.
            place.edit_member("2025_Gaz_zcta_national.zip", |text| {
                text.replacen("|18.180555|", "|18.180556|", 1)
            });
        }
        Night::Missing => std::fs::remove_file(&file).unwrap(),
        Night::WrongSetting => set(place, "no_such_setting = 1\n"),
        Night::Locked => {
            lock = Some(
                pubdata_store::Home::open(&place.home())
                    .unwrap()
                    .lock()
                    .unwrap(),
            );
        }
        Night::UnreadableChannel => {
            let newest = files_below(&place.home().join("channels")).pop().unwrap();
            std::fs::write(newest, "{").unwrap();
        }
    }
    let reported = nights.night(place);
    drop(lock);
    std::fs::write(&file, whole).unwrap();
    std::fs::write(place.home().join("pubdata.toml"), settings).unwrap();
    reported
}

/// Returns the exit codes in the ledger, the last run last.
fn exit_codes(place: &Place) -> Vec<i64> {
    let text = std::fs::read_to_string(place.home().join("ledger.jsonl")).unwrap();
    text.lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["exit_code"]
                .as_i64()
                .unwrap()
        })
        .collect()
}

#[test]
fn airflow_run_on_one_machine_reports_its_datasets() {
    let Some(python) = python_of(VARIABLE, &["openlineage.client", "pendulum"]) else {
        return;
    };
    let place = place(&[PERMITS, AREAS]);
    let program = script("airflow_nights.py");
    let mut nights = Nights::start(
        &python,
        &place,
        &[
            program.to_str().unwrap(),
            project("integrations/airflow").to_str().unwrap(),
            "pubdata_nightly",
        ],
    );
    let schedule = format!("{AFTER_THE_ARCHIVES} America/New_York");
    assert_eq!(
        nights.reported(&place),
        json!({"import_errors": {}, "dags": {"pubdata_night": schedule, "pubdata_nightly": schedule}})
    );
    let state = |reported: &Value, task: &str| {
        (
            reported["tasks"][task][0][0].as_str().unwrap().to_owned(),
            reported["tasks"][task][0][1].as_i64().unwrap(),
        )
    };
    for (night, code) in NIGHTS {
        let before = exit_codes_or_none(&place);
        let reported = of(night, &place, &mut nights);
        let (run, tries) = state(&reported, "run");
        let expected = match code {
            0 | 10 => ("success", "success", 1),
            20 | 40 => ("failed", "failed", 1),
            _ => ("failed", "failed", 3),
        };
        assert_eq!(
            (reported["state"].as_str().unwrap(), run.as_str(), tries),
            expected,
            "{night:?}: {reported:#}"
        );
        let events = reported["events"].as_array().unwrap();
        let named: BTreeSet<&str> = events
            .iter()
            .map(|event| event[0].as_str().unwrap())
            .collect();
        let expected: &[&str] = match night {
            Night::First => &[
                "geo.county",
                "geo.geography",
                "permit.contact",
                "permit.permit",
            ],
            Night::ByHand => &["geo.county"],
            // The list is another file with the same records.
            Night::BlockedBesideNews => &["geo.geography"],
            _ => &[],
        };
        let expected: BTreeSet<String> = expected
            .iter()
            .map(|dataset_id| format!("pubdata://nightly/{dataset_id}"))
            .collect();
        if !matches!(night, Night::NewColumn) {
            assert_eq!(
                named,
                expected.iter().map(String::as_str).collect(),
                "{night:?}: {reported:#}"
            );
        }
        for event in events {
            let dataset_id = event[0].as_str().unwrap().rsplit('/').next().unwrap();
            assert_eq!(
                (&event[1]["release_id"], &event[1]["rows"]),
                (
                    &json!(place.current()),
                    &json!(place.rows(dataset_id).len())
                ),
                "{event:#}"
            );
        }
        let added = &exit_codes_or_none(&place)[before.len()..];
        // A wrong setting and an unreadable channel are not taken for a home without a release.
        assert_eq!(
            state(&reported, "publish").0,
            if matches!(code, 40 | 60) {
                "failed"
            } else {
                "success"
            },
            "{night:?}: {reported:#}"
        );
        if !matches!(
            night,
            Night::WrongSetting | Night::Locked | Night::UnreadableChannel
        ) {
            assert!(
                !added.is_empty() && added.iter().all(|added| *added == i64::from(code)),
                "{night:?}: {added:?}"
            );
        }
        if matches!(night, Night::Missing) {
            assert_eq!(added.len(), 3, "each try started the program");
        }
    }
}

fn exit_codes_or_none(place: &Place) -> Vec<i64> {
    if place.home().join("ledger.jsonl").exists() {
        exit_codes(place)
    } else {
        Vec::new()
    }
}

#[test]
fn airflow_distributes_the_work_of_a_run() {
    let Some(python) = python_of(VARIABLE, &["openlineage.client", "pendulum"]) else {
        return;
    };
    let place = place(&["permit.nola", "license.tx_tdlr"]);
    let store = format!(
        "store = {:?}\n",
        format!("file://{}", place.root().join("store").display())
    );
    let settings = std::fs::read_to_string(place.home().join("pubdata.toml")).unwrap();
    set(&place, &format!("{store}{settings}"));
    let program = script("airflow_nights.py");
    let folder = project("integrations/airflow");
    let mut nights = Nights::start(
        &python,
        &place,
        &[
            program.to_str().unwrap(),
            folder.to_str().unwrap(),
            "pubdata_night",
            r#"{"SHARES": 2}"#,
        ],
    );
    nights.reported(&place);
    let reported = nights.night(&place);
    assert_eq!(reported["state"], "success", "{reported:#}");
    let whole = Place::new()
        .run(&["permit.nola", "license.tx_tdlr"])
        .expect(0)
        .release_id();
    assert_eq!(reported["left"]["commit.return_value"], json!(whole));
    let counts = ["plan", "split", "build", "commit"]
        .map(|task| reported["tasks"][task].as_array().unwrap().len());
    assert_eq!(counts, [1, 2, 2, 1], "{reported:#}");
    let released = std::fs::read_dir(place.root().join("store/releases"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(released.collect::<Vec<_>>(), std::slice::from_ref(&whole));
    // A second try of a successful commit ends the same: it changes nothing and reports the
    // release.
    std::fs::remove_file(list(&place)).unwrap();
    let reported = nights.night(&place);
    assert_eq!(
        (&reported["state"], &reported["tasks"]["commit"]),
        (&json!("failed"), &json!([["failed", 1]])),
        "{reported:#}"
    );
    assert_eq!(
        reported["left"]["commit.release_id"],
        json!(whole),
        "the existing releases stay"
    );
}

#[test]
fn dagster_materializes_only_the_changed_datasets() {
    let Some(python) = python_of(VARIABLE, &["dagster"]) else {
        return;
    };
    let place = place(&[PERMITS, AREAS]);
    let program = script("dagster_nights.py");
    let mut nights = Nights::start(
        &python,
        &place,
        &[
            program.to_str().unwrap(),
            project("integrations/dagster/pubdata_assets.py")
                .to_str()
                .unwrap(),
        ],
    );
    for (night, code) in NIGHTS {
        let reported = of(night, &place, &mut nights);
        // Definitions that cannot be queried are not loaded.
        if matches!(code, 40 | 60) {
            assert!(
                reported["not_loaded"]
                    .as_str()
                    .unwrap()
                    .contains(&format!("exit code {code}")),
                "{reported:#}"
            );
            continue;
        }
        let steps: &[&str] = match code {
            0 | 10 => &["STEP_SUCCESS"],
            20 => &["STEP_FAILURE"],
            _ => &["STEP_UP_FOR_RETRY", "STEP_UP_FOR_RETRY", "STEP_FAILURE"],
        };
        assert_eq!(
            (
                reported["steps"].clone(),
                reported["success"].as_bool().unwrap()
            ),
            (json!(steps), matches!(code, 0 | 10)),
            "{night:?}: {reported:#}"
        );
        let made: BTreeSet<&str> = reported["made"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let expected: &[&str] = match night {
            Night::First => &[
                "geo/county",
                "geo/geography",
                "permit/contact",
                "permit/permit",
            ],
            Night::ByHand => &["geo/county"],
            Night::BlockedBesideNews => &["geo/geography"],
            _ => &[],
        };
        if !matches!(night, Night::NewColumn) {
            assert_eq!(
                made,
                expected.iter().copied().collect(),
                "{night:?}: {reported:#}"
            );
        }
        for (asset, metadata) in reported["made"].as_object().unwrap() {
            let rows = place.rows(&asset.replacen('/', ".", 1)).len();
            assert_eq!(
                (&metadata["release_id"], &metadata["dagster/row_count"]),
                (&json!(place.current()), &json!(rows)),
                "{asset}"
            );
        }
        let checks = match night {
            Night::NewColumn => json!([["permit/contact", "WARN"], ["permit/permit", "WARN"]]),
            Night::BlockedBesideNews => {
                json!([["permit/contact", "ERROR"], ["permit/permit", "ERROR"]])
            }
            _ => continue,
        };
        assert_eq!(reported["checks"], checks, "{night:?}: {reported:#}");
        // The Bureau's files are yearly, the list is daily: pipelines/census/gazetteer.toml,
        // pipelines/permit/nola.toml.
        let freshness = &reported["freshness"];
        let windows = |days: i64| {
            format!(
                "TimeWindowFreshnessPolicy(fail_window=SerializableTimeDelta(days={}, seconds=0, microseconds=0), warn_window=SerializableTimeDelta(days={}, seconds=0, microseconds=0))",
                3 * days + 14,
                2 * days + 7
            )
        };
        assert_eq!(
            (&freshness["geo/county"], &freshness["permit/permit"]),
            (&json!(windows(366)), &json!(windows(1)))
        );
        assert_eq!(
            reported["assets"],
            json!([
                "geo/county",
                "geo/geography",
                "permit/contact",
                "permit/permit"
            ])
        );
        assert_eq!(
            reported["schedules"],
            json!([format!(
                "pubdata_nightly {AFTER_THE_ARCHIVES} America/New_York STOPPED"
            )])
        );
    }
}

#[test]
fn dagster_reports_a_stale_dataset_that_was_never_published() {
    let Some(python) = python_of(VARIABLE, &["dagster"]) else {
        return;
    };
    let place = place(&[PERMITS, AREAS]);
    let file = list(&place);
    let text = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let program = script("dagster_nights.py");
    let mut nights = Nights::start(
        &python,
        &place,
        &[
            program.to_str().unwrap(),
            project("integrations/dagster/pubdata_assets.py")
                .to_str()
                .unwrap(),
        ],
    );
    let reported = nights.night(&place);
    let failed = |reported: &Value| -> BTreeSet<String> {
        reported["checks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|check| check[0].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        reported["made"]
            .as_object()
            .unwrap()
            .keys()
            .collect::<Vec<_>>(),
        ["geo/county", "geo/geography"],
        "{reported:#}"
    );
    assert!(
        failed(&reported).contains("permit/permit") && !failed(&reported).contains("geo/county"),
        "{reported:#}"
    );
    // The dataset appears while the definitions still come from a release without it. It is
    // reported once they include it.
    std::fs::write(&file, text).unwrap();
    let reported = [nights.night(&place), nights.night(&place)];
    let made = reported.each_ref().map(|reported| {
        reported["made"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect::<Vec<_>>()
    });
    assert_eq!(
        made,
        [vec![], vec!["permit/contact", "permit/permit"]],
        "{reported:#?}"
    );
    assert_eq!(
        reported.each_ref().map(failed),
        [BTreeSet::new(), BTreeSet::new()]
    );
}

#[test]
fn lineage_events_are_accepted_by_the_openlineage_classes() {
    let Some(python) = python_of(
        VARIABLE,
        &[
            "openlineage.client",
            "jsonschema",
            "rfc3339_validator",
            "rfc3986_validator",
        ],
    ) else {
        return;
    };
    let place = Place::new();
    // A run that builds everything, a run without changes, and a run with a blocked task.
    place.run(&[]).expect(0);
    place.run(&[]).expect(0);
    place.edit_member("2025_Gaz_zcta_national.zip", |text| {
        text.replacen("ALAND_SQMI", "LAND_SQMI", 1)
    });
    place.run(&[AREAS]).expect(20);
    let checked = |files: &[PathBuf]| {
        Command::new(&python)
            .arg(script("check_lineage.py"))
            .args(files)
            .output()
            .unwrap()
    };
    let said = checked(&files(&place));
    assert!(
        said.status.success(),
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
    let counts: Value = serde_json::from_slice(&said.stdout).unwrap();
    let tasks = place.manifest()["tasks"].as_object().unwrap().len();
    assert_eq!(
        counts,
        json!({"START": 2 * (tasks + 1) + 2, "COMPLETE": 2 * (tasks + 1) + 1, "FAIL": 1})
    );
    // Proves that the checks can fail.
    let text = std::fs::read_to_string(&files(&place)[0]).unwrap();
    let broken = place.root().join("broken.jsonl");
    for (right, wrong) in [
        ("\"rowCount\":", "\"rows\":"),
        ("\"datasetVersion\":\"", "\"datasetVersion\":1,\"x\":\""),
        ("/1-2-0/SchemaDatasetFacet", "/9-9-9/SchemaDatasetFacet"),
    ] {
        assert!(text.contains(right), "{right}");
        std::fs::write(&broken, text.replacen(right, wrong, 1)).unwrap();
        assert!(
            !checked(std::slice::from_ref(&broken)).status.success(),
            "{wrong} was accepted"
        );
    }
}
