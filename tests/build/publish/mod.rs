//! Checks publishing on tiny frames of a contract that has a column of every type.

mod carried;
mod commit;
mod companions;
mod crash;
mod diff;
mod ledger;
mod operations;
mod s3;
mod stage;
mod store;

use std::collections::BTreeMap;
use std::path::Path;

use polars::prelude::{DataFrame, DataType, NamedFrom, Series, df};
use pubdata_build::publish::{
    Build, BuiltTable, Committed, Contribution, RowValidation, commit, stage,
};
use pubdata_core::contract::{Column, ColumnType, Contract, Contracts, Physical, Words};
use pubdata_core::error::Result;
use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_core::provenance::{Inputs, Obtained, Snapshot};
use pubdata_store::{Home, PartReport, Releases, TaskEntry};

use crate::lists;

pub const NOW: &str = "2026-01-02T03:04:05Z";

fn column(name: &str, physical: Physical, nullable: bool) -> Column {
    let column_type = ColumnType {
        words: Words::default(),
        physical,
        description: String::new(),
        precision: 6,
        scale: 1,
        trim: false,
        digits: None,
        values: Vec::new(),
        min: None,
        max: None,
        unit: None,
    };
    Column {
        name: name.to_owned(),
        type_name: name.to_owned(),
        column_type,
        nullable,
        description: String::new(),
        coded_from: None,
        derivation: None,
    }
}

/// Returns the contract of `test.place`: one folder per year, with a column of every physical type.
pub fn contract() -> Contract {
    Contract {
        dataset_id: "test.place".to_owned(),
        version: "1.0.0".to_owned(),
        title: "Places".to_owned(),
        grain: "One row per year and place.".to_owned(),
        primary_key: vec!["year".to_owned(), "code".to_owned()],
        sort_by: vec!["year".to_owned(), "code".to_owned()],
        partition_by: vec!["year".to_owned()],
        geography_type: None,
        serves: Vec::new(),
        not_covered: Vec::new(),
        links: BTreeMap::new(),
        columns: vec![
            column("record_id", Physical::String, false),
            column("year", Physical::Int32, false),
            column("code", Physical::String, false),
            column("persons", Physical::Int64, true),
            column("lat", Physical::Float64, true),
            column("is_open", Physical::Boolean, true),
            column("opened", Physical::Date, true),
            column("share", Physical::Decimal, true),
            column("grades", Physical::StringList, true),
            column("validation_status", Physical::String, false),
            column("source_pointers", Physical::Pointers, false),
        ],
        values: Vec::new(),
        invariants: Vec::new(),
    }
}

pub fn contracts() -> Contracts {
    Contracts::from([("test.place".to_owned(), contract())])
}

pub fn inputs(content: &str) -> Inputs {
    let snapshot = |source_id: &str| Snapshot {
        source_id: source_id.to_owned(),
        keys: BTreeMap::new(),
        url: format!("https://example.org/{source_id}.zip"),
        sha256: Digest::sha256(format!("{source_id} {content}").as_bytes()),
        size_bytes: 100,
        source_version: "2024".to_owned(),
        source_date: "2025-01-01".to_owned(),
        etag: None,
        last_modified: None,
        fetched_at: "2025-02-03T00:00:00Z".to_owned(),
        redirected_through: Vec::new(),
        obtained: Obtained::ByProgram,
        mirror: None,
    };
    let mut inputs = Inputs::new(vec![snapshot("test.b"), snapshot("test.a")]);
    inputs.member_number(Some("places.csv"));
    inputs
}

/// Builds a list column of pointer numbers.
pub fn pointers(rows: &[&[u64]]) -> Series {
    let rows: Vec<Series> = rows
        .iter()
        .map(|numbers| Series::new("".into(), *numbers))
        .collect();
    Series::new("source_pointers".into(), rows)
        .cast(&DataType::List(Box::new(DataType::UInt64)))
        .unwrap()
}

