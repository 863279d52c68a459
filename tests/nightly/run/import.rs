//! Checks files that an operator downloads because a site refuses programs, and acceptances by an
//! operator.

use std::path::PathBuf;

use serde_json::Value;

use pubdata_testing::desk::{Desk, FILE, SOURCE, URL};

const URL_FORM: &str = "extracts/{file}.csv";

#[test]
fn manually_downloaded_file_is_published_and_traced_to_its_bytes() {
    let desk = Desk::by_hand();
    let due = desk.run().expect(30);
    let reasons = due.reasons(SOURCE);
    assert!(
        reasons.contains(&format!(
            "download {URL} and run `pubdata import {SOURCE} FILE`"
        )),
        "{reasons}"
    );

    let imported = desk.import(&["--date", "2026-11-20"]).expect(0).json();
    assert_eq!(
        (
            imported["outcome"].as_str(),
            imported["snapshot"]["url"].as_str()
        ),
        (Some("new"), Some(URL))
    );
    assert_eq!(
        std::fs::read(desk.place.snapshot(FILE)).unwrap(),
        std::fs::read(desk.downloaded()).unwrap()
    );
    // Known from documents alone: an operator must confirm it once.
    desk.run().expect(10);
    let input = desk.input();
    assert_eq!(
        (
            input["obtained"].as_str(),
            input["source_date"].as_str(),
            input["url"].as_str()
        ),
        (Some("by hand"), Some("2026-11-20"), Some(URL))
    );

    let (record_id, (columns, pointers)) = desk
        .place
        .rows("license.license")
        .into_iter()
        .next()
        .unwrap();
    assert_eq!(pointers[0].source_id, SOURCE, "{columns:?}");
    let traced = desk
        .pubdata(&["trace", &record_id, "--json"])
        .expect(0)
        .json();
    let bytes = std::fs::read(desk.downloaded()).unwrap();
    let (first, length) = (pointers[0].offset as usize, pointers[0].length as usize);
    assert_eq!(traced["sources"][0]["obtained"], "by hand");
    assert_eq!(
        traced["sources"][0]["text"].as_str().unwrap().as_bytes(),
        &bytes[first..first + length]
    );
    let shown = desk.pubdata(&["trace", &record_id]).expect(0);
    assert!(
        shown
            .stdout
            .contains(&format!("{URL} (downloaded manually)")),
        "{}",
        shown.stdout
    );

    let ledger = std::fs::read_to_string(desk.place.home().join("ledger.jsonl")).unwrap();
    let entry: Value = serde_json::from_str(ledger.lines().nth(1).unwrap()).unwrap();
    let note = entry["note"].as_str().unwrap();
    assert!(
        entry["outcome"] == "imported"
            && note.starts_with(&format!("ada imported {SOURCE} as {URL} (sha256 ")),
        "{entry}"
    );
    let status = desk.pubdata(&["status"]).expect(0).stdout;
    assert!(
        status.contains("MANUAL IMPORT")
            && status.contains("2026-11-20")
            && status.contains("ada imported"),
        "{status}"
    );

    assert_eq!(desk.import(&[]).expect(0).json()["outcome"], "unchanged");
    assert_eq!(desk.input()["source_date"], "2026-11-20");
    assert_eq!(desk.run().expect(10).json()["outcome"], "unchanged");
}

#[test]
fn imported_file_passes_the_checks_of_a_download() {
    let desk = Desk::by_hand();
    let page = desk.place.root().join("page.html");
    std::fs::write(&page, "<!DOCTYPE html><title>Just a moment</title>").unwrap();
    let refused = desk
        .pubdata(&["import", SOURCE, &page.display().to_string()])
        .expect(30);
    assert!(
        refused.stderr.contains("page.html: the file is a web page")
            && refused.stderr.contains("save the file itself"),
        "{}",
        refused.stderr
    );
    assert!(
        !refused.stderr.contains("the publisher may have moved"),
        "{}",
        refused.stderr
    );
    let unclear = desk
        .import(&["--url", "https://elsewhere.example/list.csv"])
        .expect(40);
    assert!(
        unclear
            .stderr
            .contains("`https://elsewhere.example/list.csv` is no file that source")
            && unclear.stderr.contains(URL_FORM),
        "{}",
        unclear.stderr
    );
    let unknown = desk
        .pubdata(&["import", "license.fl_dbrp", &page.display().to_string()])
        .expect(40);
    assert!(
        unknown
            .stderr
            .contains("no declaration has a source `license.fl_dbrp`")
            && unknown.stderr.contains(SOURCE),
        "{}",
        unknown.stderr
    );
    assert!(
        !desk.place.home().join("snapshots").join(SOURCE).exists(),
        "no file is stored"
    );
    let folder = desk.place.root().display().to_string();
    let answer = desk.pubdata(&["import", SOURCE, &folder]).expect(40);
    assert!(
        answer.stderr.contains(&format!("{folder} is a folder")),
        "{}",
        answer.stderr
    );
}

