//! Changes source files in damaging ways: each file is refused with a message that names the place
//! and a hint, and the last good rows stay.

use std::os::unix::process::ExitStatusExt;

use pubdata_build::publish::fault::VARIABLE;
use serde_json::{Value, json};

use super::{ACS_2023, GEOGRAPHY};
use pubdata_testing::publisher::{archive, bomb};
use pubdata_testing::{Answer, Place, only_member};

const INCOME: &str = "acsdt5y2023-b19013.dat";
const POPULATION: &str = "acsdt5y2023-b01003.dat";
const DIRECTORY: &str = "ccd_sch_029_2526_w_0a_050626.zip";
const EDGE: &str = "EDGE_GEOCODE_PUBLICSCH_2425.zip";
const RELATIONSHIP: &str = "tab20_zcta520_county20_natl.txt";
const SCHOOLS: &str = "nces.ccd_directory";
const GAZETTEER: &str = "census.gazetteer";

/// Publishes, damages the mirror and runs again. Expects the exit code and texts in the reason, and
/// that every earlier part is still current.
#[track_caller]
fn refused(damage: impl FnOnce(&Place), code: i32, task_id: &str, says: &[&str]) {
    refused_by(damage, code, &[task_id], says);
}

/// Like [`refused`], for a file that several tasks read.
#[track_caller]
fn refused_by(damage: impl FnOnce(&Place), code: i32, task_ids: &[&str], says: &[&str]) {
    let place = Place::published_with(GEOGRAPHY);
    let before = place.manifest();
    damage(&place);
    let answer = place.run(&[]).expect(code);
    task_ids
        .iter()
        .for_each(|task_id| assert_says(&answer, task_id, says));
    let after = place.manifest();
    assert_eq!(
        after["datasets"], before["datasets"],
        "the earlier rows are still current"
    );
    assert_eq!(
        place.stale_tasks().into_keys().collect::<Vec<_>>(),
        task_ids,
        "the other tasks are untouched"
    );
}

#[track_caller]
fn assert_says(answer: &Answer, task_id: &str, says: &[&str]) {
    let reasons = answer.reasons(task_id);
    for text in says {
        assert!(reasons.contains(text), "`{text}` is not in: {reasons}");
    }
}

/// Returns the first half of a text, cut within a line.
fn half(text: &str) -> String {
    text[..text.len() / 2].to_owned()
}

fn header_only(text: &str) -> String {
    text.lines().next().unwrap().to_owned() + "\n"
}

/// Removes every third line after the header.
fn thirty_percent_shorter(text: &str) -> String {
    text.lines()
        .enumerate()
        .filter(|(line, _)| *line == 0 || line % 3 != 0)
        .map(|(_, text)| format!("{text}\n"))
        .collect()
}

/// Changes one cell of a school's line.
pub(super) fn with_cell(text: &str, school: &str, column: &str, cell: &str) -> String {
    let place = text
        .lines()
        .next()
        .unwrap()
        .split(',')
        .position(|name| name == column)
        .unwrap();
    let change = |line: &str| {
        let mut cells: Vec<&str> = line.split(',').collect();
        if cells.get(11) == Some(&school) {
            cells[place] = cell;
        }
        cells.join(",") + "\n"
    };
    text.lines().map(change).collect()
}

/// Returns the quarantined records of the geographic family; the fixtures of other families have
/// some as well.
fn geo_quarantine(place: &Place) -> std::collections::BTreeMap<String, pubdata_store::Record> {
    let mut rows = place.rows("pubdata.quarantine");
    rows.retain(|_, (record, _)| record["dataset_id"].as_str().unwrap().starts_with("geo."));
    rows
}

#[test]
fn renamed_column_blocks_the_task() {
    let damage =
        |place: &Place| place.edit(INCOME, |text| text.replace("B19013_E001", "B19013_1E"));
    refused(
        damage,
        20,
        ACS_2023,
        &[
            INCOME,
            "`B19013_E001` is missing",
            "neither mapped nor ignored: `B19013_1E`",
            "with the declaration",
        ],
    );
}

