//! Tests `/v1/snapshots/{sha256}`: metadata of a publisher's file, and access to the file itself.

use axum::body::Body;
use axum::http::Request;
use pubdata_core::ids::Digest;
use pubdata_serve::SnapshotAccess;
use pubdata_store::Scope;
use serde_json::json;

use super::Answer;
use super::served::Served;
use pubdata_testing::Place;

const OPEN: &str = "-acsdt5y2023-b25003.dat";
/// A file about persons.
const CLOSED: &str = "-GenerateRoster.aspx";

/// Path of a snapshot, and its bytes.
fn snapshot(served: &Served, ending: &str) -> (String, Vec<u8>) {
    let bytes = std::fs::read(served.place.snapshot(ending)).unwrap();
    (format!("/v1/snapshots/{}", Digest::sha256(&bytes)), bytes)
}

async fn public() -> Served {
    Served::with(Place::published(), |settings| {
        settings.snapshots = SnapshotAccess::Public;
    })
    .await
}

async fn ask(served: &Served, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    served.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshot_metadata_is_open_and_the_file_needs_a_setting() {
    let served = Served::new().await;
    let (path, bytes) = snapshot(&served, OPEN);
    let reported = ask(&served, "GET", &path, &[]).await;
    let data = reported.json()["data"].take();
    assert_eq!(
        (&data["source_id"], &data["size_bytes"]),
        (&json!("census.acs5_table"), &json!(bytes.len()))
    );
    assert_eq!(
        (&data["tasks"], &data["datasets"]),
        (
            &json!(["census.acs5/vintage=2023"]),
            &json!(["geo.county_metric", "geo.zcta_metric"])
        )
    );
    assert_eq!(data["releases"][0]["release_id"], served.place.current());
    assert_eq!(
        (&data["licence"], &data["file"]),
        (
            &json!("Public domain (work of the U.S. Government)"),
            &json!({"is_here": true, "for": "nobody"})
        )
    );
    let refused = served.get(&format!("{path}?format=bytes")).await;
    assert_eq!(refused.problem(), (404, "coverage_unavailable".to_owned()));
    let unknown = served
        .get(&format!("/v1/snapshots/{}", "0".repeat(64)))
        .await;
    assert_eq!(unknown.problem(), (404, "not_found".to_owned()));
    for wrong in [
        "/v1/snapshots/abc",
        "/v1/snapshots/..%2F..%2Fkeys.json",
        &format!("{path}?format=zip"),
        &format!("{path}?release=r00000000000000000000"),
    ] {
        assert_eq!(served.get(wrong).await.problem().0, 400, "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn shareable_file_is_sent_whole_and_by_ranges() {
    let served = public().await;
    let (path, bytes) = snapshot(&served, OPEN);
    let path = format!("{path}?format=bytes");
    let whole = served.get(&path).await;
    assert_eq!(
        (
            whole.status.as_u16(),
            whole.header("content-type"),
            &whole.bytes
        ),
        (200, "application/octet-stream", &bytes)
    );
    assert_eq!(
        (
            whole.header("content-length"),
            whole.header("content-disposition")
        ),
        (
            &*bytes.len().to_string(),
            "attachment; filename=\"acsdt5y2023-b25003.dat\""
        )
    );
    assert_eq!(
        whole.header("etag"),
        format!("\"{}\"", Digest::sha256(&bytes))
    );
    let key = served.key_of(&[Scope::Geo]);
    let part = ask(
        &served,
        "GET",
        &path,
        &[("x-api-key", &key), ("range", "bytes=100-149")],
    )
    .await;
    assert_eq!(
        (part.status.as_u16(), &part.bytes[..]),
        (206, &bytes[100..150])
    );
    assert_eq!(
        part.header("content-range"),
        format!("bytes 100-149/{}", bytes.len())
    );
    let beyond = ask(
        &served,
        "GET",
        &path,
        &[("x-api-key", &key), ("range", "bytes=9999999-")],
    )
    .await;
    assert_eq!(beyond.problem(), (400, "invalid_parameter".to_owned()));
    let head = ask(&served, "HEAD", &path, &[("x-api-key", &key)]).await;
    assert_eq!(
        (
            head.status.as_u16(),
            head.header("content-length"),
            head.bytes.len()
        ),
        (200, &*bytes.len().to_string(), 0)
    );
    let known = ask(
        &served,
        "GET",
        &path,
        &[("x-api-key", &key), ("if-none-match", whole.header("etag"))],
    )
    .await;
    assert_eq!(known.status, 304);
    let other = served.key_of(&[Scope::General, Scope::Sec]);
    assert_eq!(
        ask(&served, "GET", &path, &[("x-api-key", &other)])
            .await
            .problem(),
        (403, "insufficient_permission".to_owned())
    );
    assert_eq!(
        ask(&served, "GET", &path, &[]).await.problem(),
        (401, "missing_api_key".to_owned())
    );
    std::fs::remove_file(served.place.snapshot(OPEN)).unwrap();
    assert_eq!(
        served.get(&path).await.problem(),
        (404, "coverage_unavailable".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn list_about_persons_is_for_administrators_only() {
    let served = public().await;
    let (path, bytes) = snapshot(&served, CLOSED);
    assert_eq!(
        served.ok(&path).await["data"]["file"],
        json!({"is_here": true, "for": "administrators"})
    );
    let path = format!("{path}?format=bytes");
    let key = served.key_of(&[Scope::General, Scope::Geo, Scope::Sec, Scope::Stream]);
    for headers in [
        vec![("x-api-key", key.as_str())],
        vec![("x-api-key", key.as_str()), ("range", "bytes=0-9")],
    ] {
        let refused = ask(&served, "GET", &path, &headers).await;
        assert_eq!(
            refused.problem(),
            (403, "insufficient_permission".to_owned())
        );
        assert!(!String::from_utf8_lossy(&refused.bytes).contains("sample@example.com"));
    }
    let admin = served.key_of(&[Scope::Admin]);
    assert_eq!(
        ask(&served, "GET", &path, &[("x-api-key", &admin)])
            .await
            .bytes,
        bytes
    );
}
