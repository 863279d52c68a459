use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use pubdata_build::publish::{Build, BuiltTable, Contribution, RowValidation, stage};
use pubdata_build::validate::{Candidate, quarantine_table, validate};
use pubdata_core::contract::Contracts;
use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_core::issue::{Issue, Severity};
use pubdata_store::{Home, Releases, TaskEntry};
use serde_json::json;

use super::expected::{Counts, of_release};
use crate::publish::Place;
use crate::validate::{Row, contracts, expectations, frame, inputs, issue, pointer, row};
use pubdata_testing::peers::{publish_fixtures, python, script};

/// Compares every part of a release, and every dataset's folder as a whole, between our reader and
/// the peers.
pub async fn compare(
    python: &Path,
    releases: &Releases,
    id: &ReleaseId,
    contracts: &Contracts,
    folder: &Path,
) -> Counts {
    let (expected, counts) = of_release(releases, id, contracts, folder).await;
    let output = read_with_peers(python, &expected);
    assert!(
        output.status.success(),
        "the peers read other values:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let compared: BTreeMap<String, Counts> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        compared.keys().collect::<Vec<_>>(),
        ["duckdb", "pandas", "polars", "pyarrow"]
    );
    let of_folders = Counts {
        folder_rows: counts.folder_rows,
        ..Counts::default()
    };
    compared.iter().for_each(|(reader, compared)| {
        assert_eq!(
            *compared,
            if reader == "pandas" {
                of_folders
            } else {
                counts
            },
            "{reader}"
        );
    });
    counts
}

fn read_with_peers(python: &Path, expected: &serde_json::Value) -> Output {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), serde_json::to_vec(expected).unwrap()).unwrap();
    Command::new(python)
        .arg(script("read_parts.py"))
        .arg(file.path())
        .output()
        .unwrap()
}

/// Returns rows with every type at its extremes: nulls, empty lists, negative zero, extreme values,
/// no pointer and several.
fn rows(year: i32) -> Vec<Row> {
    let full = |state: &str| Row {
        year: Some(year),
        record_id: Some(format!("test.thing:{year}:{state}:population")),
        ..row(state, "population")
    };
    let nothing = Row {
        value: None,
        null_reason: Some("suppressed".to_owned()),
        unit: Some("years".to_owned()),
        moe: None,
        persons: None,
        portion: None,
        is_open: Some(false),
        since: None,
        grades: Some(Vec::new()),
        lat: None,
        lon: None,
        pointers: Vec::new(),
        ..full("02")
    };
    let extreme = Row {
        value: Some(-99_999_999_999_999),
        moe: Some(99_999_999_999_999),
        persons: Some(i64::MAX - 1000),
        portion: Some(f64::MIN_POSITIVE),
        since: Some("0001-01-01".to_owned()),
        grades: Some(vec!["É,\"q\",'"]),
        lat: Some(-0.0),
        lon: Some(179.999_999_999_999_97),
        pointers: vec![0, 1, i64::MAX as u64, i64::MAX as u64, 1, 0, 0, 0],
        ..full("03")
    };
    vec![
        extreme,
        nothing,
        full("01"),
        Row {
            value: Some(5),
            moe: Some(-5),
            ..full("04")
        },
    ]
}

fn finding(dataset_id: &str, record: &str) -> Issue {
    Issue {
        dataset_id: dataset_id.to_owned(),
        ..issue(
            "unmapped",
            Severity::Quarantine,
            Some(record),
            Some(pointer(7)),
        )
    }
}

/// Builds one year of `test.thing`, with a quarantined record.
fn build(year: i32) -> Build {
    let inputs = inputs();
    let partition = BTreeMap::from([("year".to_owned(), year.to_string())]);
    let candidate = Candidate {
        dataset_id: "test.thing".to_owned(),
        partition: partition.clone(),
        frame: frame(&rows(year)),
        issues: vec![finding("test.thing", "K1")],
    };
    let verdict = validate(
        &contracts()["test.thing"],
        Some(&expectations()),
        candidate,
        &inputs,
        None,
        false,
    )
    .unwrap();
    assert_eq!((verdict.frame.height(), verdict.blocked.len()), (4, 0));
    let quarantined = quarantine(&inputs, "test.thing", &partition, &verdict.quarantine);
    let passed = BuiltTable {
        dataset_id: "test.thing".to_owned(),
        partition,
        frame: verdict.frame,
        rows: RowValidation::Validated,
        report: verdict.report,
    };
    let entry = entry(&inputs, &format!("{year}"));
    Build {
        task_id: format!("test.things/year={year}"),
        entry,
        inputs,
        tables: vec![passed, quarantined],
    }
}

/// Builds a dataset without partitions in which every record is quarantined.
fn build_without_partition() -> Build {
    let inputs = inputs();
    let table = quarantine(
        &inputs,
        "test.flat",
        &BTreeMap::new(),
        &[finding("test.flat", "K2"), finding("test.flat", "K3")],
    );
    let entry = entry(&inputs, "flat");
    Build {
        task_id: "test.flat".to_owned(),
        entry,
        inputs,
        tables: vec![table],
    }
}

fn quarantine(
    inputs: &pubdata_core::provenance::Inputs,
    dataset_id: &str,
    task_partition: &BTreeMap<String, String>,
    issues: &[Issue],
) -> BuiltTable {
    let contract = &contracts()["pubdata.quarantine"];
    let frame = quarantine_table(contract, dataset_id, task_partition, issues, inputs).unwrap();
    let mut partition = task_partition.clone();
    partition.insert("dataset_id".to_owned(), dataset_id.to_owned());
    BuiltTable {
        dataset_id: "pubdata.quarantine".to_owned(),
        partition,
        frame,
        rows: RowValidation::Unchecked,
        report: Default::default(),
    }
}

