use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use pubdata_fetch::FetchSettings;
use pubdata_run::follow::{FollowSettings, once};
use pubdata_store::EventKind;
use serde_json::Value;

use super::desk::Desk;
use pubdata_testing::{instant_waits, project, shared_data};

/// Reads the captured feeds with another XML parser: filings with their form, filing date and
/// parties.
fn read_elsewhere(file: &Path, master: Option<&Path>) -> Option<BTreeMap<String, Value>> {
    let output = Command::new("python3")
        .arg(project("tests/nightly/follow/read_feed.py"))
        .arg(file)
        .args(master)
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: there is no python3");
        return None;
    };
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[tokio::test]
async fn captured_feeds_are_read_as_another_parser_reads_them() {
    let Some(folder) = shared_data("general/feeds") else {
        return;
    };
    let desk = Desk::new().await;
    let mirror = tempfile::tempdir().unwrap();
    let edgar = mirror.path().join("www.sec.gov");
    std::fs::create_dir_all(edgar.join("cgi-bin")).unwrap();
    std::fs::create_dir_all(edgar.join("Archives/edgar")).unwrap();
    let current =
        "cgi-bin/browse-edgar@action=getcurrent&type=&owner=include&start=0&count=100&output=atom";
    let files = [
        ("getcurrent_2024-03-17.atom", current),
        ("usgaap.rss.2025-01-24.xml", "Archives/edgar/usgaap.rss.xml"),
    ];
    let mut expected: BTreeMap<String, Value> = BTreeMap::new();
    for (name, target) in files {
        std::fs::copy(folder.join(name), edgar.join(target)).unwrap();
        let Some(read) = read_elsewhere(&folder.join(name), None) else {
            return;
        };
        expected.extend(read);
    }
    let mut days = Vec::new();
    // The captured index is the one by company, in fixed columns: the same rows.
    if let Some(index) = shared_data("sec/feeds/company.20230703.idx") {
        let indexes = edgar.join("Archives/edgar/daily-index/2023/QTR3");
        std::fs::create_dir_all(&indexes).unwrap();
        expected
            .extend(read_elsewhere(&index, Some(&indexes.join("master.20230703.idx"))).unwrap());
        days.push("2023-07-03".parse().unwrap());
    }
    let fetch = FetchSettings {
        mirrors: vec![mirror.path().display().to_string()],
        ..instant_waits()
    };
    let report = once(FollowSettings {
        fetch,
        days,
        ..desk.settings()
    })
    .await
    .unwrap();
    assert_eq!(
        report.polls.iter().map(|poll| poll.findings).sum::<usize>(),
        0
    );
    let events = desk.events();
    assert!(events.iter().all(|event| event.event == EventKind::Filing));
    let found: BTreeMap<String, Value> = events
        .into_iter()
        .map(|event| {
            let parties: BTreeSet<(String, Option<String>)> = event.filing.entities.into_iter().map(|entity| (entity.cik, entity.role)).collect();
            let value = serde_json::json!({
                "forms": event.filing.forms, "filed_date": event.filing.filed_date, "accepted_at": event.filing.accepted_at, "parties": parties,
            });
            (event.accession_number, value)
        })
        .collect();
    assert!(found.len() > 200, "{}", found.len());
    assert_eq!(found.len(), expected.len());
    for (number, value) in &expected {
        assert_eq!(found.get(number), Some(value), "{number}");
    }
}