#[test]
fn unknown_school_status_blocks_the_task() {
    let damage = |place: &Place| {
        place.edit_member(DIRECTORY, |text| {
            with_cell(&text, "069037000001", "SY_STATUS", "9")
        });
    };
    refused(
        damage,
        20,
        SCHOOLS,
        &[
            "geo.school:069037000001",
            "status is `9`",
            "the settings of pipelines/nces/ccd_directory.toml",
        ],
    );
}

#[test]
fn unknown_school_level_is_null_with_a_warning_and_its_text() {
    let place = Place::published_with(GEOGRAPHY);
    place.edit_member(DIRECTORY, |text| {
        with_cell(&text, "069037000001", "LEVEL", "Junior High")
    });
    place.run(&[]).expect(0);
    let (school, _) = &place.rows("geo.school")["geo.school:069037000001"];
    assert_eq!(school["level"], Value::Null);
    assert_eq!(
        (&school["unknown_values"], &school["warnings"]),
        (&json!(["level=Junior High"]), &json!(["unknown_value"]))
    );
    assert_eq!(school["validation_status"], "passed_with_warnings");
}

#[test]
fn unknown_special_value_is_null_with_a_warning_and_its_text() {
    let place = Place::published_with(GEOGRAPHY);
    place.edit(INCOME, |text| {
        text.replace(
            "860Z200US95120|250001|-333333333",
            "860Z200US95120|-777777777|-222222222",
        )
    });
    place.run(&[]).expect(0);
    let (metric, pointers) =
        &place.rows("geo.zcta_metric")["geo.zcta_metric:2023:95120:median_household_income"];
    assert_eq!(
        (&metric["value"], &metric["moe"], &metric["qualifier"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!(
        (&metric["null_reason"], &metric["moe_status"]),
        (&json!("unknown_special_value"), &json!("not_published"))
    );
    assert_eq!(
        metric["unknown_values"],
        json!(["B19013_E001=-777777777", "B19013_M001=-222222222"])
    );
    assert_eq!(
        (&metric["warnings"], &metric["validation_status"]),
        (
            &json!(["unknown_special_value"]),
            &json!("passed_with_warnings")
        )
    );
    assert!(
        pointers
            .iter()
            .any(|pointer| pointer.source_id == "census.acs5_table")
    );
}

#[test]
fn negative_margin_that_is_not_a_special_value_is_quarantined() {
    let place = Place::published_with(GEOGRAPHY);
    place.edit(POPULATION, |text| {
        text.replace("860Z200US90210|19652|1335", "860Z200US90210|19652|-1335")
    });
    place.run(&[]).expect(10);
    let quarantine = geo_quarantine(&place);
    let (record, pointers) = quarantine.values().next().unwrap();
    assert_eq!(quarantine.len(), 1);
    assert!(
        record["record_id"]
            .as_str()
            .unwrap()
            .contains("geo.zcta_metric:2023:90210:population")
    );
    assert!(
        record["reason"].as_str().unwrap().contains("-1335"),
        "{record:?}"
    );
    assert_eq!(pointers.len(), 1);
    assert!(
        !place
            .rows("geo.zcta_metric")
            .contains_key("geo.zcta_metric:2023:90210:population")
    );
}

#[test]
fn table_cut_to_half_is_refused() {
    refused(
        |place| place.edit(POPULATION, |text| half(&text)),
        20,
        ACS_2023,
        &[POPULATION, "% fewer", "Look at the file"],
    );
}

#[test]
fn table_cut_to_half_on_the_first_run_is_refused() {
    let place = Place::with(GEOGRAPHY);
    place.edit(POPULATION, |text| half(&text));
    let answer = place.run(&[]).expect(20);
    assert_says(
        &answer,
        ACS_2023,
        &[
            "missing_area",
            "B01003 has no row for",
            "max_quarantined_percent",
        ],
    );
    assert!(
        !place.part("geo.zcta_metric/2023.parquet").exists(),
        "no part of it is published"
    );
}

#[test]
fn relationship_file_cut_to_half_is_refused() {
    refused_by(
        |place| place.edit(RELATIONSHIP, |text| half(&text)),
        20,
        &[GAZETTEER, "zip.zip"],
        &[RELATIONSHIP, "% fewer"],
    );
    let place = Place::with(GEOGRAPHY);
    place.edit(RELATIONSHIP, |text| half(&text));
    assert_says(
        &place.run(&[]).expect(20),
        GAZETTEER,
        &["no_county_relationship", "max_quarantined_percent"],
    );
}

#[test]
fn geocode_archive_cut_to_half_is_refused() {
    let damage = |place: &Place| {
        let bytes = std::fs::read(place.file(EDGE)).unwrap();
        std::fs::write(place.file(EDGE), &bytes[..bytes.len() / 2]).unwrap();
    };
    refused(
        damage,
        30,
        SCHOOLS,
        &[EDGE, "cut short", "the last good snapshot stays in use"],
    );
}

#[test]
fn geocode_file_with_half_of_its_lines_is_refused() {
    let damage = |place: &Place| place.edit_member(EDGE, |text| half(&text));
    refused(damage, 20, SCHOOLS, &[EDGE, "% fewer"]);
    let place = Place::with(GEOGRAPHY);
    damage(&place);
    assert_says(
        &place.run(&[]).expect(20),
        SCHOOLS,
        &["too_few_geocodes", "open schools have a geocode"],
    );
}

#[test]
fn file_thirty_percent_shorter_than_last_time_is_refused() {
    let damage = |place: &Place| {
        place.edit("acsdt5y2023-b11001.dat", |text| {
            thirty_percent_shorter(&text)
        });
    };
    refused(damage, 20, ACS_2023, &["acsdt5y2023-b11001.dat", "% fewer"]);
    let damage = |place: &Place| {
        place.edit_member("2025_Gaz_zcta_national.zip", |text| {
            thirty_percent_shorter(&text)
        });
    };
    refused(
        damage,
        20,
        GAZETTEER,
        &["2025_Gaz_zcta_national.zip", "% fewer"],
    );
}

#[test]
fn web_page_in_place_of_a_file_is_refused() {
    let page = "<!DOCTYPE html>\n<html><body>We will be back.</body></html>\n";
    let damage = |place: &Place| place.edit(INCOME, |_| page.to_owned());
    refused(
        damage,
        30,
        ACS_2023,
        &[INCOME, "web page", "open the URL in a browser"],
    );
    let damage = |place: &Place| std::fs::write(place.file(EDGE), page).unwrap();
    refused(damage, 30, SCHOOLS, &[EDGE, "web page"]);
}

#[test]
fn file_with_only_a_header_is_refused() {
    refused(
        |place| place.edit(INCOME, |text| header_only(&text)),
        20,
        ACS_2023,
        &[INCOME, "% fewer"],
    );
}

#[test]
fn file_with_only_a_header_on_the_first_run_is_refused() {
    let place = Place::with(GEOGRAPHY);
    place.edit(INCOME, |text| header_only(&text));
    place.edit_member(DIRECTORY, |text| header_only(&text));
    place.edit_member("2025_Gaz_counties_national.zip", |text| header_only(&text));
    let answer = place.run(&[]).expect(20);
    assert_says(&answer, ACS_2023, &["B19013 has no row for"]);
    assert_says(&answer, SCHOOLS, &["geo.school", "no rows"]);
    assert_says(&answer, GAZETTEER, &["geo.county", "no rows"]);
}

#[test]
fn archive_with_a_wrong_checksum_blocks() {
    let damage = |place: &Place| {
        let mut bytes = std::fs::read(place.file(EDGE)).unwrap();
        let directory = memchr::memmem::rfind(&bytes, b"PK\x01\x02").unwrap();
        bytes[14] ^= 0xFF;
        bytes[directory + 16] ^= 0xFF;
        std::fs::write(place.file(EDGE), bytes).unwrap();
    };
    refused(
        damage,
        20,
        SCHOOLS,
        &[EDGE, "EDGE_GEOCODE_PUBLICSCH_2425.TXT", "checksum"],
    );
}

#[test]
fn archive_with_two_matching_members_blocks() {
    let damage = |place: &Place| {
        let (name, text) = only_member(&place.file(EDGE));
        std::fs::write(
            place.file(EDGE),
            archive(&[
                (&name, text.as_bytes()),
                ("other/COPY.txt", text.as_bytes()),
            ]),
        )
        .unwrap();
    };
    refused(
        damage,
        20,
        SCHOOLS,
        &[
            EDGE,
            "2 members match",
            "EDGE_GEOCODE_PUBLICSCH_2425.TXT",
            "other/COPY.txt",
        ],
    );
}

#[test]
fn oversized_archive_member_is_refused() {
    let damage = |place: &Place| {
        std::fs::write(
            place.file(EDGE),
            bomb("EDGE_GEOCODE_PUBLICSCH_2425.TXT", 20 << 20),
        )
        .unwrap();
    };
    refused(
        damage,
        20,
        SCHOOLS,
        &[
            EDGE,
            "EDGE_GEOCODE_PUBLICSCH_2425.TXT",
            "times when decompressed",
        ],
    );
}

#[test]
fn repeated_identical_line_counts_once() {
    let place = Place::published_with(GEOGRAPHY);
    let before = place.rows("geo.zcta_metric").len();
    place.edit(POPULATION, |text| {
        format!("{text}860Z200US90210|19652|1335\n")
    });
    let answer = place.run(&[]).expect(0);
    assert_eq!(
        answer.task(ACS_2023)["source_rows"]["census.acs5_table"]["left_out"],
        json!({ "repeated": 1 })
    );
    assert_eq!(place.rows("geo.zcta_metric").len(), before);
    assert_eq!(
        place.rows("geo.zcta_metric")["geo.zcta_metric:2023:90210:population"].0["value"],
        json!(19652)
    );
}

#[test]
fn two_contradictory_lines_block_the_task() {
    let damage = |place: &Place| {
        place.edit(POPULATION, |text| {
            format!("{text}860Z200US90210|19653|1335\n")
        });
    };
    refused(damage, 20, ACS_2023, &["90210", "B01003"]);
}

#[test]
fn area_missing_from_one_table_is_quarantined_with_its_reason() {
    let place = Place::published_with(GEOGRAPHY);
    place.edit(INCOME, |text| {
        text.lines()
            .filter(|line| !line.contains("US90210|"))
            .map(|line| format!("{line}\n"))
            .collect()
    });
    let answer = place.run(&[]).expect(10);
    let income = "geo.zcta_metric:2023:90210:median_household_income";
    assert_eq!(
        answer.task(ACS_2023)["quarantined"],
        json!({ "geo.zcta_metric": { "missing_area": 1 } })
    );
    assert!(!place.rows("geo.zcta_metric").contains_key(income));
    let quarantine = geo_quarantine(&place);
    let (record, _) = quarantine.values().next().unwrap();
    assert_eq!(
        (quarantine.len(), &record["rule"], &record["partition"]),
        (1, &json!("missing_area"), &json!("vintage_year=2023"))
    );
    assert!(record["record_id"].as_str().unwrap().contains(income));
    assert!(
        record["reason"]
            .as_str()
            .unwrap()
            .contains("B19013 has no row for 90210"),
        "{record:?}"
    );
}

#[test]
fn unreadable_line_is_quarantined_with_reason_text_and_pointer() {
    let place = Place::published_with(GEOGRAPHY);
    let schools = place.rows("geo.school").len();
    let (_, before) = only_member(&place.file(DIRECTORY));
    let line = before
        .lines()
        .find(|line| line.contains(",069037000026,"))
        .unwrap()
        .to_owned();
    let damaged = line.replacen("2025-2026,", "2025-2026,,", 1);
    place.edit_member(DIRECTORY, |text| text.replace(&line, &damaged));
    // One of 60 exceeds the share that the declaration allows for the whole directory.
    let answer = place.run(&[]).expect(20);
    assert_says(
        &answer,
        SCHOOLS,
        &[
            "1 of 60 records break rules",
            "malformed_record 1",
            "max_quarantined_percent",
            "66 cells, the header has 65",
        ],
    );

    let declarations = place.root().join("declarations");
    pubdata_testing::copy_folder(
        &pubdata_testing::project("pipelines"),
        &declarations.join("pipelines"),
    );
    pubdata_testing::copy_folder(
        &pubdata_testing::project("schemas"),
        &declarations.join("schemas"),
    );
    let path = declarations.join("pipelines/nces/ccd_directory.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replace(
            "max_quarantined_percent = 1.0",
            "max_quarantined_percent = 5.0",
        ),
    )
    .unwrap();
    let answer = place
        .run(&["--declarations", declarations.to_str().unwrap()])
        .expect(10);
    assert_eq!(
        answer.task(SCHOOLS)["quarantined"],
        json!({ "geo.school": { "malformed_record": 1 } })
    );
    assert_eq!(
        answer.task(SCHOOLS)["rows"],
        json!({ "geo.school": schools - 1 })
    );
    let manifest = place.manifest();
    assert_eq!(
        manifest["datasets"]["geo.school"]["parts"][0]["report"]["quarantined"],
        json!({ "malformed_record": 1 })
    );

    let quarantine = geo_quarantine(&place);
    let (record, pointers) = quarantine.values().next().unwrap();
    assert_eq!(quarantine.len(), 1);
    assert_eq!(record["rule"], "malformed_record");
    assert_eq!(
        record["reason"],
        "the record has 66 cells, the header has 65"
    );
    assert_eq!(record["source_text"], damaged);
    assert_eq!(
        (
            record["dataset_id"].as_str(),
            record["validation_status"].as_str()
        ),
        (Some("geo.school"), Some("failed"))
    );
    let (_, text) = only_member(&place.file(DIRECTORY));
    let (offset, length) = (
        usize::try_from(pointers[0].offset).unwrap(),
        usize::try_from(pointers[0].length).unwrap(),
    );
    assert_eq!(&text[offset..offset + length], damaged);
    assert_eq!(
        pointers[0].member.as_deref(),
        Some("ccd_sch_029_2526_w_0a_050626.csv")
    );

    let status = place.pubdata(&["status", "--verbose"]).expect(0);
    assert!(
        status
            .stdout
            .lines()
            .any(|line| line.starts_with("geo.school")
                && line.contains(" 59 ")
                && line.contains(" 1 ")),
        "{}",
        status.stdout
    );
}

#[test]
fn malformed_line_counts_in_the_dataset_of_its_level() {
    let place = Place::published_with(GEOGRAPHY);
    place.edit(POPULATION, |text| {
        text.replace("860Z200US90210|19652|1335", "860Z200US90210|19652|1335|7|")
    });
    let answer = place.run(&[]).expect(10);
    assert_eq!(
        answer.task(ACS_2023)["quarantined"],
        json!({ "geo.zcta_metric": { "malformed_record": 1, "missing_area": 1 } })
    );
}

#[test]
fn blocked_outranks_missing_and_missing_outranks_quarantined() {
    let place = Place::with(GEOGRAPHY);
    place.edit(INCOME, |text| {
        text.lines()
            .filter(|line| !line.contains("US90210|"))
            .map(|line| format!("{line}\n"))
            .collect()
    });
    place.run(&[]).expect(10);
    std::fs::remove_file(place.file(RELATIONSHIP)).unwrap();
    place.edit(POPULATION, |text| {
        text.replace("US90210|19652|", "US90210|19653|")
    });
    place.run(&[]).expect(30);
    place.edit(POPULATION, |text| {
        text.replace("US90210|19653|", "US90210|19654|")
    });
    place.edit_member(DIRECTORY, |text| {
        with_cell(&text, "069037000001", "SY_STATUS", "9")
    });
    place.run(&[]).expect(20);
}

#[test]
fn accepted_loss_lifts_only_the_comparison_with_the_last_release() {
    let place = Place::published_with(GEOGRAPHY);
    // All remaining schools have a geocode.
    let geocoded = only_member(&place.file(EDGE)).1;
    let keep = |line: &&str| {
        !line.contains("069037")
            && (line.starts_with("SCHOOL_YEAR")
                || geocoded.contains(line.split(',').nth(11).unwrap()))
    };
    place.edit_member(DIRECTORY, |text| {
        text.lines()
            .filter(keep)
            .map(|line| format!("{line}\n"))
            .collect()
    });
    let kept = only_member(&place.file(DIRECTORY)).1.lines().count() - 1;
    assert!(kept < 42, "more than thirty percent are gone");
    assert_says(&place.run(&[]).expect(20), SCHOOLS, &[DIRECTORY]);
    assert_says(
        &place.run(&["--accept", "nces.ccd_directory"]).expect(20),
        SCHOOLS,
        &["rows against 60 in the last release"],
    );
    let accepted = ["--accept", "nces.ccd_directory", "--accept", "geo.school"];
    let good = only_member(&place.file(DIRECTORY)).1;
    place.edit_member(DIRECTORY, |text| {
        with_cell(&text, "010000500870", "SY_STATUS", "9")
    });
    assert_says(
        &place.run(&accepted).expect(20),
        SCHOOLS,
        &["unknown_category"],
    );
    place.edit_member(DIRECTORY, |_| good);
    place.run(&accepted).expect(0);
    assert_eq!(place.rows("geo.school").len(), kept);
    place.run(&[]).expect(0);
}

#[test]
fn growth_since_the_last_release_is_reported_but_not_published() {
    let place = Place::with(GEOGRAPHY);
    let whole = only_member(&place.file(DIRECTORY)).1;
    let geocoded = only_member(&place.file(EDGE)).1;
    let keep = |line: &&str| {
        !line.contains("069037")
            && (line.starts_with("SCHOOL_YEAR")
                || geocoded.contains(line.split(',').nth(11).unwrap()))
    };
    place.edit_member(DIRECTORY, |text| {
        text.lines()
            .filter(keep)
            .map(|line| format!("{line}\n"))
            .collect()
    });
    let run = || place.run(&["nces", "--accept", "nces.ccd_directory"]);
    let fewer = run().task(SCHOOLS)["rows"]["geo.school"].as_u64().unwrap();
    place.edit_member(DIRECTORY, |_| whole);
    // The run is killed once: what was staged by then reports the growth as well.
    let killed = place
        .run_command(&["nces", "--accept", "nces.ccd_directory"])
        .env(VARIABLE, "commit.begun")
        .output()
        .unwrap();
    assert_eq!(killed.status.signal(), Some(6));
    let grown = run();
    assert_eq!(grown.task(SCHOOLS)["outcome"], "resumed");
    assert_eq!(
        grown.task(SCHOOLS)["notes"].as_array().unwrap().len(),
        1,
        "{grown:#?}"
    );
    let note = grown.task(SCHOOLS)["notes"][0].as_str().unwrap().to_owned();
    assert!(
        note.starts_with(&format!(
            "geo.school: 60 rows against {fewer} in the last release"
        )),
        "{note}"
    );
    let rebuilt = place
        .pubdata(&["verify", "--rebuild", "--json"])
        .expect(0)
        .json();
    assert_eq!(rebuilt["rebuilt"]["replay"], "match", "{rebuilt:#}");
    std::fs::remove_dir_all(place.home()).unwrap();
    assert_eq!(run().release_id(), grown.release_id());
}
