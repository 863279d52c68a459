//! Explains why records differ in a later release: the effect of source bytes, declaration,
//! contract and code, record by record.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pubdata_core::ids::{Digest, ReleaseId};
use pubdata_store::{Home, Manifest, Releases};
use serde_json::{Value, json};

use super::own_declarations::change;
use pubdata_testing::{Place, copy_folder, project};

const TASK: &str = "permit.cincinnati";
const ROWS: &str = "uhjb-xac9/rows.csv@accessType=DOWNLOAD";

/// Publishes a city with a folder of declarations, and returns both.
fn published() -> (Place, PathBuf) {
    let place = Place::new();
    let folder = place.root().join("declarations");
    copy_folder(&project("pipelines"), &folder.join("pipelines"));
    copy_folder(&project("schemas"), &folder.join("schemas"));
    run(&place, &folder);
    (place, folder)
}

fn run(place: &Place, folder: &Path) -> String {
    place
        .run(&[TASK, "--declarations", folder.to_str().unwrap()])
        .expect(0);
    place.current()
}

/// Changes the city's data for another run: one permit with another description, one with another
/// status, one gone and one new.
fn another_night(place: &Place) {
    place.edit(ROWS, |text| {
        let kept: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with("2099P00003"))
            .collect();
        let fifth = kept[2].replace("2099P00002", "2099P00005");
        let text = kept
            .join("\n")
            .replace("REPLACE ELECTRICAL PANEL", "REPLACE PANEL")
            .replace("Non-Residential,APPROVED", "Non-Residential,ISSUED");
        format!("{text}\n{fifth}\n")
    });
}

fn other_declaration(folder: &Path) {
    change(
        folder,
        "pipelines/permit/cincinnati.toml",
        "\n\"Building\" = \"building\"",
        "\n\"Building\" = \"mechanical\"",
    );
}

/// Changes the contract so that the first permit, of 325,000 dollars, passes with a warning.
fn other_contract(folder: &Path) {
    change(
        folder,
        "schemas/permit/permit.toml",
        "max = 10000000000",
        "max = 300000",
    );
}

#[track_caller]
fn why(place: &Place, from: &str) -> Value {
    let diff = place
        .pubdata(&["releases", "diff", from, "--why", "--json"])
        .expect(0)
        .json();
    for (dataset_id, dataset) in diff["datasets"].as_object().unwrap() {
        for kind in ["added", "removed", "changed", "provenance_only"] {
            let reported: u64 = dataset["why"]
                .as_array()
                .unwrap()
                .iter()
                .map(|why| why[kind].as_u64().unwrap())
                .sum();
            assert_eq!(
                reported,
                dataset[kind].as_u64().unwrap(),
                "each record of {dataset_id} counts once: {dataset:#}"
            );
        }
    }
    assert!(
        !place.home().join("scratch").exists()
            || place
                .home()
                .join("scratch")
                .read_dir()
                .unwrap()
                .next()
                .is_none(),
        "no file stays behind"
    );
    diff
}

