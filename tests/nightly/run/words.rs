//! Checks runs on lists in which some words have no known meaning: the published data, the reports,
//! and how an operator resolves them.

use serde_json::{Value, json};

use pubdata_testing::{Answer, Place};

/// Number of rows of an edition.
const ROWS: usize = 100;

/// A list whose fixture has a row that serves as a template.
struct List {
    task_id: &'static str,
    dataset_id: &'static str,
    column: &'static str,
    /// The list's file in the mirror.
    file: &'static str,
    /// A word that the list's table or the vocabulary of the trade knows.
    known: &'static str,
    /// The publisher's columns of the number and of the word.
    number: &'static str,
    word: &'static str,
}

const LISTS: [List; 4] = [
    List {
        task_id: "permit.cleveland",
        dataset_id: "permit.permit",
        column: "status",
        file: "resultOffset=0&resultRecordCount=1000",
        known: "Permit Closed",
        number: "PERMIT_ID",
        word: "CURRENT_TASK_STATUS",
    },
    List {
        task_id: "permit.cincinnati",
        dataset_id: "permit.permit",
        column: "status",
        file: "uhjb-xac9/rows.csv@accessType=DOWNLOAD",
        known: "CLOSED",
        number: "PERMITNUM",
        word: "STATUSCURRENT",
    },
    List {
        task_id: "license.il_idfpr",
        dataset_id: "license.license",
        column: "status",
        file: "pzzh-kp68/rows.csv@accessType=DOWNLOAD",
        known: "ACTIVE",
        number: "License Number",
        word: "License Status",
    },
    List {
        task_id: "business.co_sos",
        dataset_id: "business.entity",
        column: "status",
        file: "4ykn-tg5h/rows.csv@accessType=DOWNLOAD",
        known: "Good Standing",
        number: "entityid",
        word: "entitystatus",
    },
];

impl List {
    /// Builds an edition of rows like the fixture's first, `unknown` of which have an unknown word.
    fn edition(&self, place: &Place, unknown: usize) {
        let word = |number: usize| {
            if number < unknown {
                "Synthetic Limbo"
            } else {
                self.known
            }
        };
        place.edit(self.file, |text| {
            match serde_json::from_str::<Value>(&text) {
                Ok(mut page) => {
                    let first = page["features"][0].clone();
                    let features = (0..ROWS).map(|number| {
                        let mut feature = first.clone();
                        feature["attributes"][self.number] = json!(format!("N{number:05}"));
                        feature["attributes"][self.word] = json!(word(number));
                        feature
                    });
                    page["features"] = features.collect();
                    page.to_string()
                }
                Err(_) => self.csv(&text, word),
            }
        });
    }

    fn csv(&self, text: &str, word: impl Fn(usize) -> &'static str) -> String {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().unwrap().clone();
        let place_of = |name: &str| {
            header
                .iter()
                .position(|column| column == name)
                .unwrap_or_else(|| panic!("{name} is none of {header:?}"))
        };
        let (number_at, word_at) = (place_of(self.number), place_of(self.word));
        let first = reader.records().next().unwrap().unwrap();
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&header).unwrap();
        for number in 0..ROWS {
            let cell = |(place, cell): (usize, &str)| match place {
                _ if place == number_at => format!("{}", 20_990_100_000 + number),
                _ if place == word_at => word(number).to_owned(),
                _ => cell.to_owned(),
            };
            writer
                .write_record(first.iter().enumerate().map(cell))
                .unwrap();
        }
        String::from_utf8(writer.into_inner().unwrap()).unwrap()
    }

    /// Returns the findings of a run about the list's words: code and detail.
    fn findings(&self, answer: &Answer) -> Vec<(String, String)> {
        let task = answer.task(self.task_id);
        let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
        let of_words = |finding: &&Value| {
            ["unknown_words", "meaning_lost"].contains(&finding["code"].as_str().unwrap())
        };
        task["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(of_words)
            .map(|finding| (text(finding, "code"), text(finding, "detail")))
            .collect()
    }
}

