//! Checks publishers that change files or lose some of them: the published data and the reports to
//! the operator.

use std::collections::BTreeMap;

use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::Format;
use pubdata_run::{ExitCode, RunReport, RunSettings};
use serde_json::{Value, json};

use pubdata_testing::publisher::{Publisher, Reply};
use pubdata_testing::{Place, edit_sources, run_here, settings};

const RATES: &str = "www.streamlinedsalestax.org/ratesandboundry/Rates";
const TERRITORY: &str = "/download.geonames.org/export/zip/PR.zip";

/// Returns the findings of a run as (source, code, detail).
fn findings(report: &RunReport) -> Vec<(&str, &str, &str)> {
    let findings = report.tasks.iter().flat_map(|task| &task.findings);
    findings
        .map(|finding| {
            (
                finding.source_id.as_str(),
                finding.code.as_str(),
                finding.detail.as_str(),
            )
        })
        .collect()
}

/// Returns the rows of each dataset and its quarantined records, as the manifest counts them.
fn counts(manifest: &Value) -> BTreeMap<String, (u64, Value)> {
    let mut counts = BTreeMap::new();
    for (dataset_id, dataset) in manifest["datasets"].as_object().unwrap() {
        for part in dataset["parts"].as_array().unwrap() {
            let place = format!("{dataset_id} {}", part["partition"]);
            counts.insert(
                place,
                (
                    part["rows"].as_u64().unwrap(),
                    json!([part["report"]["quarantined"], part["report"]["warnings"]]),
                ),
            );
        }
    }
    counts
}

/// Returns the text with one more column at the end of each record.
fn widened(text: &str, format: &Format) -> String {
    let Format::Delimited {
        delimiters,
        quoting,
        escape,
        header_start,
        label_lines,
        ruler,
        ..
    } = format
    else {
        panic!("delimited text only")
    };
    let mut widened = String::new();
    let mut delimiter = None;
    let mut to_skip = label_lines + u32::from(ruler.is_some());
    let mut is_open = false;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches(['\n', '\r']);
        let end = &line[content.len()..];
        let Some(delimiter) = delimiter else {
            if header_start.as_ref().is_none_or(|start| {
                content
                    .trim_start_matches('\u{feff}')
                    .starts_with(start.as_str())
            }) {
                let most = *delimiters
                    .iter()
                    .max_by_key(|delimiter| content.matches(**delimiter).count())
                    .unwrap();
                delimiter = Some(most);
                widened.push_str(&format!("{content}{most}Added Column{end}"));
            } else {
                widened.push_str(line);
            }
            continue;
        };
        let escaped = escape.map_or(0, |escape| content.matches(&format!("{escape}\"")).count());
        is_open ^= *quoting && (content.matches('"').count() - escaped) % 2 == 1;
        if to_skip > 0 || is_open || content.is_empty() {
            to_skip = to_skip.saturating_sub(1);
            widened.push_str(line);
        } else {
            widened.push_str(&format!("{content}{delimiter}x{end}"));
        }
    }
    widened
}