/// Returns the causes of each example of the permits, by number.
fn of_permits(diff: &Value) -> BTreeMap<String, (Vec<String>, bool)> {
    let examples = diff["datasets"]["permit.permit"]["examples"]
        .as_array()
        .unwrap();
    let of_one = |example: &Value| {
        let why = &example["why"];
        let causes: Vec<String> = why["causes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|cause| cause.as_str().unwrap().to_owned())
            .collect();
        let is_source = causes.iter().any(|cause| cause == "source_bytes");
        let url = "https://data.cincinnati-oh.gov/api/views/uhjb-xac9/rows.csv?accessType=DOWNLOAD";
        assert_eq!(
            why["urls"],
            if is_source { json!([url]) } else { json!([]) }
        );
        let number = example["record_id"]
            .as_str()
            .unwrap()
            .rsplit(':')
            .next()
            .unwrap()
            .to_owned();
        (number, (causes, why["is_told_apart"].as_bool().unwrap()))
    };
    examples.iter().map(of_one).collect()
}

#[track_caller]
fn assert_causes(diff: &Value, expected: &[(&str, &[&str])]) {
    let expected = expected.iter().map(|(number, causes)| {
        let causes: Vec<String> = causes.iter().map(|cause| (*cause).to_owned()).collect();
        ((*number).to_owned(), (causes, true))
    });
    assert_eq!(
        of_permits(diff),
        expected.collect::<BTreeMap<_, _>>(),
        "{diff:#}"
    );
    assert_eq!(diff["not_told_apart"], json!({}), "{diff:#}");
}

#[test]
fn source_declaration_and_contract_changes_are_separated_by_record() {
    let (place, folder) = published();
    let first = place.current();
    another_night(&place);
    other_declaration(&folder);
    other_contract(&folder);
    run(&place, &folder);
    let diff = why(&place, &first);
    let expected: [(&str, &[&str]); 5] = [
        ("2099P00001", &["declaration", "contract"]),
        ("2099P00002", &["source_bytes"]),
        ("2099P00003", &["source_bytes"]),
        ("2099P00004", &["source_bytes", "declaration"]),
        ("2099P00005", &["source_bytes"]),
    ];
    assert_causes(&diff, &expected);
    let counts = |causes: Value, [added, removed, changed]: [u64; 3]| json!({ "causes": causes, "is_told_apart": true, "added": added, "removed": removed, "changed": changed, "provenance_only": 0 });
    let permits = [
        counts(json!(["source_bytes"]), [1, 1, 1]),
        counts(json!(["source_bytes", "declaration"]), [0, 0, 1]),
        counts(json!(["declaration", "contract"]), [0, 0, 1]),
    ];
    assert_eq!(diff["datasets"]["permit.permit"]["why"], json!(permits));

    let text = place
        .pubdata(&[
            "releases",
            "diff",
            &first,
            "--why",
            "--dataset",
            "permit.permit",
        ])
        .expect(0)
        .stdout;
    assert!(
        text.contains("permit.permit  source bytes and declaration  0      0        1        0\n"),
        "{text}"
    );
    assert!(text.contains("Removed permit.permit:us-oh-cincinnati:2099P00003\n  why: source bytes https://data.cincinnati-oh.gov/"), "{text}");
    assert!(!text.contains("permit.contact"), "{text}");
}

#[test]
fn single_cause_needs_no_build() {
    let (place, folder) = published();
    let first = place.current();
    other_declaration(&folder);
    let second = run(&place, &folder);
    // Removes the snapshots that a build would need.
    std::fs::remove_dir_all(place.home().join("snapshots")).unwrap();
    assert_causes(
        &why(&place, &first),
        &[
            ("2099P00001", &["declaration"]),
            ("2099P00004", &["declaration"]),
        ],
    );
    let back = place
        .pubdata(&["releases", "diff", &second, &first, "--why", "--json"])
        .expect(0)
        .json();
    assert_causes(
        &back,
        &[
            ("2099P00001", &["declaration"]),
            ("2099P00004", &["declaration"]),
        ],
    );
    let same = place
        .pubdata(&["releases", "diff", &second, "--why", "--json"])
        .expect(0)
        .json();
    assert_eq!(same["datasets"]["permit.permit"]["why"], json!([]));
}

#[test]
fn causes_that_cannot_be_built_alone_are_combined_with_the_reason() {
    let (place, folder) = published();
    let first = place.current();
    // The publisher renames a column and the declaration follows: neither can be read with the old
    // version of the other.
    place.edit(ROWS, |text| {
        text.replace("PERMITNUM,", "NUMBER,")
            .replace("WRECK GARAGE", "WRECK BARN")
    });
    change(
        &folder,
        "pipelines/permit/cincinnati.toml",
        "[\"permitnum\"]",
        "[\"number\"]",
    );
    other_contract(&folder);
    run(&place, &folder);
    let diff = why(&place, &first);
    let of = of_permits(&diff);
    assert_eq!(
        of["2099P00003"],
        (
            vec!["source_bytes".to_owned(), "declaration".to_owned()],
            false
        )
    );
    assert_eq!(of["2099P00001"], (vec!["contract".to_owned()], true));
    let reason = diff["not_told_apart"][TASK].as_str().unwrap();
    assert!(
        reason.starts_with("with the other source bytes alone it cannot be built: ")
            && reason.contains("permitnum"),
        "{reason}"
    );
    let text = place
        .pubdata(&["releases", "diff", &first, "--why"])
        .expect(0)
        .stdout;
    assert!(
        text.contains("why: source bytes or declaration")
            && text.contains("permit.cincinnati: causes not separated: with the other"),
        "{text}"
    );
}

/// Reads a part that is small enough for one batch.
fn rows(part: Vec<u8>) -> RecordBatch {
    let mut batches = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(part))
        .unwrap()
        .build()
        .unwrap();
    let rows = batches.next().unwrap().unwrap();
    assert!(batches.next().is_none());
    rows
}