#[test]
fn import_for_a_source_of_several_files_must_name_one() {
    let desk = Desk::by_hand();
    let file = desk.place.root().join("downloaded.csv");
    // Larger than the floors of both sources.
    std::fs::write(&file, "27,45,00000,0.06875\n".repeat(100_000)).unwrap();
    let file = file.display().to_string();
    let unclear = desk
        .pubdata(&["import", "census.acs5_table", &file])
        .expect(40);
    assert!(
        unclear.stderr.contains("files, such as https://")
            && unclear.stderr.contains("--key NAME=VALUE"),
        "{}",
        unclear.stderr
    );
    let named = [
        "import",
        "census.acs5_table",
        &file,
        "--json",
        "--key",
        "vintage=2023",
        "--key",
        "table=b01003",
    ];
    let snapshot = desk.pubdata(&named).expect(0).json()["snapshot"].clone();
    assert_eq!(
        snapshot["keys"],
        serde_json::json!({ "table": "b01003", "vintage": "2023" })
    );
    assert!(
        snapshot["url"]
            .as_str()
            .unwrap()
            .ends_with("acsdt5y2023-b01003.dat"),
        "{snapshot}"
    );
    let listed = "https://www.streamlinedsalestax.org/ratesandboundry/Rates/MNR2026Q2FEB18.csv";
    let snapshot = desk
        .pubdata(&["import", "tax.sst_rate", &file, "--json", "--url", listed])
        .expect(0)
        .json()["snapshot"]
        .clone();
    assert_eq!(
        (snapshot["keys"]["state"].as_str(), snapshot["url"].as_str()),
        (Some("MN"), Some(listed))
    );
}

/// The program may fetch this source too: on some days the publisher's site allows it.
#[test]
fn imported_file_counts_until_the_publisher_has_one_at_least_as_new() {
    let folder = tempfile::tempdir().unwrap();
    let published = folder.path().join("CONSTRUCTIONLICENSE_1.csv");
    let url = format!("file://{}", published.display()).replace("CONSTRUCTIONLICENSE_1", "{file}");
    let desk = Desk::new(|text| {
        text.replace(
            "https://www2.myfloridalicense.com/sto/file_download/extracts/{file}.csv",
            &url,
        )
    });
    desk.import(&["--date", "2026-11-20"]).expect(0);
    desk.run().expect(10);
    assert_eq!(
        (
            desk.input()["obtained"].as_str(),
            desk.input()["source_date"].as_str()
        ),
        (Some("by hand"), Some("2026-11-20"))
    );

    let publish = |text: String, modified: &str| {
        std::fs::write(&published, text).unwrap();
        let modified: jiff::Timestamp = modified.parse().unwrap();
        std::fs::File::options()
            .write(true)
            .open(&published)
            .unwrap()
            .set_modified(modified.into())
            .unwrap();
    };
    let text = desk.place.read(FILE);
    let fewer: String = text.split_inclusive('\n').skip(1).collect();
    publish(fewer.clone(), "2026-11-13T12:00:00Z");
    desk.run().expect(10);
    assert_eq!(
        desk.input()["obtained"],
        "by hand",
        "an older file does not replace it"
    );
    publish(fewer, "2026-11-21T12:00:00Z");
    desk.pubdata(&[
        "run",
        SOURCE,
        "--json",
        "--accept",
        SOURCE,
        "--accept",
        "license.license",
    ])
    .expect(0);
    assert_eq!(
        (
            desk.input()["obtained"].as_str(),
            desk.input()["source_date"].as_str()
        ),
        (None, Some("2026-11-21"))
    );
}