#[test]
fn unknown_words_are_reported_with_the_lines_that_declare_them() {
    for list in &LISTS {
        for (unknown, code) in [
            (10, "unknown_words"),
            (30, "meaning_lost"),
            (90, "meaning_lost"),
        ] {
            let place = Place::with(&[list.task_id]);
            list.edition(&place, unknown);
            let answer = place.run(&[]).expect(10);
            assert_eq!(answer.task(list.task_id)["outcome"], "built");
            let findings = list.findings(&answer);
            let reported = format!(
                "`{}` of {} has texts without a known meaning in {unknown} of 100 records, {unknown}.0 %: `Synthetic Limbo` {unknown}",
                list.column, list.dataset_id
            );
            assert!(
                findings.iter().any(|(found, detail)| found == code
                    && detail.contains(&reported)
                    && detail.contains("\"Synthetic Limbo\" = \"…\"")),
                "{findings:#?}"
            );
            let status = place.pubdata(&["status", "--json"]).expect(0).json();
            let attention: Vec<&str> = status["attention"]
                .as_array()
                .unwrap()
                .iter()
                .map(|need| need["what"].as_str().unwrap())
                .collect();
            assert!(attention.contains(&code), "{attention:?}");
            let manifest = place.manifest();
            let lost = &manifest["tasks"][list.task_id]["meaning_lost"][list.dataset_id];
            assert_eq!(
                lost.as_array()
                    .is_some_and(|columns| columns.contains(&json!(list.column))),
                code == "meaning_lost",
                "{lost}"
            );
        }
    }
}

#[test]
fn sudden_loss_of_meaning_needs_an_acceptance() {
    for list in &LISTS {
        let place = Place::with(&[list.task_id]);
        list.edition(&place, 1);
        place.run(&[]);
        let before = place.current();
        list.edition(&place, 40);
        let refused = place.run(&[]).expect(20);
        let reasons = refused.reasons(list.task_id);
        let reported = "is not known for 40.0 % of the records against 1.0 % in the last release: `Synthetic Limbo` 40";
        assert!(
            reasons.contains(reported)
                && reasons.contains(&format!("`pubdata accept {}:meaning`", list.task_id)),
            "{reasons}"
        );
        assert_eq!(place.current(), before, "no release is published");
        // Acceptances of the layout and of other rules do not cover words.
        place
            .run(&["--accept", &format!("{}:drift", list.task_id)])
            .expect(20);
        place
            .pubdata(&["accept", &format!("{}:meaning", list.task_id)])
            .expect(0);
        let published = place.run(&[]).expect(10);
        assert!(
            list.findings(&published)
                .iter()
                .any(|(code, _)| code == "meaning_lost"),
            "an accepted loss is still told"
        );
        assert_ne!(place.current(), before);
    }
}

#[test]
fn declared_words_are_known_in_the_next_run() {
    let list = &LISTS[0];
    let place = Place::with(&[list.task_id]);
    list.edition(&place, 90);
    place.run(&[]).expect(10);
    let declarations = place.root().join("declarations");
    pubdata_core::declared::DeclarationFiles::built_in()
        .write_to(&declarations)
        .unwrap();
    let file = declarations.join("pipelines/permit/cleveland.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        text.replace(
            "[settings.status]\n",
            "[settings.status]\n\"Synthetic Limbo\" = \"in_review\"\n",
        ),
    )
    .unwrap();
    let answer = place.run(&["--declarations", declarations.to_str().unwrap()]);
    assert!(
        !list
            .findings(&answer)
            .iter()
            .any(|(_, detail)| detail.contains("Limbo")),
        "{answer:#?}"
    );
    let rows = place.rows(list.dataset_id);
    assert_eq!(
        rows.values()
            .filter(|row| row.0["status"] == "in_review" && row.0["status_basis"] == "declared")
            .count(),
        90
    );
    assert_eq!(
        rows.values()
            .filter(|row| row.0["status"] == "final")
            .count(),
        10
    );
}
