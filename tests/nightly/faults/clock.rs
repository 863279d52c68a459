//! Checks a clock that was ahead or was set back: state written at that time, and later requests.

use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::Request;
use jiff::Timestamp;
use pubdata_core::declared::DeclarationFiles;
use pubdata_core::pipeline::Declarations;
use pubdata_run::RunSettings;
use pubdata_serve::{ServeSettings, Server};
use pubdata_store::Plans;
use tower::ServiceExt;

use super::{Ground, LIST};
use pubdata_testing::{ClockAt, files_below, run_here, settings};

/// Replaces the times in a file with times of a future year.
fn of_a_year_to_come(path: &Path, keys: &[&str]) {
    let text = std::fs::read_to_string(path).unwrap();
    let year = Timestamp::now().strftime("%Y-").to_string();
    let mut changed = text.clone();
    for key in keys {
        for colon in [":", ": "] {
            changed = changed.replace(
                &format!("\"{key}\"{colon}\"{year}"),
                &format!("\"{key}\"{colon}\"2099-"),
            );
        }
    }
    assert_ne!(text, changed, "{}", path.display());
    let _ = std::fs::remove_file(path);
    std::fs::write(path, changed).unwrap();
}

/// Removes half of the places from the list.
fn lose_half(ground: &Ground) {
    let path = ground.mirror().join(LIST);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    std::fs::write(path, lines[..lines.len() / 2].join("\n") + "\n").unwrap();
}

#[test]
fn state_written_by_a_fast_clock_blocks_nothing() {
    let ground = Ground::new();
    let expected = ground.expected();
    of_a_year_to_come(
        &ground.home().join("ledger.jsonl"),
        &["started_at", "ended_at"],
    );
    of_a_year_to_come(
        &ground.home().join("channels/nightly/0000000002.json"),
        &["moved_at"],
    );
    for path in files_below(&ground.home().join("state/urls")) {
        of_a_year_to_come(&path, &["fetched_at"]);
    }
    std::fs::File::open(ground.mirror().join(LIST))
        .unwrap()
        .set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(40 << 20))
        .unwrap();
    for (name, arguments) in ground.commands().into_iter().filter(|(name, _)| {
        !name.starts_with("releases pr") && !matches!(*name, "releases rollback" | "run" | "import")
    }) {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let answer = ground.pubdata(&arguments);
        assert_eq!(answer.code, Some(0), "{name}: {answer:#?}");
    }
    // A file dated in the future is reported and published.
    let night = ground.run().expect(10).json();
    assert!(
        night["tasks"][0]["findings"]
            .to_string()
            .contains("future_date"),
        "{night:#}"
    );
    assert_eq!(ground.current(), expected);
    ground.pubdata(&["verify", "--rebuild"]).expect(0);
    ground.pubdata(&["releases", "rollback"]).expect(0);
    assert_ne!(
        ground.current(),
        expected,
        "the channel goes back by its numbers, whatever its times say"
    );
}

/// A run dated in the future once appeared to have used up a later acceptance.
#[test]
fn acceptance_counts_for_the_next_run_despite_a_future_dated_last_run() {
    let ground = Ground::new();
    of_a_year_to_come(
        &ground.home().join("ledger.jsonl"),
        &["started_at", "ended_at"],
    );
    lose_half(&ground);
    ground.run().expect(0);
    let used = std::fs::read_to_string(ground.home().join("ledger.jsonl")).unwrap();
    assert!(
        used.lines()
            .last()
            .unwrap()
            .contains("\"accepted\":[\"census.population:shrink\"]"),
        "{used}"
    );
    lose_half(&ground);
    ground.run().expect(20);
}

/// The reverse: the run that used the acceptance is the one dated in the future.
#[test]
fn acceptance_of_a_future_dated_run_is_used_up() {
    let ground = Ground::new();
    lose_half(&ground);
    ground.run().expect(0);
    of_a_year_to_come(
        &ground.home().join("ledger.jsonl"),
        &["started_at", "ended_at"],
    );
    lose_half(&ground);
    ground.run().expect(20);
}

fn settings_at(ground: &Ground, now: &str) -> RunSettings {
    let files = DeclarationFiles::from_dir(&ground.path("declarations")).unwrap();
    let mut settings = settings(
        &ground.home(),
        vec![ground.mirror().display().to_string()],
        files,
    );
    settings.fetch.clock = Arc::new(ClockAt(now.parse().unwrap()));
    settings
}

/// A clock decides what is requested, never what is kept.
#[tokio::test(flavor = "multi_thread")]
async fn run_with_a_wrong_clock_loses_nothing_and_the_next_one_is_normal() {
    let ground = Ground::new();
    let expected = ground.expected();
    let rows = |ground: &Ground| {
        let shown = ground
            .pubdata(&["releases", "show", "--json"])
            .expect(0)
            .json();
        shown["manifest"]["datasets"]["geo.population"]["parts"][0]["rows"]
            .as_u64()
            .unwrap()
    };
    let before = rows(&ground);
    for now in [
        "1999-12-31T23:59:59Z",
        "2025-01-15T12:00:00Z",
        "2038-01-19T03:14:08Z",
        "2099-06-01T00:00:00Z",
    ] {
        let report = run_here(&settings_at(&ground, now)).await;
        assert!(
            matches!(u8::from(report.exit_code), 0 | 10 | 30),
            "{now}: {report:#?}"
        );
        assert_eq!(rows(&ground), before, "{now}");
        ground.pubdata(&["verify"]).expect(0);
        ground.run().expect(0);
        assert_eq!(
            (ground.current(), rows(&ground)),
            (expected.clone(), before),
            "{now}: with the right clock"
        );
        ground.back();
    }
}

/// Neither a start in the future nor a step back stops a server; ages follow its clock.
#[tokio::test(flavor = "multi_thread")]
async fn server_answers_whatever_its_clock_does() {
    let ground = Ground::new();
    let files = DeclarationFiles::from_dir(&ground.path("declarations")).unwrap();
    let (plans, contracts) = (
        Plans::load(&files).unwrap(),
        Declarations::load(files).unwrap().contracts,
    );
    let clock = Arc::new(Mutex::new(Timestamp::now()));
    let reported = clock.clone();
    let server = Server::new(
        ServeSettings::new(ground.home(), plans),
        contracts,
        Arc::new(move || *reported.lock().unwrap()),
    )
    .unwrap();
    server.refresh().await.unwrap();
    let mut ages = Vec::new();
    for now in [
        "2026-12-01T00:00:00Z",
        "2026-11-01T00:00:00Z",
        "2031-01-01T00:00:00Z",
        "2001-01-01T00:00:00Z",
    ] {
        *clock.lock().unwrap() = now.parse().unwrap();
        server.refresh().await.unwrap();
        for path in ["/readyz", "/v1/coverage"] {
            let request = Request::get(path)
                .header("x-api-key", &ground.key)
                .body(Body::empty())
                .unwrap();
            let response = server.api().oneshot(request).await.unwrap();
            assert_eq!(response.status(), 200, "{path} at {now}");
            if path == "/v1/coverage" {
                let bytes = axum::body::to_bytes(response.into_body(), 1 << 22)
                    .await
                    .unwrap();
                let text = String::from_utf8(bytes.to_vec()).unwrap();
                ages.push(
                    ["\"fresh\"", "\"stale\"", "\"expired\""]
                        .into_iter()
                        .find(|word| text.contains(word))
                        .map(str::to_owned),
                );
            }
        }
    }
    assert!(
        ages[2] != ages[3],
        "five years later the release is older than before it was published: {ages:?}"
    );
}