#[test]
fn column_added_by_every_publisher_blocks_nothing_and_is_reported() {
    let place = Place::published();
    let before = counts(&place.manifest());
    let changed = edit_sources(&place, |text, _, source| {
        let has_header =
            matches!(&source.format, Format::Delimited { header, .. } if header.is_empty());
        has_header.then(|| widened(text, &source.format))
    });
    assert!(changed.len() > 40, "{changed:?}");
    // Iowa's archive is stored there and compressed here: a file of half the size needs an
    // acceptance.
    let answer = place.run(&["--accept", "business.ia_sos"]).expect(10);
    let report = answer.json();
    let mut reported: Vec<&str> = Vec::new();
    for task in report["tasks"].as_array().unwrap() {
        assert!(
            ["built", "fresh", "not_published"].contains(&task["outcome"].as_str().unwrap()),
            "{task:#}"
        );
        for finding in task["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|finding| finding["code"] == "new_column")
        {
            let detail = finding["detail"]
                .as_str()
                .unwrap()
                .to_lowercase()
                .replace(' ', "_");
            assert!(detail.contains("`added_column`"), "{finding}");
            reported.push(finding["source_id"].as_str().unwrap());
        }
    }
    for source_id in changed.values() {
        assert!(
            reported.contains(&source_id.as_str()),
            "no finding for {source_id}"
        );
    }
    assert_eq!(counts(&place.manifest()), before, "no other fact changes");
    let status = place.pubdata(&["status"]).expect(0).stdout;
    assert!(
        status.contains("needs attention: ") && status.contains("new_column"),
        "{status}"
    );
    // It is reported until an operator handles it: no task is rebuilt, and the exit code is the
    // same.
    let again = place.run(&[]).expect(10).json();
    assert_eq!(again["outcome"], "unchanged");
}

struct Site {
    place: Place,
    publisher: Publisher,
}

impl Site {
    async fn new() -> Self {
        let (place, publisher) = (Place::new(), Publisher::start().await);
        publisher.serve_folder(&place.mirror());
        Self { place, publisher }
    }

    fn settings(&self, task_id: &str) -> RunSettings {
        let mut settings = settings(
            &self.place.home(),
            vec![self.publisher.base_url()],
            DeclarationFiles::built_in(),
        );
        settings.selectors = vec![task_id.to_owned()];
        settings
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn optional_file_is_optional_whatever_its_publisher_answers() {
    let answers = [
        (Reply::status(400), "400"),
        (Reply::status(403), "403"),
        (
            Reply::status(302).header("Location", "https://elsewhere.example/login"),
            "302",
        ),
        (Reply::page(200), "web page"),
        (
            Reply::file("PK\x03\x04 and no more").cut_after(3),
            "after 3 of",
        ),
    ];
    for (reply, says) in answers {
        let site = Site::new().await;
        site.publisher.route(TERRITORY, vec![reply]);
        let report = run_here(&site.settings("zip.zip")).await;
        assert_eq!(
            (report.exit_code, report.tasks[0].outcome),
            (ExitCode::Quarantined, "built"),
            "{says}: {report:#?}"
        );
        let [(source_id, code, detail)] = findings(&report)[..] else {
            panic!("{says}: {report:#?}")
        };
        assert_eq!(
            (source_id, code),
            ("geonames.postal_territory", "optional_file_missing")
        );
        assert!(
            detail.contains(says) && detail.contains("published without it"),
            "{says}: {detail}"
        );
        assert!(!site.place.rows("zip.zip").is_empty());
    }
    let site = Site::new().await;
    site.publisher.route(TERRITORY, vec![Reply::page(404)]);
    let report = run_here(&site.settings("zip.zip")).await;
    assert_eq!(
        (report.exit_code, findings(&report)),
        (ExitCode::Ok, Vec::new()),
        "an unpublished file needs no action"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn optional_file_of_an_earlier_run_stays_in_use() {
    let site = Site::new().await;
    assert_eq!(
        run_here(&site.settings("zip.zip")).await.exit_code,
        ExitCode::Ok
    );
    let rows = site.place.rows("zip.zip");
    site.publisher.route(TERRITORY, vec![Reply::status(403)]);
    let report = run_here(&site.settings("zip.zip")).await;
    assert_eq!(
        (report.exit_code, report.outcome),
        (ExitCode::Quarantined, "unchanged"),
        "{report:#?}"
    );
    assert!(
        findings(&report)[0].2.ends_with("stays in use"),
        "{report:#?}"
    );
    assert_eq!(site.place.rows("zip.zip"), rows);
}

#[tokio::test(flavor = "multi_thread")]
async fn optional_file_of_the_last_build_is_reported_when_it_is_gone() {
    let site = Site::new().await;
    assert_eq!(
        run_here(&site.settings("zip.zip")).await.exit_code,
        ExitCode::Ok
    );
    site.publisher.route(TERRITORY, vec![Reply::page(404)]);
    let mut settings = site.settings("zip.zip");
    // A place that no other file has goes with it, which is a larger share here than in the whole
    // list.
    settings.accepted.push("zip.zip".to_owned());
    let report = run_here(&settings).await;
    let [(source_id, code, detail)] = findings(&report)[..] else {
        panic!("{report:#?}")
    };
    assert_eq!(
        (source_id, code),
        ("geonames.postal_territory", "optional_file_missing"),
        "{report:#?}"
    );
    assert!(
        detail.contains("/PR.zip any more, and the last build was made from it")
            && detail.contains("the mirror "),
        "{detail}"
    );
}

#[test]
fn rows_of_samples_stay_rows_of_samples_without_another_build() {
    let place = Place::published();
    assert_eq!(place.manifest()["is_sample"], true);
    let before = place.current();
    let mirror = place.root().join("whole");
    std::fs::create_dir_all(mirror.join("data.seattle.gov")).unwrap();
    let report = place
        .pubdata(&[
            "run",
            "permit.seattle",
            "--json",
            "--mirror",
            mirror.to_str().unwrap(),
        ])
        .expect(30)
        .json();
    assert_eq!(
        (&report["is_sample"], &place.manifest()["is_sample"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(
        (report["outcome"].as_str(), place.current()),
        (Some("unchanged"), before)
    );
    assert_eq!(
        place.stale_tasks().into_keys().collect::<Vec<_>>(),
        ["permit.seattle"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn register_of_several_states_is_published_without_the_missing_one() {
    let site = Site::new().await;
    site.publisher.route(
        &format!("/{RATES}/WIR2026Q2FEB18.csv"),
        vec![Reply::status(503)],
    );
    let report = run_here(&site.settings("tax.sst_rates")).await;
    assert_eq!(
        (report.exit_code, report.tasks[0].outcome),
        (ExitCode::SourceMissing, "built"),
        "{report:#?}"
    );
    let [(source_id, code, detail)] = findings(&report)[..] else {
        panic!("{report:#?}")
    };
    assert_eq!((source_id, code), ("tax.sst_rate", "file_missing"));
    assert!(
        detail.contains("WIR2026Q2FEB18.csv: ")
            && detail.contains("503")
            && detail.contains("published without it"),
        "{detail}"
    );
    let states = |place: &Place| {
        place
            .rows("tax.rate")
            .into_values()
            .map(|(row, _)| row["state"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(
        states(&site.place).contains(&"MN".to_owned())
            && !states(&site.place).contains(&"WI".to_owned())
    );
    // The next run finds it, and the run after that keeps its last file in use.
    site.publisher.serve_folder(&site.place.mirror());
    site.publisher.route(
        &format!("/{RATES}/WIR2026Q2FEB18.csv"),
        vec![Reply::file(
            std::fs::read(site.place.mirror().join(RATES).join("WIR2026Q2FEB18.csv")).unwrap(),
        )],
    );
    let whole = run_here(&site.settings("tax.sst_rates")).await;
    assert_eq!(
        (whole.exit_code, findings(&whole)),
        (ExitCode::Ok, Vec::new()),
        "{whole:#?}"
    );
    let rows = site.place.rows("tax.rate");
    site.publisher.route(
        &format!("/{RATES}/WIR2026Q2FEB18.csv"),
        vec![Reply::page(200)],
    );
    let kept = run_here(&site.settings("tax.sst_rates")).await;
    assert_eq!(
        (kept.exit_code, kept.outcome),
        (ExitCode::SourceMissing, "unchanged"),
        "{kept:#?}"
    );
    assert!(findings(&kept)[0].2.ends_with("stays in use"), "{kept:#?}");
    assert_eq!(site.place.rows("tax.rate"), rows);
}

#[tokio::test(flavor = "multi_thread")]
async fn register_without_any_state_is_missing() {
    let site = Site::new().await;
    for name in [
        "MNR2026Q2FEB18.zip",
        "NER2013Q2FEB25.txt",
        "VTR2026Q2FEB18.csv",
        "WIR2026Q2FEB18.csv",
    ] {
        site.publisher
            .route(&format!("/{RATES}/{name}"), vec![Reply::page(404)]);
    }
    let report = run_here(&site.settings("tax.sst_rates")).await;
    assert_eq!(
        (report.exit_code, report.tasks[0].outcome),
        (ExitCode::SourceMissing, "missing"),
        "{report:#?}"
    );
    assert!(
        report.tasks[0].reasons[0].contains("none of its files arrived"),
        "{:?}",
        report.tasks[0].reasons
    );
}

/// No file in that layout was ever seen: valid rows are published, whatever the share of invalid
/// ones, and an operator decides.
#[test]
fn layout_known_from_documents_is_judged_by_the_operator() {
    let place = Place::new();
    std::fs::remove_file(place.mirror().join(".pubdata-mirror")).unwrap();
    let list = place
        .mirror()
        .join("data.colorado.gov/api/views/4ykn-tg5h/rows.csv@accessType=DOWNLOAD");
    let text = std::fs::read_to_string(&list).unwrap();
    let broken: String = text
        .split_inclusive('\n')
        .chain(["\"only,one cell\n"; 1])
        .collect::<String>()
        .replace("only", "9,9");
    std::fs::write(&list, broken).unwrap();
    // Floors of bytes are facts about files, and apply.
    let folder = place.root().join("declarations");
    for name in ["pipelines", "schemas"] {
        pubdata_testing::copy_folder(&pubdata_testing::project(name), &folder.join(name));
    }
    let file = folder.join("pipelines/business/co_sos.toml");
    let declared = std::fs::read_to_string(&file).unwrap();
    let declared = declared.replace("kind = \"excerpt\"", "kind = \"documented\"");
    let small: String = declared
        .lines()
        .filter(|line| !line.starts_with("min_bytes"))
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(&file, small).unwrap();
    let arguments = [
        "business.co_sos",
        "--declarations",
        folder.to_str().unwrap(),
    ];
    let answer = place.run(&arguments).expect(10);
    let task = answer.task("business.co_sos");
    assert_eq!(task["outcome"], "built", "{task:#}");
    assert_eq!(
        task["findings"][0]["code"], "unconfirmed_layout",
        "{task:#}"
    );
    assert!(!place.rows("business.entity").is_empty());
    // After confirmation it is judged like any other: far fewer rows than the floor.
    let judged = place
        .run(&[&arguments[..], &["--accept", "business.co_sos"]].concat())
        .expect(20);
    assert!(
        judged.reasons("business.co_sos").contains("min_rows"),
        "{judged:#?}"
    );
}

/// An unreadable row of the geography file leaves an area without its name. This is reported, and
/// blocks if it affects all rows.
#[test]
fn unreadable_rows_of_geography_are_reported() {
    const GEOGRAPHY: &str = "Geos20235YR.txt";
    const TASK: &str = "census.acs5/vintage=2023";
    let place = Place::new();
    place.edit(GEOGRAPHY, |text| {
        text.replacen(
            "|860Z200US00601|ZCTA5 00601|||",
            "|860Z200US00601|ZCTA5 00601||",
            1,
        )
    });
    let reported = place.run(&[TASK]);
    assert_eq!(
        reported.task(TASK)["quarantined"]["geo.zcta_metric"],
        json!({ "malformed_record": 1 }),
        "{reported:?}"
    );
    place.edit(GEOGRAPHY, |text| text.replace("|||\n", "||\n"));
    let blocked = place.run(&[TASK]).expect(20);
    assert!(
        blocked.reasons(TASK).contains("malformed_record"),
        "{blocked:?}"
    );
}
