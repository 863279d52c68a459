use std::path::PathBuf;
use std::sync::Mutex;

use pubdata_core::ids::Digest;
use pubdata_fetch::{FetchProgress, Outcome, Request};
use pubdata_store::StoredSnapshot;

use super::desk::{Desk, TestClock, files_below, table};
use pubdata_testing::publisher::Reply;

fn url_states(desk: &Desk) -> Vec<PathBuf> {
    files_below(&desk.folder.path().join("home/state/urls"))
}

#[tokio::test]
async fn snapshot_is_read_only_and_found_by_its_digest() {
    let desk = Desk::new().await;
    desk.publisher
        .route("/table.dat", vec![Reply::file(table(50))]);
    let snapshot = desk.fetch_new(&desk.request("/table.dat")).await;
    let snapshots = desk.snapshots();
    let path = snapshots.path(&snapshot);
    assert!(std::fs::metadata(&path).unwrap().permissions().readonly());
    assert_eq!(
        snapshots.find("test.table", &snapshot.sha256).unwrap(),
        Some(path.clone())
    );
    assert_eq!(
        snapshots
            .find("test.table", &Digest::sha256(b"other"))
            .unwrap(),
        None
    );
    assert_eq!(
        snapshots.find("test.other", &snapshot.sha256).unwrap(),
        None
    );
    assert_eq!(snapshots.damage(&snapshot).unwrap(), None);
    let stored = StoredSnapshot {
        source_id: "test.table".to_owned(),
        sha256: snapshot.sha256,
        path,
        size_bytes: snapshot.size_bytes,
    };
    assert_eq!(snapshots.all().unwrap(), std::slice::from_ref(&stored));
    snapshots.remove(&stored).unwrap();
    assert_eq!(
        (
            snapshots.all().unwrap(),
            snapshots.known("test.table", &snapshot.url)
        ),
        (vec![], None)
    );
}

#[tokio::test]
async fn foreign_file_among_the_snapshots_is_named() {
    let desk = Desk::new().await;
    let folder = desk.new_folder("home/snapshots/test.table");
    std::fs::write(folder.join("notes.txt"), "mine").unwrap();
    let error = desk.snapshots().all().unwrap_err();
    assert_eq!(
        desk.text(&error),
        "FOLDER/home/snapshots/test.table/notes.txt is not a snapshot: its name does not begin with a digest"
    );
}

#[tokio::test]
async fn files_that_differ_in_their_query_have_distinct_names() {
    let desk = Desk::new().await;
    for (target, fields) in [
        ("/acs5?get=B01003_001E", "B01003"),
        ("/acs5?get=B19013_001E", "B19013"),
    ] {
        desk.publisher
            .route(target, vec![Reply::file(format!("bytes of {fields}"))]);
        let mut request = desk.request(target);
        request.keys.insert("fields".to_owned(), fields.to_owned());
        let snapshot = desk.fetch_new(&request).await;
        let name = desk
            .snapshots()
            .path(&snapshot)
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        assert_eq!(name, format!("{}-acs5-{fields}-2023", snapshot.sha256));
    }
    assert_eq!(desk.stored().len(), 2);
}

#[tokio::test]
async fn lost_or_shortened_snapshot_counts_as_never_fetched() {
    let desk = Desk::new().await;
    desk.publisher
        .route("/table.dat", vec![Reply::file(table(50)).etag("\"v1\"")]);
    let request = desk.request("/table.dat");
    let snapshot = desk.fetch_new(&request).await;
    let path = desk.snapshots().path(&snapshot);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(desk.snapshots().known("test.table", &snapshot.url), None);
    assert_eq!(desk.fetch_new(&request).await, snapshot);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, b"GEO_ID").unwrap();
    assert_eq!(desk.fetch_new(&request).await, snapshot);
    assert_eq!(desk.stored_bytes(), [table(50)]);
    assert!(
        desk.publisher
            .all_requests()
            .iter()
            .all(|received| received.header("if-none-match").is_empty()),
        "no condition is sent without the bytes"
    );
}

#[tokio::test]
async fn damaged_snapshot_is_repaired_by_the_same_bytes() {
    let desk = Desk::new().await;
    desk.publisher
        .route("/table.dat", vec![Reply::file(table(50))]);
    let request = desk.request("/table.dat");
    let snapshot = desk.fetch_new(&request).await;
    let path = desk.snapshots().path(&snapshot);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, vec![b'X'; table(50).len()]).unwrap();
    assert_eq!(desk.fetch_unchanged(&request).await, snapshot);
    assert_eq!(desk.stored_bytes(), [table(50)]);
}

#[tokio::test]
async fn unreadable_state_costs_one_download() {
    for content in ["", "{", "{\"format_version\": 1}", "newer"] {
        let desk = Desk::new().await;
        desk.publisher
            .route("/table.dat", vec![Reply::file(table(50)).etag("\"v1\"")]);
        let request = desk.request("/table.dat");
        let snapshot = desk.fetch_new(&request).await;
        let [state] = url_states(&desk).try_into().unwrap();
        let content = if content == "newer" {
            std::fs::read_to_string(&state)
                .unwrap()
                .replace("\"format_version\": 1", "\"format_version\": 2")
        } else {
            content.to_owned()
        };
        std::fs::write(&state, content).unwrap();
        assert_eq!(desk.snapshots().known("test.table", &request.url), None);
        assert_eq!(desk.fetch_new(&request).await, snapshot);
        assert_eq!(desk.stored_bytes(), [table(50)]);
    }
}

