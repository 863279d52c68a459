//! Tests `/v1/receipts/{record_id}` and `/v1/log/…` of a server without the publisher's secret.

use pubdata_store::Scope;
use pubdata_store::receipts::{Checkpoint, Receipt, VerifierKey};

use super::served::Served;
use crate::receipts::SealedPlace;
use pubdata_testing::Place;

const RECORD: &str = "geo.zcta_metric:2023:90210:population";

#[tokio::test(flavor = "multi_thread")]
async fn receipts_of_present_and_absent_records_verify_with_the_log_key() {
    let sealed = SealedPlace::new();
    let known = sealed.key.clone();
    let served = Served::start(sealed.place).await;
    let key = served.get("/v1/log/key").await;
    assert_eq!(
        (key.status.as_u16(), key.header("content-type")),
        (200, "text/plain; charset=utf-8")
    );
    assert_eq!(String::from_utf8(key.bytes).unwrap().trim(), known);
    let key = VerifierKey::parse(&known).unwrap();
    let answer = served.get(&format!("/v1/receipts/{RECORD}")).await;
    assert_eq!(answer.status, 200);
    assert!(answer.bytes.len() < 8_000, "{} bytes", answer.bytes.len());
    let proven = Receipt::parse(&answer.bytes).unwrap().verify(&key).unwrap();
    assert_eq!(
        (
            proven.is_present,
            proven.record_id.as_str(),
            proven.release_id.to_string()
        ),
        (true, RECORD, served.place.current())
    );
    assert_eq!(answer.json()["data"]["record"]["value"], "19652");
    // A school: its dataset has no partitions.
    for absent in [
        "geo.zcta_metric:2023:00000:population",
        "geo.school:000000000000",
        "sec.filing:9999999999:none",
    ] {
        let answer = served.get(&format!("/v1/receipts/{absent}")).await;
        let proven = Receipt::parse(&answer.bytes).unwrap().verify(&key).unwrap();
        assert_eq!(
            (proven.is_present, proven.record_id.as_str()),
            (false, absent)
        );
    }
    let checkpoint = served.get("/v1/log/checkpoint").await;
    let note = String::from_utf8(checkpoint.bytes).unwrap();
    let read = Checkpoint::parse(key.opened(&note).unwrap()).unwrap();
    assert_eq!(
        (read.origin.as_str(), read.size),
        ("data.example.org/2026/nightly", 1)
    );
    let tile = served.get("/v1/log/tile/0/000.p/1").await;
    assert_eq!(
        (tile.status.as_u16(), &tile.bytes[..]),
        (200, &read.root.as_bytes()[..]),
        "the root of a single leaf is the leaf"
    );
    assert!(tile.header("cache-control").contains("immutable"));
    // Files that a publisher has written and not signed.
    for name in ["tile/0/000.p/2", "tile/entries/000.p/2"] {
        std::fs::write(
            served.place.home().join("log/nightly").join(name),
            "not signed",
        )
        .unwrap();
        assert_eq!(
            served.get(&format!("/v1/log/{name}")).await.problem(),
            (404, "not_found".to_owned())
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn receipt_that_cannot_be_issued_is_explained() {
    let served = Served::start(Place::published()).await;
    assert_eq!(
        served
            .get(&format!("/v1/receipts/{RECORD}"))
            .await
            .problem(),
        (404, "coverage_unavailable".to_owned()),
        "not sealed"
    );
    assert_eq!(
        served.get("/v1/log/checkpoint").await.problem(),
        (404, "not_found".to_owned())
    );
    assert_eq!(
        served.get("/v1/log/key").await.problem(),
        (404, "not_found".to_owned())
    );
    assert_eq!(
        served.get("/v1/receipts/nonsense").await.problem(),
        (400, "invalid_parameter".to_owned())
    );
    assert_eq!(
        served.get("/v1/receipts/no.dataset:1").await.problem(),
        (404, "not_found".to_owned())
    );
    assert_eq!(
        served
            .get(&format!("/v1/receipts/{RECORD}?include=bytes"))
            .await
            .problem()
            .0,
        400
    );
    assert_eq!(
        served
            .get("/v1/receipts/pubdata.quarantine:geo.school:none")
            .await
            .problem(),
        (404, "not_found".to_owned())
    );
    for hostile in [
        "tile/0/../../../keys.json",
        "tile/%2e%2e/%2e%2e/keys.json",
        "..%2f..%2fkeys.json",
        "keys.json",
        "tile//0",
        "tile/0/%00",
        "checkpoint/0000000001",
        "TILE/0/000",
        "tile/0/.",
        "tile/0/000.p/1/x",
        "tile/0/000.p/1/",
    ] {
        let answer = served.get(&format!("/v1/log/{hostile}")).await;
        assert_eq!(answer.problem().0, 404, "{hostile}");
    }
    let sealed = SealedPlace::from_place(served.place);
    let served = Served::start(sealed.place).await;
    let other = served.key_of(&[Scope::Sec]);
    let request = axum::http::Request::builder()
        .uri(format!("/v1/receipts/{RECORD}"))
        .header("x-api-key", &other);
    assert_eq!(
        served
            .send(request.body(axum::body::Body::empty()).unwrap())
            .await
            .problem(),
        (403, "insufficient_permission".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn release_logged_by_another_channel_only_has_no_receipt() {
    let sealed = SealedPlace::new();
    sealed
        .place
        .pubdata(&["releases", "promote", "--from", "nightly", "--to", "stable"])
        .expect(0);
    let reported = sealed
        .place
        .pubdata(&["receipt", RECORD, "--channel", "stable"])
        .expect(60)
        .stderr;
    assert!(
        reported.contains("pubdata seal --channel stable --signing-key FILE"),
        "{reported}"
    );
    let served = Served::with(sealed.place, |settings| {
        settings.channel = "stable".to_owned();
    })
    .await;
    assert_eq!(
        served
            .get(&format!("/v1/receipts/{RECORD}"))
            .await
            .problem(),
        (404, "coverage_unavailable".to_owned())
    );
}
