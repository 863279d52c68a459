//! Checks what a probe reports about publishers that changed a file, and that its suggestions make
//! the next run publish.

mod home;
mod server;
mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::Declarations;
use pubdata_run::{
    self as run, PredictedOutcome, ProbeReport, ProbeSettings, SharedObserver, Verdict,
};
use serde_json::Value;

use pubdata_testing::publisher::{Authority, Publisher, Reply};
use pubdata_testing::{Answer, NoopObserver, Place, answer, files_below, instant_waits, project};

const SEATTLE: &str = "permit.seattle";
const SEATTLE_FILE: &str = "76t5-zqzr/rows.csv@accessType=DOWNLOAD";
const SCHOOLS: &str = "nces.ccd_directory";
const EDGE: &str = "EDGE_GEOCODE_PUBLICSCH_2425.zip";

/// Runs `pubdata probe --json` on the mirror, with a folder for temporary files that must be empty
/// afterwards.
#[track_caller]
fn probe(place: &Place, arguments: &[&str]) -> Answer {
    let temporary = place.root().join("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    let mut command = place.command(&["probe", "--json"]);
    command
        .args(arguments)
        .arg("--mirror")
        .arg(place.mirror())
        .env("TMPDIR", &temporary);
    let answer = answer(&mut command);
    assert_eq!(
        std::fs::read_dir(&temporary).unwrap().count(),
        0,
        "no temporary file stays behind"
    );
    answer
}

#[track_caller]
fn source(answer: &Answer, source_id: &str) -> Value {
    let report = answer.json();
    let sources = report["sources"].as_array().unwrap();
    sources
        .iter()
        .find(|source| source["source_id"] == source_id)
        .cloned()
        .unwrap_or_else(|| panic!("no source {source_id}: {report:#}"))
}

#[track_caller]
fn suggestion(source: &Value) -> String {
    source["suggestion"]
        .as_str()
        .unwrap_or_else(|| panic!("no suggestion: {source:#}"))
        .to_owned()
}

fn written(place: &Place) -> PathBuf {
    place.root().join("declarations")
}

/// Probes with `--write`, then runs with the written declarations.
#[track_caller]
fn run_with_suggestions(place: &Place, selector: &str) -> Answer {
    let folder = written(place);
    probe(place, &[selector, "--write", folder.to_str().unwrap()]);
    place.run(&[selector, "--declarations", folder.to_str().unwrap()])
}

fn bytes_below(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    files_below(root)
        .into_iter()
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect()
}

/// Changes the names in the first line of a file.
fn with_header(text: &str, change: impl FnOnce(&str) -> String) -> String {
    let (header, rows) = text.split_once('\n').unwrap();
    format!("{}\n{rows}", change(header))
}

#[test]
fn probe_predicts_the_run_and_leaves_no_files() {
    let place = Place::new();
    let probed = probe(&place, &[]);
    assert!(!place.home().exists(), "no home is created");
    let run = place.run(&[]);
    assert_eq!((probed.code, run.code), (Some(10), Some(10)), "{probed:#?}");
    let report = probed.json();
    let mut sampled = 0;
    for task in report["tasks"].as_array().unwrap() {
        let done = run.task(task["task_id"].as_str().unwrap());
        let would_publish =
            ["publish", "publish_with_findings"].contains(&task["would"].as_str().unwrap());
        assert_eq!(
            would_publish,
            done["outcome"] == "built",
            "{task:#}\n{done:#}"
        );
        // For sources with many files of a kind, such as Florida's daily and San Diego's yearly
        // ones, a probe requests two.
        let is_of_many =
            ["business.fl_sunbiz", "permit.san_diego"].contains(&task["task_id"].as_str().unwrap());
        if task["not_sampled"].is_null() && !is_of_many {
            sampled += 1;
            assert_eq!(task["rows"], done["rows"], "{task:#}");
        }
    }
    assert!(sampled > 30, "{sampled}");
    let counts: u64 = [
        "would_publish",
        "would_publish_with_findings",
        "would_keep_last",
        "would_block",
    ]
    .iter()
    .map(|name| report["counts"][name].as_u64().unwrap())
    .sum();
    assert_eq!(counts, report["tasks"].as_array().unwrap().len() as u64);
}

#[test]
fn home_is_only_read() {
    let place = Place::new();
    place.run(&[SEATTLE]);
    let before = bytes_below(&place.home());
    probe(&place, &[SEATTLE]).expect(0);
    assert_eq!(bytes_below(&place.home()), before);
}

#[test]
fn new_column_is_a_finding_with_the_suggestion_to_ignore_it() {
    let place = Place::new();
    place.edit(SEATTLE_FILE, |text| {
        text.lines()
            .enumerate()
            .map(|(number, line)| {
                if number == 0 {
                    format!("{line},StoryCount\n")
                } else {
                    format!("{line},7\n")
                }
            })
            .collect()
    });
    let probed = probe(&place, &[SEATTLE]).expect(10);
    let source = source(&probed, SEATTLE);
    assert_eq!(
        (&source["verdict"], &source["would"]),
        (&"changed".into(), &"publish_with_findings".into()),
        "{source:#}"
    );
    assert_eq!(
        source["header"],
        serde_json::json!({ "missing": [], "new": ["storycount"] })
    );
    assert_eq!(source["with_suggestions"], "publish");
    assert!(suggestion(&source).contains("ignore = ["), "{source:#}");
    place.run(&[SEATTLE]).expect(10);
    run_with_suggestions(&place, SEATTLE).expect(0);
}

/// Two rows of each file are sampled. The relationship file, which the Gazetteer is compared with,
/// is read whole.
#[test]
fn samples_of_joined_files_do_not_decide_which_rows_match() {
    let place = Place::with(&["census"]);
    let widened = |delimiter: char| {
        move |text: String| {
            text.lines()
                .map(|line| format!("{}{delimiter}ADDED\n", line.trim_end()))
                .collect::<String>()
        }
    };
    place.edit_member("2025_Gaz_zcta_national.zip", |text| {
        widened(if text.contains('|') { '|' } else { '\t' })(text)
    });
    place.edit("acsdt5y2023-b19013.dat", widened('|'));
    for task_id in ["census.gazetteer", super::ACS_2023] {
        let probed = probe(
            &place,
            &[task_id.split('/').next().unwrap(), "--sample", "2"],
        )
        .expect(10);
        let tasks = probed.json()["tasks"].as_array().unwrap().clone();
        let task = tasks
            .iter()
            .find(|task| task["task_id"] == task_id)
            .unwrap();
        assert_eq!(
            (&task["outcome"], &task["would"]),
            (&"built".into(), &"publish_with_findings".into()),
            "{task:#}"
        );
        assert!(
            task["not_sampled"].as_str().unwrap().contains("joined"),
            "{task:#}"
        );
    }
    let run = place.run(&[]).expect(10);
    assert_eq!(
        ["census.gazetteer", super::ACS_2023].map(|task_id| run.task(task_id)["outcome"].clone()),
        ["built", "built"],
        "{run:#?}"
    );
}

#[test]
fn written_declarations_are_complete_and_differ_only_in_changed_lines() {
    let place = Place::new();
    place.edit(SEATTLE_FILE, |text| {
        with_header(&text, |header| {
            header.replace(",PermitNum,", ",Permit Number,")
        })
    });
    let folder = written(&place);
    probe(&place, &[SEATTLE, "--write", folder.to_str().unwrap()]).expect(20);
    for root in ["pipelines", "schemas"] {
        let original = files_below(&project(root));
        assert_eq!(files_below(&folder.join(root)).len(), original.len());
        for file in original {
            let (before, after) = (
                std::fs::read(&file).unwrap(),
                std::fs::read(folder.join(file.strip_prefix(project("")).unwrap())).unwrap(),
            );
            assert_eq!(
                before == after,
                !file.ends_with("permit/seattle.toml"),
                "{}",
                file.display()
            );
        }
    }
    let lines = |path: PathBuf| {
        std::fs::read_to_string(path)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (before, after) = (
        lines(project("pipelines/permit/seattle.toml")),
        lines(folder.join("pipelines/permit/seattle.toml")),
    );
    assert_eq!(
        before.iter().filter(|line| !after.contains(line)).count(),
        1
    );
    assert_eq!(before.len(), after.len());
    let again = probe(&place, &[SEATTLE, "--write", folder.to_str().unwrap()]).expect(40);
    assert!(again.stderr.contains("already there"), "{again:#?}");
}

#[test]
fn renamed_column_is_recognised_by_its_name() {
    let place = Place::new();
    place.edit(SEATTLE_FILE, |text| {
        with_header(&text, |header| {
            header.replace(",PermitNum,", ",Permit Number,")
        })
    });
    let probed = probe(&place, &[SEATTLE]).expect(20);
    let source = source(&probed, SEATTLE);
    assert_eq!(
        (
            &source["verdict"],
            &source["would"],
            &source["with_suggestions"]
        ),
        (&"changed".into(), &"block".into(), &"publish".into()),
        "{source:#}"
    );
    assert_eq!(
        source["header"],
        serde_json::json!({ "missing": ["permitnum"], "new": ["permit_number"] })
    );
    let line = "# guessed: `permit_number` has a similar name\ncolumns.permit_number = [\"permitnum\", \"permit_number\"]\n";
    assert!(suggestion(&source).contains(line), "{source:#}");
    place.run(&[SEATTLE]).expect(20);
    run_with_suggestions(&place, SEATTLE).expect(0);
}

#[test]
fn renamed_column_is_recognised_by_words_of_the_settings() {
    let place = Place::new();
    place.edit(SEATTLE_FILE, |text| {
        with_header(&text, |header| header.replace("StatusCurrent", "Phase"))
    });
    let source = source(&probe(&place, &[SEATTLE]).expect(20), SEATTLE);
    let line = "# guessed: `phase` has the same values as in the settings\ncolumns.status = [\"statuscurrent\", \"phase\"]\n";
    assert!(suggestion(&source).contains(line), "{source:#}");
    run_with_suggestions(&place, SEATTLE).expect(0);
}

#[test]
fn renamed_column_is_recognised_by_the_values_of_the_last_run() {
    let place = Place::new();
    place.run(&[SEATTLE]).expect(0);
    place.edit(SEATTLE_FILE, |text| {
        with_header(&text, |header| header.replace("OriginalAddress1", "Where"))
    });
    let line = "# guessed: `where` has the same values as in the last file\ncolumns.line1 = [\"originaladdress1\", \"where\"]\n";
    let source = source(&probe(&place, &[SEATTLE]).expect(20), SEATTLE);
    assert!(suggestion(&source).contains(line), "{source:#}");
    // The operator probes after the run that was blocked by it.
    place.run(&[SEATTLE]).expect(20);
    let source = self::source(&probe(&place, &[SEATTLE]).expect(20), SEATTLE);
    assert!(suggestion(&source).contains(line), "{source:#}");
    run_with_suggestions(&place, SEATTLE).expect(0);
}

/// Every row has the same value, which distinguishes no column.
#[test]
fn renamed_column_is_recognised_by_its_position_as_noted_when_written() {
    let place = Place::new();
    place.run(&[SEATTLE]).expect(0);
    place.edit(SEATTLE_FILE, |text| {
        with_header(&text, |header| header.replace("OriginalState", "Region"))
    });
    let source = source(&probe(&place, &[SEATTLE]).expect(20), SEATTLE);
    let line = "# guessed: `region` has the same position among the columns\ncolumns.address_state = [\"originalstate\", \"region\"]\n";
    assert!(suggestion(&source).contains(line), "{source:#}");
    run_with_suggestions(&place, SEATTLE).expect(0);
    let text =
        std::fs::read_to_string(written(&place).join("pipelines/permit/seattle.toml")).unwrap();
    assert!(
        text.contains(" # guessed: `region` has the same position among the columns\n"),
        "{text}"
    );
}

#[test]
fn missing_column_without_evidence_gets_no_suggestion() {
    let place = Place::new();
    place.edit(SEATTLE_FILE, |text| {
        with_header(&text, |header| header.replace("OriginalAddress1", "Where"))
    });
    let source = source(&probe(&place, &[SEATTLE]).expect(20), SEATTLE);
    assert_eq!(
        source["header"],
        serde_json::json!({ "missing": ["originaladdress1"], "new": ["where"] })
    );
    assert!(source["suggestion"].is_null(), "{source:#}");
}

#[test]
fn unknown_word_is_reported_and_a_known_words_spelling_is_suggested() {
    let place = Place::new();
    place.edit(SEATTLE_FILE, |text| {
        text.replacen(",Completed,", ",Teleported,", 1)
            .replacen(",Expired,", ",Phase Isued,", 1)
    });
    let probed = probe(&place, &[SEATTLE]).expect(10);
    let source = source(&probed, SEATTLE);
    assert_eq!(source["verdict"], "ok");
    assert_eq!(
        source["sample"]["unknown_values"],
        serde_json::json!({ "status": ["Phase Isued", "Teleported"] }),
        "{source:#}"
    );
    let suggestion = suggestion(&source);
    let lines = "[settings.status]\n# guessed: `Phase Isued` is another spelling of `Phase Issued`\n\"Phase Isued\" = \"active\"\n";
    assert!(
        suggestion.contains(lines) && !suggestion.contains("Teleported"),
        "{suggestion}"
    );
    let run = run_with_suggestions(&place, SEATTLE);
    assert_eq!(
        run.task(SEATTLE)["warnings"]["permit.permit"]["unmapped_status"],
        1,
        "{run:#?}"
    );
}

#[test]
fn absent_file_keeps_the_last_build_if_there_is_one() {
    let place = Place::new();
    let file = place.file(SEATTLE_FILE);
    let bytes = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let absent = source(&probe(&place, &[SEATTLE]).expect(30), SEATTLE);
    assert_eq!(
        (&absent["verdict"], &absent["would"]),
        (&"absent".into(), &"block".into()),
        "{absent:#}"
    );
    assert!(absent["suggestion"].is_null());
    place.run(&[SEATTLE]).expect(30);
    std::fs::write(&file, bytes).unwrap();
    place.run(&[SEATTLE]).expect(0);
    std::fs::remove_file(&file).unwrap();
    let absent = source(&probe(&place, &[SEATTLE]).expect(30), SEATTLE);
    assert_eq!(
        (&absent["verdict"], &absent["would"]),
        (&"absent".into(), &"keep_last".into()),
        "{absent:#}"
    );
}

#[test]
fn page_in_place_of_a_file_is_a_change_and_a_blocking_page_a_refusal() {
    let place = Place::new();
    place.edit(SEATTLE_FILE, |_| {
        "<!DOCTYPE html><html><body>We moved our data.</body></html>".to_owned()
    });
    let page = source(&probe(&place, &[SEATTLE]).expect(30), SEATTLE);
    assert_eq!(
        (&page["verdict"], &page["would"]),
        (&"changed".into(), &"block".into()),
        "{page:#}"
    );
    assert!(
        page["problem"]
            .as_str()
            .unwrap()
            .contains("a web page in place of the file")
    );
    place.edit(SEATTLE_FILE, |_| {
        "<html><body>Please complete the CAPTCHA to continue.</body></html>".to_owned()
    });
    let wall = source(&probe(&place, &[SEATTLE]).expect(30), SEATTLE);
    assert_eq!(wall["verdict"], "refused", "{wall:#}");
}

#[test]
fn records_outside_the_layout_block_the_probe_as_they_block_the_run() {
    let place = Place::new();
    place.edit(SEATTLE_FILE, |text| {
        text.replace(",Building,", ",Building,,,")
    });
    let broken = source(&probe(&place, &[SEATTLE]).expect(20), SEATTLE);
    assert_eq!(
        (&broken["verdict"], &broken["would"]),
        (&"ok".into(), &"block".into()),
        "{broken:#}"
    );
    assert!(
        broken["sample"]["quarantined"]["malformed_record"]
            .as_u64()
            .unwrap()
            > 5,
        "{broken:#}"
    );
    place.run(&[SEATTLE]).expect(20);
}

#[test]
fn truncated_archive_is_missing_as_in_a_run() {
    let place = Place::new();
    let file = place.file(EDGE);
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 30]).unwrap();
    let edge = source(&probe(&place, &[SCHOOLS]).expect(30), "nces.edge_geocode");
    assert_eq!(
        (&edge["verdict"], &edge["outcome"]),
        (&"changed".into(), &"missing".into()),
        "{edge:#}"
    );
    let problem = edge["problem"].as_str().unwrap();
    assert!(
        place
            .run(&[SCHOOLS])
            .expect(30)
            .reasons(SCHOOLS)
            .contains(problem),
        "{problem}"
    );
}