/// Returns three places of a year: all columns filled, all nullable ones null, and extremes.
pub fn frame(year: i32, persons: i64) -> DataFrame {
    let id = |code: &str| format!("test.place:{year}:{code}");
    let mut frame = df!(
        "record_id" => [id("00501"), id("10001"), id("99999")],
        "year" => [year, year, year],
        "code" => ["00501", "10001", "99999"],
        "persons" => [Some(persons), None, Some(i64::MAX)],
        "lat" => [Some(40.75), None, Some(-89.999_999)],
        "is_open" => [Some(true), None, Some(false)],
        "opened" => [Some("1969-12-31"), None, Some("2024-02-29")],
        "share" => [Some(-5_i64), None, Some(999_999)],
        "validation_status" => ["passed", "passed", "passed_with_warnings"],
    )
    .unwrap();
    let grades: [Option<&[&str]>; 3] = [Some(&["PK", "KG", "01"]), None, Some(&[])];
    frame
        .with_column(lists("grades", grades.into_iter()))
        .unwrap();
    frame
        .with_column(pointers(&[&[0, 1, 10, 20], &[1, 0, 0, 5, 0, 1, 30, 2], &[]]).into())
        .unwrap();
    frame
}

pub fn task_id(year: i32) -> String {
    format!("test.places/vintage={year}")
}

/// Returns the build of one year. `content` acts as the publisher's bytes.
pub fn build(year: i32, content: &str, frame: DataFrame) -> Build {
    let inputs = inputs(content);
    let (declaration_hash, contracts_hash) =
        (Digest::sha256(b"declaration"), Digest::sha256(b"contracts"));
    let entry = TaskEntry {
        meaning_lost: BTreeMap::new(),
        source_rows: BTreeMap::new(),
        pipeline_id: "test.places".to_owned(),
        partition: BTreeMap::from([("vintage".to_owned(), year.to_string())]),
        input_hash: Digest::sha256(format!("{year} {content}").as_bytes()),
        declaration_hash,
        contracts_hash,
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
        built_at: NOW.to_owned(),
    };
    let table = BuiltTable {
        dataset_id: "test.place".to_owned(),
        partition: BTreeMap::from([("year".to_owned(), year.to_string())]),
        frame,
        rows: RowValidation::Unchecked,
        report: PartReport {
            quarantined: BTreeMap::from([("bad_code".to_owned(), 2)]),
            ..PartReport::default()
        },
    };
    Build {
        task_id: task_id(year),
        entry,
        inputs,
        tables: vec![table],
    }
}

/// A home in a separate folder.
pub struct Place {
    pub home: Home,
    pub releases: Releases,
    _folder: Option<tempfile::TempDir>,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Self::at(folder.path());
        Self {
            _folder: Some(folder),
            ..place
        }
    }

    pub fn at(root: &Path) -> Self {
        let home = Home::open(root).unwrap();
        let releases = Releases::open(&home, None).unwrap();
        Self {
            home,
            releases,
            _folder: None,
        }
    }

    /// Creates a home of another machine that publishes to the same store.
    pub fn beside(other: &Self) -> Self {
        Self {
            releases: other.releases.clone(),
            ..Self::new()
        }
    }

    pub fn root(&self) -> &Path {
        self.home.root()
    }

    /// Stages the build of a year.
    pub fn built(&self, year: i32, content: &str, persons: i64) -> Contribution {
        Contribution::Built(
            stage(
                &self.home,
                &contracts(),
                build(year, content, frame(year, persons)),
            )
            .unwrap(),
        )
    }

    /// Commits to `nightly` and returns the outcome.
    pub async fn try_publish(
        &self,
        contributions: Vec<Contribution>,
        now: &str,
    ) -> Result<Committed> {
        commit(
            &self.home,
            &self.releases,
            &contracts(),
            "nightly",
            contributions,
            false,
            &format!("run at {now}"),
            now,
        )
        .await
    }

    pub async fn publish(&self, contributions: Vec<Contribution>) -> Committed {
        self.try_publish(contributions, NOW).await.unwrap()
    }

    pub async fn current(&self) -> Option<ReleaseId> {
        self.releases
            .channel("nightly")
            .await
            .unwrap()
            .map(|entry| entry.release_id)
    }

    /// Returns every file of a release, by path below it.
    pub fn files(&self, release_id: &ReleaseId) -> BTreeMap<String, Vec<u8>> {
        let root = self.root().join("releases").join(release_id.as_str());
        let mut files = BTreeMap::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.insert(
                        path.strip_prefix(&root)
                            .unwrap()
                            .to_str()
                            .unwrap()
                            .to_owned(),
                        std::fs::read(&path).unwrap(),
                    );
                }
            }
        }
        files
    }
}

pub fn reused(year: i32) -> Contribution {
    Contribution::Reused {
        task_id: task_id(year),
        metadata: None,
    }
}
