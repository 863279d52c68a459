//! Compares every row of every case with `expected/<dataset_id>.jsonl`: whole records with their
//! source pointers, sorted by record id. `make bless` rewrites the files; review the difference
//! before you commit it.

use std::collections::BTreeMap;
use std::path::Path;

use pubdata_core::provenance::{SourcePointer, SourceRows, UNUSED};
use pubdata_store::Record;
use serde_json::Value;

use super::cases::{Case, cases, publish};

#[tokio::test(flavor = "multi_thread")]
async fn golden_every_published_row_of_every_case_is_the_expected_one() {
    let cases = cases();
    assert!(cases.len() >= 5, "the fixtures exist");
    for case in cases {
        let published = publish(&case).await;
        let folder = case.folder.join("expected");
        if std::env::var_os("PUBDATA_BLESS").is_some() {
            bless(&folder, &published.datasets);
        }
        let expected: Vec<String> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let mut expected: Vec<&str> = expected
            .iter()
            .map(|name| name.trim_end_matches(".jsonl"))
            .collect();
        expected.sort_unstable();
        assert_eq!(
            expected,
            published.datasets.keys().collect::<Vec<_>>(),
            "{}: datasets",
            folder.display()
        );
        for (dataset_id, rows) in &published.datasets {
            compare(&case, dataset_id, rows);
        }
        check_accounts(&case, &published.source_rows);
    }
}

/// Sources from which a build takes only the rows it needs: column names, and areas besides the
/// requested ones.
const LOOKED_UP: &[&str] = &[
    "census.acs5_shells",
    "nces.edge_geocode",
    "geonames.postal",
    "hrsa.zip_zcta",
    "nws.zone_county",
];

/// Checks that every row read is published, quarantined, or left out for a reason.
fn check_accounts(case: &Case, source_rows: &BTreeMap<String, BTreeMap<String, SourceRows>>) {
    for (source_id, rows) in source_rows.values().flatten() {
        let sum =
            rows.records + rows.merged + rows.quarantined + rows.left_out.values().sum::<u64>();
        assert_eq!(
            rows.read, sum,
            "{} {}: {source_id}",
            case.pipeline_id, case.name
        );
        assert!(
            !rows.left_out.contains_key(UNUSED) || LOOKED_UP.contains(&source_id.as_str()),
            "{} {}: {source_id} {rows:?}",
            case.pipeline_id,
            case.name
        );
    }
}

fn bless(folder: &Path, datasets: &BTreeMap<String, BTreeMap<String, Record>>) {
    if folder.is_dir() {
        std::fs::remove_dir_all(folder).unwrap();
    }
    std::fs::create_dir_all(folder).unwrap();
    for (dataset_id, rows) in datasets {
        let text: String = rows
            .values()
            .map(|record| format!("{}\n", line(record)))
            .collect();
        std::fs::write(folder.join(format!("{dataset_id}.jsonl")), text).unwrap();
    }
}

fn compare(case: &Case, dataset_id: &str, rows: &BTreeMap<String, Record>) {
    let path = case
        .folder
        .join("expected")
        .join(format!("{dataset_id}.jsonl"));
    let expected = std::fs::read_to_string(&path).unwrap();
    let mut expected = expected.lines();
    for record in rows.values() {
        assert_eq!(
            Some(line(record).as_str()),
            expected.next(),
            "{}: run `make bless` if the change is intended",
            path.display()
        );
    }
    assert_eq!(
        expected.next(),
        None,
        "{}: the expected file has more records",
        path.display()
    );
}

/// Formats a record in one line. Pointers are short: source, first digits of the snapshot's digest,
/// member, offset and length.
fn line((record, pointers): &Record) -> String {
    let short = |pointer: &SourcePointer| {
        let member = pointer
            .member
            .as_deref()
            .map(|member| format!("{member} "))
            .unwrap_or_default();
        Value::from(format!(
            "{} {} {member}{}+{}",
            pointer.source_id,
            pointer.snapshot.short(12),
            pointer.offset,
            pointer.length
        ))
    };
    let mut record = record.clone();
    record.insert(
        "source_pointers".to_owned(),
        pointers.iter().map(short).collect(),
    );
    Value::Object(record).to_string()
}