#[test]
fn archive_without_the_declared_member_blocks() {
    let place = Place::new();
    place.edit_archive(EDGE, |members| {
        let (name, text) = members.pop_first().unwrap();
        members.insert(format!("old/{name}.bak"), text);
    });
    let edge = source(&probe(&place, &[SCHOOLS]).expect(20), "nces.edge_geocode");
    assert_eq!(
        (&edge["verdict"], &edge["would"]),
        (&"changed".into(), &"block".into()),
        "{edge:#}"
    );
    assert!(
        edge["problem"]
            .as_str()
            .unwrap()
            .contains("no member matches"),
        "{edge:#}"
    );
    place.run(&[SCHOOLS]).expect(20);
}

fn settings(mirror: String, selector: &str) -> ProbeSettings {
    let fetch = pubdata_fetch::FetchSettings {
        mirrors: vec![mirror],
        ..instant_waits()
    };
    let declarations = Declarations::load(DeclarationFiles::built_in()).unwrap();
    ProbeSettings {
        declarations,
        fetch,
        selectors: vec![selector.to_owned()],
        chosen: run::Chosen::default(),
        rows: 1_000,
        published: None,
        home: None,
    }
}

async fn probe_here(settings: &ProbeSettings) -> ProbeReport {
    run::probe(settings, &(Arc::new(NoopObserver) as SharedObserver))
        .await
        .unwrap()
}

