use pubdata_core::error::ErrorKind;
use pubdata_core::ids::Digest;
use pubdata_store::PartialOrigin;

use super::desk::{Desk, files_below, table};
use pubdata_testing::publisher::Reply;

const DATE: &str = "Thu, 07 Dec 2023 05:00:00 GMT";

/// Returns the requested ranges, in order.
fn ranges(desk: &Desk) -> Vec<(String, String)> {
    desk.publisher
        .all_requests()
        .iter()
        .map(|received| {
            (
                received.header("range").to_owned(),
                received.header("if-range").to_owned(),
            )
        })
        .collect()
}

fn requested(ranges: &[(&str, &str)]) -> Vec<(String, String)> {
    ranges
        .iter()
        .map(|(range, condition)| ((*range).to_owned(), (*condition).to_owned()))
        .collect()
}

#[tokio::test]
async fn cut_transfer_continues_where_it_broke() {
    let desk = Desk::new().await;
    let file = Reply::file(table(5000)).etag("\"v1\"");
    desk.publisher.route(
        "/table.dat",
        vec![
            file.clone().cut_after(40_000),
            file.clone().cut_after(20_000),
            file,
        ],
    );
    let snapshot = desk.fetch_new(&desk.request("/table.dat")).await;
    assert_eq!(snapshot.sha256, Digest::sha256(&table(5000)));
    assert_eq!(desk.stored_bytes(), [table(5000)]);
    assert_eq!(
        ranges(&desk),
        requested(&[
            ("", ""),
            ("bytes=40000-", "\"v1\""),
            ("bytes=60000-", "\"v1\"")
        ])
    );
    assert_eq!(desk.partials(), []);
}

#[tokio::test]
async fn abandoned_download_continues_in_the_next_run() {
    let mut desk = Desk::new().await;
    desk.settings.tries = 1;
    let file = Reply::file(table(5000)).last_modified(DATE);
    desk.publisher
        .route("/table.dat", vec![file.clone().cut_after(40_000), file]);
    let request = desk.request("/table.dat");
    let error = desk.fail(&request).await;
    let text = desk.text(&error);
    let expected = format!(
        "source `test.table`: PUBLISHER/table.dat: the transfer broke after 40000 of {} bytes: ",
        table(5000).len()
    );
    assert!(
        text.starts_with(&expected) && text.ends_with("(gave up after 1 try)"),
        "{text}"
    );
    assert_eq!(
        (desk.stored(), desk.partials()),
        (vec![], vec![("part".to_owned(), 40_000)])
    );
    let snapshot = desk.fetch_new(&request).await;
    assert_eq!(
        (snapshot.sha256, snapshot.source_date.as_str()),
        (Digest::sha256(&table(5000)), "2023-12-07")
    );
    assert_eq!(
        ranges(&desk),
        requested(&[("", ""), ("bytes=40000-", DATE)])
    );
    assert_eq!(
        (desk.stored_bytes(), desk.partials()),
        (vec![table(5000)], vec![])
    );
}

#[tokio::test]
async fn file_that_changed_under_resume_restarts_from_its_beginning() {
    let desk = Desk::new().await;
    desk.publisher.route(
        "/table.dat",
        vec![
            Reply::file(table(5000)).etag("\"v1\"").cut_after(40_000),
            Reply::file(table(4000)).etag("\"v2\""),
        ],
    );
    let snapshot = desk.fetch_new(&desk.request("/table.dat")).await;
    assert_eq!(
        (snapshot.sha256, snapshot.etag.as_deref()),
        (Digest::sha256(&table(4000)), Some("\"v2\""))
    );
    assert_eq!(
        ranges(&desk),
        requested(&[("", ""), ("bytes=40000-", "\"v1\"")])
    );
    assert_eq!(desk.stored_bytes(), [table(4000)]);
}

/// Servers that ignore `If-Range` or send another range than the requested one.
#[tokio::test]
async fn wrong_range_restarts_the_download() {
    let whole = table(5000);
    let total = whole.len();
    let rest =
        |range: &str| Reply::body(206, whole[40_000..].to_vec()).header("Content-Range", range);
    let right = format!("bytes 40000-{}/{total}", total - 1);
    let cases = [
        ("another ETag", rest(&right).etag("\"v2\"")),
        (
            "another date",
            rest(&right).last_modified("Fri, 08 Dec 2023 05:00:00 GMT"),
        ),
        (
            "another start",
            rest(&format!("bytes 39999-{}/{total}", total - 1)),
        ),
        (
            "another total",
            rest(&format!("bytes 40000-{}/{}", total - 1, total + 1)),
        ),
        ("no range", Reply::body(206, whole[40_000..].to_vec())),
        ("a range of no file", Reply::status(416)),
    ];
    for (case, reply) in cases {
        let desk = Desk::new().await;
        let file = Reply::file(whole.clone())
            .etag("\"v1\"")
            .last_modified(DATE);
        desk.publisher.route(
            "/table.dat",
            vec![file.clone().cut_after(40_000), reply, file],
        );
        let snapshot = desk.fetch_new(&desk.request("/table.dat")).await;
        assert_eq!(snapshot.sha256, Digest::sha256(&whole), "{case}");
        assert_eq!(
            ranges(&desk),
            requested(&[("", ""), ("bytes=40000-", "\"v1\""), ("", "")]),
            "{case}"
        );
        assert_eq!(desk.stored_bytes(), std::slice::from_ref(&whole), "{case}");
    }
}

