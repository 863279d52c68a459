//! Tests servers that send garbage or endless answers: each is reported in time, and none makes the
//! program panic.

use std::time::{Duration, Instant};

use pubdata_core::error::ErrorKind;
use pubdata_fetch::log_auditor::{Outcome, audit};

use super::{Auditor, Liar, served};
use crate::receipts::SealedPlace;
use pubdata_testing::publisher::{Publisher, Reply};

#[tokio::test(flavor = "multi_thread")]
async fn invalid_log_is_reported_by_name() {
    let note = |text: &str| Reply::body(200, text.to_owned());
    for (reply, reported) in [
        (
            Reply::body(200, "x".repeat(1_000)).endless(),
            "/v1/log/checkpoint: the answer has more than 16384 bytes",
        ),
        (
            Reply::body(200, vec![0xff; 40]),
            "/v1/log/checkpoint is not text",
        ),
        (note("nonsense"), "presents no verification key for its log"),
        (
            Reply::status(500),
            "/v1/log/checkpoint answered with status 500",
        ),
        (Reply::status(503), "the server answered 503"),
        (
            Reply::status(302).header("Location", "https://elsewhere.example.org/"),
            "which is not followed",
        ),
    ] {
        let publisher = Publisher::start().await;
        publisher.route("/v1/log/checkpoint", vec![reply]);
        let error = Auditor::at(&publisher.base_url()).look().await.unwrap_err();
        assert!(
            error.kind() == ErrorKind::Fetch && error.to_string().contains(reported),
            "{reported}: {error}"
        );
        assert!(
            error.hint_text().is_some() && !error.to_string().contains('\u{1b}'),
            "{error}"
        );
        assert!(
            publisher
                .all_requests()
                .iter()
                .all(|request| request.header("x-api-key").is_empty())
        );
    }
    let nobody = Auditor::at("http://127.0.0.1:1").look().await.unwrap_err();
    assert!(
        nobody.kind() == ErrorKind::Fetch && nobody.to_string().contains("no answer"),
        "{nobody}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_or_unencrypted_address_is_refused_before_any_request() {
    for (url, reported) in [
        ("data.example.org", "is no address"),
        ("http://data.example.org", "is not encrypted"),
        ("ftp://data.example.org", "is not encrypted"),
        (
            "https://me:secret@data.example.org",
            "has more than a host and a path",
        ),
        (
            "https://data.example.org/?key=secret",
            "has more than a host and a path",
        ),
    ] {
        let error = Auditor::at(url).look().await.unwrap_err();
        assert!(
            error.kind() == ErrorKind::Config
                && error.to_string().contains(reported)
                && !error.to_string().contains("secret"),
            "{url}: {error}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dripping_server_is_abandoned_in_time() {
    let publisher = Publisher::start().await;
    publisher.route(
        "/v1/log/checkpoint",
        vec![Reply::body(200, "x".repeat(20)).dripping()],
    );
    let auditor = Auditor::at(&publisher.base_url());
    let mut settings = auditor.settings();
    settings.fetch.total_timeout = Duration::from_millis(300);
    let started = Instant::now();
    let error = audit(&settings).await.unwrap_err();
    assert!(
        error.to_string().contains("gave up after 2 tries")
            && started.elapsed() < Duration::from_secs(20),
        "{error}"
    );
}

/// Any garbage in an answer is checked against the log or reported, and never reaches a terminal
/// unescaped.
#[tokio::test(flavor = "multi_thread")]
async fn garbage_in_any_answer_is_reported() {
    const NONSENSE: [&str; 9] = [
        "",
        "\u{1b}[2J\u{7}",
        "null",
        "{}",
        r#"{"data":null}"#,
        r#"{"data":{"record":null}}"#,
        r#"{"data":{"release_id":"\u001b[2J","datasets":[]}}"#,
        r#"{"data":{"release_id":"r00000000000000000000","datasets":[{"dataset_id":"\u001b[2J","parts":[{"path":"x","rows":18446744073709551615,"sha256":"0000000000000000000000000000000000000000000000000000000000000000"},{"path":"y","rows":18446744073709551615,"sha256":"0000000000000000000000000000000000000000000000000000000000000000"}]}]}}"#,
        "record_id\r\n\u{1b}[2J\r\n",
    ];
    let liar = Liar::new(served(SealedPlace::new()).await).await;
    let auditor = Auditor {
        records: 2,
        ..Auditor::new(&liar)
    };
    let deep = "[".repeat(100_000);
    for below in [
        "/v1/receipts/",
        "/v1/provenance/",
        "/v1/releases/current",
        "/v1/releases/r",
    ] {
        for nonsense in NONSENSE
            .into_iter()
            .map(str::to_owned)
            .chain([deep.clone()])
        {
            let sent = nonsense.clone();
            liar.lies(move |path, status, bytes| {
                if path.starts_with(below) {
                    (200, sent.clone().into_bytes())
                } else {
                    (status, bytes)
                }
            });
            let what = format!("{below} {}", &nonsense[..nonsense.len().min(60)]);
            match auditor.look().await {
                Ok(report) => {
                    assert!(report.outcome != Outcome::Match, "{what}: {report:#?}");
                    let said = [&report.problems[..], &report.notes].concat();
                    assert!(
                        !said.is_empty() && !said.iter().any(|text| text.contains('\u{1b}')),
                        "{what}: {said:?}"
                    );
                }
                Err(error) => assert!(
                    error.kind() == ErrorKind::Fetch && !error.to_string().contains('\u{1b}'),
                    "{what}: {error}"
                ),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_stops_answering_is_not_asked_for_every_record() {
    let liar = Liar::new(served(SealedPlace::new()).await).await;
    liar.lies(|path, status, bytes| {
        if path.contains("format=csv") || path.starts_with("/v1/receipts/") {
            (503, Vec::new())
        } else {
            (status, bytes)
        }
    });
    let report = Auditor {
        records: 1_000,
        ..Auditor::new(&liar)
    }
    .look()
    .await
    .unwrap();
    assert_eq!(
        (report.outcome, report.records.len()),
        (Outcome::NotPossible, 0),
        "{report:#?}"
    );
    assert!(
        report
            .notes
            .contains(&"the server stopped answering: no further record was drawn".to_owned()),
        "{report:#?}"
    );
}