/// Returns the current release as other code would have made it, with another description of each
/// permit whose number has this ending; the channel does not move.
async fn made_by_other_code(place: &Place, ending: &str) -> ReleaseId {
    let releases = Releases::open(&Home::open(&place.home()).unwrap(), None).unwrap();
    let before = releases
        .manifest(&place.current().parse().unwrap())
        .await
        .unwrap();
    let mut manifest: Manifest = before.clone();
    let entry = manifest.tasks.get_mut(TASK).unwrap();
    let (_, builder) = entry.code_version.split_once('+').unwrap();
    entry.code_version = format!("0.0.9+{builder}");
    manifest.sidecars.clear();
    let mut parts = BTreeMap::new();
    for part in manifest
        .datasets
        .values_mut()
        .flat_map(|dataset| &mut dataset.parts)
    {
        let mut bytes = releases
            .part(&before.release_id, part)
            .await
            .unwrap()
            .to_vec();
        if part.path.starts_with("permit.permit/") {
            let rows = rows(bytes);
            let texts = |column: &str| {
                rows.column_by_name(column)
                    .unwrap()
                    .as_any()
                    .downcast_ref::<StringArray>()
                    .unwrap()
                    .clone()
            };
            let (ids, texts) = (texts("record_id"), texts("description"));
            let described =
                ids.iter()
                    .zip(&texts)
                    .map(|(id, text)| match id.unwrap().ends_with(ending) {
                        true => Some("AS OTHER CODE READ IT".to_owned()),
                        false => text.map(str::to_owned),
                    });
            let described: StringArray = described.collect();
            let mut columns = rows.columns().to_vec();
            columns[rows.schema().index_of("description").unwrap()] = Arc::new(described);
            bytes = Vec::new();
            let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), None).unwrap();
            writer
                .write(&RecordBatch::try_new(rows.schema(), columns).unwrap())
                .unwrap();
            writer.close().unwrap();
            (part.sha256, part.size_bytes) = (Digest::sha256(&bytes), bytes.len() as u64);
        }
        parts.insert(part.path.clone(), bytes);
    }
    manifest.release_id = manifest.derive_release_id();
    for (path, bytes) in parts {
        releases
            .put_part(&manifest.release_id, &path, bytes.into())
            .await
            .unwrap();
    }
    for digest in &manifest.declarations {
        let path = pubdata_store::declared_path(digest);
        let text = releases.text(&before.release_id, digest).await.unwrap();
        releases
            .put_part(&manifest.release_id, &path, text.into())
            .await
            .unwrap();
    }
    releases.put_manifest(&manifest).await.unwrap();
    manifest.release_id
}

#[tokio::test]
async fn changes_by_other_code_are_separated_from_the_rest() {
    let (place, folder) = published();
    let of_other_code = made_by_other_code(&place, "2").await;
    another_night(&place);
    let second = run(&place, &folder);
    let expected: [(&str, &[&str]); 4] = [
        ("2099P00002", &["code", "source_bytes"]),
        ("2099P00003", &["source_bytes"]),
        ("2099P00004", &["source_bytes"]),
        ("2099P00005", &["source_bytes"]),
    ];
    assert_causes(&why(&place, of_other_code.as_str()), &expected);

    // In the other direction, the code that can build is the earlier one, and comes last.
    let back = place
        .pubdata(&[
            "releases",
            "diff",
            &second,
            of_other_code.as_str(),
            "--why",
            "--json",
        ])
        .expect(0)
        .json();
    assert_eq!(
        of_permits(&back)["2099P00002"],
        (vec!["source_bytes".to_owned(), "code".to_owned()], true)
    );

    // Two builds of other code cannot be rebuilt.
    let later = made_by_other_code(&place, "5").await;
    let neither = place
        .pubdata(&[
            "releases",
            "diff",
            of_other_code.as_str(),
            later.as_str(),
            "--why",
            "--json",
        ])
        .expect(0)
        .json();
    assert_eq!(
        of_permits(&neither)["2099P00005"],
        (vec!["source_bytes".to_owned()], true),
        "one cause needs no build"
    );
    other_declaration(&folder);
    run(&place, &folder);
    let later = made_by_other_code(&place, "5").await;
    let neither = place
        .pubdata(&[
            "releases",
            "diff",
            of_other_code.as_str(),
            later.as_str(),
            "--why",
            "--json",
        ])
        .expect(0)
        .json();
    assert_eq!(
        of_permits(&neither)["2099P00001"],
        (
            vec!["source_bytes".to_owned(), "declaration".to_owned()],
            false
        )
    );
    assert_eq!(
        neither["not_told_apart"][TASK],
        json!("made by pubdata 0.0.9, this is 0.1.0; pubdata 0.0.9 can")
    );
}

#[test]
fn dataset_absent_from_both_releases_is_named() {
    let (place, _) = published();
    let error = place
        .pubdata(&[
            "releases",
            "diff",
            &place.current(),
            "--dataset",
            "permit.permits",
        ])
        .expect(40)
        .stderr;
    assert!(
        error.contains("neither release has a dataset `permit.permits`")
            && error.contains("permit.contact, permit.permit"),
        "{error}"
    );
}

/// For a part that only the later release has, the builds between the two have other versions than
/// it.
#[test]
fn part_that_only_one_release_has_is_reported() {
    let (place, folder) = published();
    change(
        &folder,
        "pipelines/permit/cincinnati.toml",
        "max_quarantined_percent = 1.0",
        "max_quarantined_percent = 50.0",
    );
    let before = run(&place, &folder);
    place.edit(ROWS, |text| {
        text.replace("REPLACE ELECTRICAL PANEL", "REPLACE PANEL") + "2099P00009,CUT SHORT\n"
    });
    change(
        &folder,
        "schemas/pubdata/quarantine.toml",
        "title = \"Records set aside\"",
        "title = \"Records that were set aside\"",
    );
    let night = place
        .run(&[TASK, "--declarations", folder.to_str().unwrap()])
        .expect(10);
    assert_ne!(night.release_id(), before);
    let diff = why(&place, &before);
    assert_eq!(
        diff["datasets"]["pubdata.quarantine"]["added"], 1,
        "{diff:#}"
    );
}