#[test]
fn acceptance_counts_for_later_runs_until_it_is_withdrawn() {
    let desk = Desk::by_hand();
    desk.import(&[]).expect(0);
    desk.run().expect(10);
    let accepted = desk.pubdata(&["accept", SOURCE, "--json"]).expect(0).json();
    assert_eq!(
        (
            accepted["acceptances"][0]["id"].as_str(),
            accepted["acceptances"][0]["what"].as_str(),
            accepted["acceptances"][0]["by"].as_str()
        ),
        (Some(SOURCE), Some("layout"), Some("ada"))
    );
    desk.run().expect(0);
    assert_eq!(
        desk.pubdata(&["accept", "--list", "--json"])
            .expect(0)
            .json(),
        accepted
    );
    desk.pubdata(&["accept", SOURCE, "--withdraw"]).expect(0);
    desk.run().expect(10);
    // A loss is separate from a layout and expires.
    let loss = desk
        .pubdata(&[
            "accept",
            &format!("{SOURCE}:shrink"),
            "license.license:shrink",
            "--until",
            "2099-12-31",
            "--json",
        ])
        .expect(0)
        .json();
    assert_eq!(
        (
            loss["acceptances"][1]["rule"].as_str(),
            loss["acceptances"][1]["until"].as_str()
        ),
        (Some("shrink"), Some("2099-12-31"))
    );
    desk.run().expect(10);
    assert_eq!(
        desk.pubdata(&["accept", "--list", "--json"])
            .expect(0)
            .json(),
        loss
    );
}

#[test]
fn accepted_loss_is_published_by_the_next_run() {
    let desk = Desk::by_hand();
    desk.import(&["--date", "2026-11-13"]).expect(0);
    desk.pubdata(&["accept", SOURCE]).expect(0);
    desk.run().expect(0);
    desk.place.edit(FILE, |text| {
        text.split_inclusive('\n').next().unwrap().to_owned()
    });
    desk.import(&["--date", "2026-11-20"]).expect(0);
    let blocked = desk.run().expect(20);
    let reasons = blocked.reasons(SOURCE);
    assert!(
        reasons.contains("fewer than the")
            && reasons.contains(&format!("{URL} was imported manually on 20")),
        "{reasons}"
    );
    assert!(
        reasons.contains(&format!(
            " by ada: if it is the wrong file, `pubdata import {SOURCE} --withdraw`"
        )),
        "{reasons}"
    );
    desk.pubdata(&[
        "accept",
        &format!("{SOURCE}:shrink"),
        "license.license:shrink",
    ])
    .expect(0);
    desk.run().expect(0);
    assert_eq!(desk.input()["source_date"], "2026-11-20");
}

#[test]
fn invalid_acceptance_is_refused_with_the_valid_ones() {
    let desk = Desk::by_hand();
    for (what, says) in [
        (
            "license.fl_dbrp",
            "`license.fl_dbrp` is no task, pipeline, source or dataset",
        ),
        ("census.acs5", "its layout is already known from files"),
        (
            "license.fl_dbpr:host_key=SHA256:JvS7SrgY9QfsC2otdG0TGo0aWcvvieGg1R2Vx8/5VSw",
            "is not fetched over SFTP",
        ),
        (
            "business.fl_cordata:host_key=SHA256:short",
            "is not the fingerprint of a key",
        ),
        (
            "license.fl_dbpr:everything",
            "there is nothing of that kind to accept",
        ),
    ] {
        let refused = desk.pubdata(&["accept", what]).expect(40);
        assert!(refused.stderr.contains(says), "{what}: {}", refused.stderr);
    }
    assert!(
        desk.pubdata(&["accept"])
            .expect(40)
            .stderr
            .contains("pubdata accept --help")
    );
    assert!(
        desk.pubdata(&["accept", SOURCE, "--until", "2020-01-01"])
            .expect(40)
            .stderr
            .contains("2020-01-01 is in the past")
    );
    assert!(!desk.place.home().join("accepted.jsonl").exists());
}