fn entry(inputs: &pubdata_core::provenance::Inputs, seed: &str) -> TaskEntry {
    TaskEntry {
        meaning_lost: BTreeMap::new(),
        source_rows: BTreeMap::new(),
        pipeline_id: "test.things".to_owned(),
        partition: BTreeMap::new(),
        input_hash: Digest::sha256(seed.as_bytes()),
        declaration_hash: Digest::sha256(b"declaration"),
        contracts_hash: Digest::sha256(b"contracts"),
        code_version: "1".to_owned(),
        is_sample: None,
        inputs: inputs.snapshots().to_vec(),
        is_stale: false,
        stale_reason: None,
        publisher: "Example".to_owned(),
        licence: "CC0-1.0".to_owned(),
        homepage: "https://example.org/".to_owned(),
        cadence_days: 365,

        layout_evidence: None,
        evidence: BTreeMap::new(),
        covers: Vec::new(),
        findings: Vec::new(),
        due: BTreeMap::new(),
        built_at: "2025-01-01T00:00:00Z".to_owned(),
    }
}

/// Publishes a release of three builds: two partitions, and quarantine parts with and without a
/// partition.
async fn publish(place: &Place) -> (ReleaseId, PathBuf) {
    let builds = [build(2022), build(2023), build_without_partition()];
    let contributions = builds
        .map(|build| Contribution::Built(stage(&place.home, contracts(), build).unwrap()))
        .into();
    let now = "2025-01-01T00:00:00Z";
    let committed = pubdata_build::publish::commit(
        &place.home,
        &place.releases,
        contracts(),
        "nightly",
        contributions,
        false,
        "run",
        now,
    )
    .await
    .unwrap();
    let folder = place
        .root()
        .join("releases")
        .join(committed.release_id.as_str());
    (committed.release_id, folder)
}

// polars blocks inside an asynchronous runtime only if it has several threads.
#[tokio::test(flavor = "multi_thread")]
async fn published_parquet_reads_the_same_in_duckdb_polars_and_pyarrow() {
    let Some(python) = python(&["duckdb", "polars", "pyarrow"]) else {
        return;
    };
    let place = Place::new();
    let (release_id, folder) = publish(&place).await;
    let counts = compare(&python, &place.releases, &release_id, contracts(), &folder).await;
    assert_eq!(
        counts,
        Counts {
            parts: 5,
            values: 8 * 18 + 4 * 8,
            totals: 2 * 4 * 7,
            folder_rows: 8 + 4
        }
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn fixtures_release_reads_the_same_in_duckdb_polars_and_pyarrow() {
    let Some(python) = python(&["duckdb", "polars", "pyarrow"]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let release_id: ReleaseId = publish_fixtures(folder.path()).parse().unwrap();
    let releases = Releases::open(&Home::open(folder.path()).unwrap(), None).unwrap();
    let manifest = releases.manifest(&release_id).await.unwrap();
    let published: Vec<&str> = manifest.datasets.keys().map(String::as_str).collect();
    for dataset_id in [
        "geo.county",
        "geo.county_metric",
        "geo.geography",
        "geo.school",
        "geo.zcta_metric",
    ] {
        assert!(
            published.contains(&dataset_id) && manifest.rows(dataset_id) > 0,
            "{published:?}"
        );
    }
    let counts = compare(
        &python,
        &releases,
        &release_id,
        contracts(),
        &folder.path().join("releases").join(release_id.as_str()),
    )
    .await;
    assert_eq!(
        counts.folder_rows,
        published
            .iter()
            .map(|dataset_id| manifest.rows(dataset_id))
            .sum::<u64>()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn peer_that_reads_other_values_is_detected() {
    let Some(python) = python(&["duckdb", "polars", "pyarrow"]) else {
        return;
    };
    let place = Place::new();
    let (release_id, folder) = publish(&place).await;
    let (expected, _) = of_release(&place.releases, &release_id, contracts(), &folder).await;
    let part = "/datasets/test.thing/parts/0";
    let changes = [
        (
            "/values/source_pointers/0/0/offset",
            json!(101),
            "`source_pointers` in row 0 is",
        ),
        (
            "/values/value/0",
            json!("12.30"),
            "`value` in row 0 is '12.3', expected '12.30'",
        ),
        (
            "/values/lat/2",
            json!("f64:0000000000000000"),
            "`lat` in row 2 is 'f64:8000000000000000'",
        ),
        ("/totals/persons/sum", json!(1), "sum of `persons` is"),
        ("/columns/1/kind", json!("Int64"), "columns are"),
        (
            "/values/record_id/3",
            json!("test.thing:2022:99:population"),
            "test.thing read as one folder has rows",
        ),
    ];
    for (path, value, problem) in changes {
        let mut changed = expected.clone();
        *changed.pointer_mut(&format!("{part}{path}")).unwrap() = value;
        let output = read_with_peers(&python, &changed);
        let problems = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{problems}");
        for engine in ["duckdb", "polars", "pyarrow"] {
            assert!(
                problems
                    .lines()
                    .any(|line| line.starts_with(engine) && line.contains(problem)),
                "{engine}, {path}: {problems}"
            );
        }
    }
}
