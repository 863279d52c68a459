//! Checks that facts which a server states about a file are accepted only if they are plausible.

use std::time::{Duration, SystemTime};

use pubdata_core::ids::Digest;
use pubdata_core::provenance::{Obtained, Snapshot};
use pubdata_fetch::{Head, Piece};
use pubdata_store::KnownUrl;

use super::desk::{Desk, TestClock, table};
use pubdata_testing::publisher::Reply;

const FAR: &str = "Fri, 31 Dec 2399 23:59:59 GMT";

/// The clock of the desk is at 1 January 2100.
#[tokio::test]
async fn future_date_is_neither_a_file_date_nor_a_condition() {
    let desk = Desk::new().await;
    desk.publisher.route(
        "/table.dat",
        vec![
            Reply::file(table(50)).last_modified(FAR),
            Reply::file(table(50)),
            Reply::file(table(51)).last_modified(FAR),
        ],
    );
    let request = desk.request("/table.dat");
    let known = || {
        desk.snapshots()
            .known_url("test.table", &request.url)
            .unwrap()
    };
    let first = desk.fetch_new(&request).await;
    assert_eq!(
        (first.source_date.as_str(), &first.last_modified),
        ("2100-01-01", &None)
    );
    assert_eq!(known().future_date.as_deref(), Some("2399-12-31"));
    // The same bytes without the header have the same date, and no warning is due.
    let same = desk.fetch_unchanged(&request).await;
    assert_eq!(
        (same.source_date.as_str(), known().future_date),
        ("2100-01-01", None)
    );
    assert_eq!(
        desk.publisher.requests("/table.dat")[1].header("if-modified-since"),
        "",
        "a server that compares dates would call every later file unchanged"
    );
    desk.fetch_new(&request).await;
    assert_eq!(known().future_date.as_deref(), Some("2399-12-31"));
}

#[tokio::test]
async fn publisher_date_may_be_one_day_ahead_and_no_more() {
    for (date, day) in [
        ("Sat, 02 Jan 2100 23:59:59 GMT", "2100-01-02"),
        ("Sun, 03 Jan 2100 00:00:00 GMT", "2100-01-01"),
    ] {
        let desk = Desk::new().await;
        desk.publisher.route(
            "/table.dat",
            vec![Reply::file(table(50)).last_modified(date)],
        );
        let request = desk.request("/table.dat");
        let head = desk
            .fetcher()
            .head(&request, Piece::Start(10))
            .await
            .unwrap();
        let Head::Found { dated, .. } = head else {
            panic!("{head:?}")
        };
        assert_eq!(dated.is_some(), day == "2100-01-02", "a probe: {date}");
        assert_eq!(desk.fetch_new(&request).await.source_date, day, "{date}");
    }
}

#[tokio::test]
async fn mirror_file_with_a_future_time_gets_the_day_of_its_read() {
    let mut desk = Desk::new().await;
    let folder = desk.new_folder("mirror");
    let path = folder.join("www2.example/table.dat");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, table(50)).unwrap();
    std::fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(13_569_465_599))
        .unwrap();
    desk.settings.mirrors.push(folder.display().to_string());
    let request = desk.request_url("https://www2.example/table.dat");
    assert_eq!(desk.fetch_new(&request).await.source_date, "2100-01-01");
    assert_eq!(
        desk.snapshots()
            .known_url("test.table", &request.url)
            .unwrap()
            .future_date
            .as_deref(),
        Some("2399-12-31")
    );
}

/// A run with a clock that was set back: the publisher's dates then lie in the future.
#[tokio::test]
async fn date_that_has_passed_counts() {
    let mut desk = Desk::new().await;
    desk.publisher.route(
        "/table.dat",
        vec![
            Reply::file(table(50))
                .etag("\"v1\"")
                .last_modified("Sat, 28 Nov 2026 12:00:00 GMT"),
        ],
    );
    let request = desk.request("/table.dat");
    for (now, day) in [
        ("1970-01-01T00:00:00Z", "1970-01-01"),
        ("2026-11-26T00:00:00Z", "1970-01-01"),
        ("2026-11-29T00:00:00Z", "2026-11-28"),
    ] {
        desk.settings.clock = TestClock::at(now);
        desk.fetch(&request).await;
        assert_eq!(
            desk.snapshots()
                .known("test.table", &request.url)
                .unwrap()
                .source_date,
            day,
            "{now}"
        );
    }
    assert_eq!(
        desk.snapshots()
            .known_url("test.table", &request.url)
            .unwrap()
            .future_date,
        None
    );
}