#[test]
fn unseen_layouts_cannot_be_confirmed_nor_unaccepted_ones_withdrawn() {
    let desk = Desk::by_hand();
    let unseen = desk.pubdata(&["accept", SOURCE]).expect(40);
    assert!(
        unseen
            .stderr
            .contains(&format!("no file of `{SOURCE}` was ever seen here")),
        "{}",
        unseen.stderr
    );
    assert!(
        !desk.place.home().exists(),
        "a refusal leaves no file behind"
    );
    let withdraw = || {
        desk.pubdata(&["accept", SOURCE, "--withdraw"])
            .expect(40)
            .stderr
    };
    assert!(
        withdraw().contains(&format!(
            "no layout of `{SOURCE}` is accepted: there is nothing to withdraw"
        )),
        "{}",
        withdraw()
    );
    desk.import(&[]).expect(0);
    desk.pubdata(&["accept", SOURCE]).expect(0);
    let other = desk
        .pubdata(&["accept", &format!("{SOURCE}:shrink"), "--withdraw"])
        .expect(40);
    assert!(
        other.stderr.contains("no shrink of"),
        "a layout is not a loss: {}",
        other.stderr
    );
    desk.pubdata(&["accept", SOURCE, "--withdraw"]).expect(0);
    assert!(withdraw().contains("nothing to withdraw"), "{}", withdraw());
}

/// A page that refuses programs names no file. A manually downloaded file from it is read all the
/// same, once it passes the floors of samples.
#[test]
fn imported_file_of_an_unreadable_page_is_read() {
    let desk = Desk::by_hand();
    let path = PathBuf::from(&desk.declarations).join("pipelines/license/az_roc.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replace("min_bytes = 1_000_000", "min_bytes = 1"),
    )
    .unwrap();
    let list = pubdata_testing::files_below(&desk.place.mirror())
        .into_iter()
        .find(|file| file.to_string_lossy().contains("ROC_Posting-List"))
        .unwrap();
    let page = desk.place.mirror().join("roc.az.gov/posting-list");
    std::fs::write(&page, "<html><body>Just a moment</body></html>").unwrap();
    let run = |desk: &Desk| {
        desk.pubdata(&[
            "run",
            "license.az_roc",
            "--json",
            "--mirror",
            &desk.place.mirror().display().to_string(),
        ])
    };
    assert_eq!(run(&desk).task("license.az_roc")["outcome"], "missing");
    let url = format!(
        "https://roc.az.gov/files/{}",
        list.file_name().unwrap().to_string_lossy()
    );
    let import = |url: &str, date: &str| {
        desk.pubdata(&[
            "import",
            "license.az_roc",
            &list.display().to_string(),
            "--url",
            url,
            "--date",
            date,
        ])
    };
    let wrong = import("https://roc.az.gov/files/roc.csv", "2026-09-02").expect(40);
    assert!(
        wrong
            .stderr
            .contains("`https://roc.az.gov/files/roc.csv` is no file")
            && wrong.stderr.contains("ROC_Posting-List_(?<year>"),
        "{wrong:#?}"
    );
    let elsewhere = import(&url.replace("roc.az.gov", "roc.example"), "2026-09-02").expect(40);
    let way_out = "is not an address of source `license.az_roc`: its files are on roc.az.gov (https), and in the same domain";
    assert!(elsewhere.stderr.contains(way_out), "{elsewhere:#?}");
    let ahead = import(&url, "2999-01-01").expect(40);
    assert!(
        ahead.stderr.contains("--date 2999-01-01 is in the future"),
        "{ahead:#?}"
    );
    import(&url, "2026-09-02").expect(0);
    let answer = run(&desk);
    let task = answer.task("license.az_roc");
    assert_eq!(
        (&task["outcome"], &task["findings"][0]["code"]),
        (&"built".into(), &"page_not_read".into()),
        "{task:#}"
    );
    let detail = task["findings"][0]["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("https://roc.az.gov/posting-list: "),
        "{detail}"
    );
    assert!(
        !detail.contains("license.az_roc"),
        "every report of a finding names its source: {detail}"
    );
    assert!(
        desk.place
            .rows("license.license")
            .keys()
            .any(|record_id| record_id.contains("AZ-roc")),
        "{task:#}"
    );
}
