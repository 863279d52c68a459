use std::collections::BTreeMap;

use pubdata_core::ids::Digest;
use pubdata_core::provenance::{Obtained, Snapshot};
use pubdata_fetch::Outcome;

use super::desk::{Desk, TestClock, table};
use pubdata_testing::publisher::Reply;

const DATE: &str = "Thu, 07 Dec 2023 05:00:00 GMT";

#[tokio::test]
async fn first_fetch_keeps_the_bytes_and_their_headers() {
    let desk = Desk::new().await;
    desk.publisher.route(
        "/acs/table.dat",
        vec![
            Reply::file(table(50))
                .etag("\"v1\"")
                .last_modified(DATE)
                .content_type("text/plain"),
        ],
    );
    let snapshot = desk.fetch_new(&desk.request("/acs/table.dat")).await;
    let expected = Snapshot {
        source_id: "test.table".to_owned(),
        keys: BTreeMap::from([("vintage".to_owned(), "2023".to_owned())]),
        url: desk.publisher.url("/acs/table.dat"),
        sha256: Digest::sha256(&table(50)),
        size_bytes: table(50).len() as u64,
        source_version: "2019-2023".to_owned(),
        source_date: "2023-12-07".to_owned(),
        etag: Some("\"v1\"".to_owned()),
        last_modified: Some(DATE.to_owned()),
        fetched_at: "2100-01-01T00:00:00Z".to_owned(),
        redirected_through: Vec::new(),
        obtained: Obtained::ByProgram,
        mirror: None,
    };
    assert_eq!(snapshot, expected);
    assert_eq!(
        desk.stored(),
        [(
            format!("test.table/{}-table.dat", snapshot.sha256),
            table(50)
        )]
    );
    assert_eq!(desk.partials(), []);
    let received = &desk.publisher.all_requests()[0];
    assert_eq!(
        (
            received.method.as_str(),
            received.header("accept-encoding"),
            received.header("range")
        ),
        ("GET", "identity", "")
    );
}

#[tokio::test]
async fn unchanged_file_is_not_sent_again() {
    let desk = Desk::new().await;
    desk.publisher.route(
        "/table.dat",
        vec![Reply::file(table(50)).etag("W/\"v1\"").last_modified(DATE)],
    );
    let request = desk.request("/table.dat");
    let snapshot = desk.fetch_new(&request).await;
    assert_eq!(desk.fetch_unchanged(&request).await, snapshot);
    let received = desk.publisher.requests("/table.dat");
    assert_eq!(received.len(), 2);
    assert_eq!(
        (
            received[0].header("if-none-match"),
            received[1].header("if-none-match")
        ),
        ("", "W/\"v1\"")
    );
    assert_eq!(desk.stored_bytes(), [table(50)]);
}

#[tokio::test]
async fn date_is_the_condition_without_an_etag() {
    let desk = Desk::new().await;
    desk.publisher.route(
        "/table.dat",
        vec![Reply::file(table(50)).last_modified(DATE)],
    );
    let request = desk.request("/table.dat");
    let snapshot = desk.fetch_new(&request).await;
    assert_eq!(desk.fetch_unchanged(&request).await, snapshot);
    assert_eq!(
        desk.publisher.requests("/table.dat")[1].header("if-modified-since"),
        DATE
    );
}

#[tokio::test]
async fn equal_bytes_under_a_new_etag_are_unchanged_and_keep_their_dates() {
    let mut desk = Desk::new().await;
    let replies = vec![
        Reply::file(table(50)).etag("\"v1\"").last_modified(DATE),
        Reply::file(table(50))
            .etag("\"v2\"")
            .last_modified("Fri, 08 Dec 2023 05:00:00 GMT"),
    ];
    desk.publisher.route("/table.dat", replies);
    let request = desk.request("/table.dat");
    let first = desk.fetch_new(&request).await;
    desk.settings.clock = TestClock::at("2100-01-02T00:00:00Z");
    let second = desk.fetch_unchanged(&request).await;
    let expected = Snapshot {
        etag: Some("\"v2\"".to_owned()),
        last_modified: Some("Fri, 08 Dec 2023 05:00:00 GMT".to_owned()),
        ..first
    };
    assert_eq!(second, expected);
    desk.fetch_unchanged(&request).await;
    assert_eq!(
        desk.publisher.requests("/table.dat")[2].header("if-none-match"),
        "\"v2\"",
        "the newest ETag is the next condition"
    );
    assert_eq!(desk.stored_bytes(), [table(50)]);
}

