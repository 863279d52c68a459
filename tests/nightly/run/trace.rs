use std::path::Path;

use serde_json::{Value, json};

use pubdata_testing::{Answer, Place};

const POPULATION: &str = "geo.zcta_metric:2023:90210:population";
const POPULATION_FILE: &str = "acsdt5y2023-b01003.dat";

/// Returns the texts of the sources by source id.
fn texts(answer: &Answer) -> Vec<(String, String)> {
    let report = answer.json();
    let sources = report["sources"].as_array().unwrap().iter();
    sources
        .map(|source| {
            (
                source["source_id"].as_str().unwrap().to_owned(),
                source["text"].as_str().unwrap().to_owned(),
            )
        })
        .collect()
}

fn text_of(answer: &Answer, source_id: &str) -> String {
    texts(answer)
        .into_iter()
        .find(|(id, _)| id == source_id)
        .unwrap_or_else(|| panic!("no {source_id}: {answer:#?}"))
        .1
}

/// Replaces bytes of a file in place with others of the same length.
fn overwrite(path: &Path, from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let mut bytes = std::fs::read(path).unwrap();
    let at = memchr::memmem::find(&bytes, from.as_bytes()).unwrap();
    bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    let mut permissions = std::fs::metadata(path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o644);
    std::fs::set_permissions(path, permissions).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn differences(answer: &Answer) -> String {
    let report = answer.json();
    report["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|difference| difference.as_str().unwrap())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn every_kind_of_record_leads_to_its_bytes_and_is_rebuilt_identically() {
    let place = Place::published();
    let matched = |record_id: &str| {
        let answer = place.trace(record_id).expect(0);
        let report = answer.json();
        let is_open = report["record"]
            .get("bound")
            .is_some_and(|bound| !bound.is_null());
        let notes = report["notes"].as_array().unwrap().len();
        assert_eq!(
            (&report["is_match"], &report["differences"], notes),
            (&json!(true), &json!([]), usize::from(is_open)),
            "{report:#}"
        );
        assert_eq!(
            (&report["record_id"], &report["release_id"]),
            (&json!(record_id), &json!(place.current()))
        );
        answer
    };
    let metric = matched(POPULATION);
    assert_eq!(
        text_of(&metric, "census.acs5_table"),
        "860Z200US90210|19652|1335"
    );
    assert_eq!(
        text_of(&metric, "census.acs5_shells"),
        "B01003|1.0|0|B01003_001|Total|Total Population|Total population|int"
    );
    assert_eq!(
        metric.json()["sources"][0]["path"],
        place.snapshot(POPULATION_FILE).to_str().unwrap()
    );

    let share = matched("geo.zcta_metric:2023:99546:poverty_rate");
    assert!(
        text_of(&share, "census.acs5_table").starts_with("860Z200US99546|80|31|21|17|"),
        "the row with both counts"
    );

    let school = matched("geo.school:010000500870");
    assert!(text_of(&school, "nces.ccd_directory").contains(",010000500870,"));
    assert!(text_of(&school, "nces.ccd_characteristics").contains(",010000500870,"));
    assert!(
        text_of(&school, "nces.edge_geocode")
            .starts_with("010000500870|0100005|Albertville Middle School|")
    );

    // The next year's report states the figure again, with its own fiscal year.
    let revenue = matched(
        "sec.financial_value:0000320193:revenue:2008-09-28..2009-09-26:0001193125-10-238044",
    );
    let bytes = text_of(&revenue, "sec.companyfacts");
    assert!(
        bytes.contains("\"val\":42905000000") && bytes.contains("\"fy\":2010"),
        "{bytes}"
    );
    let report = revenue.json();
    assert_eq!(
        (&report["record"]["value"], &report["record"]["fiscal_year"]),
        (&json!(42_905_000_000_u64), &json!(2009))
    );
    assert!(
        report["derivations"]["fiscal_year"]
            .as_str()
            .unwrap()
            .contains("`fy` in the source is the fiscal year of the report"),
        "{report:#}"
    );

    let geography = matched("geo.geography:42223");
    assert!(text_of(&geography, "census.gazetteer_zcta").starts_with("42223|860Z200US42223|"));
    let parts = texts(&geography)
        .into_iter()
        .filter(|(id, text)| id == "census.zcta_county" && text.contains("|42223|"))
        .count();
    assert_eq!(
        parts,
        geography.json()["record"]["county_count"].as_u64().unwrap() as usize,
        "every part of the ZCTA"
    );

    let surtax = matched("tax.taxability:FL:general:local:undated");
    assert!(text_of(&surtax, "tax.taxability_rule").starts_with(
        "FL,general,local,yes,,general_rate,5000.00,taxed_to_per_item,Fla. Stat. § 212.054(2)(b)1."
    ));

    let connecticut = matched("geo.geography:06010");
    assert_eq!(
        text_of(&connecticut, "census.ct_planning_region"),
        "06010,09140,Naugatuck Valley Planning Region,yes,Bristol"
    );

    let county = matched("geo.county:06037");
    assert_eq!(
        text_of(&county, "census.gazetteer_county"),
        "CA|06037|0500000US06037|00277283|Los Angeles County|10516101987|1784889482|4060.29|689.15|34.196398|-118.261862"
    );

    for record_id in [
        "geo.county_metric:2022:06037:median_household_income",
        "geo.zcta_metric:2023:95120:median_household_income",
        "geo.zcta_metric:2023:85724:poverty_rate",
        "geo.school:069037000005",
        // Each one is built from all lists of its pipeline; alone it needs the rows that it refers
        // to.
        "tax.rate:PA:state:42:2013-01-01",
        "tax.rate:PA:county:003:2013-01-01",
        "tax.rate:CA:state:06:2017-01-01",
        "tax.rate:CA:district:LOS-ANGELES:2022-04-01",
        "tax.boundary:PA:place~2013-01-01~42003~003",
        "tax.rate:FL:county:095:2026-01-01",
        "tax.rate:VA:district:central-virginia:2020-10-01",
        "tax.boundary:NY:place~2009-08-01~36103~103~~district=mctd",
        "tax.state:FL",
        "tax.taxability:FL:grocery:state:undated",
    ] {
        matched(record_id);
    }
}

#[test]
fn internal_table_is_not_shown_as_a_publishers_file() {
    let text = Place::published()
        .pubdata(&["trace", "tax.taxability:FL:general:local:undated"])
        .expect(0)
        .stdout;
    assert!(text.contains("bundled:tax/taxability.csv (compiled by pubdata from the cited sources, part of the program)"), "{text}");
}

#[test]
fn every_record_of_the_release_is_rebuilt_identically() {
    let place = Place::published();
    // One of each fifty, over all datasets: each one starts the program.
    for dataset_id in [
        "geo.zcta_metric",
        "geo.county_metric",
        "geo.geography",
        "geo.county",
        "geo.school",
    ] {
        let step = if dataset_id.ends_with("metric") {
            173
        } else {
            17
        };
        for record_id in place.rows(dataset_id).keys().step_by(step) {
            place.trace(record_id).expect(0);
        }
    }
}

#[test]
fn flipped_byte_inside_the_record_is_found_with_the_difference() {
    let place = Place::published();
    let snapshot = place.snapshot(POPULATION_FILE);
    overwrite(
        &snapshot,
        "860Z200US90210|19652|1335",
        "860Z200US90210|19653|1335",
    );
    let answer = place.trace(POPULATION).expect(1);
    let report = answer.json();
    assert_eq!(report["is_match"], false);
    assert_eq!(
        text_of(&answer, "census.acs5_table"),
        "860Z200US90210|19653|1335",
        "the bytes that are present now"
    );
    let differences = differences(&answer);
    assert!(
        differences.contains(snapshot.to_str().unwrap()) && differences.contains("SHA-256"),
        "{differences}"
    );
    assert!(
        differences.contains("value: published 19652, the bytes say 19653"),
        "{differences}"
    );
    let text = place.pubdata(&["trace", POPULATION]).expect(1);
    assert!(
        text.stdout.contains("mismatch") && text.stdout.contains(snapshot.to_str().unwrap()),
        "{}",
        text.stdout
    );
}

#[test]
fn flipped_byte_elsewhere_in_the_snapshot_is_found() {
    let place = Place::published();
    let snapshot = place.snapshot(POPULATION_FILE);
    overwrite(&snapshot, "860Z200US00601|", "860Z200US00609|");
    let answer = place.trace(POPULATION).expect(1);
    let differences = differences(&answer);
    assert!(
        differences.contains(snapshot.to_str().unwrap()) && differences.contains("SHA-256"),
        "{differences}"
    );
    assert!(
        !differences.contains("value:"),
        "the record itself is still the same: {differences}"
    );
}

#[test]
fn damaged_snapshot_does_not_affect_records_of_other_snapshots() {
    let place = Place::published();
    overwrite(
        &place.snapshot(POPULATION_FILE),
        "860Z200US90210|19652|1335",
        "860Z200US90210|19653|1335",
    );
    place
        .trace("geo.zcta_metric:2023:90210:median_household_income")
        .expect(0);
    place
        .trace("geo.zcta_metric:2022:90210:population")
        .expect(0);
}

#[test]
fn part_that_differs_from_the_manifest_is_a_mismatch_that_names_it() {
    let place = Place::published();
    let path = place.part("geo.zcta_metric/2023.parquet");
    let mut bytes = std::fs::read(&path).unwrap();
    // The first bytes belong to no record: the record is found as before.
    bytes[0] ^= 1;
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, bytes).unwrap();
    let answer = place.trace(POPULATION).expect(1);
    assert_eq!(answer.json()["replay"], "mismatch");
    assert!(
        differences(&answer).starts_with("part geo.zcta_metric/2023.parquet has the SHA-256 "),
        "{answer:#?}"
    );
}

#[test]
fn damaged_archive_is_a_mismatch_that_names_it() {
    let place = Place::published();
    let snapshot = place.snapshot("EDGE_GEOCODE_PUBLICSCH_2425.zip");
    let mut bytes = std::fs::read(&snapshot).unwrap();
    bytes[200] ^= 0xFF;
    std::fs::remove_file(&snapshot).unwrap();
    std::fs::write(&snapshot, bytes).unwrap();
    let answer = place.trace("geo.school:010000500870").expect(1);
    assert!(
        differences(&answer).contains(snapshot.to_str().unwrap()),
        "{answer:#?}"
    );
}

#[test]
fn missing_snapshot_makes_the_replay_impossible_and_is_named() {
    let place = Place::published();
    let snapshot = place.snapshot(POPULATION_FILE);
    std::fs::remove_file(&snapshot).unwrap();
    let answer = place.trace(POPULATION).expect(2);
    let report = answer.json();
    assert_eq!(
        (
            &report["replay"],
            &report["is_match"],
            &report["differences"]
        ),
        (&json!("not_possible"), &json!(false), &json!([])),
        "{report:#}"
    );
    assert!(
        report["not_possible"]
            .as_str()
            .unwrap()
            .starts_with(&format!(
                "snapshot {} is gone (fetched from ",
                snapshot.display()
            )),
        "{report:#}"
    );
    assert_eq!(report["sources"][0]["text"], Value::Null);
    let text = place.pubdata(&["trace", POPULATION]).expect(2).stdout;
    assert!(text.contains("replay    not possible: snapshot "), "{text}");
    // The same holds for a record of the same build that needs other snapshots, but not for records
    // of other builds.
    place
        .trace("geo.zcta_metric:2023:90210:median_household_income")
        .expect(2);
    place
        .trace("geo.zcta_metric:2022:90210:population")
        .expect(0);
}

#[test]
fn unknown_record_is_refused_with_a_hint() {
    let place = Place::published();
    for (record_id, says) in [
        (
            "geo.zcta_metric:2023:00000:population",
            "has no record `geo.zcta_metric:2023:00000:population`",
        ),
        (
            "geo.zcta:90210",
            "has no dataset `geo.zcta`; it has business.entity",
        ),
        ("90210", "is not a record id"),
    ] {
        let answer = place.trace(record_id).expect(40);
        let error: Value = serde_json::from_str(answer.stderr.lines().last().unwrap()).unwrap();
        assert!(error["error"].as_str().unwrap().contains(says), "{error}");
        assert!(error["hint"].is_string() || record_id == "90210", "{error}");
    }
    let answer = Place::new().trace(POPULATION).expect(40);
    assert!(answer.stderr.contains("pubdata run"), "{answer:#?}");
}

#[test]
fn quarantined_record_leads_to_its_bytes_and_is_rebuilt_identically() {
    let place = Place::published();
    place.edit(POPULATION_FILE, |text| {
        text.replace("860Z200US90210|19652|1335", "860Z200US90210|19652|1335|7|")
    });
    place.run(&[]).expect(10);
    let mut quarantine = place.rows("pubdata.quarantine");
    quarantine.retain(|_, (record, _)| record["dataset_id"].as_str().unwrap().starts_with("geo."));
    assert_eq!(
        quarantine.len(),
        2,
        "the line, and the area that is missing with it: {quarantine:#?}"
    );
    for (record_id, (record, _)) in &quarantine {
        let answer = place.trace(record_id).expect(0);
        assert_eq!(answer.json()["record"]["reason"], record["reason"]);
        if record["rule"] == "malformed_record" {
            assert_eq!(
                text_of(&answer, "census.acs5_table"),
                "860Z200US90210|19652|1335|7|"
            );
        }
    }
}

#[test]
fn later_declaration_change_does_not_affect_an_earlier_release() {
    let place = Place::published();
    let declarations = place.root().join("declarations");
    pubdata_testing::copy_folder(
        &pubdata_testing::project("pipelines"),
        &declarations.join("pipelines"),
    );
    pubdata_testing::copy_folder(
        &pubdata_testing::project("schemas"),
        &declarations.join("schemas"),
    );
    let path = declarations.join("pipelines/census/acs5.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replace(
            "high_phrase = \"250,000 or more\"",
            "high_phrase = \"250,000 and above\"",
        ),
    )
    .unwrap();
    let record_id = "geo.zcta_metric:2023:95120:median_household_income";
    let answer = place
        .pubdata(&[
            "trace",
            record_id,
            "--json",
            "--declarations",
            declarations.to_str().unwrap(),
        ])
        .expect(0);
    // The Bureau writes 250001 for a median of 250,000 or more.
    let note = "the number in the bytes is the publisher's code for an open-ended interval, not a figure: the median is at least 250000";
    assert_eq!(
        (
            &answer.json()["notes"],
            &answer.json()["record"]["qualifier"]
        ),
        (
            &json!([note]),
            &place.rows("geo.zcta_metric")[record_id].0["qualifier"]
        )
    );

    // A release without its own declarations cannot be judged by another declaration.
    let path = place.part("manifest.json");
    let mut manifest = place.manifest();
    manifest
        .as_object_mut()
        .unwrap()
        .remove("declarations")
        .unwrap();
    std::fs::write(&path, manifest.to_string()).unwrap();
    let answer = place
        .pubdata(&[
            "trace",
            record_id,
            "--json",
            "--declarations",
            declarations.to_str().unwrap(),
        ])
        .expect(2);
    let report = answer.json();
    assert_eq!(
        (&report["replay"], &report["not_possible"]),
        (
            &json!("not_possible"),
            &json!("the declaration of census.acs5 changed since")
        ),
        "{report:#}"
    );
    assert!(differences(&answer).contains("qualifier"), "{report:#}");
    place.trace(record_id).expect(0);
}

#[test]
fn older_release_is_traced_by_its_id() {
    let place = Place::published();
    let first = place.current();
    place.edit(POPULATION_FILE, |text| {
        text.replace("860Z200US90210|19652|1335", "860Z200US90210|19653|1335")
    });
    place.run(&[]).expect(0);
    let old = place
        .pubdata(&["trace", POPULATION, "--json", "--release", &first])
        .expect(0);
    assert_eq!(old.json()["record"]["value"], 19652);
    assert_eq!(
        text_of(&old, "census.acs5_table"),
        "860Z200US90210|19652|1335"
    );
    assert_eq!(
        place.trace(POPULATION).expect(0).json()["record"]["value"],
        19653
    );
}
