//! Runs the script of `pubdata releases duckdb` in DuckDB: each view holds the rows of the
//! manifest, with the contract's descriptions as comments.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use pubdata_store::Manifest;
use serde_json::{Value, json};

use crate::validate::contracts;
use pubdata_testing::copy_folder;
use pubdata_testing::peers::{pubdata, publish_fixtures, python, script};

/// Facts from the publishers' own files that break if a text becomes a number, or if a folder named
/// `key=value` adds a column.
fn queries() -> Value {
    json!({
        "puerto_rico": "SELECT zcta FROM geo.geography WHERE zcta = '00601'",
        "school": "SELECT leaid, district_name, county_fips FROM geo.school WHERE ncessch = '010000500870'",
        "registrant": "SELECT name FROM sec.registrant WHERE cik = '0000320193'",
        "bucket": "SELECT DISTINCT bucket FROM sec.filing WHERE bucket = '001'",
        "joined": "SELECT DISTINCT c.name FROM geo.school s JOIN geo.county c USING (county_fips) WHERE s.ncessch = '010000500870'",
    })
}

fn read(python: &Path, sql: &Path, folder: &Path, started_in: &Path) -> Value {
    let (database, questions) = (folder.join("views.db"), folder.join("queries.json"));
    let _ = std::fs::remove_file(&database);
    std::fs::write(&questions, queries().to_string()).unwrap();
    let mut command = Command::new(python);
    command
        .arg(script("read_views.py"))
        .args([sql, &database, &questions])
        .current_dir(started_in);
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Checks the contents of a release's views.
fn check(seen: &Value, manifest: &Manifest) {
    let rows: BTreeMap<&str, u64> = manifest
        .datasets
        .keys()
        .map(|dataset_id| (dataset_id.as_str(), manifest.rows(dataset_id)))
        .collect();
    assert!(
        rows.len() >= 20 && rows.values().sum::<u64>() > 1_000,
        "{rows:?}"
    );
    assert_eq!(seen["rows"], json!(rows));
    for (dataset_id, contract) in contracts()
        .iter()
        .filter(|(dataset_id, _)| manifest.datasets.contains_key(*dataset_id))
    {
        assert!(
            seen["views"][dataset_id]
                .as_str()
                .unwrap()
                .starts_with(&contract.title),
            "{dataset_id}: {}",
            seen["views"][dataset_id]
        );
        let columns = seen["columns"][dataset_id].as_object().unwrap();
        assert_eq!(
            columns.len(),
            contract.columns.len(),
            "{dataset_id}: {columns:?}"
        );
        for column in &contract.columns {
            let comment = columns[&column.name][1].as_str().unwrap();
            assert!(
                comment.starts_with(&column.description),
                "{dataset_id}.{}: {comment}",
                column.name
            );
        }
    }
    let of = |view: &str, column: &str| seen["columns"][view][column].clone();
    assert_eq!(of("geo.geography", "zcta")[0], "VARCHAR");
    assert_eq!(of("sec.filing", "bucket")[0], "VARCHAR");
    assert!(
        of("geo.county", "land_area_sqmi")[1]
            .as_str()
            .unwrap()
            .ends_with(" Unit: square miles."),
        "{}",
        of("geo.county", "land_area_sqmi")
    );
    let answers = json!({
        "puerto_rico": [["00601"]],
        "school": [["0100005", "Albertville City", "01095"]],
        "registrant": [["Apple Inc."]],
        "bucket": [["001"]],
        "joined": [["Marshall County"]],
    });
    assert_eq!(seen["answers"], answers);
}

#[test]
fn views_hold_the_rows_of_the_manifest_wherever_the_release_is() {
    let Some(python) = python(&["duckdb"]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    // A quotation mark in the SQL, and a folder that a reader may take for a separate column.
    let home = folder.path().join("the night's=home");
    let release_id = publish_fixtures(&home);
    let manifest = Manifest::from_json(
        &std::fs::read(
            home.join("releases")
                .join(&release_id)
                .join("manifest.json"),
        )
        .unwrap(),
    )
    .unwrap();
    let sql = folder.path().join("views.sql");
    let written = pubdata(&[
        "releases",
        "duckdb",
        "--home",
        home.to_str().unwrap(),
        "--output",
        sql.to_str().unwrap(),
    ]);
    assert!(
        written.status.success() && written.stdout.is_empty(),
        "{written:?}"
    );
    check(
        &read(&python, &sql, folder.path(), folder.path()),
        &manifest,
    );

    // A copy, and names below the folder where DuckDB starts.
    let copy = folder.path().join("copy");
    copy_folder(&home.join("releases").join(&release_id), &copy);
    let printed = pubdata(&[
        "releases",
        "duckdb",
        &release_id,
        "--home",
        home.to_str().unwrap(),
        "--location",
        "./",
    ]);
    assert!(printed.status.success(), "{printed:?}");
    std::fs::remove_dir_all(&home).unwrap();
    std::fs::write(&sql, printed.stdout).unwrap();
    check(&read(&python, &sql, folder.path(), &copy), &manifest);
}
