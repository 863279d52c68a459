//! Tests `/metrics` of a server whose home has a ledger, and of one whose home has none.

use super::{number, numbers};
use crate::serve::{Served, World};
use pubdata_testing::Place;

#[tokio::test(flavor = "multi_thread")]
async fn metrics_show_the_runs_of_the_home_and_notice_the_next() {
    let place = Place::published();
    let home = place.home();
    let served = Served::start(place).await;
    let text = async || String::from_utf8(served.get("/metrics").await.bytes).unwrap();
    let before = text().await;
    let ended = number(
        &before,
        "pubdata_run_end_timestamp_seconds{channel=\"nightly\"}",
    );
    assert!(ended > 1.7e9, "{ended}");
    // The expected files of the fixture have these counts.
    let schools = std::fs::read_to_string(pubdata_testing::project(
        "fixtures/nces/school/basic/expected/geo.school.jsonl",
    ));
    if let Ok(schools) = schools {
        assert_eq!(
            number(
                &before,
                "pubdata_dataset_rows{channel=\"nightly\",dataset=\"geo.school\"}"
            ),
            schools.lines().count() as f64
        );
    }
    assert_eq!(
        numbers(&before, "pubdata_dataset_freshness{").len(),
        numbers(&before, "pubdata_dataset_rows{").len()
    );
    assert!(number(&before, "pubdata_home_bytes{room=\"snapshots\"}") > 10_000.0);
    assert!(number(&before, "pubdata_home_free_bytes") > 0.0);

    let ledger = std::fs::read_to_string(home.join("ledger.jsonl")).unwrap();
    let mut entry: serde_json::Value =
        serde_json::from_str(ledger.lines().last().unwrap()).unwrap();
    entry["exit_code"] = 60.into();
    entry["outcome"] = "failed".into();
    entry["tasks"] = serde_json::json!({});
    entry["ended_at"] = "2099-01-01T00:00:00Z".into();
    std::fs::write(home.join("ledger.jsonl"), format!("{ledger}{entry}\n")).unwrap();
    let after = text().await;
    assert_eq!(
        number(&after, "pubdata_run_exit_code{channel=\"nightly\"}"),
        60.0
    );
    assert_eq!(
        number(
            &after,
            "pubdata_run_end_timestamp_seconds{channel=\"nightly\"}"
        ),
        4_070_908_800.0
    );
    assert_eq!(
        number(
            &after,
            "pubdata_run_success_timestamp_seconds{channel=\"nightly\"}"
        ),
        ended
    );
}

#[tokio::test]
async fn metrics_without_a_ledger_show_the_release_only() {
    let world = World::new().await;
    let text = String::from_utf8(world.get("/metrics").await.bytes).unwrap();
    assert!(
        !numbers(&text, "pubdata_dataset_rows{").is_empty(),
        "{text}"
    );
    assert_eq!(numbers(&text, "pubdata_run_exit_code{").len(), 0);
    assert_eq!(numbers(&text, "pubdata_task_outcome{").len(), 0);
}
