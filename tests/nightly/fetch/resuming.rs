use pubdata_core::error::ErrorKind;
use pubdata_core::ids::Digest;
use pubdata_store::PartialOrigin;

use super::desk::{Desk, files_below, table};
use pubdata_testing::publisher::Reply;

const DATE: &str = "Thu, 07 Dec 2023 05:00:00 GMT";

/// Ranges asked for, in order.
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
async fn a_cut_transfer_goes_on_where_it_broke() {
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
async fn a_download_that_was_given_up_goes_on_in_the_next_run() {
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
async fn a_file_that_changed_under_resume_is_taken_from_its_beginning() {
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

/// Servers that ignore `If-Range`, or send what was not asked for.
#[tokio::test]
async fn a_range_that_does_not_fit_starts_the_download_again() {
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

/// A server that says how long the file is only when it is asked for a part, and sends no more than
/// a piece at a time.
#[tokio::test]
async fn a_size_that_is_told_with_a_range_is_waited_for() {
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
async fn only_what_proves_the_same_file_is_resumed() {
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
async fn bytes_written_before_a_restart_of_the_machine_are_not_trusted() {
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

/// Killed after the last byte and before the snapshot had its name.
#[tokio::test]
async fn a_download_that_is_already_whole_is_accepted_without_asking() {
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
async fn a_partial_download_of_another_place_is_not_resumed() {
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
