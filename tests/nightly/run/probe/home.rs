//! Checks that a probe's prediction uses the home: confirmed layouts, imported files, and files of
//! earlier runs.

use serde_json::Value;

use super::source;
use pubdata_testing::{Answer, Place, answer, copy_folder, project};

const FLORIDA: &str = "license.fl_dbpr";
const FLORIDA_FILE: &str = "CONSTRUCTIONLICENSE_1.csv";
const FLORIDA_URL: &str = "https://www2.myfloridalicense.com/sto/file_download/extracts/{file}.csv";
const ARIZONA: &str = "license.az_roc";
const RATES: &str = "tax.sst_rates";

/// A place whose declaration of Florida's licenses has the floors of a fixture.
struct Desk {
    place: Place,
    declarations: String,
}

impl Desk {
    fn new(change: impl Fn(String) -> String) -> Self {
        let place = Place::new();
        let folder = place.root().join("declarations");
        for root in ["pipelines", "schemas"] {
            copy_folder(&project(root), &folder.join(root));
        }
        let path = folder.join("pipelines/license/fl_dbpr.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        // An operator confirms an unseen layout.
        let unseen = text.replace("kind = \"excerpt\"", "kind = \"documented\"");
        std::fs::write(
            &path,
            change(
                unseen
                    .replace("min_bytes = 10_000_000", "min_bytes = 1")
                    .replace("min_rows = 50_000", "min_rows = 1"),
            ),
        )
        .unwrap();
        Self {
            declarations: folder.display().to_string(),
            place,
        }
    }

    fn pubdata(&self, arguments: &[&str]) -> Answer {
        answer(
            &mut self
                .place
                .command(&[arguments, &["--json", "--declarations", &self.declarations]].concat()),
        )
    }

    /// Asserts that a probe predicts the result of the next run, and returns the probe's answer.
    #[track_caller]
    fn foreseen(&self, arguments: &[&str]) -> Answer {
        let probed = self.pubdata(&[&["probe"], arguments].concat());
        let run = self.pubdata(&[&["run"], arguments].concat());
        assert_eq!(probed.code, run.code, "{probed:#?}\n{run:#?}");
        let (foreseen, done) = (task(&probed), run.task(arguments[0]));
        let same = foreseen["outcome"] == done["outcome"]
            || (foreseen["outcome"] == "built" && done["outcome"] == "fresh");
        assert!(same, "{foreseen:#} {done:#}");
        for finding in done["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|finding| finding["code"] != "empty_column")
        {
            let detail = finding["detail"].as_str().unwrap();
            assert!(
                foreseen["reasons"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|reason| reason.as_str().unwrap().ends_with(detail)),
                "{finding:#} {foreseen:#}"
            );
        }
        if foreseen["outcome"] == "missing" {
            assert_eq!(foreseen["reasons"], done["reasons"]);
        }
        probed
    }
}

fn task(probed: &Answer) -> Value {
    probed.json()["tasks"][0].clone()
}

#[test]
fn confirmed_layout_is_predicted_as_confirmed() {
    let desk = Desk::new(|text| text);
    std::fs::remove_file(desk.place.mirror().join(".pubdata-mirror")).unwrap();
    let mirror = desk.place.mirror().display().to_string();
    let arguments = [FLORIDA, "--mirror", &mirror];
    let unconfirmed = desk.foreseen(&arguments).expect(10);
    let reasons = task(&unconfirmed)["reasons"].clone();
    assert!(
        reasons
            .as_array()
            .unwrap()
            .iter()
            .any(|reason| reason.as_str().unwrap().starts_with("unconfirmed_layout ")),
        "{unconfirmed:#?}"
    );
    desk.pubdata(&["accept", FLORIDA]).expect(0);
    // The file has an unknown word, and a confirmed layout does not cover words.
    let confirmed = desk.foreseen(&arguments).expect(10);
    let reasons = task(&confirmed)["reasons"].clone();
    let reasons: Vec<&str> = reasons
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| reason.as_str().unwrap())
        .collect();
    assert!(
        reasons.len() == 1 && reasons[0].starts_with("unknown_words "),
        "{reasons:?}"
    );
}

#[test]
fn manual_file_is_predicted_once_it_was_imported() {
    let desk =
        Desk::new(|text| text.replace("source_version = ", "by_hand = true\nsource_version = "));
    let due = desk.foreseen(&[FLORIDA]).expect(30);
    assert_eq!(source(&due, FLORIDA)["verdict"], "not_asked");
    let file = desk.place.file(FLORIDA_FILE).display().to_string();
    desk.pubdata(&["import", FLORIDA, &file, "--date", "2026-11-20"])
        .expect(0);
    let imported = source(&desk.foreseen(&[FLORIDA]).expect(10), FLORIDA);
    assert_eq!(
        imported["in_use"], "in use: the file imported manually (2026-11-20)",
        "{imported:#}"
    );
    assert!(
        imported["sample"]["accepted"].as_u64().unwrap() > 0,
        "{imported:#}"
    );
    // An imported file is inspected like a publisher's file.
    let broken = desk.place.root().join("broken.csv");
    std::fs::write(&broken, "1,2,3\n".repeat(1_000)).unwrap();
    desk.pubdata(&[
        "import",
        FLORIDA,
        &broken.display().to_string(),
        "--date",
        "2026-11-21",
    ])
    .expect(0);
    desk.foreseen(&[FLORIDA]).expect(20);
}

#[test]
fn imported_file_is_predicted_until_the_publisher_has_a_newer_one() {
    let folder = tempfile::tempdir().unwrap();
    let published = folder.path().join(FLORIDA_FILE);
    let url = format!("file://{}", published.display()).replace("CONSTRUCTIONLICENSE_1", "{file}");
    let desk = Desk::new(|text| text.replace(FLORIDA_URL, &url));
    desk.foreseen(&[FLORIDA]).expect(30);
    let file = desk.place.file(FLORIDA_FILE);
    desk.pubdata(&[
        "import",
        FLORIDA,
        &file.display().to_string(),
        "--date",
        "2026-11-20",
    ])
    .expect(0);
    assert!(source(&desk.foreseen(&[FLORIDA]).expect(10), FLORIDA)["in_use"].is_string());
    std::fs::copy(&file, &published).unwrap();
    for (modified, in_use) in [
        ("2026-11-13T12:00:00Z", true),
        ("2026-11-21T12:00:00Z", false),
    ] {
        let modified: jiff::Timestamp = modified.parse().unwrap();
        std::fs::File::options()
            .write(true)
            .open(&published)
            .unwrap()
            .set_modified(modified.into())
            .unwrap();
        let answer = desk.foreseen(&[FLORIDA]).expect(10);
        assert_eq!(
            source(&answer, FLORIDA)["in_use"].is_string(),
            in_use,
            "{answer:#?}"
        );
    }
}

#[test]
fn imported_file_of_a_page_is_predicted_when_the_page_is_closed() {
    let desk = Desk::new(|text| text);
    let list = pubdata_testing::files_below(&desk.place.mirror())
        .into_iter()
        .find(|file| file.to_string_lossy().contains("ROC_Posting-List"))
        .unwrap();
    std::fs::write(
        desk.place.mirror().join("roc.az.gov/posting-list"),
        "<html><body>Just a moment</body></html>",
    )
    .unwrap();
    let mirror = desk.place.mirror().display().to_string();
    desk.foreseen(&[ARIZONA, "--mirror", &mirror]).expect(30);
    let path = std::path::PathBuf::from(&desk.declarations).join("pipelines/license/az_roc.toml");
    std::fs::write(
        &path,
        std::fs::read_to_string(&path)
            .unwrap()
            .replace("min_bytes = 1_000_000", "min_bytes = 1"),
    )
    .unwrap();
    let url = format!(
        "https://roc.az.gov/files/{}",
        list.file_name().unwrap().to_string_lossy()
    );
    desk.pubdata(&[
        "import",
        ARIZONA,
        &list.display().to_string(),
        "--url",
        &url,
        "--date",
        "2026-09-02",
    ])
    .expect(0);
    // The file is not where programs look for it.
    std::fs::remove_file(&list).unwrap();
    let foreseen = desk.foreseen(&[ARIZONA, "--mirror", &mirror]).expect(10);
    assert!(
        task(&foreseen)["reasons"][0]
            .as_str()
            .unwrap()
            .starts_with("page_not_read "),
        "{foreseen:#?}"
    );
}

#[test]
fn earlier_file_is_predicted_to_stay_in_a_build_from_several_files() {
    let desk = Desk::new(|text| text);
    let mirror = desk.place.mirror().display().to_string();
    desk.foreseen(&[RATES, "--mirror", &mirror]).expect(0);
    std::fs::remove_file(desk.place.file("WIR2026Q2FEB18.csv")).unwrap();
    let answer = desk.foreseen(&[RATES, "--mirror", &mirror]).expect(30);
    let reason = task(&answer)["reasons"][0].as_str().unwrap().to_owned();
    assert!(
        reason.starts_with("file_missing tax.sst_rate: ") && reason.ends_with("stays in use"),
        "{answer:#?}"
    );
}