/// A server that reveals the size of the file only for a range request and sends at most one piece
/// at a time.
#[tokio::test]
async fn size_stated_with_a_range_is_awaited() {
    let whole = table(5000);
    let total = whole.len();
    let piece = |from: usize, to: usize| {
        Reply::body(206, whole[from..to].to_vec())
            .header("Content-Range", &format!("bytes {from}-{}/{total}", to - 1))
    };
    let desk = Desk::new().await;
    let first = Reply::file(whole.clone())
        .etag("\"v1\"")
        .chunked()
        .cut_after(40_000);
    desk.publisher.route(
        "/table.dat",
        vec![
            first,
            piece(40_000, 60_000).etag("\"v1\""),
            piece(60_000, total).etag("\"v1\""),
        ],
    );
    assert_eq!(
        desk.fetch_new(&desk.request("/table.dat")).await.sha256,
        Digest::sha256(&whole)
    );
    assert_eq!(
        ranges(&desk),
        requested(&[
            ("", ""),
            ("bytes=40000-", "\"v1\""),
            ("bytes=60000-", "\"v1\"")
        ])
    );
}

#[tokio::test]
async fn only_a_file_proven_the_same_is_resumed() {
    let cases = [
        (Reply::file(table(5000)), ("", "")),
        (Reply::file(table(5000)).etag("W/\"v1\""), ("", "")),
        (
            Reply::file(table(5000))
                .etag("W/\"v1\"")
                .last_modified(DATE),
            ("bytes=40000-", DATE),
        ),
    ];
    for (file, second) in cases {
        let desk = Desk::new().await;
        desk.publisher
            .route("/table.dat", vec![file.clone().cut_after(40_000), file]);
        assert_eq!(
            desk.fetch_new(&desk.request("/table.dat")).await.sha256,
            Digest::sha256(&table(5000))
        );
        assert_eq!(ranges(&desk), requested(&[("", ""), second]));
    }
}

#[tokio::test]
async fn bytes_written_before_a_reboot_are_not_trusted() {
    let mut desk = Desk::new().await;
    desk.settings.tries = 1;
    let file = Reply::file(table(5000)).etag("\"v1\"");
    desk.publisher
        .route("/table.dat", vec![file.clone().cut_after(40_000), file]);
    let request = desk.request("/table.dat");
    desk.fail(&request).await;
    let sidecars = files_below(&desk.folder.path().join("home/state/partial"));
    let sidecar = sidecars
        .iter()
        .find(|path| path.extension().unwrap() == "json")
        .unwrap();
    let mut content: serde_json::Value =
        serde_json::from_slice(&std::fs::read(sidecar).unwrap()).unwrap();
    content["boot"] = "another".into();
    std::fs::write(sidecar, content.to_string()).unwrap();
    desk.fetch_new(&request).await;
    assert_eq!(ranges(&desk), requested(&[("", ""), ("", "")]));
    assert_eq!(desk.stored_bytes(), [table(5000)]);
}

/// Killed after the last byte and before the snapshot was renamed.
#[tokio::test]
async fn complete_download_is_accepted_without_a_request() {
    let desk = Desk::new().await;
    let request = desk.request("/table.dat");
    let mut partial = desk
        .snapshots()
        .partial("test.table", &request.url)
        .unwrap();
    let total_bytes = Some(table(50).len() as u64);
    partial
        .begin(PartialOrigin {
            origin: request.url.clone(),
            etag: Some("\"v1\"".to_owned()),
            total_bytes,
            ..PartialOrigin::default()
        })
        .unwrap();
    partial.write(&table(50)).unwrap();
    drop(partial);
    let snapshot = desk.fetch_new(&request).await;
    assert_eq!(
        (snapshot.sha256, snapshot.etag.as_deref()),
        (Digest::sha256(&table(50)), Some("\"v1\""))
    );
    assert_eq!(desk.publisher.all_requests(), []);
}

#[tokio::test]
async fn partial_download_of_another_address_is_not_resumed() {
    let mut desk = Desk::new().await;
    desk.settings.tries = 1;
    let request = desk.request("/table.dat");
    let mut partial = desk
        .snapshots()
        .partial("test.table", &request.url)
        .unwrap();
    partial
        .begin(PartialOrigin {
            origin: "file:///mirror/table.dat".to_owned(),
            etag: Some("\"v1\"".to_owned()),
            total_bytes: Some(3),
            ..PartialOrigin::default()
        })
        .unwrap();
    partial.write(b"abc").unwrap();
    drop(partial);
    desk.publisher
        .route("/table.dat", vec![Reply::file(table(50)).etag("\"v1\"")]);
    assert_eq!(
        desk.fetch_new(&request).await.sha256,
        Digest::sha256(&table(50))
    );
    assert_eq!(ranges(&desk), requested(&[("", "")]));
}

#[tokio::test]
async fn one_process_downloads_a_url_at_a_time() {
    let desk = Desk::new().await;
    desk.publisher
        .route("/table.dat", vec![Reply::file(table(50))]);
    let request = desk.request("/table.dat");
    let held = desk
        .snapshots()
        .partial("test.table", &request.url)
        .unwrap();
    let error = desk.fail(&request).await;
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(
        desk.text(&error)
            .starts_with("source `test.table`: another fetch of the same URL is under way"),
        "{error}"
    );
    drop(held);
    desk.fetch_new(&request).await;
}