fn target(place: &Place) -> String {
    format!(
        "/{}",
        place
            .file(SEATTLE_FILE)
            .strip_prefix(place.mirror())
            .unwrap()
            .display()
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn moved_file_gets_its_new_address() {
    let (place, publisher) = (Place::new(), Publisher::start().await);
    publisher.serve_folder(&place.mirror());
    let new = "https://open.example.org/permits/list.csv";
    publisher.route(
        &target(&place),
        vec![Reply::status(301).header("Location", new)],
    );
    let report = probe_here(&settings(publisher.base_url(), SEATTLE)).await;
    let source = &report.sources[0];
    assert_eq!(
        (source.verdict, source.predicted, source.status),
        (Verdict::Moved, PredictedOutcome::Block, Some(301)),
        "{report:#?}"
    );
    assert!(
        source
            .suggestion
            .as_ref()
            .unwrap()
            .contains(&format!("url = \"{new}\"")),
        "{report:#?}"
    );
    // The file is at the address that the server gave.
    let folder = written(&place);
    report.suggested.write_to(&folder).unwrap();
    let moved = place.mirror().join("open.example.org/permits/list.csv");
    std::fs::create_dir_all(moved.parent().unwrap()).unwrap();
    std::fs::rename(place.file(SEATTLE_FILE), moved).unwrap();
    place.run(&[SEATTLE]).expect(30);
    place
        .run(&[SEATTLE, "--declarations", folder.to_str().unwrap()])
        .expect(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_server_is_reported_with_its_status() {
    for (status, verdict) in [
        (403, Verdict::Refused),
        (401, Verdict::Refused),
        (404, Verdict::Absent),
        (503, Verdict::Unreachable),
    ] {
        let (place, publisher) = (Place::new(), Publisher::start().await);
        publisher.serve_folder(&place.mirror());
        publisher.route(&target(&place), vec![Reply::page(status)]);
        let report = probe_here(&settings(publisher.base_url(), SEATTLE)).await;
        let source = &report.sources[0];
        assert_eq!(
            (source.verdict, source.predicted),
            (verdict, PredictedOutcome::Block),
            "{status}: {report:#?}"
        );
        assert!(
            source.status.is_none() || source.status == Some(status),
            "{report:#?}"
        );
        assert_eq!(u8::from(report.exit_code), 30);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refusing_publisher_is_reported_with_the_hint_for_its_source() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let publisher = Publisher::start_tls(&authority, &["data.seattle.gov"]).await;
    publisher.route(
        "/api/views/76t5-zqzr/rows.csv?accessType=DOWNLOAD",
        vec![Reply::page(403)],
    );
    let requested = |ca_file, contact: Option<&str>| {
        let mut given = settings(String::new(), SEATTLE);
        let resolve = [("data.seattle.gov".to_owned(), publisher.address())].into();
        given.fetch = pubdata_fetch::FetchSettings {
            ca_file,
            contact: contact.map(str::to_owned),
            resolve,
            ..instant_waits()
        };
        given
    };
    let ca = Some(authority.write(folder.path()));
    for contact in [None, Some("ada@example.org")] {
        let source = probe_here(&requested(ca.clone(), contact))
            .await
            .sources
            .remove(0);
        let ways = source.hints.join("\n");
        assert_eq!(
            (source.verdict, source.status, source.problem.as_deref()),
            (
                Verdict::Refused,
                Some(403),
                Some("the server answered 403 Forbidden")
            )
        );
        assert!(
            ways.contains("United States") && ways.contains("`pubdata import permit.seattle FILE`"),
            "{ways}"
        );
        assert_eq!(
            ways.contains("PUBDATA_CONTACT"),
            contact.is_none(),
            "{ways}"
        );
    }
    let stranger = probe_here(&requested(None, None)).await.sources.remove(0);
    assert!(
        stranger.verdict == Verdict::Unreachable && stranger.hints[0].contains("--ca"),
        "{stranger:#?}"
    );
}

/// Whole files of megabytes are never fetched: the probe closes the connection to a server that
/// ignores ranges.
#[tokio::test(flavor = "multi_thread")]
async fn only_the_head_of_a_large_file_is_fetched() {
    let (place, publisher) = (Place::new(), Publisher::start().await);
    publisher.serve_folder(&place.mirror());
    let text = std::fs::read_to_string(place.file(SEATTLE_FILE)).unwrap();
    let (header, row) = text.split_once('\n').unwrap();
    let row = row.lines().next().unwrap();
    let rows: String = (0..20_000)
        .map(|number| format!("{}\n", row.replacen("6062967", &number.to_string(), 1)))
        .collect();
    let body = format!("{header}\n{rows}");
    assert!(body.len() > 4_000_000);
    publisher.route(&target(&place), vec![Reply::body(200, body.clone())]);
    let report = probe_here(&ProbeSettings {
        rows: 300,
        ..settings(publisher.base_url(), SEATTLE)
    })
    .await;
    let sample = report.sources[0].sample.as_ref().unwrap();
    assert_eq!(
        (report.sources[0].verdict, sample.rows, sample.accepted),
        (Verdict::Ok, 300, 300),
        "{report:#?}"
    );
    let all = probe_here(&ProbeSettings {
        rows: 100_000,
        ..settings(publisher.base_url(), SEATTLE)
    })
    .await;
    let rows = all.sources[0].sample.as_ref().unwrap().rows;
    assert!((500..2_000).contains(&rows), "256 KiB of rows, not {rows}");
}