#[tokio::test]
async fn changed_bytes_become_a_second_snapshot_beside_the_first() {
    let desk = Desk::new().await;
    desk.publisher.route(
        "/table.dat",
        vec![
            Reply::file(table(50)).etag("\"v1\""),
            Reply::file(table(51)).etag("\"v2\""),
        ],
    );
    let request = desk.request("/table.dat");
    let first = desk.fetch_new(&request).await;
    let second = desk.fetch_new(&request).await;
    assert_eq!(
        (second.size_bytes, second.sha256),
        (table(51).len() as u64, Digest::sha256(&table(51)))
    );
    let mut stored = desk.stored_bytes();
    stored.sort();
    let mut expected = vec![table(50), table(51)];
    expected.sort();
    assert_eq!(stored, expected);
    assert_eq!(
        std::fs::read(desk.snapshots().path(&first)).unwrap(),
        table(50)
    );
    assert_eq!(
        desk.snapshots().known("test.table", &request.url),
        Some(second)
    );
}

#[tokio::test]
async fn missing_file_is_absent_and_the_last_snapshot_stays() {
    let desk = Desk::new().await;
    desk.publisher.route(
        "/table.dat",
        vec![Reply::file(table(50)), Reply::page(404), Reply::status(410)],
    );
    let request = desk.request("/table.dat");
    let snapshot = desk.fetch_new(&request).await;
    assert_eq!(desk.fetch(&request).await, Outcome::Absent);
    assert_eq!(desk.fetch(&request).await, Outcome::Absent);
    assert_eq!(desk.stored_bytes(), [table(50)]);
    assert_eq!(
        desk.snapshots().known("test.table", &request.url),
        Some(snapshot)
    );
    assert_eq!(
        desk.publisher.all_requests().len(),
        3,
        "a missing file is not requested again"
    );
    assert_eq!(
        desk.fetch(&desk.request("/never.dat")).await,
        Outcome::Absent
    );
    assert_eq!(desk.partials(), []);
}

#[tokio::test]
async fn not_modified_without_a_condition_is_an_error() {
    let desk = Desk::new().await;
    desk.publisher.route("/table.dat", vec![Reply::status(304)]);
    let error = desk.fail(&desk.request("/table.dat")).await;
    assert!(
        desk.text(&error).starts_with(
            "source `test.table`: PUBLISHER/table.dat: the server answered 304 Not Modified"
        ),
        "{error}"
    );
    assert_eq!(desk.stored(), []);
}

#[tokio::test]
async fn new_label_in_the_declaration_reaches_an_unchanged_snapshot() {
    let desk = Desk::new().await;
    desk.publisher
        .route("/table.dat", vec![Reply::file(table(50)).etag("\"v1\"")]);
    let mut request = desk.request("/table.dat");
    let first = desk.fetch_new(&request).await;
    request.source_version = "2023 (5-year)".to_owned();
    let relabelled = Snapshot {
        source_version: "2023 (5-year)".to_owned(),
        ..first
    };
    assert_eq!(desk.fetch_unchanged(&request).await, relabelled);
    assert_eq!(
        desk.snapshots().known("test.table", &request.url),
        Some(relabelled)
    );
}

/// A mirror of samples has newer dates than the publisher. With its date as a condition, the
/// publisher would answer "not modified".
#[tokio::test]
async fn condition_is_sent_only_to_the_server_it_came_from() {
    let mut desk = Desk::new().await;
    let mirror = desk.new_folder("mirror");
    let host = desk
        .publisher
        .base_url()
        .trim_start_matches("http://")
        .to_owned();
    std::fs::create_dir_all(mirror.join(&host)).unwrap();
    std::fs::write(mirror.join(&host).join("table.dat"), table(5)).unwrap();
    desk.publisher.route(
        "/table.dat",
        vec![Reply::file(table(50)).last_modified(DATE)],
    );
    let request = desk.request("/table.dat");
    desk.settings.mirrors = vec![mirror.display().to_string()];
    assert_eq!(
        desk.fetch_new(&request).await.sha256,
        Digest::sha256(&table(5))
    );
    desk.settings.mirrors.clear();
    assert_eq!(
        desk.fetch_new(&request).await.sha256,
        Digest::sha256(&table(50))
    );
    let received = &desk.publisher.all_requests()[0];
    assert_eq!(
        (
            received.header("if-modified-since"),
            received.header("if-none-match")
        ),
        ("", "")
    );
}
