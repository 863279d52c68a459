//! Tests the publishers' files: unchanged, replaced, gone, too large, and at addresses that belong
//! to no publisher.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use pubdata_fetch::log_auditor::{AuditReport, FileOutcome, FileReport, Outcome, audit};
use pubdata_fetch::mirror_path;

use super::{Auditor, Liar, fine, served, wrong};
use crate::receipts::SealedPlace;
use pubdata_testing::Place;

const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test(flavor = "multi_thread")]
async fn files_are_compared_with_the_publishers_and_newer_ones_accepted() {
    // The test changes its own mirror; the files behind the server stay.
    let publisher = Place::new();
    let liar = Liar::new(served(SealedPlace::new()).await).await;
    let auditor = Auditor {
        records: 16,
        mirror: Some(publisher.mirror().display().to_string()),
        ..Auditor::new(&liar)
    };
    let report = auditor.look().await.unwrap();
    fine(&report);
    let same: Vec<&FileReport> = report
        .files
        .iter()
        .filter(|file| file.outcome == FileOutcome::Match)
        .collect();
    assert!(same.len() > 5, "{report:#?}");
    let others: Vec<&FileReport> = report
        .files
        .iter()
        .filter(|file| file.outcome != FileOutcome::Match)
        .collect();
    assert!(
        others.iter().all(
            |file| file.outcome == FileOutcome::NotRequested && file.url.starts_with("sftp://")
        ),
        "{others:#?}"
    );
    assert!(
        !auditor.home.path().join("snapshots").exists(),
        "no file is kept"
    );

    let path =
        |file: &FileReport| -> PathBuf { publisher.mirror().join(mirror_path(&file.url).unwrap()) };
    let change = |file: &FileReport, at: SystemTime| {
        let text = [&std::fs::read(path(file)).unwrap()[..], b"\n"].concat();
        std::fs::write(path(file), text).unwrap();
        File::options()
            .write(true)
            .open(path(file))
            .unwrap()
            .set_modified(at)
            .unwrap();
    };
    let text: Vec<&FileReport> = same
        .iter()
        .copied()
        .filter(|file| {
            file.url.ends_with(".csv") || file.url.ends_with(".dat") || file.url.ends_with(".txt")
        })
        .collect();
    let [replaced, gone, page, ..] = text[..] else {
        panic!("{text:#?}")
    };
    change(replaced, SystemTime::now() + HOUR);
    std::fs::remove_file(path(gone)).unwrap();
    std::fs::write(
        path(page),
        "<!DOCTYPE html><html><body>We moved</body></html>",
    )
    .unwrap();
    let report = auditor.look().await.unwrap();
    fine(&report);
    let of: BTreeMap<&str, &FileReport> = report
        .files
        .iter()
        .map(|file| (file.url.as_str(), file))
        .collect();
    assert_eq!(of[replaced.url.as_str()].outcome, FileOutcome::Replaced);
    assert!(
        of[replaced.url.as_str()]
            .detail
            .as_ref()
            .unwrap()
            .starts_with("the publisher has replaced the file since (retrieved on 20")
    );
    assert_eq!(of[gone.url.as_str()].outcome, FileOutcome::Gone);
    // An HTML page in place of a file proves nothing about the file.
    assert_eq!(of[page.url.as_str()].outcome, FileOutcome::Unreachable);
    assert!(
        of[page.url.as_str()]
            .detail
            .as_ref()
            .unwrap()
            .contains("web page")
    );

    // The publisher claims that the file was always this one.
    change(replaced, SystemTime::now() - 24 * 365 * HOUR);
    let report = auditor.look().await.unwrap();
    wrong(
        &report,
        &format!("{}: the publisher has other bytes, dated 20", replaced.url),
    );
    assert!(
        report.problems[0].contains("before the server says that it fetched its own"),
        "{report:#?}"
    );

    let mut settings = auditor.settings();
    settings.publisher_bytes = 1_000;
    let report = audit(&settings).await.unwrap();
    assert!(
        report
            .files
            .iter()
            .any(|file| file.outcome == FileOutcome::TooLarge),
        "{report:#?}"
    );
}

/// A server could name its own copy as confirmation, or make an auditor send requests into a
/// network that the server cannot reach.
#[tokio::test(flavor = "multi_thread")]
async fn address_outside_the_publishers_is_not_requested() {
    let liar = Liar::new(served(SealedPlace::new()).await).await;
    liar.changes("/v1/provenance/", |text| {
        text.replace(r#""url":"https://"#, r#""url":"https://127.0.0.1:1/"#)
    });
    let publisher = Place::new();
    let auditor = Auditor {
        mirror: Some(publisher.mirror().display().to_string()),
        ..Auditor::new(&liar)
    };
    let report = auditor.look().await.unwrap();
    assert!(
        !report.files.is_empty()
            && report
                .files
                .iter()
                .all(|file| file.outcome == FileOutcome::NotRequested),
        "{report:#?}"
    );
    unchecked(&report);
}

/// Asserts that the report has no problem and compared no file.
fn unchecked(report: &AuditReport) {
    assert_eq!(
        (report.outcome, report.problems.len()),
        (Outcome::NotPossible, 0),
        "{report:#?}"
    );
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.starts_with("the publishers' files were not checked")),
        "{report:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_reported_unchecked_if_none_could_be_compared() {
    let liar = Liar::new(served(SealedPlace::new()).await).await;
    let nobody = tempfile::tempdir().unwrap();
    let auditor = Auditor {
        records: 16,
        mirror: Some(nobody.path().display().to_string()),
        ..Auditor::new(&liar)
    };
    let report = auditor.look().await.unwrap();
    assert!(
        report
            .files
            .iter()
            .any(|file| file.outcome == FileOutcome::Gone),
        "{report:#?}"
    );
    unchecked(&report);
    let mut settings = auditor.settings();
    settings.publisher_bytes = 0;
    fine(&audit(&settings).await.unwrap());
}
