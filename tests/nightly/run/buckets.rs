//! A build that is split by the hash of a column publishes what a whole one does, whatever the
//! threads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pubdata_core::ids::{bucket_name, hash_bucket};
use serde_json::Value;

use pubdata_testing::{Answer, Place, answer, copy_folder, files_below, project};

const PIPELINE: &str = "business.fl_sunbiz";
const DATASETS: [&str; 2] = ["business.entity", "business.officer"];
const COUNT: u32 = 5;

/// A place of Florida's registry alone, with a record that cannot be read; built in five buckets,
/// or whole.
struct Registry {
    place: Place,
    declarations: String,
}

impl Registry {
    fn new(is_split: bool) -> Self {
        let place = Place::new();
        break_record(&place);
        let folder = place.root().join("declarations");
        write_declarations(&folder, is_split);
        Self {
            declarations: folder.display().to_string(),
            place,
        }
    }

    fn run(&self, threads: &str, arguments: &[&str]) -> Answer {
        let mut command = self
            .place
            .run_command(&[&[PIPELINE, "--declarations", &self.declarations], arguments].concat());
        for name in [
            "RAYON_NUM_THREADS",
            "POLARS_MAX_THREADS",
            "TOKIO_WORKER_THREADS",
        ] {
            command.env(name, threads);
        }
        answer(&mut command)
    }

    fn pubdata(&self, arguments: &[&str]) -> Value {
        self.place
            .pubdata(&[arguments, &["--json", "--declarations", &self.declarations]].concat())
            .expect(0)
            .json()
    }
}

/// Declares the build split, or whole; either way more records may be quarantined than of a real file.
pub(super) fn write_declarations(folder: &Path, is_split: bool) {
    copy_folder(&project("pipelines"), &folder.join("pipelines"));
    copy_folder(&project("schemas"), &folder.join("schemas"));
    let path = folder.join("pipelines/business/fl_sunbiz.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("buckets = "));
    let whole = lines
        .map(|line| format!("{line}\n"))
        .collect::<String>()
        .replace(
            "max_quarantined_percent = 1.0",
            "max_quarantined_percent = 50.0",
        );
    let buckets = if is_split {
        format!("[buckets]\ncount = {COUNT}\nkey = \"entity_number\"\n\n")
    } else {
        String::new()
    };
    std::fs::write(
        path,
        whole.replacen("[[source]]", &format!("{buckets}[[source]]"), 1),
    )
    .unwrap();
}

/// Adds a record of another length to the newest daily file.
fn break_record(place: &Place) {
    let path = place.file("20261002c.txt");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend(b"too short\n");
    std::fs::write(path, bytes).unwrap();
}

/// The columns of each row but the bucket, and its pointers.
fn rows(place: &Place, dataset_id: &str) -> BTreeMap<String, (Value, String)> {
    let rows = place.rows(dataset_id).into_iter();
    rows.map(|(record_id, (mut columns, pointers))| {
        columns.remove("bucket");
        (record_id, (Value::Object(columns), format!("{pointers:?}")))
    })
    .collect()
}

#[test]
fn split_build_publishes_the_rows_of_a_whole_build_in_their_buckets() {
    let whole = Registry::new(false);
    whole.run("2", &[]).expect(10);
    let split = Registry::new(true);
    split.run("2", &[]).expect(10);

    for dataset_id in DATASETS {
        let expected = rows(&whole.place, dataset_id);
        assert!(expected.len() >= 10, "{dataset_id}");
        assert_eq!(rows(&split.place, dataset_id), expected, "{dataset_id}");
    }
    let mut buckets = BTreeSet::new();
    for (record_id, (columns, _)) in split.place.rows("business.entity") {
        let number = columns["entity_number"].as_str().unwrap();
        assert_eq!(
            columns["bucket"],
            bucket_name(hash_bucket(number, COUNT), COUNT),
            "{record_id}"
        );
        buckets.insert(columns["bucket"].as_str().unwrap().to_owned());
    }
    assert!(buckets.len() >= 3, "{buckets:?}");
    let quarantined = split.place.rows("pubdata.quarantine");
    assert_eq!(
        quarantined.len(),
        1,
        "a record that cannot be read is told of once"
    );
    assert_eq!(
        files_below(&split.place.home())
            .iter()
            .filter(|path| path.components().any(|name| name.as_os_str() == "scratch"))
            .count(),
        0
    );
}

#[test]
fn split_build_is_independent_of_threads_and_fresh_if_unchanged() {
    let (one, four) = (Registry::new(true), Registry::new(true));
    let release_id = one.run("1", &[]).expect(10).release_id();
    assert_eq!(four.run("4", &[]).expect(10).release_id(), release_id);
    let again = one.run("2", &[]);
    assert_eq!(
        (
            again.json()["outcome"].as_str(),
            again.task(PIPELINE)["outcome"].as_str()
        ),
        (Some("unchanged"), Some("fresh")),
        "{again:#?}"
    );
    let rebuilt = one.pubdata(&["verify", "--rebuild"]);
    assert_eq!(
        rebuilt["rebuilt"]["rebuilt_id"],
        release_id.as_str(),
        "{rebuilt:#}"
    );
}

#[test]
fn every_record_of_a_split_build_is_made_again_from_its_own_bytes() {
    let split = Registry::new(true);
    split.run("2", &[]).expect(10);
    for dataset_id in DATASETS.into_iter().chain(["pubdata.quarantine"]) {
        let record_ids: Vec<String> = split.place.rows(dataset_id).into_keys().collect();
        for record_id in record_ids {
            let traced = split.pubdata(&["trace", &record_id]);
            assert_eq!(traced["is_match"], true, "{record_id}: {traced:#}");
        }
    }
}

#[test]
fn totals_are_judged_over_all_buckets() {
    let split = Registry::new(true);
    split.run("2", &[]).expect(10);
    // A bucket may lose what it likes, the dataset may not.
    for file in ["20261001c.txt", "20261002c.txt"] {
        std::fs::remove_file(split.place.file(file)).unwrap();
    }
    let report = split.run("2", &[]).expect(20);
    let reasons = report.reasons(PIPELINE);
    assert!(
        reasons.contains("business.entity") && reasons.contains("in the last release"),
        "{reasons}"
    );
    assert!(!reasons.contains("bucket="), "{reasons}");
}