/// The first format of the URL state, as version 0.1 wrote it.
#[tokio::test]
async fn url_state_of_format_1_is_read() {
    let desk = Desk::new().await;
    desk.publisher
        .route("/table.dat", vec![Reply::file(table(50)).etag("\"v1\"")]);
    let request = desk.request("/table.dat");
    let snapshot = desk.fetch_new(&request).await;
    let [state] = url_states(&desk).try_into().unwrap();
    let (sha256, url, size_bytes) = (snapshot.sha256, &snapshot.url, snapshot.size_bytes);
    let format_1 = format!(
        r#"{{
  "format_version": 1,
  "snapshot": {{
    "source_id": "test.table",
    "keys": {{
      "vintage": "2023"
    }},
    "url": "{url}",
    "sha256": "{sha256}",
    "size_bytes": {size_bytes},
    "source_version": "2019-2023",
    "source_date": "2100-01-01",
    "etag": "\"v1\"",
    "last_modified": null,
    "fetched_at": "2100-01-01T00:00:00Z"
  }},
  "origin": "{url}",
  "stamp": null
}}
"#
    );
    assert_eq!(std::fs::read_to_string(&state).unwrap(), format_1);
    std::fs::write(&state, format_1).unwrap();
    assert_eq!(desk.fetch_unchanged(&request).await, snapshot);
}

#[tokio::test]
async fn other_keys_or_sources_do_not_share_url_state() {
    let desk = Desk::new().await;
    desk.publisher
        .route("/table.dat", vec![Reply::file(table(50)).etag("\"v1\"")]);
    let request = desk.request("/table.dat");
    desk.fetch_new(&request).await;
    let other_source = Request {
        source_id: "test.other".to_owned(),
        ..request.clone()
    };
    assert_eq!(desk.fetch_new(&other_source).await.source_id, "test.other");
    let other_keys = Request {
        keys: [("year".to_owned(), "2023".to_owned())].into(),
        ..request.clone()
    };
    assert_eq!(desk.fetch_new(&other_keys).await.keys, other_keys.keys);
    assert_eq!(desk.stored_bytes(), [table(50), table(50)]);
}

#[tokio::test]
async fn bundled_file_becomes_a_snapshot_like_any_other() {
    let mut desk = Desk::new().await;
    let mut request = desk.request_url("bundled:census/map.csv");
    request.bundled = Some(b"zcta,region_fips\n06390,09190\n".to_vec());
    request.source_date = Some("2022-06-06".to_owned());
    let snapshot = desk.fetch_new(&request).await;
    assert_eq!(
        (
            snapshot.url.as_str(),
            snapshot.source_date.as_str(),
            snapshot.last_modified.as_deref()
        ),
        ("bundled:census/map.csv", "2022-06-06", None)
    );
    assert_eq!(
        desk.stored(),
        [(
            format!("test.table/{}-map.csv", snapshot.sha256),
            b"zcta,region_fips\n06390,09190\n".to_vec()
        )]
    );
    assert_eq!(desk.fetch_unchanged(&request).await, snapshot);
    request.bundled = Some(b"zcta,region_fips\n".to_vec());
    request.source_date = None;
    desk.settings.clock = TestClock::at("2100-02-03T04:05:06Z");
    let undated = desk.fetch_new(&request).await;
    assert_eq!(
        (undated.source_date.as_str(), undated.fetched_at.as_str()),
        ("2100-02-03", "2100-02-03T04:05:06Z")
    );
}

#[derive(Default)]
struct RecordedProgress(Mutex<Vec<String>>);

impl FetchProgress for RecordedProgress {
    fn started(&self, url: &str, total_bytes: Option<u64>) {
        let name = url.rsplit('/').next().unwrap();
        self.0
            .lock()
            .unwrap()
            .push(format!("started {name} {total_bytes:?}"));
    }

    fn advanced(&self, bytes: u64) {
        let mut reported = self.0.lock().unwrap();
        match reported
            .last_mut()
            .and_then(|last| last.strip_prefix("advanced ")?.parse::<u64>().ok())
        {
            Some(before) => *reported.last_mut().unwrap() = format!("advanced {}", before + bytes),
            None => reported.push(format!("advanced {bytes}")),
        }
    }

    fn finished(&self) {
        self.0.lock().unwrap().push("finished".to_owned());
    }
}

#[tokio::test]
async fn progress_reports_each_try_and_the_end() {
    let desk = Desk::new().await;
    let file = Reply::file(table(5000)).etag("\"v1\"");
    desk.publisher
        .route("/table.dat", vec![file.clone().cut_after(40_000), file]);
    let total = table(5000).len();
    let reported = RecordedProgress::default();
    let outcome = desk
        .fetcher()
        .fetch(&desk.request("/table.dat"), &reported)
        .await
        .unwrap();
    assert!(matches!(outcome, Outcome::New(_)));
    let started = format!("started table.dat Some({total})");
    assert_eq!(
        *reported.0.lock().unwrap(),
        [
            started.clone(),
            "advanced 40000".to_owned(),
            started,
            format!("advanced {total}"),
            "finished".to_owned()
        ]
    );
    let reported = RecordedProgress::default();
    desk.publisher.route("/table.dat", vec![Reply::page(403)]);
    desk.fetcher()
        .fetch(&desk.request("/table.dat"), &reported)
        .await
        .unwrap_err();
    assert_eq!(*reported.0.lock().unwrap(), ["finished"]);
}
