//! Reads the Delta logs and the Data Package of a release with other programs.

use std::path::Path;
use std::process::{Command, Output};

use pubdata_core::ids::ReleaseId;
use pubdata_store::{Home, Releases};
use serde::Deserialize;
use serde_json::{Value, json};

use super::expected::of_release;
use crate::validate::contracts;
use pubdata_testing::peers::{publish_fixtures, python, script};

/// Programs that read every value of every table.
const ENGINES: &[&str] = &["deltalake", "polars", "sail"];

#[derive(Debug, Deserialize)]
struct Compared {
    tables: u64,
    rows: u64,
    values: u64,
}

/// Values that our own reader finds in the release of the fixtures.
struct Fixtures {
    _home: tempfile::TempDir,
    expected: Value,
    rows: u64,
    values: u64,
}

impl Fixtures {
    async fn publish() -> Self {
        let home = tempfile::tempdir().unwrap();
        let release_id: ReleaseId = publish_fixtures(home.path()).parse().unwrap();
        let releases = Releases::open(&Home::open(home.path()).unwrap(), None).unwrap();
        let folder = home.path().join("releases").join(release_id.as_str());
        let (mut expected, counts) = of_release(&releases, &release_id, contracts(), &folder).await;
        expected["release_id"] = json!(release_id);
        Self {
            _home: home,
            expected,
            rows: counts.folder_rows,
            values: counts.values,
        }
    }

    fn folder(&self) -> &Path {
        Path::new(self.expected["folder"].as_str().unwrap())
    }

    fn tables(&self) -> u64 {
        self.expected["datasets"].as_object().unwrap().len() as u64
    }
}

fn run(python: &Path, expected: &Value, engine: &str) -> Output {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), serde_json::to_vec(expected).unwrap()).unwrap();
    Command::new(python)
        .arg(script("read_tables.py"))
        .arg(file.path())
        .arg(engine)
        .output()
        .unwrap()
}

/// Compares with an engine. Returns `None` if the engine reports that it cannot run here.
fn compare(python: &Path, expected: &Value, engine: &str) -> Option<Compared> {
    let output = run(python, expected, engine);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{engine} reads other values:\n{reported}"
    );
    let compared: Option<Compared> = serde_json::from_slice(&output.stdout).unwrap();
    if compared.is_none() {
        eprintln!("{reported}");
    }
    compared
}

// polars blocks inside an asynchronous runtime only if it has several threads.
#[tokio::test(flavor = "multi_thread")]
async fn delta_tables_read_the_same_before_and_after_the_release_is_moved() {
    let Some(python) = python(&["deltalake", "duckdb", "grpc", "polars", "pysail", "pyspark"])
    else {
        return;
    };
    let mut fixtures = Fixtures::publish().await;
    let moved = fixtures
        .folder()
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("elsewhere/of-another-name");
    for is_moved in [false, true] {
        for engine in ENGINES {
            let compared = compare(&python, &fixtures.expected, engine).unwrap();
            assert_eq!(
                (compared.tables, compared.rows, compared.values),
                (fixtures.tables(), fixtures.rows, fixtures.values),
                "{engine}, {is_moved}"
            );
        }
        let compared = compare(&python, &fixtures.expected, "pandas").unwrap();
        assert_eq!(
            (compared.tables, compared.rows),
            (fixtures.tables(), fixtures.rows),
            "pandas, {is_moved}"
        );
        // Texts and whole numbers only.
        assert!(compared.values > fixtures.values / 3, "{compared:?}");
        if let Some(compared) = compare(&python, &fixtures.expected, "duckdb") {
            assert_eq!(
                (compared.tables, compared.values),
                (fixtures.tables(), fixtures.values),
                "duckdb, {is_moved}"
            );
        }
        if !is_moved {
            std::fs::create_dir_all(moved.parent().unwrap()).unwrap();
            std::fs::rename(fixtures.folder(), &moved).unwrap();
            fixtures.expected["folder"] = json!(moved);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn spark_reads_every_folder_of_the_fixtures_release_beside_its_delta_log() {
    let Some(python) = python(&["pyspark"]) else {
        return;
    };
    if Command::new("java").arg("-version").output().is_err() {
        eprintln!("skipped: java is not installed");
        return;
    }
    let fixtures = Fixtures::publish().await;
    let compared = compare(&python, &fixtures.expected, "spark").unwrap();
    assert_eq!(
        (compared.tables, compared.rows, compared.values),
        (fixtures.tables(), fixtures.rows, fixtures.values)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn delta_logs_and_data_package_match_the_parts() {
    let Some(python) = python(&["dplib", "frictionless", "jsonschema"]) else {
        return;
    };
    let fixtures = Fixtures::publish().await;
    let logs = compare(&python, &fixtures.expected, "logs").unwrap();
    assert_eq!((logs.tables, logs.rows), (fixtures.tables(), fixtures.rows));
    assert!(
        logs.values > 2 * fixtures.tables(),
        "keys were compared: {logs:?}"
    );
    let package = compare(&python, &fixtures.expected, "package").unwrap();
    assert_eq!(
        (package.tables, package.rows, package.values),
        (fixtures.tables(), fixtures.rows, fixtures.values)
    );
}

/// Repeats each comparison once with a difference to find.
#[tokio::test(flavor = "multi_thread")]
async fn engine_that_reads_other_values_is_detected() {
    let Some(python) = python(&[
        "deltalake",
        "dplib",
        "frictionless",
        "grpc",
        "jsonschema",
        "polars",
        "pysail",
        "pyspark",
    ]) else {
        return;
    };
    let fixtures = Fixtures::publish().await;
    let (folder, part) = (fixtures.folder(), "/datasets/geo.county/parts/0");
    let reported = |expected: &Value, engine: &str| {
        let output = run(&python, expected, engine);
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{engine}: {reported}");
        reported
    };
    let changed = |path: &str, value: Value| {
        let mut changed = fixtures.expected.clone();
        *changed.pointer_mut(&format!("{part}{path}")).unwrap() = value;
        changed
    };
    // One table proves that an engine's difference is detected: the others are not read again.
    let of_one_table = |path: &str, value: Value| {
        let mut changed = changed(path, value);
        changed["datasets"]
            .as_object_mut()
            .unwrap()
            .retain(|dataset_id, _| dataset_id == "geo.county");
        changed
    };
    for engine in [ENGINES, &["pandas"]].concat() {
        let text = reported(
            &of_one_table("/values/county_fips/0", json!("1049")),
            engine,
        );
        assert!(text.contains("expected '1049'"), "{engine}: {text}");
    }
    for engine in ENGINES {
        let text = reported(&of_one_table("/columns/1/kind", json!("Int64")), engine);
        assert!(text.contains("geo.county: columns are"), "{engine}: {text}");
    }
    let row = fixtures
        .expected
        .pointer(&format!("{part}/values/county_fips"))
        .unwrap()
        .as_array()
        .unwrap()
        .len()
        - 1;
    let text = reported(
        &changed(&format!("/values/county_fips/{row}"), json!("99999")),
        "logs",
    );
    assert!(text.contains("log of geo.county: says"), "{text}");
    let text = reported(&changed("/values/county_fips/0", json!("1049")), "package");
    assert!(text.contains("`county_fips` is '1049', which"), "{text}");
    let package = folder.join("datapackage.json");
    let written = std::fs::read_to_string(&package).unwrap();
    std::fs::write(
        &package,
        written.replace("\"type\": \"table\"", "\"type\": \"chair\""),
    )
    .unwrap();
    assert!(reported(&fixtures.expected, "package").contains("profile: $.resources[0].type"));
}
