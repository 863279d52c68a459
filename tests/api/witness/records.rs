//! Tests records that equal the sealed ones, and servers that alter them.

use std::collections::BTreeSet;

use pubdata_fetch::log_auditor::Outcome;
use pubdata_store::Scope;

use super::{Auditor, Liar, fine, night, served, wrong};
use crate::receipts::SealedPlace;

#[tokio::test(flavor = "multi_thread")]
async fn records_of_every_dataset_are_sampled_by_seed_and_proven() {
    let liar = Liar::new(served(SealedPlace::new()).await).await;
    let auditor = Auditor {
        records: 30,
        ..Auditor::new(&liar)
    };
    let report = auditor.look().await.unwrap();
    fine(&report);
    assert_eq!(report.records.len(), 30, "{report:#?}");
    assert!(
        report
            .records
            .iter()
            .all(|record| record.outcome == Outcome::Match)
    );
    let datasets: BTreeSet<&str> = report
        .records
        .iter()
        .map(|record| record.record_id.split(':').next().unwrap())
        .collect();
    let manifest = liar.manifest();
    let filled = manifest["datasets"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, dataset)| {
            dataset["parts"]
                .as_array()
                .unwrap()
                .iter()
                .any(|part| part["rows"] != 0)
        });
    assert_eq!(datasets, filled.map(|(id, _)| id.as_str()).collect());
    // The report proves no absence of quarantined records.
    let quarantined = report
        .records
        .iter()
        .filter(|record| record.record_id.starts_with("pubdata.quarantine:"))
        .count();
    assert!(report.absent >= 30 - quarantined, "{report:#?}");
    assert_eq!(auditor.look().await.unwrap().records, report.records);
    let others = Auditor {
        records: 30,
        ..Auditor::new(&liar)
    };
    let mut settings = others.settings();
    settings.seed = 2;
    assert_ne!(
        pubdata_fetch::log_auditor::audit(&settings)
            .await
            .unwrap()
            .records,
        report.records
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn value_altered_in_either_place_is_reported() {
    let liar = Liar::new(served(SealedPlace::new()).await).await;
    let auditor = Auditor::new(&liar);

    liar.replaces(
        "/v1/provenance/",
        r#""columns":{""#,
        r#""columns":{"added":1,""#,
    );
    let report = auditor.look().await.unwrap();
    wrong(
        &report,
        r#"the receipt has added nothing, and /v1/provenance says "1""#,
    );
    assert!(
        report
            .records
            .iter()
            .all(|record| record.outcome == Outcome::Mismatch),
        "{report:#?}"
    );
    assert_eq!(report.problems.len(), report.records.len());

    liar.replaces("/v1/provenance/", r#""length":"#, r#""length":1"#);
    wrong(
        &auditor.look().await.unwrap(),
        "the receipt has other source pointers than /v1/provenance",
    );
    liar.replaces(
        "/v1/provenance/",
        r#""part":{"path":""#,
        r#""part":{"path":"x"#,
    );
    wrong(
        &auditor.look().await.unwrap(),
        "/v1/provenance names part x",
    );
    liar.replaces("/v1/receipts/", r#""record_id":""#, r#""record_id":"x"#);
    wrong(&auditor.look().await.unwrap(), ": ");
    // The list of parts is the source for downloading tables and files.
    liar.lies(|path, status, bytes| {
        let is_table = path.contains("format=csv");
        (
            status,
            if is_table {
                String::from_utf8(bytes)
                    .unwrap()
                    .lines()
                    .take(1)
                    .map(|line| format!("{line}\r\n"))
                    .collect::<String>()
                    .into()
            } else {
                bytes
            },
        )
    });
    wrong(
        &auditor.look().await.unwrap(),
        "has 0 records, and the list of parts says ",
    );
}

/// The figure of the fixture's file, and another one.
#[tokio::test(flavor = "multi_thread")]
async fn altered_figure_is_found_if_its_record_is_sampled() {
    let liar = Liar::new(served(SealedPlace::new()).await).await;
    liar.replaces(
        "/v1/provenance/geo.zcta_metric",
        r#","value":"#,
        r#","value":1"#,
    );
    let auditor = Auditor {
        records: 30,
        ..Auditor::new(&liar)
    };
    let report = auditor.look().await.unwrap();
    wrong(&report, "geo.zcta_metric:");
    assert!(
        report
            .problems
            .iter()
            .all(|problem| problem.contains("the receipt has value ")),
        "{report:#?}"
    );
    let right = report
        .records
        .iter()
        .filter(|record| record.outcome == Outcome::Match)
        .count();
    assert_eq!(right + report.problems.len(), 30);
}

#[tokio::test(flavor = "multi_thread")]
async fn receipts_of_another_release_or_record_do_not_count() {
    let sealed = SealedPlace::new();
    let earlier = sealed.place.current();
    night(&sealed, "19653");
    let present = sealed.place.current();
    let liar = Liar::new(served(sealed).await).await;
    let auditor = Auditor::new(&liar);
    let report = auditor.look().await.unwrap();
    fine(&report);
    assert!(report.notes.is_empty(), "{report:#?}");

    let (of_present, of_earlier) = (format!("release={present}"), format!("release={earlier}"));
    liar.asks(move |path| {
        if path.starts_with("/v1/receipts/") {
            path.replace(&of_present, &of_earlier)
        } else {
            path.to_owned()
        }
    });
    wrong(
        &auditor.look().await.unwrap(),
        &format!("its receipt is of release {earlier}, and the server answers from {present}"),
    );
    // A server that answers from an earlier release can prove all of it, and names that release.
    let (of_present, of_earlier) = (present.clone(), earlier.clone());
    liar.asks(move |path| {
        path.replace("/releases/current", &format!("/releases/{of_earlier}"))
            .replace(&of_present, &of_earlier)
    });
    let report = auditor.look().await.unwrap();
    fine(&report);
    assert_eq!(
        report.notes,
        ["the release is not the newest of the log: it is release 1 of 2"]
    );
    assert_eq!(report.release_id.as_deref(), Some(earlier.as_str()));

    liar.asks(|path| match path.strip_prefix("/v1/receipts/") {
        Some(rest) => format!(
            "/v1/receipts/geo.population:01?{}",
            rest.split_once('?').unwrap().1
        ),
        None => path.to_owned(),
    });
    wrong(
        &auditor.look().await.unwrap(),
        "its receipt is of geo.population:01",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn key_with_some_scopes_proves_those_and_none_is_reported() {
    let served = served(SealedPlace::new()).await;
    let of_places = served.key_of(&[Scope::Geo]);
    let url = crate::serve::at_an_address(&served).await;
    let auditor = Auditor {
        api_key: Some(of_places),
        ..Auditor::at(&url)
    };
    let report = auditor.look().await.unwrap();
    fine(&report);
    assert!(
        report.records.len() == 6
            && report
                .records
                .iter()
                .all(|record| record.record_id.starts_with("geo.")),
        "{report:#?}"
    );
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.ends_with(": no record was drawn: the API key does not open it")),
        "{report:#?}"
    );
    for api_key in [None, Some("pd_not-a-key".to_owned())] {
        let auditor = Auditor {
            api_key,
            ..Auditor::at(&url)
        };
        let error = auditor.look().await.unwrap_err();
        assert!(
            error
                .to_string()
                .contains("opens its records to holders of an API key"),
            "{error}"
        );
        assert!(error.hint_text().unwrap().contains("PUBDATA_KEY"));
        assert_eq!(
            auditor.seen()["url"],
            url.as_str(),
            "the log was checked nevertheless"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_evidence_is_not_counted_as_proof() {
    let liar = Liar::new(served(SealedPlace::new()).await).await;
    let auditor = Auditor::new(&liar);
    let refuses = |below: &'static str, body: &'static str| {
        liar.lies(move |path, status, bytes| {
            if path.starts_with(below) {
                (404, body.as_bytes().to_vec())
            } else {
                (status, bytes)
            }
        });
    };
    refuses("/v1/receipts/", r#"{"code":"coverage_unavailable"}"#);
    let report = auditor.look().await.unwrap();
    assert_eq!(
        (report.outcome, &report.problems),
        (Outcome::NotPossible, &Vec::new()),
        "{report:#?}"
    );
    assert!(
        report
            .notes
            .iter()
            .all(|note| note.contains("no receipt: status 404 (coverage_unavailable)")),
        "{report:#?}"
    );
    refuses("/v1/receipts/", r#"{"code":"not_found"}"#);
    wrong(&auditor.look().await.unwrap(), "has no receipt of it");
    refuses("/v1/provenance/", r#"{"code":"not_found"}"#);
    wrong(
        &auditor.look().await.unwrap(),
        "/v1/provenance does not have it",
    );
}