/// URL state that an earlier version of the program wrote.
#[tokio::test]
async fn implausible_facts_of_an_earlier_version_are_discarded() {
    let mut desk = Desk::new().await;
    desk.settings.clock = TestClock::at("2026-11-28T00:00:00Z");
    desk.publisher.route(
        "/table.dat",
        vec![
            Reply::file(table(50)).etag("\"v1\""),
            Reply::file(table(50)).etag("\"v1\""),
        ],
    );
    let request = desk.request("/table.dat");
    let snapshot = desk.fetch_new(&request).await;
    let accepted = |obtained| Snapshot {
        source_date: "2399-12-31".to_owned(),
        last_modified: Some(FAR.to_owned()),
        etag: Some("x".repeat(60_000)),
        obtained,
        ..snapshot.clone()
    };
    let known = KnownUrl {
        snapshot: accepted(Obtained::ByProgram),
        origin: request.url.clone(),
        stamp: None,
        is_length_unknown: false,
        future_date: None,
        stated: None,
    };
    desk.snapshots().remember(&known).unwrap();
    let corrected = desk
        .snapshots()
        .known_url("test.table", &request.url)
        .unwrap();
    assert_eq!(
        (
            corrected.snapshot.source_date.as_str(),
            &corrected.snapshot.etag
        ),
        ("2026-11-28", &None)
    );
    assert_eq!(corrected.future_date.as_deref(), Some("2399-12-31"));
    let again = desk.fetch_unchanged(&request).await;
    assert_eq!(
        (again.source_date.as_str(), again.etag.as_deref()),
        ("2026-11-28", Some("\"v1\""))
    );
    let requested = desk.publisher.requests("/table.dat");
    assert_eq!(
        (
            requested[1].header("if-none-match"),
            requested[1].header("if-modified-since")
        ),
        ("", "")
    );
    // The operator is responsible for a date that they state.
    desk.snapshots()
        .remember(&KnownUrl {
            snapshot: accepted(Obtained::Manual),
            ..known
        })
        .unwrap();
    assert_eq!(
        desk.snapshots()
            .known("test.table", &request.url)
            .unwrap()
            .source_date,
        "2399-12-31"
    );
}

#[tokio::test]
async fn oversized_headers_are_not_kept() {
    let desk = Desk::new().await;
    let long = format!("\"{}\"", "x".repeat(60_000));
    let date = format!("Thu, 07 Dec 2023 05:00:00 {}GMT", " ".repeat(60_000));
    desk.publisher.route(
        "/table.dat",
        vec![Reply::file(table(50)).etag(&long).last_modified(&date)],
    );
    let request = desk.request("/table.dat");
    let snapshot = desk.fetch_new(&request).await;
    assert_eq!((snapshot.etag, snapshot.last_modified), (None, None));
    desk.fetch_unchanged(&request).await;
    let state = super::desk::files_below(&desk.folder.path().join("home/state"));
    assert!(
        state
            .iter()
            .all(|file| std::fs::metadata(file).unwrap().len() < 10_000),
        "{state:?}"
    );
}

#[tokio::test]
async fn oversized_redirect_address_is_not_followed() {
    let desk = Desk::new().await;
    for path in ["x".repeat(3_000), "x".repeat(60_000)] {
        let target = format!("/{path}");
        desk.publisher.route(&target, vec![Reply::file(table(50))]);
        desk.publisher.route(
            "/table.dat",
            vec![Reply::status(302).header("Location", &target)],
        );
        let error = desk.fail(&desk.request("/table.dat")).await;
        assert!(
            error.to_string().contains("an address that is too long"),
            "{error}"
        );
        assert_eq!(desk.stored_bytes(), Vec::<Vec<u8>>::new());
    }
    // A signature is long and is never part of a snapshot.
    let signed = format!("/signed?Signature={}", "x".repeat(3_000));
    desk.publisher.route(&signed, vec![Reply::file(table(50))]);
    desk.publisher.route(
        "/table.dat",
        vec![Reply::status(302).header("Location", &signed)],
    );
    assert_eq!(
        desk.fetch_new(&desk.request("/table.dat")).await.sha256,
        Digest::sha256(&table(50))
    );
}
