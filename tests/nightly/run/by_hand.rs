//! Checks manually imported files after their import: withdrawal, new dates, blame and reports.

use serde_json::Value;

use pubdata_testing::desk::{Desk, SOURCE, URL};
use pubdata_testing::{Answer, answer};

/// Imports other bytes than the publisher's, without a change to the downloaded file.
fn import_text(desk: &Desk, text: &str, arguments: &[&str]) -> Answer {
    let file = desk.place.root().join("other.csv");
    std::fs::write(&file, text).unwrap();
    desk.pubdata(
        &[
            &["import", SOURCE, &file.display().to_string(), "--json"],
            arguments,
        ]
        .concat(),
    )
}

fn withdraw(desk: &Desk) -> Answer {
    desk.pubdata(&["import", SOURCE, "--withdraw", "--json"])
}

fn ledger(desk: &Desk) -> Vec<Value> {
    let text = std::fs::read_to_string(desk.place.home().join("ledger.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn withdrawn_file_stops_counting_and_the_one_before_counts_again() {
    let desk = Desk::by_hand();
    let wrong = std::fs::read_to_string(desk.downloaded()).unwrap();
    let right: String = wrong.split_inclusive('\n').take(2).collect();
    let first = import_text(&desk, &right, &["--date", "2026-11-13"])
        .expect(0)
        .json()["snapshot"]
        .clone();
    desk.run().expect(10);
    desk.pubdata(&["accept", SOURCE]).expect(0);
    let second = import_text(&desk, &wrong, &["--date", "2026-11-20"])
        .expect(0)
        .json()["snapshot"]
        .clone();
    let published = desk.run().expect(0).release_id();
    assert_eq!(desk.input()["sha256"], second["sha256"]);

    let withdrawn = withdraw(&desk).expect(0).json();
    assert_eq!(
        (
            &withdrawn["format"],
            &withdrawn["snapshot"],
            &withdrawn["instead"]
        ),
        (&"pubdata.withdrawal".into(), &second, &first)
    );
    assert_eq!(withdrawn["is_published"], true);
    // Fewer bytes and rows than the wrong file of the last release: this is not a loss.
    desk.run().expect(0);
    assert_eq!(
        (&desk.input()["sha256"], &desk.input()["source_date"]),
        (&first["sha256"], &"2026-11-13".into())
    );
    // The published records stay traceable, and the import's record stays.
    let kept = pubdata_testing::files_below(&desk.place.home().join("snapshots").join(SOURCE));
    assert!(
        kept.iter().any(|file| file
            .to_string_lossy()
            .contains(second["sha256"].as_str().unwrap())),
        "{kept:?}"
    );
    let entry = ledger(&desk)
        .into_iter()
        .find(|entry| entry["outcome"] == "withdrawn")
        .unwrap();
    assert_eq!(
        (
            &entry["import"]["by"],
            &entry["import"]["url"],
            &entry["import"]["sha256"]
        ),
        (&"ada".into(), &URL.into(), &second["sha256"])
    );
    assert!(
        entry["note"]
            .as_str()
            .unwrap()
            .starts_with(&format!("ada withdrew {SOURCE} as {URL} (sha256 ")),
        "{entry}"
    );
    assert_ne!(desk.place.current(), published);

    let said = desk
        .pubdata(&["import", SOURCE, "--withdraw"])
        .expect(0)
        .stdout;
    assert!(
        said.contains(&format!(
            "`pubdata releases rollback --to {published}` goes back to the newest without it"
        )),
        "{said}"
    );
    import_text(&desk, &right, &["--date", "2026-11-13"]).expect(0);

    // Without an earlier file, the source is missing, and the reasons name the file that the last
    // build was made from.
    assert_eq!(withdraw(&desk).expect(0).json()["instead"], Value::Null);
    let reasons = desk.run().expect(30).reasons(SOURCE);
    assert!(
        reasons.contains("download")
            && reasons.contains(&format!(
                "the build that stays was made from {URL}, which ada withdrew on 20"
            )),
        "{reasons}"
    );
    let nothing = withdraw(&desk).expect(40);
    assert!(
        nothing.stderr.contains("there is nothing to withdraw"),
        "{}",
        nothing.stderr
    );
    // Imported again, the file counts again.
    import_text(&desk, &right, &["--date", "2026-11-13"]).expect(0);
    assert_eq!(desk.run().expect(0).task(SOURCE)["outcome"], "fresh");
}

#[test]
fn named_file_of_several_imported_ones_is_withdrawn() {
    let desk = Desk::by_hand();
    let file = desk.place.root().join("downloaded.csv");
    std::fs::write(&file, "27,45,00000,0.06875\n".repeat(100_000)).unwrap();
    let import = |table: &str| {
        let keys = ["--key", "vintage=2023", "--key", &format!("table={table}")];
        desk.pubdata(
            &[
                &[
                    "import",
                    "census.acs5_table",
                    &file.display().to_string(),
                    "--json",
                ],
                &keys[..],
            ]
            .concat(),
        )
        .expect(0);
    };
    import("b01003");
    import("b19013");
    let unclear = desk
        .pubdata(&["import", "census.acs5_table", "--withdraw"])
        .expect(40);
    assert!(
        unclear.stderr.contains("has 2 imported files: https://")
            && unclear.stderr.contains("--key NAME=VALUE"),
        "{}",
        unclear.stderr
    );
    let named = desk
        .pubdata(&[
            "import",
            "census.acs5_table",
            "--withdraw",
            "--key",
            "table=b19013",
            "--json",
        ])
        .expect(0)
        .json();
    assert_eq!(named["snapshot"]["keys"]["table"], "b19013");
    assert_eq!(
        desk.pubdata(&["import", "census.acs5_table", "--withdraw", "--json"])
            .expect(0)
            .json()["snapshot"]["keys"]["table"],
        "b01003"
    );
}

#[test]
fn same_file_with_another_date_is_published_under_that_date() {
    let desk = Desk::by_hand();
    desk.import(&["--date", "2026-11-13"]).expect(0);
    let before = desk.run().expect(10).release_id();
    let corrected = desk.import(&["--date", "2026-11-20"]).expect(0).json();
    assert_eq!(
        (&corrected["outcome"], &corrected["snapshot"]["source_date"]),
        (&"redated".into(), &"2026-11-20".into())
    );
    let run = desk.run().expect(10);
    let reasons = run.reasons(SOURCE);
    assert!(
        reasons.contains("the date of an imported file is now 2026-11-20 and was 2026-11-13"),
        "{reasons}"
    );
    assert_eq!(
        (
            run.json()["outcome"].as_str(),
            desk.input()["source_date"].as_str()
        ),
        (Some("published"), Some("2026-11-20"))
    );
    assert_ne!(run.release_id(), before, "a release never changes");
    let record_id = desk
        .place
        .rows("license.license")
        .into_keys()
        .next()
        .unwrap();
    assert_eq!(
        desk.pubdata(&["trace", &record_id, "--json"])
            .expect(0)
            .json()["sources"][0]["source_date"],
        "2026-11-20"
    );
    assert_eq!(desk.run().expect(10).json()["outcome"], "unchanged");
    // A correction is not a separate file: both are withdrawn together.
    assert_eq!(withdraw(&desk).expect(0).json()["instead"], Value::Null);
    desk.pubdata(&["verify", "--rebuild"]).expect(0);
}

#[test]
fn build_blocked_by_an_imported_file_names_importer_and_withdrawal() {
    let desk = Desk::by_hand();
    desk.import(&["--date", "2026-11-13"]).expect(0);
    desk.pubdata(&["accept", SOURCE]).expect(0);
    desk.run().expect(0);
    import_text(
        &desk,
        &"\"another\",\"list\"\n".repeat(200),
        &["--date", "2026-11-20"],
    )
    .expect(0);
    let reasons = desk.run().expect(20).reasons(SOURCE);
    let word = format!(" by ada: if it is the wrong file, `pubdata import {SOURCE} --withdraw`");
    assert!(
        reasons.contains(&format!("{URL} was imported manually on 20")) && reasons.contains(&word),
        "{reasons}"
    );
    assert!(
        !reasons.starts_with(SOURCE),
        "every report about a task names it: {reasons}"
    );
    assert_eq!(withdraw(&desk).expect(0).json()["is_published"], false);
    desk.run().expect(0);
}

#[test]
fn file_below_the_floor_is_refused_with_size_floor_and_mirror_path() {
    let desk = Desk::new(|text| {
        text.replace("min_bytes = 1\n", "min_bytes = 2_000\n")
            .replace("source_version = ", "by_hand = true\nsource_version = ")
    });
    let size = std::fs::metadata(desk.downloaded()).unwrap().len();
    let refused = desk.import(&[]).expect(30).stderr;
    assert!(
        refused.contains(&format!(
            "the file has {size} bytes, fewer than the 2000 declared as `min_bytes` of `{SOURCE}`"
        )),
        "{refused}"
    );
    let place =
        "DIR/www2.myfloridalicense.com/sto/file_download/extracts/CONSTRUCTIONLICENSE_1.csv";
    assert!(
        refused.contains("do not import a sample: put it on a mirror of samples")
            && refused.contains(place),
        "{refused}"
    );
}

#[test]
fn status_lists_tasks_never_built_and_manual_imports_that_are_due() {
    let desk = Desk::new(|text| {
        text.replace("source_version = ", "by_hand = true\nsource_version = ")
            .replace("100 years", "10 days")
    });
    desk.run().expect(30);
    let status = || desk.pubdata(&["status", "--json"]).expect(0).json();
    let standing = |status: &Value, task_id: &str| {
        status["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .find(|task| task["task_id"] == task_id)
            .cloned()
            .unwrap()
    };
    let before = status();
    let task = standing(&before, SOURCE);
    assert!(
        task["outcome"] == "missing"
            && task["reasons"][0]
                .as_str()
                .unwrap()
                .contains("this file needs a manual import"),
        "{task}"
    );
    assert_eq!(
        (
            &task["is_in_release"],
            &standing(&before, "permit.nashville")["outcome"]
        ),
        (&false.into(), &"never_run".into())
    );
    let by_hand = |status: &Value| {
        status["by_hand"]
            .as_array()
            .unwrap()
            .iter()
            .find(|file| file["source_id"] == SOURCE)
            .cloned()
            .unwrap()
    };
    assert_eq!(
        (&by_hand(&before)["source_date"], &by_hand(&before)["due"]),
        (&Value::Null, &Value::Null)
    );
    let shown = desk.pubdata(&["status"]).expect(0).stdout;
    let first = shown
        .find("needs attention: 1\n  missing")
        .unwrap_or_else(|| panic!("{shown}"));
    assert!(
        shown[first..].contains("; never published")
            && shown[first..].contains("no run has tried: "),
        "{shown}"
    );

    desk.import(&["--date", "2026-11-12"]).expect(0);
    desk.run().expect(10);
    let after = status();
    assert_eq!(
        (
            &standing(&after, SOURCE)["outcome"],
            &standing(&after, SOURCE)["is_in_release"]
        ),
        (&"fresh".into(), &true.into())
    );
    let file = by_hand(&after);
    assert_eq!(
        (&file["source_date"], &file["imported_by"]),
        (&"2026-11-12".into(), &"ada".into())
    );
    // Weekly, with ten days of grace: the week after the file's week begins on 16 November.
    assert_eq!(file["due"], "2026-11-26", "{file}");
}

#[test]
fn importing_user_is_named_without_an_environment_variable() {
    let desk = Desk::by_hand();
    let importer = |name: Option<&str>| {
        let file = desk.downloaded().display().to_string();
        let mut command = desk.place.command(&[
            "import",
            SOURCE,
            &file,
            "--declarations",
            &desk.declarations,
        ]);
        for variable in ["SUDO_USER", "USER", "LOGNAME", "USERNAME"] {
            command.env_remove(variable);
        }
        answer(command.envs(name.map(|name| ("LOGNAME", name)))).expect(0);
        ledger(&desk).pop().unwrap()["import"]["by"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(importer(Some("grace")), "grace");
    if cfg!(target_os = "linux") {
        assert!(
            !["unknown", "grace"].contains(&importer(None).as_str()),
            "the operating system knows the user"
        );
    }
}
