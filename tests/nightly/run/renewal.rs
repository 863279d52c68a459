use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::{Value, json};

use super::ACS_2023;
use pubdata_testing::{Answer, Place, files_below};

/// The families whose tasks these tests check.
const FAMILIES: &[&str] = &["census", "nces", "sec"];
const INCOME_2023: &str = "acsdt5y2023-b19013.dat";

/// Returns the outcome of each task that has one.
fn outcomes(answer: &Answer) -> Value {
    let report = answer.json();
    let tasks = report["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|task| task["outcome"] != "not_published");
    tasks
        .map(|task| {
            (
                task["task_id"].as_str().unwrap().to_owned(),
                task["outcome"].clone(),
            )
        })
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn inode(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().ino()
}

#[test]
fn unchanged_second_run_builds_and_changes_nothing() {
    let place = Place::with(FAMILIES);
    let first = place.run(&[]).expect(0);
    let releases = place.home().join("releases");
    let state = || -> Vec<_> {
        files_below(&releases)
            .into_iter()
            .map(|path| {
                (
                    inode(&path),
                    std::fs::metadata(&path).unwrap().modified().unwrap(),
                    path,
                )
            })
            .collect()
    };
    let before = state();
    let second = place.run(&[]).expect(0);
    assert_eq!(second.json()["outcome"], "unchanged");
    assert_eq!(second.release_id(), first.release_id());
    let fresh = json!({ "census.acs5/vintage=2022": "fresh", ACS_2023: "fresh", "census.gazetteer": "fresh", "census.population": "fresh", "nces.ccd_directory": "fresh", "sec.financials": "fresh", "sec.submissions": "fresh", "sec.taxonomy": "fresh" });
    assert_eq!(outcomes(&second), fresh);
    assert!(
        first.stderr.contains(" building ") && !second.stderr.contains(" building "),
        "no file is decoded: {}",
        second.stderr
    );
    assert_eq!(state(), before);
    assert_eq!(
        files_below(&place.home().join("channels")).len(),
        1,
        "the channel has not moved"
    );
}

#[test]
fn changed_source_rebuilds_its_task_and_links_all_other_parts() {
    let place = Place::published_with(FAMILIES);
    let first = place.current();
    place.edit("acsdt5y2023-b01003.dat", |text| {
        text.replace("860Z200US90210|19652|1335", "860Z200US90210|19653|1335")
    });
    let second = place.run(&[]).expect(0);
    let expected = json!({ "census.acs5/vintage=2022": "fresh", ACS_2023: "built", "census.gazetteer": "fresh", "census.population": "fresh", "nces.ccd_directory": "fresh", "sec.financials": "fresh", "sec.submissions": "fresh", "sec.taxonomy": "fresh" });
    assert_eq!(outcomes(&second), expected);
    assert!(
        second
            .reasons(ACS_2023)
            .contains("source changed: https://www2.census.gov/"),
        "{second:#?}"
    );
    assert_ne!(second.release_id(), first);
    let releases = place.home().join("releases");
    for part in [
        "geo.school/part-0.parquet",
        "geo.geography/part-0.parquet",
        "geo.county/part-0.parquet",
        "geo.zcta_metric/2022.parquet",
    ] {
        assert_eq!(
            inode(&releases.join(&first).join(part)),
            inode(&place.part(part)),
            "{part} is linked"
        );
    }
    let changed = "geo.zcta_metric/2023.parquet";
    assert_ne!(
        inode(&releases.join(&first).join(changed)),
        inode(&place.part(changed))
    );
    assert_eq!(
        place.rows("geo.zcta_metric")["geo.zcta_metric:2023:90210:population"].0["value"],
        json!(19653)
    );
}

#[test]
fn source_missing_on_the_first_run_omits_only_its_task() {
    let place = Place::with(FAMILIES);
    let income = place.file(INCOME_2023);
    let aside = place.root().join("aside");
    std::fs::rename(&income, &aside).unwrap();
    let first = place.run(&[]).expect(30);
    assert_eq!(first.json()["outcome"], "published");
    let expected = json!({ "census.acs5/vintage=2022": "built", ACS_2023: "missing", "census.gazetteer": "built", "census.population": "built", "nces.ccd_directory": "built", "sec.financials": "built", "sec.submissions": "built", "sec.taxonomy": "built" });
    assert_eq!(outcomes(&first), expected);
    assert!(first.reasons(ACS_2023).contains(INCOME_2023), "{first:#?}");
    assert!(!place.part("geo.zcta_metric/2023.parquet").exists());
    assert_eq!(place.rows("geo.zcta_metric").len(), 336);

    std::fs::rename(&aside, &income).unwrap();
    place.run(&[]).expect(0);
    assert_eq!(place.rows("geo.zcta_metric").len(), 672);
    let elsewhere = Place::published_with(FAMILIES);
    assert_eq!(
        place.current(),
        elsewhere.current(),
        "as if it had never been missing"
    );
}

#[test]
fn source_missing_later_keeps_the_last_build_stale_until_it_returns() {
    let place = Place::published_with(FAMILIES);
    let first = place.current();
    let income = place.file(INCOME_2023);
    let aside = place.root().join("aside");
    std::fs::rename(&income, &aside).unwrap();

    for _ in 0..2 {
        let run = place.run(&[]).expect(30);
        assert!(run.reasons(ACS_2023).contains(INCOME_2023), "{run:#?}");
        assert_eq!(
            (run.json()["outcome"].as_str(), place.current()),
            (Some("unchanged"), first.clone()),
            "no release is published"
        );
        assert_eq!(
            place.stale_tasks().into_keys().collect::<Vec<_>>(),
            [ACS_2023]
        );
        let status = place.pubdata(&["status", "--json"]).expect(0).json();
        let task = status["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .find(|task| task["task_id"] == ACS_2023)
            .unwrap();
        assert_eq!(
            (&task["outcome"], &task["is_in_release"]),
            (&json!("missing"), &json!(true)),
            "{task}"
        );
        assert!(
            task["reasons"][0].as_str().unwrap().contains(INCOME_2023),
            "{task}"
        );
        assert_eq!(
            (
                &status["attention"][0]["task_id"],
                &status["attention"][0]["what"]
            ),
            (&json!(ACS_2023), &json!("missing"))
        );
    }

    std::fs::rename(&aside, &income).unwrap();
    let back = place.run(&[]).expect(0);
    assert_eq!(
        (back.json()["outcome"].as_str(), place.stale_tasks()),
        (Some("unchanged"), BTreeMap::new())
    );
    assert_eq!(
        place.current(),
        first,
        "the same build as before it went missing"
    );
}

#[test]
fn run_for_other_tasks_keeps_a_stale_one_stale() {
    let place = Place::published_with(FAMILIES);
    std::fs::remove_file(place.file(INCOME_2023)).unwrap();
    place.run(&[]).expect(30);
    place.run(&["nces"]).expect(0);
    assert!(place.stale_tasks()[ACS_2023].contains(INCOME_2023));
    // Lost or damaged marks are restored from the ledger.
    let file = place.home().join("unrenewed/nightly.json");
    let whole = std::fs::read(&file).unwrap();
    for damage in [None, Some("{")] {
        std::fs::remove_file(&file).unwrap();
        damage
            .into_iter()
            .for_each(|text| std::fs::write(&file, text).unwrap());
        place.run(&["nces"]).expect(0);
        assert_eq!(std::fs::read(&file).unwrap(), whole, "{damage:?}");
    }
}

#[test]
fn ledger_has_one_line_for_each_run() {
    let place = Place::published_with(FAMILIES);
    std::fs::remove_file(place.file(INCOME_2023)).unwrap();
    place.run(&[]).expect(30);
    let ledger = std::fs::read_to_string(place.home().join("ledger.jsonl")).unwrap();
    let runs: Vec<Value> = ledger
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let codes: Vec<&Value> = runs.iter().map(|run| &run["exit_code"]).collect();
    assert_eq!(codes, [0, 30]);
    assert_eq!(runs[1]["tasks"][ACS_2023]["outcome"], "missing");
    assert!(
        runs[1]["tasks"][ACS_2023]["reason"]
            .as_str()
            .unwrap()
            .contains(INCOME_2023)
    );
    assert_eq!(runs[0]["tasks"][ACS_2023]["rows"], 28 * 12 + 51 * 12);
}
